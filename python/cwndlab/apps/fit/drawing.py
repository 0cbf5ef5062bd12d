"""Draws of a path with datagrams, TCP flows, or (if either explains the capture) both as cross traffic."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cwndlab.apps.captures.flow_packets import Floats, FlowPackets
from cwndlab.apps.captures.link_rate import LEAST_CROSS

from .compared_numbers import ComparedNumbers, Scatter, is_among
from .fitted_study import DRAWS, FittedFlow, PathParameters, Rival
from .path_estimates import PathEstimates
from .random_loss import RandomLoss
from .replays import Errors, Region, draws_of, replay
from .stated_parameters import StatedParameters
from .time_courses import TimeCourse

#: Replays in a pilot round, which corrects the estimates before the final replays.
PILOTS = 13
#: Most pilot rounds, and the change of the datagrams' share of the rate below which they stop.
MOST_PILOTS, STEADY_CROSS = 6, 0.005
#: Simulated paths with other TCP flows; the nearest `DRAWS` of them are used.
CANDIDATES = 120
#: Datagrams are excluded if the capture is this many times farther from their replays than these are apart.
FARTHER = 1.25
#: TCP flows are excluded if the capture is this many times farther from their replays than from datagrams'.
UNLIKELIER = 2.0
#: Congestion controls, numbers and relative round trips of other TCP flows to draw from.
RIVAL_LAWS, RIVAL_COUNTS, RIVAL_RTTS = ("cubic", "reno", "bbr1"), (1, 1, 2), (0.5, 2.0)


class BufferNotShownError(Exception):
    """Fewer than half of the replays show the buffer."""


@dataclass(frozen=True)
class FitTask:
    """The inputs of the draws."""

    path: PathEstimates
    flow: FittedFlow
    #: The numbers of the capture.
    capture: ComparedNumbers
    stated: StatedParameters
    seed: int
    threads: int

    @property
    def loss(self) -> RandomLoss:
        """The random losses according to the capture."""
        return RandomLoss.of_queue(self.path.queue)

    def middle(self, cross: float) -> PathParameters:
        """The path with the direct estimates."""
        path = self.path
        made = PathParameters(path.rate_bps, path.base_s, path.queue.buffer_bytes, self.loss.share, cross)
        return made.with_changes()

    def region(self, cross: float) -> Region:
        """The region of the first replays."""
        stated = self.stated.has_buffer
        return Region.of_estimates(self.middle(cross), self.loss, self.flow.wire_bytes, buffer_stated=stated)

    def replay(self, paths: Sequence[PathParameters]) -> list[FlowPackets]:
        """The packets of the flow on these paths, from simulation."""
        return replay(paths, self.flow, self.threads)

    def simulate(self, paths: Sequence[PathParameters], loss: RandomLoss) -> DrawnPaths:
        """These draws with their replays."""
        replays = self.replay(paths)
        return DrawnPaths(
            paths,
            [ComparedNumbers.of_packets(packets) for packets in replays],
            [TimeCourse.of_packets(packets, self.flow.seconds) for packets in replays],
            loss,
        )


@dataclass(frozen=True)
class DrawnPaths:
    """Draws of a path of one kind, the compared numbers of their replays, and the estimated random loss."""

    draws: Sequence[PathParameters]
    numbers: Sequence[ComparedNumbers]
    courses: Sequence[TimeCourse]
    loss: RandomLoss


def draw_paths(task: FitTask) -> list[DrawnPaths]:
    """The draws of each kind of path that explains the capture, or of datagrams if neither does.

    Raises:
        BufferNotShownError: too few replays show the buffer.

    """
    plain = _without_tcp(task)
    if task.path.cross < LEAST_CROSS and is_among(task.capture, plain.numbers):
        return [plain]
    rivals = Candidates.simulate(task)
    scatter = Scatter.of_replays(plain.numbers)
    away = scatter.distance(task.capture, plain.numbers)
    near = scatter.distance(task.capture, rivals.numbers)
    # The nearer kind is never excluded in favour of the farther one.
    found = [plain] if away <= max(FARTHER * scatter.usual, near) else []
    if near <= UNLIKELIER * away and is_among(task.capture, rivals.numbers):
        found.append(rivals.draw(task))
    return found or [plain]


def _without_tcp(task: FitTask) -> DrawnPaths:
    """Draws with datagrams as cross traffic, if any.

    Pilot replays measure the error of the estimates and its scatter; the final draws lie around the corrected
    estimates. They do not scatter more than that: the path holds whole packets, and the wait at a full queue
    depends on the remainder, so each base round trip and buffer has its own error. Next to a sender that
    keeps the queue full, many datagrams are lost, and the error of their rate grows with the rate. The pilots
    are therefore repeated until this correction converges.
    """
    region = task.region(task.path.cross)
    for attempt in range(MOST_PILOTS):
        before = region.middle.cross
        region, _ = _around(task, region, PILOTS, attempt)
        if abs(region.middle.cross - before) <= STEADY_CROSS:
            break
    region, draws = _around(task, region, DRAWS, 0)
    return task.simulate(draws, region.loss)


def _around(
    task: FitTask, region: Region, count: int, attempt: int
) -> tuple[Region, Sequence[PathParameters]]:
    """The region narrowed by `count` replays in it, and the draws that they yield."""
    rng = random.Random(task.seed + count + 1000 * attempt)
    paths, errors = _replays_around(task, [region.draw(rng) for _ in range(2 * count)])
    loss = RandomLoss.of_queue(task.path.queue, errors.spurious_loss(_losses(paths)))
    draws = draws_of(paths, task.path, errors, loss, task.seed)
    return region.narrow_to(draws, loss), draws


def _losses(paths: Sequence[PathParameters]) -> Floats:
    return np.array([path.loss for path in paths])


def _replays_around(
    task: FitTask, paths: Sequence[PathParameters]
) -> tuple[Sequence[PathParameters], Errors]:
    """The first half of the paths and the errors of their replays; replays that hide the buffer are replaced.

    The replays must show the buffer because the capture does.

    Raises:
        BufferNotShownError: fewer than half of the first half show the buffer.

    """
    count = len(paths) // 2
    packets = task.replay(paths[:count])
    errors = Errors.of_replays(paths[:count], packets, task.stated)
    if errors.buffer_shown.all():
        return paths[:count], errors
    if errors.buffer_shown.mean() < 0.5:
        raise BufferNotShownError
    more = task.replay(paths[count:])
    errors = errors.followed_by(Errors.of_replays(paths[count:], more, task.stated))
    kept = np.argsort(~errors.buffer_shown, kind="stable")[:count]
    return [paths[k] for k in kept], errors.take(kept)


@dataclass(frozen=True)
class Candidates:
    """The paths with other TCP flows whose replays are nearest to the capture, of many."""

    paths: Sequence[PathParameters]
    errors: Errors
    numbers: Sequence[ComparedNumbers]

    @classmethod
    def simulate(cls, task: FitTask) -> Candidates:
        """Simulates candidate paths and selects the nearest."""
        rng = random.Random(task.seed + CANDIDATES)
        region = task.region(0.0)
        paths = [replace(region.draw(rng), rival=_rival(rng, task.flow.seconds)) for _ in range(CANDIDATES)]
        packets = task.replay(paths)
        errors = Errors.of_replays(paths, packets, task.stated)
        numbers = [ComparedNumbers.of_packets(packet) for packet in packets]
        shown = np.flatnonzero(errors.buffer_shown)  # the capture shows the buffer, too
        among = shown if len(shown) >= DRAWS else np.arange(CANDIDATES)
        near = among[nearest(task.capture, [numbers[k] for k in among], DRAWS)]
        return cls([paths[k] for k in near], errors.take(near), [numbers[k] for k in near])

    def draw(self, task: FitTask) -> DrawnPaths:
        """Draws of the path from the errors of the candidates' replays."""
        loss = RandomLoss.of_queue(task.path.queue, self.errors.spurious_loss(_losses(self.paths)))
        draws = draws_of(self.paths, task.path, self.errors, loss, task.seed)
        return task.simulate(draws, loss)


def _rival(rng: random.Random, seconds: float) -> Rival:
    low, high = map(math.log, RIVAL_RTTS)
    return Rival(
        rng.choice(RIVAL_LAWS),
        rng.choice(RIVAL_COUNTS),
        round(rng.uniform(0, seconds / 2), 3),
        math.exp(rng.uniform(low, high)),
    )


def nearest(capture: ComparedNumbers, replays: Sequence[ComparedNumbers], count: int) -> list[int]:
    """Indices of the replays whose numbers are nearest to the capture's, in units of their spread."""
    rows = np.array([one.vector() for one in replays])
    away = np.abs(rows - capture.vector())
    spread = np.nanstd(rows, axis=0)
    scaled = np.where(spread > 0, away / np.where(spread > 0, spread, 1.0), 0.0)
    # A number that one of the two lacks counts as one spread.
    distance = np.sum(np.where(np.isnan(scaled), 1.0, scaled) ** 2, axis=1)
    return [int(k) for k in np.argsort(distance, kind="stable")[:count]]
