"""Measures a study's quantities in a run: each in its window, reduced to a number, in its unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from cwndlab._core import unit_factor
from cwndlab.base.core import Value
from cwndlab.base.numbers import Range, derived_range, median, quantile, reduced_range
from cwndlab.records.run_view import Column, WholeRun
from cwndlab.records.window import RunView, window_edges

from ._declared import get


class MeasuredQuantity(Protocol):
    """The attributes of a study's quantity that this module reads: of a metric's or a derived quantity."""

    @property
    def name(self) -> str:
        """The quantity's name in the study."""

    @property
    def metric(self) -> str | None:
        """The metric's name; None for a derived quantity."""

    @property
    def options(self) -> dict[str, object]:
        """The metric's options."""

    @property
    def within(self) -> str | None:
        """The reduction of the metric's list to one number ("mean", "p95"); None to keep the list."""

    @property
    def unit(self) -> str | None:
        """The unit of the values; None for the unit of the metric or the derivation."""

    @property
    def window_name(self) -> str | None:
        """The name of the quantity's window in the scenario; None for the whole run."""

    @property
    def operation(self) -> str | None:
        """The operation that derives the quantity from its operands; None for a metric."""

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the two quantities from which this quantity is derived; empty for a metric."""


def find_unit(quantity: MeasuredQuantity, quantities: Mapping[str, MeasuredQuantity]) -> str:
    """The unit of a quantity's values."""
    return quantity.unit or _own_unit(quantity, quantities)


def _own_unit(quantity: MeasuredQuantity, quantities: Mapping[str, MeasuredQuantity]) -> str:
    """The unit in which the metric or the derivation computes values, before scaling."""
    if quantity.metric is not None:
        return "1" if quantity.within == "count" else get(quantity.metric).unit
    of, by = (find_unit(quantities[name], quantities) for name in quantity.operands)
    if quantity.operation == "ratio":
        return "1" if of == by else of if by == "1" else f"{of}/{by}" if "/" not in by else f"{of}/({by})"
    if quantity.operation == "increase":
        return "%"
    if quantity.operation == "product":
        return of if by == "1" else by if of == "1" else f"{of} {by}"
    return of


def find_scale(quantity: MeasuredQuantity, quantities: Mapping[str, MeasuredQuantity]) -> float:
    """The factor by which values of the metric or the derivation are multiplied to have the quantity's unit.

    ValueError if the two units are of different kinds, or the operands of a sum, a difference or an increase
    differ in unit. Units of counts ("packets") fit each other, and `within = "count"` fits any unit.
    """
    if quantity.operation in ("sum", "difference", "increase"):
        of, by = (find_unit(quantities[name], quantities) for name in quantity.operands)
        if of != by and not (_is_count(of) and _is_count(by)) and unit_factor(by, of) != 1.0:
            raise ValueError(
                '"{}" is in {of} and "{}" in {by}; give both the same unit'.format(
                    *quantity.operands, of=of, by=by
                )
            )
    if quantity.unit is None or quantity.within == "count":
        return 1.0
    return unit_factor(_own_unit(quantity, quantities), quantity.unit)


def _is_count(unit: str) -> bool:
    """Whether values in this unit count something ("packets", "timeouts")."""
    for base in ("s", "bit/s", "B", "%"):
        try:
            unit_factor(unit, base)
        except ValueError:
            continue
        return False
    return True


def find_range(quantity: MeasuredQuantity, quantities: Mapping[str, MeasuredQuantity]) -> Range:
    """The range of values that a quantity can take, in its unit."""
    if quantity.metric is not None:
        metric = get(quantity.metric)
        own = next((r for name, r in metric.ranges.items() if quantity.options.get(name)), metric.range)
        if quantity.within is not None:
            own = reduced_range(quantity.within, own)
    else:
        of, by = (find_range(quantities[name], quantities) for name in quantity.operands)
        own = derived_range(quantity.operation, of, by)
    return own.times(find_scale(quantity, quantities))


def is_centred(quantity: MeasuredQuantity) -> bool:
    """Whether a quantity's expectation is 0 in every cell."""
    return quantity.metric is not None and get(quantity.metric).centred


def is_list(quantity: MeasuredQuantity, quantities: Mapping[str, MeasuredQuantity]) -> bool:
    """Whether a quantity is a list of numbers per run."""
    if quantity.metric is not None:
        return get(quantity.metric).many and quantity.within is None
    return is_list(quantities[quantity.operands[0]], quantities)


