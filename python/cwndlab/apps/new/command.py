"""`cwndlab new`: a commented study to start from, or a congestion control in Python or in C."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from cwndlab.base.errors import OutputError, StudyError
from cwndlab.base.writing import output_errors, write_atomic
from cwndlab.cli.output import echo

_TEMPLATES = Path(__file__).with_name("templates")
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*\Z")
#: A name in C that is no longer than the kernel's TCP_CA_NAME_MAX allows.
_KERNEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}\Z")


def write_study(name: str) -> Path:
    """Writes NAME.toml (or NAME, if it ends so); OutputError if it exists."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    title = path.with_suffix("").name
    with output_errors(path):
        if path.exists():
            raise OutputError(f"{path}: exists already; choose another name")
        _fill("study.toml", path, {"file": str(path), "out": f"{title}-out", "title": title})
    return path


def write_cc(path: str) -> Path:
    """Writes a congestion control, its test and its study into a new folder; the control's path."""
    folder = Path(path)
    name = folder.name
    if not _NAME.match(name):
        raise StudyError(f"{name!r} is not a name", key="NAME", right="use lower-case letters, digits and -")
    words = re.split("[-_]", name)
    module = "_".join(words)
    names = {
        "name": name,
        "module": module,
        "class": "".join(word.capitalize() for word in words),
        "title": " ".join(words).capitalize(),
    }
    files = {"law.py": f"{module}.py", "test.py": f"test_{module}.py", "study.toml": "study.toml"}
    with output_errors(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder}: exists already; choose another name")
        folder.mkdir(parents=True, exist_ok=True)
        for template, file in files.items():
            _fill(f"cc/{template}", folder / file, names)
    return folder / files["law.py"]


def write_law_c(path: str) -> Path:
    """Writes a congestion control in C, for `cwndlab linux build --law`; its path."""
    file = Path(path if path.endswith(".c") else f"{path}.c")
    if not _KERNEL_NAME.match(file.stem):
        right = "use at most 15 lower-case letters, digits and _"
        raise StudyError(f"{file.stem!r} is not a name for the kernel", key="NAME", right=right)
    with output_errors(file):
        if file.exists():
            raise OutputError(f"{file}: exists already; choose another name")
        file.parent.mkdir(parents=True, exist_ok=True)
        _fill("law-c/law.c", file, {"name": file.stem, "file": file.name})
    return file


def _fill(template: str, file: Path, names: Mapping[str, str]) -> None:
    text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8"))
    write_atomic(file, text.substitute(names).encode())


def new(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[cc|law-c] NAME",
            help="of a study (writes NAME.toml); after cc, of a congestion control in Python (a folder); "
            "after law-c, of one in C for a kernel (NAME.c)",
        ),
    ],
) -> None:
    """Create a commented study to start from; `new cc NAME` and `new law-c NAME`: a congestion control."""
    if words in (["cc"], ["law-c"]):
        right = f"write for instance cwndlab new {words[0]} mine"
        raise StudyError("the congestion control has no name", right=right)
    known = {"study": write_study, "cc": write_cc, "law-c": write_law_c}
    kind, name = ("study", words[0]) if len(words) == 1 else (words[0], words[1])
    if len(words) > 2 or kind not in known or not name.strip():
        raise StudyError(
            f'"{" ".join(words)}" is not one name', right="write for instance cwndlab new buffers"
        )
    path = known[kind](name)
    echo(f"wrote {path}")
    echo(f"next: {_next(kind, path)}")


def _next(kind: str, path: Path) -> str:
    """The command that uses a new file first."""
    if kind == "study":
        return f"cwndlab run {path}"
    if kind == "law-c":
        return f"cwndlab linux build --law {path}"
    return f"cwndlab run {path.parent / 'study.toml'} --cc {path} -o {path.parent / 'results'}"
