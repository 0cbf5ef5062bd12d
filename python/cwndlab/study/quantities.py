"""What a study has to know of metrics, and whether its quantities fit them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from pydantic import create_model

from cwndlab.base.errors import StudyError, problem_at
from cwndlab.metrics import Metric, built_in, get, names, scale_of

from .base import Strict
from .measures import Shape, nearest_metric
from .schema import Quantity
from .validate import validate


def metric_shapes() -> Mapping[str, Shape]:
    """The options and the unit of every metric, and whether it gives a list."""
    own = {name: _shape(get(name)) for name in names() if name not in _built_in_shapes()}
    return {**_built_in_shapes(), **own}


def metric_tables(quantity: Quantity) -> Collection[str]:
    """The record tables that a quantity's metric reads: their probes are switched on."""
    return () if quantity.metric is None else get(quantity.metric).tables


def find_faults(quantities: Sequence[Quantity]) -> Iterator[StudyError]:
    """The quantities whose metric, options or unit do not fit; units only where all metrics fit."""
    fits = True
    for index, quantity in enumerate(quantities):
        for fault in _faults(index, quantity):
            fits = False
            yield fault
    by_name = {quantity.name: quantity for quantity in quantities}
    yield from _not_centred(by_name) if fits else ()
    for index, quantity in enumerate(by_name.values() if fits else ()):
        try:
            scale_of(quantity, by_name)
        except ValueError as error:
            key = "derived" if quantity.unit is None else "unit"
            yield problem_at(("quantities", index, key), str(error))


@cache
def _built_in_shapes() -> Mapping[str, Shape]:
    return {name: _shape(metric) for name, metric in built_in().items()}


def _shape(metric: Metric) -> Shape:
    return Shape(frozenset(metric.options), metric.unit, metric.many)


def _faults(index: int, quantity: Quantity) -> Iterator[StudyError]:
    if quantity.metric is None:
        return
    if quantity.metric not in built_in() and quantity.metric not in names():
        problem = f'there is no metric "{quantity.metric}"'
        right = nearest_metric(quantity.metric, names())
        yield problem_at(("quantities", index, "metric"), problem, right)
        return
    try:
        validate(_options(get(quantity.metric).measure), quantity.options)
    except StudyError as error:
        for one in (error, *error.others):
            # A missing option has no line of its own: the quantity has.
            path = one.path or ()
            missing = path and path[0] not in quantity.options
            problem = f"metric {quantity.metric}: {one.problem}"
            problem += f": options.{path[0]}" if missing else ""
            at = ("quantities", index, *(() if missing else ("options", *path)))
            yield problem_at(at, problem, one.right)


def _not_centred(quantities: Mapping[str, Quantity]) -> Iterator[StudyError]:
    """What quantities are adjusted for without being of expectation 0."""
    for index, quantity in enumerate(quantities.values()):
        for name in quantity.adjust_for:
            metric = quantities[name].metric if name in quantities else None
            if name in quantities and (metric is None or not get(metric).centred):
                problem = f'the expectation of "{name}" is not known to be 0'
                centred = [known for known in names() if get(known).centred]
                right = f"name a quantity of the metric {', '.join(centred)}"
                yield problem_at(("quantities", index, "adjust_for"), problem, right)


@cache
def _options(measure: Callable[..., Any]) -> type[Strict]:
    """A metric's options as a model: the keyword-only parameters of its function."""
    hints = get_type_hints(measure, include_extras=True)
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default)
        for p in inspect.signature(measure).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    return create_model("Options", __base__=Strict, **fields)
