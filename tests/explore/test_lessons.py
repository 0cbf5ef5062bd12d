"""The prepared lessons."""

from __future__ import annotations

import base64
import json
import re

import pytest

from cwndlab.apps.explore import lessons
from cwndlab.apps.explore.controls import derive_study
from cwndlab.apps.explore.page import cases_of
from cwndlab.apps.explore.picture import picture
from cwndlab.study.values import text


@pytest.mark.parametrize("name", lessons.NAMES)
def test_what_a_lesson_suggests_is_on_its_page(name: str) -> None:
    derived = derive_study(lessons.study(name))
    offered = {c.name: {text(stop.value) for stop in c.stops} for c in derived.controls}
    advice = lessons.advice(name)
    suggested = [setting for one in advice["try"] for setting in (one["set"], one.get("compare", {}))]
    assert suggested
    for setting in (*suggested, *advice["picture"]["settings"]):
        for control, value in setting.items():
            assert text(value) in offered[control], (control, value)


@pytest.mark.parametrize("name", lessons.NAMES)
def test_what_a_lesson_says_of_a_graph_depends_on_settings_that_it_has(name: str) -> None:
    derived = derive_study(lessons.study(name))
    offered = {c.name: {text(stop.value) for stop in c.stops} for c in derived.controls}
    for given in lessons.advice(name)["look"].values():
        cases = cases_of(given)
        assert cases[-1][0] == {}, "what holds for all other settings comes last"
        assert all(when for when, _ in cases[:-1])
        for when, _ in cases:
            for control, values in when.items():
                assert set(values) <= offered[control], (control, values)


def test_a_picture_has_a_line_for_each_setting_or_for_each_flow() -> None:
    two = svg(picture(derive_study(lessons.study("queues")), "queue", [{}, {"queue": "codel"}]))
    drop_tail, codel = (heights(line) for line in re.findall(r'points="([^"]*)"', two))
    assert min(drop_tail) < 30 < 90 < min(codel[100:]), "drop-tail fills its buffer, CoDel keeps it short"
    flows = svg(picture(derive_study(lessons.study("cubic-bbr")), "window", [{}]))
    assert flows.count("<polyline") == 2


def svg(address: str) -> str:
    return base64.b64decode(address.partition(",")[2]).decode()


def heights(points: str) -> list[float]:
    return [float(point.partition(",")[2]) for point in points.split()]


def test_the_list_of_lessons_names_each_with_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "picture", lambda derived, graph, settings: f"data:{derived.study.name}")
    pages = lessons.pages()
    listed = json.loads(pages.pop("lessons.json")())
    assert [file for file, *_ in listed] == [name for name in pages if name != "index.html"]
    index = pages["index.html"]()
    assert all(title and title in index and picture in index for _, title, _, picture, _ in listed)
