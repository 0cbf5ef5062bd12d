"""Loads a study: from a shipped name, a file, a folder, or tables built in code."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Any, TypeVar

from cwndlab._core import unit_factor
from cwndlab.errors import ArgumentError, StudyError, check_mapping, nearest

from . import schema, values
from .check import check_study
from .expand import NETWORKS, SHORT, expand
from .files import SHIPPED, STUDY, read_text
from .findings import Findings
from .locate import dotted
from .resolve import put, steps
from .study import GRID, SETTABLE, Place, StudySpec
from .validate import Invalid, as_study_error, validate

#: The file of a study's claims, in the same folder.
CLAIMS = "claims.toml"
_MAX_DEPTH = 30
#: The most keys of a table, elements of a list, and tables in a list: more than a study needs, and few enough
#: for everything that is wrong with it to be found within seconds.
MAX_KEYS, MAX_ITEMS, MAX_TABLES = 1_000, 10_000, 1_000
#: The largest study file, in bytes.
MAX_TEXT = 1_000_000
#: A key of more parts than this. Reading it would take long.
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{_MAX_DEPTH + 1}}}", re.ASCII)

#: The class of the study that is made: `StudySpec` or one derived from it.
S = TypeVar("S", bound=StudySpec)


def shipped() -> dict[str, Path]:
    """The studies that come with cwndlab: name -> file."""
    return {path.parent.name: path for path in sorted(SHIPPED.glob(f"*/{STUDY}"))}


def titles() -> dict[str, str]:
    """The titles of the studies that come with cwndlab."""
    read = {name: read_toml(read_text(file, what="a study file"), file) for name, file in shipped().items()}
    return {name: str(raw["title"]) for name, raw in read.items()}


def load(kind: type[S], name_or_path: str | Path) -> S:
    """A shipped study by its name, or a file, or a folder that holds a study.toml."""
    if not isinstance(name_or_path, str | Path):
        raise ArgumentError(f"a study is a shipped name or a file, not {type(name_or_path).__name__}")
    known = shipped()
    if str(name_or_path) in known:
        file = known[str(name_or_path)]
    else:
        file = Path(name_or_path)
        if not str(name_or_path) or "\0" in str(name_or_path):
            raise StudyError("a study is a shipped name or a file", right=nearest("", known))
        if "\n" in str(name_or_path):
            raise StudyError(
                "this is the text of a study, not its name or file", right="load it by Study.from_toml(text)"
            )
        try:
            is_folder, exists = file.is_dir(), file.exists()
        except OSError as error:  # too long a name
            raise StudyError(f"a study is a shipped name or a file: {error.strerror}") from None
        if is_folder:
            file = file / STUDY
        elif not exists:
            looks_like_path = file.suffix == ".toml" or len(file.parts) > 1
            raise StudyError(
                f'there is no study "{name_or_path}"',
                right=None if looks_like_path else nearest(str(name_or_path), known),
            )
    text = read_text(file, what="a study file")
    raw = read_toml(text, file)
    beside = file.parent / CLAIMS
    claims_text = read_text(beside, what="the claims") if beside.exists() else ""
    name = file.parent.name if file.name == STUDY and file.parent.name else file.stem
    return _build(kind, raw, name=name, file=file, text=text, claims_text=claims_text)


def from_dict(
    kind: type[S],
    raw: Mapping[str, Any],
    *,
    name: str = "study",
    folder: str | Path | None = None,
    claims: Sequence[Mapping[str, Any]] = (),
) -> S:
    """A study built in code, with the keys of a study file.

    `folder` is where the files that it names are; `claims` has the tables of a claims.toml.
    """
    file = Path(folder) / STUDY if folder is not None else None
    made = _build(kind, copy.deepcopy(dict(raw)), name=name, file=file, text=None, claims_text="")
    try:
        checked = validate(schema.Claims, {"claims": [dict(claim) for claim in claims]})
    except Invalid as invalid:
        raise as_study_error(invalid).located(file=None, line=None, key=dotted({}, invalid.path)) from None
    return replace(made, claims=checked)


def from_toml(kind: type[S], text: str, *, name: str = "study", file: Path | None = None) -> S:
    """A study from the text of a study file; `file` is where it would be."""
    if not isinstance(text, str):
        raise ArgumentError(f"the text of a study is needed, not {type(text).__name__}")
    return _build(kind, read_toml(text, file), name=name, file=file, text=text, claims_text="")


def changed(study: S, changes: Mapping[str, Any]) -> S:
    """The study with axes restricted (`{"iw": 4}`, `{"iw": [1, 4]}`) or other keys changed
    (`{"run.duration": "10s"}`).
    """
    check_mapping("changes", changes)
    short = {key: value for key, value in changes.items() if key.split(".")[0] in NETWORKS}
    if short and study.written is not None:
        return _changed_short(study, short, {key: changes[key] for key in changes if key not in short})
    raw = copy.deepcopy(dict(study.raw))
    chosen, changed = dict(study.chosen), dict(study.changed)
    extra: dict[str, list[schema.Scalar]] = {}
    sections = [*(name for name in NETWORKS if name in (study.written or {})), *SETTABLE]
    for key, value in changes.items():
        if key == GRID and key not in {**study.outline.axes, **study.outline.parameters}:
            chosen[key] = _choose_grids(study.outline.grids, value)
        elif key in study.outline.axes:
            names, new = _choose(key, study.outline.axes[key], value)
            chosen[key] = names
            if new:
                extra[key] = new
        elif "." not in key and key in raw.get("parameters", {}):
            raw["parameters"][key] = _plain(value)
            changed[f"parameters.{key}"] = raw["parameters"][key]
        else:
            if "." not in key:
                known = [*study.outline.axes, *study.outline.parameters]
                raise StudyError(
                    f'"{key}" is neither an axis nor a parameter nor a dotted key',
                    key=f"--set {key}",
                    right=nearest(key, known),
                )
            try:
                put(raw, steps(raw, key, sections), _plain(value))
            except StudyError as error:
                raise error.located(file=study.file, line=None, key=f"--set {key}") from None
            changed[key] = _plain(value)
    if changed == study.changed and not extra:
        return replace(study, chosen=chosen)
    for axis, more in extra.items():
        raw["axes"][axis]["values"] = [*raw["axes"][axis]["values"], *more]
    return replace(rebuilt(study, raw, changed), chosen=chosen)


def rebuilt(study: S, raw: dict[str, Any], changed: Mapping[str, Any]) -> S:
    """The study with other content, checked; `changed` has all keys that differ from its file."""
    made = _build(
        type(study),
        raw,
        name=study.name,
        file=study.file,
        text=study.text,
        claims_text="",
        place=study.place._replace(raw=raw),
        changed=changed,
    )
    return replace(made, claims=study.claims, chosen=study.chosen, laws=study.laws)


def _changed_short(study: S, short: Mapping[str, Any], others: Mapping[str, Any]) -> S:
    """The study with keys of its short form changed; other changes are made again in what that expands to."""
    written = copy.deepcopy(dict(study.written or {}))
    for key, value in short.items():
        try:
            put(written, steps(written, key, NETWORKS), _plain(value))
        except StudyError as error:
            raise error.located(file=study.file, line=None, key=f"--set {key}") from None
    made = _build(
        type(study),
        written,
        name=study.name,
        file=study.file,
        text=study.text,
        claims_text="",
        changed=short,
    )
    made = replace(made, claims=study.claims, chosen=study.chosen, laws=study.laws)
    again = {key: value for key, value in study.changed.items() if key.split(".")[0] not in NETWORKS}
    kept = {key: study.changed[key] for key in study.changed if key not in again}
    made = changed(made, {**again, **others})
    return replace(made, changed={**kept, **{key: _plain(short[key]) for key in short}, **made.changed})


def _build(
    kind: type[S],
    raw: dict[str, Any],
    *,
    name: str,
    file: Path | None,
    text: str | None,
    claims_text: str,
    place: Place | None = None,
    changed: Mapping[str, Any] | None = None,
) -> S:
    """The study, checked; `place` where its tables are not those of the text alone, `changed` by `set`."""
    changed = dict(changed or {})
    place = (place or Place(raw, file, text))._replace(changed=tuple(changed))
    if (deep := _depth(raw)) > _MAX_DEPTH:
        raise StudyError(f"tables are nested {deep} deep", file=file, right=f"at most {_MAX_DEPTH}")
    if (unfit := _unfit(raw)) is not None:
        raise place.error(*unfit)
    known = [*schema.Study.model_fields, *SHORT]
    findings = Findings()
    for key in [key for key in raw if key not in known]:
        findings.note(place.error((key,), f"unknown key {key!r}", nearest(key, known)))
        raw = {name: value for name, value in raw.items() if name != key}
    try:
        expanded = expand(raw, kind.metric_shapes)
    except Invalid as invalid:
        findings.note(place.of(invalid))
        raise findings.error() from None
    for one in expanded.wrong.found:
        findings.note(place.of(one))
    if expanded.origins:
        place = place._replace(raw=expanded.raw, written=raw, origins=expanded.origins)
    rest = {key: value for key, value in expanded.raw.items() if key not in schema.MODEL_SECTIONS}
    wrong: set[str | int] = set()
    try:
        outline = validate(schema.Outline, rest)
    except Invalid as invalid:
        findings.note(place.of(invalid))
        wrong = {one.path[0] for one in (invalid, *invalid.others) if one.path}
        try:  # with what is left, the model can be checked
            rest = {"title": "", **{key: value for key, value in rest.items() if key not in wrong}}
            outline = validate(schema.Outline, rest)
        except Invalid:
            raise findings.error() from None
    claims = schema.Claims()
    with findings:
        claims = _claims(claims_text, file)
    study = kind(
        name=name,
        raw=expanded.raw,
        outline=outline,
        claims=claims,
        file=file,
        text=text,
        written=place.written,
        origins=place.origins,
        changed=changed,
    )
    left_out = bool(wrong or expanded.wrong.found)
    with findings:
        if not left_out:
            check_study(study)
        elif not wrong & {"parameters", "axes"}:
            _ = study.base
    if findings.errors and not wrong & {"parameters", "axes"}:
        with findings:  # what else would be found once these are corrected
            study.check_first_cell()
    findings.report()
    return study


def read_toml(text: str, file: Path | None) -> dict[str, Any]:
    """The tables of a TOML text; StudyError says where it is none."""
    if len(text) > MAX_TEXT:
        raise StudyError(f"the text has {len(text):,} characters", file=file, right=f"at most {MAX_TEXT:,}")
    if (deep := _DEEP_KEY.search(text)) is not None:
        at = text.count("\n", 0, deep.start()) + 1
        raise StudyError(f"a key has more than {_MAX_DEPTH} parts", file=file, line=at)
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


def _unfit(value: Any, at: tuple[str | int, ...] = ()) -> tuple[tuple[str | int, ...], str, str] | None:
    """Where there is what no study has, what is wrong with it, and what would be right; None without."""
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
        if any(isinstance(item, dict) for item in value):
            return at, f"the list has {len(value)} tables", f"at most {MAX_TABLES:,}"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for key, item in items if (found := _unfit(item, (*at, key))) is not None), None)


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
    beside = file.parent / CLAIMS if file is not None else None
    raw = read_toml(text, beside)
    try:
        return validate(schema.Claims, raw)
    except Invalid as invalid:
        raise Place(raw, beside, text).of(invalid) from None


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


def _in_unit(written: str, unit: str | None) -> str:
    """The number of "41ms" in the unit of an axis of numbers; else the text as it is."""
    found = re.fullmatch(r"([-+.\deE]+)\s*([^\d\s.]+)", written)
    if found is None or unit is None:
        return written
    try:
        return f"{float(found[1]) * unit_factor(found[2], unit):.12g}"
    except ValueError:
        return written


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
    picked: list[schema.Scalar] = []
    new: list[schema.Scalar] = []
    for item in wanted:
        written = _in_unit(values.text(item).strip(), axis.unit)
        parsed = _plain(written)
        known = [
            name
            for name in [*axis.names, *new]
            if values.same_value(name, written) or values.same_value(name, parsed)
        ]
        if known:
            picked.append(known[0])
            continue
        open_axis = all(isinstance(v, int | float) and not isinstance(v, bool) for v in axis.values)
        if not (open_axis and isinstance(parsed, int | float) and not isinstance(parsed, bool)):
            raise StudyError(
                f"axis {name} has no value {written!r}",
                key=f"--set {name}",
                right=nearest(written, map(values.text, axis.names)),
            )
        picked.append(parsed)
        new.append(parsed)
    return tuple(dict.fromkeys(picked)), new
