"""Runs Python files of the user's own: congestion controls and metrics."""

from __future__ import annotations

import hashlib
import sys
import threading
import traceback
from pathlib import Path
from types import ModuleType

from cwndlab.errors import StudyError

#: How the names of the modules begin.
PREFIX = "cwndlab_user_"
_busy = threading.local()
#: Where a module has the text that was run, which may not be the file's any more.
_SOURCE = "__cwndlab_source__"


def check_not_loading() -> None:
    """StudyError in a file that is being run for its definitions: a run there would start the study again."""
    if (file := getattr(_busy, "file", None)) is not None:
        raise StudyError(
            f"{file} runs a study while what it defines is loaded",
            right='put that call under `if __name__ == "__main__":`',
        )


def source_of(module: ModuleType, option: str) -> str | None:
    """The text of a module; None if it has no file."""
    if (text := getattr(module, _SOURCE, None)) is not None:
        return str(text)
    file = str(getattr(module, "__file__", None) or "")
    return read(Path(file), option) if file.endswith(".py") else None


def read(file: Path, option: str) -> str:
    """The text of a Python file; StudyError, blaming the option, if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise StudyError(f"{file} cannot be read: {reason}", key=option) from None


def described_error(error: BaseException) -> str:
    """The type and the text of an exception of user code, whose text may not be obtainable."""
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be shown"
    return f"{type(error).__name__}: {text}"


def execute(source: str, file: str, option: str) -> ModuleType:
    """The module of a source, run under a name of its own; StudyError with the line if it fails."""
    module = ModuleType(PREFIX + hashlib.sha256(source.encode()).hexdigest()[:16])
    module.__file__ = file
    setattr(module, _SOURCE, source)
    sys.modules[module.__name__] = module  # dataclasses and pickle look it up
    _busy.file = file
    try:
        exec(compile(source, file, "exec"), module.__dict__)
    except StudyError:
        raise
    except SyntaxError as error:
        raise StudyError(f"{error.msg}", file=file, line=error.lineno, key=option) from None
    except Exception as error:
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        raise StudyError(
            described_error(error), file=file, line=lines[-1] if lines else None, key=option
        ) from None
    finally:
        _busy.file = None
    return module
