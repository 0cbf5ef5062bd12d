"""Writes files atomically, with errors that suggest a remedy; formats rows as CSV, Markdown and text."""

from __future__ import annotations

import csv
import errno
import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import OutputError
from .plain_files import write_inside


@contextmanager
def output_errors(folder: Path) -> Iterator[None]:
    """Turns an OSError in the block into an OutputError that names the file and a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise OutputError(
                f"{folder}: the disk is full ({error.strerror}); finished runs are kept: make room, run again"
            ) from None
        raise OutputError(
            f"{error.filename or folder}: cannot be written: {error.strerror or error}; choose another folder"
        ) from None


def markdown_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a CSV file: a line of headings, and a line for each row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def aligned_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line of text for each row, its fields padded to the widths of the columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def join_words(names: Sequence[str]) -> str:
    """Names in words, at least one: "a", "a and b", "a, b and c"."""
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def with_unit(title: str, unit: str) -> str:
    """A title with its unit: "loss rate (%)". Omits a unit that is empty, "1" or a word of the title."""
    return title if unit in ("", "1") or unit in title.split() else f"{title} ({unit})"


def count_text(count: int, noun: str) -> str:
    """A count with its noun: "1 run", "3 runs"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def user_cache() -> Path:
    """The cache folder of the user, for files that are costly to make again."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "cwndlab"


def plain_row(row: Mapping[str, object]) -> dict[str, object]:
    """A row with None for each number that JSON cannot write (NaN and infinity)."""
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in row.items()}


def write_atomic(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all. A device or a pipe (/dev/stdout) is written to, not replaced."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    write_inside(path.parent, path.name, data)


def save(path: Path, content: str | bytes) -> None:
    """Writes a file whole or not at all, and makes its folder; OutputError if that fails."""
    save_inside(path.parent, path.name, content)


def save_inside(folder: Path, name: str, content: str | bytes) -> None:
    """Writes a file below a folder, whole or not at all; OutputError if that fails."""
    data = content.encode() if isinstance(content, str) else content
    try:
        write_inside(folder, name, data)
    except OSError as error:
        raise OutputError(f"{folder / name}: cannot be written: {error.strerror}") from error
