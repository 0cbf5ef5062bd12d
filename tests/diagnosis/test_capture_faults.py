"""The faults of captures are recognized, stated, and taken out of what is concluded."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import faulty_captures as made
import pytest
from faulty_captures import FAULTS, NODES, Packets, explained

from cwndlab.apps.captures import from_capture
from cwndlab.apps.captures.explain_capture import explain_capture
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.base.errors import StudyError

#: Faults that leave a round trip, and waits, as they are.
HARMLESS = (
    "each packet twice",
    "before and after a router",
    "fragments",
    "snap length 40",
    "snap length 38",
)


@pytest.fixture(scope="module")
def captures() -> dict[str, Packets]:
    return {node: made.captured(node) for node in NODES}


@pytest.fixture(scope="module")
def faultless(captures: dict[str, Packets]) -> dict[str, Diagnosis]:
    return {node: explained(packets) for node, packets in captures.items()}


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_nothing_false_is_said(
    name: str, node: str, captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    found = made.explained_with(name, node, captures)
    assert made.problems(name, found, faultless[node]) == []
    if name in HARMLESS:
        assert found.waited_s == pytest.approx(faultless[node].waited_s, abs=0.002)


@pytest.mark.parametrize("node", ["before", "behind"])
def test_a_capture_in_the_middle_shows_what_its_sender_did(
    node: str, captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    found, true = faultless[node], faultless["sender"]
    (note,) = found.notes
    sender, receiver = re.findall(r"answers after ([0-9.]+) ms|the receiver after ([0-9.]+) ms", note)
    assert float(sender[0]) + float(receiver[1]) == pytest.approx(40, abs=2)
    assert float(sender[0]) == pytest.approx(16 if node == "before" else 26, abs=2)
    assert found.summaries[0].rtt_s is None  # what a queue before it adds does not show
    assert found.waited_s["cwnd"] == pytest.approx(true.waited_s["cwnd"], rel=0.5)


def test_a_clock_that_went_forward_shows_without_timestamps_too() -> None:
    """Data on its way is not sent again within 30 s, and then acknowledged."""
    plain = made.RUN.replace('cc = "cubic"', 'cc = "cubic"\ntimestamps = false')
    packets = made.captured("sender", plain)
    (true,), found = explained(packets).summaries, explained(made.set_forward(1500, 30.0)(packets))
    assert "was set forward by about 30.00 s" in found.notes[0]
    assert found.summaries[0].seconds == pytest.approx(true.seconds, abs=0.06)
    assert found.waited_s.keys() <= made.OF_THE_PATH


def test_a_pause_of_the_application_is_no_step_of_the_clock() -> None:
    """Hosts' clocks go on, with timestamps and without: all data was acknowledged before."""
    for stamps in ("true", "false"):
        rr = 'app = { kind = "rr", request_bytes = 100, response_bytes = 30000, think_s = 4.0 }'
        text = made.RUN.replace('app = { kind = "bulk" }', rr).replace('"4s"', '"40s"')
        text = text.replace('cc = "cubic"', f'cc = "cubic"\ntimestamps = {stamps}')
        found = explained(made.captured("receiver", text))
        assert not any("clock" in note for note in found.notes)
        assert found.cause == "application"


def test_a_path_that_pauses_is_no_step_of_the_clock() -> None:
    """A sender repeats what it sent while the bottleneck carries nothing."""
    text = made.RUN.replace('delay = "5ms"', 'delay = "5ms"\ndown = [["1.5s", "9.5s"]]').replace(
        '"4s"', '"20s"'
    )
    for stamps in ("true", "false"):
        found = explained(
            made.captured("sender", text.replace('cc = "cubic"', f'cc = "cubic"\ntimestamps = {stamps}'))
        )
        assert not any("clock" in note for note in found.notes)
        timeouts = {"rto", "rto-few-dupacks", "lost-retransmission", "spurious-rto"}
        assert timeouts & found.waited_s.keys()


