"""Scorecards: the number of each criterion, judged by the document's limit or compared with other subjects.

`scorecard_data` writes them as JSON and as JUnit XML.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import reduced_range
from cwndlab.report.digits import estimate_text, interval_text
from cwndlab.stats import field
from cwndlab.stats.expression import Evaluator, every
from cwndlab.stats.family import Family, joint_level
from cwndlab.stats.field import Field, Key
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results
from cwndlab.stats.sample import is_less
from cwndlab.study.cells import was_not_run
from cwndlab.study.grammar import ExpressionError

from .pack import AXIS, PLACEHOLDER, Criterion, Pack
from .runs_wanted import runs_text, runs_to_decide, runs_to_differ


class ThresholdOutcome(Enum):
    """The outcome of a threshold that the document sets."""

    MET = "met"
    NOT_MET = "not met"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "does not apply"

    @property
    def symbol(self) -> str:
        """A character shown before the word."""
        return {"met": "✓", "not met": "✗", "undecided": "?"}.get(self.value, "–")

    @property
    def style(self) -> str:
        """The name of the outcome's style; the same as for verdicts."""
        return {"met": "holds", "not met": "fails", "undecided": "undecided"}.get(self.value, "none")


class Standing(Enum):
    """How a subject's number compares with a reference's, decided at 95 % like a claim."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    OPEN = "no clear difference"

    @property
    def opposite(self) -> Standing:
        """The standing of the reference compared with the subject."""
        return _OPPOSITES.get(self, self)


_OPPOSITES = {Standing.BETTER: Standing.WORSE, Standing.HIGHER: Standing.LOWER}
_OPPOSITES |= {other: standing for standing, other in _OPPOSITES.items()}


@dataclass(frozen=True)
class ScoreView:
    """The number of one subject or reference in a row, as text."""

    name: str
    value: str
    interval: str
    mark: ThresholdOutcome | None
    #: Where it is undecided whether the number meets its limit: about how many runs would decide it; else "".
    wanted: str
    #: The rank: "rank 2 of 5", "rank 2 to 4 of 5" if undecided between places, "rank not decided", or "".
    place: str
    #: The setting with the worst value, if the row takes the worst over an axis.
    where: str
    #: The simulator's number next to a kernel's, as "0.97 (0.95 … 0.99)".
    simulated: str
    #: "better than reno, cubic; no clear difference from bbr1", or why the subject was not measured.
    compared: str
    #: Failed connections in the runs of the row's study, with the reasons.
    failed: str = ""


@dataclass(frozen=True)
class CriterionRow:
    """A criterion with the numbers of all subjects and references."""

    pack: str
    criterion: Criterion
    #: The intervals by subject and reference, in the order of the scorecard; empty if nothing was measured.
    values: Mapping[str, Interval]
    #: The outcomes by subject and reference; empty if the document sets no threshold.
    outcomes: Mapping[str, ThresholdOutcome]
    #: For each subject and reference, how its number compares with that of each other one.
    standings: Mapping[str, Mapping[str, Standing]]
    #: Why the criterion could not be measured.
    missing: str = ""
    #: The simulator's numbers, by subject and reference, if `values` are a kernel's.
    simulated: Mapping[str, Interval] = dataclasses.field(default_factory=dict)
    #: The subjects that the row's study cannot have, with the reasons.
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: By subject and reference: failed connections in the runs of the row's study, with the reasons.
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: By subject and reference: the setting with the worst value, if the row takes the worst over an axis.
    where: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: By subject and reference: an estimate of how many runs would decide an undecided limit.
    to_decide: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: For subjects that differ from no other: about how many runs would show a difference, and from whom.
    to_differ: Mapping[str, tuple[int, str]] = dataclasses.field(default_factory=dict)

    @property
    def id(self) -> str:
        """The stable name of the row."""
        return f"{self.pack}/{self.criterion.id}"

    @property
    def report(self) -> str:
        """The path of the study's report, relative to the scorecard."""
        return f"{self.pack}/{self.criterion.study}/report.html"

    def rank(self, name: str) -> tuple[int, int, int] | None:
        """The best and the worst possible rank of a number, from 1 for the best, and how many are ranked.

        Numbers that do not differ at 95 % may rank either way. None if the criterion has no better direction.
        """
        known = [who for who, interval in self.values.items() if not math.isnan(interval.value)]
        if self.criterion.better is None or name not in known:
            return None
        found = [self.standings[name][who] for who in known if who != name]
        return 1 + found.count(Standing.WORSE), len(known) - found.count(Standing.BETTER), len(known)

    def against(self, name: str, others: Collection[str]) -> dict[str, Standing]:
        """The standings of a subject against some of the others."""
        found = self.standings.get(name, {})
        return {other: standing for other, standing in found.items() if other in others}

    def number(self, name: str) -> ScoreView:
        """The number of a subject or reference, as text."""
        interval = self.values.get(name)
        compared = _standings_text(self.standings.get(name, {}))
        if name in self.to_differ:
            runs, other = self.to_differ[name]
            compared += f"; {runs_text(runs)} would show one from {other}"
        return ScoreView(
            name,
            "not measured" if interval is None else estimate_text(interval),
            "" if interval is None or math.isnan(interval.value) else interval_text(interval, None),
            self.outcomes.get(name),
            f"{runs_text(self.to_decide[name])} would decide" if name in self.to_decide else "",
            _place_text(self.rank(name)),
            self.where.get(name, ""),
            _simulated_text(self.simulated.get(name)),
            self.refused.get(name) or compared,
            self.failed.get(name, ""),
        )


