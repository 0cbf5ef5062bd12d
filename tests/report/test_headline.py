"""The sentence at the head of a report says what the intervals of its figure show, and no more."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

import synthetic
from cwndlab.apps.headline.contrast import Line, LineValue
from cwndlab.apps.headline.headline import (
    NOTHING,
    Axes,
    compare_lines,
    first_headline,
    headline,
    headline_of_row,
    keep_one_statistic,
    named_values,
    one_line,
)
from cwndlab.report.wording import table_view
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Estimate, Results
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import Column, Figure, Scalar, Table
from cwndlab.study.schema import Quantity

AXES = Axes("buffer", "BDP", "share of the goodput", "%")


def around(value: float, reach: float) -> LineValue:
    return LineValue(interval(value, reach))


def interval(value: float, reach: float) -> Interval:
    return Interval(value, value - reach, value + reach, 10, "t")


def texts(lines: Mapping[str, Line]) -> list[str]:
    found = compare_lines(lines, AXES)
    return [plain(found.shown), plain(found.undecided)]


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_higher_line_is_named_where_the_intervals_are_apart() -> None:
    cubic = {"0.5": around(11, 1), "1": around(12, 1), "2": around(45, 9), "4": around(69, 5)}
    bbr = {"0.5": around(89, 1), "1": around(88, 1), "2": around(55, 9), "4": around(31, 5)}
    assert texts({"cubic": cubic, "bbr1": bbr}) == [
        "At buffer = 0.5 and 1 BDP, bbr1 has the larger share of the goodput "
        "(88 to 89 against 11 to 12 %); "
        "at 4 BDP, cubic has (69 against 31 %).",
        "At 2 BDP, the 95 % intervals overlap: the runs do not tell.",
    ]


def test_nothing_is_left_open_where_all_intervals_are_apart() -> None:
    lines = {"a": {"1": around(5, 1), "2": around(6, 1)}, "b": {"1": around(9, 1), "2": around(10, 1)}}
    assert texts(lines) == [
        "At buffer = 1 and 2 BDP, b has the larger share of the goodput (9 to 10 against 5 to 6 %).",
        "",
    ]


def test_of_three_lines_the_highest_is_named_where_it_is_apart_from_both_others() -> None:
    lines = {
        "cubic": {"0.5": around(20, 1), "1": around(30, 1), "2": around(50, 5), "4": around(60, 2)},
        "bbr1": {"0.5": around(70, 1), "1": around(50, 2), "2": around(45, 5), "4": around(20, 2)},
        "prague": {"0.5": around(10, 1), "1": around(20, 1), "2": around(5, 1), "4": around(20, 2)},
    }
    assert texts(lines) == [
        "At buffer = 0.5 and 1 BDP, bbr1 has the largest share of the goodput "
        "(50 to 70 against at most 30 %); "
        "at 2 BDP, cubic and bbr1 have (45 to 50 against at most 5 %); "
        "at 4 BDP, cubic has (60 against at most 20 %).",
        "",
    ]


def test_where_no_two_intervals_are_apart_the_runs_do_not_tell() -> None:
    lines = {"a": {"1": around(5, 2), "2": around(6, 2)}, "b": {"1": around(6, 2), "2": around(7, 2)}}
    assert texts(lines) == [
        "",
        "The runs do not tell which has the larger share of the goodput: "
        "at buffer = 1 and 2 BDP, the 95 % intervals overlap.",
    ]


def test_a_single_run_says_nothing() -> None:
    single = LineValue(Interval(5.0, math.nan, math.nan, 1, "1 replicate: no interval"))
    assert compare_lines({"a": {"1": single}, "b": {"1": around(9, 1)}}, AXES) == NOTHING
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
        for k, (name, one) in enumerate(zip([*names, "loss"], [*numbers, interval(1, 0.1)], strict=True))
    ]
    return JudgedTable(spec, ((),), (tuple(made),))


def test_of_a_single_cell_the_first_numbers_of_the_table_are_compared() -> None:
    assert headline_of_row(one_row(interval(70, 5), interval(30, 5)))[:2] == (
        "flow0 has the larger share (70 against 30 %).",
        "",
    )
    assert headline_of_row(one_row(interval(52, 5), interval(48, 5)))[:2] == (
        "",
        "The runs do not tell which has the larger share: "
        "the 95 % intervals overlap (flow0 52 %, flow1 48 %).",
    )
    assert not any(headline_of_row(one_row(interval(52, 5))))
    assert not any(headline_of_row(one_row(Interval(52, math.nan, math.nan, 1, "t"), interval(48, 5))))


def test_of_what_is_counted_the_number_is_larger() -> None:
    names = ["cubic", "bbr1"]
    columns = [Column(heading=name, group="timeouts", quantity=name) for name in names]
    made = [
        JudgedCell("t", (), k, "base", name, Estimate("base", name, "timeouts", *one), None, None, None, "")
        for k, (name, one) in enumerate(zip(names, [interval(9, 1), interval(2, 1)], strict=True))
    ]
    table = JudgedTable(Table(id="t", title="T", rows=[], columns=columns), ((),), (tuple(made),))
    assert headline_of_row(table).shown == "cubic has the larger number of timeouts (9 against 2)."


LAWS = Axes("congestion control", "", "goodput", "Mbit/s")


def test_the_note_on_intervals_names_the_columns_of_each_method() -> None:
    share, loss = interval(52, 5)._replace(method="logit t"), interval(1, 0.1)._replace(method="log t")
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
def test_only_values_with_an_order_rise_or_fall(values: list[Scalar], expected: str) -> None:
    cells = synthetic.grid(cc=values)
    data = {(cell.id, "goodput"): [9.0 - k, 9.1 - k, 9.2 - k] for k, cell in enumerate(cells)}
    spec = Figure.model_validate({"id": "f", "title": "F", "kind": "bar", "x": "cc", "quantity": "goodput"})
    assert headline(spec, synthetic.make_results(cells, {"goodput": "Mbit/s"}, data)).shown.startswith(
        expected
    )


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
    results = synthetic.make_results(cells, dict.fromkeys(names, "s"), data)
    assert "delay p95 has the larger" in headline(spec, results).shown  # what it must not say
    found = headline(keep_one_statistic(spec, known), results)
    assert plain(found.shown).startswith("At iw = 1 and 2, red has the larger mean completion time (9.20")


def study(name: str, **values: object) -> dict[str, object]:
    return {"id": name, "title": name, "kind": "line", "x": "buffer", **values}


def shown(spec: dict[str, object], results: Results) -> str:
    found = headline(Figure.model_validate(spec), results)
    return plain(found.shown)


def test_flows_that_are_alike_lead_together() -> None:
    cells = synthetic.grid(buffer=[1, 2])
    means = {"long": 4.0, "web": 0.5, "cross_1": 14.0, "cross_2": 14.01}
    data = {
        (cell.id, flow): [mean + noise + cell.axes["buffer"] / 100 for noise in (-0.1, 0.0, 0.1)]  # type: ignore[operator]
        for cell in cells
        for flow, mean in means.items()
    }
    results = synthetic.make_results(cells, dict.fromkeys(means, "Mbit/s"), data)
    text = shown(study("f", quantities=list(means), y_title="goodput"), results)
    assert text.startswith(
        "At buffer = 1 and 2, cross 1 and cross 2 have the largest goodput "
        "(14.0 against at most 4.02 Mbit/s); web always has the smallest (0.510 to 0.520 Mbit/s)."
    )


def test_a_flow_is_compared_with_itself_in_another_cell_and_with_others_in_its_own() -> None:
    cells = synthetic.grid(buffer=[1, 2], cc=["cubic", "bbr1"])
    levels = {("bulk", "cubic"): 15.0, ("bulk", "bbr1"): 5.0, ("video", "cubic"): 3.0, ("video", "bbr1"): 6.0}
    data = {
        (cell.id, flow): [levels[flow, str(cell.axes["cc"])] + noise for noise in (-0.1, 0.0, 0.1)]
        for cell in cells
        for flow in ("bulk", "video")
    }
    results = synthetic.make_results(
        cells,
        dict.fromkeys(("bulk", "video"), "Mbit/s"),
        data,
        axes={"cc": AxisInfo("congestion control of video")},
    )
    text = shown(study("f", series=["cc"], quantities=["bulk", "video"], y_title="goodput"), results)
    assert text.startswith(
        "With congestion control of video = cubic: at buffer = 1 and 2, bulk has the larger goodput "
        "(15 against 3 Mbit/s). "
        "With congestion control of video = bbr1: at buffer = 1 and 2, video has the larger goodput"
    )
    assert "bulk, cubic" not in text


def test_equal_runs_are_compared_too() -> None:
    cells = synthetic.grid(buffer=[1], queue=["drop-tail", "fq-codel"])
    data = {
        (cell.id, "goodput"): [10.0] * 5 if cell.axes["queue"] == "drop-tail" else [4.2, 4.3, 4.4, 4.3, 4.3]
        for cell in cells
    }
    results = synthetic.make_results(cells, {"goodput": "Mbit/s"}, data)
    assert shown(study("f", series=["queue"], quantity="goodput"), results) == (
        "At buffer = 1, drop-tail has the larger goodput (10 against 4.30 Mbit/s)."
    )


def test_a_difference_of_pairs_decides_where_intervals_overlap() -> None:
    common = [3.0, 9.0, 5.0, 7.0, 11.0, 6.0]
    pairs = {"a": {"1": paired([x + 2.0 + y for x, y in zip(common, NOISE, strict=True)])}}
    pairs["b"] = {"1": paired(common)}
    assert compare_lines(pairs, AXES).shown.startswith("At")
    apart = {name: {"1": number["1"]._replace(number=None)} for name, number in pairs.items()}
    assert not compare_lines(apart, AXES).shown


NOISE = [0.01, -0.02, 0.0, 0.02, -0.01, 0.0]


def paired(runs: list[float]) -> LineValue:
    sample = synthetic.sample(runs)
    return LineValue(sample.estimate(), sample)


def test_the_largest_relative_difference_is_stated_first() -> None:
    cells = synthetic.grid(buffer=[1, 2])
    data = {
        (cell.id, flow): [
            base * (8.0 if cell.axes["buffer"] == 2 else 1.0) + noise for noise in (-0.1, 0.0, 0.1)
        ]
        for cell in cells
        for flow, base in (("a", 10.0), ("b", 11.0))
    }
    results = synthetic.make_results(cells, dict.fromkeys(("a", "b"), "Mbit/s"), data)
    text = shown(study("f", quantities=["a", "b"], y_title="goodput"), results)
    assert text.startswith("Goodput of a rises from 10 to 80 Mbit/s")


def test_what_kernels_change_is_stated_before_larger_differences() -> None:
    cells = synthetic.grid(buffer=[1, 2], kernel=["6.12", "7.3"])
    data = {
        (cell.id, flow): [
            base * (1.5 if cell.axes["kernel"] == "7.3" else 1.0) + noise for noise in (-0.1, 0.0, 0.1)
        ]
        for cell in cells
        for flow, base in (("a", 10.0), ("b", 90.0))
    }
    results = synthetic.make_results(cells, dict.fromkeys(("a", "b"), "Mbit/s"), data)
    text = shown(study("f", series=["kernel"], quantities=["a", "b"], y_title="goodput"), results)
    assert text.startswith(
        "At buffer = 1 and 2, kernel = 7.3 has the larger goodput of a (15 against 10 Mbit/s)."
    )
    alike = {
        (cell.id, flow): [base - 1, base, base + 1]
        for cell in cells
        for flow, base in (("a", 10.0), ("b", 90.0))
    }
    spec = Figure.model_validate(study("f", series=["kernel"], quantities=["a", "b"], y_title="goodput"))
    found = headline(spec, synthetic.make_results(cells, dict.fromkeys(("a", "b"), "Mbit/s"), alike))
    assert "b has the larger goodput" in found.shown and "the runs do not tell" in found.undecided.lower()


def test_of_several_kernels_the_figure_in_which_they_differ_most_is_stated() -> None:
    cells = synthetic.grid(buffer=[1, 2], kernel=["6.12", "7.3"])
    factor = {"goodput": 1.1, "delay": 1.6, "loss": 1.0}
    data = {
        (cell.id, name): [
            10 * (by if cell.axes["kernel"] == "7.3" else 1.0) + noise for noise in (-0.1, 0.0, 0.1)
        ]
        for cell in cells
        for name, by in factor.items()
    }
    results = synthetic.make_results(cells, dict.fromkeys(factor, "ms"), data)
    figures = [
        Figure.model_validate(study(name, series=["kernel"], quantity=name, y_title=name)) for name in factor
    ]
    text = first_headline(figures, results).shown.replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("At buffer = 1 and 2, kernel = 7.3 has the larger delay (16 against 10 ms).")


def test_another_figure_answers_where_the_first_leaves_all_open() -> None:
    cells = synthetic.grid(buffer=[1, 2])
    data: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        data[cell.id, "goodput"] = [9.0, 10.0, 11.0]
        data[cell.id, "delay"] = [10.0 * float(cell.axes["buffer"]) + noise for noise in (0.1, 0.2, 0.3)]
    results = synthetic.make_results(cells, {"goodput": "Mbit/s", "delay": "ms"}, data)
    figures = [Figure.model_validate(study(name, quantity=name)) for name in ("goodput", "delay")]
    assert plain(first_headline(figures, results).shown).startswith("Delay rises from 10.2 to 20.2 ms")


def test_cells_that_fall_on_the_same_point_are_not_taken_for_one() -> None:
    cells = synthetic.grid(buffer=[1, 2], queue=["red", "pie"])
    data = {
        (cell.id, "goodput"): [9.0 * (k + 1) + noise for noise in (0.0, 0.1, 0.2)]
        for k, cell in enumerate(cells)
    }
    spec = Figure.model_validate(study("f", quantity="goodput"))
    assert not any(headline(spec, synthetic.make_results(cells, {"goodput": "Mbit/s"}, data)))
