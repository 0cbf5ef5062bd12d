"""Conversations in a capture: pcap or pcapng, of tcpdump or Wireshark, at either end of the connection.

Files may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import ipaddress
import itertools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import dpkt

from cwndlab.errors import StudyError

from .conversation import ACK, FIN, SYN, Conversation, Packet

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
_LINK_TYPES = {
    dpkt.pcap.DLT_EN10MB: dpkt.ethernet.Ethernet,
    dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
    dpkt.pcap.DLT_LINUX_SLL2: dpkt.sll2.SLL2,
    dpkt.pcap.DLT_NULL: dpkt.loopback.Loopback,
}
_RAW = (12, 14, 101, 228, 229)
"""LINKTYPE_RAW and its aliases, LINKTYPE_IPV4, LINKTYPE_IPV6."""

#: Acknowledgments are moved by this much less than a round trip, since round trips differ.
_MARGIN_NS = 500_000
#: What follows a packet this soon may belong to the same burst.
_BURST_NS = 2_000_000

_Address = tuple[bytes, int]


@dataclass
class _Side:
    """What is known of one end's numbers."""

    first: int | None = None
    scale: int | None = None
    mss: int | None = None
    bytes: int = 0


@dataclass
class _Segment:
    time_ns: int
    source: _Address
    tcp: Any
    length: int
    options: dict[int, bytes]


@dataclass
class _Connection:
    ends: tuple[_Address, _Address]
    sides: dict[_Address, _Side]
    segments: list[_Segment] = field(default_factory=list)


def is_capture(path: Path) -> bool:
    """Whether a file is a capture, by its first bytes, or is named as one."""
    if path.name.removesuffix(".gz").endswith(_SUFFIXES):
        return True
    return path.is_file() and _begins(path) in MAGIC


def _begins(path: Path) -> bytes:
    """The first bytes of what a file holds."""
    try:
        with _opened(path) as file:
            return file.read(4)
    except (OSError, EOFError, zlib.error):
        return b""


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return gzip.open(path) if packed else path.open("rb")


def read(path: Path) -> list[Conversation]:
    """The TCP connections of a capture; the sender is the side that sent more data.

    Times count from the first packet of the capture.

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
    with _opened(path) as file:
        notes: list[str] = []
        try:
            found = list(_connections(file, notes))
        except (ValueError, EOFError, dpkt.dpkt.Error) as error:
            raise StudyError(f"{path}: this capture cannot be read: {error}") from None
    made = [_conversation(connection) for connection in found]
    if not made:
        raise StudyError(f"{path}: there is no TCP segment in it")
    made[0].notes[:0] = notes
    return made


class _Whole:
    """A file whose reads are whole: dpkt would take the rest of a cut packet for the packet."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if 0 < len(data) < size:
            raise EOFError("it ends within its header")
        return data


def _packets(reader: Any, notes: list[str]) -> Iterator[tuple[int, bytes]]:
    """Times since the first packet, in nanoseconds, and packets, up to where a capture is cut short."""
    began = None
    packets = iter(reader)
    for count in itertools.count():
        try:
            time, data = next(packets)
            if not data:
                raise EOFError
        except StopIteration:
            return
        except (dpkt.dpkt.Error, EOFError, zlib.error, struct.error):
            notes.append(f"the capture is cut short, in its packet {count + 1}")
            return
        began = time if began is None else began
        yield round((time - began) * 10**9), data


def _connections(file: IO[bytes] | gzip.GzipFile, notes: list[str]) -> Iterator[_Connection]:
    found: dict[frozenset[_Address], _Connection] = {}
    reader = dpkt.pcap.UniversalReader(_Whole(file))
    for time, data in _packets(reader, notes):
        ip = _ip(data, reader.datalink())
        if ip is None or not isinstance(ip.data, dpkt.tcp.TCP):
            continue
        tcp = ip.data
        source, target = (ip.src, tcp.sport), (ip.dst, tcp.dport)
        key = frozenset((source, target))
        opens = tcp.flags & (SYN | ACK) == SYN
        if key not in found or (opens and any(s.tcp.flags & FIN for s in found[key].segments)):
            if key in found:
                yield found.pop(key)
            found[key] = _Connection((source, target), {source: _Side(), target: _Side()})
        # A capture may hold only the first bytes of a packet: its length is in the headers.
        total = ip.len - 4 * ip.hl if isinstance(ip, dpkt.ip.IP) else ip.plen - _extension_bytes(ip)
        segment = _Segment(time, source, tcp, total - 4 * tcp.off, _options(tcp))
        found[key].segments.append(segment)
        _learn(found[key].sides[source], segment)
    yield from found.values()


