"""What a study must fulfil beyond its keys: names that refer to something, axes that change something, files
that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cwndlab.errors import KeyPath, StudyError, nearest

from . import schema
from .expr import names_in
from .files import read_csv
from .findings import Findings
from .outputs import FIGURE_KEYS, Figure, Listing, Table
from .resolve import Names, references
from .study import StudySpec
from .values import same_value

#: Columns of the tables of results, next to one for each axis.
COLUMNS = ("cell", "replicate", "quantity", "unit", "value", "ci_low", "ci_high", "replicates", "method")


def check_study(study: StudySpec, findings: Findings) -> set[str]:
    """Notes where parts of the study contradict each other; returns the sections that cannot be relied on."""
    for check in (_axes, _names, _parameters, _grids, _tables, _published, _figures, _marks):
        with findings:
            check(study)
    before = len(findings.errors)
    with findings:
        _quantities(study)
        for fault in study.catalogue.metrics.faults(study.outline.quantities):
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
    for name in outline.axes:
        if name in COLUMNS:
            problem = f'the tables of results have a column "{name}" of their own'
            raise _fail(study, ("axes", name), problem, "give the axis another name")
        # in a cell without the axis the parameter counts, and without grids there is no such cell
        if name in outline.parameters and not outline.grids:
            line = study.place.error(("parameters", name), "").line
            where = f"[parameters] {name}" + (f" (line {line})" if line else "")
            right = "give one of them another name, or leave the parameter out"
            raise _fail(study, ("axes", name), f"this axis and {where} have the same name", right)
    for name in outline.sensitivity:
        if name in outline.axes:
            raise _fail(study, ("sensitivity", name), f'"{name}" is an axis already', "give it another name")
        _selection(study, outline.sensitivity[name].where, ("sensitivity", name, "where"))
        for k, value in enumerate(outline.sensitivity[name].values):
            if isinstance(value, schema.Choice):
                for quantity in (*value.read, *value.read.values()):
                    _quantity(study, quantity, ("sensitivity", name, "values", k, "read"))


def _parameters(study: StudySpec) -> None:
    """Circles and mistakes are found in parameters that nothing uses, too."""
    names = Names(
        study.outline.parameters, {name: axis.names[0] for name, axis in study.outline.axes.items()}
    )
    for name in study.outline.parameters:
        try:
            names[name]
        except StudyError as error:
            raise study.place.locate(error) from None


def _names(study: StudySpec) -> None:
    """References to names that are neither parameter nor axis are found here, so that they are found in every
    cell.
    """
    known = {*study.outline.parameters, *study.outline.axes, *study.outline.sensitivity}
    findings = Findings()
    for section in schema.MODEL_SECTIONS:
        for path, text in _texts(study.raw.get(section), (section,)):
            for name in sorted(references(text) - known):
                problem = f'"{name}" is neither a parameter nor an axis'
                findings.note(_fail(study, path, problem, nearest(name, known)))
    findings.report()


def _texts(value: Any, path: KeyPath) -> Iterable[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def _axis(study: StudySpec, axis: str, path: KeyPath) -> None:
    if axis not in study.outline.axes:
        raise _fail(study, path, f'there is no axis "{axis}"', nearest(axis, study.outline.axes))


def _once(study: StudySpec, what: str, names: Sequence[str], index: int, path: KeyPath) -> None:
    if names.index(names[index]) != index:
        raise _fail(study, path, f'{what} "{names[index]}" is defined twice')


def _axis_value(study: StudySpec, axis: str, value: Any, path: KeyPath) -> None:
    axes = study.outline.axes
    _axis(study, axis, path)
    for wanted in value if isinstance(value, list) else [value]:
        if not any(same_value(wanted, known) for known in axes[axis].names):
            names = [str(name) for name in axes[axis].names]
            raise _fail(study, path, f"axis {axis} has no value {wanted!r}", nearest(str(wanted), names))


def _selection(study: StudySpec, where: Mapping[str, Any], path: KeyPath) -> None:
    for axis, value in where.items():
        _axis_value(study, axis, value, (*path, axis))


def _grids(study: StudySpec) -> None:
    outline = study.outline
    axes = outline.axes
    known = {*axes, *outline.parameters}
    for index, grid in enumerate(outline.grids):
        at: KeyPath = ("grids", index)
        for axis in [*grid.axes, *(axis for group in grid.zip for axis in group)]:
            _axis(study, axis, (*at, "axes"))
        _selection(study, grid.where, (*at, "where"))
        for position, cell in enumerate(grid.cells):
            _selection(study, cell, (*at, "cells", position))
        if grid.cells and (grid.axes or grid.zip):
            raise _fail(study, (*at, "cells"), "a grid has either `cells` or `axes`", "make two grids")
        if grid.when is not None:
            try:
                unknown = sorted(names_in(grid.when) - known)
            except StudyError as error:
                raise study.place.locate(error, (*at, "when")) from None
            if unknown:
                raise _fail(
                    study,
                    (*at, "when"),
                    f'"{unknown[0]}" is neither axis nor parameter',
                    nearest(unknown[0], known),
                )
        for name, value in grid.where.items():
            if isinstance(value, list) and name not in grid.swept_axes:
                problem = f'axis "{name}" is held at one value, since it is not among the axes of the grid'
                raise _fail(study, (*at, "where", name), problem, "write one value, or name it in `axes`")
    for name, cell in outline.cells.items():
        _selection(study, cell, ("cells", name))


def _published(study: StudySpec) -> None:
    """The files of published numbers, and their columns."""
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
    """An error in another file keeps that file's place; one about the name gets the key's."""
    return error if error.file is not None and error.line is not None else study.place.locate(error, path)


def _quantities(study: StudySpec) -> None:
    quantities = {quantity.name: quantity for quantity in study.outline.quantities}
    findings = Findings()
    for index, quantity in enumerate(study.outline.quantities):
        at: KeyPath = ("quantities", index)
        with findings:
            _once(study, "quantity", [q.name for q in study.outline.quantities], index, (*at, "name"))
        for name in quantity.operands:
            with findings:
                _quantity(study, name, (*at, "derived"))
    findings.report()
    _no_circles(study, quantities)


def _no_circles(study: StudySpec, quantities: Mapping[str, schema.Quantity]) -> None:
    for name in quantities:
        seen: list[str] = []
        todo = [name]
        while todo:
            here = todo.pop()
            if here == name and seen:
                index = list(quantities).index(name)
                raise _fail(
                    study, ("quantities", index, "derived"), f'quantity "{name}" is derived from itself'
                )
            if here not in seen:
                seen.append(here)
                todo += quantities[here].operands


def _quantity(study: StudySpec, name: str, path: KeyPath) -> None:
    known = [quantity.name for quantity in study.outline.quantities]
    if name not in known:
        raise _fail(study, path, f'there is no quantity "{name}"', nearest(name, known))


def _tables(study: StudySpec) -> None:
    findings = Findings()
    for index, table in enumerate(study.outline.tables):
        with findings:
            _table(study, index, table)
    findings.report()


def _table(study: StudySpec, index: int, table: Table | Listing) -> None:
    findings, at = Findings(), ("tables", index)
    with findings:
        _once(study, "table", [known.id for known in study.outline.tables], index, (*at, "id"))
        _selection(study, table.where, (*at, "where"))
    with findings:
        if isinstance(table, Table):
            for axis in table.rows:
                _axis(study, axis, (*at, "rows"))
            for position, column in enumerate(table.columns):
                here: KeyPath = (*at, "columns", position)
                with findings:
                    _quantity(study, column.quantity, (*here, "quantity"))
                    _selection(study, column.where, (*here, "where"))
                    if column.compare is not None:
                        _selection(study, column.compare.to, (*here, "compare", "to"))
        else:
            for axis in table.axes.values():
                _axis(study, axis, (*at, "axes"))
            for position, variant in enumerate(table.variants):
                _selection(study, variant.where, (*at, "variants", position, "where"))
    findings.report()


def _figures(study: StudySpec) -> None:
    findings = Findings()
    for index, figure in enumerate(study.outline.figures):
        with findings:
            _figure(study, index, figure)
    findings.report()


def _figure(study: StudySpec, index: int, figure: Figure) -> None:
    findings, at = Findings(), ("figures", index)
    with findings:
        _once(study, "figure", [known.id for known in study.outline.figures], index, (*at, "id"))
        _selection(study, figure.where, (*at, "where"))
    with findings:
        for name in figure.drawn:
            key = "quantities" if figure.quantities else "quantity" if name == figure.quantity else "x"
            _quantity(study, name, (*at, key))
        if figure.compare is not None:
            _selection(study, figure.compare.to, (*at, "compare", "to"))
    for key, names in (
        ("panels", [figure.panels] if figure.panels else []),
        ("series", figure.series),
        ("x", [figure.x] if figure.x and figure.x not in ("index", *figure.drawn) else []),
    ):
        for axis in names:
            with findings:
                _axis(study, axis, (*at, key))
    with findings:
        _figure_keys(study, figure, at)
    findings.report()


def _figure_keys(study: StudySpec, figure: Figure, at: KeyPath) -> None:
    """Keys that this kind of figure does not take, and values that do not fit together."""
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


def _marks(study: StudySpec) -> None:
    ids = [table.id for table in study.outline.tables]
    for index, mark in enumerate(study.outline.marks):
        if mark.table not in ids:
            raise _fail(
                study,
                ("marks", index, "table"),
                f'there is no table "{mark.table}"',
                nearest(mark.table, ids),
            )
