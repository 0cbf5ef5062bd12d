"""What a study's short forms have to know of each metric."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache

from cwndlab.spec.measures import Shape

from . import get, names


@cache
def shapes() -> Mapping[str, Shape]:
    """The options and the unit of every metric, and whether it gives a list."""
    found = {}
    for name in names():
        metric = get(name)
        signature = inspect.signature(metric.measure)
        options = frozenset(p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY)
        found[name] = Shape(options, metric.unit, str(signature.return_annotation).startswith("list"))
    return found
