"""Tables of a study: measured numbers next to the paper's published numbers, with verdicts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.errors import StudyError, nearest
from cwndlab.study.cells import CellInfo
from cwndlab.study.files import read_csv
from cwndlab.study.outputs import Scalar
from cwndlab.study.values import as_list, is_among, label

from . import intervals
from .distributions import LEVEL
from .further import Asked, predict
from .intervals import Interval
from .results import Estimate, Results
from .sample import Number, Sample, relate
from .verdict import Comparison, Judgement, Verdict, decimals, half_unit, judge

if TYPE_CHECKING:
    from cwndlab.study.grammar import Compare
    from cwndlab.study.outputs import Column, Margin, Mark, Table

Row: TypeAlias = Mapping[str, str]


class Published(NamedTuple):
    """A published number in the quantity's unit, the half-width of its rounding, and its printed text."""

    value: float
    rounding: float
    text: str


class JudgedCell(NamedTuple):
    """One number of a table, with its estimate, its published value and its verdict."""

    table: str
    row: tuple[Scalar, ...]
    column: int
    cell: str
    quantity: str
    estimate: Estimate | None
    """The estimate in the unit of the table; None if the cell is not in the study or was not run."""
    published: Published | None
    judgement: Judgement | None
    """The verdict with its reasons; None if the paper has no such number."""
    digits: int | None
    note: str
    corrected: float | None = None


class JudgedTable(NamedTuple):
    """A table of the study with its rows and their judged cells."""

    spec: Table
    rows: tuple[tuple[Scalar, ...], ...]
    cells: tuple[tuple[JudgedCell, ...], ...]

    @property
    def id(self) -> str:
        """The id of the study's table."""
        return self.spec.id

    @property
    def numbers(self) -> Iterator[JudgedCell]:
        """The judged cells, row by row."""
        return itertools.chain.from_iterable(self.cells)

    def column(self, cell: JudgedCell) -> Column:
        """The study's column to which a judged cell belongs."""
        return self.spec.columns[cell.column]


def read_published(folder: Path, name: str, what: str, needed: Iterable[tuple[str, str]]) -> list[Row]:
    """The rows of a published CSV file in the study's folder.

    `needed` lists the columns that the file must have, as (key of table `what` that names it, column).
    """
    try:
        rows: list[Row] = list(read_csv(folder, name).lines)
    except StudyError as error:
        raise error.with_place(file=name, line=None, key=what) from None
    for key, column in needed if rows else ():
        if column not in rows[0]:
            right = nearest(column, rows[0])
            raise StudyError(f"no column {column!r}", file=name, key=f"{what}.{key}", right=right)
    return rows


def measure(
    results: Results, cell: CellInfo, quantity: str, comparison: Compare | None, runs: float | None = None
) -> Interval:
    """The interval of a number in a cell; with `runs`, of that quantile (0 to 1) of the cell's runs."""
    sample = results.sample(cell.id, quantity)
    if runs is not None:
        return sample.quantile(runs)
    if comparison is not None and reference(results, cell, comparison).id == cell.id:
        none = math.nan if np.isnan(sample.runs).all() else float(intervals.relate(comparison.kind, 1.0, 1.0))
        return Interval(none, none, none, sample.n, intervals.ITSELF)
    return number_of_cell(results, cell, quantity, comparison).estimate()


def number_of_cell(results: Results, cell: CellInfo, quantity: str, comparison: Compare | None) -> Number:
    """The number that a table or figure shows for a cell: a quantity, or its comparison with another cell."""
    sample = results.sample(cell.id, quantity)
    if comparison is None:
        return sample
    other = results.sample(reference(results, cell, comparison).id, quantity)
    return relate(comparison.kind, sample, other)


def reference(results: Results, cell: CellInfo, comparison: Compare) -> CellInfo:
    """The cell with which `cell` is compared: the same axis values except those in `to`."""
    return results.only_cell({**cell.axes, **comparison.to})


def judge_table(spec: Table, results: Results, folder: Path, marks: Sequence[Mark]) -> JudgedTable:
    """Measures and judges the numbers of a table; `folder` is the study's folder."""
    rows, grid = _draft(spec, results, folder)
    flat = [draft for line in grid for draft in line]
    own_marks = [m for m in marks if m.table == spec.id]
    return JudgedTable(
        spec,
        tuple(rows),
        tuple(tuple(_finish(spec, results, draft, flat, own_marks) for draft in line) for line in grid),
    )


def check_table(spec: Table, results: Results, folder: Path) -> None:
    """Raises the StudyError that `judge_table` would raise, without judging the table."""
    _draft(spec, results, folder)


