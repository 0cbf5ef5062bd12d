"""Stores every finished replicate, so that a run can be stopped at any time and continued.

Layout of ``DIR/store/``:
- ``values.pack``: a line for each run, sorted by key, with its values by the ids of quantities; written to a
  temporary file and renamed.
- ``journal-*.log``: lines of the current command, appended as replicates finish. A process that is killed
  leaves at most one incomplete line, which its checksum reveals. A command that ends merges its journal into
  the pack.
- ``records/<first two digits of key>/<key>.arrows``: the record tables of the run with this key; written to a
  temporary file and renamed.

Each line has the form ``key checksum json``. Data with a wrong checksum is reported and computed again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from cwndlab.base.arrow_tables import is_whole
from cwndlab.base.errors import OutputError
from cwndlab.base.plain_files import open_plain, read_inside, unlink_inside, write_inside
from cwndlab.base.writing import output_errors

if TYPE_CHECKING:
    from cwndlab.base.core import Value
    from cwndlab.runs.executors.protocol import Outcome


#: The errno values of a lock that another process holds.
_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
#: Seconds to wait for a lock, and between attempts: a killed process's child may hold it briefly.
_LOCK_WAIT_S, _LOCK_STEP_S = 2.0, 0.02


def _lock(file: IO[bytes]) -> None:
    """Locks a file for this process until the file is closed; OSError if another process holds the lock."""
    until = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return _try_lock(file)
        except OSError as error:
            if error.errno not in _HELD or time.monotonic() > until:
                raise
            time.sleep(_LOCK_STEP_S)


def _try_lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


#: The largest record tables that the store reads, in bytes.
MAX_RECORDS = 1 << 40
#: How often a reader tries to open the files, which a writer may replace at the same time.
_LOOKS = 5
_JOURNAL = re.compile(r"journal-[0-9]+\.log\Z")


class MemoryStore:
    """A store in memory, with the interface of `FolderStore`."""

    def __init__(self) -> None:
        self._values: dict[str, Mapping[str, Value]] = {}
        self._records: dict[str, bytes] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def add(self, outcome: Outcome) -> None:
        """Stores one outcome. To save memory, only first replicates keep their records."""
        self._values[outcome.job.key] = outcome.values
        if outcome.records is not None and outcome.job.is_first:
            self._records[outcome.job.key] = outcome.records

    def values(self, key: str) -> Mapping[str, Value]:
        """The values of a run, by the ids of quantities."""
        return self._values[key]

    def records(self, key: str) -> bytes | None:
        """The encoded record tables of a run; None if they were not stored."""
        return self._records.get(key)

    def finish(self) -> None:
        """Does nothing; `FolderStore` merges its files."""


class FolderStore:
    """A store in a folder. Memory holds only the position of each line.

    With `read_only` the store takes no lock, writes nothing, and keeps its content at the time of opening.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        #: Messages about damaged data, all of which is computed again.
        self.damaged: list[str] = []
        self._where: dict[str, tuple[Path, int, int]] = {}
        self._readers: dict[Path, IO[bytes]] = {}
        self._journal: IO[bytes] | None = None
        self._journal_path: Path | None = None
        self._lock: IO[bytes] | None = None
        if linked := next((path for path in (folder, folder / "records") if path.is_symlink()), None):
            raise OutputError(f"{linked}: is a link; a store is a folder of its own: remove the link")
        if not read_only:
            self._take()
        for again in reversed(range(_LOOKS)):
            try:
                for path in self._files():
                    self._index(path)
                break
            except FileNotFoundError:  # a writer has just merged the journals into the pack
                self._close_readers()
                self._where.clear()
                self.damaged.clear()
                if not again:
                    raise OutputError(f"{folder}: another run keeps changing it; try again later") from None
            except OSError as error:
                self.close()
                raise OutputError(
                    f"{path}: cannot be read: {error.strerror}; remove it and run again"
                ) from None

    def _files(self) -> list[Path]:
        """The files with values: the pack, then the journals, whose lines are newer and take precedence."""
        pack = self.folder / "values.pack"
        return ([pack] if pack.exists() else []) + self._journals()

    def _take(self) -> None:
        """Locks the folder for this process, and removes temporary files of killed processes."""
        folder = self.folder
        with output_errors(folder):
            (folder / "records").mkdir(parents=True, exist_ok=True)
            self._lock = open_plain(folder / "lock", "ab")
        try:
            _lock(self._lock)
        except OSError as error:
            self._lock.close()
            if error.errno in _HELD:
                raise OutputError(
                    f"{folder.parent}: another run is writing there; wait for it, or choose another folder"
                ) from None
            raise OutputError(
                f"{folder.parent}: its file system has no locks ({error.strerror}), so two runs could write "
                "there at once; choose a folder on a local disk"
            ) from None
        with output_errors(folder):
            for path in (*folder.glob("*.tmp-*"), *folder.glob("records/*/*.tmp-*")):
                if path.is_file():
                    with suppress(NotADirectoryError):  # the path contains a link
                        unlink_inside(folder, path.relative_to(folder).as_posix())

    def _index(self, path: Path) -> None:
        # Keep the file open: positions refer to this file even if another process replaces `values.pack`.
        file = self._readers[path] = open_plain(path)
        position = 0
        for number, line in enumerate(file, start=1):
            key = line_key(line)
            if key is None:
                torn = path.name.startswith("journal") and not line.endswith(b"\n")
                if not torn:
                    self.damaged.append(f"{path}, line {number}: does not fit its checksum; computed again")
            else:
                self._where[key] = (path, position, len(line))
            position += len(line)

    def __contains__(self, key: object) -> bool:
        return key in self._where

    def __len__(self) -> int:
        return len(self._where)

    def add(self, outcome: Outcome) -> None:
        """Stores one outcome: its tables, then its line. Tables without a line are ignored."""
        if self._lock is None:
            raise OutputError(f"{self.folder.parent}: results are missing; `cwndlab run` there makes them")
        with output_errors(self.folder):
            if outcome.records is not None:
                write_inside(self.folder, _records_name(outcome.job.key), outcome.records)
            if self._journal is None:
                self._journal_path = self._new_journal()
                self._journal = open_plain(self._journal_path, "ab", buffering=0)
            line = write_line(outcome.job.key, outcome.values)
            position = self._journal.tell()
            written = self._journal.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert self._journal_path is not None
        self._where[outcome.job.key] = (self._journal_path, position, len(line))

    def _new_journal(self) -> Path:
        number = 1 + max(map(_number, self._journals()), default=0)
        return self.folder / f"journal-{number}.log"

    def _journals(self) -> list[Path]:
        return sorted((p for p in self.folder.glob("journal-*.log") if _JOURNAL.match(p.name)), key=_number)

    def _read(self, key: str) -> bytes:
        path, position, length = self._where[key]
        if path not in self._readers:
            self._readers[path] = open_plain(path)
        reader = self._readers[path]
        reader.seek(position)
        return reader.read(length)

    def values(self, key: str) -> Mapping[str, Value]:
        """The values of a run, by the ids of quantities."""
        line = self._read(key)
        return line_values(line)

    def records(self, key: str) -> bytes | None:
        """The encoded record tables of a run; None if they were not stored or are damaged."""
        try:
            data = read_inside(self.folder, _records_name(key), MAX_RECORDS)
        except OSError:
            return None
        return data if is_whole(data, key) else None

    def check_records(self, key: str, *, required: bool) -> None:
        """Drops a run so that it is run again if its record tables are damaged, or missing but `required`."""
        path = self.folder / _records_name(key)
        if not path.exists():
            if required:
                self._where.pop(key, None)
        elif self.records(key) is None:
            self.damaged.append(f"{path}: does not fit its checksum; computed again")
            if self._lock is not None and path.is_file():
                with output_errors(self.folder):
                    unlink_inside(self.folder, _records_name(key))
            self._where.pop(key, None)

    def finish(self) -> None:
        """Merges the journals into the pack, sorted by key so that interruptions do not change its bytes."""
        journals = self._journals()
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._lock is not None and (journals or self.damaged):
            pack = self.folder / "values.pack"
            with output_errors(self.folder):
                temporary = pack.with_name(f"{pack.name}.tmp-{os.getpid()}")
                where: dict[str, tuple[Path, int, int]] = {}
                with open_plain(temporary, "xb") as file:
                    for key in sorted(self._where):
                        line = self._read(key)
                        where[key] = (pack, file.tell(), len(line))
                        file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(pack)
            self._close_readers()
            self._where = where
            for path in journals:
                path.unlink(missing_ok=True)

    def _close_readers(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def close(self) -> None:
        """Closes all files and releases the lock."""
        self._close_readers()
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> FolderStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _records_name(key: str) -> str:
    """The path of a run's record tables below the store's folder."""
    return f"records/{key[:2]}/{key}.arrows"


#: A store of outcomes, in memory or in a folder.
Store: TypeAlias = MemoryStore | FolderStore


def _number(journal: Path) -> int:
    return int(journal.stem.split("-")[1])


# ── a replicate's values as one line of text: key, checksum, JSON ───────────────────────────────────────────


def _checksum(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2s(key + b" " + body, digest_size=8).hexdigest().encode()


def write_line(key: str, values: Mapping[str, Value]) -> bytes:
    """A replicate's values as a line of a file."""
    body = json.dumps(_no_nan(values), separators=(",", ":"), allow_nan=False).encode()
    return b"%s %s %s\n" % (key.encode(), _checksum(key.encode(), body), body)


def line_key(line: bytes) -> str | None:
    """The key of a line; None if the line does not match its checksum."""
    parts = line.rstrip(b"\n").split(b" ", 2)
    if not line.endswith(b"\n") or len(parts) != 3 or _checksum(parts[0], parts[2]) != parts[1]:
        return None
    return parts[0].decode("ascii", "replace")


def line_values(line: bytes) -> Mapping[str, Value]:
    """The values in a line that `write_line` wrote."""
    raw: dict[str, Any] = json.loads(line.split(b" ", 2)[2])
    if not isinstance(raw, dict):
        raise ValueError("a line of values holds no object")
    return {
        # Most items are floats; calling `_read_number` for each would take longer than parsing.
        name: [item if item.__class__ is float else _read_number(item) for item in value]
        if isinstance(value, list)
        else _read_number(value)
        for name, value in raw.items()
    }


#: The JSON values for NaN and infinity.
_WORDS: dict[str | None, float] = {None: math.nan, "inf": math.inf, "-inf": -math.inf}


def _read_number(value: Any) -> float:
    if value is None or isinstance(value, str):
        if value not in _WORDS:
            raise ValueError(f"{value!r} is not a number")
        return _WORDS[value]
    return value if isinstance(value, float) else float(value)


def _no_nan(values: Mapping[str, Value]) -> dict[str, Any]:
    def word(value: float) -> Any:
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"

    def words(items: list[float]) -> list[Any]:
        return items if all(map(math.isfinite, items)) else [word(item) for item in items]

    return {k: words(v) if isinstance(v, list) else word(v) for k, v in values.items()}
