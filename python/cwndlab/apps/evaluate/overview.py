"""The summary at the head of a scorecard, and the bars in its rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from cwndlab.base.writing import count_text, join_words

from .scorecard import CriterionRow, Scorecard, Standing, ThresholdOutcome

#: The style of each standing in rows where one direction is better; the same styles as for verdicts.
LOOKS = {Standing.BETTER: "holds", Standing.OPEN: "none", Standing.WORSE: "fails"}


#: Up to this number of subjects, each has its own sentence.
FEW = 3


class RangeBar(NamedTuple):
    """A number and its interval as percentages of its row's scale, which includes 0."""

    value: int
    low: int
    high: int


class StandingCounts(NamedTuple):
    """The numbers of rows of a pack in which a subject is better than a reference, worse, or neither."""

    reference: str
    counts: dict[Standing, int]


def findings(cards: Sequence[Scorecard], subjects: Sequence[str]) -> list[str]:
    """The sentences at the head of a scorecard: one for each of a few subjects, or the extremes of many."""
    each = [text for name in subjects if (text := finding(cards, name))]
    if each and len(subjects) <= FEW:
        return each
    return [text for text in (_limits_text(cards, subjects), _ranks_text(cards, subjects)) if text]


def _limits_text(cards: Sequence[Scorecard], subjects: Sequence[str]) -> str:
    """A sentence about which of several subjects miss limits, the most first, and which meet all."""
    counts: dict[str, Counter[ThresholdOutcome]] = {name: Counter() for name in subjects}
    for name, count in counts.items():
        for card in cards:
            count.update(card.counts(name))
        del count[ThresholdOutcome.NOT_APPLICABLE]
    missed, undecided = (
        [
            f"{name} {count[outcome]} of {count.total()}"
            for name, count in sorted(counts.items(), key=lambda one: -one[1][outcome])
            if count[outcome]
        ]
        for outcome in (ThresholdOutcome.NOT_MET, ThresholdOutcome.UNDECIDED)
    )
    whole = [name for name, count in counts.items() if count and count.total() == count[ThresholdOutcome.MET]]
    parts = [f"Limits not met: {', '.join(missed)}."] if missed else []
    parts += [f"Undecided: {', '.join(undecided)}."] if undecided else []
    parts += [f"All limits that apply are met by {join_words(whole)}."] if whole else []
    return " ".join(parts)


def _ranks_text(cards: Sequence[Scorecard], subjects: Sequence[str]) -> str:
    """A sentence on which subject is most often better, and which most often worse, than all others."""
    first, last = Counter[str](), Counter[str]()
    rows = [row for card in cards for row in card.rows]
    found = [{name: rank for name in subjects if (rank := row.rank(name))} for row in rows]
    ranked = [ranks for ranks in found if len(ranks) > 1]
    for ranks in ranked:
        first.update(name for name, (_, worst, _) in ranks.items() if worst == 1)
        last.update(name for name, (best, _, count) in ranks.items() if best == count)
    parts = [
        f"{join_words([name for name in times if times[name] == most])} is most often {word} than all "
        f"others, in {most} of {count_text(len(ranked), 'row')}."
        for times, word in ((first, "better"), (last, "worse"))
        if (most := max(times.values(), default=0))
    ]
    return " ".join(parts)


def finding(cards: Sequence[Scorecard], subject: str) -> str:
    """The result of a subject in all packs, in one or two sentences; empty without limits and ranks."""
    outcomes = [card.counts(subject) for card in cards]
    met, missed, open_ = (
        sum(found.get(outcome, 0) for found in outcomes)
        for outcome in (ThresholdOutcome.MET, ThresholdOutcome.NOT_MET, ThresholdOutcome.UNDECIDED)
    )
    extremes = [card.extremes(subject) for card in cards]
    better, worse = (
        sum(len(found.get(one.value, ())) for found in extremes) for one in (Standing.BETTER, Standing.WORSE)
    )
    ranked = sum(is_ranked(card, row, subject) for card in cards for row in card.rows)
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
        rows = count_text(ranked, "row")
        parts.append(
            f"{who} is better than every reference in {better} of {rows} and worse than every reference "
            f"in {worse or 'none'}."
            if better
            else f"{who} is better than every reference in no row, and worse than every reference in "
            f"{worse or 'none'} of {rows}."
        )
    return " ".join(parts)


def is_ranked(card: Scorecard, row: CriterionRow, subject: str) -> bool:
    """Whether a row compares a subject with several references and has a better direction."""
    return row.criterion.better is not None and len(row.against(subject, card.references)) > 1


def against_references(card: Scorecard, subject: str) -> list[StandingCounts]:
    """A subject's standings against each reference, over the rows that have a better direction."""
    rows = [row.standings[subject] for row in card.rows if is_ranked(card, row, subject)]
    found = []
    for reference in card.references:
        standings = [row[reference] for row in rows if reference in row]
        counts = {standing: standings.count(standing) for standing in LOOKS if standing in standings}
        if counts:
            found.append(StandingCounts(reference, counts))
    return found


def has_summary(card: Scorecard) -> bool:
    """Whether the summary mentions a pack."""
    return any(
        card.counts(subject) or card.extremes(subject) or against_references(card, subject)
        for subject in card.subjects
    )


def range_bars(row: CriterionRow) -> dict[str, RangeBar]:
    """A bar for each subject and reference of a row, on a common scale; empty without an interval to draw."""
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
