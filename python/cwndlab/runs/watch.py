"""Ends a call of the user's code that does not return, so that an endless loop fails its run only."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import CodeType, FrameType

from cwndlab._core import LawFailed
from cwndlab.usercode import PREFIX

#: A call found at two looks this far apart is ended, in seconds.
LIMIT_S = 30.0


class CallTimeout(BaseException):  # its name is part of a message
    """Raised in a call that does not return; not an `Exception`, which the user's code may catch."""

    def __str__(self) -> str:
        return f"the call has not returned for {LIMIT_S:g} s"


@contextmanager
def watched(caller: CodeType) -> Iterator[None]:
    """Ends calls of user code that take over `LIMIT_S`, where a function with this code makes them.

    Raises:
        LawFailed: a call was ended; with the file and line where it was.

    """
    thread = threading.get_ident()
    over = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        seen: FrameType | None = None
        while not over.wait(LIMIT_S):
            frame = _call(sys._current_frames().get(thread), caller)
            with lock:
                if frame is not None and frame is seen and not over.is_set():
                    _raise(thread)
            seen = frame

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except CallTimeout as error:
        raise LawFailed(f"{_place(error)}: CallTimeout: {error}") from None
    finally:
        try:
            with lock:
                over.set()
        except CallTimeout:  # raised as the call returned
            over.set()


def _call(frame: FrameType | None, caller: CodeType) -> FrameType | None:
    """The frame that the engine called; None if it is not the user's or the engine is at work."""
    while frame is not None and (frame.f_back is None or frame.f_back.f_code is not caller):
        frame = frame.f_back
    mine = frame is not None and str(frame.f_globals.get("__name__", "")).startswith(PREFIX)
    return frame if mine else None


def _place(error: BaseException) -> str:
    """File, line and function in which an exception was raised."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    return f"{frame.f_code.co_filename}:{line}: {frame.f_code.co_qualname}"


def _raise(thread: int) -> None:
    """Raises in a thread. Never withdrawn: CPython 3.11 would then hang under a profiler."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(CallTimeout))