def test_two_vantage_points_in_one_file_are_one_observer_at_the_sender(
    captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    sender, receiver = captures["sender"], captures["receiver"]
    port = made.sender_port(sender)

    def ttl(packet: bytes, own: int, other: int) -> bytes:
        return made.with_ttl(packet, own if made.tcp(packet)[0] == port else other)

    both = [(time, ttl(one, 64, 62)) for time, one in sender]
    both += [(time, ttl(one, 62, 64)) for time, one in receiver]
    found, true = explained(sorted(both, key=lambda one: one[0])), faultless["sender"]
    assert found.summaries[0].rtt_s == true.summaries[0].rtt_s
    assert found.summaries[0].retransmitted == true.summaries[0].retransmitted
    assert found.waited_s == true.waited_s
    assert "TTL 64 and 62" in found.notes[0]


def test_packets_in_another_order_than_their_times_are_no_step_of_the_clock(
    captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    """As several queues of a device write them."""
    packets = list(captures["sender"])
    for at in range(100, 3000, 50):
        if packets[at + 1][0] - packets[at][0] > 1e-5:  # times of one tick keep their order
            packets.insert(at + 12, packets.pop(at))
    assert max(one[0] - later[0] for one, later in pairwise(packets)) > 0.005
    assert explained(packets).to_dict() == faultless["sender"].to_dict()


def test_repeated_acknowledgments_without_an_identification_are_no_copies(
    captures: dict[str, Packets],
) -> None:
    def bare(packets: Packets) -> Packets:
        return [(time, one[:4] + b"\0\0" + one[6:]) for time, one in packets]

    packets = bare(captures["sender"])
    assert not explained(packets).notes
    assert f"{len(packets)} copies" in explained(made.twice(20e-6)(packets)).notes[0]


Segment = tuple[float, int, int, int, int, int, bytes]
SYN, SYN_ACK, ACK, RST_ACK, FIN_ACK = 2, 18, 16, 20, 17
#: Segments of 1460 bytes, and a shift of the window by 0.
OPTIONS = b"\x02\x04\x05\xb4\x03\x03\x00\x00"


def segments(
    *given: tuple[float, int, int, int, int, int] | tuple[float, int, int, int, int, int, int],
) -> Packets:
    """Packets of time, sending end (1 or 2), sequence number, acknowledgment, flags, payload and window."""
    packets: Packets = []
    for k, (time, end, seq, ack, flags, length, *rest) in enumerate(given):
        options = OPTIONS if flags & SYN else b""
        tcp = struct.pack(
            "!HHIIBBHHH",
            end,
            3 - end,
            seq % 2**32,
            ack % 2**32,
            (20 + len(options)) // 4 << 4,
            flags,
            rest[0] if rest else 65535,
            0,
            0,
        )
        size = 20 + len(tcp) + len(options) + length
        head = struct.pack(
            "!BBHHHBBH4s4s",
            0x45,
            0,
            size,
            k + 1,
            0,
            64,
            6,
            0,
            *(bytes((10, 0, 0, n)) for n in (end, 3 - end)),
        )
        packets.append((1e9 + time, head + tcp + options + bytes(length)))
    return packets


HANDSHAKE = ((0.0, 1, 0, 0, SYN, 0), (0.04, 2, 0, 1, SYN_ACK, 0), (0.0401, 1, 1, 1, ACK, 0))


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ([(0.2, 2, 1, 1001, RST_ACK, 0)], "Ended by a RST of the receiver after 0.200 s."),
        (
            [(0.2, 2, 1, 1, RST_ACK, 0)],
            "of the receiver after 0.200 s, while 1000 bytes were not acknowledged.",
        ),
        ([(0.2, 1, 1001, 1, RST_ACK, 0)], "Ended by a RST of the sender after 0.200 s, while 1000 bytes"),
        (
            [(0.1, 2, 1, 1001, FIN_ACK, 0), (0.2, 1, 1001, 2, RST_ACK, 0)],
            "Ended by a RST of the sender after 0.200 s, after the other end's FIN.",
        ),
        ([(0.1, 2, 1, 1001, FIN_ACK, 0)], "only the receiver had closed the connection."),
        ([(0.1, 1, 1001, 1, FIN_ACK, 0)], "only the sender had closed the connection."),
        ([(0.1, 1, 1001, 1, FIN_ACK, 0), (0.2, 2, 1, 1002, FIN_ACK, 0)], ""),
        ([(0.1, 2, 1, 1001, ACK, 0)], "Still open at the end of the capture."),
        (
            [(k / 2, 1, 1, 1, ACK, 1000) for k in (1, 2, 3)],
            "The last 4 segments, over 1.46 s, had no answer.",
        ),
    ],
)
def test_the_summary_says_how_a_connection_ended(
    ending: list[tuple[float, int, int, int, int, int]], text: str
) -> None:
    (one,) = explained(segments(*HANDSHAKE, (0.0402, 1, 1, 1, ACK, 1000), *ending)).summaries
    assert text in one.ended if text else not one.ended
    assert str(one).endswith(one.ended or "to send).")


