"""Rates, delays and losses that change during a run, as the engine gets them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study.changes import (
    DelaySteps,
    DelayTrace,
    LossSteps,
    RateSteps,
    RateTrace,
    capacity,
    propagation,
)

MS = 1_000_000
S = 1_000 * MS
AT = ("topology",)


def of_rate(rate: Any, *down: tuple[int, int], folder: Path | None = None) -> tuple[int, Any]:
    return capacity(rate, [(start * S, end * S) for start, end in down], folder, AT, (*AT, "down"))


def steps(*edges: tuple[int, int]) -> dict[str, Any]:
    return {"kind": "steps", "at_ns": [at * S for at, _ in edges], "rates_bps": [rate for _, rate in edges]}


@pytest.mark.parametrize(
    ("down", "edges"),
    [
        ([(2, 3)], [(0, 800), (2, 0), (3, 800)]),
        ([(0, 1)], [(0, 0), (1, 800)]),
        ([(2, 3), (3, 4)], [(0, 800), (2, 0), (4, 800)]),  # pauses that touch are one
        ([(2, 6), (3, 4)], [(0, 800), (2, 0), (6, 800)]),  # one inside the other
        ([(5, 7), (2, 6)], [(0, 800), (2, 0), (7, 800)]),
        ([(2, 3), (5, 6)], [(0, 800), (2, 0), (3, 800), (5, 0), (6, 800)]),
    ],
)
def test_pauses_hold_a_fixed_rate_back(down: list[tuple[int, int]], edges: list[tuple[int, int]]) -> None:
    assert of_rate(800, *down) == (800, steps(*edges))
    assert of_rate(800) == (800, None)


def test_a_pause_ends_with_the_rate_of_its_end_and_steps_with_equal_rates_are_one() -> None:
    rate = RateSteps(at={"0s": "800bps", "4s": "1600bps", "6s": "1600bps"})
    assert of_rate(rate, (3, 5)) == (800, steps((0, 800), (3, 0), (5, 1600)))
    assert of_rate(rate, (3, 4)) == (800, steps((0, 800), (3, 0), (4, 1600)))
    assert of_rate(rate, (5, 9)) == (800, steps((0, 800), (4, 1600), (5, 0), (9, 1600)))


def test_a_link_that_begins_with_a_pause_has_the_first_rate_above_0() -> None:
    rate = RateSteps(at={"0s": "0bps", "1s": "800bps", "2s": "900bps"}, repeat="3s")
    assert of_rate(rate) == (800, {**steps((0, 0), (1, 800), (2, 900)), "repeat_ns": 3 * S})


@pytest.mark.parametrize(
    ("rate", "down", "says"),
    [
        (800, [(3, 3)], r"topology\.down: an interval ends before it begins"),
        (800, [(3, 2)], r"topology\.down: an interval ends before it begins"),
        (RateSteps(at={"0s": "0bps"}), [], r"topology\.rate\.at: all rates are 0"),
        (RateSteps(at={"0s": "800bps"}, repeat="1s"), [(0, 1)], r"topology\.down: .* repeat, too"),
        (RateTrace(trace="t"), [(0, 1)], r"topology\.down: a trace has its pauses in it"),
    ],
)
def test_a_rate_that_cannot_be_is_an_error_of_its_key(
    rate: Any, down: Sequence[tuple[int, int]], says: str
) -> None:
    with pytest.raises(StudyError, match=says):
        of_rate(rate, *down)


@pytest.mark.parametrize(
    ("at", "repeat", "wrong"),
    [
        ({"1s": "20ms"}, None, True),
        ({"0s": "20ms", "2s": "30ms", "1s": "40ms"}, None, True),
        ({"0s": "20ms", "1s": "30ms", "1000ms": "40ms"}, None, True),
        ({"0s": "20ms", "1s": "30ms"}, "1s", True),
        ({"0s": "20ms", "1s": "30ms"}, "1001ms", False),
    ],
)
def test_steps_begin_at_0_rise_and_repeat_after_the_last(
    at: dict[str, str], repeat: str | None, wrong: bool
) -> None:
    if wrong:
        with pytest.raises(StudyError, match=r"0s|rise|later"):
            DelaySteps(at=at, repeat=repeat)
    else:
        assert DelaySteps(at=at, repeat=repeat).repeat == 1001 * MS


def test_a_delay_that_changes_is_its_least_and_what_is_beyond() -> None:
    assert propagation(20 * MS, None, AT) == (20 * MS, 20 * MS, None)
    delay = DelaySteps(at={"0s": "30ms", "1s": "20ms", "2s": "50ms"}, keep_order=True)
    assert propagation(delay, None, AT) == (
        30 * MS,
        20 * MS,
        {
            **{"kind": "delay-steps", "at_ns": [0, S, 2 * S], "keep_order": True},
            "extra_ns": [10 * MS, 0, 30 * MS],
        },
    )


def test_a_delay_trace_is_scaled_and_delays_that_stay_are_one_step(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("20\n20\n12.5\n20\n")
    trace = DelayTrace(trace="d", interval="100ms", factor=0.5)
    assert propagation(trace, tmp_path, AT) == (
        10 * MS,
        6_250_000,
        {
            **{"kind": "delay-steps", "at_ns": [0, 200 * MS, 300 * MS], "keep_order": False},
            **{"extra_ns": [3_750_000, 0, 3_750_000], "repeat_ns": 400 * MS},
        },
    )


def test_a_loss_that_changes_is_an_impairment() -> None:
    loss = LossSteps(at={"0s": "0%", "10s": "2%"}, repeat="15s")
    assert loss.impairment() == {
        **{"kind": "loss-steps", "at_ns": [0, 10 * S], "p": [0.0, 0.02], "repeat_ns": 15 * S}
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1\n\n2\n", "t: line 2: '' is no time"),
        ("1\n2.5\n", "t: line 2: '2.5' is no time"),
        ("1\n2\n1\n", "t: line 3: 1 comes after 2"),
        ("3\n2\n", "t: line 2: 2 comes after 3"),
        ("0\n", "t: the trace lasts for no time"),
        ("", "t: the trace lasts for no time"),
        ("1\n" + "9" * 30, f"t: line 2: '{'9' * 20}' is no time"),
    ],
)
def test_what_is_wrong_with_a_rate_trace_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(StudyError) as caught:
        of_rate(RateTrace(trace="t"), folder=tmp_path)
    assert says in str(caught.value)


def test_a_rate_trace_has_its_mean_rate_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    trace = RateTrace(trace="t")
    (tmp_path / "t").write_text("0\n2\n2\n4\n")
    assert of_rate(trace, folder=tmp_path) == (12_000_000, {"kind": "deliveries", "at_ms": [0, 2, 2, 4]})
    (tmp_path / "t").write_text("999999999999\n")
    assert of_rate(trace, folder=tmp_path)[0] == 8  # a link has a rate, however rare its opportunities are


@pytest.mark.parametrize(("text", "says"), [("", "the trace has no delays"), ("1\n-1\n", "line 2: '-1'")])
def test_what_is_wrong_with_a_delay_trace_is_named_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "d").write_text(text)
    with pytest.raises(StudyError) as caught:
        propagation(DelayTrace(trace="d", interval="1s"), tmp_path, AT)
    assert says in str(caught.value)
