"""What a study's short forms have to know of each metric."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cwndlab.spec.measures import Shape

from . import Metric, built_in, get, names


def shapes() -> Mapping[str, Shape]:
    """The options and the unit of every metric, and whether it gives a list."""
    own = {name: _shape(get(name)) for name in names() if name not in _built_in()}
    return {**_built_in(), **own}


@cache
def _built_in() -> Mapping[str, Shape]:
    return {name: _shape(metric) for name, metric in built_in().items()}


def _shape(metric: Metric) -> Shape:
    return Shape(frozenset(metric.options), metric.unit, metric.many)
