"""Replays of a fitted path, their estimation errors, and intervals from these errors."""

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

#: Errors that replays lack: the relative error of a host's clock, and the delay of a host's answer in s.
HOST_CLOCK, HOST_DELAY_S = 1e-4, 5e-5
#: Largest relative distance of the first replays from the estimated base round trip and buffer.
_BASE_AROUND, _BUFFER_AROUND = 0.03, 0.1
#: Largest relative distance of all replays from the rate: that of a clock. Errors of the base round trip
#: contain the time to send an acknowledgment, so they depend on the rate.
_RATE_AROUND = HOST_CLOCK
#: Largest distance of the share of cross traffic, in shares of the rate.
_CROSS_AROUND = 0.03
#: Share of queues limited in packets, as a flow's packets do not reveal the kind of limit.
_IN_PACKETS = 0.5


@dataclass(frozen=True)
class DrawnInterval:
    """A parameter and its 95 % interval."""

    value: float
    low: float
    high: float


def replay(paths: Sequence[PathParameters], flow: FittedFlow, threads: int) -> list[FlowPackets]:
    """The packets of the flow on each of these paths, from simulation."""
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
    """A region of paths: up to `base_s` and `buffer_bytes` from those of `middle`."""

    middle: PathParameters
    base_s: float
    buffer_bytes: float
    loss: RandomLoss
    wire_bytes: int
    #: The share of queues limited in packets; the others are limited in bytes.
    in_packets: float

    @classmethod
    def of_estimates(
        cls, middle: PathParameters, loss: RandomLoss, wire_bytes: int, *, buffer_stated: bool = False
    ) -> Region:
        """The region around direct estimates. With a stated buffer, all queues are limited in bytes."""
        base, buffer = _BASE_AROUND * middle.base_s, _BUFFER_AROUND * middle.buffer_bytes
        in_packets = 0.0 if buffer_stated else _IN_PACKETS
        return cls(middle, base, max(buffer, wire_bytes), loss, wire_bytes, in_packets)

    def narrow_to(self, draws: Sequence[PathParameters], loss: RandomLoss) -> Region:
        """The region of these draws, which come from paths in this region."""
        middle = centre_of(draws)
        base = max(abs(draw.base_s - middle.base_s) for draw in draws)
        buffer = max(abs(draw.buffer_bytes - middle.buffer_bytes) for draw in draws)
        # At least a packet to either side, because a drop-tail queue holds whole packets.
        within = max(buffer, self.wire_bytes)
        return replace(self, middle=middle, base_s=base, buffer_bytes=within, loss=loss)

    def draw(self, rng: random.Random) -> PathParameters:
        """A random path of the region, rounded as in a study file, so that errors do not include rounding.

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
    """The errors of estimates from replays, an element for each replay; NaN if a replay showed no estimate.

    Units: for rates, logarithms of ratios; for base round trips, seconds; for buffers, bytes, since their
    errors are parts of packets whatever the size; for cross traffic, shares of the rate.
    """

    rate: Floats
    base: Floats
    buffer: Floats
    cross: Floats
    #: Segments sent while the queue was not full, and losses among them beyond the path's random losses.
    free_segments: Floats
    excess_losses: Floats

    @classmethod
    def of_replays(
        cls, paths: Sequence[PathParameters], packets: Sequence[FlowPackets], stated: StatedParameters
    ) -> Errors:
        """The errors of these replays; what was stated for the capture is stated for the replays, too."""
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
        """The losses per segment that were wrongly taken for random: mean, and standard deviation beyond
        chance.

        `losses` are the replays' shares of random losses.
        """
        segments = np.maximum(self.free_segments, 1.0)
        mean = max(0.0, float(self.excess_losses.sum()) / max(float(self.free_segments.sum()), 1.0))
        around = (self.excess_losses / segments - mean) ** 2
        # The Poisson variance of all losses that were taken for random, spurious ones included.
        by_chance = (losses + mean) / segments
        return mean, math.sqrt(max(0.0, float(np.mean(around - by_chance))))

    @property
    def buffer_shown(self) -> Truths:
        """Which replays show the buffer or have it stated."""
        return np.asarray(~np.isnan(self.buffer))

    def followed_by(self, others: Errors) -> Errors:
        """The errors of these replays, followed by those of others."""
        pairs = ((getattr(self, field.name), getattr(others, field.name)) for field in fields(self))
        return Errors(*map(np.concatenate, pairs))

    def take(self, kept: Whole) -> Errors:
        """The errors of the replays with these indices."""
        return Errors(*(getattr(self, field.name)[kept] for field in fields(self)))


def _log_ratio(a: float, b: float) -> float:
    return math.log(a / b) if a > 0 and b > 0 else math.nan


def draws_of(
    paths: Sequence[PathParameters], found: PathEstimates, errors: Errors, loss: RandomLoss, seed: int
) -> list[PathParameters]:
    """Draws of the path: the estimates minus the errors of each replay; a draw uses a single replay's errors.

    Other properties, such as the kind of the queue's limit, are those of the replay's path.
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
    """The error of a replay, or the median error if it is unknown; 0 if all are unknown."""
    if not math.isnan(errors[k]):
        return float(errors[k])
    return 0.0 if np.isnan(errors).all() else float(np.nanmedian(errors))


def interval_of(values: Sequence[float]) -> DrawnInterval:
    """The median of draws, and the range of draws as interval."""
    return DrawnInterval(float(np.median(values)), min(values), max(values))


def centre_of(draws: Sequence[PathParameters]) -> PathParameters:
    """The median of each parameter over draws, with the cross traffic of the first draw."""

    def middle(values: list[float]) -> float:
        return interval_of(values).value

    return replace(
        draws[0],
        rate_bps=middle([draw.rate_bps for draw in draws]),
        base_s=middle([draw.base_s for draw in draws]),
        buffer_bytes=middle([draw.buffer_bytes for draw in draws]),
        loss=middle([draw.loss for draw in draws]),
        cross=middle([draw.cross for draw in draws]),
    )
