"""Captures with one fault each, made from a run whose truth is known.

`python tests/diagnosis/faulty_captures.py` prints what is said of each, next to the capture without a fault.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import dpkt

from cwndlab import Study
from cwndlab.apps.captures.explain_capture import explain_capture
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.apps.packets.traces import trace

RAW, ETHERNET = 101, 1
#: Seconds since 1970, and an IPv4 packet.
Packets = list[tuple[float, bytes]]

RUN = """
title = "A transfer"
measure = ["goodput"]
[topology]
nodes = ["sender", "before", "behind", "receiver"]
[[topology.links]]
between = ["sender", "before"]
rate = "100Mbps"
delay = "8ms"
[[topology.links]]
name = "bottleneck"
between = ["before", "behind"]
rate = "10Mbps"
delay = "5ms"
queue = { kind = "drop-tail", limit = "34pkt" }
[[topology.links]]
between = ["behind", "receiver"]
rate = "100Mbps"
delay = "7ms"
[[traffic]]
name = "flow"
client = "sender"
server = "receiver"
app = { kind = "bulk" }
[tcp]
profile = "linux-6"
cc = "cubic"
[run]
duration = "4s"
"""
#: Where captures are made: at the ends, and in the middle, before and behind the bottleneck's queue.
NODES = ("sender", "before", "behind", "receiver")


def captured(node: str, text: str = RUN) -> Packets:
    """What is captured at a node in a run."""
    study = Study.from_toml(text).set({"probes.segments_at": node})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.pcapng")
        file.write_bytes(trace(study.plan().cells[0], "pcapng", seed=1))
        with file.open("rb") as opened:
            reader = dpkt.pcapng.Reader(opened)
            wrapped = reader.datalink() == ETHERNET
            return [(time, data[14:] if wrapped else data) for time, data in reader]


def pcap(packets: Packets, link: int = RAW, snap: int = 65535) -> bytes:
    """A capture file with a resolution of microseconds."""
    file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, link)
    for time, data in packets:
        ticks = round(time * 1e6)
        length = len(data) if len(data) >= 40 else 40
        kept = data[:snap]
        file += (
            struct.pack("<IIII", ticks // 10**6, ticks % 10**6, len(kept), max(length, _length(data))) + kept
        )
    return file


def _length(packet: bytes) -> int:
    """The length that the header of an IP packet states."""
    if packet[0] >> 4 == 6:
        return 40 + int.from_bytes(packet[4:6], "big")
    return int.from_bytes(packet[2:4], "big")


def with_ttl(packet: bytes, ttl: int) -> bytes:
    """The packet behind a router."""
    return packet[:8] + bytes([ttl]) + packet[9:]


def is_from_sender(packet: bytes) -> bool:
    """Whether it has the ports of the sender of the data."""
    return len(packet) > 60 and _length(packet) > 200


def tcp(packet: bytes) -> tuple[int, int, int, int]:
    """Source port, sequence number, acknowledgment number and flags."""
    source, _, seq, ack, _, flags = struct.unpack("!HHIIBB", packet[20:34])
    return source, seq, ack, flags


def sender_port(packets: Packets) -> int:
    """The port of the end that sent most bytes."""
    sent: dict[int, int] = {}
    for _, packet in packets:
        sent[tcp(packet)[0]] = sent.get(tcp(packet)[0], 0) + _length(packet)
    return max(sent, key=lambda port: sent[port])


def twice(delay_s: float, ttl: int = 0) -> Callable[[Packets], Packets]:
    """Each packet again, soon after."""

    def made(packets: Packets) -> Packets:
        return [
            one
            for time, data in packets
            for one in ((time, data), (time + delay_s, with_ttl(data, ttl) if ttl else data))
        ]

    return made


def data_twice(packets: Packets) -> Packets:
    """The sender's packets again, soon after, as of a switch that mirrors two ports."""
    port = sender_port(packets)
    return [
        one
        for time, data in packets
        for one in ((time, data), (time + 30e-6, data))[: 1 + (tcp(data)[0] == port)]
    ]


