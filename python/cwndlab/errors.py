"""Errors of cwndlab. Every one says what is wrong, where, and what would be right; the command line prints it
and no traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class CwndlabError(Exception):
    """Base of all errors that are the caller's to mend."""

    exit_code = 2


class StudyError(CwndlabError):
    """A study file that does not say what it must.

    Attributes:
        problem: what is wrong.
        file: the file it stands in, if it came from one.
        key: the dotted key, for instance ``topology.links.modem.rate``.
        line: line of the key in the file, 1-based, if it could be found.
        right: what would be right.

    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str | None = None,
        key: str | None = None,
        line: int | None = None,
        right: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = str(file) if file is not None else None
        self.key = key
        self.line = line
        self.right = right
        super().__init__(self._text())

    def _text(self) -> str:
        place = ""
        if self.file:
            place = self.file if self.line is None else f"{self.file}:{self.line}"
            place += ": "
        if self.key:
            place += f"{self.key}: "
        return place + self.problem + (f"; {self.right}" if self.right else "")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles whole, so that a worker's error arrives as it was."""
        return (_rebuild_study_error, (self.problem, self.file, self.key, self.line, self.right))

    def located(self, *, file: Path | str | None, line: int | None, key: str | None = None) -> StudyError:
        """The same error with its place filled in."""
        return StudyError(
            self.problem,
            file=self.file or file,
            key=self.key or key,
            line=self.line if self.line is not None else line,
            right=self.right,
        )


def _rebuild_study_error(
    problem: str, file: str | None, key: str | None, line: int | None, right: str | None
) -> StudyError:
    return StudyError(problem, file=file, key=key, line=line, right=right)


class OutputError(CwndlabError):
    """An output folder or file that cannot be used: exists, is not writable, disk full."""


class RunError(CwndlabError):
    """A run that failed though its study was right; the exit code differs so that scripts can tell."""

    exit_code = 1


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
