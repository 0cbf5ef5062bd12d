"""Resolves references ("$name", "= 2 * name", "{name}B"), and the dotted keys that axes and `--set` set."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cwndlab.base.engine_kinds import is_program
from cwndlab.base.errors import KeyPath, StudyError, nearest, problem_at

from . import values
from .expr import evaluate, names_in
from .shorthand import NETWORKS

#: Host names that stay in braces in a program's texts: their addresses are known only when it runs.
HOSTS = frozenset(("client", "server"))
#: The most characters of a text with its references resolved.
MAX_TEXT = 2000
#: Keys of a short form, each with the remedy for an axis that tries to set it.
_WRITTEN_OUT = {
    key: f"write topology.links.bottleneck.{path}"
    for key, path in (("queue", "forward.queue"), ("rate", "rate"), ("loss", "forward.impairments"))
}
_WHOLE = re.compile(r"\$([A-Za-z_]\w*)\Z")
_PIECE = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


class Names(Mapping[str, Any]):
    """Parameters and axis values by name. A parameter's references are resolved on access; StudyError for a
    cycle.
    """

    def __init__(self, parameters: Mapping[str, Any], axes: Mapping[str, Any]) -> None:
        self._raw = {**parameters, **axes}
        self._done: dict[str, Any] = dict(axes)
        self._open: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name in self._done:
            return self._done[name]
        raw = self._raw[name]
        if name in self._open:
            ring = " → ".join([*self._open[self._open.index(name) :], name])
            raise problem_at(("parameters", name), f"the references go round in a circle: {ring}")
        self._open.append(name)
        try:
            self._done[name] = resolve_text(raw, self) if isinstance(raw, str) else raw
        except StudyError as error:
            raise error.replace(path=error.path or ("parameters", name)) from None
        except RecursionError:
            raise problem_at(("parameters", name), "the references are nested too deeply") from None
        finally:
            self._open.pop()
        return self._done[name]

    def __iter__(self) -> Any:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, name: object) -> bool:
        return name in self._raw


def resolve_text(text: str, names: Mapping[str, Any], *, program: bool = False) -> Any:
    """The value of a string that may be a reference; in a `program`'s texts, `HOSTS` in braces are kept."""
    if text.startswith("="):
        return evaluate(text[1:], names)
    whole = _WHOLE.match(text)
    if whole:
        return _look_up(whole[1], names)
    if text.startswith("$"):
        raise StudyError(
            f"{text!r} is no reference", right='a reference is "$name", a calculation "= 2 * name"'
        )
    if "{" not in text and "}" not in text:
        return text

    def piece(match: re.Match[str]) -> str:
        name = match[1]
        if program and (name is None or name in HOSTS):
            return match[0]
        if name is None:
            return match[0][0]
        value = values.text(_look_up(name, names))
        return value.replace("{", "{{").replace("}", "}}") if program else value

    filled = _PIECE.sub(piece, text)
    if len(filled) > MAX_TEXT:  # texts that double each other would exhaust memory
        raise StudyError(f"the text put together has {len(filled)} characters", right=f"at most {MAX_TEXT}")
    return filled


def _look_up(name: str, names: Mapping[str, Any]) -> Any:
    if name not in names:
        raise StudyError(
            f'"{name}" is neither a parameter nor an axis of this cell', right=nearest(name, names)
        )
    return names[name]


def resolve(value: Any, names: Mapping[str, Any], at: KeyPath = (), *, program: bool = False) -> Any:
    """A copy of `value` with every reference in it resolved.

    `at` is its path in the study, for errors; `program` is whether it is part of a program.
    """
    match value:
        case str():
            try:
                return resolve_text(value, names, program=program)
            except StudyError as error:
                raise error.replace(path=error.path or at) from None
        case dict():
            inside = program or is_program(value)
            return {key: resolve(item, names, (*at, key), program=inside) for key, item in value.items()}
        case list():
            return [resolve(item, names, (*at, index), program=program) for index, item in enumerate(value)]
    return value


def references(value: Any, *, program: bool = False) -> set[str]:
    """All names that the strings in `value` refer to; `program` is whether it is part of a program."""
    names: set[str] = set()
    match value:
        case str():
            if value.startswith("="):
                try:
                    names |= names_in(value[1:])
                except StudyError:
                    pass  # reported where it is evaluated
            elif whole := _WHOLE.match(value):
                names.add(whole[1])
            else:
                named = {piece[1] for piece in _PIECE.finditer(value) if piece[1]}
                names |= named - HOSTS if program else named
        case dict():
            for item in value.values():
                names |= references(item, program=program or is_program(value))
        case list():
            for item in value:
                names |= references(item, program=program)
    return names


def _label(element: Any) -> str | None:
    if not isinstance(element, dict):
        return None
    name = element.get("name")
    if isinstance(name, str):
        return name
    ends = element.get("between")
    if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, str) for end in ends):
        return "-".join(ends)
    return None


def steps(raw: Mapping[str, Any], key: str, sections: Iterable[str]) -> KeyPath:
    """The path of a dotted key, with list elements' names as indices; StudyError if it does not exist."""
    parts = key.split(".")
    allowed = list(sections)
    if parts[0] in NETWORKS and parts[0] not in allowed:
        right = _WRITTEN_OUT.get(parts[-1], "`cwndlab expand` shows the key that it becomes")
        raise StudyError(f'"{key}" is a key of the short form, which axes cannot set', right=right)
    if parts[0] not in allowed:
        raise StudyError(f'"{key}" names no parameter of the study', right=nearest(parts[0], allowed))
    path: list[str | int] = []
    here: Any = raw
    for part in parts:
        if not part:
            raise StudyError(
                f'"{key}" is no dotted key', right="write for instance topology.links.modem.rate"
            )
        if isinstance(here, list):
            labels = [_label(element) for element in here]
            if part not in labels:
                if part.isdigit() and 1 <= int(part) <= len(here):
                    index = int(part) - 1
                else:
                    names = [label for label in labels if label]
                    raise StudyError(
                        f'"{key}" names no parameter: there is no "{part}"', right=nearest(part, names)
                    )
            else:
                index = labels.index(part)
            path.append(index)
            here = here[index]
        else:
            word = path[0] == "tcp" if path else False  # knobs may replace a word: recovery = "reno"
            if (
                here is not None
                and not isinstance(here, dict)
                and not (word and isinstance(here, str | bool))
            ):
                raise StudyError(f'"{key}" names no parameter: the part before "{part}" is not a table')
            path.append(part)
            here = here.get(part) if isinstance(here, dict) else None
    if len(path) < 2:
        raise StudyError(f'"{key}" is a whole section', right="name a key inside it")
    return tuple(path)


def put(raw: dict[str, Any], path: KeyPath, value: Any) -> None:
    """Sets the value at `path`, and creates missing tables on the way."""
    here: Any = raw
    for step in path[:-1]:
        if isinstance(step, int):
            here = here[step]
        else:
            if not isinstance(here.get(step), dict | list):
                here[step] = {}
            here = here[step]
    here[path[-1]] = copy.deepcopy(value)
