"""`cwndlab explain`: causes of prepared stalls, on records and on captures of the same runs."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path

import dpkt
import pytest
from prepared_stalls import STALLS, study

from cwndlab import Study
from cwndlab.apps.captures.explain_capture import explain_capture
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.apps.diagnosis.explanation import explain_run
from cwndlab.apps.packets.traces import trace
from cwndlab.base.errors import StudyError
from cwndlab.cli import app
from cwndlab.results.execution import find_kernel_executor
from cwndlab.runs.run_options import RunOptions
from cwndlab.runs.single_run import OneCell
from cwndlab_linux.virtual.doctor import reason_not_virtual


def of_records(prepared: Study, at_s: float | None = None) -> Diagnosis:
    cell = prepared.plan().cells[0]
    return explain_run(OneCell(cell, 1), cell.id, 0, "flow", at_s, 3)


def capture(prepared: Study, node: str, folder: Path) -> Path:
    cell = prepared.set({"probes.segments_at": node}).plan().cells[0]
    file = folder / f"{node}.pcapng"
    file.write_bytes(trace(cell, "pcapng", seed=1))
    return file


@pytest.mark.parametrize("cause", STALLS)
def test_the_records_of_a_prepared_stall_name_its_cause(cause: str) -> None:
    found = of_records(study(cause))
    assert found.cause == cause
    assert all(wait.certain for wait in found.waits)


def test_a_summary_says_rate_losses_round_trips_and_cause() -> None:
    prepared = study("rto-few-dupacks")
    (one,) = of_records(prepared).summaries
    cell = prepared.plan().cells[0]
    records = OneCell(cell, 1).simulate_again(cell.id, 0, {})["connections"]
    (counted,) = records.select(["bytes_up", "retransmits"]).to_pylist()
    assert [one.acknowledged_bytes, one.retransmitted] == [*counted.values()]
    assert one.rtt_s is not None and 0 < one.rtt_s[0] <= one.rtt_s[1]
    assert "rto-few-dupacks" in one.waited_s
    rate = f"{one.acknowledged_bytes * 8e-6 / one.seconds:.3g} Mb/s"
    assert str(one).startswith(f"{one.conversation}: {rate} for ")
    assert "a loss with too few duplicate ACKs" in str(one)


@pytest.mark.parametrize("cause", STALLS)
def test_a_capture_at_the_sender_names_the_cause(cause: str, tmp_path: Path) -> None:
    assert explain_capture(capture(study(cause), "sender", tmp_path)).cause == cause


@pytest.mark.parametrize(
    "cause", [c for c in STALLS if c not in ("lost-syn", "lost-retransmission", "spurious-rto", "policer")]
)
def test_a_capture_at_the_receiver_names_what_can_be_seen_there(cause: str, tmp_path: Path) -> None:
    found = explain_capture(capture(study(cause), "receiver", tmp_path))
    assert found.cause == cause
    assert found.notes == ("captured at the receiver: what the sender saw is reconstructed",)


def test_the_chain_of_events_has_the_drop_the_few_duplicate_acks_and_the_timer() -> None:
    prepared = study("rto-few-dupacks").set(
        {"topology.links.path.forward": {"rate": "2Mbps", "queue": {"kind": "drop-tail", "limit": "2pkt"}}}
    )
    (wait,) = of_records(
        prepared.set({"traffic.flow.app.bytes": 6000, "tcp.initial_window": 6}), at_s=1.0
    ).waits
    assert wait.cause == "rto-few-dupacks"
    text = str(wait)
    for part in (
        "dropped at sender>receiver: the queue was full (2 of 2 packets)",
        "duplicate ACK had arrived since the last new ACK, 3 cause a fast retransmit",
        "the retransmission timer of 1 s expired",
        "sent again",
    ):
        assert part in text


def test_a_probe_of_the_round_trip_time_by_bbr_is_named_with_the_window_that_it_cuts() -> None:
    slow = {"rate": "1Mbps", "queue": {"kind": "infinite"}}
    changes = {"topology.links.path.forward": slow, "traffic.flow.app.bytes": 2_000_000}
    prepared = study("policer").set(
        {**changes, "tcp.profile": "linux-6", "tcp.window_law": "bbr1", "run.duration": "12s"}
    )
    (wait,) = of_records(prepared, at_s=10.15).waits
    assert wait.cause == "cwnd" and wait.summary == "the congestion window was full"
    (step,) = (step.text for step in wait.steps if "cwnd" in step.text)
    assert "cwnd fell from" in step and "to 3952 bytes" in step and "(ProbeRTT: BBR sends" in step


def test_losses_in_a_queue_are_not_taken_for_a_policer(tmp_path: Path) -> None:
    slow = {"rate": "1Mbps", "queue": {"kind": "drop-tail", "limit": "10pkt"}}
    changes = {"topology.links.path.forward": slow, "traffic.flow.app.bytes": 400_000}
    found = explain_capture(capture(study("policer").set(changes), "sender", tmp_path))
    assert found.cause is not None and found.cause != "policer"


LOSSY = """
title = "A transfer over a path that loses at random"
measure = ["goodput"]
[dumbbell]
rate = "50Mbps"
rtt = "80ms"
buffer = 0.25
loss = "0.5%"
flows = [{ name = "flow", cc = "cubic" }]
[probes]
segments_at = "flow_sender"
[run]
duration = "10s"
"""


@pytest.mark.parametrize("node", ["flow_sender", "flow_receiver"])
def test_random_losses_are_neither_a_closed_window_nor_a_policer(node: str, tmp_path: Path) -> None:
    study = Study.from_toml(LOSSY)
    known, found = of_records(study), explain_capture(capture(study, node, tmp_path))
    assert known.cause == "recovery"
    assert set(known.waited_s) == {"cwnd", "recovery", "handshake"}
    assert found.cause == "recovery"
    assert not {"zero-window", "policer", "application", "rto"} & set(found.waited_s)
    assert found.waited_s["recovery"] == pytest.approx(known.waited_s["recovery"], rel=0.3)


def test_reordering_at_the_receiver_is_no_application_that_waits(tmp_path: Path) -> None:
    study = Study.from_toml(LOSSY.replace('loss = "0.5%"', "")).set(
        {"topology.links.flow_exit.forward.impairments": [{"kind": "jitter", "max": "4ms"}]}
    )
    found = explain_capture(capture(study, "flow_receiver", tmp_path))
    assert "application" not in found.waited_s
    assert found.notes == ("captured at the receiver: what the sender saw is reconstructed",)


def test_the_total_is_the_same_at_a_moment_and_without_one(tmp_path: Path) -> None:
    file = capture(Study.from_toml(LOSSY), "flow_sender", tmp_path)
    assert explain_capture(file, at="5s").waited_s == explain_capture(file).waited_s


def test_the_command_explains_a_study_and_a_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared = study("zero-window")
    file = prepared.save(tmp_path / "stall.toml")
    for words in ([str(file), "--flow", "flow"], [str(capture(prepared, "sender", tmp_path))]):
        with pytest.raises(SystemExit) as caught:
            app(["explain", *words, "--json", "--longest", "2"])
        assert not caught.value.code
        found = json.loads(capsys.readouterr().out)
        assert found["cause"] == "zero-window" and len(found["waits"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rfc2416", "--flow", "web"], 'no flow "web" of TCP or QUIC'),
        (["rfc2416", "--at", "soon"], "--at"),
    ],
)
def test_wrong_questions_are_errors(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        app(["explain", *words])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def in_ipv6(packet: bytes) -> bytes:
    """The same segment in IPv6, behind an extension header (hop-by-hop options, RFC 8200, section 4.3)."""
    ip = dpkt.ip.IP(packet)
    payload = bytes([6, 0, 1, 4, 0, 0, 0, 0]) + packet[4 * ip.hl :]
    head = struct.pack(">IHBB", 6 << 28, 8 + ip.len - 4 * ip.hl, 0, 64)
    return head + bytes(12) + ip.src + bytes(12) + ip.dst + payload


ETHERNET = bytes(12)
WRAPPERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "ethernet, padded": (1, lambda ip: (ETHERNET + b"\x08\x00" + ip).ljust(60, b"\0")),
    "VLAN": (1, lambda ip: ETHERNET + b"\x81\x00\x00\x05\x08\x00" + ip),
    "two VLANs": (1, lambda ip: ETHERNET + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00" + ip),
    "cooked": (113, lambda ip: struct.pack(">HHH8sH", 0, 1, 6, b"", 0x800) + ip),
    "cooked v2": (276, lambda ip: struct.pack(">HHiHBB8s", 0x800, 0, 3, 1, 0, 6, b"") + ip),
    "IPv6": (1, lambda ip: ETHERNET + b"\x86\xdd" + in_ipv6(ip)),
}


def rewritten(
    whole: Path, link_type: int, wrap: Callable[[bytes], bytes], nanoseconds: bool = False
) -> bytes:
    """The same packets as a pcap file of another kind."""
    magic, unit = (0xA1B23C4D, 10**9) if nanoseconds else (0xA1B2C3D4, 10**6)
    made = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)
    with whole.open("rb") as file:
        for time, ip in dpkt.pcapng.Reader(file):
            data = wrap(ip)
            made += struct.pack("<IIII", *divmod(round(time * unit), unit), len(data), len(data)) + data
    return made


def test_captures_of_all_kinds_that_tcpdump_writes_give_the_same_diagnosis(tmp_path: Path) -> None:
    whole = capture(study("rto-few-dupacks"), "sender", tmp_path)
    known = explain_capture(whole).waited_s
    kinds = {name: rewritten(whole, *wrapper) for name, wrapper in WRAPPERS.items()}
    kinds["nanoseconds"] = rewritten(whole, 101, bytes, nanoseconds=True)
    kinds["gzip"] = gzip.compress(whole.read_bytes())
    for name, data in kinds.items():
        file = tmp_path / "kind"  # its first bytes say what it is
        file.write_bytes(data)
        assert explain_capture(file).waited_s == pytest.approx(known, abs=1e-5), name


def test_what_is_no_capture_is_an_error_that_says_so_and_a_cut_one_is_read_to_its_end(tmp_path: Path) -> None:
    whole = capture(study("rto-few-dupacks"), "sender", tmp_path).read_bytes()
    file = tmp_path / "some.pcap"
    with pytest.raises(StudyError, match=r"some.pcap: there is no such file"):
        explain_capture(file)
    for data, message in (
        (b"", "this file is empty"),
        (b"[dumbbell]", "this file is no capture.*pcap or pcapng"),
        (gzip.compress(b"text"), "this file is no capture"),
        (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), "there is no TCP segment in it"),
        (
            rewritten(tmp_path / "sender.pcapng", 189, bytes),
            "this capture cannot be read: link type 189 is not supported",
        ),
    ):
        file.write_bytes(data)
        with pytest.raises(StudyError, match=f"some.pcap: {message}"):
            explain_capture(file)
    plain = rewritten(tmp_path / "sender.pcapng", 101, bytes)
    (first,) = struct.unpack_from("<I", plain, 24 + 8)
    for cut in (whole[:4001], gzip.compress(whole)[:-9], plain[:-1], plain[: 24 + 16 + first + 16]):
        file.write_bytes(cut)
        assert any("the capture is cut short, in its packet" in n for n in explain_capture(file).notes)


@pytest.mark.parametrize(
    ("broken", "code", "message"),
    [
        (lambda whole: whole[:4], 2, "this capture cannot be read"),
        (
            lambda whole: whole[:100],
            2,
            "there is no TCP segment in it; the capture is cut short, in its packet 1",
        ),
        (lambda _: b"\xd4\xc3\xb2\xa1" + bytes(20), 2, "there is no TCP segment in it"),
        (lambda whole: whole[:-7], 0, "the capture is cut short, in its packet 86"),
    ],
    ids=["magic", "header", "no packet", "last packet"],
)
def test_a_broken_capture_is_an_error_of_its_file_unless_packets_can_be_read(
    broken: Callable[[bytes], bytes],
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "broken.pcapng"
    file.write_bytes(broken(capture(study("lost-syn"), "sender", tmp_path).read_bytes()))
    with pytest.raises(SystemExit) as caught:
        app(["explain", str(file)])
    out, err = capsys.readouterr()
    assert (caught.value.code or 0) == code
    if code:
        assert f"{file}: {message}" in " ".join(err.split()) and not out
    else:
        assert message in " ".join(out.split()) and not err


@pytest.mark.parametrize("cause", ["rto-few-dupacks", "receive-window"])
def test_a_pcap_of_the_first_bytes_of_each_packet_is_enough(cause: str, tmp_path: Path) -> None:
    whole = capture(study(cause), "sender", tmp_path)
    short = tmp_path / "short.pcap"
    with whole.open("rb") as source, short.open("wb") as target:
        reader = dpkt.pcap.UniversalReader(source)
        writer = dpkt.pcap.Writer(target, snaplen=96, linktype=reader.datalink())
        for time, packet in reader:
            writer.writepkt(packet[:96], time)
    one, other = explain_capture(whole), explain_capture(short)
    assert one.cause == other.cause == cause
    assert other.waited_s[cause] == pytest.approx(one.waited_s[cause], abs=1e-3)


def packet(
    time_s: float, out: bool, seq: int, length: int, ack: int, window: int, flags: int = dpkt.tcp.TH_ACK
) -> tuple[float, bytes]:
    """A captured segment; `out` is from the side that sends data."""
    ends = (bytes([10, 0, 0, 1]), 5001), (bytes([10, 0, 0, 2]), 80)
    (source, sport), (target, dport) = ends if out else ends[::-1]
    tcp = dpkt.tcp.TCP(sport=sport, dport=dport, seq=seq, ack=ack, win=window, flags=flags)
    tcp.data = bytes(length)
    ip = dpkt.ip.IP(src=source, dst=target, p=dpkt.ip.IP_PROTO_TCP, data=tcp)
    ip.len = len(ip)
    return time_s, bytes(ip)


def captured(folder: Path, *packets: tuple[float, bytes]) -> Diagnosis:
    file = folder / "made.pcap"
    with file.open("wb") as target:
        writer = dpkt.pcap.Writer(target, linktype=dpkt.pcap.DLT_RAW)
        for time, data in packets:
            writer.writepkt(data, time)
    return explain_capture(file)


def test_probes_of_a_closed_window_need_no_data_to_be_seen(tmp_path: Path) -> None:
    probes = [(packet(t, True, 1999, 0, 1, 100), packet(t + 0.01, False, 1, 0, 2000, 0)) for t in (1.0, 3.0)]
    sent, full = packet(0, True, 1000, 1000, 1, 100), packet(0.01, False, 1, 0, 2000, 0)
    found = captured(tmp_path, sent, full, *(one for pair in probes for one in pair))
    assert found.cause == "zero-window" and found.waited_s["zero-window"] == pytest.approx(3.0)
    assert found.waits[0].steps[-1].text == "a window probe sent"


def test_a_window_of_unknown_scale_is_only_closed_at_zero(tmp_path: Path) -> None:
    rounds = [
        (
            packet(0.1 * k, True, 1000 * k, 1000, 1, 100),
            packet(0.1 * k + 0.09, False, 1, 0, 1000 * k + 1000, 400),
        )
        for k in range(5)
    ]
    found = captured(tmp_path, *(one for pair in rounds for one in pair))
    assert found.cause not in ("zero-window", "receive-window")


def test_a_capture_that_begins_in_a_wait_shows_it(tmp_path: Path) -> None:
    closed, opened = packet(0, False, 1, 0, 1000, 0), packet(2.0, False, 1, 0, 1000, 64000)
    found = captured(tmp_path, closed, opened, packet(2.0001, True, 1000, 1000, 1, 100))
    assert found.cause == "zero-window" and found.waited_s["zero-window"] == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize(("asked_s", "answered_s"), [(0.11, 1.1), (1.09, 1.1)])
def test_what_the_first_data_waits_for_after_the_handshake_is_an_application(
    tmp_path: Path, asked_s: float, answered_s: float
) -> None:
    syn = dpkt.tcp.TH_SYN
    found = captured(
        tmp_path,
        packet(0, False, 0, 0, 0, 60000, syn),
        packet(0.0001, True, 0, 0, 1, 60000, syn | dpkt.tcp.TH_ACK),
        packet(0.1, False, 1, 0, 1, 60000),
        packet(asked_s, False, 1, 200, 1, 60000),
        packet(asked_s + 0.0001, True, 1, 0, 201, 60000),
        packet(answered_s, True, 1, 1000, 201, 60000),
    )
    assert found.cause == "application"
    assert found.waits[0].steps[0].text == "200 bytes arrived from the peer"
    assert found.waits[0].steps[0].time_ns == pytest.approx(asked_s * 1e9)


def test_a_kernels_trace_names_the_cause_and_the_time_of_the_simulators_run() -> None:
    if reason := reason_not_virtual():
        pytest.skip(f"virtual time: {reason}")
    prepared = study("lost-syn").set({"run.duration": "2s"})
    kernel = find_kernel_executor(RunOptions(backend="linux-virtual"), prepared.plan())
    assert kernel is not None
    cell = prepared.plan(seed=1).cells[0]
    found = explain_run(OneCell(cell, 1, kernel), cell.id, 0, "flow", None, 1)
    assert found.cause == "lost-syn"
    simulated = of_records(prepared)
    for cause in ("lost-syn", "handshake"):
        assert found.waited_s[cause] == pytest.approx(simulated.waited_s[cause], rel=0.1)


def test_a_run_explains_itself() -> None:
    run = study("receive-window").run(replicates=1)
    at = run.explain("flow", at="1s")
    (wait,) = at.waits
    assert wait.start_s <= 1 < wait.end_s and wait.cause == "receive-window"
    assert run.explain().cause == "receive-window"
    with pytest.raises(KeyError, match='no flow "flaw" of TCP or QUIC'):
        run.explain("flaw")
