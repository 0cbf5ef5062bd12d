"""Verdicts if the paper were one more set of our own runs.

Published numbers share runs: one run yields a delay, a utilization and a drop rate, and one base run enters
each change relative to it. The number of incompatibilities by chance is therefore not binomial. Here, some
runs of each cell take the place of the paper's. All published numbers are computed from these and judged
against the remaining runs. If the source did not pair its runs, those of each cell are drawn independently.
Rounding is drawn uniformly over its width. Many such draws give the distribution that the paper's own count
is compared with.

The same draws test means of changes, since single numbers are too noisy: whether the mean over some lines of
a table lies within the range of the draws, and all means together (the sum of their squared distances, each
in standard deviations).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.numbers import Floats
from cwndlab.stats.distributions import LEVEL, binomial_cdf
from cwndlab.stats.further import Asked, predict
from cwndlab.stats.sample import Sample
from cwndlab.stats.tables import JudgedCell, JudgedTable, find_samples, make_asked, reference
from cwndlab.stats.verdict import Incompatible

if TYPE_CHECKING:
    from cwndlab.stats.results import Results
    from cwndlab.study.cells import CellInfo

DRAWS = 400
"""Number of draws."""

FEWEST_LEFT = 2
"""The least replicates from which a number is predicted; the prediction is then poor, but valid."""

FEWEST_DRAWN = 5
"""The least replicates for which the draws alone give the number of incompatibilities by chance.

Three runs of a cell give three draws of its numbers, which may all be compatible although one in twenty is
not. With fewer replicates, the range therefore includes that of a binomial count at 5 %.
"""

SEED = 2026

Taken: TypeAlias = tuple[int, ...]
"""The replicates that take the place of the paper's runs."""


class MeanChange(NamedTuple):
    """The mean of some published changes, compared with that of our runs."""

    table: str
    group: str
    """The lines that are averaged, as "webs: 8"."""
    numbers: int
    published: float
    measured: float
    low: float
    high: float
    """The 95 % range of such means if the paper's runs were like ours."""
    unit: str

    @property
    def compatible(self) -> bool:
        """Whether the published mean lies between `low` and `high`."""
        return self.low <= self.published <= self.high

    @property
    def text(self) -> str:
        """The comparison as a line of a report."""
        unit = f" {self.unit}" if self.unit else ""
        verdict = "compatible" if self.compatible else "incompatible"
        return (
            f"{self.table}, {self.group}: published mean change {self.published:.3g}{unit}, our runs "
            f"{self.measured:.3g} ({self.low:.3g} … {self.high:.3g}): {verdict}"
        )


