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
from cwndlab.runs.single_run import trace

RAW, ETHERNET = 101, 1
#: Seconds since 1970, and an IPv4 packet.
Packets = list[tuple[float, bytes]]

RUN = """
title = "A transfer"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
buffer = 1
flows = [{ name = "flow", cc = "cubic", start = "0s" }]
[run]
duration = "4s"
"""


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
    """The length that the header of an IPv4 packet states."""
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


def lacking(first: int, count: int) -> Callable[[Packets], Packets]:
    """Without packets that the capture dropped."""
    return lambda packets: packets[:first] + packets[first + count :]


def set_back(after: int, by_s: float) -> Callable[[Packets], Packets]:
    """The clock goes back once."""
    return lambda packets: packets[:after] + [(time - by_s, data) for time, data in packets[after:]]


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
    "clock back by 1 s": (set_back(1500, 1.0), 65535, "the clock of the capture was set back by 1"),
    "clock back by 1 h": (set_back(1500, 3600.0), 65535, "the clock of the capture was set back by 36"),
    "only data": (one_direction(True), 65535, "only the sender's packets"),
    "only acknowledgments": (one_direction(False), 65535, "only the receiver's packets"),
    "stamps of 1 s": (coarse(1.0), 65535, "multiples of 1000 ms"),
    "stamps of 10 ms": (coarse(0.01), 65535, "multiples of 10 ms"),
    "1 s late": (late(1.0), 65535, "the handshake was not captured"),
    "snap length 40": (list, 40, "options of TCP were cut off"),
    "snap length 38": (list, 38, "options of TCP were cut off"),
    "fragments": (fragmented, 65535, "fragments of IP"),
    "a damaged number": (damaged(300), 65535, "a wrong checksum"),
}
NODES = ("flow_sender", "flow_receiver")


def explained(packets: Packets, snap: int = 65535) -> Diagnosis:
    """What is said of a capture."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.pcap")
        file.write_bytes(pcap(packets, snap=snap))
        return explain_capture(file)


def main() -> int:
    """Prints the table."""
    for node in NODES:
        packets = captured(node)
        print(f"\n{node}, without a fault: {explained(packets)}")
        for name, (fault, snap, note) in FAULTS.items():
            found = explained(fault(packets), snap)
            named = any(note in one for one in found.notes)
            print(f"\n--- {name}: {'named' if named else 'NOT NAMED'}")
            print("\n".join(str(found).splitlines()[: 5 + len(found.notes)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
