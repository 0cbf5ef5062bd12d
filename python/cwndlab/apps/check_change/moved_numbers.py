"""Comparison of a study's numbers before and after a change, with a relative margin."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple
from xml.etree import ElementTree

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.writing import count_text, markdown_lines
from cwndlab.report.digits import number, percent
from cwndlab.stats.distributions import LEVEL
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results
from cwndlab.stats.sample import Sample, relate

#: Most rows in the table of a summary.
MOST_SHOWN = 40


class ChangeKind(StrEnum):
    """The result of the comparison of a number before and after a change."""

    MOVED = "moved"
    """The whole interval lies beyond the margin."""
    UNDECIDED = "undecided"
    """The interval lies partly beyond the margin, so these runs do not decide."""
    UNTESTED = "not tested"
    """There are too few runs for an interval."""
    WITHIN = "within the margin"
    EQUAL = "equal"
    """The values are equal in every run."""


class Change(NamedTuple):
    """A number before and after a change."""

    study: str
    cell: str
    quantity: str
    unit: str
    before: float
    after: float
    found: Interval
    """The interval of `after` over `before`, or of their difference if one of them is not positive."""
    is_ratio: bool
    kind: ChangeKind

    @property
    def relative(self) -> float:
        """The relative change: 0.1 if the number grew by 10 %; NaN if it was 0."""
        return (
            self.found.value - 1
            if self.is_ratio
            else (self.after - self.before) / abs(self.before or math.nan)
        )

    @property
    def name(self) -> str:
        """The quantity and its cell, for readers."""
        return f"{self.quantity} at {self.cell}" if self.cell != "base" else self.quantity

    @property
    def by(self) -> str:
        """The change and its interval, as text."""
        if self.kind is ChangeKind.EQUAL:
            return "equal"
        low, high = self.found.low, self.found.high
        if self.is_ratio:
            between = "" if math.isnan(low) else f" ({percent(low - 1)} to {percent(high - 1)})"
            return f"{percent(self.relative)}{between}"
        between = "" if math.isnan(low) else f" ({number(low)} to {number(high)})"
        return f"{number(self.found.value)} {self.unit}{between}"


def find_changes(
    study: str, before: Results, after: Results, margin: float, quantities: Collection[str] = ()
) -> list[Change]:
    """The comparison of every number that both results have, or of those in `quantities`.

    The intervals of all differing numbers together have 95 % coverage (Bonferroni): a change without effect
    fails at most one check in twenty, however many numbers it compares. `margin` is relative.
    """
    _check_names(quantities, after)
    pairs: list[tuple[str, str, Sample, Sample]] = []
    for cell, quantity in after.data:
        wanted = not quantities or quantity in quantities
        if wanted and (cell, quantity) in before.data and not after.is_list(quantity):
            x, y = before.sample(cell, quantity), after.sample(cell, quantity)
            pairs.append((cell, quantity, x.keep_common(y), y.keep_common(x)))
    differ = sum(not x.equals(y) for _, _, x, y in pairs)
    level = 1 - (1 - LEVEL) / max(differ, 1)
    return [_change(study, cell, quantity, x, y, margin, level) for cell, quantity, x, y in pairs]


def _check_names(quantities: Collection[str], results: Results) -> None:
    known = list(dict.fromkeys(quantity for _, quantity in results.data))
    for name in quantities:
        if name not in known:
            raise StudyError(f'the study measures no "{name}"', key="--on", right=nearest(name, known))


def _change(
    study: str, cell: str, quantity: str, x: Sample, y: Sample, margin: float, level: float
) -> Change:
    a, b = x.estimate().value, y.estimate().value
    is_ratio = a > 0 and b > 0
    related = relate("ratio" if is_ratio else "difference", y, x)
    found = related.estimate(level)
    low, high = found.decided
    if not is_ratio:
        low, high = (
            1 + end / abs(a) if a else math.copysign(math.inf, end) if end else 1.0 for end in (low, high)
        )
    if x.equals(y):
        kind = ChangeKind.EQUAL
    elif math.isnan(low) or math.isnan(high):
        kind = ChangeKind.UNTESTED
    elif low > 1 + margin or high < 1 - margin:
        kind = ChangeKind.MOVED
    elif low >= 1 - margin and high <= 1 + margin:
        kind = ChangeKind.WITHIN
    else:
        kind = ChangeKind.UNDECIDED
    return Change(study, cell, quantity, x.unit, a, b, found, is_ratio, kind)


def by_size(changes: Iterable[Change]) -> list[Change]:
    """The changes that are not `EQUAL`, by kind, and within a kind the largest relative change first."""
    order = list(ChangeKind)
    found = [change for change in changes if change.kind is not ChangeKind.EQUAL]
    return sorted(found, key=lambda one: (order.index(one.kind), -abs(_or(one.relative, math.inf))))


def _or(value: float, other: float) -> float:
    return other if math.isnan(value) else value


def verdict(changes: Sequence[Change], margin: float) -> str:
    """The result of the check in a sentence, with the largest change."""
    moved = [change for change in by_size(changes) if change.kind is ChangeKind.MOVED]
    beyond = f" by more than {number(100 * margin)} %" if margin else ""
    if moved:
        first = moved[0]
        largest = f"{first.name} moved by {first.by}"
        others = f"; {len(moved) - 1} more moved{beyond}" if len(moved) > 1 else ""
        return f"{largest}{others}, of {count_text(len(changes), 'number')}."
    counts = {kind: sum(change.kind is kind for change in changes) for kind in ChangeKind}
    parts = [
        f"{counts[kind]} {words}"
        for kind, words in (
            (ChangeKind.EQUAL, "equal"),
            (ChangeKind.WITHIN, "within the margin"),
            (ChangeKind.UNDECIDED, "undecided"),
            (ChangeKind.UNTESTED, "with too few runs for a test"),
        )
        if counts[kind]
    ]
    return f"No number is sure to have moved{beyond}: {', '.join(parts) or 'none was compared'}."


def markdown(changes: Sequence[Change], margin: float) -> str:
    """The summary in Markdown: the verdict, and a table of the numbers that are not equal."""
    shown = by_size(changes)
    several = len({change.study for change in changes}) > 1
    lines = [verdict(changes, margin), ""]
    if shown:
        head = [*(["study"] if several else []), "number", "before", "after", "change", ""]
        rows = [
            [
                *([change.study] if several else []),
                change.name,
                f"{number(change.before)} {change.unit}".strip(),
                f"{number(change.after)} {change.unit}".strip(),
                change.by,
                str(change.kind),
            ]
            for change in shown[:MOST_SHOWN]
        ]
        lines += markdown_lines(head, rows)
    if len(shown) > MOST_SHOWN:
        lines += ["", f"{len(shown) - MOST_SHOWN} more differ."]
    return "\n".join(lines).rstrip() + "\n"


def junit(changes: Sequence[Change], margin: float) -> bytes:
    """The content of a JUnit file: a suite per study, a test case per number; numbers that moved fail."""
    root = ElementTree.Element("testsuites")
    for study in dict.fromkeys(change.study for change in changes):
        of_study = [change for change in changes if change.study == study]
        failed = [change for change in of_study if change.kind is ChangeKind.MOVED]
        skipped = [one for one in of_study if one.kind in (ChangeKind.UNDECIDED, ChangeKind.UNTESTED)]
        counts = {"tests": len(of_study), "failures": len(failed), "skipped": len(skipped)}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": study, **{name: str(count) for name, count in counts.items()}}
        )
        for one in of_study:
            case = ElementTree.SubElement(suite, "testcase", {"classname": study, "name": one.name})
            text = f"{number(one.before)} to {number(one.after)} {one.unit}: {one.by}, {one.kind}"
            if one in failed:
                ElementTree.SubElement(
                    case, "failure", {"message": f"margin {number(100 * margin)} %: {text}"}
                )
            elif one in skipped:
                ElementTree.SubElement(case, "skipped", {"message": text})
    ElementTree.indent(root)
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"
