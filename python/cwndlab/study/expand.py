"""Writes the short forms of a study file out in full: `[dumbbell]`, `[parking_lot]` and `measure`.

Everything that follows knows only the full form. `Expanded.origins` leads from its keys back to those that
were written, for messages.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.base import engine_kinds
from cwndlab.base.errors import Findings, KeyPath, StudyError, problem_at

from . import kernels, measures
from .added_axes import listed_parameters, vary_parameters
from .network_form import Expanded, NetworkForm
from .shorthand import NETWORKS, Short
from .validate import leave_out, validate

Raw = dict[str, Any]

SHORT = tuple(Short.model_fields)
"""The keys of the short form."""
#: The sections of a full study: what is simulated, varied, asked and shown.
ORDER = (
    *("title", "source", "about", "finding", "key_figure", "parameters", "topology", "traffic"),
    *("distributions", "tcp", "run"),
    *("probes", "limits", "phases", "axes", "grids", "cells", "sensitivity", "combinations"),
    *("quantities", "tables", "figures", "marks"),
)


def expand(raw: Mapping[str, Any], metrics: measures.Shapes) -> Expanded:
    """The study in full; a StudyError carries a path of the study as it was written."""
    several, listed = kernels.listed_kernels(raw), listed_parameters(raw)
    if not several and not listed and not any(key in raw for key in SHORT):
        return Expanded(dict(raw))
    _check_kinds(raw)
    made = Expanded(copy.deepcopy({key: value for key, value in raw.items() if key not in SHORT}))
    if listed:
        vary_parameters(made.raw, listed)
        made.origins |= {("axes", name): ("parameters", name) for name in listed}
    if several:
        kernels.add_axis(made.raw, several)
        made.origins["axes", kernels.AXIS] = ("run", "kernel")
    short = _read_short_forms({key: raw[key] for key in SHORT if key in raw}, made.wrong)
    networks = [name for name in NETWORKS if name in raw]
    if len(networks) > 1:
        raise problem_at((networks[1],), f"this study has a [{networks[0]}] already", "keep one of them")
    for name in networks:
        for section in ("topology", "traffic"):
            if section in raw:
                right = f"leave one out; `cwndlab expand` writes [{name}] out, to continue with there"
                raise problem_at((section,), f"[{name}] already makes the {section}", right)
        network = short.dumbbell or short.parking_lot
        if network is None:  # it is not a table, so there is nothing to expand
            made.wrong.report()
        else:
            NetworkForm(network, name, made).write()
    asked = short.measure
    if asked is None and networks and not raw.get("quantities"):
        asked = list(measures.DEFAULT)
    _measure(made, asked, metrics)
    if several:
        kernels.show(made.raw, several)
    made.raw = {key: made.raw[key] for key in sorted(made.raw, key=_position)}
    return made


def _read_short_forms(given: dict[str, Any], wrong: Findings) -> Short:
    """The short forms. What does not fit is noted and left out, so that the rest can be checked as well."""
    with wrong:
        return validate(Short, given)
    given = copy.deepcopy(given)
    for error in wrong.errors:
        leave_out(given, error.path or ())
    try:
        return validate(Short, given)
    except StudyError:
        wrong.report()
        raise


def _check_kinds(raw: Mapping[str, Any]) -> None:
    """StudyError for a section to which something is added and that is no table, or no list of tables."""
    groups = raw["tcp"].get("groups", {}) if isinstance(raw.get("tcp"), dict) else {}
    tables = [
        *(((key,), raw.get(key, {})) for key in ("axes", "parameters", "tcp")),
        (("tcp", "groups"), groups),
    ]
    for path, value in tables:
        if not isinstance(value, dict):
            raise problem_at(path, f"{value!r} does not fit", "it must be a table { … }")
    for key in ("traffic", "quantities"):
        if not isinstance(raw.get(key, []), list):
            raise problem_at((key,), f"{raw[key]!r} does not fit", "it must be a list [ … ]")


def _position(key: str) -> int:
    """Where a reader looks for a section."""
    return ORDER.index(key) if key in ORDER else len(ORDER)


def _names_several_lines(part: object) -> bool:
    """Whether a part of a study names a queue with several lines."""
    if isinstance(part, dict | list):
        return any(map(_names_several_lines, part.values() if isinstance(part, dict) else part))
    return isinstance(part, str) and part in engine_kinds.SEVERAL_LINES


def _measure(made: Expanded, asked: Sequence[str] | None, metrics: measures.Shapes) -> None:
    """Quantities, tables and figures of what is to be measured."""
    raw = made.raw
    if not made.flows:
        entries = [entry for entry in raw.get("traffic", []) if isinstance(entry, dict)]
        made.flows = {str(entry.get("name")): engine_kinds.is_endless(entry.get("app")) for entry in entries}
    flows = measures.Flows(
        dict(made.flows),
        made.bottlenecks,
        any(map(_names_several_lines, (raw.get("topology"), raw.get("axes")))),
        made.round_trip,
    )
    known = [
        str(quantity.get("name")) for quantity in raw.get("quantities", []) if isinstance(quantity, dict)
    ]
    groups: dict[str, measures.Measured] = {}
    for position, name in enumerate(asked or []):
        at: KeyPath = ("measure", position)
        with made.wrong:
            group = measures.quantities_of(name, flows, metrics, at)
            if group.name in groups:
                raise problem_at(at, f'"{group.name}" is listed already', "leave one of them out")
            groups[group.name] = group
            for quantity in group.quantities:
                made.origins["quantities", len(known)] = at
                if quantity["name"] not in known:
                    raw.setdefault("quantities", []).append(quantity)
                    known.append(quantity["name"])
    if not groups or raw.get("grids"):
        return  # which axes the cells of a grid have is for the study to say
    axes = {
        name: [value.get("name") if isinstance(value, dict) else value for value in axis.get("values", [])]
        for name, axis in raw.get("axes", {}).items()
        if isinstance(axis, dict) and isinstance(axis.get("values"), list)
    }
    titles = {name: raw["axes"][name].get("title") or name.replace("_", " ") for name in axes}
    for section, shown in (
        ("tables", measures.tables(list(groups.values()), axes)),
        ("figures", measures.figures(list(groups.values()), axes, titles)),
    ):
        own = raw.get(section, [])
        if shown and all(isinstance(one, dict) and one.get("kind") == "over-time" for one in own):
            raw[section] = [*shown, *own]
