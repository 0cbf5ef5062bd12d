"""The results of selected cells as Arrow tables, and as an xarray Dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from cwndlab.base.errors import ArgumentError, ExtraError, NotFoundError, nearest
from cwndlab.base.writing import aligned_lines
from cwndlab.metrics import find_unit, is_list
from cwndlab.stats.results import Estimate, Results, Variation
from cwndlab.study.cells import CellInfo
from cwndlab.study.values import text

if TYPE_CHECKING:
    import pandas
    import xarray

    from cwndlab.runs.campaign import Failure
    from cwndlab.study.schema import Quantity, Scalar

_ARROW = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}

#: One row of a table: column name -> value.
Row: TypeAlias = "dict[str, str | float | bool | None]"
Axes: TypeAlias = "Mapping[str, Sequence[Scalar]]"

#: The columns that follow `cell` and the axes in each kind of table, with their types.
ESTIMATES = (
    dict.fromkeys(("quantity", "unit"), pa.string())
    | dict.fromkeys(("value", "ci_low", "ci_high"), pa.float64())
    | {"replicates": pa.int64(), "method": pa.string(), "warning": pa.string()}
)
VALUES = {"replicate": pa.int64(), "quantity": pa.string(), "unit": pa.string(), "value": pa.float64()}
SAMPLES = {"replicate": pa.int64(), "index": pa.int64()} | VALUES


#: The most values of an axis that `repr` shows.
SHOWN = 5
#: The most estimates that `repr` shows.
PRINTED = 60


#: For columns of CSV files that are not text: the function that converts a word, and the type.
_TYPES: dict[str, tuple[Callable[[str], float | bool | str], pa.DataType]] = {
    **dict.fromkeys(("measured", "ci_low", "ci_high", "published"), (float, pa.float64())),
    **dict.fromkeys(("compatible", "close", "counted"), ("yes".__eq__, pa.bool_())),
    "replicates": (int, pa.int64()),
}


class Estimates:
    """A table of estimates, one per row, with a readable `repr`.

    pandas, polars and DuckDB accept it directly: `pd.DataFrame(estimates)`, `pl.DataFrame(estimates)`;
    `pl.from_arrow` requires `to_arrow()`. It also has the methods of a pyarrow table.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def to_arrow(self) -> pa.Table:
        """The estimates as a pyarrow table.

        >>> run.estimates.to_arrow().schema.field("value").type
        DataType(double)
        """
        return self.table

    def to_pandas(self) -> pandas.DataFrame:
        """The estimates as a pandas DataFrame.

        >>> run.estimates.to_pandas()["unit"].unique().tolist()
        ['Mbit/s', '%', 'ms']

        Raises:
            ExtraError: pandas is not installed.

        """
        try:
            import pandas
        except ImportError:
            raise ExtraError("to_pandas", "pandas", "notebook") from None
        return pandas.DataFrame(self)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    def to_pylist(self) -> list[Row]:
        """The rows as dictionaries: column name -> value.

        >>> run.estimates.to_pylist()[0]["quantity"]
        'goodput_cubic'
        """
        return list(self)

    @property
    def numbers(self) -> list[Estimate]:
        """The rows as `Estimate` objects."""
        columns = (self.table[name].to_pylist() for name in Estimate._fields)
        return [Estimate(*row) for row in zip(*columns, strict=True)]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.table.to_pylist())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            # `copy` reads `table` before it is set, and libraries read protocols such as `__array__`.
            if name == "table" or name.startswith("__"):
                raise AttributeError(name)
            return getattr(self.table, name)

        def __call__(self, *_: object, **__: object) -> None:
            """Raises ArgumentError with the remedy: `estimates` is not a method."""
            right = "write run.estimates, or run.estimate(QUANTITY) for one of them"
            raise ArgumentError(f"run.estimates is a table, not a method; {right}")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        if column not in self.table.column_names:
            right = f'run["{column}"] gives a quantity'
            raise NotFoundError(f'no column "{column}"; {nearest(str(column), self.column_names)}; {right}')
        return self.table[column]

    def __eq__(self, other: object) -> bool:
        return bool(self.table.equals(other.table if isinstance(other, Estimates) else other))

    def __repr__(self) -> str:
        return "\n".join([*aligned_lines(self._lines()), *self._more_rows()])

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        head, *body = ["".join(f"<td>{escape(word)}</td>" for word in line) for line in self._lines()]
        rows = [head.replace("td>", "th>"), *body]
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table>{table}</table>" + "".join(f"<p>{line}</p>" for line in self._more_rows())

    def _lines(self) -> list[list[str]]:
        """The headings and the words of the rows to print, without empty columns."""
        rows = self.table.slice(0, PRINTED).to_pylist()
        names = self.column_names
        axes = names[1 : names.index("quantity")]
        more = [name for name in names[len(axes) + 1 :] if name not in ESTIMATES]
        lines = [[*(axes or ["cell"]), "quantity", "estimate", *more, "replicates", "method", "warning"]]
        for row in rows:
            row["estimate"] = Estimate(*(row[name] for name in Estimate._fields))
            lines.append(["" if row[name] is None else text(row[name]) for name in lines[0]])
        used = [any(column[1:]) or not rows for column in zip(*lines, strict=True)]
        return [[word for word, keep in zip(line, used, strict=True) if keep] for line in lines]

    def _more_rows(self) -> list[str]:
        """The lines to print after the rows: how many rows are left out, and the methods of the intervals."""
        more = [f"… {len(self) - PRINTED} more rows"] if len(self) > PRINTED else []
        from cwndlab.report.wording import method_text  # only printing needs it

        methods = filter(None, dict.fromkeys(self.table["method"].slice(0, PRINTED).to_pylist()))
        explained = [f"{method}: {words}" for method in methods if (words := method_text(method)) != method]
        return [*more, "95 % intervals in brackets.", *explained] if explained else more


