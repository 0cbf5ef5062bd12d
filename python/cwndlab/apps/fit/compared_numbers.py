"""The numbers by which a capture and its replays are compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, FlowPackets
from cwndlab.apps.captures.link_rate import gap_rates

#: Names of what other traffic shows in.
VARIATION, DELAYED = "rate while queued, variation (%)", "segments delayed by other traffic (%)"
_HALF_SECOND, _PAIRS, _HALF_SECONDS = 0.5, 10, 4
#: A pair of segments so much slower than the bottleneck had others between.
_SLOWER = 0.03
#: A capture is cut into so many parts.
PARTS = 8
#: The least unit of each number of a vector, and of how many nearest runs distances are the mean.
_FINEST = np.array([0.02] * PARTS + [0.02, 0.05, 0.5, 0.5])
_NEIGHBOURS = 5
#: What clocks and captures add to these numbers of other traffic, in percent.
_NOISE = {VARIATION: 2.0, DELAYED: 3.0}
#: A difference below this share of a number does not matter, even where replays do not scatter.
_SMALL = 0.01


@dataclass(frozen=True)
class ComparedNumbers:
    """What a capture and a replay have in common."""

    throughput_mbps: float
    round_trip_ms: float
    retransmitted_percent: float
    #: How much the rate of this flow varies from half second to half second while it has a queue.
    variation_percent: float
    #: Pairs of segments that waited behind each other with others in between.
    delayed_percent: float
    #: Mbit/s in each part of the time.
    parts: tuple[float, ...]

    @classmethod
    def of_packets(cls, packets: FlowPackets) -> ComparedNumbers:
        """Of one run or capture."""
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
        """Each number of the whole with its name."""
        yield "throughput (Mbit/s)", self.throughput_mbps
        yield "round trip, mean (ms)", self.round_trip_ms
        yield "segments retransmitted (%)", self.retransmitted_percent
        yield VARIATION, self.variation_percent
        yield DELAYED, self.delayed_percent

    def vector(self) -> Floats:
        """The numbers on scales on which differences can be compared; NaN for what is not known."""
        parts = np.log(np.maximum(self.parts, 1e-3)) / math.sqrt(PARTS / 2)
        rest = [math.log(max(self.round_trip_ms, 1e-3)), math.sqrt(self.retransmitted_percent)]
        return np.array([*parts, *rest, self.variation_percent, self.delayed_percent])


def is_far(name: str, value: float, low: float, high: float) -> bool:
    """Whether a number lies so far from those of replays that it is not chance."""
    least = max((high - low) / 2, _NOISE.get(name, 0.0), _SMALL * abs(value))
    return max(low - value, value - high) > least


def is_among(capture: ComparedNumbers, replays: Sequence[ComparedNumbers]) -> bool:
    """Whether the numbers of a capture lie among those of replays."""
    for name, value in capture.items():
        others = [other for one in replays if not math.isnan(other := dict(one.items())[name])]
        if math.isnan(value) or len(others) < len(replays) / 2:
            continue
        if is_far(name, value, min(others), max(others)):
            return False
    return True


@dataclass(frozen=True)
class Scatter:
    """How much the numbers of replays of one kind of path scatter, as a unit of distances between runs."""

    rows: Floats
    unit: Floats

    @classmethod
    def of_replays(cls, replays: Sequence[ComparedNumbers]) -> Scatter:
        """That of these replays."""
        rows = np.array([one.vector() for one in replays])
        return cls(rows, np.fmax(np.nanstd(rows, axis=0), _FINEST))

    def distance(self, capture: ComparedNumbers, replays: Sequence[ComparedNumbers]) -> float:
        """How far a capture is from the nearest of replays."""
        return self._nearest(capture.vector(), np.array([one.vector() for one in replays]))

    @property
    def usual(self) -> float:
        """How far one of the replays is from the nearest of the others at most."""
        every = range(len(self.rows))
        return max(self._nearest(self.rows[k], np.delete(self.rows, k, axis=0)) for k in every)

    def _nearest(self, row: Floats, rows: Floats) -> float:
        away = np.abs(rows - row) / self.unit
        # A number that one of both lacks counts as one unit.
        distances = np.sqrt(np.mean(np.where(np.isnan(away), 1.0, away) ** 2, axis=1))
        return float(np.mean(np.sort(distances)[:_NEIGHBOURS]))


def _parts(packets: FlowPackets) -> tuple[float, ...]:
    """The throughput in each part of the time."""
    edges = np.linspace(0.0, packets.seconds, PARTS + 1)
    if not len(packets.ack_s) or not packets.seconds:
        return (0.0,) * PARTS
    acked = np.concatenate([[0], np.maximum.accumulate(packets.ack)])
    at = acked[np.searchsorted(packets.ack_s, edges, side="right")]
    return tuple((np.diff(at) * 8e-6 * PARTS / packets.seconds).tolist())


def _delayed(size: Floats, gap: Floats, times: Floats) -> float:
    """The share of pairs that were slower than the bottleneck; NaN if there are too few."""
    single, mode = gap_rates(size, gap)
    return float(np.mean(single < mode - _SLOWER)) if len(single) else math.nan


def _variation(size: Floats, gap: Floats, times: Floats) -> float:
    """Standard deviation of the logarithm of the rate at which segments that waited arrive, over half seconds
    with enough of them; NaN if there are fewer than four.
    """
    place = (times / _HALF_SECOND).astype(np.int64)
    pairs = np.bincount(place)
    enough = pairs >= _PAIRS
    if enough.sum() < _HALF_SECONDS:
        return math.nan
    rates = np.bincount(place, size)[enough] / np.bincount(place, gap)[enough]
    return round(float(np.std(np.log(rates))), 4)
