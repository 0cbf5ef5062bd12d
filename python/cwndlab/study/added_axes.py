"""Axes that a study does not define in [axes]: from a list of kernels, or a parameter with several values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import WithJsonSchema

from cwndlab.base.errors import problem_at

from .outputs import Scalar

Raw = dict[str, Any]
PARAMETERS = "parameters"
#: The axis for a list of kernels; the list's dotted key, and its path.
KERNEL_AXIS, KERNELS, KERNELS_AT = "kernel", "run.kernel", ("run", "kernel")
#: The end of the title of a table or figure that shows one kernel.
TITLE_SUFFIX = " (kernel {})"
_SCALARS = {"anyOf": [{"type": kind} for kind in ("boolean", "integer", "number", "string")]}
Parameter = Annotated[
    Scalar, WithJsonSchema({"anyOf": [*_SCALARS["anyOf"], {"type": "array", "items": _SCALARS}]})
]
"""A parameter's value. A file may have a list, which `expand` turns into an axis first."""
Kernel = Annotated[
    str | None,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A kernel's name. A file may have a list, which `expand` turns into an axis first."""


def listed_parameters(raw: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The parameters with a list of values, except those with the name of an axis."""
    parameters, axes, grids = raw.get(PARAMETERS), raw.get("axes", {}), raw.get("grids", [])
    sound = isinstance(axes, Mapping) and isinstance(grids, list)
    if not sound or not isinstance(parameters, Mapping) or not all(isinstance(g, Mapping) for g in grids):
        return {}  # other checks report the error
    return {name: v for name, v in parameters.items() if isinstance(v, list) and name not in axes}


def vary_parameters(raw: Raw, listed: Mapping[str, list[Any]]) -> None:
    """Turns each of these parameters into an axis with the listed values."""
    raw[PARAMETERS] = {name: value for name, value in raw[PARAMETERS].items() if name not in listed}
    for name, several in listed.items():
        vary(raw, name, {"values": several})


def vary(raw: Raw, name: str, axis: Raw) -> None:
    """Adds an axis to the study, and to each of its grids."""
    raw["axes"] = {**raw.get("axes", {}), name: axis}
    if "grids" in raw:
        raw["grids"] = [_varied(grid, name, axis["values"]) for grid in raw["grids"]]


def _varied(grid: Raw, name: str, several: Iterable[Any]) -> Raw:
    if "cells" in grid:
        return {**grid, "cells": [{**cell, name: value} for cell in grid["cells"] for value in several]}
    return {**grid, "axes": [*grid.get("axes", ()), name]}


def listed_kernels(raw: Mapping[str, Any]) -> list[str]:
    """The kernels that a study lists; empty without a list. StudyError for an invalid list."""
    run = raw.get("run")
    names = run.get(KERNEL_AXIS) if isinstance(run, Mapping) else None
    if not isinstance(names, list) or not _has_lists(raw):
        return []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise problem_at(KERNELS_AT, f"{names!r} does not fit", 'different names in quotes: ["6.12", "7.3"]')
    if KERNEL_AXIS in raw.get("axes", {}):
        right = f"leave out [axes.{KERNEL_AXIS}], or name one kernel"
        raise problem_at(KERNELS_AT, f"an axis {KERNEL_AXIS} is defined already", right)
    return names


def _has_lists(raw: Mapping[str, Any]) -> bool:
    """Whether the sections that a list of kernels changes have valid types; other checks report errors."""

    def tables(of: Mapping[str, Any], key: str) -> bool:
        parts = of.get(key, [])
        return isinstance(parts, list) and all(isinstance(part, Mapping) for part in parts)

    return (
        isinstance(raw.get("axes", {}), Mapping)
        and all(tables(raw, key) for key in ("grids", "tables", "figures", "marks"))
        and all(tables(table, "columns") for table in raw.get("tables", ()))
        and all({"id", "title"} <= part.keys() for key in ("tables", "figures") for part in raw.get(key, ()))
    )


def vary_kernels(raw: Raw, names: Sequence[str]) -> None:
    """Turns the list of kernels into an axis, which is added to each grid."""
    raw["run"] = {**raw["run"], KERNEL_AXIS: names[0]}
    vary(raw, KERNEL_AXIS, {"title": "kernel", "sets": KERNELS, "values": list(names)})
