"""Export to qlog: packets, windows, losses and expired timers of a connection, as seen by its data sender.

Two versions are supported: 0.3, which qvis reads, and the current draft (quic-events-14). For QUIC, packet
numbers and ACK frames are the stack's. TCP is shown as if it were QUIC: each sent segment has its own packet
number, ACKs and SACK blocks become ranges of the packets that they acknowledge first, and a packet counts as
lost when its bytes are retransmitted.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: The supported versions of qlog.
VERSIONS = ("0.3", "draft-14")
_NAMES = {
    "0.3": {
        "sent": "transport:packet_sent",
        "received": "transport:packet_received",
        "lost": "recovery:packet_lost",
        "metrics": "recovery:metrics_updated",
        "timer": "recovery:loss_timer_updated",
    },
    "draft-14": {
        "sent": "quic:packet_sent",
        "received": "quic:packet_received",
        "lost": "quic:packet_lost",
        "metrics": "quic:recovery_metrics_updated",
        "timer": "quic:timer_updated",
    },
}
#: qlog's names of loss detection timers in table `timeouts` (RFC 9002, sections 6.1.2 and 6.2).
_TIMERS = {"probe": "pto", "rto": "pto", "reordering": "ack"}
#: Starts each record of JSON-SEQ (RFC 7464).
_RECORD = "\x1e"

Row = Mapping[str, Any]
Event = tuple[int, str, dict[str, Any]]


def qlog(
    segments: Sequence[Row],
    windows: Sequence[Row],
    timeouts: Sequence[Row],
    title: str,
    version: str,
    *,
    client: bool,
    quic: bool,
) -> str:
    """The content of an .sqlog file.

    Args:
        segments: the rows of table `segments` of one connection, observed at the sender, in order.
        windows: the rows of table `cwnd` of the sender.
        timeouts: the rows of table `timeouts` of the sender.
        title: the name of the connection in the file.
        version: one of `VERSIONS`.
        client: whether the client sends the data.
        quic: whether the connection is QUIC.

    """
    names = _NAMES[version]
    packets = _datagrams(segments, client) if quic else _Outstanding(client).events(segments)
    # The order at equal times: an expired timer causes packets, and both change the window.
    merged = heapq.merge(_expired(timeouts), packets, _metrics(windows), key=lambda event: event[0])
    records = [_header(title, version, client)]
    records += [{"time": time / 1e6, "name": names[name], "data": data} for time, name, data in merged]
    return "".join(f"{_RECORD}{json.dumps(record, separators=(',', ':'))}\n" for record in records)


def _header(title: str, version: str, client: bool) -> dict[str, Any]:
    point = {"type": "client" if client else "server"}
    if version == "0.3":
        common = {"time_format": "relative", "reference_time": 0, "group_id": title}
        trace: dict[str, Any] = {"vantage_point": point, "common_fields": common}
        return {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": title, "trace": trace}
    reference = {"clock_type": "monotonic", "epoch": "unknown"}
    common = {"time_format": "relative_to_epoch", "reference_time": reference, "group_id": title}
    schemas = ["urn:ietf:params:qlog:events:quic-14"]
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": title,
        "trace": {"vantage_point": point, "common_fields": common, "event_schemas": schemas},
    }


def _packet(number: int | None, row: Row, frames: list[dict[str, Any]]) -> dict[str, Any]:
    """A packet of the log. Packets without a number are the handshake's, whose types are not recorded."""
    header: dict[str, Any] = {"packet_type": "unknown"}
    if number is not None:
        header = {"packet_type": "1RTT", "packet_number": number}
    return {"header": header, "raw": {"length": row["wire_bytes"]}, "frames": frames}


def _lost_packet(number: int) -> dict[str, Any]:
    return {"header": {"packet_type": "1RTT", "packet_number": number}}


def _stream(row: Row) -> list[dict[str, Any]]:
    if not row["len"]:
        return []
    return [{"frame_type": "stream", "stream_id": 0, "offset": row["seq"], "length": row["len"]}]