@dataclass(frozen=True)
class ResultTables:
    """Builds the tables of selected cells. Their columns and types do not depend on the selection."""

    #: The results of the selected cells.
    results: Results
    #: The axes of all cells that were run, each with its values in the study.
    axes: Axes

    def cells(self) -> pa.Table:
        """A row for each cell, with its axes."""
        return _table(self.axes, [(cell, ()) for cell in self.results.cells], {})

    def estimate(self, cell: str, quantity: str) -> Estimate:
        """The estimate of a quantity in a cell."""
        interval = self.results.estimate(cell, quantity)
        return Estimate.from_interval(cell, quantity, self.results.labels.unit(quantity), interval)

    def estimates(self) -> Estimates:
        """A row for each cell and each of its single-number quantities."""
        numbers = [(cell, self.estimate(cell.id, name)) for cell, name in self.numbers()]
        return table_of_estimates(self.axes, numbers)

    def compared_with(self, other: Results, kind: str) -> Estimates:
        """A row for each number that `other` has, too: this number compared with the other."""
        from cwndlab.stats.difference import compare_datasets

        cells = {cell.id: cell for cell in self.results.cells}
        differences = [
            number for number in compare_datasets(other, self.results, kind).numbers if number.cell in cells
        ]
        if not differences:
            raise NotFoundError("the runs have no number in common")
        rows = [
            (
                cells[number.cell],
                Estimate.from_interval(
                    number.cell, f"{kind}({number.quantity})", number.unit, number.interval
                ),
            )
            for number in differences
        ]
        others, sure = [number.a for number in differences], [number.significant for number in differences]
        return table_of_estimates(self.axes, rows, {"other": others, "significant": sure})

    def under(self, variations: Sequence[Variation]) -> Estimates:
        """The estimates under each sensitivity choice: a row for each changed cell and quantity."""
        rows = []
        for variation in variations:
            cells = {cell.id for cell in self.results.cells} & variation.cells
            mine = replace(self, results=variation.results)
            rows += [
                (cell, (variation.axis, variation.value, *mine.estimate(cell.id, name)[1:]))
                for cell, name in mine.numbers()
                if cell.id in cells
            ]
        columns = dict.fromkeys(("choice", "setting"), pa.string()) | ESTIMATES
        return Estimates(_table(self.axes, rows, columns))

    def values(self) -> pa.Table:
        """A row for each cell, single-number quantity and replicate."""
        rows = [
            (cell, (replicate, name, self.results.labels.unit(name), value))
            for cell, name in self.numbers()
            for replicate, value in enumerate(self.results.values(cell.id, name).tolist())
        ]
        return _table(self.axes, rows, VALUES)

    def samples(self, quantity: str) -> pa.Table:
        """A row for each cell, replicate and object of a list quantity."""
        unit = self.results.labels.unit(quantity)
        rows = [
            (cell, (replicate, index, quantity, unit, value))
            for cell in self.results.cells
            for replicate, values in enumerate(self.results.samples(cell.id, quantity))
            for index, value in enumerate(values.tolist())
        ]
        return _table(self.axes, rows, SAMPLES)

    def dataset(self, attributes: Mapping[str, object]) -> xarray.Dataset:
        """All numbers as an xarray Dataset with these attributes."""
        export = import_module("cwndlab.apps.notebook.xarray_export").results_dataset
        dataset: xarray.Dataset = export(self, attributes)
        return dataset

    def numbers(self) -> Iterator[tuple[CellInfo, str]]:
        """Yields each cell with each of its quantities that has one number per replicate."""
        for cell in self.results.cells:
            for name in self.results.labels.quantities:
                if not self.results.is_list(name) and (cell.id, name) in self.results.data:
                    yield cell, name