@dataclass(frozen=True)
class Scorecard:
    """The rows of one pack."""

    pack: Pack
    subjects: tuple[str, ...]
    #: The references that are not subjects themselves.
    references: tuple[str, ...]
    rows: tuple[CriterionRow, ...]
    #: The outcomes of all subjects and references counted together, to say how many may be wrong by chance.
    family: Family

    @property
    def failed_first(self) -> tuple[CriterionRow, ...]:
        """The rows: first criteria that a subject does not meet, then undecided ones, then the rest."""

        def place(row: CriterionRow) -> int:
            found = [row.outcomes.get(subject) for subject in self.subjects]
            first = (ThresholdOutcome.NOT_MET, ThresholdOutcome.UNDECIDED)
            return next((at for at, outcome in enumerate(first) if outcome in found), len(first))

        return tuple(sorted(self.rows, key=place))

    def counts(self, subject: str) -> dict[ThresholdOutcome, int]:
        """The number of thresholds by the subject's outcome; outcomes that do not occur are absent."""
        found = [row.outcomes.get(subject) for row in self.rows]
        return {outcome: found.count(outcome) for outcome in ThresholdOutcome if outcome in found}

    def extremes(self, subject: str) -> dict[str, list[CriterionRow]]:
        """The rows in which a subject is better, or worse, than each of two or more references, at 95 %."""
        found: dict[str, list[CriterionRow]] = {}
        for row in self.rows:
            others = list(row.against(subject, self.references).values())
            if len(others) > 1 and len(set(others)) == 1 and others[0] in (Standing.BETTER, Standing.WORSE):
                found.setdefault(others[0].value, []).append(row)
        return found

    def count_unmeasured(self, subject: str) -> int:
        """The number of rows without a number for a subject because its study was not run for it."""
        return sum(bool(row.missing) or subject in row.refused for row in self.rows)

    def failing(self) -> list[tuple[CriterionRow, str]]:
        """The rows with a MUST that subjects do not meet, each with the subject."""
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
    beside: Mapping[str, Results] | None = None,
    lacking: Collection[str] = (),
) -> Scorecard:
    """The scorecard of a pack from the results of its studies, by name; StudyError names a faulty criterion.

    `skipped` has the studies that were not run and, by study, `refused` the subjects it cannot have, with
    reasons. `simulated` has the simulator's results next to a kernel's, without the subjects `kernel_only`.
    `beside` has its results for all references, of which the kernel lacks `lacking`.
    """
    references = tuple(name for name in pack.file.references if name not in subjects)
    evaluators = {name: Evaluator(of_study) for name, of_study in results.items()}
    rows = [
        _row(
            pack,
            criterion,
            subjects,
            [name for name in references if name not in lacking],
            evaluators,
            skipped or {},
            (refused or {}).get(criterion.study, {}),
        )
        for criterion in pack.file.criteria
    ]
    if simulated:
        known = {
            row.id: row.values
            for row in judge(
                pack, [name for name in subjects if name not in kernel_only], simulated, lacking=lacking
            ).rows
        }
        rows = [dataclasses.replace(row, simulated=known[row.id]) for row in rows]
    if beside:
        whole = {row.id: row.values for row in judge(pack, [], beside).rows}
        others = {
            id_: {name: values[name] for name in lacking if name in values} for id_, values in whole.items()
        }
        rows = [dataclasses.replace(row, simulated={**row.simulated, **others[row.id]}) for row in rows]
    comparisons = sum(evaluator.comparisons for evaluator in evaluators.values())
    family = _family(pack, rows, results, comparisons)
    return Scorecard(pack, tuple(subjects), references, tuple(rows), family)