def test_a_refused_connection_is_no_lost_syn_and_no_wait_for_anything_else() -> None:
    attempts = [(k / 2, 1, 0, 0, SYN, 0) for k in range(3)] + [
        (k / 2 + 0.0002, 2, 0, 1, RST_ACK, 0) for k in range(3)
    ]
    found = explained(segments(*sorted(attempts)))
    assert (
        str(found)
        .splitlines()[0]
        .endswith("sent no data. Refused: a RST answered the SYN after 0.2 ms (3 attempts).")
    )
    assert set(found.waited_s) == {"refused"} and not found.notes
    (once,) = explained(segments(*attempts[:1], *attempts[3:4])).summaries
    assert once.ended == "Refused: a RST answered the SYN after 0.2 ms."
    (unanswered,) = explained(segments(*attempts[:3])).summaries
    assert unanswered.ended == "No answer to 3 SYNs."


@pytest.mark.parametrize("start", [0, 2**32 - 1500], ids=["", "wrapped"])
@pytest.mark.parametrize("length", [0, 1])
def test_a_keep_alive_is_no_retransmission_and_the_application_idles(start: int, length: int) -> None:
    s = start
    found = explained(
        segments(
            (0.0, 1, s, 0, SYN, 0),
            (0.04, 2, 0, s + 1, SYN_ACK, 0),
            (0.0401, 1, s + 1, 1, ACK, 1460),
            (0.0801, 2, 1, s + 1461, ACK, 0),
            (10.08, 1, s + 1460, 1, ACK, length),
            (10.12, 2, 1, s + 1461, ACK, 0),
            (15.0, 1, s + 1461, 1, ACK, 1460),
            (15.04, 2, 1, s + 2921, ACK, 0),
        )
    )
    (one,) = found.summaries
    assert (one.segments, one.retransmitted, one.acknowledged_bytes) == (2, 0, 2920)
    assert found.waited_s == pytest.approx({"application": 14.96, "handshake": 0.04}, abs=0.01)
    assert "a keep-alive sent" in str(found)


def test_probes_of_a_closed_window_are_no_retransmissions() -> None:
    probes = [(1.0 * k, 1, 1461, 1, ACK, 1) for k in range(1, 5)]
    answers = [(1.0 * k + 0.04, 2, 1, 1461, ACK, 0, 0) for k in range(1, 5)]
    found = explained(
        segments(
            *HANDSHAKE,
            (0.0402, 1, 1, 1, ACK, 1460),
            (0.0802, 2, 1, 1461, ACK, 0, 0),
            *sorted([*probes, *answers]),
            (5.0, 2, 1, 1461, ACK, 0, 8000),
            (5.0001, 1, 1461, 1, ACK, 1460),
            (5.04, 2, 1, 2921, ACK, 0, 8000),
        )
    )
    assert found.summaries[0].retransmitted == 0 and found.cause == "zero-window"
    assert found.waited_s["zero-window"] == pytest.approx(4.96, abs=0.01)


