"""Published numbers and those of a run: their scales, and distances between tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.numbers import Floats
from cwndlab.stats.results import Results
from cwndlab.stats.sample import relate_runs
from cwndlab.stats.tables import JudgedTable, find_samples
from cwndlab.stats.verdict import Verdict

#: A difference's scale includes this share of the published number, since no model is exact.
TOLERANCE = 0.05
#: Squared differences, in squared scales, are cut at this value.
FARTHEST = 16.0
#: With fewer replicates the scatter is unknown.
FEWEST_REPLICATES = 3


class Number(NamedTuple):
    """A published number, and the study's number in each replicate."""

    #: The table and quantity of the number; in a distance, each such block has the same weight.
    block: str
    published: float
    rounding: float
    published_runs: int
    estimate: float
    runs: Floats


#: The numbers by table.
NumbersOfTables: TypeAlias = Mapping[str, Sequence[Number]]


def numbers_of(numbers: NumbersOfTables, tables: Sequence[str]) -> list[Number]:
    """The numbers of some tables."""
    return [number for table in tables for number in numbers[table]]


def variances_of(numbers: Mapping[str, NumbersOfTables], tables: Sequence[str]) -> Sequence[float]:
    """The variance of each number between runs, averaged over combinations."""
    rows = [[_variance(number.runs) for number in numbers_of(one, tables)] for one in numbers.values()]
    return [float(value) for value in np.mean(rows, axis=0)]


def published_numbers(table: JudgedTable, results: Results) -> Iterator[Number]:
    """The published numbers of a table, without suspect ones."""
    cells = {cell.id: cell for cell in results.cells}
    for cell in table.numbers:
        suspect = cell.judgement is not None and cell.judgement.verdict is Verdict.SUSPECT
        if cell.published is None or cell.estimate is None or suspect:
            continue
        column = table.column(cell)
        own, base = find_samples(results, cells[cell.cell], column)
        value = cell.published.value if cell.corrected is None else cell.corrected
        yield Number(
            f"{table.id} {cell.quantity}{' change' if column.compare else ''}",
            value,
            cell.published.rounding,
            table.spec.published_runs,
            cell.estimate.value,
            own.runs if column.compare is None else relate_runs(column.compare.kind, own, base or own),
        )


def _variance(runs: Floats) -> float:
    known = runs[~np.isnan(runs)]
    return float(np.var(known, ddof=1)) if len(known) > 1 else 0.0


def squared_scale(number: Number, variance: float) -> float:
    """The square of a number's scale: scatter of both sets of runs, rounding, and `TOLERANCE`."""
    scatter = variance * (1 / number.published_runs + 1 / max(len(number.runs), 1))
    return scatter + number.rounding**2 + (TOLERANCE * number.published) ** 2


@dataclass(frozen=True)
class ScaledNumbers:
    """Published numbers and those of every combination, in units of their scales."""

    #: The index of each number's block.
    block: Sequence[int]
    published: Floats
    #: A row for each combination.
    predicted: Floats

    @classmethod
    def of_numbers(
        cls,
        numbers: Sequence[Number],
        variances: Sequence[float],
        estimates: Floats,
        error: Floats | float = 0.0,
    ) -> ScaledNumbers:
        """The scaled numbers; `estimates` has a row for each combination, and `error` is their error.

        A number that is unknown, or whose scale is 0, gets the squared difference `FARTHEST`.
        """
        blocks = list(dict.fromkeys(number.block for number in numbers))
        published = np.array([number.published for number in numbers])
        squared = [squared_scale(number, one) for number, one in zip(numbers, variances, strict=True)]
        scale = np.sqrt(np.array(squared) + np.square(error))
        unknown = np.isnan(estimates) | (scale == 0)
        scale = np.where(scale == 0, 1.0, scale)
        predicted = np.where(unknown, published + math.sqrt(FARTHEST) * scale, estimates)
        block = [blocks.index(number.block) for number in numbers]
        return cls(block, published / scale, predicted / scale)

    def distances(self) -> Floats:
        """The distance of each combination from the published numbers; differences are cut at `FARTHEST`."""
        return np.asarray(self.block_distances().mean(axis=1))

    def block_distances(self) -> Floats:
        """The distance of each combination (row) in each block (column)."""
        return self._block_means(np.minimum((self.predicted - self.published) ** 2, FARTHEST))

    def squares(self, numbers: Floats) -> Floats:
        """The mean squared difference of each combination (row) from these numbers in each block (column)."""
        return self._block_means((self.predicted - numbers) ** 2)

    def _block_means(self, squares: Floats) -> Floats:
        members = [np.equal(self.block, index) for index in range(max(self.block) + 1)]
        return np.stack([squares[:, columns].mean(axis=1) for columns in members], axis=1)

    @property
    def counts(self) -> Floats:
        """How many numbers each block has."""
        return np.bincount(self.block).astype(float)

    def likelihood(self, squares: Floats, weight: float) -> Floats:
        """The log likelihood of each combination.

        The residuals of a block are normal. Their variance, at least 1 in squared scales, is set to its most
        likely value.
        """
        variance = np.maximum(squares, 1.0)
        return np.asarray(-weight / 2 * (np.log(variance) + squares / variance) @ self.counts)

    def tables_of(self, k: int, rng: np.random.Generator) -> Floats:
        """Simulated numbers of combination `k`, with the residuals that the published numbers have at the
        nearest combination, and one random sign per block.
        """
        signs = rng.choice([-1.0, 1.0], size=max(self.block) + 1)
        return np.asarray(self.predicted[k] + signs[list(self.block)] * self._left)

    @cached_property
    def _left(self) -> Floats:
        """The residuals: published numbers minus those of the nearest combination."""
        return np.asarray(self.published - self.predicted[self.distances().argmin()])


def block_distances(numbers: Sequence[Number], variances: Sequence[float]) -> dict[str, float]:
    """The mean squared difference of each block of numbers, in squared scales, limited to `FARTHEST`."""
    if not numbers:
        return {}
    scaled = ScaledNumbers.of_numbers(numbers, variances, np.array([[number.estimate for number in numbers]]))
    blocks = dict.fromkeys(number.block for number in numbers)
    return dict(zip(blocks, scaled.block_distances()[0].tolist(), strict=True))


def mean_distance(blocks: Mapping[str, float]) -> float:
    """The distance of tables: the mean over blocks; NaN without blocks."""
    return float(np.mean(list(blocks.values()))) if blocks else math.nan


def floor_of(numbers: Sequence[Number], variances: Sequence[float]) -> tuple[float, float]:
    """The distance of a model from itself, median and largest; NaN with too few replicates.

    Each replicate in turn, rounded like the paper's numbers, takes the place of the published numbers, and
    the other replicates make the estimate.
    """
    count = min(len(number.runs) for number in numbers)
    if count < FEWEST_REPLICATES:
        return math.nan, math.nan
    found = []
    for k in range(count):
        made = []
        for number in numbers:
            step = 2 * number.rounding
            one = float(np.nan_to_num(number.runs[k]))
            value = round(one / step) * step if step > 0 else one
            rest, known = np.delete(number.runs, k), not math.isnan(number.runs[k])
            estimate = float(np.nanmean(rest)) if known and not np.isnan(rest).all() else math.nan
            made.append(number._replace(published=value, published_runs=1, estimate=estimate, runs=rest))
        found.append(mean_distance(block_distances(made, variances)))
    return float(np.median(found)), float(max(found))
