"""A store that several machines share: a folder visible to all of them, or an object store (obstore).

Each replicate has its own objects, created only if absent, so that no machine waits for a lock or damages the
data of another:

- ``cwndlab-store``: marks a store, and states the version of its layout.
- ``<first two digits of key>/<key>.arrows``: the record tables of the run with this key.
- ``<first two digits of key>/<key>-<asked>.line``: the values of the requested quantities, as a line of
  ``DIR/store``; written after the records. If only this is missing, the records are measured again.

Before performing a replicate, each worker checks the store. If two workers perform a replicate at the same
time, they produce the same bytes, and the later result is discarded.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from cwndlab.base.arrow_tables import is_whole
from cwndlab.base.core import Records, Value
from cwndlab.base.errors import ExtraError, OutputError
from cwndlab.base.plain_files import open_plain
from cwndlab.base.writing import output_errors
from cwndlab.metrics import ensure_known
from cwndlab.runs.executors.protocol import Executor, Job, Outcome, Stopped, Work, never_stop
from cwndlab.runs.store.folder_store import line_key, line_values, write_line
from cwndlab.runs.work import MeasuredRuns

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_MARK = "cwndlab-store"
_LAYOUT = b"cwndlab store, layout 2\n"
#: Concurrent requests to an object store.
_CONCURRENT = 32
#: Finished outcomes are stored at least this often, in seconds.
FLUSH_S = 0.5


class FolderObjects:
    """Objects as files in a folder, which several clients of a network file system may write concurrently."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, names: Sequence[str]) -> list[bytes | None]:
        """The content of each file; None if it does not exist."""
        return [self._read(self.folder / name) for name in names]

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            with open_plain(path) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def put(self, objects: Mapping[str, bytes], *, overwrite: bool = False) -> None:
        """Writes temporary files and links them: one of several writers succeeds, with a complete file."""
        me = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
        for name, data in objects.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            temporary = path.with_name(f"{path.name}.tmp-{me}")
            try:
                temporary.unlink(missing_ok=True)
                with open_plain(temporary, "xb") as file:
                    file.write(data)
                if overwrite:
                    temporary.replace(path)
                else:
                    with suppress(FileExistsError):
                        path.hardlink_to(temporary)
            finally:
                temporary.unlink(missing_ok=True)


class RemoteObjects:
    """Objects in any store that obstore supports."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(_CONCURRENT)

    def get(self, names: Sequence[str]) -> list[bytes | None]:
        """The content of each object, fetched concurrently; None if it does not exist."""
        import obstore

        def one(name: str) -> bytes | None:
            try:
                return bytes(obstore.get(self._store, name).bytes())
            except FileNotFoundError:
                return None

        return list(self._threads.map(one, names))

    def put(self, objects: Mapping[str, bytes], *, overwrite: bool = False) -> None:
        """Sends objects concurrently, each completely or not at all."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        mode: Literal["overwrite", "create"] = "overwrite" if overwrite else "create"

        def one(name: str) -> None:
            with suppress(AlreadyExistsError):
                obstore.put(self._store, name, objects[name], mode=mode, use_multipart=False)

        list(self._threads.map(one, objects))


#: Objects by name. `put` keeps existing objects unless `overwrite` is set.
Objects: TypeAlias = FolderObjects | RemoteObjects


# ── opening ───────────────────────────────────────────────────────────────────────────────────────────────


def without_credentials(place: str) -> str:
    """The place without user, password and query, for provenance and report."""
    if "://" not in place:
        return place
    parts = urlsplit(place)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def absolute_place(place: str | Path) -> str:
    """The place in the form that all machines use: a URL unchanged, a folder as an absolute path."""
    text = str(place)
    return text if "://" in text else str(Path(text).expanduser().absolute())


def prepare(given: str | Path) -> PreparedStore:
    """Creates the store, or checks that the existing one is valid; OutputError otherwise."""
    place = absolute_place(given)
    if "://" not in place:
        folder = Path(place)
        with output_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _MARK).exists() and any(not p.name.startswith(_MARK) for p in folder.iterdir()):
            raise OutputError(f"{place}: holds other files; choose a new or an empty folder as the store")
    shared = _open(place)
    with store_errors(place):
        shared.put({_MARK: _LAYOUT})
    _look(place, shared)
    return PreparedStore(place)


@cache
def open_store(place: str) -> Objects:
    """The store, opened once per process; OutputError if this machine cannot access it."""
    shared = _open(place)
    _look(place, shared)
    return shared


def _look(place: str, shared: Objects) -> None:
    with store_errors(place):
        (mark,) = shared.get([_MARK])
    if mark is None:
        raise OutputError(
            f"{place}: {socket.gethostname()} sees no store of cwndlab there; "
            "mount a shared folder under the same path on every machine"
        )
    if mark != _LAYOUT:
        raise OutputError(
            f"{place}: was written by another version of cwndlab ({mark[:40]!r}); choose another place"
        )


