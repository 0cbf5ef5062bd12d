"""Conversations in a capture: pcap or pcapng, of tcpdump or Wireshark, at either end of the connection.

Files may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cwndlab._core import CapturedSegment, read_capture
from cwndlab.base.errors import StudyError
from cwndlab.diagnosis.conversation import ACK, SYN, Conversation, Packet

#: What is read of a capture: what 1 GB of memory holds.
MOST_SEGMENTS = 1_000_000
MOST_BYTES = 2 << 30
#: First bytes of pcapng, and of pcap in both orders, with microseconds and nanoseconds.
MAGIC = (
    b"\x0a\x0d\x0d\x0a",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
)
_GZIP = b"\x1f\x8b"
#: What names of captures end with.
_SUFFIXES = (".pcap", ".pcapng", ".cap", ".ntar", ".dump")
#: RFC 7323, section 2.3.
_LARGEST_WINDOW = 2**30
#: Acknowledgments are moved by this much less than a round trip, since round trips differ.
_MARGIN_NS = 500_000
#: What follows a packet this soon may belong to the same burst.
_BURST_NS = 2_000_000

#: The timestamps option with its padding (RFC 7323, appendix A).
_TIMESTAMPS = 12

#: Where numbers of 32 bits begin again.
_WRAP = 2**32


class _Side(NamedTuple):
    """What is known of one end's numbers."""

    first: int
    scale: int | None
    mss: int | None
    bytes: int


def is_capture(path: Path) -> bool:
    """Whether a file is a capture, by its first bytes, or is named as one."""
    if path.name.removesuffix(".gz").endswith(_SUFFIXES):
        return True
    return path.is_file() and _begins(path) in MAGIC


def _begins(path: Path) -> bytes:
    """The first bytes of what a file holds."""
    try:
        with path.open("rb") as file:
            begins = file.read(4)
        if begins[:2] != _GZIP:
            return begins
        with gzip.open(path) as unpacked:
            return unpacked.read(4)
    except (OSError, EOFError, zlib.error):
        return b""


def read(path: Path) -> list[Conversation]:
    """The TCP connections of a capture; the sender is the side that sent more data.

    Times count from the first packet of the capture. Of a larger one, the first `MOST_SEGMENTS` and
    `MOST_BYTES` are read; a note says so.

    Raises:
        StudyError: it cannot be read, or has no TCP in it.

    """
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file")
    if _begins(path) not in MAGIC:
        problem = "is empty" if not path.stat().st_size else "is no capture"
        raise StudyError(
            f"{path}: this file {problem}", right="a pcap or pcapng file, also compressed with gzip"
        )
    try:
        capture = read_capture(path, most_segments=MOST_SEGMENTS, most_bytes=MOST_BYTES)
    except (ValueError, OSError) as error:
        raise StudyError(f"{path}: this capture cannot be read: {error}") from None
    made = [_conversation(capture.ends(k), capture.segments(k)) for k in range(len(capture))]
    if not made:
        cut = "" if capture.cut is None else f"; {capture.cut}"
        raise StudyError(f"{path}: there is no TCP segment in it{cut}")
    if capture.cut is not None:
        made[0].notes.insert(0, capture.cut)
    return made


def _side(segments: Sequence[CapturedSegment], is_first: bool) -> _Side:
    """What the segments of one end say of its numbers; the last handshake counts."""
    sent = [segment for segment in segments if segment.from_first == is_first]
    syn = next((segment for segment in reversed(sent) if segment.flags & SYN), None)
    total = sum(segment.len for segment in sent)
    if syn is None:
        return _Side(sent[0].seq if sent else 0, None, None, total)
    return _Side((syn.seq + 1) % _WRAP, syn.scale or 0, syn.mss, total)


def _conversation(ends: tuple[str, str], segments: Sequence[CapturedSegment]) -> Conversation:
    one, other = _side(segments, True), _side(segments, False)
    first_sends = one.bytes >= other.bytes
    notes = []
    if one.scale is None or other.scale is None:
        notes.append("the handshake was not captured: windows may be larger than shown")
    largest = max((s.len for s in segments if s.from_first == first_sends), default=0)
    # Options take their place from the segment size (RFC 6691, section 2).
    stamped = any(s.len and s.ts is not None for s in segments if s.from_first == first_sends)
    options = _TIMESTAMPS if stamped else 0
    offered = [side.mss - options for side in (one, other) if side.mss is not None]
    sides = (one, other) if first_sends else (other, one)
    conversation = Conversation(
        name=" > ".join(ends if first_sends else ends[::-1]),
        packets=[_packet(segment, segment.from_first == first_sends, *sides) for segment in segments],
        # Segmentation offload makes captured segments larger than what was sent.
        mss=max(1, min([largest, *offered]) if largest else min(offered, default=1460)),
        seen_at="sender",
        scale_known=not notes,
        notes=notes,
    )
    if _at_receiver(conversation):
        _as_sent(conversation)
    return conversation


