"""`cwndlab new cc NAME`: a congestion control in Python to start from, its test and its study."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from cwndlab.errors import OutputError, StudyError
from cwndlab.files import write_atomic, writing

_TEMPLATES = Path(__file__).parent.parent / "templates" / "cc"
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*\Z")


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
            text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8"))
            write_atomic(folder / file, text.substitute(names).encode())
    return folder / files["law.py"]
