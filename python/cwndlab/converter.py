"""The converter of Vega-Lite charts and SVG: vl-convert, which brings a JavaScript engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from threading import Thread
from typing import Any

#: The process in which the converter was first used.
_used_in: list[int] = []
_starting: list[Thread] = []


def start() -> None:
    """Starts the converter in the background: its engine takes 0.8 s, on another processor."""
    if not _used_in:
        _used_in.append(os.getpid())
        # A daemon, so that a command with nothing to draw does not wait for it.
        _starting.append(Thread(target=_start, daemon=True))
        _starting[0].start()


def _start() -> None:
    import vl_convert

    vl_convert.get_local_tz()  # the cheapest of its functions that need the engine


def convert(function: str, source: Any, **options: Any) -> bytes:
    """What a function of vl-convert makes of `source`.

    Its threads do not survive a fork: in a child of the process that used it first, it would wait for them
    for ever, so there it runs in a fresh interpreter.
    """
    if not _used_in:
        _used_in.append(os.getpid())
    if _used_in[0] == os.getpid():
        import vl_convert

        for thread in _starting:
            thread.join()
        made = getattr(vl_convert, function)(source, **options)
        return made.encode() if isinstance(made, str) else bytes(made)
    done = subprocess.run(
        [sys.executable, "-c", _FRESH],
        input=json.dumps([function, source, options]).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"drawing a figure failed: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout


_FRESH = """
import json, sys, vl_convert
function, source, options = json.load(sys.stdin)
made = getattr(vl_convert, function)(source, **options)
sys.stdout.buffer.write(made.encode() if isinstance(made, str) else bytes(made))
"""
