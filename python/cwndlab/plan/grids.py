"""Expands the grids of a study: counts the cells, and yields the axis values of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from cwndlab.base.errors import StudyError
from cwndlab.study import schema
from cwndlab.study.choices import Wanted
from cwndlab.study.expr import evaluate
from cwndlab.study.resolve import Names
from cwndlab.study.schema import GRID
from cwndlab.study.study_spec import StudySpec
from cwndlab.study.values import is_among, label, same_value


def _grids(study: StudySpec) -> Sequence[schema.Grid]:
    grids = study.outline.grids or [schema.Grid.model_construct(axes=list(study.outline.axes))]
    chosen = study.document.chosen
    if GRID in chosen and GRID not in study.outline.axes:
        grids = [grid for grid in grids if grid.name in chosen[GRID]]
    return grids


def _values(study: StudySpec, axis: str, grid: schema.Grid) -> list[schema.Scalar]:
    """The values of an axis that the restrictions of the grid and of `set` allow."""
    values = list(study.outline.axes[axis].names)
    if (kept := grid.restricted_values(axis)) is not None:
        values = [v for v in values if is_among(v, kept)]
    if axis in study.document.chosen:
        values = [v for v in values if is_among(v, study.document.chosen[axis])]
    return values


def _loops(study: StudySpec, grid: schema.Grid) -> list[tuple[list[str], list[tuple[schema.Scalar, ...]]]]:
    """A grid's nested loops: for each, its axes (one, or a zipped group) and the rows of their values."""
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
        left = [set(map(label, _values(study, axis, grid))) for axis in group]
        rows = [
            row
            for row in zip(*columns, strict=True)
            if all(label(value) in kept for value, kept in zip(row, left, strict=True))
        ]
        loops.append((list(group), rows))
    for axis in grid.axes:
        if axis not in zipped:
            loops.append(([axis], [(value,) for value in _values(study, axis, grid)]))
    return loops


def _index(study: StudySpec, grid: schema.Grid) -> int:
    return next((i for i, other in enumerate(study.outline.grids) if other is grid), 0)


def count_cells(study: StudySpec, asked: Wanted) -> tuple[int, str]:
    """The number of cells, and its factors as text, without expanding grids or evaluating `when`."""
    total, parts = 0, []
    for grid in _grids(study):
        if grid.cells:
            total += len(grid.cells)
            parts.append(f"{len(grid.cells)} listed")
            continue
        lengths = [len(rows) for _, rows in _loops(study, grid)]
        total += math.prod(lengths)
        parts.append(" × ".join(f"{length:,}" for length in lengths) or "1")
    # Each sensitivity choice may apply to every cell.
    single = sum(len(study.outline.sensitivity[name].values) for name in asked.axes)
    total += total * (single + asked.variations)
    return total, " + ".join(parts)


def expand_grids(study: StudySpec) -> Iterator[tuple[dict[str, schema.Scalar], int | None]]:
    """Yields the axis values of each cell, and its grid's replicates (None: the study's number)."""
    order = list(study.outline.axes)
    for grid in _grids(study):
        if grid.cells:
            for listed in grid.cells:
                axes = {name: _canonical(study, name, listed[name]) for name in order if name in listed}
                if _chosen(study, axes):
                    yield axes, grid.replicates
            continue
        loops = _loops(study, grid)
        for combination in itertools.product(*(rows for _, rows in loops)):
            values = {
                axis: value
                for (group, _), row in zip(loops, combination, strict=True)
                for axis, value in zip(group, row, strict=True)
            }
            for axis, value in grid.held_axes.items():
                values[axis] = _canonical(study, axis, value)
            axes = {name: values[name] for name in order if name in values}
            if _chosen(study, axes) and (grid.when is None or _fulfils(study, grid, axes)):
                yield axes, grid.replicates


def _canonical(study: StudySpec, axis: str, value: schema.Scalar) -> schema.Scalar:
    """The axis's value that equals this value, as the axis defines it; else the value itself."""
    return next((v for v in study.outline.axes[axis].names if same_value(v, value)), value)


def _chosen(study: StudySpec, axes: Mapping[str, schema.Scalar]) -> bool:
    chosen = study.document.chosen.items()
    return all(is_among(axes[name], values) for name, values in chosen if name in axes)


def _fulfils(study: StudySpec, grid: schema.Grid, axes: Mapping[str, schema.Scalar]) -> bool:
    try:
        return bool(evaluate(str(grid.when), Names(study.outline.parameters, axes)))
    except StudyError as error:
        raise study.place.locate(error, ("grids", _index(study, grid), "when")) from None
