"""The values measured in a study's runs: the only input of statistics and reports."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.errors import NotFoundError
from cwndlab.base.numbers import Columns, Floats
from cwndlab.study.cells import CellInfo, Cells
from cwndlab.study.labels import Labels, QuantityInfo
from cwndlab.study.outputs import Scalar
from cwndlab.study.study_spec import StudySpec

from .intervals import Interval
from .sample import Sample, Streams

Value: TypeAlias = float | Sequence[float]
"""One replicate's value of a quantity: a number, or one number per object (page, packet, …)."""


class Estimate(NamedTuple):
    """A quantity of a cell over the replicates, with its 95 % interval (NaN ends: no interval)."""

    cell: str
    quantity: str
    unit: str
    value: float
    ci_low: float
    ci_high: float
    replicates: int
    method: str
    warning: str = ""
    """Why the coverage may be below 95 %, or which connections failed; "" without a warning."""

    @classmethod
    def from_interval(cls, cell: str, quantity: str, unit: str, interval: Interval) -> Estimate:
        """The estimate of a cell's quantity, with the values of an interval."""
        i = interval
        return cls(cell, quantity, unit, i.value, i.low, i.high, i.n, i.method, i.warning)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return self.method
        shown = f"{self.value:.4g} {self.unit if self.unit != '1' else ''}".rstrip()
        return shown + (f" [{self.ci_low:.4g}, {self.ci_high:.4g}]" if self.ci_low < self.ci_high else "")

    @property
    def interval(self) -> Interval:
        """The value and its interval, without cell, quantity and unit."""
        return Interval(*self[3:])


class CellRecords:
    """The records of each cell's replicate 0, read without starting a run. The base class has none."""

    def table(self, cell: str, name: str) -> Columns:
        """The columns of a record table of a cell; NotFoundError if it was not recorded."""
        raise NotFoundError(f"no table {name!r} was recorded for cell {cell!r}")

    def links(self, cell: str) -> Sequence[str]:
        """The names of a cell's links, in the order of the numbers in `link` columns."""
        return ()

    def average_unit(self, cell: str, link: int) -> str:
        """The unit of RED's average at a link: "packets" or "bytes"."""
        return "packets"