def as_ipv6(packet: bytes) -> bytes:
    """The same segment in IPv6, which has no identification."""
    ends = b"".join(bytes(12) + packet[at : at + 4] for at in (12, 16))
    return struct.pack("!IHBB", 6 << 28, _length(packet) - 20, 6, packet[8]) + ends + packet[20:]


def of_ipv6(packets: Packets) -> Packets:
    """All in IPv6, each packet twice."""
    return twice(20e-6)([(time, as_ipv6(packet)) for time, packet in packets])


def fragmented_ipv6(packets: Packets) -> Packets:
    """Data as two fragments of IPv6."""
    made: Packets = []
    for number, (time, cut) in enumerate(packets):
        packet = as_ipv6(filled(cut))
        payload = packet[40:]
        if len(payload) < 700:
            made.append((time, packet))
            continue
        for offset, part, more in ((0, payload[:600], 1), (600, payload[600:], 0)):
            header = packet[:4] + struct.pack("!HBB", 8 + len(part), 44, packet[7]) + packet[8:40]
            made.append((time, header + struct.pack("!BBHI", 6, 0, offset | more, number) + part))
    return made


def used_again(packets: Packets) -> Packets:
    """The same ports again ten seconds later, with other initial numbers, without an end of the first."""

    def moved(packet: bytes) -> bytes:
        _, seq, ack, flags = tcp(packet)
        numbers = (seq + 77_000_000) % 2**32, (ack + 77_000_000) % 2**32 if flags & 16 else 0
        return packet[:24] + struct.pack("!II", *numbers) + packet[32:]

    return packets + [(time + 10, moved(packet)) for time, packet in packets]


def damaged_payload(packets: Packets) -> Packets:
    """A byte of the payload of one segment is wrong; all checksums were right."""
    whole = [(time, with_checksum(filled(packet))) for time, packet in packets]
    data = [k for k, (_, one) in enumerate(whole) if len(one) > 500]
    time, packet = whole[data[500]]
    whole[data[500]] = (time, packet[:300] + b"x" + packet[301:])
    return whole


def merged(packets: Packets) -> Packets:
    """Neighbours among the sender's segments as one, as devices hand them over (offload)."""
    port = sender_port(packets)
    made: Packets = []
    for time, cut in packets:
        packet = filled(cut)
        if made and tcp(packet)[0] == tcp(made[-1][1])[0] == port and time - made[-1][0] < 0.0021:
            before = made[-1][1]
            had, size = (len(one) - 20 - header_length(one) for one in (before, packet))
            if had > 0 and size > 0 and tcp(before)[1] + had == tcp(packet)[1]:
                both = before + packet[-size:]
                made[-1] = (made[-1][0], both[:2] + struct.pack("!H", len(both)) + both[4:])
                continue
        made.append((time, packet))
    return made


def header_length(packet: bytes) -> int:
    """The length of TCP's header."""
    return packet[32] >> 4 << 2


def lacking(first: int, count: int) -> Callable[[Packets], Packets]:
    """Without packets that the capture dropped."""
    return lambda packets: packets[:first] + packets[first + count :]


def set_back(after: int, by_s: float) -> Callable[[Packets], Packets]:
    """The clock goes back once."""
    return lambda packets: packets[:after] + [(time - by_s, data) for time, data in packets[after:]]


def set_forward(after: int, by_s: float) -> Callable[[Packets], Packets]:
    """The clock goes forward once."""
    return set_back(after, -by_s)


def one_direction(of_sender: bool) -> Callable[[Packets], Packets]:
    """Only what one end sent."""

    def made(packets: Packets) -> Packets:
        port = sender_port(packets)
        return [one for one in packets if (tcp(one[1])[0] == port) == of_sender]

    return made


