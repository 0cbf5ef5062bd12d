"""Tables, figures, margins and flags of a study: what goes together, and the limits that they state."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from cwndlab.base.errors import StudyError
from cwndlab.study.outputs import AnyTable, Column, Figure, Flag, Margin, Rounding, Table

COLUMN = {"heading": "h", "quantity": "q"}


def column(**keys: Any) -> Column:
    return Column.model_validate({**COLUMN, **keys})


def figure(**keys: Any) -> Figure:
    return Figure.model_validate({"id": "f", "title": "F", **keys})


@pytest.mark.parametrize("other", [{"compare": "decrease(iw=1)"}, {"published": "iw1"}])
def test_the_scatter_of_runs_is_neither_compared_nor_published(other: dict[str, str]) -> None:
    assert column(runs=0.9).runs == 0.9 and column(**other).runs is None
    with pytest.raises(ValidationError, match="`runs` shows how runs scatter"):
        column(runs=0.9, **other)


@pytest.mark.parametrize(
    "keys", [{"runs": 0.0}, {"runs": 1.0}, {"digits": -1}, {"digits": 10}, {"quantity": "2q"}]
)
def test_a_column_stays_within_its_limits(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        column(**keys)
    assert (column(digits=0).digits, column(digits=9).digits) == (0, 9)


def test_a_table_has_at_least_one_column_and_one_run_behind_its_numbers() -> None:
    keys = {"id": "t", "title": "T", "rows": [], "columns": [COLUMN]}
    assert Table.model_validate(keys).published_runs == 1
    for wrong in ({"columns": []}, {"published_runs": 0}):
        with pytest.raises(ValidationError):
            Table.model_validate({**keys, **wrong})
    kinds: TypeAdapter[Any] = TypeAdapter(AnyTable)
    assert isinstance(kinds.validate_python(keys), Table)
    with pytest.raises(ValidationError, match="plot"):
        kinds.validate_python({**keys, "kind": "plot"})


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"kind": "line", "x": "iw"}, "a line figure needs `quantity`"),
        ({"kind": "bar", "x": "iw"}, "a bar figure needs `quantity`"),
        ({"kind": "cdf"}, "a cdf figure needs `quantity`"),
        ({"kind": "ellipse", "x": "p"}, "a ellipse figure needs `quantity`"),
        ({"kind": "ellipse", "quantity": "q"}, "an ellipse figure needs `x`"),
        ({"kind": "budget"}, "a budget figure needs `x`"),
        ({"kind": "line", "quantity": "q"}, "a line figure needs `x`"),
        ({"kind": "bar", "quantity": "q"}, "a bar figure needs `x`"),
        ({"kind": "line", "x": "iw", "quantity": "q", "quantities": ["p"]}, "either `quantity` or"),
        ({"kind": "line", "x": "iw", "quantity": "q", "panels": "quantity"}, "needs `quantities`"),
    ],
)
def test_a_figure_has_what_its_kind_draws(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        figure(**keys)


def test_panels_are_of_an_axis_or_of_quantities() -> None:
    assert figure(kind="cdf", quantity="q").drawn_quantities == ["q"]
    several = figure(kind="line", x="iw", quantities=["p", "q"], panels="quantity")
    assert (several.panel_axis, several.drawn_quantities) == (None, ["p", "q"])
    assert figure(kind="line", x="iw", quantity="q", panels="cc").panel_axis == "cc"
    assert figure(kind="budget", x="iw").drawn_quantities == []


def test_a_flag_is_for_values_beyond_its_limits_and_not_at_them() -> None:
    flag = Flag(below=1.0, above=3.0, note="n")
    assert [flag.meets(value) for value in (0.5, 1.0, 2.0, 3.0, 3.5)] == [True, False, False, False, True]
    assert [Flag(below=1.0, note="n").meets(value) for value in (0.5, 9.0)] == [True, False]
    assert [Flag(above=1.0, note="n").meets(value) for value in (0.5, 9.0)] == [False, True]
    with pytest.raises(StudyError, match="`below` or `above`"):
        Flag(note="n")


def test_a_margin_is_a_share_or_a_distance_and_never_less_than_the_rounding() -> None:
    assert Margin().half_width_at(-20.0, 0.5) == pytest.approx(2.0)
    assert Margin().half_width_at(2.0, 0.5) == 0.5
    assert Margin(absolute=0.7).half_width_at(100.0, 0.5) == 0.7
    assert Margin(absolute=0.3).half_width_at(100.0, 0.5) == 0.5
    described = [Margin().describe(), Margin(absolute=2.0).describe("%"), Margin(absolute=0.5).describe("s")]
    assert described == ["10 % of it", "2 points", "0.5 s"] and Margin(absolute=3.0).describe() == "3"


def test_a_percentage_is_rounded_as_the_two_numbers_of_its_ratio() -> None:
    """A decrease of 20 % of 50, each printed to 0.5: 100 (1 - 40/50) moves by (0.5 + 0.8 x 0.5) / 50."""
    rounding = Rounding(half_width=0.5, ratio_to="base", reason="r")
    assert rounding.half_width_at(20.0, 50.0) == pytest.approx(100 * (0.5 + 0.8 * 0.5) / 50)
    assert rounding.half_width_at(-20.0, -50.0) == pytest.approx(100 * (0.5 + 1.2 * 0.5) / 50)
    assert rounding.half_width_at(20.0, None) == 0.5
