"""The text of a study that was built or changed in code: what gets a heading, and what braces."""

from __future__ import annotations

import tomllib

import pytest

from cwndlab.study import toml

LONG = "z" * toml.LONGEST_LINE


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        ({"a": {"b": {"c": 1}}}, "[a]\nb = { c = 1 }\n"),
        ({"a": {"b": {"c": LONG}}}, f'[a.b]\nc = "{LONG}"\n'),
        ({"a": {"x": 1, "b": {"c": LONG}}}, f'[a]\nx = 1\n\n[a.b]\nc = "{LONG}"\n'),
        ({"a": {}, "b": {"c": {}}}, "[a]\n\n[b]\nc = {}\n"),
        ({"a": [{"b": 1}, {"b": 2}]}, "[[a]]\nb = 1\n\n[[a]]\nb = 2\n"),
    ],
)
def test_tables_have_headings_where_they_do_not_fit_a_line(tables: dict[str, object], text: str) -> None:
    assert toml.dumps(tables) == text
    assert tomllib.loads(text) == tables


@pytest.mark.parametrize("more", [0, 1])
def test_a_table_stays_on_its_line_up_to_the_longest_one(more: int) -> None:
    room = toml.LONGEST_LINE - len('b = { c = "" }')
    text = toml.dumps({"a": {"b": {"c": "z" * (room + more)}}})
    assert ("[a.b]" in text) == bool(more)
