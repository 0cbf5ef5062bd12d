"""The programs that a study runs: their paths, and digests of the files that determine their behaviour."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from cwndlab.base.engine_kinds import is_program
from cwndlab.base.errors import KeyPath, StudyError, problem_at
from cwndlab.study.files import resolve_inside
from cwndlab_linux.quic_stacks import commands_folder, recipes

from .steps import output_of

#: The environment of programs, besides HOME and TMPDIR; nothing else of this machine's is passed on.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
#: Most files of a working folder.
_MAX_FILES = 10_000
#: Parts of an argument, which may be a script, that may name a program or a file.
_WORD = re.compile(r"[\w./+-]+")


@dataclass(frozen=True)
class Command:
    """A command line of a study."""

    traffic: int
    end: str
    words: tuple[str, ...]
    path: Path
    folder: Path | None
    environment: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """The command as content of the guest's job."""
        return {
            "traffic": self.traffic,
            "end": self.end,
            "words": self.words,
            "path": str(self.path),
            "folder": None if self.folder is None else str(self.folder),
            "environment": self.environment,
        }

    def files(self) -> Iterator[Path]:
        """The program, and the files and programs that its arguments and its folder name."""
        yield self.path
        search = self.environment["PATH"]
        for word in dict.fromkeys(found for text in self.words[1:] for found in _WORD.findall(text)):
            path = (self.folder or Path("/")) / word
            if ("/" in word or self.folder is not None) and path.is_file():
                yield path
            elif (found := shutil.which(word, path=search)) is not None:
                yield Path(found)
        if self.folder is not None:
            yield from (path for path in sorted(self.folder.rglob("*")) if path.is_file())


def commands(
    scenario: Mapping[str, Any], folder: Path | None, origins: Mapping[str, KeyPath] | None = None
) -> list[Command]:
    """The command lines of a scenario; StudyError if a program or a working folder is missing.

    Args:
        scenario: the scenario of a cell.
        folder: the study's folder.
        origins: the place in the study of each part of the scenario.

    """
    made = []
    for index, entry in enumerate(scenario["traffic"]):
        app = entry["app"]
        if not is_program(app):
            continue
        at = (*(origins or {}).get(f"traffic.{index}", ("traffic", index)), "app")
        stacks = {"PATH": f"{commands_folder()}:{ENVIRONMENT['PATH']}"}
        environment = ENVIRONMENT | stacks | dict(app.get("environment", {}))
        working = _working(app.get("folder"), folder, (*at, "folder"))
        for end in ("server", "client"):
            if app.get(end) is not None:
                words = _split(app[end], (*at, end))
                path = _find(words[0], working or folder, environment["PATH"], (*at, end))
                made.append(Command(index, end, tuple(words), path, working, environment))
    return made


def _split(line: str, at: KeyPath) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise problem_at(at, f"{line!r} is no command line: {error}", "close the quotes") from None


def _working(name: str | None, folder: Path | None, at: KeyPath) -> Path | None:
    if name is None:
        return None
    try:
        path = Path(name) if Path(name).is_absolute() else resolve_inside(folder, name).resolve()
    except StudyError as error:
        raise problem_at(at, error.problem, error.right) from None
    if not path.is_dir():
        raise problem_at(at, f"there is no folder {path}", "name a folder next to the study")
    if sum(1 for _, found in zip(range(_MAX_FILES + 1), path.rglob("*"), strict=False)) > _MAX_FILES:
        raise problem_at(at, f"{path} has more than {_MAX_FILES} files", "name a smaller folder")
    return path


def _find(word: str, folder: Path | None, search: str, at: KeyPath) -> Path:
    """The path of a program."""
    if "/" in word:
        path = (folder or Path()).resolve() / word
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise problem_at(
                at, f"there is no program {path}", "write the path of a file that can be executed"
            )
        return path
    found = shutil.which(word, path=search)
    if found is None:
        stack = word.rpartition("-")[0]
        right = f"install it, or write its path; these folders are searched: {search.replace(':', ', ')}"
        if any(stack == recipe.name for recipe in recipes()):
            right = f"build it: cwndlab linux stacks {stack}"
        raise problem_at(at, f'there is no program "{word}"', right)
    return Path(found)


def digests(some: Iterable[Command]) -> dict[str, str]:
    """SHA-256 of the files that are known to determine the programs' behaviour, by path.

    These are the programs with the libraries that they link, interpreters of scripts, programs and files
    named in arguments, and the content of working folders. Files that a program opens or loads later are not
    included.
    """
    found: dict[str, str] = {}
    for path in dict.fromkeys(path for command in some for path in command.files()):
        for file in (path, *_needed(path, path.stat().st_mtime_ns)):
            found[str(file)] = _digest(file, file.stat().st_mtime_ns)
    return dict(sorted(found.items()))


@lru_cache(maxsize=4096)
def _digest(path: Path, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@lru_cache(maxsize=256)
def _needed(path: Path, changed: int) -> tuple[Path, ...]:
    """The libraries of a program; for a script, its interpreter and the interpreter's libraries."""
    with path.open("rb") as file:
        start = file.read(256)
    if start.startswith(b"#!"):
        words = start[2:].split(b"\n", 1)[0].decode(errors="replace").split()
        if len(words) > 1 and Path(words[0]).name == "env":
            words = [shutil.which(words[-1], path=ENVIRONMENT["PATH"]) or words[0]]
        found = Path(words[0]) if words else path
        return (found, *_needed(found, changed)) if found.is_file() and found != path else ()
    if not start.startswith(b"\x7fELF"):
        return ()
    lines = output_of(["ldd", str(path)]).splitlines()
    return tuple(
        Path(library[0])
        for line in lines
        if (library := re.findall(r"(/\S+) \(0x", line)) and Path(library[0]).is_file()
    )