def _family(
    pack: Pack, rows: Sequence[CriterionRow], results: Mapping[str, Results], comparisons: int
) -> Family:
    """How many outcomes of thresholds remain decided if all comparisons must be right together."""
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
        numbers, where = _numbers(pack, criterion, evaluator)
        outcomes = {}
        if criterion.requires is not None:
            outcomes = {name: _outcome(pack, criterion, name, evaluator) for name in everyone}
    except StudyError as error:
        if was_not_run(error):
            return CriterionRow(pack.name, criterion, {}, {}, {}, "its cells were not run")
        raise
    measured = [name for name in everyone if (name,) in numbers.data]
    open_ = [name for name, outcome in outcomes.items() if outcome is ThresholdOutcome.UNDECIDED]
    standings = _standings(numbers, measured, criterion.better)
    alike = {name: list(found) for name, found in standings.items() if set(found.values()) == {Standing.OPEN}}
    return CriterionRow(
        pack.name,
        criterion,
        {name: numbers.interval((name,)) for name in measured},
        outcomes,
        standings,
        refused=refused,
        failed=_failed_connections(evaluator.results, everyone),
        where=where,
        to_decide=runs_to_decide(criterion, open_, evaluator),
        to_differ=runs_to_differ(numbers, alike),
    )


def _failed_connections(results: Results, names: Sequence[str]) -> dict[str, str]:
    """The failed connections of each subject and reference, from the first of its cells that has any."""
    found: dict[str, str] = {}
    for cell in results.cells:
        name = str(cell.axes.get(AXIS))
        if name in names and cell.id in results.failed:
            found.setdefault(name, results.failed[cell.id])
    return found


def _numbers(pack: Pack, criterion: Criterion, evaluator: Evaluator) -> tuple[Field, dict[str, str]]:
    """The criterion's number for each value of the axis `subject`, and each one's worst setting."""
    over = criterion.worst_over
    try:
        numbers = evaluator.evaluate(criterion.value)
        if set(numbers.axes) != {AXIS, *over} or numbers.condition:
            axes, right = ", ".join(numbers.axes) or "none", "mean(x, over=AXIS)"
            problem = f"the axes that stay open are {axes}, and must be {' and '.join((AXIS, *over))} alone"
            raise ExpressionError(problem, 1, f"choose values of the others, or reduce them: {right}")
    except ExpressionError as error:
        raise _locate(pack, criterion, "value", error) from error
    if not over:
        return numbers, {}
    sign = 1.0 if criterion.better == "higher" else -1.0
    at = {axis: numbers.axes.index(axis) for axis in (AXIS, *over)}
    worst: dict[str, Key] = {}
    for key in sorted(numbers.data, key=lambda key: sign * numbers.interval(key).value):
        worst.setdefault(str(key[at[AXIS]]), key)
    labels = evaluator.results.labels
    where = {name: labels.settings({axis: key[at[axis]] for axis in over}) for name, key in worst.items()}
    for axis in over:
        function = partial(np.min if sign > 0 else np.max, axis=0)
        within = partial(reduced_range, "min" if sign > 0 else "max")
        numbers = field.reduce(numbers, function, axis, within=within)
    return numbers, where


def _standings(numbers: Field, names: Sequence[str], better: str | None) -> dict[str, dict[str, Standing]]:
    """How each number compares with every other one."""
    found: dict[str, dict[str, Standing]] = {name: {} for name in names}
    for one, other in combinations(names, 2):
        found[one][other] = _standing(numbers, one, other, better)
        found[other][one] = found[one][other].opposite
    return found


def _outcome(pack: Pack, criterion: Criterion, subject: str, evaluator: Evaluator) -> ThresholdOutcome:
    if criterion.applies is not None and not _condition_holds(pack, criterion, "applies", subject, evaluator):
        return ThresholdOutcome.NOT_APPLICABLE  # also if undecided, as for five runs without a mark
    answer = _condition_holds(pack, criterion, "requires", subject, evaluator)
    return {True: ThresholdOutcome.MET, False: ThresholdOutcome.NOT_MET, None: ThresholdOutcome.UNDECIDED}[
        answer
    ]


def _condition_holds(
    pack: Pack, criterion: Criterion, key: Literal["requires", "applies"], subject: str, evaluator: Evaluator
) -> bool | None:
    """Whether a condition of a criterion holds for one subject; None if undecided."""
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


def _simulated_text(interval: Interval | None) -> str:
    if interval is None or math.isnan(interval.value):
        return ""
    text = interval_text(interval, None)
    shown = estimate_text(interval)
    return f"{shown} ({text})" if text else shown


def _place_text(rank: tuple[int, int, int] | None) -> str:
    """A rank as text; "" without one."""
    if rank is None:
        return ""
    best, worst, count = rank
    if best == worst:
        return f"rank {best} of {count}"
    return "rank not decided" if (best, worst) == (1, count) else f"rank {best} to {worst} of {count}"


def _standings_text(standings: Mapping[str, Standing]) -> str:
    """How a subject compares with each reference, as text."""
    parts = []
    for standing in Standing:
        names = ", ".join(name for name, one in standings.items() if one is standing)
        if names:
            link = "from" if standing is Standing.OPEN else "than"
            parts.append(f"{standing.value} {link} {names}")
    return "; ".join(parts)
