"""The command line. Exit codes: 2 for invalid input, 1 for a failed run, 130 for an interrupt."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from cwndlab.base.errors import CwndlabError, StudyError

from .start import import_uncollected, leave, postpone, preload


def _end(reason: str) -> None:
    """Reports a call of the user's code that does not return, and ends the process."""
    from .output import echo

    echo(f"error: {reason}", err=True)
    os._exit(1)


def _end_interrupted() -> NoReturn:
    sys.excepthook = sys.__excepthook__
    sys.stderr.write("interrupted\n")
    sys.exit(130)


def app(args: Sequence[object] | None = None, **options: Any) -> Any:
    """Runs a command line, by default that of the process. Prints cwndlab's errors without a traceback."""
    words = sys.argv[1:] if args is None else [str(word) for word in args]
    # pydantic would search the metadata of all installed packages for plugins, which commands do not use.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    postpone("importlib.metadata", "entry_points")  # pydantic imports it to search for plugins
    # The runs use all processors; numpy would also start a thread for each, which spins for 40 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if words[:1] == ["run"]:
            if "--png" in words:
                right = "`cwndlab report DIR --pictures` writes figures as PDF and PNG"
                raise StudyError("there is no such option any more", key="--png", right=right)
            preload("pyarrow", "lib")
        with import_uncollected():
            from .registry import command_line

            called = command_line(words)
        if args is None and any(word.startswith(("--cc", "--metric")) for word in words):
            from cwndlab.base import watch

            watch.end_process = _end
        return called(words, **options)
    except CwndlabError as error:
        from .output import echo

        sys.excepthook = sys.__excepthook__
        echo(f"error: {error.text}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:  # during imports; commands handle later interrupts
        _end_interrupted()
    except BrokenPipeError:  # `cwndlab trace … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:  # such as a name that is too long, or an unreadable file
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        sys.excepthook = sys.__excepthook__
        sys.stderr.write(f"error: {str(error.filename or 'output')[:200]}: {error.strerror}\n")
        sys.exit(2)
    except Exception as error:
        # pydantic turns an interrupt in a validator's construction into an error that ends with its name.
        if not str(error).rstrip(": \n").endswith(KeyboardInterrupt.__name__):
            raise
        _end_interrupted()
    finally:
        if args is not None:
            gc.unfreeze()  # the caller's process continues, so its garbage must be collected again


def main() -> NoReturn:
    """The entry point of the process: runs the command line and ends with its exit code."""
    code: object = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    with suppress(OSError):  # output cannot be written; `sys.exit` reports it
        if isinstance(code, int):
            leave(code)
    sys.exit(code)  # type: ignore[arg-type]
