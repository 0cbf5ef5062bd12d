"""Changes a study's document: restricts axes, sets keys, replaces sections (`--set`, `Study.set`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cwndlab.base.errors import StudyError, nearest

from . import schema, values
from .added_axes import KERNELS
from .document import Document
from .schema import GRID, Scalar
from .sections import Sections, to_plain
from .study_spec import SETTABLE, StudySpec


def modify(study: StudySpec, changes: Mapping[str, Any]) -> Document:
    """The study's document with axes restricted (`{"iw": 4}`), other keys changed (`{"run.duration": "10s"}`)
    or whole sections replaced (`{"run": Run(duration="10s")}`). StudyError for any other key.
    """
    document, outline = study.document, study.outline
    chosen, keys, replaced = dict(document.chosen), {}, {}
    sections = [*document.networks, *SETTABLE]
    for key, value in changes.items():
        if key == GRID and key not in {**outline.axes, **outline.parameters}:
            chosen[key] = _choose_grids(outline.grids, value)
        elif key in outline.axes:
            chosen[key] = _choose(key, outline.axes[key], value)
        elif "." not in key and key in outline.parameters:
            keys[f"parameters.{key}"] = _parameter(value)
        elif key in Sections.__annotations__ and not isinstance(value, str):
            replaced[key] = to_plain(value)
        elif "." not in key:
            raise StudyError(
                f'"{key}" is neither an axis nor a parameter nor a dotted key',
                key=f"--set {key}",
                right=nearest(key, [*outline.axes, *outline.parameters]),
            )
        elif (section := key.partition(".")[0]) not in sections:
            axes = f"; the axes are {', '.join(outline.axes)}" if outline.axes else ""
            raise StudyError(
                f'"{key}" names no parameter of the study',
                file=study.file,
                key=f"--set {key}",
                right=nearest(section, sections) + axes,
            )
        else:
            keys[key] = _kernels(value) if key == KERNELS else values.toml_value(value)
    changed = replace(document.change(keys), chosen=chosen)
    return changed.with_sections(replaced) if replaced else changed


def _parameter(value: Any) -> Any:
    """A parameter's value; the text "cubic,bbr3" is a list, which turns the parameter into an axis."""
    parsed = values.toml_value(value)
    if isinstance(parsed, str) and parsed == value and "," in parsed and not parsed.startswith("="):
        return [values.toml_value(item.strip()) for item in parsed.split(",")]
    return list(parsed) if isinstance(parsed, tuple) else parsed


def _kernels(value: Any) -> Any:
    """The kernels' names in the text "6.12,7.3", as a list; a single name as a text."""
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    return names[0] if isinstance(value, str) and len(names) == 1 else names


def _choose_grids(grids: Sequence[schema.Grid], value: Any) -> tuple[str, ...]:
    """The names of the grids that `--set grid=…` keeps; StudyError for an unknown name."""
    wanted = value.split(",") if isinstance(value, str) else [str(v) for v in values.as_list(value)]
    names = [grid.name for grid in grids if grid.name is not None]
    for name in wanted:
        if name not in names:
            right = nearest(name, names) if names else "none of the study's grids has a name"
            raise StudyError(f'there is no grid "{name}"', key=f"--set {GRID}", right=right)
    return tuple(wanted)


def _choose(name: str, axis: schema.Axis, value: Any) -> tuple[Scalar, ...]:
    """The values of an axis that `--set` selects; an axis of numbers also accepts new numbers."""
    if isinstance(value, str):
        value = value.split(",")
    picked: list[Scalar] = []
    for item in values.select_values(value, axis.names, axis.unit):
        match = values.find_value(item, [*axis.names, *picked], axis.unit)
        if match is not None:
            picked.append(match)
            continue
        written, parsed = values.parse(item, axis.unit)
        open_axis = all(isinstance(v, int | float) and not isinstance(v, bool) for v in axis.values)
        if not (open_axis and isinstance(parsed, int | float) and not isinstance(parsed, bool)):
            raise StudyError(
                f"axis {name} has no value {written!r}",
                key=f"--set {name}",
                right=nearest(written, map(values.text, axis.names)),
            )
        picked.append(parsed)
    return tuple(dict.fromkeys(picked))
