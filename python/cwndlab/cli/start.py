"""What makes a command start sooner: no garbage collection meanwhile, libraries loaded ahead."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder
from threading import Thread


@contextmanager
def without_collection() -> Iterator[None]:
    """Collects no garbage meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def import_uncollected() -> Iterator[None]:
    """Collects no garbage meanwhile, and exempts what was imported from later collections.

    Modules of the user's own must be imported outside: at the end of the process, those made with nanobind
    would report leaks.
    """
    with without_collection():
        yield
        gc.freeze()


def preload(package: str, module: str) -> Thread | None:
    """Loads the libraries of a package's compiled module in the background, but does not import it.

    Python holds its lock while an import loads them, 30 ms for pyarrow's; ctypes releases it.
    """
    found = PathFinder.find_spec(package)
    compiled = found and PathFinder.find_spec(f"{package}.{module}", found.submodule_search_locations)
    if compiled is None or compiled.origin is None:
        return None
    # A daemon, so that a command that ends early does not wait for it.
    thread = Thread(target=_load, args=[compiled.origin], daemon=True)
    thread.start()
    return thread


def _load(library: str) -> None:
    with suppress(OSError):  # the import reports what is wrong
        ctypes.CDLL(library)
