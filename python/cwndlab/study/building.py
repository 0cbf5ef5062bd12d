"""Builds a study from its document: expands short forms, checks every key and the study's consistency.

All later steps read only the expanded form. `Expanded.origins` maps the paths of its keys to the paths of the
keys in the file, for error messages.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import date, time
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from cwndlab.base import engine_kinds
from cwndlab.base.errors import Findings, KeyPath, StudyError, nearest, problem_at

from . import measures, schema
from .added_axes import (
    KERNEL_AXIS,
    KERNELS_AT,
    listed_kernels,
    listed_parameters,
    vary_kernels,
    vary_parameters,
)
from .consistency import check_study
from .document import CLAIMS, MAX_DEPTH, Document, is_short, put_all, read_toml
from .network_form import Expanded, NetworkForm
from .place import Place
from .shorthand import NETWORKS, Short
from .study_spec import Catalogue, StudySpec, place_in
from .validate import leave_out, validate, validate_at
from .values import is_among

#: The most keys of a table, elements of a list, and tables in a list. Studies need fewer; the limits ensure
#: that all errors are found within seconds.
MAX_KEYS, MAX_ITEMS, MAX_TABLES = 1_000, 10_000, 1_000
NETWORK = (("topology", "links"), ("traffic",))
"""The lists that may have `MAX_ITEMS` tables: a network of a thousand hosts has a table for each host."""

SHORT = tuple(Short.model_fields)
"""The sections of the short form."""
#: The order of a study's sections: what is simulated, varied, measured and shown.
ORDER = (
    *("title", "source", "about", "finding", "key_figure", "parameters", "topology", "traffic"),
    *("distributions", "tcp", "run"),
    *("probes", "limits", "phases", "axes", "grids", "cells", "sensitivity", "combinations"),
    *("quantities", "tables", "figures", "marks"),
)

#: The class of the study to build: `StudySpec` or a class derived from it.
S = TypeVar("S", bound=StudySpec)


class Built(NamedTuple, Generic[S]):
    """A study, the errors found in it, and the sections that it lacks because of them."""

    study: S
    findings: Findings
    #: Names of sections with errors, without which the study was built.
    left_out: frozenset[str]


def build(kind: type[S], document: Document, catalogue: Catalogue) -> Built[S]:
    """The study of a document, with all errors that can be found without building its cells.

    `cwndlab.plan.plan` checks the cells. StudyError if the errors leave no study to build.
    """
    findings = Findings()
    raw = dict(document.written_tables)
    place = place_in(document, raw, {})
    _check_size(raw, place)
    keys = [*schema.StudyFile.model_fields, *SHORT]
    for key in [key for key in raw if key not in keys]:
        findings.note(place.error((key,), f"unknown key {key!r}", nearest(key, keys)))
        del raw[key]
    if findings.errors and not raw.keys() & {"topology", *NETWORKS}:
        raise findings.error()  # the network's key may be misspelt; all else would fail
    try:
        expanded = expand(raw)
    except StudyError as error:
        findings.note(place.locate(error))
        raise findings.error() from None
    for fault in expanded.wrong.errors:
        findings.note(place.locate(fault))
    full = _changed(expanded.raw, document)
    place = place_in(document, full, expanded.origins)
    if full is not expanded.raw:
        _check_size(full, place)
    rest = {key: value for key, value in full.items() if key not in schema.MODEL_SECTIONS}
    wrong: set[str] = set()
    try:
        outline = validate(schema.Outline, rest)
    except StudyError as error:
        findings.note(place.locate(error))
        wrong = {str(fault.path[0]) for fault in (error, *error.others) if fault.path}
        try:  # build without the wrong sections, to find errors in the model as well
            rest = {"title": "", **{key: value for key, value in rest.items() if key not in wrong}}
            outline = validate(schema.Outline, rest)
        except StudyError:
            raise findings.error() from None
    claims = schema.Claims()
    with findings:
        claims = _claims(document)
    study = kind(document, catalogue, full, expanded.origins, outline, claims)
    if expanded.wrong.errors:
        wrong |= {*document.networks, "measure"}
    if not wrong:
        wrong = check_study(study, findings)
    return Built(study, findings, frozenset(wrong))


def _changed(raw: dict[str, Any], document: Document) -> dict[str, Any]:
    """The expanded tables with the document's changes, and with new values for the axes it restricts."""
    changes = {key: value for key, value in document.changes.items() if not is_short(key, value)}
    for name, values in document.chosen.items():
        axis = raw.get("axes", {}).get(name) if isinstance(raw.get("axes"), Mapping) else None
        listed = axis.get("values") if isinstance(axis, Mapping) else None
        if isinstance(listed, list):
            new = [value for value in values if not is_among(value, _written_names(listed))]
            if new:
                changes[f"axes.{name}.values"] = [*changes.get(f"axes.{name}.values", listed), *new]
    return put_all(raw, changes, list(schema.StudyFile.model_fields), document.file) if changes else raw