def _ip(data: bytes, link_type: int) -> Any:
    try:
        if link_type in _RAW:
            return dpkt.ip.IP(data) if data[0] >> 4 == 4 else dpkt.ip6.IP6(data)
        frame = _LINK_TYPES[link_type](data)
    except (dpkt.dpkt.Error, IndexError):
        return None
    except KeyError:
        raise ValueError(f"link type {link_type} is not supported") from None
    return frame.data if isinstance(frame.data, (dpkt.ip.IP, dpkt.ip6.IP6)) else None


def _extension_bytes(ip: Any) -> int:
    """Bytes of the extension headers of IPv6, which its payload length includes."""
    return sum(header.length for header in ip.all_extension_headers)


def _options(tcp: Any) -> dict[int, bytes]:
    try:
        return dict(dpkt.tcp.parse_opts(tcp.opts))
    except dpkt.dpkt.Error:
        return {}


def _learn(side: _Side, segment: _Segment) -> None:
    """Takes over what a segment says of its sender's numbers."""
    tcp, options = segment.tcp, segment.options
    if tcp.flags & SYN:
        side.first = (tcp.seq + 1) % 2**32
        side.scale = options[3][0] if options.get(dpkt.tcp.TCP_OPT_WSCALE) else 0
        if options.get(dpkt.tcp.TCP_OPT_MSS):
            side.mss = int.from_bytes(options[dpkt.tcp.TCP_OPT_MSS], "big")
    elif side.first is None:
        side.first = tcp.seq
    side.bytes += segment.length


def _conversation(connection: _Connection) -> Conversation:
    one, other = connection.ends
    sides = connection.sides
    source, target = (one, other) if sides[one].bytes >= sides[other].bytes else (other, one)
    notes = []
    if any(side.scale is None for side in sides.values()):
        notes.append("the handshake was not captured: windows may be larger than shown")
    largest = max((s.length for s in connection.segments if s.source == source), default=0)
    offered = [side.mss for side in sides.values() if side.mss is not None]
    conversation = Conversation(
        name=f"{_text(source)} > {_text(target)}",
        packets=[
            _packet(segment, segment.source == source, sides, source, target)
            for segment in connection.segments
        ],
        # Segmentation offload makes captured segments larger than what was sent.
        mss=max(1, min([largest, *offered]) if largest else min(offered, default=1460)),
        seen_at="sender",
        scale_known=not notes,
        notes=notes,
    )
    if _at_receiver(conversation):
        _as_sent(conversation)
    return conversation


def _packet(
    segment: _Segment, out: bool, sides: dict[_Address, _Side], source: _Address, target: _Address
) -> Packet:
    own, peer = (sides[source], sides[target]) if out else (sides[target], sides[source])
    tcp, options = segment.tcp, segment.options
    syn = bool(tcp.flags & SYN)
    scale = 0 if syn or own.scale is None or peer.scale is None else own.scale
    stamps = options.get(dpkt.tcp.TCP_OPT_TIMESTAMP, b"")
    return Packet(
        time_ns=segment.time_ns,
        out=out,
        seq=0 if syn else _offset(tcp.seq, own.first),
        len=segment.length,
        ack=_offset(tcp.ack, peer.first) if tcp.flags & ACK else 0,
        window=tcp.win << scale,
        flags=tcp.flags & 0xFF,
        sack=_blocks(options.get(dpkt.tcp.TCP_OPT_SACK, b""), peer.first),
        ts_val=int.from_bytes(stamps[:4], "big") if len(stamps) == 8 else None,
        ts_ecr=int.from_bytes(stamps[4:], "big") if len(stamps) == 8 else None,
    )


def _blocks(data: bytes, first: int | None) -> tuple[tuple[int, int], ...]:
    edges = [_offset(int.from_bytes(data[k : k + 4], "big"), first) for k in range(0, len(data) - 3, 4)]
    return tuple(zip(edges[::2], edges[1::2], strict=False))


def _offset(number: int, first: int | None) -> int:
    """Payload offset of a sequence number; of up to 4 GiB; 0 for what is before the first."""
    distance = (number - (first or 0)) % 2**32
    return distance if distance < 2**32 - 2**20 else 0


def _text(address: _Address) -> str:
    host = ipaddress.ip_address(address[0])
    return f"{host}:{address[1]}" if host.version == 4 else f"[{host}]:{address[1]}"


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
    packets, mss = conversation.packets, conversation.mss
    answer = _answer_time(packets)
    rtt = answer - min(answer // 20, _MARGIN_NS)
    moved: list[Packet] = []
    highest = 0
    for packet in packets:
        if not packet.out:
            packet.time_ns += rtt
        elif packet.len:
            for seq in range(highest, packet.seq, mss):
                length = min(mss, packet.seq - seq)
                moved.append(Packet(packet.time_ns, True, seq, length, 0, 0, ACK, unseen=True))
            highest = max(highest, packet.end)
        moved.append(packet)
    conversation.packets = sorted(moved, key=lambda packet: packet.time_ns)
    conversation.seen_at = "receiver"
    conversation.notes.append("captured at the receiver: what the sender saw is reconstructed")


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
