"""The sentence at the head of a report says what the intervals of its figure show, and no more."""

from __future__ import annotations

import math

import pytest

import synthetic
from cwndlab.report.headline import (
    Axes,
    compared_lines,
    headline,
    headline_of_row,
    named_values,
    of_one_statistic,
    one_line,
)
from cwndlab.report.wording import table_view
from cwndlab.spec.outputs import Column, Figure, Table
from cwndlab.spec.schema import Quantity
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import AxisValue, Estimate, Results
from cwndlab.stats.tables import JudgedCell, JudgedTable

AXES = Axes("buffer", "BDP", "share of the goodput", "%")


def around(value: float, reach: float) -> Interval:
    return Interval(value, value - reach, value + reach, 10, "t")


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_higher_line_is_named_where_the_intervals_are_apart() -> None:
    cubic = {"0.5": around(11, 1), "1": around(12, 1), "2": around(45, 9), "4": around(69, 5)}
    bbr = {"0.5": around(89, 1), "1": around(88, 1), "2": around(55, 9), "4": around(31, 5)}
    assert [plain(text) for text in compared_lines({"cubic": cubic, "bbr1": bbr}, AXES)] == [
        "At buffer = 0.5 and 1 BDP, bbr1 has the larger share of the goodput "
        "(88 to 89 against 11 to 12 %); "
        "at 4 BDP, cubic has (69 against 31 %).",
        "At 2 BDP, the 95 % intervals overlap: the runs do not tell.",
    ]


def test_nothing_is_left_open_where_all_intervals_are_apart() -> None:
    lines = {"a": {"1": around(5, 1), "2": around(6, 1)}, "b": {"1": around(9, 1), "2": around(10, 1)}}
    assert [plain(text) for text in compared_lines(lines, AXES)] == [
        "At buffer = 1 and 2 BDP, b has the larger share of the goodput (9 to 10 against 5 to 6 %).",
        "",
    ]


def test_of_three_lines_the_highest_is_named_where_it_is_apart_from_both_others() -> None:
    lines = {
        "cubic": {"0.5": around(20, 1), "1": around(30, 1), "2": around(50, 5), "4": around(60, 2)},
        "bbr1": {"0.5": around(70, 1), "1": around(50, 2), "2": around(45, 5), "4": around(20, 2)},
        "prague": {"0.5": around(10, 1), "1": around(20, 1), "2": around(5, 1), "4": around(20, 2)},
    }
    assert [plain(text) for text in compared_lines(lines, AXES)] == [
        "At buffer = 0.5 and 1 BDP, bbr1 has the largest share of the goodput "
        "(50 to 70 against at most 30 %); "
        "at 4 BDP, cubic has (60 against at most 20 %).",
        "At 2 BDP, the highest 95 % intervals overlap: the runs do not tell.",
    ]


def test_where_no_two_intervals_are_apart_the_runs_do_not_tell() -> None:
    lines = {"a": {"1": around(5, 2), "2": around(6, 2)}, "b": {"1": around(6, 2), "2": around(7, 2)}}
    assert [plain(text) for text in compared_lines(lines, AXES)] == [
        "",
        "The runs do not tell which has the larger share of the goodput: "
        "at buffer = 1 and 2 BDP, the 95 % intervals overlap.",
    ]


def test_a_single_run_says_nothing() -> None:
    single = Interval(5.0, math.nan, math.nan, 1, "1 replicate: no interval")
    assert compared_lines({"a": {"1": single}, "b": {"1": around(9, 1)}}, AXES) == ("", "")
    assert one_line({"1": single, "2": around(9, 1)}, AXES) == ""


def test_the_only_line_rises_or_falls_if_its_ends_are_apart() -> None:
    assert plain(one_line({"1": around(5, 1), "2": around(9, 3), "4": around(12, 1)}, AXES)) == (
        "Share of the goodput rises from 5 to 12 %, from buffer = 1 BDP to buffer = 4 BDP."
    )
    assert one_line({"1": around(12, 1), "2": around(5, 1)}, AXES).startswith("Share of the goodput falls")
    assert one_line({"1": around(5, 1), "2": around(6, 1)}, AXES) == ""


def one_row(*numbers: Interval) -> JudgedTable:
    """Of a study with one cell, which measured the shares of these flows and a loss rate."""
    names = [f"flow{k}" for k in range(len(numbers))]
    columns = [Column(heading=name, group="share (%)", quantity=name) for name in names]
    spec = Table(id="t", title="T", rows=[], columns=[*columns, Column(heading="loss (%)", quantity="loss")])
    made = [
        JudgedCell("t", (), k, "base", name, Estimate("base", name, "%", *one), None, None, None, "")
        for k, (name, one) in enumerate(zip([*names, "loss"], [*numbers, around(1, 0.1)], strict=True))
    ]
    return JudgedTable(spec, ((),), (tuple(made),))


