"""The converter of Vega-Lite charts and SVG: vl-convert, in a process of its own (`converter_process.py`).

vl-convert brings a JavaScript engine, which takes 0.8 s to start, and holds Python's lock while it draws. In
a process of its own it starts during imports, and draws while the rest of a report is made.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeAlias

from cwndlab.errors import ReportError

if TYPE_CHECKING:
    from concurrent.futures import Future

_PROCESS = Path(__file__).with_name("converter_process.py")


#: What the converter makes of a request; ReportError if it failed.
Conversion: TypeAlias = "Future[bytes]"


def _no_converter(why: str) -> ReportError:
    """The error for figures that cannot be drawn here."""
    return ReportError(
        f"the figures cannot be drawn: {why}; the results are kept. `cwndlab report DIR` writes the report "
        "where the converter may reserve 40 GB of addresses (ulimit -v) and open 64 files (ulimit -n)"
    )


class _Process:
    """A running converter, which ends with the process that started it, however that ends."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        # A session of its own, so that Ctrl-C reaches only the process that decides what follows.
        self._process = subprocess.Popen(
            [sys.executable, "-P", _PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a stack trace; what failed is said by its answer or its end
            start_new_session=True,
        )
        self.waiting: SimpleQueue[tuple[bytes, Conversion]] = SimpleQueue()
        Thread(target=self._serve, daemon=True).start()
        atexit.register(self._end)

    def _serve(self) -> None:
        while True:
            request, made = self.waiting.get()
            try:
                made.set_result(self._ask(request))
            except (OSError, ReportError) as error:
                made.set_exception(error if isinstance(error, ReportError) else _no_converter(str(error)))

    def _ask(self, request: bytes) -> bytes:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(request + b"\n")
        self._process.stdin.flush()
        head = self._process.stdout.readline().split()
        if not head:
            raise _no_converter("the process that draws them ended")
        answer = self._process.stdout.read(int(head[1]))
        if head[0] != b"1":
            why = answer.decode(errors="replace").partition("\n\nStack backtrace")[0]
            raise ReportError(f"drawing a figure failed: {why[:500]}")
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked by this process: a child made by fork starts its own."""
        return self.owner == os.getpid() and self._process.poll() is None

    def _end(self) -> None:
        if self.is_alive:
            self._process.kill()
            self._process.wait()


_lock = Lock()
_processes: list[_Process] = []


def start() -> _Process:
    """Starts the converter if it is not running; returns without waiting for it."""
    with _lock:
        if not _processes or not _processes[-1].is_alive:
            _processes[:] = [_Process()]
        return _processes[-1]


def prepare() -> None:
    """Starts the converter for later, if it can be started; `submit` says why not."""
    with suppress(OSError, RuntimeError):
        start()


def submit(function: str, source: str, **options: Any) -> Conversion:
    """Asks for what a function of vl-convert makes of JSON; returns without waiting for it."""
    from concurrent.futures import Future  # only a figure needs it

    conversion: Conversion = Future()
    request = f"[{json.dumps(function)}, {source}, {json.dumps(options)}]".encode()
    try:
        start().waiting.put((request, conversion))
    except (OSError, RuntimeError) as error:  # no file, no process or no thread left
        conversion.set_exception(_no_converter(str(error)))
    return conversion


def convert(function: str, source: Any, **options: Any) -> bytes:
    """What a function of vl-convert makes of `source`."""
    return submit(function, json.dumps(source), **options).result()
