"""Scorecards: the number of each criterion, judged by the document's limit or compared with others.

In the words of a page, as JSON, and as XML for JUnit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal
from xml.etree import ElementTree

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import plain_row
from cwndlab.report.digits import estimate_text, interval_text
from cwndlab.stats import field
from cwndlab.stats.expression import Evaluator, every
from cwndlab.stats.family import Family, joint_level
from cwndlab.stats.field import Field
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results
from cwndlab.stats.sample import is_less
from cwndlab.study.cells import was_not_run
from cwndlab.study.grammar import ExpressionError

from .pack import AXIS, PLACEHOLDER, Criterion, Pack
from .subjects import Subject


class ThresholdOutcome(Enum):
    """What came of a threshold of the document."""

    MET = "met"
    NOT_MET = "not met"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "does not apply"

    @property
    def symbol(self) -> str:
        """A sign next to the word."""
        return {"met": "✓", "not met": "✗", "undecided": "?"}.get(self.value, "–")

    @property
    def style(self) -> str:
        """A name for its colour: that of a verdict, if any."""
        return {"met": "holds", "not met": "fails", "undecided": "undecided"}.get(self.value, "none")


class Standing(Enum):
    """Where a subject's number lies, seen from a reference's; decided as a claim is, at 95 %."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    OPEN = "no clear difference"


@dataclass(frozen=True)
class ScoreView:
    """The number of one subject or reference in a row."""

    name: str
    value: str
    interval: str
    mark: ThresholdOutcome | None
    #: "rank 2 of 5", by the estimate.
    place: str
    #: "0.97 (0.95 … 0.99)", the simulator's number next to a kernel's.
    simulated: str
    #: "better than reno, cubic; no clear difference from bbr1", of a subject; or why it was not measured.
    compared: str
    #: Which connections failed in the runs of its study, and why.
    failed: str = ""


@dataclass(frozen=True)
class CriterionRow:
    """A criterion with its numbers."""

    pack: str
    criterion: Criterion
    #: By subject and reference, in the order of the scorecard; empty if nothing was measured.
    values: Mapping[str, Interval]
    #: By subject and reference, where the document sets a threshold.
    outcomes: Mapping[str, ThresholdOutcome]
    #: By subject: each reference, and how the subject's number compares with that one's.
    standings: Mapping[str, Mapping[str, Standing]]
    #: Why it could not be measured.
    missing: str = ""
    #: Of a kernel's numbers: the simulator's, by subject and reference.
    simulated: Mapping[str, Interval] = dataclasses.field(default_factory=dict)
    #: Subjects that its study cannot have, and why.
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: By subject and reference: which connections failed in the runs of its study, and why.
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def id(self) -> str:
        """Stable name of the row."""
        return f"{self.pack}/{self.criterion.id}"

    @property
    def report(self) -> str:
        """Where the report of its study is, from the scorecard."""
        return f"{self.pack}/{self.criterion.study}/report.html"

    def rank(self, name: str) -> tuple[int, int] | None:
        """Place of a name by its estimate, from 1 for the best, and among how many; None without an order."""
        known = {who: i.value for who, i in self.values.items() if not math.isnan(i.value)}
        if self.criterion.better is None or name not in known:
            return None
        sign = -1.0 if self.criterion.better == "higher" else 1.0
        return 1 + sum(sign * value < sign * known[name] for value in known.values()), len(known)

    def number(self, name: str) -> ScoreView:
        """The number of a subject or a reference in words."""
        interval = self.values.get(name)
        return ScoreView(
            name,
            "not measured" if interval is None else estimate_text(interval),
            "" if interval is None or math.isnan(interval.value) else interval_text(interval, None),
            self.outcomes.get(name),
            "rank {} of {}".format(*place) if (place := self.rank(name)) else "",
            _simulated_text(self.simulated.get(name)),
            self.refused.get(name) or _standings_text(self.standings.get(name, {})),
            self.failed.get(name, ""),
        )