@dataclass(frozen=True, eq=False, repr=False)
class Results(Cells):
    """Values per cell, quantity and replicate, and the records of replicate 0; `labels` are the study's.

    `data[(cell id, quantity)]` holds one entry per replicate, in replicate order: a number (NaN = not
    measurable in this run) or a list of numbers. They are copied and cannot be changed.
    `deterministic` has the cells in which nothing is random, so that one replicate suffices; equal replicates
    are no proof of that. `seeds` has the seeds of random cells with a seed of their own: cells with the same
    seed used the same random numbers in replicate k.
    `remarks` and `failed` have notes by cell: what a reader of its numbers must know, and which connections
    of its runs failed, and why.
    `replays[(cell id, what)]` has the columns that figures show of replicate 0, simulated again: time budgets
    of a kind of objects, or flows over time; or a text that says why there are none.
    `answer_s`: a segment sent at most this many seconds after another arrived counts as its answer. It is 0
    in the simulator; real stacks take longer.
    """

    data: Mapping[tuple[str, str], Sequence[Value]] = field(default_factory=dict)
    deterministic: Collection[str] = frozenset()
    seeds: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    replays: Mapping[tuple[str, str], Columns | str] = field(default_factory=dict)
    records: CellRecords = field(default_factory=CellRecords)
    answer_s: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.data, MappingProxyType):
            own = {key: tuple(map(_frozen, values)) for key, values in self.data.items()}
            object.__setattr__(self, "data", MappingProxyType(own))

    def is_list(self, quantity: str) -> bool:
        """Whether the quantity is a list of numbers per run."""
        for cell in self.cells:
            for value in self.data.get((cell.id, quantity), ()):
                return not isinstance(value, int | float | np.floating | np.integer)
        return False

    def values(self, cell_id: str, quantity: str) -> Floats:
        """One value per replicate; NaN for a replicate in which the quantity could not be measured."""
        return np.asarray(self.data.get((cell_id, quantity), ()), dtype=np.float64)

    def samples(self, cell_id: str, quantity: str) -> list[Floats]:
        """The per-object samples of a list quantity, one array per replicate."""
        return [np.asarray(v, dtype=np.float64).ravel() for v in self.data.get((cell_id, quantity), ())]

    def matrix(self, cell_id: str, quantity: str) -> Floats:
        """A list quantity as an array of replicates × positions, NaN beyond the end of a replicate's list."""
        samples = self.samples(cell_id, quantity)
        matrix = np.full((len(samples), max((len(s) for s in samples), default=0)), np.nan)
        for row, sample in zip(matrix, samples, strict=True):
            row[: len(sample)] = sample
        return matrix

    def sample(self, cell_id: str, quantity: str) -> Sample:
        """The sample of a cell's quantity, with its control variates; computed once."""
        if (sample := self._samples.get((cell_id, quantity))) is None:
            sample = self._sample(cell_id, quantity, self.values(cell_id, quantity))
            info = self.labels.quantities.get(quantity)
            if info is not None and info.controls:
                sample = replace(
                    sample, controls=tuple(self.values(cell_id, control) for control in info.controls)
                )
            self._samples[cell_id, quantity] = sample
        return sample

    def positions(
        self, cell_id: str, quantity: str, wanted: Iterable[int] | None = None
    ) -> dict[int, Sample]:
        """For each position (`wanted`, or all) of a list quantity, its sample; NaN beyond a list's end."""
        matrix = self.matrix(cell_id, quantity)
        runs, longest = matrix.shape
        return {
            i: self._sample(cell_id, quantity, matrix[:, i] if i < longest else np.full(runs, np.nan))
            for i in (range(longest) if wanted is None else wanted)
        }

    def _sample(self, cell_id: str, quantity: str, runs: Floats) -> Sample:
        info = self.labels.quantities.get(quantity, QuantityInfo())
        exact = cell_id in self.deterministic
        streams = Streams("exact") if exact else Streams("paired", self.seeds.get(cell_id, ""))
        warning = self.failed.get(cell_id, "")
        return Sample(runs, info.unit, info.range, info.statistic, streams, warning=warning)

    @cached_property
    def _samples(self) -> dict[tuple[str, str], Sample]:
        return {}

    def estimate(self, cell_id: str, quantity: str) -> Interval:
        """The estimate of a cell's quantity over the replicates, with its interval."""
        return self.sample(cell_id, quantity).estimate()

    def restrict(self, cells: Sequence[CellInfo]) -> Results:
        """The results of these cells only; shares the samples computed so far."""
        restricted = replace(self, cells=tuple(cells))
        restricted.__dict__["_samples"] = self._samples
        return restricted


def _frozen(value: Value) -> Value:
    return value if isinstance(value, int | float | np.number) else tuple(value)


class Variation(NamedTuple):
    """The study's results with one value of one sensitivity axis."""

    axis: str
    value: str
    results: Results
    combined: bool = False
    """Whether several sensitivity axes were varied together."""
    cells: frozenset[str] = frozenset()
    """The cells run with that value; the other cells have the study's own results."""
    runs: Mapping[str, str] = MappingProxyType({})
    """For each cell, the id of the planned cell whose runs the variation shows."""


class _EmptyRecords(CellRecords):
    """Records whose tables have no rows."""

    def table(self, cell: str, name: str) -> Columns:
        """The columns of a record table, without rows."""
        kinds = {"time_ns": np.uint64, "event": np.str_, "segment": np.int64, "connection": np.uint32}
        return {column: np.array([], dtype=kind) for column, kind in kinds.items()}


def unmeasured_results(study: StudySpec, cells: Mapping[str, Mapping[str, Scalar]]) -> Results:
    """Results with these cells (id -> axes) and every quantity of the study, unmeasured."""
    labels = Labels.from_outline(study.outline)
    data: dict[tuple[str, str], Sequence[Value]] = {
        (cell, name): [[]] if info.many else [math.nan]
        for cell in cells
        for name, info in labels.quantities.items()
    }
    shown = tuple(CellInfo(name, dict(axes)) for name, axes in cells.items())
    return Results(shown, labels, data, deterministic=cells.keys(), records=_EmptyRecords())
