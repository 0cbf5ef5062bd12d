"""Whatever a capture holds, reading it takes bounded time and memory, and gives conversations or an error."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
import test_explain as made
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.apps.captures import from_capture
from cwndlab.apps.captures.explain_capture import explain_capture
from cwndlab.base.errors import StudyError
from fuzzing import Answers, tries

RAW, ETHERNET = 101, 1
#: A SYN's option: segments of one byte.
MSS_1 = b"\x02\x04\x00\x01"


def segment(source: int, seq: int, ack: int, flags: int, data: bytes = b"", options: bytes = b"") -> bytes:
    """An IPv4 packet between ports 1 and 2 of two hosts."""
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack("!HHIIBBHHH", source, 3 - source, seq, ack, offset, flags, 65535, 0, 0) + options + data
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, *addresses(source))
    return ip + tcp


def addresses(source: int) -> tuple[bytes, bytes]:
    return bytes((10, 0, 0, source)), bytes((10, 0, 0, 3 - source))


def pcap(packets: list[tuple[float, bytes]], link: int = RAW) -> bytes:
    file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for time, data in packets:
        file += struct.pack("<IIII", int(time), round(time % 1 * 1e6), len(data), len(data)) + data
    return file


def block(kind: int, body: bytes) -> bytes:
    """A pcapng block."""
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def holed(gap: int) -> bytes:
    """A capture at a receiver of segments of one byte, with a gap before the last one."""
    handshake = [(0.0, segment(1, 0, 0, 2, options=MSS_1)), (0.0001, segment(2, 0, 1, 18, options=MSS_1))]
    data = [(0.1, segment(1, 1, 1, 24, b"abc")), (0.1001, segment(2, 1, 4, 16))]
    return pcap([*handshake, *data, (0.3, segment(1, 1 + gap, 1, 24, b"abcdef"))])


def test_a_number_that_no_window_reaches_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "holes.pcap").write_bytes(holed(4_000_000_000))
    [one] = from_capture.read(tmp_path / "holes.pcap")
    assert len(one.packets) == 4 and one.damaged == (1, 6)
    assert any("1 segment has a wrong checksum or impossible numbers" in note for note in one.notes)


def test_a_large_hole_is_put_in_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "holes.pcap").write_bytes(holed(1_000_000_000))
    [one] = from_capture.read(tmp_path / "holes.pcap")
    assert len(one.packets) == 6
    assert any("999999997 bytes before 0.300000 s are not in the capture" in note for note in one.notes)


def test_a_gap_within_a_window_is_filled_with_lost_segments(tmp_path: Path) -> None:
    (tmp_path / "holes.pcap").write_bytes(holed(100))
    [one] = from_capture.read(tmp_path / "holes.pcap")
    assert sum(packet.unseen for packet in one.packets) == 97


def test_of_a_large_capture_the_beginning_is_read_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = [(k / 1000, segment(1, 1 + k, 1, 24, b"x")) for k in range(100)]
    file = tmp_path / "long.pcap.gz"
    file.write_bytes(gzip.compress(pcap(packets)))
    monkeypatch.setattr(from_capture, "MOST_SEGMENTS", 10)
    assert "only the first 10 segments of the capture were read" in explain_capture(file).notes
    monkeypatch.setattr(from_capture, "MOST_BYTES", 2000)
    monkeypatch.setattr(from_capture, "MOST_SEGMENTS", 1000)
    assert "only the first 2000 bytes of the capture were read" in explain_capture(file).notes
    [one] = from_capture.read(file)
    assert len(one.packets) == (2000 - 24) // (16 + 41)


def test_a_bomb_of_zeros_ends_with_its_first_packet(tmp_path: Path) -> None:
    start = pcap([])[:24] + struct.pack("<IIII", 0, 0, 0xFFFFFFF0, 0xFFFFFFF0)
    with gzip.open(tmp_path / "bomb.pcap.gz", "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(16):
            file.write(bytes(1 << 20))
    with pytest.raises(StudyError, match="no TCP segment in it; the capture is cut short, in its packet 1"):
        explain_capture(tmp_path / "bomb.pcap.gz")


def test_a_damaged_end_of_a_gzip_file_is_a_note(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(pcap([(0.0, segment(1, 1, 1, 24, b"x"))])))
    packed[-8] ^= 1  # of the check sum
    (tmp_path / "bad.pcap.gz").write_bytes(packed)
    assert "the capture is cut short, in its packet 2" in explain_capture(tmp_path / "bad.pcap.gz").notes


def test_interfaces_of_a_pcapng_have_link_types_and_clocks_of_their_own(tmp_path: Path) -> None:
    """The second one counts 2^-10 s and is Ethernet's; a third one's packets have no meaning here."""
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    plain = block(1, struct.pack("<HHI", RAW, 0, 0) + struct.pack("<HHB3x", 9, 1, 9) + bytes(4))
    binary = block(1, struct.pack("<HHI", ETHERNET, 0, 0) + struct.pack("<HHB3x", 9, 1, 0x80 | 10) + bytes(4))
    usb = block(1, struct.pack("<HHI", 189, 0, 0))

    def packet(interface: int, ticks: int, data: bytes) -> bytes:
        stamp = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        return block(6, stamp + data)

    began = 1_700_000_000
    file = tmp_path / "two.pcapng"
    file.write_bytes(
        section
        + plain
        + binary
        + usb
        + packet(0, began * 10**9 + 1, segment(1, 1, 1, 24, b"x"))
        + packet(1, began * 1024 + 512, bytes(12) + b"\x08\x00" + segment(2, 1, 2, 16))
        + packet(2, 0, b"usb")
        + packet(9, 0, b"of no interface")
        + packet(0, began * 10**9 + 600_000_000, segment(1, 2, 1, 24, b"x"))
    )
    [one] = from_capture.read(file)
    assert [p.time_ns for p in one.packets] == [0, 500_000_000 - 1, 600_000_000 - 1]


def test_a_connection_on_the_ports_of_a_closed_one_is_another(tmp_path: Path) -> None:
    first = [(0.0, segment(1, 0, 0, 2)), (0.1, segment(1, 1, 1, 17))]
    (tmp_path / "two.pcap").write_bytes(pcap([*first, (9.0, segment(1, 900, 0, 2))]))
    assert [len(one.packets) for one in from_capture.read(tmp_path / "two.pcap")] == [2, 1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    at_receiver = made.capture(made.study("rto-few-dupacks"), "receiver", folder)
    return {
        "pcapng": at_receiver.read_bytes(),
        "pcap": made.rewritten(at_receiver, RAW, bytes),
        "ethernet": made.rewritten(at_receiver, *made.WRAPPERS["IPv6"]),
        "holes": holed(4000),
    }


def test_damaged_captures_are_read_as_far_as_they_go(whole: dict[str, bytes], tmp_path: Path) -> None:
    file, answers = tmp_path / "damaged.pcap", Answers()

    @tries(120)
    @given(
        kind=st.sampled_from(["pcapng", "pcap", "ethernet", "holes"]),
        changes=st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=5)), min_size=1, max_size=6),
        early=st.booleans(),
        packed=st.booleans(),
    )
    def read(kind: str, changes: list[tuple[int, bytes]], early: bool, packed: bool) -> None:
        data = bytearray(gzip.compress(whole[kind], 1) if packed else whole[kind])
        for place, new in changes:
            at = place % (200 if early else len(data))
            data[at : at + len(new)] = new
        file.write_bytes(data)
        with answers.counted(StudyError):
            try:
                assert explain_capture(file).waited_s is not None
            except StudyError as error:
                assert str(error).startswith(str(file))
                raise

    read()
    answers.check(accepted=0.15, rejected=0.05)


def test_segments_merged_by_offload_are_those_of_a_size_without_their_timestamps(tmp_path: Path) -> None:
    mss, stamps = b"\x02\x04\x04\xb0", b"\x01\x01\x08\x0a" + bytes(8)
    packets = [
        (0.0, segment(1, 0, 0, 2, options=mss + stamps)),
        (0.04, segment(2, 0, 1, 18, options=mss + stamps)),
        (0.0401, segment(1, 1, 1, 16, bytes(2376), options=stamps)),
        (0.08, segment(2, 1, 2377, 16, options=stamps)),
    ]
    (tmp_path / "merged.pcap").write_bytes(pcap(packets))
    [one] = from_capture.read(tmp_path / "merged.pcap")
    assert one.mss == 1200 - 12
