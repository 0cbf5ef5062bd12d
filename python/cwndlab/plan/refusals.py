"""Reports what the core rejects in a scenario at the study's own key."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from cwndlab.errors import StudyError, nearest, problem_at

from .scenario import Compiled, origin


def core_error(compiled: Compiled, text: str, message: str) -> StudyError:
    """What the core says of a scenario, at the study's own key (of several errors, at that of the first)."""
    message, *others = message.split("\n")
    column = re.search(r" at line 1 column (\d+)", message)
    plain = re.sub(r"^scenario: |[ ]at line 1 column \d+", "", message)
    place: list[str] = []
    if column:
        place = _json_path(text, int(column[1]))
    elif found := re.match(r"(\w+)(?:\[(\d+)\])?(?: \([^)]*\))?((?:\.[\w-]+(?:\[\d+\])?)*):\s*", plain):
        place = [part for part in (found[1], found[2], *re.findall(r"[\w-]+", found[3])) if part]
        plain = plain[found.end() :]
    unknown = re.search(r"unknown (field|variant) `([^`]*)`, expected (.*)", plain)
    if not unknown:
        if others or place[:1] == ["tcp"]:
            path = tuple(map(_plain, origin(compiled, place)))
            return problem_at(path, "; also ".join([plain, *map(_as_written, others)]))
        return problem_at(origin(compiled, place), plain)
    # The core reads a table with a `kind` whole before it looks inside: its place may be some levels too
    # high.
    place += _search(_at(compiled.scenario, place), unknown[2], key=unknown[1] == "field")
    names = re.findall(r"`([^`]*)`", unknown[3])
    known = [_UNIT_SUFFIX.sub("", name) for name in names]
    given = _UNIT_SUFFIX.sub("", unknown[2])
    path = tuple(map(_plain, origin(compiled, place)))
    if given in known:  # the key is right, and its value has not the unit that it needs
        suffix = _UNIT_SUFFIX.search(names[known.index(given)])
        right = f"write {_UNITS[suffix[1]]}" if suffix else None
        return problem_at(path, "the value does not fit", right)
    return problem_at(
        path, f"unknown {'key' if unknown[1] == 'field' else 'name'} {given!r}", nearest(given, known)
    )


def _plain(step: str | int) -> str | int:
    """A key as a study may write it, without its unit."""
    return _UNIT_SUFFIX.sub("", step) if isinstance(step, str) else step


def _as_written(line: str) -> str:
    """Another of the core's errors: `tcp[0].rto.min_ns: 1ms …` is `rto.min: 1ms …`."""
    key, _, what = line.partition(": ")
    return f"{_plain(key.partition('.')[2])}: {what}"


_UNIT_SUFFIX = re.compile(r"_(ns|bytes|bps|s)\Z")
_UNITS = {
    "ns": 'a time with its unit, like "20ms"',
    "s": 'a time with its unit, like "20ms"',
    "bytes": 'a size with its unit, like "500B"',
    "bps": 'a rate with its unit, like "10Mbps"',
}


def _at(value: Any, place: Sequence[str]) -> Any:
    for step in place:
        value = (
            value[int(step)]
            if isinstance(value, list)
            else value.get(step)
            if isinstance(value, dict)
            else None
        )
    return value


def _search(value: Any, wanted: str, *, key: bool) -> list[str]:
    """The way from `value` down to a key, or to a text, of this name; empty if there is none."""
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for step, item in items:
        if (step if key else item) == wanted:
            return [str(step)]
        if deeper := _search(item, wanted, key=key):
            return [str(step), *deeper]
    return []


def _json_path(text: str, offset: int) -> list[str]:
    """Keys and indices of the container that ends at or encloses this offset (1-based) of compact JSON."""
    path: list[list[Any]] = []  # [kind, key or index]
    key: str | None = None
    position = 0
    decoder = json.JSONDecoder()
    last: list[str] = []
    while position < min(offset, len(text)):
        char = text[position]
        if char == '"':
            value, position = decoder.raw_decode(text, position)
            if path and path[-1][0] == "{" and position < len(text) and text[position] == ":":
                key = value
                path[-1][1] = key
            continue
        if char in "{[":
            path.append([char, 0 if char == "[" else None])
        elif char in "}]":
            last = [str(step) for _, step in path[:-1] if step is not None]
            path.pop()
        elif char == "," and path and path[-1][0] == "[":
            path[-1][1] += 1
        position += 1
    here = [str(step) for _, step in path if step is not None]
    return last if position and text[position - 1] in "}]" else here
