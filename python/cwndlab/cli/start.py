"""What makes a command start sooner: no garbage collection, libraries loaded ahead or when first used."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from threading import Thread
from types import ModuleType
from typing import Any


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


def postpone(name: str, function: str) -> None:
    """Loads a module when this function of it is called, or when anything else is imported from it."""
    if name in sys.modules:
        return
    stand_in = ModuleType(name)

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):  # what `import` itself asks
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
