"""Finds the file, line and column of a part of a study, and its dotted key, for errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cwndlab._core import toml_places
from cwndlab.base.errors import Findings, KeyPath, StudyError


class Place(NamedTuple):
    """Adds the file, key, line and column to errors about a study's tables."""

    raw: Mapping[str, Any]
    file: Path | None
    text: str | None
    #: The tables as written, if `raw` is their expanded form; else None.
    written: Mapping[str, Any] | None = None
    #: Path in `raw` -> path in `written`, for parts that a short form was expanded to.
    origins: Mapping[KeyPath, KeyPath] = MappingProxyType({})
    #: Dotted keys changed by `set`.
    changed: Collection[str] = ()

    def written_path(self, path: KeyPath) -> KeyPath:
        """The path, in the tables as the user wrote them, from which a part of the full form was expanded."""
        for length in range(len(path), 0, -1):
            if (origin := self.origins.get(path[:length])) is not None:
                return (*origin, *path[length:])
        return path

    def error(self, path: KeyPath, problem: str, right: str | None = None) -> StudyError:
        """A StudyError with the file, line and key of this path."""
        return self.locate(StudyError(problem, right=right), path)

    def locate(self, error: StudyError, path: KeyPath | None = None) -> StudyError:
        """The error with the file, line and key of `path` (default: its own), and `others` with theirs."""
        findings = Findings()
        findings.note(self._located(error.without_others(), (error.path or ()) if path is None else path))
        for other in error.others:
            findings.note(other if other.path is None else self._located(other, other.path))
        return findings.error()

    def _located(self, error: StudyError, path: KeyPath) -> StudyError:
        """The error with the key, line and column of a path; with this file unless the error has a file."""
        if (option := self._option(dotted_key(self.raw, path), error.key)) is not None:
            return type(error)(error.problem, key=f"--set {option}", right=error.right)
        raw, missing = self.raw, str(path[0]) if path else None
        if self.written is not None:
            raw, path = self.written, _present(self.written, self.written_path(path))
            if (option := self._option(dotted_key(raw, path))) is not None:
                return type(error)(error.problem, key=f"--set {option}", right=error.right)
        place = find_place(self.text, path) if self.text is not None and path else None
        line, column = place or (None, None)
        return type(error)(
            error.problem,
            file=error.file or self.file,
            key=(dotted_key(raw, path) if path else None) or error.key or missing,
            line=line,
            column=column,
            right=error.right,
        )

    def _option(self, *keys: str | None) -> str | None:
        """The key changed by `set` that equals, contains or is inside one of these keys; else None."""
        pairs = ((option, key) for option in self.changed for key in keys if key)
        return next((o for o, key in pairs if f"{o}.".startswith(f"{key}.") or key.startswith(f"{o}.")), None)


def dotted_key(raw: object, path: Sequence[str | int]) -> str:
    """A path with dots: a list element is named by its `name` or `id`, else by its number (from 1)."""
    parts: list[str] = []
    here = raw
    for step in path:
        if isinstance(step, int):
            element = here[step] if isinstance(here, list) and 0 <= step < len(here) else None
            label = (element.get("name") or element.get("id")) if isinstance(element, dict) else None
            parts.append(str(label) if isinstance(label, str | int) else str(step + 1))
            here = element
        else:
            parts.append(step)
            here = here.get(step) if isinstance(here, dict) else None
    return ".".join(parts)


def find_place(text: str, path: KeyPath) -> tuple[int, int] | None:
    """Line and column (from 1) of the key at `path`, or of the nearest enclosing key; None if not found."""
    places = _all_places(text)
    return next((places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in places), None)


@lru_cache(maxsize=8)
def _all_places(text: str) -> Mapping[KeyPath, tuple[int, int]]:
    return {tuple(path): (line, column) for path, line, column in toml_places(text)}


def _present(raw: object, path: KeyPath) -> KeyPath:
    """The longest beginning of a path that exists in the tables."""
    for index, step in enumerate(path):
        inside = isinstance(raw, Mapping) and step in raw
        inside = inside or (isinstance(raw, list) and isinstance(step, int) and step < len(raw))
        if not inside:
            return path[:index]
        raw = raw[step]  # type: ignore[index]
    return path
