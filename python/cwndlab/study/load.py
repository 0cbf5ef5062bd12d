"""Loads a study: from a shipped name, a file, a folder, or tables built in code."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cwndlab.core import core
from cwndlab.errors import StudyError, nearest

from . import schema
from .files import read_text
from .locate import dotted, line_of
from .resolve import Names, Unresolved, put, resolve, steps
from .validate import Invalid, as_study_error, validate

SHIPPED = Path(__file__).parent.parent / "studies"
_MAX_DEPTH = 30
#: What axes and --set may write to.
SETTABLE = (*schema.MODEL_SECTIONS, "parameters")
#: What `set` calls the choice among grids, unless an axis or a parameter has that name.
GRID = "grid"

AxisSetting = schema.Axis | schema.Sensitivity
T = TypeVar("T")

if TYPE_CHECKING:
    from .compile import Compiled
    from .plan import Cell, Plan


class CompiledCell(NamedTuple):
    """A cell's model and the scenario made of it."""

    model: schema.Model
    compiled: Compiled


def shipped() -> dict[str, Path]:
    """The studies that come with cwndlab: name -> file."""
    return {path.parent.name: path for path in sorted(SHIPPED.glob("*/study.toml"))}


@dataclass(frozen=True)
class Study:
    """A study: what is simulated, what is varied, what is asked and shown.

    Make one with `Study.load("rfc2416")`, `Study.load("my/study.toml")` or `Study.from_dict({...})`;
    change one with `study.set({"iw": 4, "run.duration": "10s"})`; `study.plan()` gives its cells,
    `study.run()` runs it.
    """

    name: str
    raw: Mapping[str, Any] = field(repr=False)
    outline: schema.Outline = field(repr=False)
    claims: schema.Claims = field(repr=False)
    file: Path | None = None
    text: str | None = field(default=None, repr=False)
    #: Axes restricted by `set`: axis -> names of values.
    chosen: Mapping[str, tuple[schema.Scalar, ...]] = field(default_factory=dict)
    #: Other keys changed by `set`.
    changed: Mapping[str, Any] = field(default_factory=dict)

    # ── making one ────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def load(cls, name_or_path: str | Path) -> Study:
        """A shipped study by its name, or a file, or a folder that holds a study.toml."""
        known = shipped()
        if str(name_or_path) in known:
            file = known[str(name_or_path)]
        else:
            file = Path(name_or_path)
            if not str(name_or_path) or "\0" in str(name_or_path):
                raise StudyError("a study is a shipped name or a file", right=nearest("", known))
            if file.is_dir():
                file = file / "study.toml"
            elif not file.exists():
                looks_like_path = file.suffix == ".toml" or len(file.parts) > 1
                raise StudyError(
                    f'there is no study "{name_or_path}"',
                    right=None if looks_like_path else nearest(str(name_or_path), known),
                )
        text = read_text(file, what="a study file")
        raw = _toml(text, file)
        beside = file.parent / "claims.toml"
        claims_text = read_text(beside, what="the claims") if beside.exists() else ""
        name = file.parent.name if file.name == "study.toml" and file.parent.name else file.stem
        return cls._build(raw, name=name, file=file, text=text, claims_text=claims_text)

    @classmethod
    def from_dict(
        cls,
        raw: Mapping[str, Any],
        *,
        name: str = "study",
        folder: str | Path | None = None,
        claims: Sequence[Mapping[str, Any]] = (),
    ) -> Study:
        """A study built in code, with the keys of a study file.

        `folder` is where the files that it names are; `claims` has the tables of a claims.toml.
        """
        file = Path(folder) / "study.toml" if folder is not None else None
        made = cls._build(copy.deepcopy(dict(raw)), name=name, file=file, text=None, claims_text="")
        try:
            checked = validate(schema.Claims, {"claims": [dict(claim) for claim in claims]})
        except Invalid as invalid:
            raise as_study_error(invalid).located(
                file=None, line=None, key=dotted({}, invalid.path)
            ) from None
        return replace(made, claims=checked)

    @classmethod
    def from_toml(cls, text: str, *, name: str = "study") -> Study:
        """A study from the text of a study file."""
        return cls._build(_toml(text, None), name=name, file=None, text=text, claims_text="")

    @classmethod
    def _build(
        cls, raw: dict[str, Any], *, name: str, file: Path | None, text: str | None, claims_text: str
    ) -> Study:
        from .check import check_study

        place = _Place(raw, file, text)
        if (deep := _depth(raw)) > _MAX_DEPTH:
            raise StudyError(f"tables are nested {deep} deep", file=file, right=f"at most {_MAX_DEPTH}")
        unknown = [key for key in raw if key not in schema.Study.model_fields]
        if unknown:
            raise place.error(
                (unknown[0],), f"unknown key {unknown[0]!r}", nearest(unknown[0], schema.Study.model_fields)
            )
        rest = {key: value for key, value in raw.items() if key not in schema.MODEL_SECTIONS}
        try:
            outline = validate(schema.Outline, rest)
        except Invalid as invalid:
            raise place.of(invalid) from None
        claims = _claims(claims_text, file)
        study = cls(name=name, raw=raw, outline=outline, claims=claims, file=file, text=text)
        check_study(study)
        return study

    def set(self, changes: Mapping[str, Any]) -> Study:
        """The study with axes restricted (`{"iw": 4}`, `{"iw": [1, 4]}`) or other keys changed
        (`{"run.duration": "10s"}`).
        """
        raw = copy.deepcopy(dict(self.raw))
        chosen, changed = dict(self.chosen), dict(self.changed)
        extra: dict[str, list[schema.Scalar]] = {}
        for key, value in changes.items():
            if key == GRID and key not in {**self.outline.axes, **self.outline.parameters}:
                chosen[key] = _choose_grids(self.outline.grids, value)
            elif key in self.outline.axes:
                names, new = _choose(key, self.outline.axes[key], value)
                chosen[key] = names
                if new:
                    extra[key] = new
            elif "." not in key and key in raw.get("parameters", {}):
                raw["parameters"][key] = _plain(value)
                changed[f"parameters.{key}"] = raw["parameters"][key]
            else:
                if "." not in key:
                    known = [*self.outline.axes, *self.outline.parameters]
                    raise StudyError(
                        f'"{key}" is neither an axis nor a parameter nor a dotted key',
                        key=f"--set {key}",
                        right=nearest(key, known),
                    )
                try:
                    put(raw, steps(raw, key, SETTABLE), _plain(value))
                except StudyError as error:
                    raise error.located(file=self.file, line=None, key=f"--set {key}") from None
                changed[key] = _plain(value)
        for axis, values in extra.items():
            raw["axes"][axis]["values"] = [*raw["axes"][axis]["values"], *values]
        made = Study._build(raw, name=self.name, file=self.file, text=self.text, claims_text="")
        return replace(made, claims=self.claims, chosen=chosen, changed=changed)

    # ── using it ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def title(self) -> str:
        """The study's title."""
        return self.outline.title

    @property
    def folder(self) -> Path | None:
        """Where the files it names are."""
        return self.file.parent if self.file is not None else None

    @property
    def place(self) -> _Place:
        """Makes errors that know their file and line."""
        return _Place(self.raw, self.file, self.text)

    @cached_property
    def base(self) -> schema.Model:
        """The model of the first cell, for what does not depend on the cell (run, probes)."""
        first = {name: axis.names[0] for name, axis in self.outline.axes.items()}
        return self.model(first)

    def model(self, values: Mapping[str, schema.Scalar]) -> schema.Model:
        """The model of the cell with these axis values; StudyError says what in it is wrong."""
        return self._with_model(values, lambda model: model)

    def compiled(self, values: Mapping[str, schema.Scalar]) -> CompiledCell:
        """The model of a cell with its scenario; StudyError says what in it is wrong."""
        from .compile import compile_model

        return self._with_model(
            values, lambda model: CompiledCell(model, compile_model(model, core(), self.folder))
        )

    def _with_model(
        self,
        values: Mapping[str, schema.Scalar],
        then: Callable[[schema.Model], T],
    ) -> T:
        """What `then` makes of a cell's model; every error is put at its key."""
        raw = {key: copy.deepcopy(self.raw[key]) for key in SETTABLE if key in self.raw}
        written: list[tuple[tuple[str | int, ...], str, schema.Scalar]] = []
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
        try:
            names = Names(parameters, values)
            sections = {key: resolve(item, names, (key,)) for key, item in raw.items() if key != "parameters"}
            return then(validate(schema.Model, sections))
        except (Unresolved, Invalid) as error:
            problem = error.error if isinstance(error, Unresolved) else as_study_error(error)
            place = _Place({**self.raw, **raw}, self.file, self.text)
            for path, key, value in reversed(written):
                if error.path and (error.path[: len(path)] == path or path[: len(error.path)] == error.path):
                    problem.problem += f" (in {dotted(raw, error.path)}, set by {key} = {value!r})"
                    raise place.locate(problem, tuple(key.split("."))) from None
            raise place.locate(problem, error.path) from None
        except StudyError as error:  # a parameter
            path = tuple(error.key.split(".")) if error.key else ()
            raise self.place.locate(error, path) from None

    def refused(self, invalid: Invalid, cell: Cell) -> StudyError:
        """What the core says of a cell's scenario, at its key in the study."""

        def refuse(model: schema.Model) -> StudyError:
            raise invalid

        try:
            return self._with_model(cell.axes, refuse)
        except StudyError as error:
            return error

    def plan(
        self, *, replicates: int | None = None, seed: int | None = None, sensitivity: str | None = None
    ) -> Plan:
        """The plan: every cell, compiled, and how many replicates of each."""
        from .plan import make_plan

        return make_plan(self, replicates=replicates, seed=seed, sensitivity=sensitivity)

    def run(self, out: str | Path | None = None, **options: Any) -> Any:
        """Runs the study; the options are those of `cwndlab.run`."""
        from cwndlab.runs.api import run_study

        return run_study(self, out=out, **options)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(', '.join(str(v) for v in axis.names))}</td></tr>"
            for name, axis in self.outline.axes.items()
        )
        return f"<h4>{escape(self.title)}</h4><table>{rows}</table>"


