"""A study as its file has it: what is simulated, varied, measured and shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from cwndlab.errors import StudyError
from cwndlab.laws import LawCode

from . import schema
from .findings import Findings
from .locate import dotted, place_of
from .measures import Shape
from .partial import leave_out
from .resolve import Names, Unresolved, put, resolve, steps
from .validate import Invalid, as_study_error, validate
from .values import label
from .windows import named_windows

#: What axes and --set may write to.
SETTABLE = (*schema.MODEL_SECTIONS, "parameters")
#: What `set` calls the choice among grids, unless an axis or a parameter has that name.
GRID = "grid"

KeyPath = tuple[str | int, ...]
#: A path that an axis wrote to, the axis's key, and the value.
Written = tuple[KeyPath, str, schema.Scalar]
AxisSetting = schema.Axis | schema.Sensitivity
T = TypeVar("T")


@dataclass(frozen=True)
class StudySpec:
    """The content of a study file and its claims; `cwndlab.spec.load` makes and changes one."""

    name: str
    raw: Mapping[str, Any] = field(repr=False)
    outline: schema.Outline = field(repr=False)
    claims: schema.Claims = field(repr=False)
    file: Path | None = None
    text: str | None = field(default=None, repr=False)
    #: The tables as written, where short forms were expanded, and where each part of `raw` is there.
    written: Mapping[str, Any] | None = field(default=None, repr=False)
    origins: Mapping[KeyPath, KeyPath] = field(default_factory=dict, repr=False)
    #: Axes restricted by `set`: axis -> names of values.
    chosen: Mapping[str, tuple[schema.Scalar, ...]] = field(default_factory=dict)
    #: Other keys changed by `set`.
    changed: Mapping[str, Any] = field(default_factory=dict)
    #: Congestion controls of the user's own, by what the study calls them; never from a study file.
    laws: Mapping[str, LawCode] = field(default_factory=dict)
    #: What was found sound in this content, so that it is checked once; shared with the studies that `set`
    #: makes of it by restricting axes alone.
    sound: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The study's title."""
        return self.outline.title

    @property
    def folder(self) -> Path | None:
        """Where the files it names are."""
        return self.file.parent if self.file is not None else None

    @property
    def place(self) -> Place:
        """Makes errors that know their file and line."""
        return Place(self.raw, self.file, self.text, self.written, self.origins, tuple(self.changed))

    @classmethod
    def metric_shapes(cls) -> Mapping[str, Shape]:
        """What `measure` needs to know about each metric; empty here, where metrics are not known."""
        return {}

    def check_quantities(self) -> None:
        """Raises StudyError for quantities that do not fit their metrics; here, metrics are not known."""

    def check_first_cell(self) -> None:
        """Raises StudyError if the first cell does not compile; here, nothing is compiled."""

    def tables_of(self, quantity: schema.Quantity) -> Collection[str]:
        """The record tables that a quantity's metric reads; none here, where metrics are not known."""
        return ()

    @cached_property
    def base(self) -> schema.Model:
        """The model of the first cell, for what does not depend on the cell (run, probes)."""
        first = {name: axis.names[0] for name, axis in self.outline.axes.items()}

        def checked(model: schema.Model) -> schema.Model:
            named_windows(model, self.outline.quantities)
            return model

        return self.with_model(first, checked)

    def model(self, values: Mapping[str, schema.Scalar]) -> schema.Model:
        """The model of the cell with these axis values; StudyError says what in it is wrong."""
        return self.with_model(values, lambda model: model)

    def with_model(
        self,
        values: Mapping[str, schema.Scalar],
        then: Callable[[schema.Model], T],
    ) -> T:
        """What `then` makes of a cell's model; every error is put at its key."""
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
        except (Unresolved, Invalid) as error:
            place = self.place._replace(raw={**self.raw, **raw})
            findings = Findings()
            for one in (error, *getattr(error, "others", ())):
                findings.note(_blamed(one, place, written))
            if isinstance(error, Invalid):
                for one in _further(sections, error, then):
                    findings.note(_blamed(one, place, written))
            raise findings.error() from None
        except StudyError as error:  # a parameter
            path = tuple(error.key.split(".")) if error.key else ()
            raise self.place.locate(error, path) from None

    def refused(self, invalid: Invalid, values: Mapping[str, schema.Scalar]) -> StudyError:
        """What the core says of a cell's scenario, at its key in the study."""

        def refuse(model: schema.Model) -> StudyError:
            raise invalid

        try:
            return self.with_model(values, refuse)
        except StudyError as error:
            return error

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(', '.join(str(v) for v in axis.names))}</td></tr>"
            for name, axis in self.outline.axes.items()
        )
        return f"<h4>{escape(self.title)}</h4><table>{rows}</table>"