class _Step(NamedTuple):
    """How one quantity is computed: by its metric's function, or from its operands if `measure` is None."""

    quantity: MeasuredQuantity
    measure: Callable[..., Any] | None
    scale: float
    range: Range


class Measurer:
    """Measures a study's quantities in many runs; functions, scales and ranges are looked up once."""

    def __init__(self, quantities: Sequence[MeasuredQuantity]) -> None:
        self._known = {quantity.name: quantity for quantity in quantities}

    def __reduce__(self) -> tuple[type[Measurer], tuple[Sequence[MeasuredQuantity]]]:
        # Leaves out the functions in `_steps`: another process gets the user's own metrics as code.
        return Measurer, (tuple(self._known.values()),)

    def measure(self, run: WholeRun) -> dict[str, Value]:
        """The value of every quantity in one run, each in its window."""
        windows: dict[tuple[int, int], RunView] = {}
        named: dict[str | None, RunView] = {}
        values: dict[str, Value] = {}
        for quantity, measure, scale, within in self._steps:
            if measure is None:
                value = _derived(quantity, scale, values)
            else:
                name = quantity.window_name
                if name not in named:
                    window = window_edges(run.scenario, name)
                    if window not in windows:
                        windows[window] = RunView(run, *window)
                    named[name] = windows[window]
                value = _measured(quantity, measure, scale, named[name])
            values[quantity.name] = _checked(quantity.name, within, value)
        return values

    @cached_property
    def _steps(self) -> list[_Step]:
        """The steps of all quantities; operands come before quantities derived from them."""
        steps: dict[str, _Step] = {}

        def add(quantity: MeasuredQuantity) -> None:
            if quantity.name not in steps:
                measure = None
                if quantity.metric is not None:
                    measure = get(quantity.metric).measure
                else:
                    for operand in quantity.operands:
                        add(self._known[operand])
                quantities = self._known
                steps[quantity.name] = _Step(
                    quantity, measure, find_scale(quantity, quantities), find_range(quantity, quantities)
                )

        for quantity in self._known.values():
            add(quantity)
        return list(steps.values())


def _measured(
    quantity: MeasuredQuantity, measure: Callable[..., Any], scale: float, window: RunView
) -> Value:
    result = measure(window, **quantity.options)
    if quantity.within is not None:
        result = _reduce(quantity.within, result)
    if isinstance(result, int | float | np.integer | np.floating):
        return float(result) * scale
    samples = result.tolist() if isinstance(result, np.ndarray) else result
    return [float(item) * scale for item in samples]


def _derived(quantity: MeasuredQuantity, scale: float, values: Mapping[str, Value]) -> Value:
    of, by = (values[name] for name in quantity.operands)
    if isinstance(of, list) or isinstance(by, list):
        if not (isinstance(of, list) and isinstance(by, list)):
            raise ValueError(
                f"quantity {quantity.name} mixes a list and a number; reduce the list by `within`"
            )
        return [_derive(quantity.operation, a, b) * scale for a, b in zip(of, by, strict=False)]
    return _derive(quantity.operation, of, by) * scale


def _checked(name: str, within: Range, value: Value) -> Value:
    """The value; ValueError, which fails only this run, if a number is outside the range `within`."""
    low, high = within.limits
    for item in value if isinstance(value, list) else (value,):
        if item < low or item > high:
            raise ValueError(
                f"quantity {name} is {item:.9g}, outside its range, {within.low:g} to {within.high:g}"
            )
    return value


def _derive(kind: str | None, a: float, b: float) -> float:
    match kind:
        case "ratio":
            return a / b if b != 0 else math.nan
        case "increase":
            return 100 * (a / b - 1) if b != 0 else math.nan
        case "product":
            return a * b
        case "sum":
            return a + b
    return a - b


def _reduce(how: str, samples: Sequence[float] | Column) -> float:
    """Reduces samples to one number; without samples 0 for "count" and "sum", otherwise NaN."""
    data = np.asarray(samples, dtype=np.float64).ravel()
    if how == "count":
        return float(len(data))
    if len(data) == 0:
        return 0.0 if how == "sum" else math.nan
    if how.startswith("p"):
        return quantile(data, float(how[1:]) / 100)
    reductions: dict[str, Callable[[Any], Any]] = {
        "mean": np.mean,
        "median": median,
        "min": np.min,
        "max": np.max,
        "sum": np.sum,
    }
    return float(reductions[how](data))
