"""Numbers that a capture and its replays are compared by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, FlowPackets
from cwndlab.apps.captures.link_rate import gap_rates

#: The names of the numbers that reflect other traffic.
VARIATION, DELAYED = "rate while queued, variation (%)", "segments delayed by other traffic (%)"
_HALF_SECOND, _PAIRS, _HALF_SECONDS = 0.5, 10, 4
#: A pair of segments whose log rate is this much below the bottleneck's had other packets in between.
_SLOWER = 0.03
#: Number of equal parts of a capture's time.
PARTS = 8
#: The least unit of each element of `vector`, and how many nearest replays a distance averages.
_FINEST = np.array([0.02] * PARTS + [0.02, 0.05, 0.5, 0.5])
_NEIGHBOURS = 5
#: Percentage points that clocks and capturing add to these numbers.
_NOISE = {VARIATION: 2.0, DELAYED: 3.0}
#: Differences below this share of a number are ignored, even if the replays do not scatter.
_SMALL = 0.01


@dataclass(frozen=True)
class ComparedNumbers:
    """Numbers of a capture or a replay that can be compared."""

    throughput_mbps: float
    round_trip_ms: float
    retransmitted_percent: float
    #: Relative variation of this flow's rate between half seconds in which it has a queue.
    variation_percent: float
    #: Share of the pairs of queued segments that had other packets in between.
    delayed_percent: float
    #: Throughput in Mbit/s in each of the `PARTS` parts of the time.
    parts: tuple[float, ...]

    @classmethod
    def of_packets(cls, packets: FlowPackets) -> ComparedNumbers:
        """The numbers of one run or capture."""
        deliveries = Deliveries(packets)
        _, trips = deliveries.trips(prompt=False)
        acked = float(packets.ack.max()) if len(packets.ack) else 0.0
        shortest = float(trips.min()) if len(trips) else math.nan
        base = shortest if math.isnan(packets.handshake_s) else min(shortest, packets.handshake_s)
        spacing = deliveries.spacing(base)
        return cls(
            acked * 8e-6 / packets.seconds if packets.seconds else math.nan,
            1e3 * float(np.mean(trips)) if len(trips) else math.nan,
            100 * len(deliveries.retransmitted_s) / max(len(packets.sent_s), 1),
            100 * _variation(*spacing),
            100 * _delayed(*spacing),
            _parts(packets),
        )

    def items(self) -> Iterator[tuple[str, float]]:
        """The names and values of the numbers that are not split by time."""
        yield "throughput (Mbit/s)", self.throughput_mbps
        yield "round trip, mean (ms)", self.round_trip_ms
        yield "segments retransmitted (%)", self.retransmitted_percent
        yield VARIATION, self.variation_percent
        yield DELAYED, self.delayed_percent

    def vector(self) -> Floats:
        """The numbers on scales on which differences are comparable; NaN for unknown ones."""
        parts = np.log(np.maximum(self.parts, 1e-3)) / math.sqrt(PARTS / 2)
        rest = [math.log(max(self.round_trip_ms, 1e-3)), math.sqrt(self.retransmitted_percent)]
        return np.array([*parts, *rest, self.variation_percent, self.delayed_percent])


def is_far(name: str, value: float, low: float, high: float) -> bool:
    """Whether a number is farther from the range of the replays than chance explains."""
    least = max((high - low) / 2, _NOISE.get(name, 0.0), _SMALL * abs(value))
    return max(low - value, value - high) > least


def is_among(capture: ComparedNumbers, replays: Sequence[ComparedNumbers]) -> bool:
    """Whether the numbers of a capture lie within the range of those of replays."""
    for name, value in capture.items():
        others = [other for replay in replays if not math.isnan(other := dict(replay.items())[name])]
        if math.isnan(value) or len(others) < len(replays) / 2:
            continue
        if is_far(name, value, min(others), max(others)):
            return False
    return True


@dataclass(frozen=True)
class Scatter:
    """The scatter of the numbers of replays on one kind of path: the unit of distances between runs."""

    rows: Floats
    unit: Floats

    @classmethod
    def of_replays(cls, replays: Sequence[ComparedNumbers]) -> Scatter:
        """The scatter of these replays."""
        rows = np.array([replay.vector() for replay in replays])
        return cls(rows, np.fmax(np.nanstd(rows, axis=0), _FINEST))

    def distance(self, capture: ComparedNumbers, replays: Sequence[ComparedNumbers]) -> float:
        """The mean distance of a capture from its nearest replays, in units of the scatter."""
        return self._nearest(capture.vector(), np.array([replay.vector() for replay in replays]))

    @property
    def usual(self) -> float:
        """The largest distance of a replay from the other replays, in the same units."""
        every = range(len(self.rows))
        return max(self._nearest(self.rows[k], np.delete(self.rows, k, axis=0)) for k in every)

    def _nearest(self, row: Floats, rows: Floats) -> float:
        away = np.abs(rows - row) / self.unit
        # A number that one of the two runs lacks counts as one unit.
        distances = np.sqrt(np.mean(np.where(np.isnan(away), 1.0, away) ** 2, axis=1))
        return float(np.mean(np.sort(distances)[:_NEIGHBOURS]))


def _parts(packets: FlowPackets) -> tuple[float, ...]:
    """The throughput in Mbit/s in each of the `PARTS` parts of the time."""
    edges = np.linspace(0.0, packets.seconds, PARTS + 1)
    if not len(packets.ack_s) or not packets.seconds:
        return (0.0,) * PARTS
    acked = np.concatenate([[0], np.maximum.accumulate(packets.ack)])
    at = acked[np.searchsorted(packets.ack_s, edges, side="right")]
    return tuple((np.diff(at) * 8e-6 * PARTS / packets.seconds).tolist())


def _delayed(size: Floats, gap: Floats, times: Floats) -> float:
    """The share of pairs that were slower than the bottleneck; NaN if there are too few pairs."""
    single, mode = gap_rates(size, gap)
    return float(np.mean(single < mode - _SLOWER)) if len(single) else math.nan


def _variation(size: Floats, gap: Floats, times: Floats) -> float:
    """The standard deviation of the log rate of queued segments over half seconds with enough pairs; NaN if
    there are fewer than four of these.
    """
    place = (times / _HALF_SECOND).astype(np.int64)
    pairs = np.bincount(place)
    enough = pairs >= _PAIRS
    if enough.sum() < _HALF_SECONDS:
        return math.nan
    rates = np.bincount(place, size)[enough] / np.bincount(place, gap)[enough]
    return round(float(np.std(np.log(rates))), 4)
