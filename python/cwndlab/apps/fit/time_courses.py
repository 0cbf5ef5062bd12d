"""The time course of a flow: throughput, round trip, bytes in flight and retransmissions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, FlowPackets

#: Number of equal parts into which a time course is divided.
PARTS = 100


@dataclass(frozen=True)
class TimeCourse:
    """The series that a fit's figures draw, with a number for each of `PARTS` parts of the time."""

    throughput_mbps: Floats
    #: Mean over the segments sent in each part; NaN if none has a round trip.
    round_trip_ms: Floats
    #: At the end of each part.
    in_flight_kb: Floats
    #: Cumulative number of retransmitted segments.
    retransmitted: Floats

    @classmethod
    def of_packets(cls, packets: FlowPackets, seconds: float) -> TimeCourse:
        """The time course of one run or capture in its first `seconds`."""
        edges = np.linspace(0.0, seconds, PARTS + 1)
        deliveries = Deliveries(packets)
        sent_s, trips = deliveries.trips(prompt=False)
        place = np.minimum((sent_s / seconds * PARTS).astype(np.int64), PARTS - 1)
        count = np.bincount(place, minlength=PARTS)
        total = np.bincount(place, trips, minlength=PARTS)
        acked = _highest(packets.ack_s, packets.ack, edges)
        sent = _highest(packets.sent_s, packets.seq + packets.size, edges)
        return cls(
            np.diff(acked) * 8e-6 * PARTS / seconds,
            1e3 * np.divide(total, count, out=np.full(PARTS, np.nan), where=count > 0),
            np.maximum(sent - acked, 0.0)[1:] / 1e3,
            np.searchsorted(deliveries.retransmitted_s, edges[1:], side="right").astype(float),
        )

    def items(self) -> Iterator[tuple[str, str, Floats]]:
        """The name, axis title and values of each series."""
        yield "throughput", "throughput (Mbit/s)", self.throughput_mbps
        yield "round-trip", "round trip (ms)", self.round_trip_ms
        yield "in-flight", "in flight (kB)", self.in_flight_kb
        yield "retransmitted", "segments sent again since the start", self.retransmitted


def _highest(at: Floats, values: np.ndarray[tuple[int], np.dtype[np.int64]], edges: Floats) -> Floats:
    """The largest value up to each edge."""
    reached = np.concatenate([[0], np.maximum.accumulate(values)]) if len(values) else np.zeros(1)
    return np.asarray(reached[np.searchsorted(at, edges, side="right")], dtype=float)