def test_a_window_below_a_segment_is_what_the_sender_waits_for() -> None:
    found = explained(
        segments(
            *HANDSHAKE,
            (0.0402, 1, 1, 1, ACK, 1460),
            (0.0802, 2, 1, 1461, ACK, 0, 1092),
            (5.0, 1, 1461, 1, ACK, 1092),
            (5.04, 2, 1, 2553, ACK, 0, 1092),
        )
    )
    assert found.cause == "small-window"
    assert found.waited_s["small-window"] == pytest.approx(4.96, abs=0.01)


def test_a_receive_window_that_costs_little_at_a_time_is_the_cause() -> None:
    """Each acknowledgment opens the window for one segment, twenty in a round trip of 40 ms."""
    data = [(0.041 + 0.002 * k, 1, 1 + 1460 * k, 1, ACK, 1460) for k in range(400)]
    acks = [(0.081 + 0.002 * k - 1e-5, 2, 1, 1461 + 1460 * k, ACK, 0, 20 * 1460) for k in range(400)]
    found = explained(segments(*HANDSHAKE, *sorted([*data, *acks])))
    assert found.cause == "receive-window"
    assert found.waited_s["receive-window"] == pytest.approx(0.76, abs=0.03)


def test_ports_used_again_without_a_fin_are_another_connection() -> None:
    again = [
        (time + 10, end, seq + 10**9 * (end == 1), ack + 10**9 * (end == 2 and ack > 0), *rest)
        for time, end, seq, ack, *rest in HANDSHAKE
    ]
    data = [
        (0.05, 1, 1, 1, ACK, 1460),
        (0.09, 2, 1, 1461, ACK, 0),
        (10.05, 1, 10**9 + 1, 1, ACK, 1460),
        (10.09, 2, 1, 10**9 + 1461, ACK, 0),
    ]
    found = explained(segments(*sorted([*HANDSHAKE, *again, *data])))
    assert [one.acknowledged_bytes for one in found.summaries] == [1460, 1460]
    assert all(one.seconds < 0.1 for one in found.summaries)


def test_a_capture_whose_headers_are_cut_says_how_much_to_capture(captures: dict[str, Packets]) -> None:
    with pytest.raises(
        StudyError, match="cut after 30 bytes, within TCP's header; capture with a snap length"
    ):
        explained(captures["sender"], snap=30)


def test_an_irregular_host_is_not_said_to_pace() -> None:
    """It sends a segment every 5 to 60 ms in the middle of round trips of 400 ms."""
    times, now = [], 0.5
    for k in range(200):
        now += (5 + 11 * (k % 6)) / 1000
        times.append(now)
    data = [(time, 1, 1 + 1460 * k, 1, ACK, 1460) for k, time in enumerate(times)]
    acks = [(time + 0.4, 2, 1, 1461 + 1460 * k, ACK, 0) for k, time in enumerate(times)]
    found = explained(segments(*HANDSHAKE, *sorted([*data, *acks])))
    assert "pacing" not in found.waited_s


def ipv4(packet: bytes, protocol: int, before: bytes) -> bytes:
    """A packet within another."""
    size = 20 + len(before) + made._length(packet)
    return (
        struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, 7, 0, 64, protocol, 0, b"\1\1\1\1", b"\2\2\2\2")
        + before
        + packet
    )