def _written_names(values: Sequence[Any]) -> list[Any]:
    """The names of an axis's values as in the file; None for a table without a name."""
    return [value.get("name") if isinstance(value, Mapping) else value for value in values]


def _claims(document: Document) -> schema.Claims:
    if isinstance(document.claims, str):
        return _parse_claims(document.claims, document.folder) if document.claims else schema.Claims()
    raw = {"claims": [dict(claim) for claim in document.claims]}
    return validate_at(Place(raw, None, None), schema.Claims)


@lru_cache(maxsize=4)
def _parse_claims(text: str, folder: Path | None) -> schema.Claims:
    """The claims in the text of claims.toml; cached, because changes of a study do not affect them."""
    file = folder / CLAIMS if folder is not None else None
    return validate_at(Place(read_toml(text, file), file, text), schema.Claims)


def _check_size(raw: Mapping[str, Any], place: Place) -> None:
    """StudyError for tables that are nested too deeply, too large, or have values that no study may have."""
    if (deep := _depth(raw)) > MAX_DEPTH:
        raise StudyError(f"tables are nested {deep} deep", file=place.file, right=f"at most {MAX_DEPTH}")
    if (unfit := _unfit(raw)) is not None:
        raise place.error(*unfit)


def _unfit(value: Any, at: KeyPath = ()) -> tuple[KeyPath, str, str] | None:
    """The path, problem and remedy of the first value that no study may have; None if there is none."""
    if isinstance(value, date | time):  # a datetime is a date
        return at, "dates and times of day have no meaning in a study", "write it in quotes"
    if isinstance(value, int) and abs(value) >= 2**64:
        return at, "the number has more than 64 bits", "write a smaller one"
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        return at, f"there are {len(value)} keys", f"at most {MAX_KEYS:,}"
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        return at, f"the list has {len(value)} elements", f"at most {MAX_ITEMS:,}"
    if isinstance(value, list) and len(value) > MAX_TABLES:
        if at == ("measure",):  # each entry makes a table
            return at, f"the list has {len(value)} measures", f"at most {MAX_TABLES:,}"
        if at not in NETWORK and any(isinstance(item, dict) for item in value):
            return at, f"the list has {len(value)} tables", f"at most {MAX_TABLES:,}"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((misfit for key, item in items if (misfit := _unfit(item, (*at, key))) is not None), None)


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= MAX_DEPTH + 1:
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        deepest += 1
    return deepest


# ── short forms ──────────────────────────────────────────────────────────────────────────────────────────


