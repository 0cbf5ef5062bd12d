"""The plan of a study: its cells, compiled, and how many replicates of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cwndlab.core import core
from cwndlab.errors import StudyError, nearest

from . import schema
from .compile import Compiled
from .expr import evaluate
from .load import GRID, CompiledCell, Study, same
from .refusals import core_error
from .resolve import Names

#: A sweep of more cells is refused before anything is expanded.
MAX_CELLS = 100_000
#: And of more runs.
MAX_RUNS = 20_000_000


@dataclass(frozen=True)
class Cell:
    """One combination of axis values."""

    id: str
    axes: Mapping[str, schema.Scalar]
    study: Study = field(repr=False, compare=False)
    #: The sensitivity axis this cell belongs to; its value is in `axes` too.
    sensitivity: str | None = None

    @cached_property
    def _built(self) -> CompiledCell:
        return self.study.compiled(self.axes, self.sensitivity)

    @property
    def compiled(self) -> Compiled:
        """The cell's scenario with the origins of its parts."""
        return self._built.compiled

    @property
    def warmup_ns(self) -> int:
        """How much of the run's beginning the metrics over a window leave out."""
        return self._built.model.run.warmup

    @property
    def replicates(self) -> int:
        """How often the study runs it: `run.replicates`, which an axis may set."""
        return self._built.model.run.replicates

    @cached_property
    def scenario(self) -> str:
        """The scenario as JSON, as the core takes it."""
        return self.compiled.json

    @property
    def deterministic(self) -> bool:
        """Whether nothing in the cell is random."""
        return self.compiled.deterministic

    def check(self) -> None:
        """StudyError if the cell does not compile or the core refuses its scenario."""
        text = self.scenario
        try:
            core().check_scenario(text)
        except ValueError as error:
            raise self.study.refused(core_error(self.compiled, text, str(error)), self) from None


@dataclass(frozen=True)
class Plan:
    """All cells of a study and the replicates of each."""

    study: Study = field(repr=False)
    cells: tuple[Cell, ...]
    seed: int
    #: Replicates of every cell, in place of the study's own.
    replicates: int | None = None

    @property
    def runs(self) -> int:
        """Runs in all, without what sequential stopping adds. A cell with nothing random runs once."""
        return sum(self.replicates_of(cell) for cell in self.cells)

    def replicates_of(self, cell: Cell) -> int:
        """Replicates of a cell; one is all where nothing is random."""
        return 1 if cell.deterministic else self.asked_of(cell)

    def asked_of(self, cell: Cell) -> int:
        """Replicates of a cell if something in it is random, as on the kernel something always is."""
        return self.replicates or cell.replicates

    def check(self) -> None:
        """StudyError for the first cell that the engine could not run."""
        for cell in self.cells:
            cell.check()


def make_plan(
    study: Study, *, replicates: int | None = None, seed: int | None = None, sensitivity: str | None = None
) -> Plan:
    """Expands a study's grids, after counting them.

    `sensitivity` names an axis of [sensitivity], or is "all"; its cells come after the others.
    """
    run = study.base.run
    if replicates is not None and replicates < 1:
        raise StudyError(f"{replicates} replicates measure nothing", key="--replicates", right="at least 1")
    names = _sensitivity_axes(study, sensitivity)
    total, where = _count(study, names)
    if total > MAX_CELLS:
        error = StudyError(
            f"the sweep has {total:,} cells ({where})",
            right=f"at most {MAX_CELLS:,}; leave out values, make several smaller [[grids]], or zip axes",
        )
        raise study.place.locate(error, ("grids",) if study.outline.grids else ("axes",))
    each = replicates or run.replicates
    if total * each > MAX_RUNS:
        error = StudyError(
            f"{total:,} cells of {each:,} replicates are too many runs", right=f"at most {MAX_RUNS:,}"
        )
        raise study.place.locate(error, ("run", "replicates"))
    cells: dict[str, Cell] = {}
    for axes in _expand(study):
        cell = Cell(cell_id(axes), axes, study)
        cells.setdefault(cell.id, cell)
    if not cells:
        raise study.place.locate(
            StudyError("no cell is left", right="no combination fulfils `when`"), ("grids",)
        )
    for name in names:
        for cell in list(cells.values()):
            if cell.sensitivity is None and _selected(cell.axes, study.outline.sensitivity[name].where):
                for value in study.outline.sensitivity[name].names:
                    axes = {**cell.axes, name: value}
                    made = Cell(cell_id(axes), axes, study, sensitivity=name)
                    cells[made.id] = made
    return Plan(study, tuple(cells.values()), run.seed if seed is None else seed, replicates)


def cell_id(axes: Mapping[str, schema.Scalar]) -> str:
    """The name of a cell: "variant=tahoe,iw=4", or "base" without axes."""
    return ",".join(f"{name}={value_text(value)}" for name, value in axes.items()) or "base"


