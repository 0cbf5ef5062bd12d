"""Simulates a fitted path, estimates it from the replays, and makes intervals of the errors."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from cwndlab.runs.single_run import simulate_tables
from cwndlab.study import Study

from .deliveries import Deliveries
from .fitted_study import DRAWS, FLOW, FittedFlow, PathParameters, tables
from .flow_packets import Floats, FlowPackets, of_segments
from .path_estimates import PathEstimates, estimate_path

#: How far from the estimates the paths of replays lie at most, as a share; so that an error is not that of
#: one path only.
_AROUND = {"rate_bps": 0.03, "base_s": 0.03, "buffer_bytes": 0.1}
#: And the share of cross traffic, as a part of the bottleneck.
_AROUND_CROSS = 0.03
#: Bytes by which buffers differ at least: a drop-tail queue holds whole packets.
_AROUND_PACKET = 1800.0
#: What is compared of other traffic.
VARIATION = "rate while queued, variation (%)"
_HALF_SECOND, _PAIRS, _HALF_SECONDS = 0.5, 10, 4
#: The smallest interval to either side, as a share: clocks and headers of captures are no better.
_FINEST = 1e-3


@dataclass(frozen=True)
class DrawnInterval:
    """A parameter with its 95 % interval."""

    value: float
    low: float
    high: float


def replay(paths: Sequence[PathParameters], flow: FittedFlow, threads: int) -> list[FlowPackets]:
    """The packets of the flow on each of these paths."""
    made = tables("replay", paths[0], paths, flow)
    made["probes"] = {"segments_at": f"{FLOW}_sender"}
    plan = Study.from_dict(made).plan()

    def run(k: int) -> FlowPackets:
        cell = plan.cells[k]
        return of_segments(simulate_tables(cell.scenario, plan.seed_of(cell), 0, ())["segments"], 0)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(len(plan.cells))))


def paths_around(
    middle: PathParameters, found: PathEstimates, seed: int, count: int = DRAWS
) -> list[PathParameters]:
    """Paths near the estimates, one for each draw."""
    rng = random.Random(seed)
    shares = {**_AROUND, "buffer_bytes": max(_AROUND["buffer_bytes"], _AROUND_PACKET / middle.buffer_bytes)}
    made = []
    for _ in range(count):
        values: dict[str, Any] = {
            name: getattr(middle, name) * (1 + share * rng.uniform(-1, 1)) for name, share in shares.items()
        }
        values["loss"] = loss_draw(found, rng)
        if middle.cross:
            values["cross"] = middle.cross + _AROUND_CROSS * rng.uniform(-1, 1)
        made.append(middle.with_changes(**values))
    return made


def loss_draw(found: PathEstimates, rng: random.Random) -> float:
    """A share of random losses that explains those seen: Jeffreys' posterior; none if none was seen."""
    seen = found.queue
    if not seen.other_losses:
        return 0.0
    return rng.betavariate(seen.other_losses + 0.5, seen.other_segments - seen.other_losses + 0.5)


def loss_interval(found: PathEstimates) -> DrawnInterval:
    """The share of random losses, by Jeffreys' interval, which begins at 0 where none was seen."""
    from scipy.stats import beta

    a, b = found.queue.other_losses + 0.5, found.queue.other_segments - found.queue.other_losses + 0.5
    low = float(beta.ppf(0.025, a, b)) if found.queue.other_losses else 0.0
    return DrawnInterval(found.queue.loss, low, float(beta.ppf(0.975, a, b)))


@dataclass(frozen=True)
class Errors:
    """How far the estimates of replays lay from their paths, one for each replay; NaN if it showed none.

    Rate and buffer: logarithms of ratios. Base round trip: seconds. Cross traffic: shares of the rate.
    """

    rate: Floats
    base: Floats
    buffer: Floats
    cross: Floats

    @classmethod
    def of_replays(cls, paths: Sequence[PathParameters], packets: Sequence[FlowPackets]) -> Errors:
        """The errors of these replays of these paths."""
        found = [estimate_path(Deliveries(one)) for one in packets]
        pairs = list(zip(found, paths, strict=True))
        return cls(
            np.array([_log_ratio(one.rate_bps, path.rate_bps) for one, path in pairs]),
            np.array([one.base_s - path.base_s for one, path in pairs]),
            np.array([_log_ratio(one.queue.buffer_bytes, path.buffer_bytes) for one, path in pairs]),
            np.array([one.cross - path.cross for one, path in pairs]),
        )


