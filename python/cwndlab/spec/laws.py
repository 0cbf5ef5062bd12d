"""Congestion controls of the user's own in a study: where it names them, and where they are varied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cwndlab.errors import StudyError

from . import congestion
from .document import Document
from .study import StudySpec

#: The keys that name a window law.
KNOBS = ("window_law", congestion.KEY)


def naming_laws(study: StudySpec, laws: Iterable[str]) -> Document:
    """The study's document with these names for `window_law`.

    A name that the study uses needs nothing. Any other becomes one more value of the axis that varies the
    window law, with the other settings of that axis's first value. StudyError if there is no such axis.
    """
    used = set(_used(study.raw))
    new = [name for name in laws if name not in used]
    if not new:
        return study.document
    axes = [name for name in study.outline.axes if _varies(study.raw, name)]
    if len(axes) != 1:
        varied = f"{len(axes)} axes vary it ({', '.join(axes)})" if axes else "no axis varies it"
        raise StudyError(
            f'the study does not use the window law "{new[0]}", and {varied}',
            key=f"--cc {new[0]}",
            right=f'write window_law = "{new[0]}" in the study, or --set tcp.window_law={new[0]}',
        )
    values = study.raw["axes"][axes[0]]["values"]
    return study.document.change(
        {f"axes.{axes[0]}.values": [*values, *(_value(values[0], name) for name in new)]}
    )


def _used(value: Any, key: str = "") -> Iterator[str]:
    """Every value that the study gives to a window law, those of its axes too."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _used(item, name)
        axes = {**value.get("axes", {}), **value.get("sensitivity", {})} if not key else {}
        for name, axis in axes.items():
            if _varies(value, name):
                values = axis["values"]
                yield from (str(v["name"] if isinstance(v, dict) else v) for v in values)
    elif isinstance(value, list):
        for item in value:
            yield from _used(item, "[]")
    elif isinstance(value, str) and key.split(".")[-1] in KNOBS:
        yield value


def _varies(raw: Mapping[str, Any], name: str) -> bool:
    """Whether an axis writes to the window law, or the window law refers to it."""
    axis = {**raw.get("axes", {}), **raw.get("sensitivity", {})}[name]
    sets = axis.get("sets", [])
    keys = [sets] if isinstance(sets, str) else list(sets)
    keys += [key for value in axis["values"] if isinstance(value, dict) for key in value.get("set", {})]
    return any(key.split(".")[-1] in KNOBS for key in keys) or f"${name}" in _used(raw.get("tcp", {}), "tcp")


def _value(first: Any, name: str) -> Any:
    """A further value of an axis like its first one, with this window law."""
    if not isinstance(first, dict):
        return name
    settings = {
        key: name if key.split(".")[-1] in KNOBS else value for key, value in first.get("set", {}).items()
    }
    return {"name": name, "set": settings}