def _copied(value: Any) -> Any:
    """A copy of what TOML gives, whose values never change; `deepcopy` takes several times as long."""
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _further(
    sections: Mapping[str, Any], known: Invalid, then: Callable[[schema.Model], object]
) -> list[Invalid]:
    """What else is wrong in a cell: without the keys that do not fit, as far as they can be left out."""
    rest, paths = _copied(sections), [one.path for one in (known, *known.others)]
    for path in paths:
        if path:
            leave_out(rest, path)
    try:
        then(validate(schema.Model, rest))
    except Invalid as more:
        return [one for one in (more, *more.others) if not any(_nested(one.path, path) for path in paths)]
    except StudyError:  # it follows from what was left out
        pass
    return []


def _nested(one: KeyPath, other: KeyPath) -> bool:
    """Whether one path leads to the other's key, or to something inside it."""
    return one[: len(other)] == other or other[: len(one)] == one


def _blamed(error: Unresolved | Invalid, place: Place, written: Sequence[Written]) -> StudyError:
    """An error in a cell's model at its key, or at that of the axis that set the value."""
    problem = error.error if isinstance(error, Unresolved) else as_study_error(error)
    for path, key, value in reversed(written):
        if error.path and _nested(error.path, path):
            problem.problem += f" (in {dotted(place.raw, error.path)}, set by {key} = {value!r})"
            return place.locate(problem, tuple(key.split(".")))
    return place.locate(problem, error.path)


def assignments(axis: AxisSetting, value: schema.Scalar) -> list[tuple[str, Any]]:
    """The dotted keys that an axis value sets, and to what."""
    sets = [axis.sets] if isinstance(axis.sets, str) else list(axis.sets or [])
    found: list[tuple[str, Any]] = [(key, value) for key in sets]
    return found + list(axis.settings.get(label(value), {}).items())


class Place(NamedTuple):
    """Fills in file, key and line of errors."""

    raw: Mapping[str, Any]
    file: Path | None
    text: str | None
    written: Mapping[str, Any] | None = None
    origins: Mapping[KeyPath, KeyPath] = MappingProxyType({})
    #: Dotted keys that `set` changed.
    changed: Collection[str] = ()

    def written_path(self, path: KeyPath) -> KeyPath:
        """The path of the short form that a part of the full form comes from."""
        for length in range(len(path), 0, -1):
            if (origin := self.origins.get(path[:length])) is not None:
                return (*origin, *path[length:])
        return path

    def locate(self, error: StudyError, path: KeyPath) -> StudyError:
        """The error with this place filled in, where it has none of its own."""
        if (option := self._option(dotted(self.raw, path), error.key)) is not None:
            return StudyError(error.problem, key=f"--set {option}", right=error.right)
        raw, missing = self.raw, str(path[0]) if path else None
        if self.written is not None:
            raw, path = self.written, _present(self.written, self.written_path(path))
            if (option := self._option(dotted(raw, path))) is not None:
                return StudyError(error.problem, key=f"--set {option}", right=error.right)
        place = place_of(self.text, path) if self.text is not None and path else None
        line, column = place or (None, None)
        made = StudyError(
            error.problem,
            file=error.file or self.file,
            key=(dotted(raw, path) if path else None) or error.key or missing,
            line=line,
            column=column,
            right=error.right,
            others=error.others,
        )
        return made

    def _option(self, *keys: str | None) -> str | None:
        """The key that `set` changed and that is, holds or is held by one of these."""
        pairs = ((option, key) for option in self.changed for key in keys if key)
        return next((o for o, key in pairs if f"{o}.".startswith(f"{key}.") or key.startswith(f"{o}.")), None)

    def error(self, path: tuple[str | int, ...], problem: str, right: str | None = None) -> StudyError:
        """An error at a key."""
        return self.locate(StudyError(problem, right=right), path)

    def of(self, invalid: Invalid) -> StudyError:
        """What validation found, as errors at their keys."""
        findings = Findings()
        for one in (invalid, *invalid.others):
            findings.note(self.locate(as_study_error(one), one.path))
        return findings.error()


def _present(raw: object, path: KeyPath) -> KeyPath:
    """As much of a path as there is, and the key that is missing there."""
    for index, step in enumerate(path):
        inside = isinstance(raw, Mapping) and step in raw
        inside = inside or (isinstance(raw, list) and isinstance(step, int) and step < len(raw))
        if not inside:
            return path[:index]
        raw = raw[step]  # type: ignore[index]
    return path
