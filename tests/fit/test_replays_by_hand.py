"""Regions of paths, errors of replays, and the draws that they yield, by hand."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from cwndlab.apps.fit import drawing, replays
from cwndlab.apps.fit.compared_numbers import PARTS, ComparedNumbers
from cwndlab.apps.fit.drawing import BufferNotShownError, DrawnPaths, FitTask
from cwndlab.apps.fit.fitted_study import FittedFlow, PathParameters, Rival
from cwndlab.apps.fit.full_queue import QueueEstimates
from cwndlab.apps.fit.path_estimates import PathEstimates
from cwndlab.apps.fit.random_loss import RandomLoss
from cwndlab.apps.fit.replays import Errors, Region, centre_of, draws_of, interval_of
from cwndlab.apps.fit.stated_parameters import NOTHING_STATED, StatedParameters

PATH = PathParameters(8e6, 0.04, 40_000.0)
FOUND = PathEstimates(8e6, 0.04, QueueEstimates(40e3, 41e3, 0, 500, 3, 2), 0.1, 5, 0.0, 0.1)
NO_LOSS = RandomLoss(0, 500)


class Given(random.Random):
    """A source of random numbers that are given."""

    def __init__(self, *values: float, coin: float = 0.9) -> None:
        super().__init__(1)
        self.given, self.coin = list(values), coin

    def uniform(self, a: float, b: float) -> float:
        assert (a, b) == (-1, 1)
        return self.given.pop(0)

    def random(self) -> float:
        return self.coin


def test_a_region_reaches_three_percent_of_the_base_and_ten_of_the_buffer_but_a_packet_at_least() -> None:
    wide = Region.of_estimates(PATH, NO_LOSS, 1500)
    assert (wide.base_s, wide.buffer_bytes) == pytest.approx((0.0012, 4000))
    assert Region.of_estimates(replace(PATH, buffer_bytes=14_000), NO_LOSS, 1500).buffer_bytes == 1500
    assert (wide.in_packets, wide.wire_bytes) == (0.5, 1500)
    assert Region.of_estimates(PATH, NO_LOSS, 1500, buffer_stated=True).in_packets == 0.0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_path_is_drawn_up_to_the_ends_of_its_region(sign: float) -> None:
    region = Region.of_estimates(PATH, NO_LOSS, 1500)
    drawn = region.draw(Given(sign, sign, sign))
    assert drawn.rate_bps == 8e6 + sign * 800  # 1e-4 of it, which a clock may err by
    assert drawn.base_s == pytest.approx(0.04 + sign * 0.0012)
    assert drawn.buffer_bytes == 40_000 + sign * 4000
    assert (drawn.packet_bytes, drawn.loss, drawn.cross) == (0, 0.0, 0.0)
    crossed = Region.of_estimates(replace(PATH, cross=0.2), NO_LOSS, 1500).draw(Given(0, 0, 0, sign))
    assert crossed.cross == pytest.approx(0.2 + 0.03 * sign)


def test_half_of_the_drawn_queues_are_limited_in_packets() -> None:
    region = Region.of_estimates(PATH, RandomLoss(500, 1000), 1500)
    assert region.draw(Given(0, 0, 0, coin=0.5)).packet_bytes == 0
    packets = region.draw(Given(0, 0, 0, coin=0.49))
    assert (packets.packet_bytes, packets.buffer_bytes) == (1500, 27 * 1500)
    assert 0.4 < packets.loss < 0.6


def test_a_narrowed_region_holds_its_draws_and_a_packet_to_either_side() -> None:
    ends = ((0.03, 40e3), (0.04, 43e3), (0.045, 44e3))
    draws = [replace(PATH, base_s=base, buffer_bytes=room) for base, room in ends]
    loss = RandomLoss(3, 500)
    found = Region.of_estimates(PATH, NO_LOSS, 1500).narrow_to(draws, loss)
    assert (found.middle.base_s, found.middle.buffer_bytes) == (0.04, 43e3)
    assert (found.base_s, found.buffer_bytes) == pytest.approx((0.01, 3e3))
    assert (found.loss, found.in_packets) == (loss, 0.5)
    assert Region.of_estimates(PATH, NO_LOSS, 1500).narrow_to(draws[1:2], loss).buffer_bytes == 1500


def errors(**changes: list[float]) -> Errors:
    every = {name: [0.0, 0.0, 0.0] for name in ("rate", "base", "buffer", "cross")}
    every |= {"free_segments": [1000.0] * 3, "excess_losses": [0.0] * 3, **changes}
    return Errors(**{name: np.array(values) for name, values in every.items()})


def test_a_draw_is_the_estimate_less_the_error_of_its_replay_or_the_median_error() -> None:
    found = errors(
        rate=[0.1, -0.1, math.nan],
        base=[0.001, math.nan, 0.003],
        buffer=[math.nan, 1000.0, -2000.0],
        cross=[0.01, math.nan, math.nan],
    )
    paths = [replace(PATH, cross=0.1), replace(PATH, cross=0.1, packet_bytes=1500), PATH]
    first, second, third = draws_of(paths, FOUND, found, NO_LOSS, seed=1)
    assert [one.rate_bps for one in (first, second, third)] == pytest.approx(
        [8e6 * math.exp(-0.1), 8e6 * math.exp(0.1), 8e6]
    )
    assert [one.base_s for one in (first, second, third)] == pytest.approx([0.039, 0.038, 0.037])
    assert [one.buffer_bytes for one in (first, second, third)] == [40_500, 39_000, 42_000]
    assert [one.cross for one in (first, second, third)] == pytest.approx([0.09, 0.09, 0.0])
    assert (first.packet_bytes, second.packet_bytes) == (0, 1500)
    unknown = draws_of([PATH], FOUND, errors(base=[math.nan] * 3), NO_LOSS, seed=1)
    assert unknown[0].base_s == 0.04


def test_losses_of_draws_depend_on_the_seed() -> None:
    drawn = [draws_of([PATH], FOUND, errors(), RandomLoss(9, 1000), seed)[0].loss for seed in (1, 1, 2)]
    rng = random.Random(2)
    assert drawn[0] == drawn[1] == RandomLoss(9, 1000).draw(rng) and drawn[0] != drawn[2]


def test_spurious_losses_are_those_beyond_random_ones_and_scatter_beyond_chance() -> None:
    found = errors(free_segments=[1000.0, 1000.0, 2000.0], excess_losses=[4.0, 8.0, 28.0])
    mean, scatter = found.spurious_loss(np.array([0.0, 0.0, 0.0]))
    assert mean == pytest.approx(0.01)
    around = (0.006**2 + 0.002**2 + 0.004**2) / 3
    assert scatter == pytest.approx(math.sqrt(around - (0.01 / 1000 + 0.01 / 1000 + 0.01 / 2000) / 3))
    wider = found.spurious_loss(np.array([0.005, 0.0, 0.0]))[1]
    assert wider == pytest.approx(math.sqrt(around - (0.015 / 1000 + 0.01 / 1000 + 0.01 / 2000) / 3))
    assert errors(excess_losses=[-3.0, -4.0, -5.0]).spurious_loss(np.zeros(3))[0] == 0.0
    assert errors(excess_losses=[1.0, 1.0, 1.0]).spurious_loss(np.zeros(3)) == (pytest.approx(0.001), 0.0)
    none = errors(free_segments=[0.0] * 3, excess_losses=[0.0, 0.0, 0.0])
    assert none.spurious_loss(np.zeros(3)) == (0.0, 0.0)
    assert errors(free_segments=[0.0] * 3, excess_losses=[1.0, 0.0, 0.0]).spurious_loss(np.zeros(3))[0] == 1.0


def test_errors_are_put_together_and_selected_by_replay() -> None:
    both = errors(buffer=[1.0, math.nan, 3.0]).followed_by(errors(buffer=[4.0, 5.0, 6.0]))
    assert both.buffer_shown.tolist() == [True, False, True, True, True, True]
    kept = both.take(np.array([5, 0]))
    assert kept.buffer.tolist() == [6.0, 1.0] and len(kept.excess_losses) == 2


@pytest.mark.parametrize(
    ("a", "b", "ratio"),
    [(2.0, 1.0, math.log(2)), (0.0, 1.0, math.nan), (1.0, 0.0, math.nan), (1.0, 2.0, -math.log(2))],
)
def test_a_ratio_is_known_of_positive_numbers(a: float, b: float, ratio: float) -> None:
    assert replays._log_ratio(a, b) == pytest.approx(ratio, nan_ok=True)


def test_the_centre_has_the_median_of_each_parameter_and_the_kind_of_the_first_draw() -> None:
    rival = Rival("reno", 1, 0.0, 1.0)
    rows = [
        (1e6, 0.03, 9e3, 0.1, 0.3, rival),
        (3e6, 0.01, 7e3, 0.3, 0.1, None),
        (2e6, 0.02, 8e3, 0.2, 0.2, None),
    ]
    draws = [PathParameters(*row) for row in rows]
    assert centre_of(draws) == PathParameters(2e6, 0.02, 8e3, 0.2, 0.2, rival)
    found = interval_of([3.0, 1.0, 2.0, 9.0])
    assert (found.value, found.low, found.high) == (2.5, 1.0, 9.0)


FLOW = FittedFlow("cubic", 1448, 52, 10, 2.0, 8.0)
NUMBERS = ComparedNumbers(4.0, 50.0, 1.0, 5.0, 10.0, (4.0,) * PARTS)


def task(cross: float = 0.1, stated: StatedParameters = NOTHING_STATED, losses: int = 5) -> FitTask:
    queue = replace(FOUND.queue, other_losses=losses)
    return FitTask(replace(FOUND, cross=cross, queue=queue), FLOW, NUMBERS, stated, 7, 1)


def test_the_middle_of_the_first_region_has_the_estimates() -> None:
    assert task().middle(0.2) == PathParameters(8e6, 0.04, 40e3, 0.01, 0.2)
    region = task(stated=StatedParameters(buffer_bdp=1.0)).region(0.0)
    assert (region.in_packets, region.wire_bytes, region.middle.cross) == (0.0, 1500, 0.0)
    assert region.loss == RandomLoss(5, 500) and task().region(0.0).in_packets == 0.5


@pytest.mark.parametrize(
    ("shown", "kept"),
    [
        ([1, 1, 1, 1], [0, 1, 2, 3]),
        ([1, 0, 1, 0], [0, 2, 4, 5]),  # replaced by those of the second half
        ([0, 1, 1, 1], [1, 2, 3, 4]),
        ([0, 0, 0, 1], None),
    ],
)
def test_replays_that_hide_the_buffer_are_replaced_by_others(
    monkeypatch: pytest.MonkeyPatch, shown: list[int], kept: list[int] | None
) -> None:
    """Paths are named by their loss; all of the second half show the buffer."""
    paths = [replace(PATH, loss=0.01 * k) for k in range(8)]
    known = [*shown, 1, 1, 1, 1]

    def of_replays(paths: list[PathParameters], packets: object, stated: object) -> Errors:
        buffers = [1.0 if known[round(100 * path.loss)] else math.nan for path in paths]
        numbers = [path.loss for path in paths]
        return Errors(*map(np.array, (numbers, numbers, buffers, numbers, numbers, numbers)))

    monkeypatch.setattr(drawing, "replay", lambda paths, flow, threads: list(paths))
    monkeypatch.setattr(Errors, "of_replays", of_replays)
    if kept is None:
        with pytest.raises(BufferNotShownError):
            drawing._replays_around(task(), paths)
        return
    found, errors = drawing._replays_around(task(), paths)
    assert [round(100 * path.loss) for path in found] == kept
    assert errors.rate.tolist() == [path.loss for path in found]


@pytest.mark.parametrize(
    ("away", "near", "usual", "among", "found"),
    [
        (1.25, 1.0, 1.0, True, "datagrams tcp"),  # within 1.25 of the usual distance
        (1.26, 1.0, 1.0, True, "tcp"),
        (1.26, 1.0, 1.0, False, "datagrams"),  # if neither explains it
        (1.26, 1.3, 1.0, True, "datagrams tcp"),  # the nearer kind is never left out
        (1.0, 2.0, 1.0, True, "datagrams tcp"),
        (1.0, 2.1, 1.0, True, "datagrams"),
        (1.0, 1.0, 1.0, False, "datagrams"),
    ],
)
def test_a_kind_of_cross_traffic_is_left_out_if_the_other_is_nearer(
    monkeypatch: pytest.MonkeyPatch, away: float, near: float, usual: float, among: bool, found: str
) -> None:
    plain = DrawnPaths([PATH], [NUMBERS], [], NO_LOSS)
    rival = DrawnPaths([replace(PATH, rival=Rival("reno", 1, 0.0, 1.0))], [], [], NO_LOSS)

    class Rivals:
        numbers = ()

        def draw(self, task: FitTask) -> DrawnPaths:
            return rival

    class Scatter:
        def __init__(self) -> None:
            self.usual = usual

        def distance(self, capture: object, numbers: object) -> float:
            return near if numbers is Rivals.numbers else away

    monkeypatch.setattr(drawing, "_without_tcp", lambda task: plain)
    monkeypatch.setattr(drawing.Candidates, "simulate", lambda task: Rivals())
    monkeypatch.setattr(drawing.Scatter, "of_replays", lambda numbers: Scatter())
    monkeypatch.setattr(drawing, "is_among", lambda capture, numbers: among)
    kinds = drawing.draw_paths(task(cross=0.1))
    assert " ".join("tcp" if one is rival else "datagrams" for one in kinds) == found


@pytest.mark.parametrize(
    ("cross", "among", "asked"), [(0.014, True, False), (0.015, True, True), (0.014, False, True)]
)
def test_other_tcp_flows_are_tried_if_there_is_cross_traffic_or_the_capture_is_not_explained(
    monkeypatch: pytest.MonkeyPatch, cross: float, among: bool, asked: bool
) -> None:
    class AskedError(Exception):
        pass

    def simulate(task: FitTask) -> None:
        raise AskedError

    plain = DrawnPaths([PATH], [NUMBERS], [], NO_LOSS)
    monkeypatch.setattr(drawing, "_without_tcp", lambda task: plain)
    monkeypatch.setattr(drawing.Candidates, "simulate", simulate)
    monkeypatch.setattr(drawing, "is_among", lambda capture, numbers: among)
    if asked:
        with pytest.raises(AskedError):
            drawing.draw_paths(task(cross=cross))
    else:
        assert drawing.draw_paths(task(cross=cross)) == [plain]


@pytest.mark.parametrize(("part", "pilots"), [(0.5, 6), (0.9, 3), (0.0, 1)])
def test_pilots_are_repeated_until_the_cross_traffic_is_steady_but_six_times_at_most(
    monkeypatch: pytest.MonkeyPatch, part: float, pilots: int
) -> None:
    """Each round goes a part of the way from 0.1 to 0.5: of 0.9, by 0.36, 0.036 and 0.0036."""
    rounds: list[tuple[int, int]] = []

    def around(
        task: FitTask, region: Region, count: int, attempt: int
    ) -> tuple[Region, list[PathParameters]]:
        rounds.append((count, attempt))
        cross = region.middle.cross
        middle = replace(region.middle, cross=cross + (0.5 - cross) * part)
        return replace(region, middle=middle), [middle]

    monkeypatch.setattr(drawing, "_around", around)
    monkeypatch.setattr(drawing, "replay", lambda paths, flow, threads: [])
    drawing._without_tcp(task())
    assert rounds == [*((13, k) for k in range(pilots)), (39, 0)]


def test_a_step_of_the_limit_is_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    def around(
        task: FitTask, region: Region, count: int, attempt: int
    ) -> tuple[Region, list[PathParameters]]:
        rounds.append(count)
        middle = replace(region.middle, cross=region.middle.cross + 0.25)
        return replace(region, middle=middle), [middle]

    monkeypatch.setattr(drawing, "STEADY_CROSS", 0.25)
    monkeypatch.setattr(drawing, "_around", around)
    monkeypatch.setattr(drawing, "replay", lambda paths, flow, threads: [])
    drawing._without_tcp(task(cross=0.5))
    assert rounds == [13, 39]


def test_other_tcp_flows_are_drawn_over_laws_numbers_starts_and_round_trips() -> None:
    drawn = [drawing._rival(random.Random(seed), 8.0) for seed in range(300)]
    counts = {law: sum(one.cc == law for one in drawn) for law in ("cubic", "reno", "bbr1")}
    assert sum(counts.values()) == 300 and min(counts.values()) > 70
    assert {one.count for one in drawn} == {1, 2} and 70 < sum(one.count == 2 for one in drawn) < 130
    starts = [one.start_s for one in drawn]
    assert 0 <= min(starts) < 0.1 and 3.9 < max(starts) <= 4.0 and all(one == round(one, 3) for one in starts)
    assert any(one != round(one, 2) for one in starts)
    ratios = [one.rtt_ratio for one in drawn]
    assert 0.5 <= min(ratios) < 0.52 and 1.95 < max(ratios) <= 2.0
    assert 120 < sum(one < 1 for one in ratios) < 180
