"""Simulates a fitted path, estimates it from the replays, and makes intervals of the errors."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from cwndlab.runs.single_run import simulate_tables
from cwndlab.study import Study

from .deliveries import Deliveries
from .fitted_study import FLOW, FittedFlow, PathParameters, tables
from .flow_packets import Floats, FlowPackets, Truths, Whole, of_segments
from .path_estimates import PathEstimates, estimate_path
from .random_loss import RandomLoss
from .stated_parameters import StatedParameters

#: How far from the estimates the paths of replays lie at most, as a share; so that an error is not that of
#: one path only.
_AROUND = {"rate_bps": 0.03, "base_s": 0.03, "buffer_bytes": 0.1}
#: And the share of cross traffic, as a part of the bottleneck.
_AROUND_CROSS = 0.03
#: Bytes by which buffers differ at least: a drop-tail queue holds whole packets.
_AROUND_PACKET = 1800.0
#: What replays do not have: a host's clock is off by this share, and hosts take this long to answer.
HOST_CLOCK, HOST_DELAY_S = 1e-4, 5e-5


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


def path_around(middle: PathParameters, loss: RandomLoss, rng: random.Random) -> PathParameters:
    """A path near the estimates, as a study has it: an error must not contain how values are rounded."""
    shares = {**_AROUND, "buffer_bytes": max(_AROUND["buffer_bytes"], _AROUND_PACKET / middle.buffer_bytes)}
    values: dict[str, Any] = {
        name: getattr(middle, name) * (1 + share * rng.uniform(-1, 1)) for name, share in shares.items()
    }
    values["loss"] = loss.draw(rng)
    if middle.cross:
        values["cross"] = middle.cross + _AROUND_CROSS * rng.uniform(-1, 1)
    return middle.with_changes(**values).as_written


@dataclass(frozen=True)
class Errors:
    """How far the estimates of replays lay from their paths, one for each replay; NaN if it showed none.

    Rate and buffer: logarithms of ratios. Base round trip: seconds. Cross traffic: shares of the rate.
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
            np.array([_log_ratio(one.queue.buffer_bytes, path.buffer_bytes) for one, path in pairs]),
            np.array([one.cross - path.cross for one, path in pairs]),
            np.array([float(one.queue.other_segments) for one, _ in pairs]),
            np.array([one.queue.other_losses - path.loss * one.queue.other_segments for one, path in pairs]),
        )

    @property
    def spurious_loss(self) -> float:
        """Losses per segment that were taken for random ones and were not, over all replays."""
        return max(0.0, float(self.excess_losses.sum()) / max(float(self.free_segments.sum()), 1.0))

    @property
    def buffer_shown(self) -> Truths:
        """Which replays show the buffer, or have it stated."""
        return np.asarray(~np.isnan(self.buffer))

    def take(self, kept: Whole) -> Errors:
        """Those of some replays."""
        return Errors(*(getattr(self, one.name)[kept] for one in fields(self)))


def _log_ratio(a: float, b: float) -> float:
    return math.log(a / b) if a > 0 and b > 0 else math.nan


def draws_of(
    paths: Sequence[PathParameters], found: PathEstimates, errors: Errors, loss: RandomLoss, seed: int
) -> list[PathParameters]:
    """Draws of the path: the estimate less the error of each replay, all parameters of the same replay.

    What `paths`, those of the replays, have besides is kept.
    """
    rng = random.Random(seed + 1)
    made = []
    for k, path in enumerate(paths):
        values = {
            "rate_bps": found.rate_bps * math.exp(-_known(errors.rate, k)),
            "base_s": found.base_s - _known(errors.base, k),
            "buffer_bytes": found.queue.buffer_bytes * math.exp(-_known(errors.buffer, k)),
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
