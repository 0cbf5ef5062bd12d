"""The head of a scorecard, and the ranges that its rows draw: what a reader sees before reading numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from cwndlab.writing import number_of

from .scorecard import CriterionRow, Scorecard, Standing, ThresholdOutcome

#: The looks of standings where one direction is better: those of verdicts.
LOOKS = {Standing.BETTER: "holds", Standing.OPEN: "none", Standing.WORSE: "fails"}


class RangeBar(NamedTuple):
    """A number with its interval on the scale of its row, which begins at 0; in percent of its length."""

    value: int
    low: int
    high: int


class StandingCounts(NamedTuple):
    """In how many rows of a pack a subject is better than a reference, worse, or neither."""

    reference: str
    counts: dict[Standing, int]


def finding(cards: Sequence[Scorecard], subject: str) -> str:
    """How a subject did in all packs, in one or two sentences; empty if nothing was measured."""
    outcomes = [card.counts(subject) for card in cards]
    met, missed, open_ = (
        sum(found.get(one, 0) for found in outcomes)
        for one in (ThresholdOutcome.MET, ThresholdOutcome.NOT_MET, ThresholdOutcome.UNDECIDED)
    )
    extremes = [card.extremes(subject) for card in cards]
    better, worse = (
        sum(len(found.get(one.value, ())) for found in extremes) for one in (Standing.BETTER, Standing.WORSE)
    )
    ranked = sum(is_ranked(row, subject) for card in cards for row in card.rows)
    parts = []
    if limits := met + missed + open_:
        rest = f"; {open_} {'is' if open_ == 1 else 'are'} undecided" if open_ else ""
        how_many = "all" if met == limits else f"{met or 'none'} of the"
        of_one = "meets" if met else "does not meet" if missed else "may or may not meet"
        parts.append(
            f"{subject} {of_one} the one limit that applies to it."
            if limits == 1
            else f"{subject} meets {how_many} {limits} limits that apply to it{rest}."
        )
    if ranked:
        who = "It" if parts else subject
        parts.append(
            f"{who} is better than every reference in {better or 'none'} of {number_of(ranked, 'row')} "
            f"and worse than every reference in {worse or 'none'}."
        )
    return " ".join(parts)


def is_ranked(row: CriterionRow, subject: str) -> bool:
    """Whether a row compares a subject with several references, and one direction is better."""
    return row.criterion.better is not None and len(row.standings.get(subject, {})) > 1


def against_references(card: Scorecard, subject: str) -> list[StandingCounts]:
    """How a subject compares with each reference, over the rows in which one direction is better."""
    rows = [row.standings[subject] for row in card.rows if is_ranked(row, subject)]
    found = []
    for reference in card.references:
        standings = [row[reference] for row in rows if reference in row]
        counts = {one: standings.count(one) for one in LOOKS if one in standings}
        if counts:
            found.append(StandingCounts(reference, counts))
    return found


def range_bars(row: CriterionRow) -> dict[str, RangeBar]:
    """The number of each subject and reference on one scale; none without an interval to draw."""
    known = {name: one for name, one in row.values.items() if not math.isnan(one.value)}
    ends = {
        name: (one.low, one.high) if one.low < one.high else (one.value, one.value)
        for name, one in known.items()
    }
    least = min([0.0, *(low for low, _ in ends.values())])
    most = max([0.0, *(high for _, high in ends.values())])
    if most == least or not math.isfinite(most - least):
        return {}
    return {
        name: RangeBar(*(round(100 * (at - least) / (most - least)) for at in (known[name].value, low, high)))
        for name, (low, high) in ends.items()
    }
