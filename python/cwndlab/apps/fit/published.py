"""The fit of choices that a paper leaves open to the paper's tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cwndlab.api import Study
from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import Floats
from cwndlab.base.writing import aligned_lines, csv_text, markdown_lines, save
from cwndlab.plan.plan import Cell, Plan, cell_id, make_plan
from cwndlab.report.contents import collect_outputs
from cwndlab.report.judge import judge
from cwndlab.results.execution import run_plan
from cwndlab.runs.backend_check import check_backend
from cwndlab.runs.progress import Progress
from cwndlab.runs.run_options import RunOptions
from cwndlab.stats.tables import JudgedTable
from cwndlab.study.choices import COMBINATIONS, Wanted, describe_choices, variations_around
from cwndlab.study.schema import Scalar
from cwndlab.study.values import same_value, text

from .choice_model import ChoiceModel, Choices, Search, latin_hypercube, nearest_predicted
from .posterior import Posterior
from .published_numbers import (
    NumbersOfTables,
    ScaledNumbers,
    block_distances,
    floor_of,
    mean_distance,
    numbers_of,
    published_numbers,
    variances_of,
)

#: Most combinations to run.
MOST = 5000
#: Combinations that run together; their records stay in memory until their tables are made.
_TOGETHER = 40
#: Most combinations to predict; their numbers stay in memory.
MOST_PREDICTED = 200_000
_OVER = "--over"


def parse_over(study: Study, text_: str) -> dict[str, list[Scalar]]:
    """The choices in `file_window,median=all-pages|each-client`, with their values; default: all values."""
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
    """The plan of a study in which each cell with these choices has every combination of them."""
    base = make_plan(study, replicates=options.replicates, seed=options.seed)
    cells = {cell.id: cell for cell in base.cells}
    asked = Wanted(combinations=tuple(combinations))
    for cell in base.cells:
        for name, choices in variations_around(study, cell.axes, asked):
            axes = {**cell.axes, **choices}
            made = Cell(cell_id(axes), axes, study, name, cell.own_replicates)
            cells[made.id] = made
    plan = Plan(study, tuple(cells.values()), base.seed, base.replicates)
    changed = any(describe_choices(study, one) != describe_choices(study, {}) for one in combinations)
    if changed and not any(cell.sensitivity == COMBINATIONS for cell in plan.cells):
        raise StudyError("no cell of this run has these choices", key=_OVER, right="leave --set out")
    plan.check()
    check_backend(plan, options)
    return plan


def _combinations(over: Mapping[str, Sequence[Scalar]]) -> Iterator[Choices]:
    for values in itertools.product(*over.values()):
        yield dict(zip(over, values, strict=True))


@dataclass(frozen=True)
class Combination:
    """A combination of choices, and the distance of its tables from the published ones."""

    choices: Choices
    name: str
    #: Distances, in squared scales, of the fitted tables, of the held-out tables, and of each block.
    distance: float
    held_out: float
    blocks: Mapping[str, float]


@dataclass(frozen=True)
class PublishedFit:
    """The result of a fit: every combination, the nearest first, and the distance of a true model."""

    study: str
    over: Mapping[str, Sequence[Scalar]]
    fitted: Sequence[str]
    held_out: Sequence[str]
    replicates: int
    combinations: Sequence[Combination]
    #: Median and largest distance of a combination from its own single replicates.
    floor: tuple[float, float]
    own: Combination
    posterior: Posterior
    #: How the combinations were selected; None if all were run.
    search: Search | None = None

    @property
    def best(self) -> Combination:
        """The nearest combination."""
        return self.combinations[0]

    @property
    def explains(self) -> bool:
        """Whether the nearest combination is as near as a true model would be."""
        return self.best.distance <= self.floor[1]

    def costs(self) -> Iterator[tuple[str, str, float, float]]:
        """The choice, value, probability, and extra distance of its best combination, for each value."""
        for name, values in self.over.items():
            for value, chance in zip(values, self.posterior.marginals[name], strict=True):
                own = [one.distance for one in self.combinations if same_value(one.choices[name], value)]
                yield name, text(value), float(chance), min(own) - self.best.distance

    def conclusion(self) -> str:
        """The conclusion of the fit, in sentences."""
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
        lines.extend(self.posterior.sentences())
        if self.search is not None:
            lines.append(self.search.sentence())
        lines.append("A fitted value is not a reproduction: its verdict stays `fitted`.")
        return "\n".join(lines)

    def table(self, most: int = 10) -> str:
        """The nearest combinations as a text table."""
        rows = [(one.name, f"{one.distance:.2f}", _number(one.held_out)) for one in self.combinations[:most]]
        return "\n".join(aligned_lines([("combination", "distance", "held out"), *rows]))

    def write(self, folder: Path) -> None:
        """Writes fit.md and choices.csv, the table of all combinations."""
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
        values = [
            [name, value, f"{100 * chance:.0f} %", f"{cost:.2f}"]
            for name, value, chance, cost in self.costs()
        ]
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
                *markdown_lines(("combination", "distance", "held out"), near),
                "",
                "## Each value",
                "",
                "Its probability, and how much farther than the nearest combination its nearest one is.",
                "",
                *markdown_lines(("choice", "value", "probability", "farther by"), values),
                "",
            ]
        )


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


@dataclass(frozen=True)
class _Tables:
    """The published tables to compare, and how combinations of choices are run."""

    study: Study
    fitted: tuple[str, ...]
    held_out: tuple[str, ...]
    options: RunOptions
    progress: Progress | None

    def run(self, combinations: Sequence[Choices]) -> dict[str, NumbersOfTables]:
        """The numbers of all tables for each combination, by the combination's name."""
        if self.study.folder is None:
            raise StudyError("the study has no published tables")
        outputs = collect_outputs(self.study, self.study.folder)
        found: dict[str, NumbersOfTables] = {}
        for start in range(0, len(combinations), _TOGETHER):
            part = combinations[start : start + _TOGETHER]
            if self.progress is not None and len(combinations) > _TOGETHER:
                self.progress.note(f"combinations {start + 1} to {start + len(part)} of {len(combinations)}")
            result = run_plan(plan_of(self.study, part, self.options), self.options, progress=self.progress)
            changed = {one.value: one.results for one in result.variations if one.combined}
            for choices in part:
                name = describe_choices(self.study, choices)
                # A combination equal to the study's own choices is not among the variations.
                results = changed.get(name, result.results)
                tables = [table for table in judge(outputs, results).tables if isinstance(table, JudgedTable)]
                found[name] = {table.id: list(published_numbers(table, results)) for table in tables}
        return found

    def with_known(self, numbers: NumbersOfTables) -> _Tables:
        """A copy with `fitted` set to the tables that were run and are not held out."""
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

    def estimates(
        self, numbers: Mapping[str, NumbersOfTables], combinations: Sequence[Choices]
    ) -> list[list[float]]:
        """The study's numbers in the fitted tables for each of these combinations, which were run."""
        names = [describe_choices(self.study, choices) for choices in combinations]
        return [[number.estimate for number in numbers_of(numbers[name], self.fitted)] for name in names]

    def scale(
        self, numbers: Mapping[str, NumbersOfTables], estimates: Floats, error: Floats | float = 0.0
    ) -> ScaledNumbers:
        """The scaled published numbers and estimates of all combinations (rows), which have this error."""
        first = numbers_of(next(iter(numbers.values())), self.fitted)
        return ScaledNumbers.of_numbers(first, variances_of(numbers, self.fitted), estimates, error)

    def predict(
        self,
        numbers: Mapping[str, NumbersOfTables],
        over: Mapping[str, Sequence[Scalar]],
        run: Sequence[Choices],
        every: Sequence[Choices],
    ) -> ScaledNumbers:
        """The scaled numbers with a model's prediction for every combination, from those that were run."""
        model = ChoiceModel.of_runs(over, run, self.estimates(numbers, run))
        return self.scale(numbers, model.estimates(every), model.error)