def _packet(segment: CapturedSegment, out: bool, source: _Side, target: _Side) -> Packet:
    own, peer = (source, target) if out else (target, source)
    syn = bool(segment.flags & SYN)
    scale = 0 if syn or own.scale is None or peer.scale is None else own.scale
    ts_val, ts_ecr = segment.ts or (None, None)
    return Packet(
        time_ns=segment.time_ns,
        out=out,
        seq=0 if syn else _offset(segment.seq, own.first),
        len=segment.len,
        ack=_offset(segment.ack, peer.first) if segment.flags & ACK else 0,
        window=segment.window << scale,
        flags=segment.flags,
        sack=tuple((_offset(a, peer.first), _offset(b, peer.first)) for a, b in filter(None, segment.sack)),
        ts_val=ts_val,
        ts_ecr=ts_ecr,
    )


def _offset(number: int, first: int) -> int:
    """Payload offset of a sequence number; of up to 4 GiB; 0 for what is before the first."""
    distance = (number - first) % _WRAP
    return distance if distance < _WRAP - 2**20 else 0


def _at_receiver(conversation: Conversation) -> bool:
    """Whether the receiver answers at once and the sender late: in the handshake, else by shortest times."""
    syn = next((p for p in conversation.packets if p.is_syn and not p.flags & ACK), None)
    if syn is not None:
        later = [p for p in conversation.packets if p.time_ns >= syn.time_ns and p.flags & ACK]
        reply = next((p for p in later if p.is_syn and p.out != syn.out), None)
        last = next((p for p in later if not p.is_syn and p.out == syn.out), None)
        if reply is not None and last is not None:
            there, back = reply.time_ns - syn.time_ns, last.time_ns - reply.time_ns
            if there != back:
                return (there < back) == syn.out
    answers: dict[bool, int] = {}
    last = None
    for packet in conversation.packets:
        if (
            last is not None
            and last.out != packet.out
            and (packet.len or last.len or packet.is_syn or last.is_syn)
        ):
            waited = packet.time_ns - last.time_ns
            answers[packet.out] = min(answers.get(packet.out, waited), waited)
        last = packet
    return answers.get(True, 0) > answers.get(False, 0)


def _as_sent(conversation: Conversation) -> None:
    """Makes of what was seen at the receiver what the sender saw, as far as possible.

    Acknowledgments are moved by the shortest time until data answers them, one round trip, so that they come
    just before what they released. What was lost before the capture left holes: it is put in as unseen.
    """
    packets, mss, notes = conversation.packets, conversation.mss, conversation.notes
    answer = _answer_time(packets)
    rtt = answer - min(answer // 20, _MARGIN_NS)
    moved: list[Packet] = []
    highest = 0
    for packet in packets:
        if not packet.out:
            packet.time_ns += rtt
        elif packet.len:
            hole = max(0, packet.seq - highest)
            lost = -(-hole // mss)
            step = mss
            if hole > _LARGEST_WINDOW or len(moved) + lost > 2 * MOST_SEGMENTS:
                step = hole
                notes.append(f"{hole} bytes before {packet.time_ns / 1e9:.6f} s are not in the capture")
            for seq in range(highest, packet.seq, step):
                length = min(step, packet.seq - seq)
                moved.append(Packet(packet.time_ns, True, seq, length, 0, 0, ACK, unseen=True))
            highest = max(highest, packet.end)
        moved.append(packet)
    conversation.packets = sorted(moved, key=lambda packet: packet.time_ns)
    conversation.seen_at = "receiver"
    notes.append("captured at the receiver: what the sender saw is reconstructed")


def _answer_time(packets: list[Packet]) -> int:
    """How long the sender's answers took to reach the receiver: in the handshake, else the shortest."""
    asked = None
    times: list[int] = []
    for packet in packets:
        if not packet.out:
            asked = packet
        elif asked is not None:
            if asked.is_syn:
                return packet.time_ns - asked.time_ns
            if packet.time_ns - asked.time_ns > _BURST_NS:
                times.append(packet.time_ns - asked.time_ns)
            asked = None
    return min(times, default=0)
