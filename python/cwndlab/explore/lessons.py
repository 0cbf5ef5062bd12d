"""The lessons: prepared studies, each with a paragraph in plain words and what to try."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cwndlab.metrics._catalogue import CATALOGUE
from cwndlab.plan.load import build_checked
from cwndlab.report import render
from cwndlab.report.pages import LIST
from cwndlab.spec.document import read_document, read_toml
from cwndlab.spec.files import read_text
from cwndlab.spec.study_spec import StudySpec

from . import page as pages_of
from .controls import derive_study

FOLDER = Path(__file__).parent.parent / "lessons"
#: The lessons, in the order in which they build on each other.
NAMES = ("slow-start", "loss-recovery", "bufferbloat", "cubic-bbr", "queues", "ecn-l4s")
INDEX = "index.html"


def study(name: str) -> StudySpec:
    """The study of a lesson."""
    return build_checked(StudySpec, read_document(FOLDER / name), CATALOGUE)


def tries(name: str) -> list[Mapping[str, Any]]:
    """What a lesson suggests: `text`, the values to `set`, and those to `compare` with."""
    file = FOLDER / name / "lesson.toml"
    found: list[Mapping[str, Any]] = read_toml(read_text(file, what="a lesson"), file)["try"]
    return found


def page(name: str, index: str = "") -> str:
    """The page of a lesson; `index` is the address of the page that leads to all."""
    return pages_of.page(derive_study(study(name)), tries(name), index)


def pages() -> dict[str, str]:
    """The pages of all lessons by file name, the one that leads to them first; and a list of them."""
    studies = {f"{name}.html": study(name) for name in NAMES}
    entries = [(file, one.title, one.outline.about or "") for file, one in studies.items()]
    pages = {f"{name}.html": page(name, INDEX) for name in NAMES}
    return (
        {INDEX: render.page("lessons.html", lessons=entries).decode()} | pages | {LIST: json.dumps(entries)}
    )