def _draft(
    spec: Table, results: Results, folder: Path
) -> tuple[list[tuple[Scalar, ...]], list[list[_Draft]]]:
    """The rows of a table, as axis values, and its numbers before measuring, row by row."""
    what = f"tables.{spec.id}"
    for axis in spec.rows:
        try:
            results.values_on(axis)
        except StudyError as error:
            raise error.with_place(file=None, line=None, key=f"{what}.rows") from None
    needed = [("rows", axis) for axis in spec.rows]
    needed += [("columns", column.published) for column in spec.columns if column.published is not None]
    needed += [("compared_within", name) for name in spec.compared_within or ()]
    printed = read_published(folder, spec.published, what, needed) if spec.published else []
    rows = _rows(spec, results, printed)
    return [row for row, _ in rows], [
        [_draft_number(spec, results, row, line, k) for k in range(len(spec.columns))] for row, line in rows
    ]


def _rows(spec: Table, results: Results, printed: Sequence[Row]) -> list[tuple[tuple[Scalar, ...], Row]]:
    """The rows, each with its published line, in the order of the published file, or else of the axes."""
    axes = results.axes
    if not printed:
        cells = [
            cell for cell in results.cells_at(spec.where) if all(axis in cell.axes for axis in spec.rows)
        ]
        present = {tuple(label(cell.axes[axis]) for axis in spec.rows) for cell in cells}
        combos = itertools.product(*(axes[axis] for axis in spec.rows))
        return [(row, {}) for row in combos if tuple(label(value) for value in row) in present]
    return [(tuple(results.axis_value(axis, line[axis]) for axis in spec.rows), line) for line in printed]


class _Draft(NamedTuple):
    """A number of a table, with its column and cell, before it is measured."""

    number: JudgedCell
    column: Column
    cell: CellInfo | None
    group: tuple[str, ...] | None
    """The published line's values in the columns of `compared_within`; None if the table has no such key.

    The paper compares the numbers whose lines have equal values in these columns.
    """


def _draft_number(spec: Table, results: Results, row: tuple[Scalar, ...], line: Row, index: int) -> _Draft:
    column = spec.columns[index]
    where = {**spec.where, **dict(zip(spec.rows, row, strict=True)), **column.where}
    place = f"tables.{spec.id}.columns, {column.heading!r}"
    try:
        results.labels.unit(column.quantity)
        if results.is_list(column.quantity):
            raise StudyError(f"{column.quantity!r} is a list", right="a quantity with `within` is one number")
        for axis in where:
            results.values_on(axis)
        cell = results.find(where)
    except StudyError as error:
        raise error.with_place(file=None, line=None, key=place) from None
    if cell is not None and column.compare is not None and column.runs is None:
        reference(results, cell, column.compare)
    raw = line.get(column.published, "") if column.published else ""
    published = _published(spec, column, raw, line, place)
    digits = column.digits
    if digits is None and published is not None and column.published_scale == 1.0:
        digits = decimals(published.text)
    name = column.quantity if column.compare is None else f"{column.compare.kind}({column.quantity})"
    if column.runs is not None:
        name = f"quantile({column.quantity}, {column.runs:g})"
    wanted = ",".join(f"{axis}={value}" for axis, value in zip(spec.rows, row, strict=True))
    of = cell.id if cell is not None else wanted
    number = JudgedCell(spec.id, row, index, of, name, None, published, None, digits, "")
    within = spec.compared_within
    group = tuple(line.get(name, "") for name in within) if within is not None else None
    return _Draft(number, column, cell, group)


def _published(spec: Table, column: Column, raw: str, line: Row, place: str) -> Published | None:
    if not raw:
        return None
    try:
        value = float(raw)
    except ValueError:
        raise StudyError(f"{raw!r} is not a number", file=spec.published, key=place) from None
    override = column.rounding or spec.rounding
    base = line.get(override.ratio_to or "") if override is not None else None
    rounding = override.half_width_at(value, float(base) if base else None) if override else half_unit(raw)
    return Published(value * column.published_scale, rounding * abs(column.published_scale), raw)


