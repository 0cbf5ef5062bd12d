"""Scorecards in the words of a page, of JSON, and of JUnit's XML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from cwndlab.files import plain_row
from cwndlab.report.model import VerdictMark
from cwndlab.report.view import estimate_text, interval_text
from cwndlab.stats.intervals import Interval

from .scorecard import CriterionRow, Scorecard, Standing, ThresholdOutcome, rank
from .subjects import Subject

MARKS = {
    ThresholdOutcome.MET: VerdictMark("✓", "met", "holds"),
    ThresholdOutcome.NOT_MET: VerdictMark("✗", "not met", "fails"),
    ThresholdOutcome.UNDECIDED: VerdictMark("?", "undecided", "undecided"),
    ThresholdOutcome.NOT_APPLICABLE: VerdictMark("–", "does not apply", "none"),
}
#: The levels whose thresholds, if not met, are failures to JUnit.
_FAILURES = ("MUST", "SHOULD")
_SKIPPED = (ThresholdOutcome.UNDECIDED, ThresholdOutcome.NOT_APPLICABLE)


@dataclass(frozen=True)
class ScoreView:
    """The number of one subject or reference in a row."""

    name: str
    value: str
    interval: str
    mark: VerdictMark | None
    #: "rank 2 of 5", by the estimate.
    place: str
    #: "0.97 (0.95 … 0.99)", the simulator's number next to a kernel's.
    simulated: str
    #: "better than reno, cubic; no clear difference from bbr1", of a subject.
    beside: str


@dataclass(frozen=True)
class CriterionView:
    """A row of the page: a criterion with its numbers."""

    id: str
    section: str
    level: str
    asks: str
    shows: str
    note: str
    href: str
    subjects: tuple[ScoreView, ...]
    references: tuple[ScoreView, ...]
    missing: str


@dataclass(frozen=True)
class PackView:
    """A pack's part of the page."""

    name: str
    title: str
    document: str
    url: str
    about: str
    rows: tuple[CriterionView, ...]
    #: Names of those that are not subjects themselves.
    references: tuple[str, ...]
    #: The subjects, each with how many thresholds it meets, misses, or leaves open.
    counts: tuple[tuple[str, tuple[tuple[int, VerdictMark], ...]], ...]
    #: Studies and their reports.
    studies: tuple[tuple[str, str], ...]


def pack_view(card: Scorecard) -> PackView:
    """The page's view of a scorecard."""
    file = card.pack.file
    return PackView(
        card.pack.name,
        file.title,
        file.document,
        file.url,
        file.about.strip(),
        tuple(_row(row, card) for row in card.rows),
        card.references,
        tuple((subject, _counts(card, subject)) for subject in card.subjects),
        tuple((name, href(card.pack.name, name)) for name in card.pack.studies),
    )


def href(pack: str, study: str) -> str:
    """Where the report of a study is, from the scorecard."""
    return f"{pack}/{study}/report.html"


def _counts(card: Scorecard, subject: str) -> tuple[tuple[int, VerdictMark], ...]:
    found = [row.outcomes.get(subject) for row in card.rows]
    return tuple((found.count(outcome), mark) for outcome, mark in MARKS.items() if outcome in found)


def _row(row: CriterionRow, card: Scorecard) -> CriterionView:
    criterion = row.criterion
    return CriterionView(
        row.id,
        criterion.section,
        criterion.level,
        criterion.asks,
        criterion.shows + (f" ({criterion.unit})" if criterion.unit else ""),
        criterion.note,
        href(row.pack, criterion.study),
        tuple(_number(row, name) for name in card.subjects),
        tuple(_number(row, name) for name in card.references),
        row.missing,
    )


def _number(row: CriterionRow, name: str) -> ScoreView:
    interval = row.values.get(name)
    outcome = row.outcomes.get(name)
    placed = rank(row, name)
    return ScoreView(
        name,
        "not measured" if interval is None else estimate_text(interval),
        "" if interval is None or math.isnan(interval.value) else interval_text(interval, None),
        None if outcome is None else MARKS[outcome],
        "" if placed is None else f"rank {placed[0]} of {placed[1]}",
        _simulated_text(row.simulated.get(name)),
        _standings_text(row.standings.get(name, {})),
    )


