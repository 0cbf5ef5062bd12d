"""`cwndlab new`: write a commented study, or a congestion control in Python, Rust or C."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from cwndlab.apps.law_crate.crate import ROOT, check_sources
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.base.writing import output_errors, write_atomic
from cwndlab.cli.output import echo

_TEMPLATES = Path(__file__).with_name("templates")
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*\Z")
#: A valid name in C of at most 15 characters (TCP_CA_NAME_MAX in the kernel).
_KERNEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}\Z")


def write_study(name: str) -> Path:
    """Writes NAME.toml, or NAME if it has this suffix; OutputError if the file exists."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    title = path.with_suffix("").name
    with output_errors(path):
        if path.exists():
            raise OutputError(f"{path}: exists already; choose another name")
        _fill("study.toml", path, {"file": str(path), "out": f"{title}-out", "title": title})
    return path


def write_cc(path: str) -> Path:
    """Writes a congestion control in Python, its test and study to a new folder; returns its path."""
    files = {"cc/law.py": "$module.py", "cc/test.py": "test_$module.py", "cc/study.toml": "study.toml"}
    return _write_folder(path, files, "--cc $module.py:$class")


def write_law_rust(path: str) -> Path:
    """Writes a crate with a congestion control in Rust, its test and study; returns the folder."""
    check_sources()
    files = {
        "law-rust/Cargo.toml": "Cargo.toml",
        "law-rust/lib.rs": "src/lib.rs",
        "cc/study.toml": "study.toml",
    }
    return _write_folder(path, files, "--cc-crate .").parent


def _write_folder(path: str, files: Mapping[str, str], law: str) -> Path:
    """Writes templates, with the names of a law filled in, to a new folder; returns the path of the first."""
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
        "crates": str(ROOT / "crates"),
    }
    names["law"] = Template(law).substitute(names)
    paths = {template: folder / Template(file).substitute(names) for template, file in files.items()}
    with output_errors(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder}: exists already; choose another name")
        for template, file in paths.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            _fill(template, file, names)
    return next(iter(paths.values()))


def write_law_c(path: str) -> Path:
    """Writes a congestion control in C, for `cwndlab linux build --law`; returns its path."""
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
            metavar="[cc|law-rust|law-c] NAME",
            help="of a study (writes NAME.toml); after cc, of a congestion control in Python (a folder); "
            "after law-rust, of one in Rust (a crate); after law-c, of one in C for a kernel (NAME.c)",
        ),
    ],
) -> None:
    """Create a commented study to start from; with cc, law-rust or law-c, a congestion control."""
    known = {"study": write_study, "cc": write_cc, "law-rust": write_law_rust, "law-c": write_law_c}
    if len(words) == 1 and words[0] in known and words[0] != "study":
        right = f"write for instance cwndlab new {words[0]} mine"
        raise StudyError("the congestion control has no name", right=right)
    kind, name = ("study", words[0]) if len(words) == 1 else (words[0], words[1])
    if len(words) > 2 or kind not in known or not name.strip():
        raise StudyError(
            f'"{" ".join(words)}" is not one name', right="write for instance cwndlab new buffers"
        )
    path = known[kind](name)
    echo(f"wrote {path}")
    echo(f"next: {_next(kind, path)}")


def _next(kind: str, path: Path) -> str:
    """The command to run first with a new file."""
    if kind == "study":
        return f"cwndlab run {path}"
    if kind == "law-c":
        return f"cwndlab linux build --law {path}"
    folder, law = (path, f"--cc-crate {path}") if kind == "law-rust" else (path.parent, f"--cc {path}")
    return f"cwndlab run {folder / 'study.toml'} {law} -o {folder / 'results'}"
