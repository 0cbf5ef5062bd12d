"""Garbage collection while a command starts."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collects no garbage meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Collects no garbage meanwhile, and exempts what was imported from later collections.

    Modules of the user's own must be imported outside: at the end of the process, those made with nanobind
    would report leaks.
    """
    with uncollected():
        yield
        gc.freeze()
