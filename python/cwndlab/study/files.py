"""Reads files that a study names: only plain files in the study's folder, of at most `MAX_BYTES`."""

from __future__ import annotations

import csv
import errno
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.plain_files import read_inside, read_plain

#: The name of a study's file, and the folder of the shipped studies.
STUDY = "study.toml"
SHIPPED = Path(__file__).parent.parent / "studies"
MAX_BYTES = 8_000_000
#: Names in a result folder, into which a run also copies the files that the study names.
RESULTS = frozenset(
    {"store", "records", "kernel", "trace", "figures", STUDY, "provenance.json", "stack.toml"}
    | {"report.html", "report.md", "verdicts.csv", "claims.csv", "agreement.csv", "summary.json"}
    | {"congestion_controls", "own_metrics"}
)


def read_text(path: Path, *, what: str, root: Path | None = None) -> str:
    """The text of a plain UTF-8 file; StudyError with the reason if it cannot be read.

    `root` is the folder in which `resolve_below` found the file; if given, no link is followed.
    """
    try:
        if path.is_dir():
            raise StudyError(f"this is a folder, not {what}", file=path)
        if not path.is_file():
            raise StudyError(f"there is no such file ({what})", file=path, right=_neighbours(path))
        if root is None:
            data = read_plain(path, MAX_BYTES)
        else:
            data = read_inside(root, path.relative_to(root).as_posix(), MAX_BYTES)
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"this is not UTF-8 text (byte {error.start})", file=path) from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise StudyError(f"the file {error.strerror}", file=path) from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StudyError(f"the file cannot be read: {reason}", file=path) from None


def _neighbours(path: Path) -> str | None:
    try:
        names = [item.name for item in path.parent.iterdir()]
    except OSError:
        return None
    return nearest(path.name, names) if names else None


def resolve_inside(folder: Path | None, name: str) -> Path:
    """The path of a file that a study names; StudyError if it is outside the study's folder."""
    if folder is None:
        raise StudyError(f"{name!r} is a file, but a study built in code has no folder")
    root, path = resolve_below(folder, name)
    if path.relative_to(root).parts[0].lower() in RESULTS:
        raise StudyError(f"{name!r} is where a run writes its results", right="move it to another folder")
    return path


def resolve_below(folder: Path, name: str) -> tuple[Path, Path]:
    """The resolved paths of a folder and of a file in it; StudyError if the file lies outside the folder."""
    outside = StudyError(
        f"{name!r} lies outside the study's folder",
        right="a study reads only files next to its own study.toml",
    )
    if "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise outside
    try:
        root = folder.resolve()
        path = (root / name).resolve()  # follows links, so one that leads outside is detected
    except (OSError, RuntimeError, ValueError):
        raise StudyError(f"{name!r} is not a file name") from None
    if not path.is_relative_to(root) or path == root:
        raise outside
    return root, path


def read_copy(folder: Path, path: Path) -> bytes:
    """The bytes of a file that `resolve_inside` found in a folder; StudyError if it cannot be read."""
    root = folder.resolve()
    try:
        return read_inside(root, path.relative_to(root).as_posix())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its folder was changed"
        raise StudyError(f"the file cannot be read: {reason}", file=path) from None


@dataclass(frozen=True, eq=False, repr=False)
class Csv:
    """The columns and lines of a CSV file. Readers share the object and must not change it."""

    columns: list[str]
    lines: list[dict[str, str]]
    _numbers: dict[tuple[str, Callable[[str], float]], list[float]] = field(default_factory=dict)

    def numbers(self, column: str, kind: Callable[[str], float]) -> list[float]:
        """The values of a column, converted by `kind` (int or float); ValueError if one cannot be."""
        key = (column, kind)
        if key not in self._numbers:
            self._numbers[key] = [kind(line[column]) for line in self.lines]
        return self._numbers[key]


def read_csv(folder: Path | None, name: str) -> Csv:
    """The CSV file of this name in the study's folder."""
    path = resolve_inside(folder, name)
    assert folder is not None
    try:
        state = path.stat()
        version = (state.st_mtime_ns, state.st_size)
    except OSError:
        version = (0, 0)  # `read_text` reports the error
    return _csv(folder.resolve(), path, version)


@lru_cache(maxsize=32)
def _csv(root: Path, path: Path, version: tuple[int, int]) -> Csv:
    """The parsed file, cached until its time or size (`version`) changes."""
    text = read_text(path, what="a CSV file", root=root)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error as error:
        raise StudyError(f"this is not CSV: {error}", file=path) from None
    if not rows:
        raise StudyError("the file is empty", file=path, right="its first line names the columns")
    heading = [column.strip() for column in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) > len(heading):
            raise StudyError(
                f"{len(row)} fields where the heading has {len(heading)}", file=path, line=number
            )
    lines = [
        dict(zip(heading, [field.strip() for field in row] + [""] * len(heading), strict=False))
        for row in rows[1:]
    ]
    return Csv(heading, lines)
