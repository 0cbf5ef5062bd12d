"""Errors of cwndlab. Every one says what is wrong, where, and what would be right; the command line prints it
and no traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

#: Keys and indices that lead to a value in the tables of a study.
KeyPath: TypeAlias = tuple[str | int, ...]


class CwndlabError(Exception):
    """Base of all errors that the caller can correct."""

    exit_code = 2


class StudyError(CwndlabError):
    """A problem of a study: what is wrong, where, and what would be right.

    Attributes:
        problem: what is wrong.
        path: the keys and indices that lead to it in the tables of the study. `cwndlab.spec.place` derives
            `file`, `key`, `line` and `column` from it.
        file: the file that contains it, if any.
        key: the dotted key, for instance ``topology.links.modem.rate``.
        line: line of the key in the file, 1-based, if it could be found.
        column: and its column.
        right: what would be right.
        others: what else is wrong with the study.

    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str | None = None,
        key: str | None = None,
        line: int | None = None,
        column: int | None = None,
        right: str | None = None,
        path: KeyPath | None = None,
        others: Sequence[StudyError] = (),
    ) -> None:
        self.problem = problem
        self.file = str(file) if file is not None else None
        self.key = key
        self.line = line
        self.column = column
        self.right = right
        self.path = path
        self.others = tuple(others)
        super().__init__(self._text())

    def _text(self) -> str:
        place = ""
        if self.file:
            numbers = [str(number) for number in (self.line, self.column) if number is not None]
            place = ":".join([self.file, *numbers]) + ": "
        if key := self.key or ".".join(map(str, self.path or ())):
            place += f"{key}: "
        own = place + self.problem + (f"; {self.right}" if self.right else "")
        return "\n".join([own, *map(str, self.others)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles whole, so that a worker's error arrives as it was."""
        return (_rebuild_study_error, (self._fields(),))

    def _fields(self) -> dict[str, Any]:
        names = ("problem", "file", "key", "line", "column", "right", "path", "others")
        return {name: getattr(self, name) for name in names}

    def replace(self, **fields: object) -> StudyError:
        """The same error with other values of these attributes."""
        return _rebuild_study_error({**self._fields(), **fields})

    def without_others(self) -> StudyError:
        """The same error without others."""
        return self.replace(others=())

    def located(self, *, file: Path | str | None, line: int | None, key: str | None = None) -> StudyError:
        """The same error with its place filled in."""
        return self.replace(
            file=self.file or file,
            key=self.key or key,
            line=self.line if self.line is not None else line,
        )


def _rebuild_study_error(fields: Mapping[str, Any]) -> StudyError:
    return StudyError(**fields)


def problem_at(path: KeyPath, problem: str, right: str | None = None) -> StudyError:
    """What is wrong at a path of a study's tables."""
    return StudyError(problem, right=right, path=path)


class ArgumentError(CwndlabError, TypeError):
    """An argument of a Python function whose name or type is wrong."""


class NotFoundError(CwndlabError, KeyError):
    """A name that is not among the results or records."""

    __str__ = Exception.__str__  # KeyError's would quote the text


def check_mapping(name: str, value: object) -> None:
    """ArgumentError unless the value has keys that are text."""
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{name} must be a mapping of keys to values, not {type(value).__name__}")
    for key in value:
        if not isinstance(key, str):
            raise ArgumentError(f"{name} has the key {key!r}, which is not text")


def check_whole(**values: object) -> None:
    """ArgumentError unless each value is a whole number or None."""
    for name, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
            raise ArgumentError(f"{name} must be a whole number, not {value!r}")


class OutputError(CwndlabError):
    """An output folder or file that cannot be used: exists, is not writable, disk full."""


class RunError(CwndlabError):
    """A run that failed though its study was right; the exit code differs so that scripts can tell."""

    exit_code = 1


class ExtraError(CwndlabError):
    """An optional package that is not installed.

    >>> str(ExtraError("cwndlab search", "scipy", "search"))
    "cwndlab search needs scipy: pip install 'cwndlab[search]'"
    """

    def __init__(self, user: str, package: str, extra: str) -> None:
        super().__init__(f"{user} needs {package}: {install(extra)}")


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'cwndlab[{extra}]'"


class ClusterError(CwndlabError):
    """A cluster that is not there or went away."""


def nearest(name: str, choices: Iterable[str], *, limit: int = 12) -> str:
    """What would be right instead of `name`: the nearest of `choices`, or all of them if none is near.

    >>> nearest("topolgy", ["topology", "traffic"])
    'did you mean "topology"?'
    """
    known = [str(choice) for choice in choices]
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{close[0]}"?'
    if not known:
        return "none is defined"
    shown = ", ".join(known[:limit]) + (", …" if len(known) > limit else "")
    return f"known: {shown}"
