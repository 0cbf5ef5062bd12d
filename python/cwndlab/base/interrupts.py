"""A command that is interrupted while Python still imports it ends without a traceback."""

from __future__ import annotations

import os
import sys
from types import TracebackType


def _end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        sys.stderr.flush()
        os._exit(130)
    sys.__excepthook__(kind, error, traceback)


def end_quietly() -> None:
    """Installs `_end` as the exception hook of the command line; other programs keep theirs."""
    started = sys.orig_argv[1:3]
    is_script = bool(started) and started[0].endswith(f"{os.sep}cwndlab")
    if is_script or started == ["-m", "cwndlab"]:
        sys.excepthook = _end
