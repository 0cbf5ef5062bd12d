"""A study: what is simulated, varied, measured and shown, and the model of each of its cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cwndlab.base.errors import Findings, KeyPath, StudyError
from cwndlab.base.laws import LawCode

from . import schema
from .document import Document
from .place import Place, dotted_key
from .resolve import Names, put, resolve, steps
from .validate import leave_out, validate
from .values import label
from .windows import resolve_windows

#: The sections whose keys axes and `--set` may change.
SETTABLE = (*schema.MODEL_SECTIONS, "parameters")

#: A path that an axis has set, the axis's dotted key, and the value.
Written = tuple[KeyPath, str, schema.Scalar]
AxisSetting = schema.Axis | schema.Sensitivity
T = TypeVar("T")


@dataclass(frozen=True)
class StudySpec:
    """A study's document, with the tables and sections that `cwndlab.study.building` derives from it."""

    document: Document
    catalogue: Catalogue = field(repr=False, hash=False)
    #: The tables with short forms expanded and changes applied.
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    #: Path in `raw` -> path in the file, for parts that a short form was expanded to.
    origins: Mapping[KeyPath, KeyPath] = field(repr=False, compare=False)
    outline: schema.Outline = field(repr=False, compare=False)
    claims: schema.Claims = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The study's name in results and messages."""
        return self.document.name

    @property
    def title(self) -> str:
        """The study's title."""
        return self.outline.title

    @property
    def file(self) -> Path | None:
        """The study's file; None for a study built in code."""
        return self.document.file

    @property
    def folder(self) -> Path | None:
        """The folder of the files that the study names; None for a study built in code."""
        return self.document.folder

    @property
    def laws(self) -> Mapping[str, LawCode]:
        """The user's own congestion controls, by name."""
        return self.catalogue.laws

    @property
    def place(self) -> Place:
        """Adds the study's file, and the line of a key in it, to errors."""
        return place_in(self.document, self.raw, self.origins)

    @property
    def first(self) -> dict[str, schema.Scalar]:
        """The first value of every axis."""
        return {name: axis.names[0] for name, axis in self.outline.axes.items()}

    @cached_property
    def base(self) -> schema.Model:
        """The model of the first cell, for sections that are the same in all cells (run, probes)."""

        def checked(model: schema.Model) -> schema.Model:
            resolve_windows(model, self.outline.quantities)
            return model

        return self.with_model(self.first, checked)

    def model(self, values: Mapping[str, schema.Scalar]) -> schema.Model:
        """The model of the cell with these axis values; StudyError if it is invalid."""
        return self.with_model(values, lambda model: model)

    def with_model(
        self,
        values: Mapping[str, schema.Scalar],
        then: Callable[[schema.Model], T],
    ) -> T:
        """The result of `then` for a cell's model. Every error gets the file, line and name of its key."""
        raw = {key: _copied(self.raw[key]) for key in SETTABLE if key in self.raw}
        written: list[Written] = []
        settings: list[tuple[str, AxisSetting]] = [
            *((f"axes.{name}", axis) for name, axis in self.outline.axes.items() if name in values),
            *((f"sensitivity.{name}", s) for name, s in self.outline.sensitivity.items() if name in values),
        ]
        parameters = raw.setdefault("parameters", {})
        for key, axis in settings:
            value = values[key.split(".", 1)[1]]
            for target, new in assignments(axis, value):
                try:
                    path = steps(raw, target, SETTABLE)
                    put(raw, path, new)
                except StudyError as error:
                    raise self.place.locate(error, tuple(key.split("."))) from None
                written.append((path, key, value))
        sections: dict[str, Any] = {}
        try:
            names = Names(parameters, values)
            sections = {key: resolve(item, names, (key,)) for key, item in raw.items() if key != "parameters"}
            return then(validate(schema.Model, sections))
        except StudyError as error:
            place = self.place._replace(raw={**self.raw, **raw})
            further = _find_more(sections, error, then) if sections else []
            findings = Findings()
            for single in (error, *error.others, *further):
                findings.note(_blamed(single, place, written))
            raise findings.error() from None

    def locate_refusal(self, error: StudyError, values: Mapping[str, schema.Scalar]) -> StudyError:
        """An error that the engine reports for a cell's scenario, with the place of its key in the study."""

        def refuse(model: schema.Model) -> StudyError:
            raise error

        try:
            return self.with_model(values, refuse)
        except StudyError as located:
            return located

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(', '.join(str(v) for v in axis.names))}</td></tr>"
            for name, axis in self.outline.axes.items()
        )
        return f"<h4>{escape(self.title)}</h4><table>{rows}</table>"


def _copied(value: Any) -> Any:
    """A copy of tables from TOML, whose values never change; `deepcopy` takes several times as long."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _find_more(
    sections: Mapping[str, Any], first: StudyError, then: Callable[[schema.Model], object]
) -> list[StudyError]:
    """Further errors in a cell, found by validating it again without the keys of the first errors."""
    rest, paths = _copied(sections), [other.path or () for other in (first, *first.others)]
    for path in paths:
        leave_out(rest, path)
    emptied = [path[:-1] for path in paths if _at(rest, path[:-1]) == {}]  # these lack required keys
    try:
        then(validate(schema.Model, rest))
    except StudyError as more:
        located = [other for other in (more, *more.others) if other.path is not None]
        return [
            other
            for other in located
            if not any(_nested(other.path or (), path) for path in paths)
            and (other.path or ())[:-1] not in emptied
        ]
    return []


def _at(tables: Any, path: KeyPath) -> Any:
    """The value at a path of the tables; None if there is none."""
    for step in path:
        if isinstance(tables, Mapping):
            tables = tables.get(step)
        elif isinstance(tables, list) and isinstance(step, int) and step < len(tables):
            tables = tables[step]
        else:
            return None
    return tables


def _nested(inner: KeyPath, other: KeyPath) -> bool:
    """Whether one of two paths contains the other."""
    return inner[: len(other)] == other or other[: len(inner)] == inner


def _blamed(error: StudyError, place: Place, written: Sequence[Written]) -> StudyError:
    """An error in a cell's model with a place: its key, or the axis that set the value there."""
    for path, key, value in reversed(written):
        if error.path and _nested(error.path, path):
            problem = f"{error.problem} (in {dotted_key(place.raw, error.path)}, set by {key} = {value!r})"
            return place.locate(type(error)(problem, right=error.right), tuple(key.split(".")))
    return place.locate(error.without_others())


def assignments(axis: AxisSetting, value: schema.Scalar) -> list[tuple[str, Any]]:
    """The dotted keys that an axis value sets, each with its new value."""
    sets = [axis.sets] if isinstance(axis.sets, str) else list(axis.sets or [])
    pairs: list[tuple[str, Any]] = [(key, value) for key in sets]
    return pairs + list(axis.settings.get(label(value), {}).items())


def place_in(document: Document, raw: Mapping[str, Any], origins: Mapping[KeyPath, KeyPath]) -> Place:
    """The `Place` that adds file, line and key to errors in a study's full tables."""
    written = document.written_tables if origins else None
    return Place(raw, document.file, document.text, written, origins, tuple(document.changes))


@dataclass(frozen=True)
class Catalogue:
    """The congestion controls that a study can name besides those of the engine."""

    #: The user's own congestion controls by name; a study file cannot define them.
    laws: Mapping[str, LawCode] = field(default_factory=dict)
    #: Returns the names of the congestion controls of the kernels that can run the study.
    kernel_laws: Callable[[], Collection[str]] = field(default=frozenset, repr=False, compare=False)
