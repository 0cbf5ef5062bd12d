"""What the runs of a study gave: the one input of statistics and report."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab import metrics
from cwndlab.base.errors import NotFoundError, StudyError, nearest
from cwndlab.base.numbers import ANY, Floats, Range
from cwndlab.base.writing import with_unit
from cwndlab.study import schema
from cwndlab.study.values import as_list, label, same_value, text

from .cell_index import CellIndex
from .intervals import Interval
from .sample import Sample, Streams

if TYPE_CHECKING:
    from cwndlab.study.outputs import Margin
    from cwndlab.study.schema import Outline

AxisValue: TypeAlias = bool | int | float | str
Columns: TypeAlias = Mapping[str, NDArray[Any]]
"""A record table as numpy columns, the unit in the column's name; text columns are object or str arrays."""
Value: TypeAlias = float | Sequence[float]
"""One replicate's value of a quantity: a number, or one number per object (page, packet, …)."""


def is_name(value: AxisValue) -> bool:
    """Whether a value is a name, which has no order, and not a number or a number with its unit."""
    return isinstance(value, str) and not value[:1].isdigit()


class CellInfo(NamedTuple):
    """A cell of the study's grid: one combination of axis values."""

    id: str
    axes: Mapping[str, AxisValue]


class Estimate(NamedTuple):
    """A quantity of a cell over the replicates, with its 95 % interval (NaN ends: none can be given)."""

    cell: str
    quantity: str
    unit: str
    value: float
    ci_low: float
    ci_high: float
    replicates: int
    method: str
    warning: str = ""
    """Why the interval may cover the truth less often than it says, or which connections failed."""

    @classmethod
    def of_interval(cls, cell: str, quantity: str, unit: str, interval: Interval) -> Estimate:
        """Names an interval."""
        i = interval
        return cls(cell, quantity, unit, i.value, i.low, i.high, i.n, i.method, i.warning)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return self.method
        shown = f"{self.value:.4g} {self.unit if self.unit != '1' else ''}".rstrip()
        return shown + (f" [{self.ci_low:.4g}, {self.ci_high:.4g}]" if self.ci_low < self.ci_high else "")

    @property
    def interval(self) -> Interval:
        """Without the name."""
        return Interval(*self[3:])


class NotRunError(StudyError):
    """The requested cell is not among the results."""


def was_not_run(error: BaseException | None) -> bool:
    """Whether an error, or one from which it was made, is that a cell is not among the results."""
    while error is not None and not isinstance(error, NotRunError):
        error = error.__cause__ or error.__context__
    return error is not None


class CellRecords(Protocol):
    """The records that were kept of each cell's replicate 0. Reading them runs nothing."""

    def table(self, cell: str, name: str) -> Columns:
        """The columns of a record table; NotFoundError if its probe was off."""

    def links(self, cell: str) -> Sequence[str]:
        """The names of the links that `link` columns number."""

    def average_unit(self, cell: str, link: int) -> str:
        """The unit of RED's average at a link: "packets" or "bytes"."""


class NoRecords:
    """The records of results without any (`CellRecords`)."""

    def table(self, cell: str, name: str) -> Columns:
        """Raises NotFoundError."""
        raise NotFoundError(f"no table {name!r} was recorded for cell {cell!r}")

    def links(self, cell: str) -> Sequence[str]:
        """None."""
        return ()

    def average_unit(self, cell: str, link: int) -> str:
        """Packets."""
        return "packets"