def assignments(axis: AxisSetting, value: schema.Scalar) -> list[tuple[str, Any]]:
    """The dotted keys that an axis value sets, and to what."""
    sets = [axis.sets] if isinstance(axis.sets, str) else list(axis.sets or [])
    found: list[tuple[str, Any]] = [(key, value) for key in sets]
    for candidate in axis.values:
        if isinstance(candidate, schema.AxisValue) and same(candidate.name, value):
            found += list(candidate.set.items())
    return found


def same(a: object, b: object) -> bool:
    """Equal as values of an axis: 1 and true are not."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


@dataclass(frozen=True)
class _Place:
    """Fills in file, key and line of errors."""

    raw: Mapping[str, Any]
    file: Path | None
    text: str | None

    def locate(self, error: StudyError, path: tuple[str | int, ...]) -> StudyError:
        line = line_of(self.text, path) if self.text is not None and path else None
        made = StudyError(
            error.problem,
            file=error.file or self.file,
            key=(dotted(self.raw, path) if path else None) or error.key,
            line=line,
            right=error.right,
        )
        return made

    def error(self, path: tuple[str | int, ...], problem: str, right: str | None = None) -> StudyError:
        return self.locate(StudyError(problem, right=right), path)

    def of(self, invalid: Invalid) -> StudyError:
        return self.locate(as_study_error(invalid), invalid.path)


def _toml(text: str, file: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = re.search(r" \(at line (\d+), column (\d+)\)", message)
        line = int(found[1]) if found else (text.count("\n") + 1 if "end of document" in message else None)
        plain = message.replace(found[0], f" at column {found[2]}") if found else message
        raise StudyError(f"this is not TOML: {plain[:1].lower()}{plain[1:]}", file=file, line=line) from None
    except (RecursionError, ValueError, OverflowError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise StudyError(f"this is not TOML: {reason}", file=file) from None


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= _MAX_DEPTH + 1:
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        deepest += 1
    return deepest


def _claims(text: str, file: Path | None) -> schema.Claims:
    if not text:
        return schema.Claims()
    beside = file.parent / "claims.toml" if file is not None else None
    raw = _toml(text, beside)
    try:
        return validate(schema.Claims, raw)
    except Invalid as invalid:
        raise _Place(raw, beside, text).of(invalid) from None


def _plain(value: Any) -> Any:
    """A value from --set: text that reads as a TOML value is that value."""
    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"] if "\n" not in value else value
    except (tomllib.TOMLDecodeError, RecursionError, KeyError):
        return value


def _choose_grids(grids: Sequence[schema.Grid], value: Any) -> tuple[str, ...]:
    """The grids that `--set grid=…` keeps."""
    wanted = [str(v) for v in value] if isinstance(value, list | tuple) else str(value).split(",")
    known = [grid.name for grid in grids if grid.name is not None]
    for name in wanted:
        if name not in known:
            right = nearest(name, known) if known else "none of the study's grids has a name"
            raise StudyError(f'there is no grid "{name}"', key=f"--set {GRID}", right=right)
    return tuple(wanted)


def _choose(
    name: str, axis: schema.Axis, value: Any
) -> tuple[tuple[schema.Scalar, ...], list[schema.Scalar]]:
    """The values of an axis that --set picks, and those of them that the study does not list."""
    wanted = (
        value
        if isinstance(value, list | tuple)
        else str(value).split(",")
        if isinstance(value, str)
        else [value]
    )
    by_text = {str(known).lower() if isinstance(known, bool) else str(known): known for known in axis.names}
    picked: list[schema.Scalar] = []
    new: list[schema.Scalar] = []
    for item in wanted:
        text = str(item).strip().lower() if isinstance(item, bool) else str(item).strip()
        if text in by_text:
            picked.append(by_text[text])
            continue
        parsed = _plain(text)
        open_axis = all(isinstance(v, int | float) and not isinstance(v, bool) for v in axis.values)
        if not (open_axis and isinstance(parsed, int | float) and not isinstance(parsed, bool)):
            raise StudyError(
                f"axis {name} has no value {text!r}", key=f"--set {name}", right=nearest(text, by_text)
            )
        picked.append(parsed)
        new.append(parsed)
    return tuple(dict.fromkeys(picked)), new
