"""What makes a command shorter.

No garbage collection at the start, libraries loaded ahead or when first used, and an end that frees nothing.
"""

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


def preload(package: str, module: str) -> threading.Thread | None:
    """Loads the libraries of a package's compiled module in the background, but does not import it.

    Python holds its lock while an import loads them, 30 ms for pyarrow's; ctypes releases it.
    """
    spec = PathFinder.find_spec(package)
    compiled = spec and PathFinder.find_spec(f"{package}.{module}", spec.submodule_search_locations)
    if compiled is None or compiled.origin is None:
        return None
    # A daemon, so that a command that ends early does not wait for it.
    thread = threading.Thread(target=_load, args=[compiled.origin], daemon=True)
    thread.start()
    return thread


def _load(library: str) -> None:
    with suppress(OSError):  # the import reports what is wrong
        ctypes.CDLL(library)


def leave(code: int) -> NoReturn:
    """Ends the process as Python does, but leaves its memory to the system.

    To take apart what was imported is a twentieth of a short command. Threads are waited for, functions
    registered with `atexit` are called, and output is flushed.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, and ends those of executors
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
