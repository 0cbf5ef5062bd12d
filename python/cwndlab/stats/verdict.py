"""Judges published numbers by our runs. `RULE` is the rule in words, which every report prints.

There are two criteria. *Compatible*: the paper's number lies where further runs of ours would lie. *Close*:
the interval of our estimate lies within a margin around the paper's number. If runs scatter more, more
numbers are compatible but fewer are close, so that noise is never rewarded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from .intervals import ENOUGH_EQUAL, FEWEST, Interval


class Verdict(StrEnum):
    """The verdict on a published number (`agrees` … `not judged`) or on a claim (`holds` …)."""

    AGREES = "agrees"
    COMPATIBLE = "compatible only"
    CLOSE = "close only"
    TREND = "trend"
    DIFFERS = "differs"
    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    SUSPECT = "source suspect"
    FITTED = "fitted"
    NOT_JUDGED = "not judged"
    NOT_CHECKED = "not checked"

    @property
    def symbol(self) -> str:
        """A sign shown next to the verdict, so that verdicts differ not only in colour."""
        return SYMBOLS[self]

    @property
    def style(self) -> str:
        """The CSS class that sets the verdict's colour."""
        return self.value.replace(" ", "-")


SYMBOLS: dict[Verdict, str] = {
    Verdict.AGREES: "✓",
    Verdict.COMPATIBLE: "∼",
    Verdict.CLOSE: "≃",
    Verdict.TREND: "↗",
    Verdict.DIFFERS: "✗",
    Verdict.SUSPECT: "?",
    Verdict.FITTED: "◦",
    Verdict.NOT_JUDGED: "–",
    Verdict.HOLDS: "✓",
    Verdict.FAILS: "✗",
    Verdict.UNDECIDED: "≈",
    Verdict.NOT_CHECKED: "–",
}

RULE: tuple[tuple[Verdict, str], ...] = (
    (
        Verdict.AGREES,
        "Compatible and close. Compatible: the published value, give or take its rounding, lies within the "
        "95 % prediction interval for as many runs as the paper averaged. Close: the 95 % interval of our "
        "estimate lies entirely within the margin around the published value ({margin}; never less than the "
        "rounding of the source).",
    ),
    (
        Verdict.COMPATIBLE,
        "Compatible, but not shown to be close: a single run may scatter this far, while our estimate lies "
        "outside the margin or across its edge.",
    ),
    (
        Verdict.CLOSE,
        "Close, but not compatible: our estimate is within the margin, yet the difference is larger than the "
        "scatter of our runs (or, where nothing is random, than the rounding of the source) explains.",
    ),
    (
        Verdict.TREND,
        "Neither, but the 95 % interval of our estimate lies within {reach:g} margins of the published "
        "value, and the paper compares this number with others. Each comparison goes the paper's way, shown "
        "by a 95 % interval that leaves out 0: the sign of a published change, and the order of numbers.",
    ),
    (Verdict.DIFFERS, "None of these."),
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
        "Compatible, but our interval is too wide to fit into the margin, so that agreement would prove "
        "nothing; or there are fewer than {fewest} replicates of a random cell ({equal} if all gave the "
        "same); or the value could not be measured. The note says how many replicates it would take.",
    ),
)

REACH = 3.0
"""The largest distance from the published value, in margins, of a number with the verdict `trend`."""

MOST = 100_000
"""The largest number of replicates that a note suggests."""


def rule_text(margin: str) -> list[tuple[Verdict, str]]:
    """The meaning of each verdict on a published number (`RULE`); `margin` names the study's margins."""
    return [
        (v, text.format(margin=margin, fewest=FEWEST, equal=ENOUGH_EQUAL, reach=REACH)) for v, text in RULE
    ]


class Comparison(NamedTuple):
    """Another number minus the number to judge: the difference in the paper, and in our runs."""

    published: float
    measured: Interval


class Judgement(NamedTuple):
    """A verdict with the numbers behind it."""

    verdict: Verdict
    note: str
    relative_difference: float
    """(measured - published) / |published|; NaN if a value is missing or the published value is 0."""
    prediction_low: float
    """The lower end of the 95 % prediction interval for as many runs as the paper averaged."""
    prediction_high: float
    compatible: bool | None = None
    """Whether the published value, give or take rounding, is in the prediction interval; None if unknown."""
    close: bool | None = None
    """Whether our interval lies entirely within the margin; False: entirely outside; None: neither."""
    margin: float = math.nan
    marked: bool = False
    """Whether a mark in the study replaced the verdict."""
    in_headline: bool = True
    """Whether `Incompatible` counts the numbers of its table."""

    @property
    def counts(self) -> bool:
        """Whether `Incompatible` counts the number.

        It does not count numbers without randomness, marked numbers, and tables with `counted = false`.
        """
        if self.marked or not self.in_headline or self.compatible is None:
            return False
        return self.prediction_high > self.prediction_low


def half_unit(text: str) -> float:
    """Half a unit of the last digit of a number as printed: `0.56` -> 0.005, `95` -> 0.5."""
    digits = text.strip().lower()
    mantissa, _, exponent = digits.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** ((int(exponent) if exponent else 0) - decimals)