@cache
def _open(place: str) -> Objects:
    if "://" not in place:
        return FolderObjects(Path(place))
    try:
        from obstore.store import from_url
    except ImportError:
        raise ExtraError(f"--store {place}", "obstore", "store") from None
    from obstore.exceptions import BaseError

    scheme, _, rest = place.partition("://")
    options: dict[str, Any] = {}
    if scheme == "file":
        Path("/" + rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif scheme == "memory":
        place = "memory:///"
    else:  # an answer that does not arrive within seconds never does
        options = {"retry_config": {"max_retries": 5, "retry_timeout": timedelta(seconds=10)}}
    try:
        return RemoteObjects(from_url(place, **options))
    except (BaseError, ValueError, TypeError) as error:
        raise OutputError(
            f"--store {place}: {_first_line(error)}; write a folder, file:///…, "
            "s3://bucket/prefix, gs://… or az://…, with the keys in the environment (AWS_ACCESS_KEY_ID, …)"
        ) from None


@contextmanager
def store_errors(place: str) -> Iterator[None]:
    """Converts failures of the store into errors that say what to do."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"{place}: cannot be used as a store: {error.strerror or _first_line(error)}; "
            "what is finished is kept, the same command continues"
        ) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "obstore":
            raise
        raise OutputError(
            f"{place}: cannot be used as a store: {_first_line(error)}; what is finished is kept, the same "
            "command continues"
        ) from None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


# ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────


def _line_name(key: str, asked: str) -> str:
    return f"{key[:2]}/{key}-{asked}.line"


def _records_name(key: str) -> str:
    return f"{key[:2]}/{key}.arrows"


def fetch(jobs: Sequence[Job], asked: str, shared: Objects) -> dict[str, Outcome | str]:
    """By key: a complete outcome, an outcome with records only, or a text on what is damaged."""
    lines = shared.get([_line_name(job.key, asked) for job in jobs])
    # Records are fetched if they are to be kept, or measured because the values are missing.
    wanted = [job for job, line in zip(jobs, lines, strict=True) if line is None or job.keep_records]
    records = dict(
        zip([job.key for job in wanted], shared.get([_records_name(job.key) for job in wanted]), strict=True)
    )
    found: dict[str, Outcome | str] = {}
    for job, line in zip(jobs, lines, strict=True):
        known = _known(job, asked, line, records.get(job.key))
        if known is not None:
            found[job.key] = known
    return found


def _known(job: Job, asked: str, line: bytes | None, records: bytes | None) -> Outcome | str | None:
    if records is not None and not is_whole(records, job.key):
        return f"{_records_name(job.key)} in the shared store: does not fit its checksum; computed again"
    if line is None:
        return None if records is None else Outcome(job, {}, 0, records)
    if line_key(line) != f"{job.key}-{asked}":
        return f"{_line_name(job.key, asked)} in the shared store: does not fit its checksum; computed again"
    if records is None and job.is_first:
        return f"{_records_name(job.key)} in the shared store: is missing; computed again"
    return Outcome(job, line_values(line), 0, records if job.keep_records else None, fetched=True)


def hand_in(outcomes: Sequence[Outcome], asked: str, shared: Objects) -> None:
    """Stores successful outcomes; overwrites objects that were damaged."""
    good = [outcome for outcome in outcomes if outcome.error is None]
    for damaged in (False, True):
        some = [outcome for outcome in good if (outcome.note is not None) == damaged]
        shared.put(
            {_records_name(o.job.key): o.records for o in some if o.records is not None}, overwrite=damaged
        )
        shared.put(
            {_line_name(o.job.key, asked): write_line(f"{o.job.key}-{asked}", o.values) for o in some},
            overwrite=damaged,
        )


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PreparedStore:
    """An existing store, identified by the place in the form that all machines use."""

    place: str

    @property
    def public_place(self) -> str:
        """The place without credentials."""
        return without_credentials(self.place)

    def wrap(self, executor: Executor) -> Executor:
        """An executor that takes outcomes from the store, and stores those that `executor` performs."""
        return _SharingExecutor(self.place, executor)


class _SharingExecutor(NamedTuple):
    """An executor whose workers use the store."""

    place: str
    executor: Executor

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs, or takes them from the store."""
        assert isinstance(work, MeasuredRuns)  # a campaign uses no other work
        self.executor.execute(jobs, SharedRuns(work, self.place), deliver)


@dataclass(frozen=True)
class SharedRuns:
    """Runs that are taken from the store, or performed and stored; this object is sent to the workers."""

    runs: MeasuredRuns
    place: str

    @property
    def memory_bytes(self) -> int:
        """The memory that one run may use."""
        return self.runs.memory_bytes

    def check(self) -> None:
        """ClusterError if this process would not produce the requested numbers."""
        self.runs.check()

    def measure(self, job: Job, records: Records) -> Mapping[str, Value]:
        """The values, by measure id, for the records of a job that ran elsewhere."""
        return self.runs.measure(job, records)

    def perform(self, jobs: Sequence[Job], stopped: Stopped = never_stop) -> Iterator[Outcome]:
        """Performs the jobs that are not in the store, in order.

        An outcome is yielded after it is stored, so a reported outcome is never lost.
        """
        ensure_known(self.runs.own_metrics)
        asked = hashlib.sha256(" ".join(sorted(self.runs.ids.values())).encode()).hexdigest()[:16]
        shared = open_store(self.place)
        with store_errors(self.place):
            found = fetch(jobs, asked, shared)
        waiting: list[Outcome] = []
        flushed = time.monotonic()
        for job in jobs:
            known = found.get(job.key)
            if isinstance(known, Outcome) and known.fetched:
                yield known
                continue
            outcome = None
            if isinstance(known, Outcome) and known.records is not None:  # stored for other metrics
                outcome = self.runs.measure_records(job, known.records)
            outcome = outcome or self.runs.perform_one(job, stopped)
            if outcome is None:
                break
            waiting.append(outcome._replace(note=known) if isinstance(known, str) else outcome)
            if time.monotonic() - flushed > FLUSH_S:
                yield from self._hand_in(waiting, asked, shared)
                waiting, flushed = [], time.monotonic()
        yield from self._hand_in(waiting, asked, shared)

    def _hand_in(self, outcomes: list[Outcome], asked: str, shared: Objects) -> Iterator[Outcome]:
        """Yields the outcomes after storing them; if storing fails, yields them and raises the error."""
        try:
            with store_errors(self.place):
                hand_in(outcomes, asked, shared)
        except OutputError:
            yield from outcomes
            raise
        yield from outcomes