@dataclass(frozen=True)
class Scorecard:
    """The rows of one pack."""

    pack: Pack
    subjects: tuple[str, ...]
    #: Those that are not subjects themselves.
    references: tuple[str, ...]
    rows: tuple[CriterionRow, ...]
    #: What the outcomes of thresholds, those of references too, are wrong in by chance.
    family: Family

    @property
    def failed_first(self) -> tuple[CriterionRow, ...]:
        """The rows: those that a subject does not meet, those left undecided, and the others."""

        def place(row: CriterionRow) -> int:
            found = [row.outcomes.get(subject) for subject in self.subjects]
            first = (ThresholdOutcome.NOT_MET, ThresholdOutcome.UNDECIDED)
            return next((at for at, outcome in enumerate(first) if outcome in found), len(first))

        return tuple(sorted(self.rows, key=place))

    def counts(self, subject: str) -> dict[ThresholdOutcome, int]:
        """How many thresholds a subject meets, misses, or leaves open."""
        found = [row.outcomes.get(subject) for row in self.rows]
        return {outcome: found.count(outcome) for outcome in ThresholdOutcome if outcome in found}

    def extremes(self, subject: str) -> dict[str, list[CriterionRow]]:
        """The rows in which a subject is better or worse than every reference, of two or more, at 95 %."""
        found: dict[str, list[CriterionRow]] = {}
        for row in self.rows:
            others = list(row.standings.get(subject, {}).values())
            if len(others) > 1 and len(set(others)) == 1 and others[0] in (Standing.BETTER, Standing.WORSE):
                found.setdefault(others[0].value, []).append(row)
        return found

    def count_unmeasured(self, subject: str) -> int:
        """How many rows have no number of a subject, because its study was not run for it."""
        return sum(bool(row.missing) or subject in row.refused for row in self.rows)

    def failing(self) -> list[tuple[CriterionRow, str]]:
        """Rows that the document says MUST be met, and the subjects that do not meet them."""
        return [
            (row, subject)
            for row in self.rows
            if row.criterion.level == "MUST"
            for subject in self.subjects
            if row.outcomes.get(subject) is ThresholdOutcome.NOT_MET
        ]


def judge(
    pack: Pack,
    subjects: Sequence[str],
    results: Mapping[str, Results],
    *,
    skipped: Mapping[str, str] | None = None,
    refused: Mapping[str, Mapping[str, str]] | None = None,
    simulated: Mapping[str, Results] | None = None,
    kernel_only: Collection[str] = (),
) -> Scorecard:
    """The scorecard of a pack from the results of its studies, by name. StudyError names the criterion.

    `skipped` has the studies that were not run, and why; `refused`, by study, the subjects that it cannot
    have, and why; `simulated` the simulator's results to set next to
    a kernel's, `kernel_only` the subjects of which the simulator has none.
    """
    references = tuple(name for name in pack.file.references if name not in subjects)
    evaluators = {name: Evaluator(of_study) for name, of_study in results.items()}
    rows = [
        _row(
            pack,
            criterion,
            subjects,
            references,
            evaluators,
            skipped or {},
            (refused or {}).get(criterion.study, {}),
        )
        for criterion in pack.file.criteria
    ]
    if simulated:
        others = [name for name in subjects if name not in kernel_only]
        known = {row.id: row.values for row in judge(pack, others, simulated).rows}
        rows = [dataclasses.replace(row, simulated=known[row.id]) for row in rows]
    comparisons = sum(evaluator.comparisons for evaluator in evaluators.values())
    family = _family(pack, rows, results, comparisons)
    return Scorecard(pack, tuple(subjects), references, tuple(rows), family)


def _family(
    pack: Pack, rows: Sequence[CriterionRow], results: Mapping[str, Results], comparisons: int
) -> Family:
    """How many outcomes of thresholds stay decided if all comparisons are to be right together."""
    level = joint_level(comparisons)
    strict = {name: Evaluator(of_study, level=level) for name, of_study in results.items()}
    decided = [
        (row, name)
        for row in rows
        for name, outcome in row.outcomes.items()
        if outcome in (ThresholdOutcome.MET, ThresholdOutcome.NOT_MET)
    ]
    firm = [
        _outcome(pack, row.criterion, name, strict[row.criterion.study]) is row.outcomes[name]
        for row, name in decided
    ]
    return Family(len(decided), comparisons, sum(firm)) if comparisons else Family(0, 0, 0)


def _row(
    pack: Pack,
    criterion: Criterion,
    subjects: Sequence[str],
    references: Sequence[str],
    evaluators: Mapping[str, Evaluator],
    skipped: Mapping[str, str],
    refused: Mapping[str, str],
) -> CriterionRow:
    evaluator = evaluators.get(criterion.study)
    if evaluator is None:
        reason = skipped.get(criterion.study, "its study was not run")
        return CriterionRow(pack.name, criterion, {}, {}, {}, reason)
    subjects = [name for name in subjects if name not in refused]
    everyone = [*subjects, *references]
    try:
        numbers = _numbers(pack, criterion, evaluator)
        outcomes = {}
        if criterion.requires is not None:
            outcomes = {name: _outcome(pack, criterion, name, evaluator) for name in everyone}
    except StudyError as error:
        if was_not_run(error):
            return CriterionRow(pack.name, criterion, {}, {}, {}, "its cells were not run")
        raise
    values = {name: numbers.interval((name,)) for name in everyone if (name,) in numbers.data}
    standings = {
        subject: {
            reference: _standing(numbers, subject, reference, criterion.better)
            for reference in references
            if reference in values
        }
        for subject in subjects
        if subject in values
    }
    failed = _failed_connections(evaluator.results, everyone)
    return CriterionRow(pack.name, criterion, values, outcomes, standings, refused=refused, failed=failed)


