"""Ends calls of the user's code that do not return, so that an endless loop or a wait fails only its run."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from traceback import walk_tb
from types import FrameType

from cwndlab._core import LawFailed, NativeLaw

from .usercode import PREFIX

#: The module that computes ONNX models in native code, where no exception can be raised.
MODELS = "cwndlab.apps.policy.onnx"
#: The environment variable with the longest time that a call may take, in seconds.
VARIABLE = "CWNDLAB_CALL_LIMIT_S"
#: The longest time that a call may take if the variable is not set, in seconds.
DEFAULT_S = 5.0
#: The number of times that the watching thread checks a call within its time limit.
LOOKS = 10


class CallTimeout(BaseException):  # not called `…Error`, because messages show the name
    """Raised in a call that does not return. Not an `Exception`, because the user's code may catch those."""

    def __str__(self) -> str:
        return f"the call has not returned for {limit_s():g} s; if it needs longer, set {VARIABLE}"


#: Ends this process and reports the place and the reason. Nothing less ends a call that sleeps, reads or
#: catches every exception. If this is None, as in a notebook, `CallTimeout` is raised in the call instead.
end_process: Callable[[str], None] | None = None


def limit_s() -> float:
    """The longest time that a call may take, in seconds of real time."""
    try:
        given = float(os.environ.get(VARIABLE, ""))
    except ValueError:
        return DEFAULT_S
    return given if given > 0 else DEFAULT_S


@contextmanager
def limit_calls(needed: object = True) -> Iterator[None]:
    """Ends calls of user code by this thread that take longer than `limit_s()`.

    `needed` is the user code that may be called (laws as a mapping); if empty, no call is watched.

    Raises:
        LawFailed: a call was ended; names its file and line.

    """
    if not needed:
        yield
        return
    thread, limit = threading.get_ident(), limit_s()
    laws = needed.values() if isinstance(needed, Mapping) else ()
    native = [law for law in laws if isinstance(law, NativeLaw)]
    over = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        seen: object = None
        since = 0.0
        while not over.wait(limit / LOOKS):
            top = sys._current_frames().get(thread)
            law = next((law for law in native if law.pending_call is not None), None)
            call = _call(top) if law is None else (law.name, law.pending_call)
            if call is None or call != seen:
                seen, since = call, monotonic()
                continue
            if monotonic() - since < limit:
                continue
            with lock:
                if over.is_set():
                    return
                if end_process is not None and top is not None:
                    end_process(_timeout(law.name if law else _place_text(top, top.f_lineno)))
                if (model := _model_frame(top)) is None:
                    _raise(thread)
                else:
                    model.f_locals["self"].stop()  # raises CallTimeout in the call
            since = monotonic()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except CallTimeout as error:
        *_, (frame, line) = walk_tb(error.__traceback__)
        raise LawFailed(_timeout(_place_text(frame, line))) from None
    finally:
        try:
            with lock:
                over.set()
        except CallTimeout:  # raised after the call had returned
            over.set()


def _call(frame: FrameType | None) -> FrameType | None:
    """The outermost frame of user code; None if no user code is running."""
    outermost = None
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(PREFIX) or name == MODELS:
            outermost = frame
        frame = frame.f_back
    return outermost


def _model_frame(frame: FrameType | None) -> FrameType | None:
    """The frame that computes an ONNX model; None if no model is being computed."""
    while frame is not None and frame.f_globals.get("__name__") != MODELS:
        frame = frame.f_back
    return frame


def _place_text(frame: FrameType, line: int) -> str:
    if (model := _model_frame(frame)) is not None:
        return str(model.f_locals["self"].file)
    return f"{frame.f_code.co_filename}:{line}: {frame.f_code.co_qualname}"


def _timeout(place: str) -> str:
    return f"{place}: CallTimeout: {CallTimeout()}"


def _raise(thread: int) -> None:
    """Raises `CallTimeout` in a thread for good: cancelling it would hang CPython 3.11 in a profiler."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(CallTimeout))