def _log_ratio(a: float, b: float) -> float:
    return math.log(a / b) if a > 0 and b > 0 else math.nan


def draws_of(
    middle: PathParameters, found: PathEstimates, errors: Errors, seed: int, *, buffer_known: bool
) -> list[PathParameters]:
    """Draws of the path: the estimate less the error of each replay, all parameters of the same replay."""
    rng = random.Random(seed + 1)
    made = []
    for k in range(len(errors.rate)):
        values = {
            "rate_bps": found.rate_bps * math.exp(-_known(errors.rate, k)),
            "base_s": found.base_s - _known(errors.base, k),
            "loss": loss_draw(found, rng),
            "cross": found.cross - _known(errors.cross, k) if middle.cross else 0.0,
        }
        if not buffer_known:
            values["buffer_bytes"] = found.queue.buffer_bytes * math.exp(-_known(errors.buffer, k))
        made.append(middle.with_changes(**values))
    return made


def _known(errors: Floats, k: int) -> float:
    """The error of a replay, or the middle one where it showed nothing."""
    return float(errors[k]) if not math.isnan(errors[k]) else float(np.nanmedian(errors))


def interval_of(values: Sequence[float], finest: float = _FINEST) -> DrawnInterval:
    """The middle of draws, and their ends, but never closer than what a capture resolves."""
    middle = float(np.median(values))
    near = finest * abs(middle)
    return DrawnInterval(middle, min(min(values), middle - near), max(max(values), middle + near))


def whole_packets(found: DrawnInterval, wire_bytes: int) -> DrawnInterval:
    """An interval of a buffer widened to whole packets: those in between act alike."""
    low, high = math.floor(found.low / wire_bytes), math.ceil(found.high / wire_bytes)
    return DrawnInterval(found.value, float(low * wire_bytes), float(high * wire_bytes))


@dataclass(frozen=True)
class Replayed:
    """What a capture and a replay have in common: numbers to compare."""

    throughput_mbps: float
    round_trip_ms: float
    retransmitted_percent: float
    #: How much the rate of this flow varies from half second to half second while it has a queue.
    variation_percent: float

    @classmethod
    def of_packets(cls, packets: FlowPackets) -> Replayed:
        """Of one run or capture."""
        deliveries = Deliveries(packets)
        _, trips = deliveries.trips(prompt=False)
        acked = float(packets.ack.max()) if len(packets.ack) else 0.0
        return cls(
            acked * 8e-6 / packets.seconds if packets.seconds else math.nan,
            1e3 * float(np.mean(trips)) if len(trips) else math.nan,
            100 * len(deliveries.retransmitted_s) / max(len(packets.sent_s), 1),
            100 * _variation(deliveries),
        )

    def items(self) -> Iterator[tuple[str, float]]:
        """Each number with its name."""
        yield "throughput (Mbit/s)", self.throughput_mbps
        yield "round trip, mean (ms)", self.round_trip_ms
        yield "segments retransmitted (%)", self.retransmitted_percent
        yield VARIATION, self.variation_percent


def _variation(of: Deliveries) -> float:
    """Standard deviation of the logarithm of the rate at which segments that waited arrive, over half seconds
    with enough of them; NaN if there are fewer than four.
    """
    _, trips = of.trips(prompt=False)
    shortest = float(trips.min()) if len(trips) else math.nan
    base = shortest if math.isnan(of.packets.handshake_s) else min(shortest, of.packets.handshake_s)
    size, gap, times = of.spacing(base)
    place = (times / _HALF_SECOND).astype(np.int64)
    pairs = np.bincount(place)
    enough = pairs >= _PAIRS
    if enough.sum() < _HALF_SECONDS:
        return math.nan
    rates = np.bincount(place, size)[enough] / np.bincount(place, gap)[enough]
    return round(float(np.std(np.log(rates))), 4)
