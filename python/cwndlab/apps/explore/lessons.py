"""The lessons: prepared studies, each with a short explanation and things to try."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from cwndlab.apps.gallery.index import LIST
from cwndlab.plan.plan import build_checked
from cwndlab.report import render
from cwndlab.runs.kernel_side import CATALOGUE
from cwndlab.study.document import read_document, read_toml
from cwndlab.study.files import read_text
from cwndlab.study.study_spec import StudySpec

from . import page as pages_of
from .controls import derive_study
from .picture import picture

FOLDER = Path(__file__).parents[2] / "lessons"
#: The lessons in teaching order.
NAMES = ("slow-start", "loss-recovery", "bufferbloat", "fairness", "cubic-bbr", "queues", "ecn-l4s")
INDEX = "index.html"
#: The prepared study for a user's own congestion control; it is not a lesson.
OWN_LAW = "own-law"


def study(name: str) -> StudySpec:
    """The study of a lesson."""
    return build_checked(StudySpec, read_document(FOLDER / name), CATALOGUE)


def advice(name: str) -> Mapping[str, Any]:
    """The content of a lesson's file.

    `try` lists a `text`, the values to `set`, and those to `compare` with. `look` says what to look for in
    some graphs, as a text or as a list with conditions (`when`). `picture` is a `graph` of `settings` for the
    index, with a `text`.
    """
    file = FOLDER / name / "lesson.toml"
    return read_toml(read_text(file, what="a lesson"), file)


def page(name: str, index: str = "") -> str:
    """The HTML page of a lesson; `index` is the address of the lessons' index page."""
    given = advice(name)
    return pages_of.page(derive_study(study(name)), given["try"], given["look"], index)


def index() -> tuple[str, str]:
    """The index page of all lessons, and the content of `LIST`, a JSON list of them."""
    entries = []
    for name in NAMES:
        one, shown = study(name), advice(name)["picture"]
        drawn = picture(derive_study(one), shown["graph"], shown["settings"])
        entries.append((f"{name}.html", one.title, one.outline.about or "", drawn, shown["text"]))
    return render.page("lessons.html", lessons=entries).decode(), json.dumps(entries)


def pages() -> dict[str, Callable[[], str]]:
    """For each file name, the function that makes its page: the index page first; the last makes `LIST`."""
    both = cache(index)
    return {
        INDEX: lambda: both()[0],
        **{f"{name}.html": partial(page, name, INDEX) for name in NAMES},
        LIST: lambda: both()[1],
    }