def decimals(text: str) -> int:
    """The number of digits after the point of a number as printed."""
    return len(text.strip().partition(".")[2])


def relative_difference(measured: float, published: float) -> float:
    """(measured - published) / |published|; NaN if a value is missing or the published value is 0."""
    if published == 0.0 or math.isnan(measured) or math.isnan(published):
        return math.nan
    return (measured - published) / abs(published)


def judge(
    published: float,
    rounding: float,
    measured: Interval,
    further: Interval,
    *,
    margin: float,
    signed: bool = False,
    comparisons: Iterable[Comparison] = (),
) -> Judgement:
    """The verdict on one published value (see `RULE`).

    `measured` is our estimate, `further` the prediction interval for as many runs as the paper averaged. An
    estimate is close if its interval lies within `margin` of the published value. `signed`: the number is a
    change, so that its sign is a comparison that the paper makes. `comparisons` are the paper's other
    comparisons, read only if the verdict depends on them.
    """
    relative = relative_difference(measured.value, published)

    def verdict(word: Verdict, note: str, compatible: bool | None = None) -> Judgement:
        close = None if compatible is None else is_close
        return Judgement(word, note, relative, further.low, further.high, compatible, close, margin)

    if math.isnan(measured.value):
        return verdict(Verdict.NOT_JUDGED, "not measurable")
    if math.isnan(further.low):
        needed = FEWEST if measured.n < FEWEST else ENOUGH_EQUAL
        return verdict(Verdict.NOT_JUDGED, f"{further.method}; at least {needed} replicates are needed")
    slack = 1e-9 * max(1.0, abs(published))
    compatible = further.low - rounding - slack <= published <= further.high + rounding + slack
    is_close = _close(measured, published - margin - slack, published + margin + slack)
    if not compatible:
        if is_close:
            why = "rounding of the source" if measured.exact else "scatter of our runs"
            return verdict(Verdict.CLOSE, f"close, but farther off than the {why} explains", False)
        within_reach = _close(measured, published - REACH * margin, published + REACH * margin)
        if within_reach and _keeps_trend(published, rounding, measured, signed, comparisons):
            return verdict(Verdict.TREND, f"the paper's direction, within {REACH:g} margins", False)
        return verdict(Verdict.DIFFERS, "", False)
    if is_close:
        return verdict(Verdict.AGREES, "", True)
    if is_close is False:
        return verdict(
            Verdict.COMPATIBLE, "a single run may scatter this far, but our estimate is not close", True
        )
    if further.low == further.high:  # all runs are equal
        return verdict(Verdict.COMPATIBLE, f"{further.method}: how close the mean is is unknown", True)
    if not measured.half_width <= margin:
        return verdict(Verdict.NOT_JUDGED, _too_noisy(measured, margin), True)
    return verdict(Verdict.COMPATIBLE, "our interval lies across the edge of the margin", True)


def _close(measured: Interval, low: float, high: float) -> bool | None:
    """Whether the interval lies between two bounds (True) or entirely outside them (False); else None."""
    if low <= measured.low and measured.high <= high:
        return True
    return False if measured.high < low or high < measured.low else None


def _too_noisy(measured: Interval, margin: float) -> str:
    """The note on too wide an interval: how many replicates would make its half-width half the margin."""
    if math.isnan(measured.half_width):
        return f"too noisy to tell: {measured.method}"
    needed = measured.n * (2.0 * measured.half_width / margin) ** 2 if margin > 0.0 else math.inf
    if needed > MOST:
        return f"too noisy to tell: not even {MOST:,} replicates would do"
    digits = max(1, math.floor(math.log10(needed)))
    return f"too noisy to tell: about {round(needed, 1 - digits):,.0f} replicates would do"


def _keeps_trend(
    published: float, rounding: float, measured: Interval, signed: bool, comparisons: Iterable[Comparison]
) -> bool:
    """Whether the paper compares the number with others, and our intervals show every comparison."""
    compared = False
    if signed and abs(published) > rounding:
        compared = True
        if _sign(measured) * published <= 0.0:
            return False
    for other in comparisons:
        compared = True
        if _sign(other.measured) * other.published <= 0.0:
            return False
    return compared


def _sign(x: Interval) -> int:
    """1 if the whole interval is above 0, -1 if it is below; 0 if it includes 0 or is missing."""
    low, high = x.decided
    return (low > 0.0) - (high < 0.0)


class Incompatible(NamedTuple):
    """The count of incompatible numbers, and the count expected by chance if the model were right."""

    judged: int
    """The published numbers of random cells, except those that the study marks or does not count."""
    found: int
    expected: float
    low: int
    high: int
    """95 % of counts are from `low` to `high` if the paper's numbers came from our runs (`PlayedPaper`)."""

    @property
    def text(self) -> str:
        """A sentence with the counts."""
        are = "is" if self.found == 1 else "are"
        numbers = "number" if self.judged == 1 else "numbers"
        return (
            f"Of {self.judged} {numbers} that can be tested, {self.found} {are} incompatible with the runs; "
            f"if the model were right, {self.expected:.3g} ({self.low} to {self.high}) would be by chance."
        )
