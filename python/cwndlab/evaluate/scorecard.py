"""Scorecards: the number of each criterion, judged by the document's limit or compared with others."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from cwndlab.errors import StudyError
from cwndlab.spec.grammar import ExpressionError
from cwndlab.stats import field
from cwndlab.stats.expression import Evaluator, every
from cwndlab.stats.field import Field
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results, was_not_run

from .pack import AXIS, PLACEHOLDER, Criterion, Pack


class ThresholdOutcome(Enum):
    """What came of a threshold of the document."""

    MET = "met"
    NOT_MET = "not met"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "does not apply"


class Standing(Enum):
    """Where a subject's number lies, seen from a reference's; decided as a claim is, at 95 %."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    OPEN = "no clear difference"


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

    @property
    def id(self) -> str:
        """Stable name of the row."""
        return f"{self.pack}/{self.criterion.id}"


@dataclass(frozen=True)
class Scorecard:
    """The rows of one pack."""

    pack: Pack
    subjects: tuple[str, ...]
    #: Those that are not subjects themselves.
    references: tuple[str, ...]
    rows: tuple[CriterionRow, ...]

    def failing(self, level: str = "MUST") -> list[tuple[CriterionRow, str]]:
        """Rows of a level and the subjects that do not meet them."""
        return [
            (row, subject)
            for row in self.rows
            if row.criterion.level == level
            for subject in self.subjects
            if row.outcomes.get(subject) is ThresholdOutcome.NOT_MET
        ]


def judge(
    pack: Pack,
    subjects: Sequence[str],
    results: Mapping[str, Results],
    *,
    skipped: Mapping[str, str] | None = None,
    simulated: Mapping[str, Results] | None = None,
    kernel_only: Collection[str] = (),
) -> Scorecard:
    """The scorecard of a pack from the results of its studies, by name. StudyError names the criterion.

    `skipped` has the studies that were not run, and why; `simulated` the simulator's results to set next to
    a kernel's, `kernel_only` the subjects of which the simulator has none.
    """
    references = tuple(name for name in pack.file.references if name not in subjects)
    evaluators = {name: Evaluator(of_study) for name, of_study in results.items()}
    rows = [
        _row(pack, criterion, subjects, references, evaluators, skipped or {})
        for criterion in pack.file.criteria
    ]
    if simulated:
        other = {row.id: row.values for row in judge(pack, subjects, simulated).rows}
        known = {id_: {n: v for n, v in of.items() if n not in kernel_only} for id_, of in other.items()}
        rows = [dataclasses.replace(row, simulated=known[row.id]) for row in rows]
    return Scorecard(pack, tuple(subjects), references, tuple(rows))


def _row(
    pack: Pack,
    criterion: Criterion,
    subjects: Sequence[str],
    references: Sequence[str],
    evaluators: Mapping[str, Evaluator],
    skipped: Mapping[str, str],
) -> CriterionRow:
    evaluator = evaluators.get(criterion.study)
    if evaluator is None:
        reason = skipped.get(criterion.study, "its study was not run")
        return CriterionRow(pack.name, criterion, {}, {}, {}, reason)
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
    return CriterionRow(pack.name, criterion, values, outcomes, standings)


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
    return field.truth(field.reduce(value, every, None))


def _standing(numbers: Field, subject: str, reference: str, better: str | None) -> Standing:
    a, b = numbers.data[(subject,)], numbers.data[(reference,)]
    for low, high, lower in ((a, b, True), (b, a, False)):
        if float(field.less(low, high, numbers.n, within=numbers.within)[0]) == 1.0:
            if better is None:
                return Standing.LOWER if lower else Standing.HIGHER
            return Standing.BETTER if lower == (better == "lower") else Standing.WORSE
    return Standing.OPEN


def rank(row: CriterionRow, name: str) -> tuple[int, int] | None:
    """Place of a name by its estimate, from 1 for the best, and among how many; None without an order."""
    known = {who: i.value for who, i in row.values.items() if not math.isnan(i.value)}
    if row.criterion.better is None or name not in known:
        return None
    sign = -1.0 if row.criterion.better == "higher" else 1.0
    return 1 + sum(sign * value < sign * known[name] for value in known.values()), len(known)


def _locate(pack: Pack, criterion: Criterion, key: str, error: ExpressionError) -> StudyError:
    return StudyError(
        f"{error.problem} (column {error.column})",
        file=pack.folder / "pack.toml",
        key=f"criteria.{criterion.id}.{key}",
        right=error.right,
    )
