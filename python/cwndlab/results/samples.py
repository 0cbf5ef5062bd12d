"""One quantity of several cells: numbers to select, compare and combine by the names of axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from cwndlab.base.errors import ArgumentError, NotFoundError, check_arguments, nearest
from cwndlab.base.writing import with_unit
from cwndlab.plan.plan import cell_id
from cwndlab.stats.field import Field, Key, combine
from cwndlab.stats.results import Estimate, Results
from cwndlab.stats.sample import Number, relate
from cwndlab.study.cells import CellInfo, Cells
from cwndlab.study.grammar import COMPARISONS
from cwndlab.study.labels import Labels
from cwndlab.study.outputs import Scalar
from cwndlab.study.values import text

from .result_tables import Estimates, table_of_estimates
from .selection import select_cells

if TYPE_CHECKING:
    import altair as alt
    import pandas
    import xarray

    from cwndlab.study.schema import Quantity

Operand: TypeAlias = "Samples | float"

FLOW = "flow"
"""The name of the axis of flows, for quantities that are measured for each flow."""


def group_flows(quantities: Sequence[Quantity]) -> dict[str, dict[str, str]]:
    """Quantities measured for each flow: name without the flow -> flow -> name of the quantity.

    "share_bbr1" and "share_cubic" become {"share": {"bbr1": "share_bbr1", "cubic": "share_cubic"}}.
    """
    names = {quantity.name for quantity in quantities}
    groups: dict[str, dict[str, str]] = {}
    for quantity in quantities:
        flow = quantity.options.get("traffic")
        if isinstance(flow, str):
            word = "".join(letter if letter.isalnum() else "_" for letter in flow)
            parts = f"{quantity.name}_".split(f"_{word}_", 1)
            name = "_".join(parts).rstrip("_") if len(parts) > 1 else quantity.name
            if name == quantity.name or name not in names:
                groups.setdefault(name, {})[flow] = quantity.name
    return groups


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """The numbers of one quantity, one for each cell and flow: `run["goodput"]`.

    `sel` selects by axes and flow, `compare` compares cells with others, and `+ - * /` combine the numbers of
    cells that agree on every axis that both sides have, as expressions in claims do. Axes with one value are
    `fixed`, and match any value. Comparisons are paired if cells used the same random numbers.

    >>> from cwndlab import Dumbbell, Flow, Run, Study
    >>> network = Dumbbell(rate="10Mbps", rtt="20ms", buffer=[0.5, 2], flows=[Flow(cc="reno")])
    >>> study = Study.build("Two buffers", dumbbell=network, measure=["goodput"], run=Run(duration="2s"))
    >>> goodput = study.run()["goodput"]
    >>> goodput.compare("ratio", to={"buffer": 0.5}).axes
    {'buffer': [2]}
    >>> ratio = goodput.sel(buffer=2) / goodput.sel(buffer=0.5)
    >>> ratio.estimate().value == goodput.compare("ratio", to={"buffer": 0.5}).estimate().value
    True
    """

    name: str
    field: Field
    #: Axis -> its value, for axes that have one value in all cells.
    fixed: Mapping[str, Scalar]
    labels: Labels

    @classmethod
    def from_results(cls, results: Results, name: str, flows: Mapping[str, str]) -> Samples:
        """The values of one quantity in all cells.

        `flows` maps each flow to its quantity ("goodput_cubic"); empty if the quantity is not per flow.
        """
        axes = {axis: [cell.axes.get(axis) for cell in results.cells] for axis in results.axes}
        varied = [axis for axis, values in axes.items() if len(set(map(text, values))) > 1]
        fixed = {
            axis: values[0] for axis, values in axes.items() if axis not in varied and values[0] is not None
        }
        by_flow = FLOW not in axes and len(flows) > 1
        if FLOW not in axes and len(flows) == 1:
            fixed[FLOW] = next(iter(flows))
        data = {
            (*(cell.axes.get(axis) for axis in varied), *((flow,) if by_flow else ())): results.sample(
                cell.id, quantity
            )
            for flow, quantity in (flows or {"": name}).items()
            for cell in results.cells
            if (cell.id, quantity) in results.data
        }
        return cls(name, Field((*varied, *((FLOW,) if by_flow else ())), data), fixed, results.labels)

    @property
    def axes(self) -> dict[str, list[Scalar]]:
        """The axes that vary, possibly including `flow`, with their values."""
        return {name: list(values) for name, values in self._cells.axes.items() if name in self.field.axes}

    @property
    def unit(self) -> str:
        """The unit of the numbers."""
        return next((number.unit for number in self.field.data.values()), "1")

    @cached_property
    def _keys(self) -> dict[str, Key]:
        """Id of a cell made from a number's axes -> the number's key in `field`."""
        return {cell_id(self._named(key)): key for key in self.field.data}

    @cached_property
    def _cells(self) -> Cells:
        """The numbers' axes as cells, on which `sel` can use the selection of cells."""
        cells = tuple(CellInfo(name, {**self._named(key), **self.fixed}) for name, key in self._keys.items())
        return Cells(cells, self.labels)

    def _named(self, key: Key) -> dict[str, Scalar]:
        pairs = zip(self.field.axes, key, strict=True)
        return {axis: value for axis, value in pairs if value is not None}

    @check_arguments
    def sel(self, axes: Mapping[str, object] | None = None, /, **more: object) -> Samples:
        """The numbers with these values of axes, like `sel` in xarray: a single value fixes its axis.

        >>> run["share"].sel(flow="bbr1", buffer=2).axes
        {}

        Args:
            axes: for each axis, or `flow`, a value, several in a list, or a slice of numbers.
            more: axes as keywords.

        Returns:
            The selected numbers, without the axes that were fixed.

        Raises:
            NotFoundError: there is no such axis, or no number with these values.

        """
        wanted = {**(axes or {}), **more}
        cells = select_cells(self._cells, wanted)
        single = [axis for axis in self.field.axes if axis in wanted and _is_single(wanted[axis])]
        keep = [at for at, axis in enumerate(self.field.axes) if axis not in single]
        keys = [self._keys[cell.id] for cell in cells]
        data = {tuple(key[at] for at in keep): self.field.data[key] for key in keys}
        fixed = {axis: cells[0].axes[axis] for axis in single if axis in cells[0].axes}
        selected = Field(tuple(self.field.axes[at] for at in keep), data)
        return replace(self, field=selected, fixed={**self.fixed, **fixed})

    @check_arguments
    def compare(self, kind: str, to: Mapping[str, object]) -> Samples:
        """Compares each number with that of the cell that has the values `to` and otherwise the same axes.

        >>> run["share"].compare("difference", to={"flow": "cubic"}).axes
        {'buffer': [0.5, 2], 'flow': ['bbr1']}

        Args:
            kind: "ratio" (number / other), "difference" (number - other), "increase" (100 (number / other -
                1) %) or "decrease" (100 (1 - number / other) %).
            to: the values of axes, or of `flow`, of the cells to compare with: `{"buffer": 0.5}`.

        Returns:
            The comparisons, except those of a cell with itself; `unit` is "1" for a ratio, "%" for an
            increase or decrease.

        Raises:
            NotFoundError: there is no such axis, value or cell.
            ArgumentError: there is no such comparison, or `to` names several values or none.

        """
        if kind not in COMPARISONS:
            raise ArgumentError(f'there is no comparison "{kind}"; {nearest(kind, COMPARISONS)}')
        if not to or not all(_is_single(value) for value in to.values()):
            raise ArgumentError('`to` needs one value for each axis that it names: to={"buffer": 0.5}')
        other = self.sel(to)
        itself = [(self.field.axes.index(axis), other.fixed.get(axis)) for axis in to if axis in self.axes]
        numbers = {
            key: number
            for key, number in self.field.data.items()
            if not all(key[at] == value for at, value in itself)
        }
        if not numbers:
            raise NotFoundError(f"{self.name} has no other cell than that of {dict(to)}")
        return self._combine(kind, replace(other, name=self.name), Field(self.field.axes, numbers), kind)

    def _combine(self, kind: str, other: Operand, own: Field | None = None, name: str = "") -> Samples:
        own = own or self.field
        theirs = other if isinstance(other, Samples) else None
        right = theirs.field if theirs else Field.number(float(other))  # type: ignore[arg-type]
        try:
            joined = combine(own, right, partial(relate, kind))
        except ValueError as error:
            raise NotFoundError(str(error)) from None
        fixed = {
            axis: value
            for axis, value in self.fixed.items()
            if theirs is None or theirs.fixed.get(axis, value) == value
        }
        axes = {**(theirs.labels.axes if theirs else {}), **self.labels.axes}
        named = f"{name}({self.name})" if name else f"{self.name} {_SIGNS[kind]} {_name(other)}"
        return Samples(
            named, joined, {a: v for a, v in fixed.items() if a not in joined.axes}, Labels(axes=axes)
        )

    def __add__(self, other: Operand) -> Samples:
        return self._combine("sum", other)

    def __sub__(self, other: Operand) -> Samples:
        return self._combine("difference", other)

    def __mul__(self, other: Operand) -> Samples:
        return self._combine("product", other)

    def __truediv__(self, other: Operand) -> Samples:
        return self._combine("ratio", other)

    def _combine_number(self, kind: str, number: float) -> Samples:
        """Applies an operator with a plain number on its left to each number."""
        joined = combine(Field.number(float(number)), self.field, partial(relate, kind))
        return replace(self, name=f"{number:g} {_SIGNS[kind]} {self.name}", field=joined)

    def __radd__(self, other: float) -> Samples:
        return self._combine_number("sum", other)

    def __rsub__(self, other: float) -> Samples:
        return self._combine_number("difference", other)

    def __rmul__(self, other: float) -> Samples:
        return self._combine_number("product", other)

    def __rtruediv__(self, other: float) -> Samples:
        return self._combine_number("ratio", other)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            right = f"; write to_xarray().{name}" if name in OF_XARRAY else ""
            raise AttributeError(f"Samples has no `{name}`{right}", name="" if right else name, obj=self)

    def __len__(self) -> int:
        return len(self.field.data)

    def number(self) -> Number:
        """The only number as a `Number`, for arithmetic.

        >>> run["share"].sel(flow="bbr1", buffer=2).number().n
        3

        Raises:
            NotFoundError: there are several numbers; `sel` selects one.

        """
        if len(self) != 1:
            open_ = ", ".join(f"{axis}=…" for axis in self.axes)
            raise NotFoundError(f"{self.name} has {len(self)} numbers; select one by sel({open_})")
        return next(iter(self.field.data.values()))

    def estimate(self) -> Estimate:
        """The only number with its 95 % interval.

        >>> share = run["share"].sel(flow="bbr1", buffer=2).estimate()
        >>> share.quantity, share.unit, share.replicates
        ('share', '%', 3)

        Returns:
            The value and its interval in `unit`; the ends are NaN if there is no interval.

        Raises:
            NotFoundError: there are several numbers; `sel` selects one.

        """
        self.number()
        [(cell, key)] = self._keys.items()
        return self._estimate(cell, key)

    def _estimate(self, cell: str, key: Key) -> Estimate:
        number = self.field.data[key]
        return Estimate.from_interval(cell, self.name, number.unit, number.estimate())

    @property
    def estimates(self) -> Estimates:
        """All numbers with their 95 % intervals, as a table like `run.estimates`."""
        cells = self._cells
        return table_of_estimates(
            cells.axes, [(cell, self._estimate(cell.id, self._keys[cell.id])) for cell in cells.cells]
        )

    def to_arrow(self) -> pa.Table:
        """The estimates as a pyarrow table.

        >>> run["share"].to_arrow().num_rows
        4
        """
        return self.estimates.table

    def to_pandas(self) -> pandas.DataFrame:
        """The estimates as a pandas DataFrame.

        >>> run["share"].to_pandas().shape[0]
        4

        Raises:
            ExtraError: pandas is not installed.

        """
        return self.estimates.to_pandas()

    def to_xarray(self) -> xarray.Dataset:
        """The numbers as an xarray Dataset: `value`, `ci_low` and `ci_high` along the axes that vary.

        Numbers that were measured (not computed) also have `runs`, the values of replicates, along
        `replicate`. Combinations that were not run are NaN.

        >>> dict(run["share"].to_xarray().sizes)
        {'buffer': 2, 'flow': 2, 'replicate': 3}

        Raises:
            ExtraError: xarray is not installed.

        """
        export = import_module("cwndlab.apps.notebook.xarray_export").samples_dataset
        dataset: xarray.Dataset = export(self)
        return dataset

    def plot(self, x: str | None = None) -> alt.TopLevelMixin:
        """The numbers with their intervals as an Altair chart.

        >>> run["share"].plot().save("share.html")

        Args:
            x: the axis along x; default: the first axis of numbers, else the first one. Each value of other
                axes has its own line or colour.

        Raises:
            NotFoundError: there is no such axis.

        """
        if x is not None and x not in self.axes:
            raise NotFoundError(f'no axis "{x}"; {nearest(x, self.axes)}')
        fixed = ", ".join(f"{axis} = {text(value)}" for axis, value in self.fixed.items())
        titles = with_unit(self.name, self.unit), fixed
        plot_numbers = import_module("cwndlab.apps.notebook.plot").plot_numbers
        chart: alt.TopLevelMixin = plot_numbers(self.field, self.axes, x, titles, self.labels)
        return chart

    def __repr__(self) -> str:
        fixed = ", ".join(f"{axis} = {text(value)}" for axis, value in self.fixed.items())
        unit = "" if self.unit == "1" else f" ({self.unit})"
        return f"<Samples of {self.name}{unit}{f', {fixed}' if fixed else ''}\n{self.estimates!r}>"

    def _repr_html_(self) -> str:
        return self.estimates._repr_html_()


#: Attributes of xarray objects that users may try on `Samples` or `RunResult`.
OF_XARRAY = frozenset(
    ("coords", "data_vars", "dims", "groupby", "isel", "mean", "median", "to_dataframe", "values", "where")
)
_SIGNS = {"sum": "+", "difference": "-", "product": "*", "ratio": "/"}


def _name(other: Operand) -> str:
    return other.name if isinstance(other, Samples) else f"{other:g}"


def _is_single(wanted: object) -> bool:
    """Whether a selection is a single value, which fixes its axis."""
    if getattr(wanted, "ndim", None) == 0:
        return True
    return isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable | slice)
