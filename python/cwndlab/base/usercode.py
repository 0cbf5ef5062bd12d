"""Runs Python files of the user's own: congestion controls and metrics."""

from __future__ import annotations

import ast
import hashlib
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from .errors import StudyError

#: Prefix of the names under which modules of user code are run.
PREFIX = "cwndlab_user_"
_busy = threading.local()
#: Names of the folders that hold Python's modules and installed packages.
_INSTALLED = {"site-packages", "dist-packages", f"python{sys.version_info.major}.{sys.version_info.minor}"}
#: The folder of the modules with the classes from which users derive policies.
_POLICY = Path(__file__).parents[1] / "apps" / "policy"
#: The attribute of a module that holds the text that was run; the file may have changed since.
_SOURCE = "__cwndlab_source__"


class _RunsStudyError(BaseException):
    """Ends the execution of a file that is run for its definitions, at the line where it runs a study."""


def stop_loading() -> None:
    """Ends the file that is being run for its definitions, if any. Called where a study would run.

    The definitions above that line are kept, so scripts need no `if __name__ == "__main__":`.
    """
    if getattr(_busy, "file", None) is not None:
        raise _RunsStudyError


def find_source(module: ModuleType, option: str) -> str | None:
    """The source text of a module, as it was run; None if the module has no Python file."""
    if (text := getattr(module, _SOURCE, None)) is not None:
        return str(text)
    file = str(getattr(module, "__file__", None) or "")
    return read_source(Path(file), option) if file.endswith(".py") else None


def read_source(file: Path, option: str) -> str:
    """The text of a Python file; if it cannot be read, a StudyError that names the option."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise StudyError(f"{file} cannot be read: {reason}", key=option) from None


def digest_of_imports(source: str) -> str:
    """Digest of the user's modules that a text imports, directly or not; "" if there are none.

    Modules of Python and of installed packages are left out.
    """
    texts: dict[str, str] = {}
    todo = [source]
    while todo:
        for name in _imports(todo.pop()):
            if name not in texts and (file := _own_module(name)) is not None:
                texts[name] = file.read_text(encoding="utf-8", errors="replace")
                todo.append(texts[name])
    if not texts:
        return ""
    return hashlib.sha256(
        "\0".join(part for pair in sorted(texts.items()) for part in pair).encode()
    ).hexdigest()


def digest_of_code(form: str, name: str, source: str, imports: str) -> str:
    """Digest (32 hexadecimal digits) of a text, the name used from it, and its `digest_of_imports`.

    `form` distinguishes uses of the same text, and versions of this digest.
    """
    text = "\0".join((form, name, source, *([imports] if imports else [])))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _imports(source: str) -> Iterator[str]:
    """Yields the names of the modules that a text imports, and of their enclosing packages."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # running the text reports the error
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: k + 1]) for k in range(len(parts)))


def _own_module(name: str) -> Path | None:
    """The file of a module on `sys.path`; None for a module of Python or of an installed package.

    The files of `cwndlab.apps.policy` count as the user's: what a policy does depends on them.
    """
    for entry in sys.path:
        base = Path(entry or ".").joinpath(*name.split("."))
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                if _is_ours(file):
                    return file if file.resolve().is_relative_to(_POLICY) else None
                return None if _INSTALLED & {*file.resolve().parts} else file
    return None


def _is_ours(file: Path) -> bool:
    return file.resolve().is_relative_to(Path(__file__).parents[1])


def error_place(error: BaseException) -> str:
    """File and line of the outermost call in the user's code, as "FILE:LINE: "; "" if there is none."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if not _is_ours(Path(file := frame.f_code.co_filename)):
            return f"{file}:{line}: "
    return ""


def describe_error(error: BaseException) -> str:
    """The type and the message of an exception in user code, even if computing the message fails."""
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be shown"
    return f"{type(error).__name__}: {text}"


def execute(source: str, file: str, option: str) -> ModuleType:
    """Runs a source text as a new module; StudyError with the line if the text fails."""
    module = ModuleType(PREFIX + hashlib.sha256(source.encode()).hexdigest()[:16])
    module.__file__ = file
    setattr(module, _SOURCE, source)
    sys.modules[module.__name__] = module  # dataclasses and pickle look the module up here
    _busy.file = file
    try:
        with suppress(_RunsStudyError):
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
            describe_error(error), file=file, line=lines[-1] if lines else None, key=option
        ) from None
    finally:
        _busy.file = None
    return module
