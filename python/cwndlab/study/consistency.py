"""Checks across a study: names refer to something, axes change something, files exist, quantities match
metrics.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model

from cwndlab.base.engine_kinds import is_program
from cwndlab.base.errors import Findings, KeyPath, StudyError, nearest, problem_at
from cwndlab.metrics import built_in, find_scale, get, names

from . import schema
from .base import Strict
from .expr import names_in
from .files import read_csv
from .grammar import Compare
from .measures import nearest_metric
from .outputs import FIGURE_KEYS, Column, Figure, Listing, Mark, Table, Variant
from .resolve import Names, references
from .schema import Quantity
from .study_spec import StudySpec
from .validate import validate
from .values import is_among

#: Columns of result tables other than axes; no axis may have such a name.
COLUMNS = {"cell", "replicate", "index", "quantity", "unit", "value"}
COLUMNS |= {"ci_low", "ci_high", "replicates", "method", "warning"}


def check_study(study: StudySpec, findings: Findings) -> set[str]:
    """Adds an error for each contradiction in the study; returns the sections that must not be used."""
    for check in (_axes, _names, _parameters, _references, _grids, _published, _figures):
        with findings:
            check(study)
    before = len(findings.errors)
    with findings:
        _quantities(study)
        for fault in _find_faults(study.outline.quantities):
            findings.note(study.place.locate(fault))
    return {"quantities"} if len(findings.errors) > before else set()


def _fail(study: StudySpec, path: KeyPath, problem: str, right: str | None = None) -> StudyError:
    return study.place.error(path, problem, right)


def _axes(study: StudySpec) -> None:
    outline = study.outline
    used: set[str] = set()
    for section in (*schema.MODEL_SECTIONS, "parameters"):
        used |= references(study.raw.get(section))
    for axis_of, section in ((outline.axes, "axes"), (outline.sensitivity, "sensitivity")):
        for name, axis in axis_of.items():
            for value in axis.values:
                if isinstance(value, schema.AxisValue):
                    used |= references(value.set)
            sets = axis.sets is not None or any(
                isinstance(v, schema.AxisValue) and (v.set or (isinstance(v, schema.Choice) and v.read))
                for v in axis.values
            )
            if not sets and name not in used:
                raise _fail(
                    study,
                    (section, name),
                    "this axis names no parameter: it sets nothing and is used nowhere",
                    f'give it sets = "tcp.initial_window" (say), or write "${name}" where the value belongs',
                )
        quantities = {quantity.name for quantity in outline.quantities}
        for name in (COLUMNS | quantities) & axis_of.keys():
            problem = f'the tables of results have a column "{name}" of their own'
            if name in quantities:
                problem = f'a quantity is called "{name}", too'
            raise _fail(study, (section, name), problem, "give the axis another name")
    for name in outline.axes:
        # A parameter may set the value for cells without the axis, but only grids make such cells.
        if name in outline.parameters and not outline.grids:
            line = study.place.error(("parameters", name), "").line
            where = f"[parameters] {name}" + (f" (line {line})" if line else "")
            right = "give one of them another name, or leave the parameter out"
            raise _fail(study, ("axes", name), f"this axis and {where} have the same name", right)
    for name in outline.sensitivity:
        if name in outline.axes:
            raise _fail(study, ("sensitivity", name), f'"{name}" is an axis already', "give it another name")


def _parameters(study: StudySpec) -> None:
    """Resolves all parameters, to find cycles and mistakes even in unused ones."""
    names = Names(
        study.outline.parameters, {name: axis.names[0] for name, axis in study.outline.axes.items()}
    )
    for name in study.outline.parameters:
        try:
            names[name]
        except StudyError as error:
            raise study.place.locate(error) from None


def _names(study: StudySpec) -> None:
    """Reports references to names that are neither parameters nor axes, even if no cell uses them."""
    names = {*study.outline.parameters, *study.outline.axes, *study.outline.sensitivity}
    findings = Findings()
    for section in schema.MODEL_SECTIONS:
        for path, text, program in _texts(study.raw.get(section), (section,)):
            for name in sorted(references(text, program=program) - names):
                problem = f'"{name}" is neither a parameter nor an axis'
                findings.note(_fail(study, path, problem, nearest(name, names)))
    findings.report()


def _texts(value: Any, path: KeyPath, *, program: bool = False) -> Iterable[tuple[KeyPath, str, bool]]:
    """Yields each text in a part of the study, with its path and whether it belongs to a program."""
    if isinstance(value, str):
        yield path, value, program
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key), program=program or is_program(value))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index), program=program)


#: The keys of each model that name axes, quantities, tables, or (by axis values) cells.
_NAMES: Mapping[type[BaseModel], Mapping[str, str]] = {
    schema.Sensitivity: {"where": "cells"},
    schema.Choice: {"read": "quantity"},
    schema.Quantity: {"adjust_for": "quantity"},
    schema.Grid: {"axes": "axis", "zip": "axis", "where": "cells", "cells": "cells"},
    Table: {"rows": "axis", "where": "cells"},
    Column: {"quantity": "quantity", "where": "cells", "compare": "cells"},
    Listing: {"axes": "axis", "where": "cells"},
    Variant: {"where": "cells"},
    Figure: {"where": "cells", "series": "axis", "quantity": "quantity"}
    | {"quantities": "quantity", "compare": "cells"},
    Mark: {"table": "table"},
}


def _references(study: StudySpec) -> None:
    """Reports axes, values, quantities and tables that are named but not defined, and names defined twice."""
    outline, findings = study.outline, Findings()
    for section in type(outline).model_fields:
        for to, value, path in _named(getattr(outline, section), (section,)):
            with findings:
                _known(study, to, value, path)
    for name, cell in outline.cells.items():
        with findings:
            _known(study, "cells", cell, ("cells", name))
    for section, key, what in _UNIQUE:
        names = [getattr(entry, key) for entry in getattr(outline, section)]
        for index, name in enumerate(names):
            if names.index(name) != index:
                findings.note(_fail(study, (section, index, key), f'{what} "{name}" is defined twice'))
    findings.report()


#: Sections whose entries have unique names: the section, the key of the name, the word for an entry.
_UNIQUE = (("quantities", "name", "quantity"), ("tables", "id", "table"), ("figures", "id", "figure"))


def _named(value: Any, at: KeyPath) -> Iterator[tuple[str, Any, KeyPath]]:
    """Yields the names in a part of the study: the kind of thing named, the name, and its path."""
    if isinstance(value, BaseModel):
        keys = _NAMES.get(type(value), {})
        for key in type(value).model_fields:
            if (inner := getattr(value, key)) is not None:
                inside = _named(inner, (*at, key)) if key not in keys else [(keys[key], inner, (*at, key))]
                yield from inside
    elif isinstance(value, list | dict):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _named(item, (*at, step))


def _known(study: StudySpec, what: str, named: Any, path: KeyPath) -> None:
    """StudyError if `named` is not an axis, a value of an axis, a quantity or a table of the study."""
    outline = study.outline
    if isinstance(named, Compare):
        named = named.to
    if what == "cells" and not isinstance(named, list):
        for axis, value in named.items():
            at = path if path[-1] == "compare" else (*path, axis)
            _known(study, "axis", axis, at)
            names = outline.axes[axis].names
            for wanted in value if isinstance(value, list) else [value]:
                if not is_among(wanted, names):
                    right = nearest(str(wanted), map(str, names))
                    raise _fail(study, at, f"axis {axis} has no value {wanted!r}", right)
        return
    if isinstance(named, list):
        for index, entry in enumerate(named):
            _known(study, what, entry, (*path, index) if what == "cells" else path)
        return
    if isinstance(named, dict):
        _known(study, what, [*(named if what == "quantity" else ()), *named.values()], path)
        return
    defined = {
        "axis": outline.axes,
        "quantity": [quantity.name for quantity in outline.quantities],
        "table": [table.id for table in outline.tables],
    }[what]
    if named not in defined:
        raise _fail(study, path, f'there is no {what} "{named}"', nearest(named, defined))


def _grids(study: StudySpec) -> None:
    names = {*study.outline.axes, *study.outline.parameters}
    for index, grid in enumerate(study.outline.grids):
        at: KeyPath = ("grids", index)
        if grid.cells and (grid.axes or grid.zip):
            raise _fail(study, (*at, "cells"), "a grid has either `cells` or `axes`", "make two grids")
        if grid.when is not None:
            try:
                unknown = sorted(names_in(grid.when) - names)
            except StudyError as error:
                raise study.place.locate(error, (*at, "when")) from None
            if unknown:
                problem = f'"{unknown[0]}" is neither axis nor parameter'
                raise _fail(study, (*at, "when"), problem, nearest(unknown[0], names))
        for name, value in grid.where.items():
            if isinstance(value, list) and name not in grid.swept_axes:
                problem = f'axis "{name}" is held at one value, since it is not among the axes of the grid'
                raise _fail(study, (*at, "where", name), problem, "write one value, or name it in `axes`")


def _published(study: StudySpec) -> None:
    """Checks that files of published numbers are readable and have the columns that tables name."""
    for index, table in enumerate(study.outline.tables):
        if table.published is None:
            continue
        at: KeyPath = ("tables", index, "published")
        try:
            columns = read_csv(study.folder, table.published).columns
        except StudyError as error:
            raise locate_outside(study, error, at) from None
        if isinstance(table, Listing):
            named: list[tuple[str | None, KeyPath]] = [
                (name, at) for name in [*table.axes, "time_s", "event"]
            ]
        else:
            named = [
                (column.published, ("tables", index, "columns", position, "published"))
                for position, column in enumerate(table.columns)
            ]
        for name, path in named:
            if name is not None and name not in columns:
                problem = f'{table.published} has no column "{name}"'
                raise _fail(study, path, problem, nearest(name, columns))


def locate_outside(study: StudySpec, error: StudyError, path: KeyPath) -> StudyError:
    """The error, with the place of the key at `path` unless it already has a file and a line."""
    return error if error.file is not None and error.line is not None else study.place.locate(error, path)


def _quantities(study: StudySpec) -> None:
    """Checks that quantities are derived from quantities of the study, and not from themselves."""
    quantities = {quantity.name: quantity for quantity in study.outline.quantities}
    findings = Findings()
    for index, quantity in enumerate(study.outline.quantities):
        for name in quantity.operands:
            with findings:
                _known(study, "quantity", name, ("quantities", index, "derived"))
    findings.report()
    for index, name in enumerate(quantities):
        seen: list[str] = []
        todo = list(quantities[name].operands)
        while todo:
            here = todo.pop()
            if here == name:
                problem = f'quantity "{name}" is derived from itself'
                raise _fail(study, ("quantities", index, "derived"), problem)
            if here not in seen:
                seen.append(here)
                todo += quantities[here].operands


def _figures(study: StudySpec) -> None:
    findings = Findings()
    for index, figure in enumerate(study.outline.figures):
        at = ("figures", index)
        with findings:
            if figure.x and figure.x != "index":
                what = "quantity" if figure.kind == "ellipse" else "axis"
                _known(study, what, figure.x, (*at, "x"))
        with findings:
            if figure.panel_axis:
                _known(study, "axis", figure.panel_axis, (*at, "panels"))
        with findings:
            _figure_keys(study, figure, at)
    findings.report()


def _figure_keys(study: StudySpec, figure: Figure, at: KeyPath) -> None:
    """StudyError for a key that this kind of figure does not have, or for contradictory values."""
    for key, kinds in FIGURE_KEYS.items():
        if key in figure.model_fields_set and figure.kind not in kinds:
            right = f"it belongs to {' and '.join(kinds)} figures"
            raise _fail(study, (*at, key), f"`{key}` has no effect in a {figure.kind} figure", right)
    if figure.until is not None and figure.until <= (figure.start or 0.0):
        raise _fail(study, (*at, "until"), "this ends before it begins", "make `until` later than `start`")
    if figure.log_x and figure.x in study.outline.axes:
        for value in study.outline.axes[str(figure.x)].names:
            if isinstance(value, bool | str) or value <= 0:
                problem = f"axis {figure.x} has the value {value!r}, which a logarithmic axis cannot show"
                raise _fail(study, (*at, "log_x"), problem, "leave out log_x")


# ── quantities and their metrics ──────────────────────────────────────────────────────────────────────────


def _find_faults(quantities: Sequence[Quantity]) -> Iterator[StudyError]:
    """Errors in quantities' metrics, options and units; units are checked if there are no other errors."""
    fits = True
    for index, quantity in enumerate(quantities):
        for fault in _faults(index, quantity):
            fits = False
            yield fault
    by_name = {quantity.name: quantity for quantity in quantities}
    yield from _not_centred(by_name) if fits else ()
    for index, quantity in enumerate(by_name.values() if fits else ()):
        try:
            find_scale(quantity, by_name)
        except ValueError as error:
            key = "derived" if quantity.unit is None else "unit"
            yield problem_at(("quantities", index, key), str(error))


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
        for fault in (error, *error.others):
            # A missing option has no line, so report the line of the quantity.
            path = fault.path or ()
            missing = path and path[0] not in quantity.options
            problem = f"metric {quantity.metric}: {fault.problem}"
            problem += f": options.{path[0]}" if missing else ""
            at = ("quantities", index, *(() if missing else ("options", *path)))
            yield problem_at(at, problem, fault.right)


def _not_centred(quantities: Mapping[str, Quantity]) -> Iterator[StudyError]:
    """Errors for quantities in `adjust_for` whose expectation is not known to be 0."""
    for index, quantity in enumerate(quantities.values()):
        for name in quantity.adjust_for:
            metric = quantities[name].metric if name in quantities else None
            if name in quantities and (metric is None or not get(metric).centred):
                problem = f'the expectation of "{name}" is not known to be 0'
                centred = [other for other in names() if get(other).centred]
                right = f"name a quantity of the metric {', '.join(centred)}"
                yield problem_at(("quantities", index, "adjust_for"), problem, right)


@cache
def _options(measure: Callable[..., Any]) -> type[Strict]:
    """The keyword-only parameters of a metric's function as a model, which validates options."""
    hints = get_type_hints(measure, include_extras=True)
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default)
        for p in inspect.signature(measure).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    return create_model("Options", __base__=Strict, **fields)