def _ack(ranges: list[list[int]]) -> list[dict[str, Any]]:
    return [{"frame_type": "ack", "acked_ranges": ranges}] if ranges else []


def _expired(timeouts: Sequence[Row]) -> Iterator[Event]:
    for row in timeouts:
        if timer := _TIMERS.get(row["timer"]):
            yield row["time_ns"], "timer", {"timer_type": timer, "event_type": "expired"}


def _metrics(windows: Sequence[Row]) -> Iterator[Event]:
    for row in windows:
        found = {"congestion_window": row["cwnd_bytes"], "bytes_in_flight": row["in_flight_bytes"]}
        if row["ssthresh_bytes"] is not None:
            found["ssthresh"] = row["ssthresh_bytes"]
        if row["srtt_ns"] is not None:
            found["smoothed_rtt"] = row["srtt_ns"] / 1e6
        yield row["time_ns"], "metrics", found


def _datagrams(segments: Sequence[Row], client: bool) -> Iterator[Event]:
    """The packet events of a QUIC connection. A loss has the time at which the link dropped the packet."""
    for row in segments:
        mine = row["from_client"] == client
        number = row["segment"] - 1 if row["segment"] else None
        if row["event"] == "drop":
            if mine and number is not None:
                yield row["time_ns"], "lost", _lost_packet(number)
        elif row["event"] != "mark" and mine == row["sent"]:
            acked = row["sack"] or []
            # Recorded ranges start at 1 and exclude their end; qlog counts from 0 and includes it.
            ranges = [[a - 1, b - 2] for a, b in zip(acked[::2], acked[1::2], strict=True)]
            yield row["time_ns"], "sent" if mine else "received", _packet(number, row, _ack(ranges))


class _Outstanding:
    """The sender's segments that are neither acknowledged nor retransmitted, and their packet numbers."""

    def __init__(self, client: bool) -> None:
        self.client = client
        #: The byte range of each packet, by packet number; the end is exclusive.
        self.packets: dict[int, tuple[int, int]] = {}
        #: A heap of (end, packet number); it may contain packets that are no longer outstanding.
        self.by_end: list[tuple[int, int]] = []
        self.sent = self.received = -1

    def events(self, segments: Sequence[Row]) -> Iterator[Event]:
        for row in segments:
            if row["event"] in ("drop", "mark"):
                continue  # the sender does not observe drops and marks
            time = row["time_ns"]
            if row["from_client"] == self.client:
                if not row["sent"]:
                    continue
                if row["event"] == "retransmit":
                    yield from ((time, "lost", _lost_packet(number)) for number in self._repeated(row))
                yield time, "sent", _packet(self._send(row), row, _stream(row))
            else:
                self.received += 1
                frames = _ack(_ranges(self._acknowledged(row)))
                yield time, "received", _packet(self.received, row, frames)

    def _send(self, row: Row) -> int:
        self.sent += 1
        if row["len"]:
            end = row["seq"] + row["len"]
            self.packets[self.sent] = (row["seq"], end)
            heapq.heappush(self.by_end, (end, self.sent))
        return self.sent

    def _repeated(self, row: Row) -> list[int]:
        """The packets whose bytes this segment retransmits; they are removed."""
        start, end = row["seq"], row["seq"] + row["len"]
        found = [number for number, (low, high) in self.packets.items() if low < end and start < high]
        for number in found:
            del self.packets[number]
        return found

    def _acknowledged(self, row: Row) -> list[int]:
        """The packets that a segment of the receiver newly acknowledges; they are removed."""
        found = []
        while self.by_end and self.by_end[0][0] <= row["ack"]:
            _, number = heapq.heappop(self.by_end)
            if self.packets.pop(number, None):
                found.append(number)
        blocks = row["sack"] or []
        for start, end in zip(blocks[::2], blocks[1::2], strict=True):
            inside = [n for n, (low, high) in self.packets.items() if start <= low and high <= end]
            for number in inside:
                del self.packets[number]
            found += inside
        return sorted(found)


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    """Ascending numbers as ranges with both ends included, highest first, as in ACK frames."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges[::-1]