def _simulated_text(interval: Interval | None) -> str:
    if interval is None or math.isnan(interval.value):
        return ""
    text = interval_text(interval, None)
    shown = estimate_text(interval)
    return f"{shown} ({text})" if text else shown


def _standings_text(standings: Mapping[str, Standing]) -> str:
    """In words, how a subject compares with each reference."""
    parts = []
    for standing in Standing:
        names = ", ".join(name for name, one in standings.items() if one is standing)
        if names:
            link = "from" if standing is Standing.OPEN else "than"
            parts.append(f"{standing.value} {link} {names}")
    return "; ".join(parts)


def as_data(cards: Sequence[Scorecard], subjects: Sequence[Subject], version: str) -> dict[str, Any]:
    """Everything that the scorecards say, for programs: the content of scorecard.json."""
    return {
        "format": 1,
        "cwndlab": version,
        "subjects": [{"name": s.name, "kind": s.kind, "is": s.described} for s in subjects],
        "packs": [
            {
                "name": card.pack.name,
                "document": card.pack.file.document,
                "references": list(card.references),
                "rows": [_row_data(row, card) for row in card.rows],
            }
            for card in cards
        ],
    }


def _row_data(row: CriterionRow, card: Scorecard) -> dict[str, Any]:
    criterion = row.criterion
    return {
        "id": row.id,
        "section": criterion.section,
        "level": criterion.level or None,
        "asks": criterion.asks,
        "shows": criterion.shows,
        "unit": criterion.unit or None,
        "better": criterion.better,
        "study": criterion.study,
        "report": href(row.pack, criterion.study),
        "value": criterion.value,
        "requires": criterion.requires,
        "applies": criterion.applies,
        "missing": row.missing or None,
        "numbers": {
            name: {
                **_interval_data(interval),
                "outcome": row.outcomes[name].value if name in row.outcomes else None,
                "simulated": _interval_data(row.simulated[name]) if name in row.simulated else None,
            }
            for name, interval in row.values.items()
        },
        "standings": {
            subject: {name: standing.value for name, standing in row.standings.get(subject, {}).items()}
            for subject in card.subjects
        },
    }


def _interval_data(interval: Interval) -> dict[str, object]:
    ends = {"estimate": interval.value, "ci_low": interval.low, "ci_high": interval.high}
    return plain_row({**ends, "replicates": interval.n, "method": interval.method})


def as_junit(cards: Sequence[Scorecard]) -> bytes:
    """The scorecards as JUnit's XML: a suite for each pack and subject, a case for each row.

    A threshold of the document that is not met is a failure of the type MUST or SHOULD. One that is undecided
    or does not apply is skipped, and so is a row without a number. Rows without a threshold pass, with the
    number in their output.
    """
    root = ElementTree.Element("testsuites", name="cwndlab evaluate")
    for card in cards:
        for subject in card.subjects:
            suite = ElementTree.SubElement(root, "testsuite", name=f"{card.pack.name}: {subject}")
            failures = skipped = 0
            for row in card.rows:
                case = ElementTree.SubElement(
                    suite, "testcase", classname=f"{card.pack.name}.{subject}", name=row.id
                )
                outcome, said = row.outcomes.get(subject), _row_text(row, subject)
                if outcome is ThresholdOutcome.NOT_MET and row.criterion.level in _FAILURES:
                    failures += 1
                    ElementTree.SubElement(case, "failure", type=row.criterion.level, message=said)
                elif outcome in _SKIPPED or subject not in row.values:
                    skipped += 1
                    ElementTree.SubElement(case, "skipped", message=row.missing or said)
                ElementTree.SubElement(case, "system-out").text = said
            suite.attrib |= {"tests": str(len(card.rows)), "failures": str(failures), "skipped": str(skipped)}
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _row_text(row: CriterionRow, subject: str) -> str:
    """A row's number and what is thought of it, in a line."""
    view = _number(row, subject)
    unit = f" {row.criterion.unit}" if row.criterion.unit and subject in row.values else ""
    parts = [f"{row.criterion.shows}: {view.value}{unit}", f"({view.interval})" if view.interval else ""]
    parts += [view.mark.word if view.mark else "", view.beside]
    return " ".join(part for part in parts if part)