def check_quantity(results: Results, quantity: str, *, many: bool) -> None:
    """NotFoundError for an unknown quantity; ArgumentError if it has a list of values for each run and `many`
    is false, or a single value and `many` is true.
    """
    quantities = results.labels.quantities
    if quantity not in quantities:
        raise NotFoundError(f'no quantity "{quantity}"; {nearest(quantity, quantities)}')
    if quantities[quantity].many and not many:
        has = "has a value for each of a run's objects, which depend on each other"
        raise ArgumentError(f'"{quantity}" {has}; run.samples("{quantity}") gives them')
    if many and not quantities[quantity].many:
        raise ArgumentError(f'"{quantity}" has one value for each run; run.values has them')


def table_of_estimates(
    axes: Axes,
    estimates: Sequence[tuple[CellInfo, Estimate]],
    more: Mapping[str, Sequence[object]] = MappingProxyType({}),
) -> Estimates:
    """A row for each estimate, with further columns `more`; `axes` has the study's values of each axis."""
    table = _table(axes, [(cell, estimate[1:]) for cell, estimate in estimates], ESTIMATES)
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    return Estimates(table)


def _table(
    axes: Axes, rows: Sequence[tuple[CellInfo, Sequence[object]]], types: Mapping[str, pa.DataType]
) -> pa.Table:
    """A table with `cell`, the axes, and the columns of `types`, whose values are in `rows`."""
    cells = [cell for cell, _ in rows]
    table = {"cell": pa.array([cell.id for cell in cells], pa.string())}
    for name, choices in axes.items():
        table[name] = axis_column(choices, [cell.axes.get(name) for cell in cells])
    for position, (name, kind) in enumerate(types.items()):
        table[name] = pa.array([row[position] for _, row in rows], kind)
    return pa.table(table)


def axis_column(choices: Sequence[Scalar], values: Sequence[Scalar | None]) -> pa.Array:
    """Values of an axis as a column; the type depends on all the axis's values in the study (`choices`)."""
    types = {type(value) for value in choices}
    if len(types) > 1 and types != {int, float}:
        return pa.array([None if value is None else text(value) for value in values], pa.string())
    return pa.array(values, _ARROW[float if len(types) > 1 else types.pop()])


def table_of_words(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> pa.Table:
    """The rows of a CSV file that cwndlab writes, as a table with typed columns; empty words become null."""
    columns_of_words = list(zip(*rows, strict=True)) or [()] * len(columns)
    table = {}
    for name, words in zip(columns, columns_of_words, strict=True):
        convert, kind = _TYPES.get(name, (str, pa.string()))
        table[name] = pa.array([convert(word) if word else None for word in words], kind)
    return pa.table(table)


def overview(head: str, axes: Mapping[str, Sequence[Scalar]], quantities: Sequence[Quantity]) -> str:
    """The `repr` of a study or its results: the axes with their values, the quantities with their units."""
    by_name = {quantity.name: quantity for quantity in quantities}
    many = {name: ", one for each object" * is_list(quantity, by_name) for name, quantity in by_name.items()}
    values = {
        name: ", ".join(map(text, some[:SHOWN])) + ", …" * (len(some) > SHOWN) for name, some in axes.items()
    }
    units = {name: (find_unit(quantity, by_name) or "1") + many[name] for name, quantity in by_name.items()}
    lines = [f"<{head}"]
    for title, rows in (("Axes", values), ("Quantities", units)):
        lines += [f"{title}:", *(f"    {name:<24}{about}" for name, about in rows.items())] if rows else []
    return "\n".join(lines) + ">"


def failures_text(failures: Sequence[Failure], runs: int) -> str:
    """A sentence with the number of failed runs, and the reason of the first."""
    first = failures[0]
    where = f"{first.cell}, replicate {first.replicate}"
    return f"{len(failures)} of {runs} runs failed, the first {where}: {first.reason}"