def coarse(tick_s: float) -> Callable[[Packets], Packets]:
    """Times cut to a tick."""
    return lambda packets: [(time // tick_s * tick_s, data) for time, data in packets]


def late(seconds: float) -> Callable[[Packets], Packets]:
    """Without the beginning."""
    return lambda packets: [one for one in packets if one[0] >= packets[0][0] + seconds]


def fragmented(packets: Packets) -> Packets:
    """Data as two fragments of IP."""
    made: Packets = []
    for time, cut in packets:
        packet = filled(cut)
        payload = packet[20:]
        if len(payload) < 700:
            made.append((time, packet))
            continue
        for offset, part, more in ((0, payload[:600], 0x2000), (600, payload[600:], 0)):
            header = packet[:2] + struct.pack("!H", 20 + len(part)) + packet[4:6]
            made.append((time, header + struct.pack("!H", more | offset // 8) + packet[8:20] + part))
    return made


def damaged(at: int) -> Callable[[Packets], Packets]:
    """A bit of the sequence number of one data segment is wrong; all others have right checksums."""

    def made(packets: Packets) -> Packets:
        whole = [(time, with_checksum(filled(packet))) for time, packet in packets]
        port = sender_port(packets)
        data = [k for k, (_, one) in enumerate(whole) if tcp(one)[0] == port and len(one) > 500]
        time, packet = whole[data[at]]
        whole[data[at]] = (time, packet[:25] + bytes([packet[25] ^ 0x10]) + packet[26:])
        return whole

    return made


def filled(packet: bytes) -> bytes:
    """The packet with all of its payload."""
    return packet + bytes(_length(packet) - len(packet))


def with_checksum(packet: bytes) -> bytes:
    """The packet with the right checksum of TCP."""
    segment = packet[20:36] + b"\0\0" + packet[38:]
    pseudo = packet[12:20] + struct.pack("!HH", 6, len(segment))
    total = sum(
        int.from_bytes(part[k : k + 2].ljust(2, b"\0"), "big")
        for part in (pseudo, segment)
        for k in range(0, len(part), 2)
    )
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return packet[:20] + segment[:16] + struct.pack("!H", 0xFFFF - total) + segment[18:]


#: Name, what it does to a capture, the link type and snap length, and what a note then says.
FAULTS: dict[str, tuple[Callable[[Packets], Packets], int, str]] = {
    "each packet twice": (twice(20e-6), 65535, "captured more than once"),
    "before and after a router": (twice(200e-6, 63), 65535, "on both sides of a router"),
    "600 packets dropped": (lacking(1200, 600), 65535, "the capture lacks"),
    "20 packets dropped": (lacking(1500, 20), 65535, "the capture lacks"),
    "clock back by 1 s": (set_back(1500, 1.0), 65535, "was set back by about 1.00 s"),
    "clock back by 1 h": (set_back(1500, 3600.0), 65535, "was set back by about 3600.00 s"),
    "only data": (one_direction(True), 65535, "only the sender's packets"),
    "only acknowledgments": (one_direction(False), 65535, "only the receiver's packets"),
    "stamps of 1 s": (coarse(1.0), 65535, "multiples of 1000 ms"),
    "stamps of 10 ms": (coarse(0.01), 65535, "multiples of 10 ms"),
    "1 s late": (late(1.0), 65535, "the handshake was not captured"),
    "snap length 40": (list, 40, "options of TCP were cut off"),
    "snap length 38": (list, 38, "options of TCP were cut off"),
    "fragments": (fragmented, 65535, "fragments of IP"),
    "a damaged number": (damaged(300), 65535, "a wrong checksum"),
    "a damaged payload": (damaged_payload, 65535, "a wrong checksum"),
    "clock forward by 30 s": (set_forward(1500, 30.0), 65535, "was set forward by about 30.00 s"),
    "clock forward by 1 h": (set_forward(2500, 3600.0), 65535, "was set forward by about 3600.00 s"),
    "data twice": (data_twice, 65535, "captured more than once"),
    "IPv6, each packet twice": (of_ipv6, 65535, "captured more than once"),
    "fragments of IPv6": (fragmented_ipv6, 65535, "fragments of IP"),
    "ports used again": (used_again, 65535, "were used again"),
    "segments merged": (merged, 65535, "larger than what was sent"),
    "snap length 46": (list, 46, "options of TCP were cut off"),
}


def explained(packets: Packets, snap: int = 65535) -> Diagnosis:
    """What is said of a capture."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.pcap")
        file.write_bytes(pcap(packets, snap=snap))
        return explain_capture(file)


#: Waits of a transfer that nothing but its path holds back.
OF_THE_PATH = {"cwnd", "handshake", "recovery", "unknown"}
#: Faults that leave out the beginning, or all but a range of the rate.
LATE, COARSE, CUT = "1 s late", "stamps of 1 s", "cut short"


def problems(name: str, found: Diagnosis, true: Diagnosis) -> list[str]:
    """What is wrong with what is said of a capture with a fault, next to the same without it."""
    wrong = [] if any(FAULTS[name][2] in one for one in found.notes) else ["the fault is not named"]
    if len(found.summaries) != (2 if name == "ports used again" else 1):
        return [*wrong, f"{len(found.summaries)} connections"]
    (known,) = true.summaries
    if name == COARSE:
        if found.waits_known or any(one.rtt_s for one in found.summaries):
            wrong.append("waits or round trips of a clock of 1 s")
        return wrong
    for one in found.summaries:
        if name not in (LATE, CUT) and abs(one.seconds - known.seconds) > 0.06:
            wrong.append(f"{one.seconds:.3f} s instead of {known.seconds:.3f}")
        rates = [each.acknowledged_bytes / each.seconds for each in (one, known)]
        if name != CUT and abs(rates[0] / rates[1] - 1) > 0.04:
            wrong.append(f"{rates[0] / rates[1]:.2f} of the rate")
        if one.segments and one.retransmitted > known.retransmitted:
            wrong.append(f"{one.retransmitted} segments retransmitted instead of {known.retransmitted}")
        if one.rtt_s is not None and known.rtt_s is not None and name not in (LATE, CUT):
            if abs(one.rtt_s[0] / known.rtt_s[0] - 1) > 0.02 or abs(one.rtt_s[1] / known.rtt_s[1] - 1) > 0.05:
                wrong.append(f"round trips of {one.rtt_s} instead of {known.rtt_s}")
    if not set(found.waited_s) <= OF_THE_PATH:
        wrong.append(f"waits: {', '.join(set(found.waited_s) - OF_THE_PATH)}")
    if name.startswith("only") and (found.waits_known or found.waits):
        wrong.append("waits by one direction")
    return wrong


def explained_with(name: str, node: str, captures: dict[str, Packets]) -> Diagnosis:
    """What is said of a capture with a fault."""
    fault, snap, _ = FAULTS[name]
    return explained(fault(captures[node]), snap)


def main() -> int:
    """Prints the table: for each fault and place, whether it is named and nothing false is said."""
    captures = {node: captured(node) for node in NODES}
    true = {node: explained(packets) for node, packets in captures.items()}
    failed = 0
    print("| fault | note |", " | ".join(NODES), "|\n|---|---|" + "---|" * len(NODES))
    for name, (_, _, note) in FAULTS.items():
        cells = []
        for node in NODES:
            wrong = problems(name, explained_with(name, node, captures), true[node])
            failed += bool(wrong)
            cells.append("; ".join(wrong) or "right")
        print(f"| {name} | … {note} … |", " | ".join(cells), "|", flush=True)
    print(f"\n{len(FAULTS) * len(NODES) - failed} of {len(FAULTS) * len(NODES)} right")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