def _finish(
    spec: Table, results: Results, draft: _Draft, everything: Sequence[_Draft], marks: Sequence[Mark]
) -> JudgedCell:
    number, column, cell = draft.number, draft.column, draft.cell
    published = number.published
    if cell is None:
        if published is None:
            return number
        judgement = Judgement(Verdict.NOT_JUDGED, "not run", math.nan, math.nan, math.nan)
        return number._replace(judgement=judgement, note=judgement.note)
    interval = measure(results, cell, column.quantity, column.compare, column.runs)
    unit = derived_unit(column.compare, results.labels.unit(column.quantity))
    number = number._replace(estimate=Estimate.from_interval(cell.id, number.quantity, unit, interval))
    note = ""
    if published is not None:
        judgement = judge(
            published.value,
            published.rounding,
            interval,
            predict(make_asked(spec, column, results), *find_samples(results, cell, column)),
            margin=find_margin(spec, column, results).half_width_at(published.value, published.rounding),
            signed=column.compare is not None and column.compare.kind != "ratio",
            comparisons=_comparisons(results, draft, everything),
        )
        for mark in marks:
            if _is_marked(mark, spec, column, number.row):
                reason = mark.reason
                if mark.verdict == Verdict.FITTED.value:
                    points = interval.value - published.value if column.compare is not None else None
                    reason = f"{reason}. {_describe_fit(judgement, points)}"
                judgement = judgement._replace(verdict=Verdict(mark.verdict), note=reason, marked=True)
                number = number._replace(corrected=mark.corrected)
        judgement = judgement._replace(in_headline=spec.counted)
        number, note = number._replace(judgement=judgement), judgement.note
    flag = column.flag.note if column.flag is not None and column.flag.meets(interval.value) else ""
    return number._replace(note=". ".join(t for t in (note, flag, results.remarks.get(cell.id)) if t))


def _describe_fit(judgement: Judgement, change: float | None) -> str:
    """A sentence on how well a fitted number fits; `change` is our change minus the published change."""
    verdict, apart = f"would be \u201c{judgement.verdict}\u201d", judgement.relative_difference
    if change is None and math.isnan(apart):
        return f"The fit {verdict}"
    size = f"{abs(100 * apart):.1f} %" if change is None else f"{abs(change):.1f}"
    side = "above" if (apart if change is None else change) > 0.0 else "below"
    return f"The fit is {size} {side} the published value and {verdict}"


def find_margin(spec: Table, column: Column, results: Results) -> Margin:
    """The margin of a number: the column's, else the quantity's (not for comparisons), else the table's."""
    own = results.labels.quantities[column.quantity].margin if column.compare is None else None
    return column.margin or own or spec.margin


def derived_unit(comparison: Compare | None, unit: str) -> str:
    """The unit of a comparison of values in `unit`; "" for a pure number."""
    if comparison is None or comparison.kind == "difference":
        return "" if unit == "1" else unit
    return "" if comparison.kind == "ratio" else "%"


def find_samples(results: Results, cell: CellInfo, column: Column) -> tuple[Sample, Sample | None]:
    """The sample of a number's cell, and of the cell it is compared with; None without a comparison."""
    own = results.sample(cell.id, column.quantity)
    if column.compare is None:
        return own, None
    return own, results.sample(reference(results, cell, column.compare).id, column.quantity)


def make_asked(spec: Table, column: Column, results: Results) -> Asked:
    """The comparison, the number of runs and the pairing with which the paper measured a column's numbers."""
    kind = column.compare.kind if column.compare is not None else None
    return Asked(kind, spec.published_runs, results.labels.source_paired)


def _comparisons(results: Results, draft: _Draft, everything: Sequence[_Draft]) -> Iterator[Comparison]:
    """Yields comparisons with the numbers that the paper compares `draft` with, if they differ as printed.

    The 5 % of wrong decisions is divided among the differences. They are computed only when the first is
    read, as few verdicts depend on them.
    """
    mine = draft.number.published
    if mine is None or draft.cell is None or draft.group is None:
        return
    apart = []
    for other in everything:
        printed = other.number.published
        if other is draft or printed is None or other.cell is None:
            continue
        if other.group != draft.group or not _show_the_same(draft.column, other.column):
            continue
        step = printed.value - mine.value
        if abs(step) > mine.rounding + printed.rounding:
            apart.append((step, other.cell, other.column))
    if not apart:
        return
    level = 1.0 - (1.0 - LEVEL) / len(apart)
    own = number_of_cell(results, draft.cell, draft.column.quantity, draft.column.compare)
    for step, cell, column in apart:
        theirs = number_of_cell(results, cell, column.quantity, column.compare)
        yield Comparison(step, relate("difference", theirs, own).estimate(level))


def _show_the_same(a: Column, b: Column) -> bool:
    """Whether two columns show the same quantity or comparison, perhaps for different traffic."""
    return a.compare == b.compare and (a.compared_as or a.quantity) == (b.compared_as or b.quantity)


def _is_marked(mark: Mark, spec: Table, column: Column, row: Sequence[Scalar]) -> bool:
    if mark.columns and column.published not in mark.columns:
        return False
    at = dict(zip(spec.rows, row, strict=True))
    return all(axis in at and is_among(at[axis], as_list(wanted)) for axis, wanted in mark.rows.items())
