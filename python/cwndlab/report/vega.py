"""Vega-Lite charts as what they are, JSON: the few parts that figures are made of.

Altair makes the same objects, but importing it takes longer than most small studies; it is used only where a
chart is handed to a notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]
"""A chart, or a part of one."""

_TYPES = {"Q": "quantitative", "N": "nominal"}


def field(name: str, **options: Any) -> Spec:
    """A channel that shows a field of the data: "time:Q" for numbers, "series:N" for names."""
    name, _, kind = name.partition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def look_by_name(name: str, names: Sequence[str], looks: Sequence[Any], **options: Any) -> Spec:
    """A channel that gives each name its look: a colour, dashes, a shape, a width."""
    return field(name, scale={"domain": list(names), "range": list(looks)}, **options)


def mark(kind: str, encoding: Spec, *, only: str = "", **options: Any) -> Spec:
    """A mark with its channels; `only` is a condition on the data that it shows."""
    shown = {"mark": {"type": kind, **options}, "encoding": encoding}
    return {**shown, "transform": [{"filter": only}]} if only else shown


def single(data: str, shown: Spec) -> Spec:
    """A chart of one mark, of the data set of that name."""
    return {"data": {"name": data}, **shown}


def layered(data: str, layers: Sequence[Spec]) -> Spec:
    """A chart of several marks of one data set, each on top of those before it."""
    return {"data": {"name": data}, "layer": list(layers)}
