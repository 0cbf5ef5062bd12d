"""How much room the names in a legend have."""

from __future__ import annotations

import json

import pytest

from cwndlab.report import canvas
from cwndlab.study.outputs import Figure

SPEC = Figure(id="f", title="F", kind="line", x="iw", quantity="power", width=240)


@pytest.mark.parametrize(
    ("symbol", "letters", "broken"),
    [("square", 32, False), ("square", 33, True), ("stroke", 30, False), ("stroke", 31, True)],
)
def test_a_name_is_broken_where_it_and_its_symbol_are_wider_than_the_figure(
    symbol: str, letters: int, broken: bool
) -> None:
    """240 pixels, of which a square takes 10 and a line 28; a letter takes 7."""
    name = "a" * 20 + " " + "b" * (letters - 21)
    made = canvas.make_legend({"x": "x", name: name}, symbol, SPEC)
    assert made is not None
    assert ("labelExpr" in made) == broken
    if broken:
        assert json.loads(made["labelExpr"].removesuffix("[datum.label]"))[name] == name.split()


def test_one_name_needs_no_legend() -> None:
    assert canvas.make_legend({"x": "x"}, "square", SPEC) is None
    assert canvas.make_legend({"x": "x", "y": "y"}, "square", SPEC) is not None