def expand(raw: Mapping[str, Any]) -> Expanded:
    """The study with short forms expanded; the path of a StudyError is that in the file."""
    several, listed = listed_kernels(raw), listed_parameters(raw)
    if not several and not listed and not any(key in raw for key in SHORT):
        return Expanded(dict(raw))
    _check_kinds(raw)
    full = Expanded(copy.deepcopy({key: value for key, value in raw.items() if key not in SHORT}))
    if listed:
        vary_parameters(full.raw, listed)
        full.origins |= {("axes", name): ("parameters", name) for name in listed}
    if several:
        vary_kernels(full.raw, several)
        full.origins["axes", KERNEL_AXIS] = KERNELS_AT
    short = _read_short_forms({key: raw[key] for key in SHORT if key in raw}, full.wrong)
    networks = [name for name in NETWORKS if name in raw]
    if len(networks) > 1:
        raise problem_at((networks[1],), f"this study has a [{networks[0]}] already", "keep one of them")
    for name in networks:
        for section in ("topology", "traffic"):
            if section in raw:
                right = f"leave one out; `cwndlab expand` writes [{name}] out, to continue with there"
                raise problem_at((section,), f"[{name}] already makes the {section}", right)
        network = short.dumbbell or short.parking_lot or short.leaf_spine
        if network is None:  # not a table, so there is nothing to expand
            full.wrong.report()
        elif short.leaf_spine is not None:
            import_module("cwndlab.apps.fabric.form").FabricForm(network, name, full).write()
        else:
            NetworkForm(network, name, full).write()
    asked = short.measure
    if asked is None and networks and not raw.get("quantities"):
        asked = list(measures.DEFAULT)
    _measure(full, asked)
    if several:
        import_module("cwndlab.apps.several_kernels.side_by_side").show_kernels(full.raw, several)
    full.raw = {key: full.raw[key] for key in sorted(full.raw, key=_position)}
    return full


def _read_short_forms(given: dict[str, Any], wrong: Findings) -> Short:
    """The short forms in `given`. Notes errors in `wrong` and drops their keys, to check the rest as well."""
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
    """StudyError if a section that `expand` extends is not a table, or not a list."""
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
    """The index of a section in `ORDER`; sections that `ORDER` lacks come last."""
    return ORDER.index(key) if key in ORDER else len(ORDER)


def _names_several_lines(part: object) -> bool:
    """Whether a part of a study contains the name of a queue with a queue for each flow."""
    if isinstance(part, dict | list):
        return any(map(_names_several_lines, part.values() if isinstance(part, dict) else part))
    return isinstance(part, str) and part in engine_kinds.SEVERAL_LINES


def _measure(full: Expanded, asked: Sequence[str] | None) -> None:
    """Adds the quantities, tables and figures of the measures listed in `measure`."""
    raw = full.raw
    if not full.flows:
        entries = [entry for entry in raw.get("traffic", []) if isinstance(entry, dict)]
        full.flows = {
            str(entry.get("name")): engine_kinds.completed_objects(entry.get("app")) for entry in entries
        }
    flows = measures.Flows(
        dict(full.flows),
        full.bottlenecks,
        any(map(_names_several_lines, (raw.get("topology"), raw.get("axes")))),
        full.round_trip,
    )
    quantities = [
        str(quantity.get("name")) for quantity in raw.get("quantities", []) if isinstance(quantity, dict)
    ]
    groups: dict[str, measures.Measured] = {}
    for position, name in enumerate(asked or []):
        at: KeyPath = ("measure", position)
        with full.wrong:
            group = measures.make_quantities(name, flows, at)
            if group.name in groups:
                raise problem_at(at, f'"{group.name}" is listed already', "leave one of them out")
            groups[group.name] = group
            for quantity in group.quantities:
                full.origins["quantities", len(quantities)] = at
                if quantity["name"] not in quantities:
                    raw.setdefault("quantities", []).append(quantity)
                    quantities.append(quantity["name"])
    if not groups or raw.get("grids"):
        return  # cells of grids may have different axes, so the study has to define its tables
    axes = {
        name: _written_names(axis["values"])
        for name, axis in raw.get("axes", {}).items()
        if isinstance(axis, dict) and isinstance(axis.get("values"), list)
    }
    titles = {name: raw["axes"][name].get("title") or name.replace("_", " ") for name in axes}
    for section, shown in (
        ("tables", measures.tables(list(groups.values()), axes)),
        ("figures", measures.figures(list(groups.values()), axes, titles)),
    ):
        own = raw.get(section, [])
        if shown and all(isinstance(part, dict) and part.get("kind") == "over-time" for part in own):
            raw[section] = [*shown, *own]
