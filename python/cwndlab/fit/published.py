"""Which of the choices that a paper leaves open, taken together, come nearest to its tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from cwndlab.errors import StudyError, nearest
from cwndlab.metrics._numbers import Floats
from cwndlab.plan.plan import Cell, Plan, cell_id, make_plan
from cwndlab.report.contents import outputs_of
from cwndlab.report.judge import judge
from cwndlab.runs.backend_check import check_backend
from cwndlab.runs.execution import run_plan
from cwndlab.runs.progress import Progress
from cwndlab.runs.run_options import RunOptions
from cwndlab.spec.choices import COMBINATIONS, Wanted, describe_choices, variations_around
from cwndlab.spec.schema import Scalar
from cwndlab.spec.values import same_value, text
from cwndlab.stats.results import Results
from cwndlab.stats.tables import JudgedTable, per_run
from cwndlab.stats.verdict import Verdict
from cwndlab.study import Study
from cwndlab.writing import aligned_lines, csv_text, save

from .additive_model import AdditiveModel, Choices, Search, latin_hypercube, nearest_predicted
from .fit_result import markdown

#: The scale of a difference contains this share of the published number, since no model is exact.
TOLERANCE = 0.05
#: A number counts at most as much as one that lies four scales away.
FARTHEST = 16.0
#: Combinations that are run at most.
MOST = 5000
#: Fewer replicates give no scatter.
FEWEST_REPLICATES = 3
_OVER = "--over"


def parse_over(study: Study, text_: str) -> dict[str, list[Scalar]]:
    """The choices of `file_window,median=all-pages|each-client` with their values; by default all."""
    known = study.outline.sensitivity
    found: dict[str, list[Scalar]] = {}
    for piece in text_.split(","):
        name, _, values = (part.strip() for part in piece.partition("="))
        if name not in known:
            right = nearest(name, known) if known else "the study has no [sensitivity]"
            raise StudyError(f'there is no choice "{name}"', key=_OVER, right=right)
        names = list(known[name].names)
        wanted = [value.strip() for value in values.split("|")] if values else [text(one) for one in names]
        for value in wanted:
            if value not in map(text, names):
                right = nearest(value, list(map(text, names)))
                raise StudyError(f'{name} has no value "{value}"', key=_OVER, right=right)
        found[name] = [one for one in names if text(one) in wanted]
    return found


def plan_of(study: Study, combinations: Sequence[Choices], options: RunOptions) -> Plan:
    """The plan of a study with combinations of choices in each of its cells that has them."""
    base = make_plan(study, replicates=options.replicates, seed=options.seed)
    cells = {cell.id: cell for cell in base.cells}
    asked = Wanted(combinations=tuple(combinations))
    for cell in base.cells:
        for name, choices in variations_around(study, cell.axes, asked):
            axes = {**cell.axes, **choices}
            made = Cell(cell_id(axes), axes, study, name, cell.own_replicates)
            cells[made.id] = made
    plan = Plan(study, tuple(cells.values()), base.seed, base.replicates)
    if not any(cell.sensitivity == COMBINATIONS for cell in plan.cells):
        raise StudyError("no cell of this run has these choices", key=_OVER, right="leave --set out")
    plan.check()
    check_backend(plan, options)
    return plan


def _combinations(over: Mapping[str, Sequence[Scalar]]) -> Iterator[Choices]:
    for values in itertools.product(*over.values()):
        yield dict(zip(over, values, strict=True))


class Number(NamedTuple):
    """A published number, and ours in each replicate."""

    #: Numbers of one block count together as much as those of another.
    block: str
    published: float
    rounding: float
    published_runs: int
    estimate: float
    runs: Floats


#: The numbers of each table.
NumbersOfTables: TypeAlias = Mapping[str, Sequence[Number]]


@dataclass(frozen=True)
class Combination:
    """A combination of choices, and how far the tables are from the published ones with it."""

    choices: Choices
    name: str
    #: Of the tables that are fitted; of the tables held out; of each block.
    distance: float
    held_out: float
    blocks: Mapping[str, float]


@dataclass(frozen=True)
class PublishedFit:
    """Every combination, the nearest first, and what a known truth reaches."""

    study: str
    over: Mapping[str, Sequence[Scalar]]
    fitted: Sequence[str]
    held_out: Sequence[str]
    replicates: int
    combinations: Sequence[Combination]
    #: The distance of a combination from single replicates of its own: median and largest.
    floor: tuple[float, float]
    own: Combination
    #: How the combinations were chosen, if not all were run.
    search: Search | None = None

    @property
    def best(self) -> Combination:
        """The nearest combination."""
        return self.combinations[0]

    @property
    def explains(self) -> bool:
        """Whether the nearest combination is as near as a known truth would be."""
        return self.best.distance <= self.floor[1]

    def costs(self) -> Iterator[tuple[str, str, float]]:
        """Each value of each choice, and how much farther than the best its best combination is."""
        for name, values in self.over.items():
            for value in values:
                own = [one.distance for one in self.combinations if same_value(one.choices[name], value)]
                yield name, text(value), min(own) - self.best.distance

    def conclusion(self) -> str:
        """What follows, in plain words."""
        against = [f"{name}={value}" for name, value, cost in self.costs() if cost > self.floor[1]]
        lines = [
            f"{self.best.name} is nearest: distance {self.best.distance:.2f}, the study's own choices "
            f"{self.own.distance:.2f}; a known truth gets {self.floor[0]:.2f} (at most {self.floor[1]:.2f})."
        ]
        if self.held_out:
            lines.append(
                f"On the tables held out: {self.best.held_out:.2f}, the study's own {self.own.held_out:.2f}."
            )
        lines.append(
            "It is as near as a known truth would be."
            if self.explains
            else "No combination explains the tables: each is farther than a known truth would be."
        )
        if against:
            lines.append(f"Excluded with every other choice: {', '.join(against)}.")
        if self.search is not None:
            lines.append(self.search.sentence())
        lines.append("A fitted value is not a reproduction: its verdict stays `fitted`.")
        return "\n".join(lines)

    def table(self, most: int = 10) -> str:
        """The nearest combinations as text."""
        rows = [(one.name, f"{one.distance:.2f}", _number(one.held_out)) for one in self.combinations[:most]]
        return "\n".join(aligned_lines([("combination", "distance", "held out"), *rows]))

    def write(self, folder: Path) -> None:
        """Writes the page and the table of all combinations."""
        blocks = list(self.best.blocks)
        rows = [
            [*(text(one.choices[name]) for name in self.over), one.distance, one.held_out]
            + [one.blocks.get(block, math.nan) for block in blocks]
            for one in self.combinations
        ]
        save(folder / "choices.csv", csv_text([*self.over, "distance", "held_out", *blocks], rows))
        save(folder / "fit.md", self.page())

    def page(self) -> str:
        """The page in Markdown."""
        near = [[one.name, f"{one.distance:.2f}", _number(one.held_out)] for one in self.combinations[:10]]
        costs = [[name, value, f"{cost:.2f}"] for name, value, cost in self.costs()]
        held = f", held out: {', '.join(self.held_out)}" if self.held_out else ""
        run = len(self.combinations)
        count = f"{run}" if self.search is None else self.search.share(run)
        size = f"{count} combinations of {', '.join(self.over)}, {self.replicates} replicates."
        return "\n".join(
            [
                f"# Choices fitted to the tables of {self.study}",
                "",
                size,
                f"Fitted: {', '.join(self.fitted)}{held}.",
                "",
                *(f"{line}\n" for line in self.conclusion().split("\n")),
                *markdown(("combination", "distance", "held out"), near),
                "",
                "## What each value costs",
                "",
                "How much farther than the nearest combination the nearest one with this value is.",
                "",
                *markdown(("choice", "value", "farther by"), costs),
                "",
            ]
        )


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


@dataclass(frozen=True)
class _Tables:
    """The published tables of a study that a fit compares, and how it runs combinations of choices."""

    study: Study
    fitted: tuple[str, ...]
    held_out: tuple[str, ...]
    options: RunOptions
    progress: Progress | None

    def run(self, combinations: Sequence[Choices]) -> dict[str, NumbersOfTables]:
        """The numbers of all tables with each combination, by its name."""
        plan = plan_of(self.study, combinations, self.options)
        result = run_plan(plan, self.options, progress=self.progress)
        changed = {one.value: one.results for one in result.variations if one.combined}
        if self.study.folder is None:
            raise StudyError("the study has no published tables")
        outputs = outputs_of(self.study, self.study.folder)
        found: dict[str, NumbersOfTables] = {}
        for choices in combinations:
            name = describe_choices(self.study, choices)
            # Combinations that are the study itself are no variations of it.
            results = changed.get(name, result.results)
            tables = [table for table in judge(outputs, results).tables if isinstance(table, JudgedTable)]
            found[name] = {table.id: list(_numbers(table, results)) for table in tables}
        return found

    def with_known(self, numbers: NumbersOfTables) -> _Tables:
        """The same with the tables that were run."""
        known = [table for table, found in numbers.items() if found]
        for table in self.held_out:
            if table not in known:
                raise StudyError(
                    f'no published table "{table}" was run', key="--held-out", right=nearest(table, known)
                )
        fitted = tuple(table for table in known if table not in self.held_out)
        if not fitted:
            raise StudyError("every table is held out", key="--held-out", right="leave one out")
        return replace(self, fitted=fitted)


def fit_published(
    study: Study,
    over: Mapping[str, Sequence[Scalar]],
    held_out: Sequence[str],
    options: RunOptions,
    progress: Progress | None = None,
    most: int | None = None,
) -> PublishedFit:
    """Runs combinations of choices, and compares their tables with the published ones.

    The tables in `held_out` are compared, too, but do not decide which combination is nearest. With `most`,
    so many combinations are run at most: half of them drawn, the others those that an additive model of the
    drawn ones predicts to be nearest.
    """
    tables = _Tables(study, (), tuple(held_out), options, progress)
    every, own = list(_combinations(over)), _own_choices(study, over)
    if most is None or len(every) <= most:
        if len(every) > MOST:
            right = f"at most {MOST:,}, or --most 120 of them"
            raise StudyError(f"{len(every):,} combinations are too many", key=_OVER, right=right)
        numbers = tables.run([own, *every])
        tables = tables.with_known(next(iter(numbers.values())))
        return _compare(tables, over, every, numbers)
    drawn = latin_hypercube(over, max(most // 2, 1), seed=study.base.run.seed)
    numbers = tables.run([own, *drawn])
    tables = tables.with_known(next(iter(numbers.values())))

    base = _of_tables(numbers[describe_choices(study, own)], tables.fitted)
    variances = _variances(numbers, tables.fitted)

    def distance_of(estimates: Floats) -> float:
        made = [one._replace(estimate=float(value)) for one, value in zip(base, estimates, strict=True)]
        return _mean(block_distances(made, variances))

    found = [_of_tables(numbers[describe_choices(study, one)], tables.fitted) for one in drawn]
    model = AdditiveModel.of_runs(over, drawn, [[number.estimate for number in one] for one in found])
    predicted = [distance_of(model.estimates(one)) for one in every]
    chosen = nearest_predicted(over, every, predicted, most - len(drawn), drawn)
    numbers |= tables.run([every[k] for k in chosen])
    fit = _compare(tables, over, [*drawn, *(every[k] for k in chosen)], numbers)
    near = {one.name: one.distance for one in fit.combinations}
    pairs = [(predicted[k], near[describe_choices(study, every[k])]) for k in chosen]
    return replace(fit, search=Search(len(every), len(drawn), tuple(pairs)))


def _of_tables(numbers: NumbersOfTables, tables: Sequence[str]) -> list[Number]:
    return [number for table in tables for number in numbers[table]]


def _variances(numbers: Mapping[str, NumbersOfTables], tables: Sequence[str]) -> Sequence[float]:
    """The variance between runs of each number, the mean over combinations."""
    rows = [[_variance(number.runs) for number in _of_tables(one, tables)] for one in numbers.values()]
    return [float(value) for value in np.mean(rows, axis=0)]


def _compare(
    tables: _Tables,
    over: Mapping[str, Sequence[Scalar]],
    run: Sequence[Choices],
    numbers: Mapping[str, NumbersOfTables],
) -> PublishedFit:
    study = tables.study

    variances = {wanted: _variances(numbers, wanted) for wanted in (tables.fitted, tables.held_out)}
    combinations = {}
    own = describe_choices(study, {})
    for choices in [_own_choices(study, over), *run]:
        name = describe_choices(study, choices)
        blocks = block_distances(_of_tables(numbers[name], tables.fitted), variances[tables.fitted])
        held = block_distances(_of_tables(numbers[name], tables.held_out), variances[tables.held_out])
        combinations[name] = Combination(choices, name, _mean(blocks), _mean(held), blocks)
    asked = {describe_choices(study, choices) for choices in run}
    ordered = sorted(
        (one for one in combinations.values() if one.name in asked), key=lambda one: one.distance
    )
    best = _of_tables(numbers[ordered[0].name], tables.fitted)
    floor = floor_of(best, variances[tables.fitted])
    runs = max(len(number.runs) for number in best)
    return PublishedFit(
        study.name, over, tables.fitted, tables.held_out, runs, ordered, floor, combinations[own]
    )


def _own_choices(study: Study, over: Mapping[str, Sequence[Scalar]]) -> Choices:
    """The study's own choices, which are the first of each."""
    return {name: study.outline.sensitivity[name].names[0] for name in over}


