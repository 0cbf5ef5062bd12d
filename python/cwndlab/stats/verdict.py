"""How a published number is judged against our runs. The rule in words is `RULE`, printed in every report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats.intervals import Interval, prediction

Floats: TypeAlias = NDArray[np.float64]


class Verdict(StrEnum):
    """What is said of one published number (`agrees` … `not judged`) or of one claim (`holds` …)."""

    AGREES = "agrees"
    TREND = "trend"
    DIFFERS = "differs"
    SUSPECT = "source suspect"
    FITTED = "fitted"
    NOT_JUDGED = "not judged"
    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_CHECKED = "not checked"


RULE: tuple[tuple[Verdict, str], ...] = (
    (
        Verdict.AGREES,
        "The published value lies within the 95 % prediction interval of our runs for as many runs as the "
        "paper averaged (a paper's number is mostly one run, so it is not held against the interval of our "
        "mean), widened by the rounding of the source: half a unit of its last digit unless the table says "
        "otherwise. Where nothing is random the prediction interval has no width, and rounding alone "
        "decides.",
    ),
    (
        Verdict.TREND,
        "Outside that interval, but with the sign of the published value and in the same order as the "
        "paper's neighbouring cells (those one step away along one axis) wherever the paper tells them "
        "apart; at least one neighbour or a sign must speak for it.",
    ),
    (Verdict.DIFFERS, "Neither of the two."),
    (
        Verdict.SUSPECT,
        "The published value is a misprint or contradicts its own paper; the study gives the reason.",
    ),
    (
        Verdict.FITTED,
        "The cell was used to choose the model, so that its agreement proves nothing; the study gives the "
        "reason.",
    ),
    (
        Verdict.NOT_JUDGED,
        "The published value lies inside an interval so wide that the agreement would say nothing: its half "
        "width is over {unstable:.0%} of the value (for per cent: over {points:g} points); or there are "
        "fewer than {fewest} replicates of a random cell; or it could not be measured.",
    ),
)

FEWEST_REPLICATES = 3
"""Below this a prediction interval from a random cell is too wide to judge by (t with 1 degree: 12.7 s)."""


def rule_text(unstable: float, points: float) -> list[tuple[Verdict, str]]:
    """The rule with the thresholds of a study filled in."""
    return [
        (v, text.format(unstable=unstable, points=points, fewest=FEWEST_REPLICATES) if "{" in text else text)
        for v, text in RULE
    ]


@dataclass(frozen=True)
class Neighbour:
    """A cell one step away: what the paper printed there and what we measured."""

    published: float
    measured: float
    rounding: float


@dataclass(frozen=True)
class Judgement:
    """A verdict with the numbers behind it."""

    verdict: Verdict
    note: str
    relative_difference: float
    """(measured - published) / |published|; NaN when the published value is 0."""
    prediction_low: float
    """Where 95 % of further runs (as many as the paper averaged) would lie."""
    prediction_high: float


def half_unit(text: str) -> float:
    """Half a unit of the last digit of a number as printed: `0.56` -> 0.005, `95` -> 0.5."""
    digits = text.strip().lower()
    mantissa, _, exponent = digits.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** ((int(exponent) if exponent else 0) - decimals)


def decimals(text: str) -> int:
    """Digits after the point of a number as printed."""
    return len(text.strip().partition(".")[2])


def relative_difference(measured: float, published: float) -> float:
    """(measured - published) / |published|, NaN when it has no meaning."""
    if published == 0.0 or math.isnan(measured) or math.isnan(published):
        return math.nan
    return (measured - published) / abs(published)


def judge(
    published: float,
    rounding: float,
    measured: Interval,
    per_run: Floats,
    *,
    unit: str,
    deterministic: bool,
    runs: int = 1,
    signed: bool = False,
    neighbours: Sequence[Neighbour] = (),
    unstable: float = 0.5,
    unstable_points: float = 25.0,
) -> Judgement:
    """The verdict on one published value (see `RULE`).

    `measured` is the estimate shown; `per_run` the value of each run, whose spread says where a single run
    lies; `signed` that the sign of the quantity carries meaning (a change, not a level).
    """
    around = prediction(per_run, runs, deterministic=deterministic)
    relative = relative_difference(measured.value, published)
    if math.isnan(measured.value):
        return Judgement(Verdict.NOT_JUDGED, "not measurable", relative, math.nan, math.nan)
    # Where the estimate is not the mean of the runs (a ratio of means), the spread lies around the estimate.
    half = around.half_width
    low, high = measured.value - half, measured.value + half
    if math.isnan(half) or (around.n < FEWEST_REPLICATES and half > 0.0):
        note = f"{around.n} replicate(s): no prediction interval; at least {FEWEST_REPLICATES} are needed"
        return Judgement(Verdict.NOT_JUDGED, note, relative, low, high)
    slack = rounding + 1e-9 * max(1.0, abs(published))
    if low - slack <= published <= high + slack:
        limit = unstable_points if unit == "%" else unstable * abs(measured.value)
        if half > limit:
            note = "too unstable: single runs are further apart than the rule allows"
            return Judgement(Verdict.NOT_JUDGED, note, relative, low, high)
        return Judgement(Verdict.AGREES, "", relative, low, high)
    if _keeps_trend(published, rounding, measured.value, signed, neighbours):
        return Judgement(Verdict.TREND, "same sign and order as in the paper", relative, low, high)
    return Judgement(Verdict.DIFFERS, "", relative, low, high)


def _keeps_trend(
    published: float, rounding: float, measured: float, signed: bool, neighbours: Sequence[Neighbour]
) -> bool:
    """Whether sign and order are the paper's, with at least one of them speaking."""
    evidence = 0
    if signed and abs(published) > rounding:
        if math.copysign(1.0, published) != math.copysign(1.0, measured) or measured == 0.0:
            return False
        evidence += 1
    for other in neighbours:
        step = other.published - published
        if abs(step) <= rounding + other.rounding or math.isnan(other.measured):
            continue
        if (other.measured - measured) * step <= 0.0:
            return False
        evidence += 1
    return evidence > 0
