"""Hooks that the package installs on import: a short message on Ctrl-C, and errors for modules that moved."""

from __future__ import annotations

import os
import sys
from types import TracebackType

#: Modules that users import and that have moved since 0.4: old name -> new name.
MOVED = {
    "cwndlab.gym": "cwndlab.apps.gym",
    "cwndlab.policy": "cwndlab.apps.policy",
    "cwndlab.fit": "cwndlab.apps.fit",
    "cwndlab.evaluate": "cwndlab.apps.evaluate",
    "cwndlab.errors": "cwndlab",
}


class _Signpost:
    """An import finder that rejects moved modules. Placed first, it precedes an old version's folders."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in MOVED:
            raise ModuleNotFoundError(f"{name} has moved; import {MOVED[name]}", name=name)


def put_up() -> None:
    """Makes the import of a module that has moved raise an error with its new name."""
    sys.meta_path.insert(0, _Signpost())


def _end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        sys.stderr.flush()
        os._exit(130)
    sys.__excepthook__(kind, error, traceback)


def end_quietly() -> None:
    """Installs `_end` as exception hook if this process is the command line; other programs keep theirs."""
    started = sys.orig_argv[1:3]
    is_script = bool(started) and started[0].endswith(f"{os.sep}cwndlab")
    if is_script or started == ["-m", "cwndlab"]:
        sys.excepthook = _end