def test_of_a_single_cell_the_first_numbers_of_the_table_are_compared() -> None:
    assert headline_of_row(one_row(around(70, 5), around(30, 5))) == (
        "flow0 has the larger share (70 against 30 %).",
        "",
    )
    assert headline_of_row(one_row(around(52, 5), around(48, 5))) == (
        "",
        "The runs do not tell which has the larger share: "
        "the 95 % intervals overlap (flow0 52 %, flow1 48 %).",
    )
    assert not any(headline_of_row(one_row(around(52, 5))))
    assert not any(headline_of_row(one_row(Interval(52, math.nan, math.nan, 1, "t"), around(48, 5))))


def test_of_what_is_counted_the_number_is_larger() -> None:
    names = ["cubic", "bbr1"]
    columns = [Column(heading=name, group="timeouts", quantity=name) for name in names]
    made = [
        JudgedCell("t", (), k, "base", name, Estimate("base", name, "timeouts", *one), None, None, None, "")
        for k, (name, one) in enumerate(zip(names, [around(9, 1), around(2, 1)], strict=True))
    ]
    table = JudgedTable(Table(id="t", title="T", rows=[], columns=columns), ((),), (tuple(made),))
    assert headline_of_row(table).shown == "cubic has the larger number of timeouts (9 against 2)."


LAWS = Axes("congestion control", "", "goodput", "Mbit/s")


def test_the_note_on_intervals_names_the_columns_of_each_method() -> None:
    share, loss = around(52, 5)._replace(method="logit t"), around(1, 0.1)._replace(method="log t")
    table = one_row(share, share)
    (row,) = table.cells
    last = row[-1]._replace(estimate=Estimate("base", "loss", "%", *loss))
    (remark,) = table_view(table._replace(cells=((*row[:-1], last),))).remarks
    assert remark == (
        "95 % intervals: Student's t on the log odds ln(p/(1 − p)) of a share p, so that no interval "
        "leaves its range (share); Student's t on the logarithm, so that no interval goes below 0 (loss)."
    )


def test_names_have_a_highest_and_a_lowest_and_no_order() -> None:
    line = {"mine": around(13, 0.1), "cubic": around(9, 0.1), "bbr3": around(14, 0.1)}
    assert (
        named_values(line, LAWS) == "bbr3 has the highest goodput (14 Mbit/s), cubic the lowest (9 Mbit/s)."
    )
    two = {"mine": around(13, 0.1), "prague": around(14, 0.1)}
    assert named_values(two, LAWS) == "prague has the larger goodput (14 against 13 Mbit/s)."


def test_a_name_is_the_highest_only_if_its_interval_is_apart_from_all_others() -> None:
    line = {"mine": around(13, 2), "cubic": around(9, 0.1), "bbr3": around(14, 2)}
    assert named_values(line, LAWS) == "Goodput is higher with bbr3 (14 Mbit/s) than with cubic (9 Mbit/s)."
    assert named_values({"mine": around(13, 2), "bbr3": around(14, 2)}, LAWS) == ""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["mine", "prague"], "mine has the larger goodput"),
        ([1, 2], "Goodput falls"),
        (["1MB", "2MB"], "Goodput falls"),
    ],
)
def test_only_values_with_an_order_rise_or_fall(values: list[AxisValue], expected: str) -> None:
    cells = synthetic.grid(cc=values)
    data = {(cell.id, "goodput"): [9.0 - k, 9.1 - k, 9.2 - k] for k, cell in enumerate(cells)}
    spec = Figure.model_validate({"id": "f", "title": "F", "kind": "bar", "x": "cc", "quantity": "goodput"})
    assert headline(spec, Results(cells, {"goodput": "Mbit/s"}, data)).shown.startswith(expected)


def test_a_mean_and_a_p95_are_no_rivals() -> None:
    cells = synthetic.grid(iw=[1, 2], queue=["red", "pie"])
    names = {"delay_mean": "mean", "delay_p95": "p95"}
    known = {
        name: Quantity.model_validate(
            {"name": name, "unit": "s", "metric": "completion_time", "within": within}
        )
        for name, within in names.items()
    }
    data = {
        (cell.id, name): [base + noise for noise in (0.1, 0.2, 0.3)]
        for cell in cells
        for name, base in (("delay_mean", 9.0 if cell.axes["queue"] == "red" else 1.0), ("delay_p95", 99.0))
    }
    spec = Figure.model_validate(
        {
            **{"id": "f", "title": "F", "kind": "line", "x": "iw", "series": ["queue"]},
            **{"quantities": list(names), "y_title": "completion time (s)"},
        }
    )
    results = Results(cells, dict.fromkeys(names, "s"), data)
    assert headline(spec, results).undecided.startswith("The runs do not tell which has the largest")
    found = headline(of_one_statistic(spec, known), results)
    assert plain(found.shown).startswith("At iw = 1 and 2, red has the larger mean completion time (9.20")
