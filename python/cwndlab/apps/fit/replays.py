"""Simulates a fitted path, estimates it from the replays, and makes intervals of the errors."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cwndlab.api import Study
from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, FlowPackets, Truths, Whole, of_segments
from cwndlab.runs.single_run import simulate_tables

from .fitted_study import FLOW, FittedFlow, PathParameters, tables
from .path_estimates import PathEstimates, estimate_path
from .random_loss import RandomLoss
from .stated_parameters import StatedParameters

#: What replays do not have: a host's clock is off by this share, and hosts take this long to answer.
HOST_CLOCK, HOST_DELAY_S = 1e-4, 5e-5
#: How far the first replays lie from the estimates at most: base round trip and buffer, as shares.
_BASE_AROUND, _BUFFER_AROUND = 0.03, 0.1
#: How far the rates of all replays do: no farther than a clock leaves open. Errors of the base round trip
#: contain the time to send an acknowledgment, so that each rate has an error of its own.
_RATE_AROUND = HOST_CLOCK
#: And their shares of cross traffic, as a part of the bottleneck.
_CROSS_AROUND = 0.03
#: The share of queues that are limited in packets, which no packet of a flow shows.
_IN_PACKETS = 0.5


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
        return of_segments(simulate_tables(cell.scenario, plan.derive_seed(cell), 0, ())["segments"], 0)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(len(plan.cells))))


@dataclass(frozen=True)
class Region:
    """Paths around a middle: at most so far from its base round trip and buffer."""

    middle: PathParameters
    base_s: float
    buffer_bytes: float
    loss: RandomLoss
    wire_bytes: int
    #: The share of queues that are limited in packets; the others are limited in bytes.
    in_packets: float

    @classmethod
    def of_estimates(
        cls, middle: PathParameters, loss: RandomLoss, wire_bytes: int, *, buffer_stated: bool = False
    ) -> Region:
        """That around direct estimates, or a buffer that is stated in bytes."""
        base, buffer = _BASE_AROUND * middle.base_s, _BUFFER_AROUND * middle.buffer_bytes
        in_packets = 0.0 if buffer_stated else _IN_PACKETS
        return cls(middle, base, max(buffer, wire_bytes), loss, wire_bytes, in_packets)

    def narrow_to(self, draws: Sequence[PathParameters], loss: RandomLoss) -> Region:
        """That of these draws, which are of paths in this region."""
        middle = centre_of(draws)
        base = max(abs(one.base_s - middle.base_s) for one in draws)
        buffer = max(abs(one.buffer_bytes - middle.buffer_bytes) for one in draws)
        # By a packet at least, to either side: a drop-tail queue holds whole packets.
        within = max(buffer, self.wire_bytes)
        return replace(self, middle=middle, base_s=base, buffer_bytes=within, loss=loss)

    def draw(self, rng: random.Random) -> PathParameters:
        """A path, as a study has it: an error must not contain how values are rounded.

        Its queue is limited in bytes or in packets.
        """
        middle = self.middle
        values: dict[str, Any] = {
            "rate_bps": middle.rate_bps * (1 + _RATE_AROUND * rng.uniform(-1, 1)),
            "base_s": middle.base_s + self.base_s * rng.uniform(-1, 1),
            "buffer_bytes": middle.buffer_bytes + self.buffer_bytes * rng.uniform(-1, 1),
            "packet_bytes": self.wire_bytes if rng.random() < self.in_packets else 0,
            "loss": self.loss.draw(rng),
        }
        if middle.cross:
            values["cross"] = middle.cross + _CROSS_AROUND * rng.uniform(-1, 1)
        return middle.with_changes(**values).as_written


@dataclass(frozen=True)
class Errors:
    """How far the estimates of replays lay from their paths, one for each replay; NaN if it showed none.

    Rate: logarithms of ratios. Base round trip: seconds. Buffer: bytes, as its errors are packets and parts
    of packets whatever its size. Cross traffic: shares of the rate.
    """

    rate: Floats
    base: Floats
    buffer: Floats
    cross: Floats
    #: Segments sent while the queue was not full, and losses among them beyond those of the path.
    free_segments: Floats
    excess_losses: Floats

    @classmethod
    def of_replays(
        cls, paths: Sequence[PathParameters], packets: Sequence[FlowPackets], stated: StatedParameters
    ) -> Errors:
        """The errors of these replays of these paths, with the parameters stated that were."""
        found = [
            estimate_path(Deliveries(one), stated.as_on(path.base_s, path.buffer_bytes))
            for one, path in zip(packets, paths, strict=True)
        ]
        pairs = list(zip(found, paths, strict=True))
        return cls(
            np.array([_log_ratio(one.rate_bps, path.rate_bps) for one, path in pairs]),
            np.array([one.base_s - path.base_s for one, path in pairs]),
            np.array([one.queue.buffer_bytes - path.buffer_bytes for one, path in pairs]),
            np.array([one.cross - path.cross for one, path in pairs]),
            np.array([float(one.queue.other_segments) for one, _ in pairs]),
            np.array([one.queue.other_losses - path.loss * one.queue.other_segments for one, path in pairs]),
        )

    def spurious_loss(self, losses: Floats) -> tuple[float, float]:
        """Losses per segment that were taken for random ones and were not: their mean over replays, whose
        random losses are these shares, and the standard deviation that chance does not explain.
        """
        segments = np.maximum(self.free_segments, 1.0)
        mean = max(0.0, float(self.excess_losses.sum()) / max(float(self.free_segments.sum()), 1.0))
        around = (self.excess_losses / segments - mean) ** 2
        # Poisson's variance of all losses that are taken for random ones, spurious or not.
        by_chance = (losses + mean) / segments
        return mean, math.sqrt(max(0.0, float(np.mean(around - by_chance))))

    @property
    def buffer_shown(self) -> Truths:
        """Which replays show the buffer, or have it stated."""
        return np.asarray(~np.isnan(self.buffer))

    def followed_by(self, others: Errors) -> Errors:
        """Those of these replays, then those of others."""
        pairs = ((getattr(self, one.name), getattr(others, one.name)) for one in fields(self))
        return Errors(*map(np.concatenate, pairs))

    def take(self, kept: Whole) -> Errors:
        """Those of some replays."""
        return Errors(*(getattr(self, one.name)[kept] for one in fields(self)))


def _log_ratio(a: float, b: float) -> float:
    return math.log(a / b) if a > 0 and b > 0 else math.nan


def draws_of(
    paths: Sequence[PathParameters], found: PathEstimates, errors: Errors, loss: RandomLoss, seed: int
) -> list[PathParameters]:
    """Draws of the path: the estimate less the error of each replay, all parameters of the same replay.

    What `paths`, those of the replays, have besides is kept, such as the kind of limit: that of a draw is in
    whole packets where its replay's was.
    """
    rng = random.Random(seed + 1)
    made = []
    for k, path in enumerate(paths):
        values = {
            "rate_bps": found.rate_bps * math.exp(-_known(errors.rate, k)),
            "base_s": found.base_s - _known(errors.base, k),
            "buffer_bytes": found.queue.buffer_bytes - _known(errors.buffer, k),
            "loss": loss.draw(rng),
            "cross": found.cross - _known(errors.cross, k) if path.cross else 0.0,
        }
        made.append(path.with_changes(**values))
    return made


def _known(errors: Floats, k: int) -> float:
    """The error of a replay, or the middle one where it showed nothing; 0 if none did."""
    if not math.isnan(errors[k]):
        return float(errors[k])
    return 0.0 if np.isnan(errors).all() else float(np.nanmedian(errors))


def interval_of(values: Sequence[float]) -> DrawnInterval:
    """The middle of draws, and their ends."""
    return DrawnInterval(float(np.median(values)), min(values), max(values))


def centre_of(draws: Sequence[PathParameters]) -> PathParameters:
    """The middle of draws, parameter by parameter, with the cross traffic of the first."""

    def middle(values: list[float]) -> float:
        return interval_of(values).value

    return replace(
        draws[0],
        rate_bps=middle([one.rate_bps for one in draws]),
        base_s=middle([one.base_s for one in draws]),
        buffer_bytes=middle([one.buffer_bytes for one in draws]),
        loss=middle([one.loss for one in draws]),
        cross=middle([one.cross for one in draws]),
    )
