"""Columns that a table leaves out, the decimals of the others, and estimates with their intervals."""

from __future__ import annotations

import math
from typing import Any

import pytest

import synthetic
from cwndlab.report import lines
from cwndlab.report.contents import finding_text
from cwndlab.report.digits import align_digits, estimate_text, leave_out_columns
from cwndlab.report.methods import _group
from cwndlab.stats.intervals import EXACT, Interval, equal_in
from cwndlab.stats.results import Estimate
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.study.outputs import Figure, Table

NAN = math.nan


def exactly(value: float) -> Interval:
    return Interval(value, value, value, 1, EXACT)


def random(value: float) -> Interval:
    return Interval(value, value - 0.5, value + 0.5, 5, "t")


MISSING = Interval(NAN, NAN, NAN, 0, "not measurable")


def table(*rows: list[Interval | None]) -> JudgedTable:
    """A table of columns A, B, … with these numbers; None where there is no such cell."""
    columns: list[dict[str, Any]] = [
        {"heading": chr(65 + k), "quantity": "q", "group": "g" if k == 1 else ""} for k in range(len(rows[0]))
    ]
    spec = Table.model_validate({"id": "t", "title": "T", "rows": ["a"], "columns": columns})

    def cell(row: int, column: int, interval: Interval | None) -> JudgedCell:
        estimate = None if interval is None else Estimate.from_interval("c", "q", "s", interval)
        return JudgedCell("t", (row,), column, "c", "q", estimate, None, None, None, "")

    cells = tuple(tuple(cell(r, c, one) for c, one in enumerate(row)) for r, row in enumerate(rows))
    return JudgedTable(spec, tuple((r,) for r in range(len(rows))), cells)


def kept(judged: JudgedTable) -> tuple[str, list[str]]:
    """The columns that are left, and the remarks."""
    left, said = leave_out_columns(judged)
    for line in left.cells:
        assert [cell.column for cell in line] == list(range(len(left.spec.columns)))
    return "".join(column.heading for column in left.spec.columns), said


def test_columns_that_are_empty_or_equal_are_left_out_with_a_remark() -> None:
    judged = table([random(1.0), MISSING, exactly(3.0), None], [random(2.0), MISSING, exactly(3.0), MISSING])
    assert kept(judged) == (
        "A",
        ["Not measured in any cell: g, B and D.", "The same in all cells and runs: C: 3."],
    )
    equal_runs = Interval(3.0, NAN, NAN, 7, equal_in(7))
    assert kept(table([random(1.0), equal_runs], [random(2.0), equal_runs]))[0] == "A"


@pytest.mark.parametrize(
    "other",
    [exactly(4.0), random(3.0), MISSING, None],
    ids=["another value", "random", "not measured", "no cell"],
)
def test_a_column_in_which_one_cell_differs_is_kept(other: Interval | None) -> None:
    assert kept(table([random(1.0), exactly(3.0)], [random(2.0), other])) == ("AB", [])


def test_a_table_of_one_row_or_of_nothing_else_keeps_its_columns() -> None:
    assert kept(table([random(1.0), exactly(3.0)])) == ("AB", [])
    assert kept(table([exactly(3.0), MISSING], [exactly(3.0), MISSING])) == ("AB", [])


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([1.5, 12.5, 20.5], 1),  # three digits of 12.5
        ([0.015, 0.125, 0.5], 3),  # two of 0.015 are as many as three of 0.125
        ([0.0015, 0.125, 0.1], 4),
        ([1.5, 150.0], None),  # a hundred times
        ([1.5, 149.0], 1),
        ([1.0, 12.0], None),  # whole numbers
        ([1.5], None),
        ([1500.5, 2500.5], 0),
        ([-1.5, 0.0, 12.5], 1),
    ],
)
def test_a_column_has_the_decimals_of_its_middle_and_its_smallest_number(
    values: list[float], digits: int | None
) -> None:
    aligned = align_digits(table(*([random(value)] for value in values)))
    assert {cell.digits for cell in aligned.numbers} == {digits}


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (1.5e-6, 1e-6, 2e-6, "1.50e−06"),
        (1.0, NAN, NAN, "1"),
        (1.25, 1.25, 1.25, "1.25"),
        (1.0049, 1.0041, 1.0052, "1.005"),  # 1.00 would lie below its interval
        (-1.0049, -1.0052, -1.0041, "−1.005"),
        (1.5, 1.0, 2.0, "1.50"),
        (1_234_567.0, 1_234_000.0, 1_235_000.0, "1.23e+06"),  # as a power of ten it stays
    ],
)
def test_an_estimate_lies_in_the_interval_that_is_shown(
    value: float, low: float, high: float, text: str
) -> None:
    assert estimate_text(Interval(value, low, high, 5, "t")) == text


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a + b", "(a + b)"),
        (" a + b ", "(a + b)"),
        ("(a + b)", "(a + b)"),
        ("(a) + (b)", "((a) + (b))"),
        ("f(a + b)", "(f(a + b))"),
        ("(a + b) c", "((a + b) c)"),
        ("ab", "ab"),
        ("(a", "(a"),
    ],
)
def test_a_side_of_a_fraction_is_in_parentheses_once(text: str, grouped: str) -> None:
    assert _group(text, "+-") == grouped


# ── findings and figures over axes ────────────────────────────────────────────────────────────────────────

WEB = synthetic.rfc2415()


def test_a_finding_over_an_axis_with_one_value_does_not_name_it() -> None:
    one = finding_text("It is {max(max(power[iw=[3]], over=webs), over=ftps):1}.", WEB)
    assert one.startswith("It is ") and "iw" not in one
    two = finding_text("It is {max(max(power[iw=[1, 3]], over=webs), over=ftps):1}.", WEB)
    assert [part.split(".")[0] for part in two.split("iw: ")[1:]] == ["1", "3"]
    fixed = finding_text("{max(max(power[iw=[3]], over=webs), over=ftps):1} of {size(power)}", WEB)
    assert fixed.endswith(" of 48")


@pytest.mark.parametrize(
    ("bars", "series", "apart"),
    [(True, ["iw"], True), (True, [], False), (False, ["iw"], False), (False, [], False)],
)
def test_bars_of_several_series_stand_next_to_each_other(bars: bool, series: list[str], apart: bool) -> None:
    where: dict[str, Any] = {"ftps": 0} if series else {"ftps": 0, "iw": 1}
    figure = Figure.model_validate(
        {
            **{"id": "f", "title": "F", "kind": "bar" if bars else "line", "x": "webs"},
            **{"quantity": "power", "series": series, "where": where},
        }
    )
    chart, _, _ = lines.draw(figure, WEB, bars=bars)
    assert ("xOffset" in str(chart)) is apart