class JointTest(NamedTuple):
    """The test of all means of changes together."""

    means: tuple[MeanChange, ...]
    p: float
    """Share of draws whose means are at least as far from ours as the published means."""

    @property
    def text(self) -> str:
        """The result as a line below those of the means."""
        apart = sum(not mean.compatible for mean in self.means)
        chance = f"p < {2 / (DRAWS + 1):.1g}" if self.p < 2 / (DRAWS + 1) else f"p = {self.p:.2g}"
        are = "is" if apart == 1 else "are"
        return (
            f"Of {len(self.means)} means of changes, {apart or 'none'} {are} incompatible; jointly {chance}."
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the means, and the line of the joint test."""
        return (*(mean.text for mean in self.means), self.text)


class _Play(NamedTuple):
    """One number in one draw."""

    value: float
    """The value from the runs that take the paper's place."""
    left: float
    """The value from the remaining runs."""
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _Number:
    """A published number that can be computed from draws."""

    asked: Asked
    cells: tuple[str, str | None]
    own: Sample
    base: Sample | None
    rounding: float
    counts: bool
    published: float
    measured: float
    known: dict[tuple[Taken, Taken], _Play] = field(default_factory=dict)

    def play(self, own: Sequence[int], base: Sequence[int] = ()) -> _Play:
        """The number with these replicates in the paper's place, in the order in which they are drawn."""
        runs = self._runs()
        mine, theirs = tuple(sorted(own[:runs])), tuple(sorted(base[:runs]))
        if (mine, theirs) not in self.known:
            self.known[mine, theirs] = self._compute(mine, theirs, runs)
        return self.known[mine, theirs]

    def _runs(self) -> int:
        """The number of runs that the paper averaged, but at most half of ours."""
        n = min(len(one.runs) for one in (self.own, self.base) if one is not None and not one.exact)
        return max(1, min(self.asked.runs, n // 2))

    def _compute(self, mine: Taken, theirs: Taken, runs: int) -> _Play:
        asked = self.asked._replace(runs=runs)
        own, drawn = _divide(self.own, mine)
        base, played = (None, None) if self.base is None else _divide(self.base, theirs)
        further = predict(asked, own, base, fewest=FEWEST_LEFT)
        return _Play(asked.value(drawn, played), asked.value(own, base), further.low, further.high)


def _divide(sample: Sample, taken: Taken) -> tuple[Sample, Sample]:
    """The remaining replicates and those taken; a cell without randomness gives its value to both."""
    if sample.exact:
        return sample, sample
    left = sample.runs.copy()
    left[list(taken)] = np.nan
    return replace(sample, runs=left), replace(sample, runs=sample.runs[list(taken)])


@dataclass(frozen=True, eq=False)
class PlayedPaper:
    """The published numbers of these tables, and their distribution if the paper's runs were like ours."""

    tables: Sequence[JudgedTable]
    results: Results

    @cached_property
    def _numbers(self) -> dict[tuple[str, tuple[object, ...], int], _Number]:
        """The numbers by table, row and column."""
        found: dict[tuple[str, tuple[object, ...], int], _Number] = {}
        cells = {cell.id: cell for cell in self.results.cells}
        for table in self.tables:
            for cell in table.numbers:
                if cell.judgement is not None and cell.published is not None and not cell.judgement.marked:
                    if cell.cell in cells and cell.judgement.compatible is not None:
                        number = self._number(table, cell, cells[cell.cell])
                        if not number.own.exact and len(number.own.runs) - number._runs() >= FEWEST_LEFT:
                            found[table.id, cell.row, cell.column] = number
        return found

    def _number(self, table: JudgedTable, cell: JudgedCell, info: CellInfo) -> _Number:
        column = table.column(cell)
        own, base = find_samples(self.results, info, column)
        other = reference(self.results, info, column.compare).id if column.compare is not None else None
        assert cell.published is not None and cell.judgement is not None and cell.estimate is not None
        return _Number(
            make_asked(table.spec, column, self.results),
            (cell.cell, other),
            own,
            base,
            cell.published.rounding,
            cell.judgement.counts,
            cell.published.value,
            cell.estimate.value,
        )

    def _orders(self) -> dict[str, list[list[int]]]:
        """For each cell and draw, the order in which its replicates are taken.

        Each cell has its own random numbers, so that its draws do not depend on what else was run.
        """
        length: dict[str, int] = {}
        for number in self._numbers.values():
            for cell, sample in zip(number.cells, (number.own, number.base), strict=True):
                if cell is not None and sample is not None:
                    length[cell] = max(length.get(cell, 0), len(sample.runs))
        if self.results.labels.source_paired:
            random = _random("")
            orders = [random.permutation(max(length.values(), default=0)) for _ in range(DRAWS)]
            return {cell: [order[order < n].tolist() for order in orders] for cell, n in length.items()}
        found = {}
        for cell, n in length.items():
            random = _random(cell)
            found[cell] = [random.permutation(n).tolist() for _ in range(DRAWS)]
        return found

    @cached_property
    def _played(self) -> tuple[Floats, Floats, Floats]:
        """Draws × numbers: the drawn values, those of the remaining runs, and 1 for each incompatibility."""
        shape = (DRAWS, len(self._numbers))
        printed, left, apart = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        orders = self._orders()
        for k, (key, number) in enumerate(self._numbers.items()):
            taken = zip(*(orders[cell] for cell in number.cells if cell is not None), strict=True)
            plays = np.array([number.play(*one) for one in taken]).reshape(-1, 4)
            printed[:, k] = plays[:, 0] + _random(repr(key)).uniform(-1.0, 1.0, DRAWS) * number.rounding
            left[:, k] = plays[:, 1]
            slack = number.rounding + 1e-9 * np.maximum(1.0, np.abs(printed[:, k]))
            apart[:, k] = (printed[:, k] < plays[:, 2] - slack) | (printed[:, k] > plays[:, 3] + slack)
        return printed, left, apart

    @cached_property
    def incompatible(self) -> Incompatible | None:
        """How many counted numbers (`Judgement.counts`) are incompatible, and the range in the draws."""
        judgements = [
            cell.judgement for table in self.tables for cell in table.numbers if cell.judgement is not None
        ]
        compatible = [bool(judgement.compatible) for judgement in judgements if judgement.counts]
        if not compatible:
            return None
        counting = [number.counts for number in self._numbers.values()]
        counts = self._played[2][:, counting].sum(axis=1)
        low, high = _ends(counts, "inverted_cdf")
        found = compatible.count(False)
        if (
            min((len(number.own.runs) for number in self._numbers.values() if number.counts), default=0)
            < FEWEST_DRAWN
        ):
            n, miss = len(compatible), 1.0 - LEVEL
            most = next(k for k in range(n + 1) if binomial_cdf(k, n, miss) >= 1.0 - miss / 2.0)
            low, high = 0.0, max(high, float(most))
        return Incompatible(len(compatible), found, float(np.mean(counts)), round(low), round(high))

    @cached_property
    def joint(self) -> JointTest | None:
        """A joint test of the published mean changes that tables request by `mean_changes_by`.

        None if no table requests any, or no number qualifies.
        """
        if not any(table.spec.mean_changes_by is not None for table in self.tables):
            return None
        groups: dict[tuple[str, str], list[int]] = {}
        places = {key: place for place, key in enumerate(self._numbers)}
        units = {}
        for table in self.tables:
            by = table.spec.mean_changes_by
            for cell in table.numbers if by is not None else ():
                key = (table.id, cell.row, cell.column)
                if by is None or key not in places or table.column(cell).compare is None:
                    continue
                at = dict(zip(table.spec.rows, cell.row, strict=True))
                group = (
                    table.id,
                    self.results.labels.settings({axis: at[axis] for axis in by}) or "all lines",
                )
                groups.setdefault(group, []).append(places[key])
                units[group] = cell.estimate.unit if cell.estimate is not None else ""
        if not groups:
            return None
        printed, left, _ = self._played
        numbers = list(self._numbers.values())
        means, distances, own = [], np.zeros(DRAWS), 0.0
        for (table_id, name), members in groups.items():
            apart = printed[:, members].mean(axis=1) - left[:, members].mean(axis=1)
            published = float(np.mean([numbers[place].published for place in members]))
            measured = float(np.mean([numbers[place].measured for place in members]))
            low, high = (measured + end for end in _ends(apart))
            unit = units[table_id, name]
            means.append(MeanChange(table_id, name, len(members), published, measured, low, high, unit))
            scale = float(np.std(apart)) or 1.0
            distances += (apart / scale) ** 2
            own += ((published - measured) / scale) ** 2
        p = (1 + int(np.count_nonzero(distances >= own))) / (DRAWS + 1)
        return JointTest(tuple(means), p)

    @property
    def mean_lines(self) -> tuple[str, ...]:
        """The means of changes as lines of text; empty without any."""
        return self.joint.lines if self.joint is not None else ()

    @property
    def mean_changes(self) -> Mapping[str, object] | None:
        """The means of changes for JSON; None without any."""
        if self.joint is None:
            return None
        means = [{**mean._asdict(), "compatible": mean.compatible} for mean in self.joint.means]
        return {"p": self.joint.p, "means": means}


def read_mean_lines(mean_changes: Mapping[str, Any]) -> tuple[str, ...]:
    """`PlayedPaper.mean_lines` from the data of `mean_changes`; empty if it is invalid."""
    try:
        means = [{key: mean[key] for key in MeanChange._fields} for mean in mean_changes["means"]]
        return JointTest(tuple(MeanChange(**mean) for mean in means), float(mean_changes["p"])).lines
    except (KeyError, TypeError, ValueError):
        return ()


def _random(name: str) -> np.random.Generator:
    """A random generator whose seed depends on a name."""
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def _ends(drawn: Floats, method: Literal["linear", "inverted_cdf"] = "linear") -> tuple[float, float]:
    """The 95 % range of the draws."""
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.nanpercentile(drawn, [tail, 100.0 - tail], method=method)
    return float(low), float(high)