def _failed_connections(results: Results, names: Sequence[str]) -> dict[str, str]:
    """By subject and reference, the failed connections of the first of its cells that has some."""
    found: dict[str, str] = {}
    for cell in results.cells:
        name = str(cell.axes.get(AXIS))
        if name in names and cell.id in results.failed:
            found.setdefault(name, results.failed[cell.id])
    return found


def _numbers(pack: Pack, criterion: Criterion, evaluator: Evaluator) -> Field:
    """The criterion's number for each value of the axis `subject`."""
    try:
        numbers = evaluator.evaluate(criterion.value)
    except ExpressionError as error:
        raise _locate(pack, criterion, "value", error) from error
    if numbers.axes != (AXIS,) or numbers.condition:
        axes = ", ".join(numbers.axes) or "none"
        problem = f"the axes that stay open are {axes}, and must be {AXIS} alone"
        right = "choose values of the others, or reduce them: mean(x, over=AXIS)"
        raise _locate(pack, criterion, "value", ExpressionError(problem, 1, right))
    return numbers


def _outcome(pack: Pack, criterion: Criterion, subject: str, evaluator: Evaluator) -> ThresholdOutcome:
    if criterion.applies is not None and not _condition_holds(pack, criterion, "applies", subject, evaluator):
        return ThresholdOutcome.NOT_APPLICABLE  # nor where it is undecided, as of five runs without a mark
    answer = _condition_holds(pack, criterion, "requires", subject, evaluator)
    return {True: ThresholdOutcome.MET, False: ThresholdOutcome.NOT_MET, None: ThresholdOutcome.UNDECIDED}[
        answer
    ]


def _condition_holds(
    pack: Pack, criterion: Criterion, key: Literal["requires", "applies"], subject: str, evaluator: Evaluator
) -> bool | None:
    """Whether a condition of a criterion holds for one subject; None if that is undecided."""
    written: str = getattr(criterion, key)
    try:
        value = evaluator.evaluate(written.replace(PLACEHOLDER, f'"{subject}"'))
        if not value.condition:
            raise ExpressionError("this is a number, not a condition", 1, "compare it with something")
    except ExpressionError as error:
        raise _locate(pack, criterion, key, error) from error
    return field.as_truth(field.reduce(value, every, None))


def _standing(numbers: Field, subject: str, reference: str, better: str | None) -> Standing:
    a, b = numbers.data[(subject,)], numbers.data[(reference,)]
    for low, high, lower in ((a, b, True), (b, a, False)):
        if is_less(low, high):
            if better is None:
                return Standing.LOWER if lower else Standing.HIGHER
            return Standing.BETTER if lower == (better == "lower") else Standing.WORSE
    return Standing.OPEN


def _locate(pack: Pack, criterion: Criterion, key: str, error: ExpressionError) -> StudyError:
    return StudyError(
        f"{error.problem} (column {error.column})",
        file=pack.folder / "pack.toml",
        key=f"criteria.{criterion.id}.{key}",
        right=error.right,
    )


#: The levels whose thresholds, if not met, are failures to JUnit.
_FAILURES = ("MUST", "SHOULD")
_SKIPPED = (ThresholdOutcome.UNDECIDED, ThresholdOutcome.NOT_APPLICABLE)


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
        "subjects": [{"name": s.name, "kind": s.kind, "is": s.description} for s in subjects],
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
    asked = row.criterion.model_dump(exclude={"note"})
    return {
        **asked,
        "id": row.id,
        "level": row.criterion.level or None,
        "unit": row.criterion.unit or None,
        "report": row.report,
        "missing": row.missing or None,
        "refused": dict(row.refused),
        "numbers": {
            name: {
                **_interval_data(interval),
                "outcome": row.outcomes[name].value if name in row.outcomes else None,
                "simulated": _interval_data(row.simulated[name]) if name in row.simulated else None,
                "failed_connections": row.failed.get(name),
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
                    ElementTree.SubElement(
                        case, "skipped", message=row.missing or row.refused.get(subject) or said
                    )
                ElementTree.SubElement(case, "system-out").text = said
            suite.attrib |= {"tests": str(len(card.rows)), "failures": str(failures), "skipped": str(skipped)}
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _row_text(row: CriterionRow, subject: str) -> str:
    """A row's number and what is thought of it, in a line."""
    view = row.number(subject)
    unit = f" {row.criterion.unit}" if row.criterion.unit and subject in row.values else ""
    parts = [f"{row.criterion.shows}: {view.value}{unit}", f"({view.interval})" if view.interval else ""]
    parts += [view.mark.value if view.mark else "", view.compared, view.failed]
    return " ".join(part for part in parts if part)
