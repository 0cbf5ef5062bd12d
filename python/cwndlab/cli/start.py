"""Faster commands: no garbage collection at first, libraries loaded early or late, a fast exit."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, NoReturn


@contextmanager
def without_collection() -> Iterator[None]:
    """Disables garbage collection in the block."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def import_uncollected() -> Iterator[None]:
    """Disables garbage collection in the block, and exempts the imported objects from later collections.

    The user's own modules must be imported outside the block: modules made with nanobind would report leaks
    when the process ends.
    """
    with without_collection():
        yield
        gc.freeze()


def postpone(name: str, function: str) -> None:
    """Replaces a module by a stand-in that imports the module when `function` or another name is used."""
    if name in sys.modules:
        return
    stand_in = ModuleType(name)

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):  # the import system looks these up
            raise AttributeError(attribute)
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    stand_in.__dict__.update(
        {"__getattr__": load, function: lambda *args, **options: load(function)(*args, **options)}
    )
    sys.modules[name] = stand_in
    package, _, child = name.rpartition(".")
    setattr(import_module(package), child, stand_in)


def preload(package: str, module: str) -> threading.Thread | None:
    """Loads the libraries of a package's compiled module in the background, without importing it.

    An import holds Python's lock for the 30 ms that pyarrow's take; ctypes releases the lock.
    """
    spec = PathFinder.find_spec(package)
    compiled = spec and PathFinder.find_spec(f"{package}.{module}", spec.submodule_search_locations)
    if compiled is None or compiled.origin is None:
        return None
    # A daemon thread, so that a command that ends early does not wait for it.
    thread = threading.Thread(target=_load, args=[compiled.origin], daemon=True)
    thread.start()
    return thread


def _load(library: str) -> None:
    with suppress(OSError):  # the import reports the error
        ctypes.CDLL(library)


def leave(code: int) -> NoReturn:
    """Ends the process as Python does, but without freeing its memory (5 % of a short command's time).

    Waits for threads, calls the functions registered with `atexit`, and flushes output.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, and ends those of executors
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