class RunValues(Mapping[tuple[str, str], Sequence[Value]]):
    """Values by cell and quantity that cannot be changed any more."""

    def __init__(self, data: Mapping[tuple[str, str], Sequence[Value]]) -> None:
        self._data = {key: tuple(map(_frozen, values)) for key, values in data.items()}

    def __getitem__(self, key: tuple[str, str]) -> Sequence[Value]:
        return self._data[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


def _frozen(value: Value) -> Value:
    return value if isinstance(value, int | float | np.number) else tuple(value)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Values per cell, quantity and replicate, what they are called, and the records of replicate 0.

    `data[(cell id, quantity)]` holds one entry per replicate, in replicate order: a number (NaN = not
    measurable in this run) or a list of numbers. They are copied and cannot be changed.
    `statistics` says over replicates `mean` (the default) or `median`; `names` are named cells;
    `titles` say in words what an axis or a quantity is, `axis_units` in which unit an axis is, and
    `value_titles` what the value of an axis with this label is called; `ranges` which values a quantity can
    take; `margins` how near to a published value counts as close, for quantities whose study says so.
    `adjustments` names, for quantities whose means are freed of what the runs drew, the controls; `centred`
    are the quantities whose expectation is 0.
    `deterministic` has the cells in which nothing is random, so that one replicate suffices; equal replicates
    alone are no proof of it. `seeds` has the seed of each other cell's runs: cells with the same seed saw the
    same random numbers in replicate k; a cell that is not named has that of the study.
    `remarks` says what a reader of a cell's numbers must know, if anything; `failed` which connections of a
    cell's runs failed, and why.
    `budgets[(cell id, kind of objects)]` is where the time of those objects went in replicate 0, for the
    figures that show it, or why that is unknown.
    `study_axes` are all axes of the study; a run may be restricted to cells that lack some.
    `flows` are the study's traffic entries: in a report each has one colour.
    `answer_s`: a segment sent so soon after another arrived is its answer; a real stack takes a while.
    """

    cells: tuple[CellInfo, ...]
    units: Mapping[str, str]
    data: Mapping[tuple[str, str], Sequence[Value]]
    statistics: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, AxisValue]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    axis_units: Mapping[str, str] = field(default_factory=dict)
    value_titles: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    margins: Mapping[str, Margin] = field(default_factory=dict)
    adjustments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    centred: Collection[str] = frozenset()
    deterministic: Collection[str] = frozenset()
    seeds: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[tuple[str, str], Columns | str] = field(default_factory=dict)
    records: CellRecords = field(default_factory=NoRecords)
    study_axes: Collection[str] = ()
    answer_s: float = 0.0
    flows: Sequence[str] = ()
    source_paired: bool = False
    """Whether the source's cells shared their random numbers, run by run."""

    def __post_init__(self) -> None:
        if not isinstance(self.data, RunValues):
            object.__setattr__(self, "data", RunValues(self.data))

    @cached_property
    def axes(self) -> dict[str, list[AxisValue]]:
        """Every axis with its values, in the order of the cells."""
        seen: dict[str, dict[str, AxisValue]] = {}
        for cell in self.cells:
            for name, value in cell.axes.items():
                seen.setdefault(name, {}).setdefault(label(value), value)
        return {name: list(values.values()) for name, values in seen.items()}

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """Where each cell is on each of its axes, counted in the axis's values."""
        known = {axis: {label(v): k for k, v in enumerate(values)} for axis, values in self.axes.items()}
        return {
            cell.id: {axis: known[axis][label(value)] for axis, value in cell.axes.items()}
            for cell in self.cells
        }

    def axis_value(self, axis: str, text: str) -> AxisValue:
        """The axis's value that a published file writes so; the text where no cell has one."""
        return next((value for value in self.axes.get(axis, ()) if same_value(value, text)), text)

    def unit(self, quantity: str) -> str:
        """The quantity's unit; StudyError when the study has no such quantity."""
        if quantity not in self.units:
            raise StudyError(f"no quantity {quantity!r}", right=nearest(quantity, self.units))
        return self.units[quantity]

    def title(self, name: str) -> str:
        """What an axis or a quantity is called, an axis with its unit."""
        unit = self.axis_units.get(name)
        return with_unit(self._title(name), unit or "")

    def _title(self, name: str) -> str:
        return self.titles.get(name) or name.replace("_", " ")

    def value_title(self, axis: str, value: AxisValue) -> str:
        """What a value of an axis is called, without its unit."""
        return self.value_titles.get((axis, label(value))) or text(value)

    def setting(self, axis: str, *values: AxisValue) -> str:
        """An axis at some values in words: "round trip: 10 ms", "initial window: 1 and 2 packets"."""
        *before, title = (self.value_title(axis, value) for value in values)
        unit = self.axis_units.get(axis, "")
        if before:
            return f"{self._title(axis)}: {', '.join(before)} and {title} {unit}".rstrip()
        if title == "1":
            unit = re.sub(r"^([a-z]{3,})s$", r"\1", unit)
        return f"{self._title(axis)}: {title} {unit}".rstrip()

    def settings(self, axes: Mapping[str, AxisValue]) -> str:
        """Several axes at their values in words."""
        return ", ".join(self.setting(axis, value) for axis, value in axes.items())

    def cell_title(self, cell: CellInfo) -> str:
        """A cell in words, by the axes that vary; that of a study without axes is called "the only cell"."""
        varied = {axis: at for axis, at in cell.axes.items() if len(self.axes[axis]) > 1}
        return self.settings(varied or cell.axes) or "the only cell"

    def statistic(self, quantity: str) -> str:
        """How the quantity is summed up over replicates: `mean` or `median`."""
        return self.statistics.get(quantity, "mean")

    def range(self, quantity: str) -> Range:
        """Which values the quantity can take."""
        return self.ranges.get(quantity, ANY)

    def is_list(self, quantity: str) -> bool:
        """Whether the quantity is a list of numbers per run."""
        for cell in self.cells:
            for value in self.data.get((cell.id, quantity), ()):
                return not isinstance(value, int | float | np.floating | np.integer)
        return False

    def values(self, cell_id: str, quantity: str) -> Floats:
        """One value per replicate; NaN where it could not be measured."""
        return np.asarray(self.data.get((cell_id, quantity), ()), dtype=np.float64)

    def samples(self, cell_id: str, quantity: str) -> list[Floats]:
        """The per-object samples of a list quantity, one array per replicate."""
        return [np.asarray(v, dtype=np.float64).ravel() for v in self.data.get((cell_id, quantity), ())]

    def matrix(self, cell_id: str, quantity: str) -> Floats:
        """A list quantity as replicates × positions, NaN where a replicate's list is shorter."""
        samples = self.samples(cell_id, quantity)
        matrix = np.full((len(samples), max((len(s) for s in samples), default=0)), np.nan)
        for row, sample in zip(matrix, samples, strict=True):
            row[: len(sample)] = sample
        return matrix

    def sample(self, cell_id: str, quantity: str) -> Sample:
        """A quantity of a cell, to be estimated or compared; the same object each time."""
        if (known := self._samples.get((cell_id, quantity))) is None:
            controls = tuple(self.values(cell_id, name) for name in self.adjustments.get(quantity, ()))
            known = self._sample(cell_id, quantity, self.values(cell_id, quantity), controls)
            self._samples[cell_id, quantity] = known
        return known

    def positions(
        self, cell_id: str, quantity: str, wanted: Iterable[int] | None = None
    ) -> dict[int, Sample]:
        """The positions of a list quantity of a cell, those wanted or all; NaN where a list is shorter."""
        matrix = self.matrix(cell_id, quantity)
        runs, longest = matrix.shape
        return {
            i: self._sample(cell_id, quantity, matrix[:, i] if i < longest else np.full(runs, np.nan))
            for i in (range(longest) if wanted is None else wanted)
        }

    def _sample(self, cell_id: str, quantity: str, runs: Floats, controls: tuple[Floats, ...] = ()) -> Sample:
        exact = cell_id in self.deterministic
        return Sample(
            runs,
            self.units.get(quantity, ""),
            self.range(quantity),
            self.statistic(quantity),
            Streams("exact") if exact else Streams("paired", self.seeds.get(cell_id, "")),
            controls,
            self.failed.get(cell_id, ""),
        )

    @cached_property
    def _samples(self) -> dict[tuple[str, str], Sample]:
        return {}

    def estimate(self, cell_id: str, quantity: str) -> Interval:
        """A quantity of a cell over the replicates, with its interval."""
        return self.sample(cell_id, quantity).estimate()

    def select(self, where: Mapping[str, Any]) -> list[CellInfo]:
        """The cells whose axes have the wanted values (a list of values: any of them).

        An axis or a value that no cell has is a StudyError that says what would be right.
        """
        for axis, wanted in where.items():
            known = self.values_on(axis)
            for value in as_list(wanted):
                if not self._index.with_value(axis, label(value)):
                    values = [str(v) for v in known]
                    raise NotRunError(
                        f"axis {axis!r} has no value {value!r}", right=nearest(str(value), values)
                    )
        return self.cells_at(where)

    def values_on(self, axis: str) -> Sequence[AxisValue]:
        """The values of an axis; NotRunError if none of the study's cells that have it was run, StudyError if
        the study has no such axis.
        """
        if axis not in self.axes:
            error = NotRunError if axis in self.study_axes else StudyError
            raise error(f"no axis {axis!r}", right=nearest(axis, self.axes))
        return self.axes[axis]

    def cells_at(self, where: Mapping[str, Any]) -> list[CellInfo]:
        """The cells whose axes have the wanted values, none if there are none."""
        labels = {axis: {label(value) for value in as_list(wanted)} for axis, wanted in where.items()}
        if labels.keys() == self.axes.keys() and all(len(one) == 1 for one in labels.values()):
            found = self._index.at_all_axes((axis, value) for axis, one in labels.items() for value in one)
            return [self.cells[position] for position in found]
        groups = [
            [position for one in wanted for position in self._index.with_value(axis, one)]
            for axis, wanted in labels.items()
        ]
        cells = (
            self.cells[position] for position in sorted(min(groups, key=len, default=range(len(self.cells))))
        )
        return [
            cell
            for cell in cells
            if all(axis in cell.axes and label(cell.axes[axis]) in one for axis, one in labels.items())
        ]

    def with_ids(self, names: Iterable[str]) -> list[CellInfo]:
        """The cells of these names, those that there are."""
        return [self.cells[position] for position in self._index.with_names(names)]

    def value_with_label(self, axis: str, written: str) -> AxisValue | None:
        """The value of an axis that has this label (`spec.values.label`); None if no cell has it."""
        found = self._index.with_value(axis, written)
        return self.cells[found[0]].axes[axis] if found else None

    def restrict(self, cells: Sequence[CellInfo]) -> Results:
        """The same with these cells only; what is known of the values is not computed again."""
        made = replace(self, cells=tuple(cells))
        made.__dict__["_samples"] = self._samples
        return made

    @cached_property
    def _index(self) -> CellIndex:
        return CellIndex(self.cells)

    def find(self, where: Mapping[str, Any]) -> CellInfo | None:
        """The one cell at these axis values, None when it was not run.

        Among several the one that has no other axes; else a StudyError that names the axes to fix too.
        """
        cells = self.cells_at(where)
        if len(cells) > 1:
            exact = [c for c in cells if c.axes.keys() == where.keys()]
            if len(exact) != 1:
                more = dict.fromkeys(a for c in cells for a in c.axes if a not in where)
                chosen = ", ".join(f"{k}={v}" for k, v in where.items()) or "no axis fixed"
                raise StudyError(
                    f"{len(cells)} cells match ({chosen})",
                    right=f"fix {' and '.join(more)} too" if more else "fix each axis to one value",
                )
            return exact[0]
        return cells[0] if cells else None

    def only_cell(self, where: Mapping[str, Any]) -> CellInfo:
        """The one cell of a selection; StudyError when there is none or more than one."""
        cell = self.find(where)
        if cell is None:
            self.select(where)  # names the axis or the value that is wrong, if one is
            chosen = ", ".join(f"{k}={v}" for k, v in where.items())
            raise NotRunError(f"the study has no cell {chosen}")
        return cell


def results_of(
    outline: Outline,
    cells: Mapping[str, Mapping[str, AxisValue]],
    data: Mapping[tuple[str, str], Sequence[Value]],
    **more: Any,
) -> Results:
    """Results of a study: the values in these cells, what it calls them, and `more` fields of `Results`."""
    known = {quantity.name: quantity for quantity in outline.quantities}
    titled = known | outline.axes
    return Results(
        cells=tuple(CellInfo(name, dict(axes)) for name, axes in cells.items()),
        units={name: metrics.unit_of(quantity, known) for name, quantity in known.items()},
        data=data,
        statistics={name: quantity.statistic for name, quantity in known.items()},
        ranges={name: metrics.range_of(quantity, known) for name, quantity in known.items()},
        margins={name: quantity.margin for name, quantity in known.items() if quantity.margin},
        centred={name for name, quantity in known.items() if metrics.is_centred(quantity)},
        adjustments={name: quantity.adjust_for for name, quantity in known.items() if quantity.adjust_for},
        names=outline.cells,
        titles={name: one.title for name, one in titled.items() if one.title},
        axis_units={name: axis.unit for name, axis in outline.axes.items() if axis.unit},
        value_titles={
            (name, label(value.name)): value.title
            for name, axis in outline.axes.items()
            for value in axis.values
            if isinstance(value, schema.AxisValue) and value.title
        },
        study_axes=tuple(outline.axes),
        source_paired=outline.source is not None and outline.source.paired_runs,
        **more,
    )


class Variation(NamedTuple):
    """The results of the study with one value of one sensitivity axis."""

    axis: str
    value: str
    results: Results
    combined: bool = False
    """Whether it is a combination of several choices."""
    cells: frozenset[str] = frozenset()
    """The cells that were run with it; the results of the others are the study's own."""
    runs: Mapping[str, str] = MappingProxyType({})
    """The cell of the plan whose runs each cell shows."""
