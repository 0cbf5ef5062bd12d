"""Kernel builds in progress: the current step of each, or the build that it waits for.

Each build keeps a locked file next to the kernels; without the lock, its build was killed.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

_PREFIX, _NEW = ".under-way-", ".new-"
_LOCK = ".lock"


class UnderWay(NamedTuple):
    """A build in progress."""

    process: int
    #: The recipe in words.
    kernel: str
    #: The last line of its progress.
    step: str
    #: Wall seconds since its start.
    seconds: float

    def __str__(self) -> str:
        return f"{self.kernel}, process {self.process}, for {self.seconds:.0f} s: {self.step}"


@contextmanager
def announce(home: Path, kernel: str, say: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Waits until no other build writes to `home`; yields a `say` that publishes its last line, too."""
    import fcntl  # not available on Windows, which builds no kernels

    began = time.time()
    with tempfile.NamedTemporaryFile("w", dir=home, prefix=_NEW) as own, _lock(home) as lock:
        fcntl.flock(own, fcntl.LOCK_EX)
        known = home / Path(own.name).name.replace(_NEW, _PREFIX)  # always locked under this name
        known.hardlink_to(own.name)

        def tell(step: str) -> None:
            _replace(own, json.dumps([os.getpid(), kernel, step, began]))
            say(step)

        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tell(f"waiting for another build to end: {lock.read() or 'by an earlier cwndlab'}")
                fcntl.flock(lock, fcntl.LOCK_EX)
            _replace(lock, f"{kernel}, process {os.getpid()}")
            yield tell
        finally:
            known.unlink(missing_ok=True)


def _lock(home: Path) -> IO[str]:
    path = home.with_suffix(_LOCK)
    path.touch()
    return path.open("r+")


def _replace(file: IO[str], text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()


def builds_under_way(home: Path) -> list[UnderWay]:
    """The builds that write to a folder of kernels, or wait to do so, in the order of their start."""
    found = []
    for path in home.glob(f"{_PREFIX}*"):
        text = _read_locked(path)
        if text:
            process, kernel, step, began = json.loads(text)
            found.append(UnderWay(process, kernel, step, time.time() - began))
    return sorted(found, key=lambda one: -one.seconds)


def _read_locked(path: Path) -> str | None:
    """The text of a file that another process has locked; None for an unlocked file, which is removed."""
    import fcntl  # not available on Windows, which builds no kernels

    try:
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read()
            path.unlink()
    except FileNotFoundError:  # its build has just ended
        pass
    return None