def fit_published(
    study: Study,
    over: Mapping[str, Sequence[Scalar]],
    held_out: Sequence[str],
    options: RunOptions,
    progress: Progress | None = None,
    most: int | None = None,
) -> PublishedFit:
    """Runs combinations of choices, and compares their tables with the published ones.

    Tables in `held_out` are compared as well, but do not decide which combination is nearest. `most` limits
    the combinations that are run: half are drawn, and the others are those that a model of the drawn ones
    predicts to be nearest.
    """
    tables = _Tables(study, (), tuple(held_out), options, progress)
    every, own = list(_combinations(over)), _own_choices(study, over)
    if most is None or len(every) <= most:
        if len(every) > MOST:
            right = f"at most {MOST:,}, or --most 120 of them"
            raise StudyError(f"{len(every):,} combinations are too many", key=_OVER, right=right)
        numbers = tables.run([own, *every])
        tables = tables.with_known(next(iter(numbers.values())))
        scaled = tables.scale(numbers, np.array(tables.estimates(numbers, every)))
        return _compare(tables, over, every, numbers, scaled)
    if len(every) > MOST_PREDICTED:
        right = f"at most {MOST_PREDICTED:,}: fewer choices or values"
        raise StudyError(f"{len(every):,} combinations are too many to predict", key=_OVER, right=right)
    drawn = latin_hypercube(over, max(most // 2, 1), seed=study.base.run.seed)
    numbers = tables.run([own, *drawn])
    tables = tables.with_known(next(iter(numbers.values())))
    predicted = tables.predict(numbers, over, drawn, every).distances()
    chosen = nearest_predicted(over, every, predicted.tolist(), most - len(drawn), drawn)
    numbers |= tables.run([every[k] for k in chosen])
    run = [*drawn, *(every[k] for k in chosen)]
    fit = _compare(tables, over, run, numbers, tables.predict(numbers, over, run, every))
    near = {combination.name: combination.distance for combination in fit.combinations}
    pairs = [(float(predicted[k]), near[describe_choices(study, every[k])]) for k in chosen]
    return replace(fit, search=Search(len(every), len(drawn), tuple(pairs)))


def _compare(
    tables: _Tables,
    over: Mapping[str, Sequence[Scalar]],
    run: Sequence[Choices],
    numbers: Mapping[str, NumbersOfTables],
    scaled: ScaledNumbers,
) -> PublishedFit:
    study = tables.study
    variances = {wanted: variances_of(numbers, wanted) for wanted in (tables.fitted, tables.held_out)}
    combinations = {}
    own = describe_choices(study, {})
    for choices in [_own_choices(study, over), *run]:
        name = describe_choices(study, choices)
        blocks = block_distances(numbers_of(numbers[name], tables.fitted), variances[tables.fitted])
        held = block_distances(numbers_of(numbers[name], tables.held_out), variances[tables.held_out])
        combinations[name] = Combination(choices, name, mean_distance(blocks), mean_distance(held), blocks)
    asked = {describe_choices(study, choices) for choices in run}
    ordered = sorted(
        (one for one in combinations.values() if one.name in asked), key=lambda one: one.distance
    )
    best = numbers_of(numbers[ordered[0].name], tables.fitted)
    floor = floor_of(best, variances[tables.fitted])
    runs = max(len(number.runs) for number in best)
    return PublishedFit(
        study.name,
        over,
        tables.fitted,
        tables.held_out,
        runs,
        ordered,
        floor,
        combinations[own],
        Posterior.of_numbers(over, scaled, seed=study.base.run.seed),
    )


def _own_choices(study: Study, over: Mapping[str, Sequence[Scalar]]) -> Choices:
    """The study's own choices: the first value of each."""
    return {name: study.outline.sensitivity[name].names[0] for name in over}
