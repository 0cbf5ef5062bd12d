"""Axes that a study does not define as such: a list of kernels, and parameters with several values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import WithJsonSchema

from .outputs import Scalar

Raw = dict[str, Any]
PARAMETERS = "parameters"
_SCALARS = {"anyOf": [{"type": kind} for kind in ("boolean", "integer", "number", "string")]}
Parameter = Annotated[
    Scalar, WithJsonSchema({"anyOf": [*_SCALARS["anyOf"], {"type": "array", "items": _SCALARS}]})
]
"""A parameter's value; axes are made of lists before this is read, and before the next one is."""
Kernel = Annotated[
    str | None,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A kernel's name."""


def listed_parameters(raw: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The parameters with a list of values that no axis has the name of."""
    parameters, axes, grids = raw.get(PARAMETERS), raw.get("axes", {}), raw.get("grids", [])
    sound = isinstance(axes, Mapping) and isinstance(grids, list)
    if not sound or not isinstance(parameters, Mapping) or not all(isinstance(g, Mapping) for g in grids):
        return {}  # which is an error elsewhere
    return {name: v for name, v in parameters.items() if isinstance(v, list) and name not in axes}


def vary_parameters(raw: Raw, listed: Mapping[str, list[Any]]) -> None:
    """Makes axes of these parameters."""
    raw[PARAMETERS] = {name: value for name, value in raw[PARAMETERS].items() if name not in listed}
    for name, several in listed.items():
        vary(raw, name, {"values": several})


def vary(raw: Raw, name: str, axis: Raw) -> None:
    """Adds an axis, which every grid varies."""
    raw["axes"] = {**raw.get("axes", {}), name: axis}
    if "grids" in raw:
        raw["grids"] = [_varied(grid, name, axis["values"]) for grid in raw["grids"]]


def _varied(grid: Raw, name: str, several: Iterable[Any]) -> Raw:
    if "cells" in grid:
        return {**grid, "cells": [{**cell, name: value} for cell in grid["cells"] for value in several]}
    return {**grid, "axes": [*grid.get("axes", ()), name]}