def value_text(value: schema.Scalar) -> str:
    """An axis value as text; true and false as TOML has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _selected(axes: Mapping[str, schema.Scalar], where: schema.Where) -> bool:
    for name, wanted in where.items():
        choices = wanted if isinstance(wanted, list) else [wanted]
        if name not in axes or not any(value_text(axes[name]) == value_text(choice) for choice in choices):
            return False
    return True


def _sensitivity_axes(study: Study, wanted: str | None) -> list[str]:
    known = study.outline.sensitivity
    if wanted is None:
        return []
    if not known:
        raise StudyError(
            "the study has no sensitivity axes", key="--sensitivity", right="give it [sensitivity]"
        )
    if wanted == "all":
        return list(known)
    if wanted not in known:
        raise StudyError(
            f'there is no sensitivity axis "{wanted}"',
            key="--sensitivity",
            right=nearest(wanted, [*known, "all"]),
        )
    return [wanted]


def _grids(study: Study) -> Sequence[schema.Grid]:
    grids = study.outline.grids or [schema.Grid(axes=list(study.outline.axes))]
    if GRID in study.chosen and GRID not in study.outline.axes:
        grids = [grid for grid in grids if grid.name in study.chosen[GRID]]
    return grids


def _values(study: Study, axis: str, grid: schema.Grid) -> list[schema.Scalar]:
    """The values of an axis that the grid and --set leave."""
    values = list(study.outline.axes[axis].names)
    if axis in grid.restrict:
        values = [v for v in values if any(value_text(v) == value_text(w) for w in grid.restrict[axis])]
    if axis in study.chosen:
        extra = [
            v for v in study.chosen[axis] if axis in grid.restrict and v not in study.outline.axes[axis].names
        ]
        values = [v for v in values if any(same(v, w) for w in study.chosen[axis])] + extra
    return values


def _loops(study: Study, grid: schema.Grid) -> list[tuple[list[str], list[tuple[schema.Scalar, ...]]]]:
    """The nested loops of a grid: one axis each, or a zipped group."""
    zipped = {axis for group in grid.zip for axis in group}
    loops: list[tuple[list[str], list[tuple[schema.Scalar, ...]]]] = []
    for group in grid.zip:
        columns = [list(study.outline.axes[axis].names) for axis in group]
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f"{axis} {len(c)}" for axis, c in zip(group, columns, strict=True))
            raise study.place.locate(
                StudyError(f"zipped axes must have equally many values: {lengths}"),
                ("grids", _index(study, grid), "zip"),
            )
        left = [set(map(value_text, _values(study, axis, grid))) for axis in group]
        rows = [
            row
            for row in zip(*columns, strict=True)
            if all(value_text(value) in kept for value, kept in zip(row, left, strict=True))
        ]
        loops.append((list(group), rows))
    for axis in grid.axes:
        if axis not in zipped:
            loops.append(([axis], [(value,) for value in _values(study, axis, grid)]))
    return loops


def _index(study: Study, grid: schema.Grid) -> int:
    return next((i for i, known in enumerate(study.outline.grids) if known is grid), 0)


def _count(study: Study, sensitivity: Sequence[str]) -> tuple[int, str]:
    """Cells before conditions, without expanding anything, and how they come about."""
    total, parts = 0, []
    for grid in _grids(study):
        if grid.cells:
            total += len(grid.cells)
            parts.append(f"{len(grid.cells)} listed")
            continue
        lengths = [len(rows) for _, rows in _loops(study, grid)]
        total += math.prod(lengths)
        parts.append(" × ".join(f"{length:,}" for length in lengths) or "1")
    # One sensitivity axis at a time, each at most around every cell.
    total += total * sum(len(study.outline.sensitivity[name].values) for name in sensitivity)
    return total, " + ".join(parts)


def _expand(study: Study) -> Iterator[dict[str, schema.Scalar]]:
    order = list(study.outline.axes)
    for grid in _grids(study):
        if grid.cells:
            for listed in grid.cells:
                axes = {name: _canonical(study, name, listed[name]) for name in order if name in listed}
                if _chosen(study, axes):
                    yield axes
            continue
        loops = _loops(study, grid)
        for combination in itertools.product(*(rows for _, rows in loops)):
            values = {
                axis: value
                for (group, _), row in zip(loops, combination, strict=True)
                for axis, value in zip(group, row, strict=True)
            }
            for axis, value in grid.fix.items():
                values[axis] = _canonical(study, axis, value)
            axes = {name: values[name] for name in order if name in values}
            if _chosen(study, axes) and (grid.when is None or _fulfils(study, grid, axes)):
                yield axes


def _canonical(study: Study, axis: str, value: schema.Scalar) -> schema.Scalar:
    """The axis's own value that this one names."""
    return next((v for v in study.outline.axes[axis].names if value_text(v) == value_text(value)), value)


def _chosen(study: Study, axes: Mapping[str, schema.Scalar]) -> bool:
    return all(
        any(same(axes[name], v) for v in values) for name, values in study.chosen.items() if name in axes
    )


def _fulfils(study: Study, grid: schema.Grid, axes: Mapping[str, schema.Scalar]) -> bool:
    try:
        return bool(evaluate(str(grid.when), Names(study.outline.parameters, axes)))
    except StudyError as error:
        raise study.place.locate(error, ("grids", _index(study, grid), "when")) from None
