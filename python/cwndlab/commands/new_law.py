"""A congestion control to start from: in Python with its test and its study, or in C for a kernel."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from cwndlab.errors import OutputError, StudyError
from cwndlab.files import write_atomic, writing

_TEMPLATES = Path(__file__).parent.parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*\Z")
#: A name in C that is no longer than the kernel's TCP_CA_NAME_MAX allows.
_KERNEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}\Z")


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
    with writing(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder}: exists already; choose another name")
        folder.mkdir(parents=True, exist_ok=True)
        for template, file in files.items():
            text = Template((_TEMPLATES / "cc" / f"{template}.txt").read_text(encoding="utf-8"))
            write_atomic(folder / file, text.substitute(names).encode())
    return folder / files["law.py"]


def write_law_c(path: str) -> Path:
    """Writes a congestion control in C, for `cwndlab linux build --law`; its path."""
    file = Path(path if path.endswith(".c") else f"{path}.c")
    if not _KERNEL_NAME.match(file.stem):
        right = "use at most 15 lower-case letters, digits and _"
        raise StudyError(f"{file.stem!r} is not a name for the kernel", key="NAME", right=right)
    with writing(file):
        if file.exists():
            raise OutputError(f"{file}: exists already; choose another name")
        file.parent.mkdir(parents=True, exist_ok=True)
        text = Template((_TEMPLATES / "law-c" / "law.c.txt").read_text(encoding="utf-8"))
        write_atomic(file, text.substitute(name=file.stem, file=file.name).encode())
    return file