def _numbers(table: JudgedTable, results: Results) -> Iterator[Number]:
    """The published numbers of a table but for suspect ones."""
    cells = {cell.id: cell for cell in results.cells}
    for cell in table.numbers:
        suspect = cell.judgement is not None and cell.judgement.verdict is Verdict.SUSPECT
        if cell.published is None or cell.estimate is None or suspect:
            continue
        column = table.column(cell)
        value = cell.published.value if cell.corrected is None else cell.corrected
        yield Number(
            f"{table.id} {cell.quantity}{' change' if column.compare else ''}",
            value,
            cell.published.rounding,
            table.spec.published_runs,
            cell.estimate.value,
            per_run(results, cells[cell.cell], column),
        )


def _variance(runs: Floats) -> float:
    known = runs[~np.isnan(runs)]
    return float(np.var(known, ddof=1)) if len(known) > 1 else 0.0


def block_distances(numbers: Sequence[Number], variances: Sequence[float]) -> dict[str, float]:
    """The mean squared difference of each block of numbers in units of its scale, cut at `FARTHEST`.

    The scale has the scatter of the paper's runs and of ours, the rounding, and `TOLERANCE`.
    """
    found: dict[str, list[float]] = {}
    for number, variance in zip(numbers, variances, strict=True):
        scatter = variance * (1 / number.published_runs + 1 / max(len(number.runs), 1))
        scale = scatter + number.rounding**2 + (TOLERANCE * number.published) ** 2
        squared = (number.estimate - number.published) ** 2 / scale if scale > 0 else math.nan
        found.setdefault(number.block, []).append(FARTHEST if math.isnan(squared) else min(squared, FARTHEST))
    return {block: float(np.mean(values)) for block, values in found.items()}


def _mean(blocks: Mapping[str, float]) -> float:
    return float(np.mean(list(blocks.values()))) if blocks else math.nan


def floor_of(numbers: Sequence[Number], variances: Sequence[float]) -> tuple[float, float]:
    """The distance of a model from itself, median and largest; NaN with too few replicates.

    Each replicate in turn, rounded as the paper's numbers are, takes their place, and the others make the
    estimate.
    """
    count = min(len(number.runs) for number in numbers)
    if count < FEWEST_REPLICATES:
        return math.nan, math.nan
    found = []
    for k in range(count):
        made = []
        for number in numbers:
            step = 2 * number.rounding
            one = float(number.runs[k])
            value = round(one / step) * step if step > 0 and not math.isnan(one) else one
            rest = np.delete(number.runs, k)
            estimate = float(np.nanmean(rest)) if not np.isnan(rest).all() else math.nan
            made.append(number._replace(published=value, published_runs=1, estimate=estimate, runs=rest))
        found.append(_mean(block_distances(made, variances)))
    return float(np.median(found)), float(max(found))
