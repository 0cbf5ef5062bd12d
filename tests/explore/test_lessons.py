"""The prepared lessons."""

from __future__ import annotations

import json

import pytest

from cwndlab.explore import lessons
from cwndlab.explore.controls import derive_study
from cwndlab.spec.values import text


@pytest.mark.parametrize("name", lessons.NAMES)
def test_what_a_lesson_suggests_is_on_its_page(name: str) -> None:
    derived = derive_study(lessons.study(name))
    offered = {c.name: {text(stop.value) for stop in c.stops} for c in derived.controls}
    suggested = lessons.tries(name)
    assert suggested
    for one in suggested:
        for setting in (one.get("set", {}), one.get("compare", {})):
            for control, value in setting.items():
                assert text(value) in offered[control], (control, value)


def test_the_list_of_lessons_names_each_with_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "page", lambda name, index: name)
    pages = lessons.pages()
    listed = json.loads(pages.pop("lessons.json"))
    assert [file for file, _, _ in listed] == [name for name in pages if name != "index.html"]
    assert all(title and title in pages["index.html"] for _, title, _ in listed)