ETHERNET = bytes(12) + b"\x08\x00"
LINKS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "frame check sequence": (0x24000001, lambda one: ETHERNET + one + b"abcd"),
    "PPPoE": (
        1,
        lambda one: bytes(12) + b"\x88\x64\x11\0\0\1" + struct.pack("!H", len(one) + 2) + b"\0\x21" + one,
    ),
    "MPLS": (1, lambda one: bytes(12) + b"\x88\x47\0\1\0\x40\0\2\1\x40" + one),
    "QinQ": (1, lambda one: bytes(12) + b"\x88\xa8\0\1\x81\0\0\2\x08\0" + one),
    "GRE": (101, lambda one: ipv4(one, 47, b"\x20\0\x08\0\0\0\0\7")),
    "VXLAN": (
        101,
        lambda one: ipv4(
            one,
            17,
            struct.pack("!HHHH", 9, 4789, 30 + made._length(one), 0) + b"\x08\0\0\0\0\0\1\0" + ETHERNET,
        ),
    ),
    "IP in IP": (101, lambda one: ipv4(one, 4, b"")),
    "PPP": (9, lambda one: b"\xff\3\0\x21" + one),
    "SNAP": (1, lambda one: bytes(12) + struct.pack("!H", 1500) + b"\xaa\xaa\3\0\0\0\x08\0" + one),
    "802.11": (
        127,
        lambda one: b"\0\0\x08\0\0\0\0\0" + b"\x08\0" + bytes(22) + b"\xaa\xaa\3\0\0\0\x08\0" + one,
    ),
}


@pytest.mark.parametrize("name", LINKS)
def test_headers_before_ip_are_read(
    name: str, tmp_path: Path, captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    link, wrapped = LINKS[name]
    file = tmp_path / "made.pcap"
    file.write_bytes(made.pcap([(time, wrapped(one)) for time, one in captures["sender"]], link))
    assert explain_capture(file).to_dict() == faultless["sender"].to_dict()


@pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
@pytest.mark.parametrize("kind", ["snoop", "erf", "modlibpcap", "netmon2"])
def test_formats_of_wireshark_are_read_by_its_editcap(
    kind: str, tmp_path: Path, captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    plain, file = tmp_path / "plain.pcap", tmp_path / ("made.erf" if kind == "erf" else "made.dump")
    plain.write_bytes(made.pcap([(time, ETHERNET + made.filled(one)) for time, one in captures["sender"]], 1))
    if kind == "erf":
        file.write_bytes(erf(captures["sender"]))
    else:
        subprocess.run(["editcap", "-F", kind, plain, file], check=True, capture_output=True)
    (one,), (true,) = explain_capture(file).summaries, faultless["sender"].summaries
    assert (one.acknowledged_bytes, one.segments) == (true.acknowledged_bytes, true.segments)
    assert one.rtt_s == pytest.approx(true.rtt_s, rel=1e-3)


def erf(packets: Packets) -> bytes:
    """Records of Ethernet in Endace's format."""
    made_of = []
    for time, packet in packets:
        frame = ETHERNET + made.filled(packet)
        stamp = struct.pack("<II", round(time % 1 * 2**32) % 2**32, int(time))
        made_of.append(stamp + struct.pack("!BBHHH", 2, 4, 18 + len(frame), 0, len(frame)) + b"\0\0" + frame)
    return b"".join(made_of)


def test_an_old_pcap_has_the_lengths_of_a_packet_in_the_other_order(
    tmp_path: Path, captures: dict[str, Packets], faultless: dict[str, Diagnosis]
) -> None:
    if not shutil.which("editcap"):
        pytest.skip("editcap is not installed")
    file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 2, 0, 0, 65535, made.RAW)
    for time, packet in captures["sender"]:
        ticks = round(time * 1e6)
        file += (
            struct.pack("<IIII", ticks // 10**6, ticks % 10**6, made._length(packet), len(packet)) + packet
        )
    (tmp_path / "old.pcap").write_bytes(file)
    (one,) = explain_capture(tmp_path / "old.pcap").summaries
    assert one.acknowledged_bytes == faultless["sender"].summaries[0].acknowledged_bytes


def test_what_is_no_capture_is_an_error_that_names_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / "some.snoop").write_bytes(b"snoop\0\0\0" + bytes(8))
    with pytest.raises(
        StudyError, match="with Wireshark's editcap installed, any format that Wireshark reads"
    ):
        from_capture.read(tmp_path / "some.snoop")
