"""Loads shared libraries ahead, on another processor."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from importlib.machinery import PathFinder
from threading import Thread


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
