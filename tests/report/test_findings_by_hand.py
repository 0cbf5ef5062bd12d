"""Sentences about numbers that are written by hand: who leads, by how much, and what stays open."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

import synthetic
from cwndlab.apps.headline.contrast import (
    Line,
    LineValue,
    common_places,
    extremes,
    is_below,
    relative,
    top_group,
)
from cwndlab.apps.headline.headline import (
    NOTHING,
    Axes,
    Headline,
    compare_lines,
    count_claims,
    first_headline,
    headline,
    headline_of_row,
    keep_one_statistic,
    named_values,
    one_line,
    state_finding,
)
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Estimate
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.stats.verdict import Verdict
from cwndlab.study.outputs import Column, Figure, Scalar, Table
from cwndlab.study.schema import Quantity

NAN = math.nan
AXES = Axes("buffer", "BDP", "goodput", "Mbit/s")
PLAIN = Axes("n", "", "goodput", "")


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def around(value: float, reach: float = 0.1) -> LineValue:
    return LineValue(Interval(value, value - reach, value + reach, 10, "t"))


SINGLE = LineValue(Interval(1.0, NAN, NAN, 1, "1 replicate: no interval"))
EQUAL = LineValue(Interval(1.0, NAN, NAN, 20, "no spread in 20 runs"))


def paired(runs: list[float]) -> LineValue:
    sample = synthetic.sample(runs)
    return LineValue(sample.estimate(), sample)


@pytest.mark.parametrize(
    ("a", "b", "below"),
    [
        (around(1), around(2), True),
        (around(2), around(1), False),
        (around(1, 0.5), around(2, 0.5), False),  # both intervals end at 1.5
        (around(1, 0.5), around(2, 0.49), True),
        (SINGLE, around(9), False),
        (around(0), SINGLE, False),
        (EQUAL, around(2), True),
        (around(0), EQUAL, True),
        (around(1, 0), around(1, 0), False),
    ],
)
def test_a_number_is_below_another_if_its_interval_is(a: LineValue, b: LineValue, below: bool) -> None:
    assert is_below(a, b) is below
    assert [one.is_known for one in (SINGLE, EQUAL, around(1))] == [False, True, True]


def test_pairs_decide_at_one_in_a_thousand_if_intervals_overlap() -> None:
    """Of 5 differences with mean 1 and standard error s, Student's t is 1/s: 2.78 at 95 %, 8.61 at 99.9 %."""
    common = [1.0, 9.0, 5.0, 3.0, 7.0]

    def shifted(error: float) -> LineValue:
        scale = error * math.sqrt(5) / math.sqrt(2.5)  # of the deviations −2 … 2
        return paired([x + 1 + scale * d for x, d in zip(common, (1, -2, 0, 2, -1), strict=True)])

    assert is_below(paired(common), shifted(1 / 8.7)) and not is_below(paired(common), shifted(1 / 8.5))
    assert not is_below(shifted(1 / 8.7), paired(common))
    apart = shifted(1 / 8.7)._replace(number=None)
    assert not is_below(paired(common), apart)
    assert not is_below(paired(common)._replace(number=None), shifted(1 / 8.7))


@pytest.mark.parametrize(
    ("a", "b", "ratio"),
    [(2, 8, 4.0), (8, 2, 4.0), (0.5, 0.25, 2.0), (0, 5, math.inf), (-2, 5, math.inf), (3, 3, 1.0)],
)
def test_a_ratio_is_of_the_larger_number_to_the_smaller(a: float, b: float, ratio: float) -> None:
    assert relative(around(a), around(b)) == ratio


@pytest.mark.parametrize(
    ("values", "highest", "lowest"),
    [
        ({"a": 1, "b": 2, "c": 9}, "c", "a"),
        ({"a": 1, "b": 8, "c": 9, "d": 10}, "cd", "a"),
        ({"a": 1, "b": 1.05, "c": 9, "d": 10}, "cd", "ab"),
        ({"a": 5, "b": 9, "c": 9.05}, "bc", "a"),
        ({"a": 5, "b": 5.05}, "", ""),
        ({"a": 5, "b": 5.05, "c": 5.1}, "", ""),
        ({"a": 1, "b": 9, "c": 9.01, "d": 9.02}, "bcd", "a"),
        ({"a": 1, "b": 1.02, "c": 1.04, "d": 9}, "d", "abc"),
        ({"b": 1, "a": 2, "d": 8, "c": 15, "e": 1.9}, "cd", "b"),
        ({"a": 4}, "", ""),
        ({"e": 1, "d": 5, "a": 9, "b": 9.01, "c": 9.02}, "abc", "e"),
    ],
)
def test_the_leading_group_is_the_one_farthest_ahead_of_at_most_half(
    values: Mapping[str, float], highest: str, lowest: str
) -> None:
    numbers = {name: around(value) for name, value in values.items()}
    assert top_group(numbers) == tuple(sorted(highest, key=list(values).index))
    assert top_group(numbers, lowest=True) == tuple(sorted(lowest, key=list(values).index))


def test_the_places_of_all_lines_are_compared_and_their_numbers_sorted() -> None:
    lines = {
        "a": {"1": around(5), "2": around(4), "3": around(3)},
        "b": {"3": around(7), "2": around(1)},
    }
    assert common_places(lines) == ["2", "3"]
    assert [one.value for one in extremes(lines, ["b", "a"], ["2", "3"])] == [1, 3, 4, 7]
    assert [one.value for one in extremes(lines, ["a"], ["1"])] == [5]


def test_places_and_ranges_in_words() -> None:
    assert plain(AXES.describe_places(["1", "2"])) == "buffer = 1 and 2 BDP"
    assert plain(AXES.describe_places(["1"], again=True)) == "1 BDP"
    assert plain(PLAIN.describe_places(["1"])) == plain(PLAIN.describe_places(["1"], again=True)) == "n = 1"
    assert AXES.describe_range([around(1), around(2), around(3)]) == "1 to 3"
    assert AXES.describe_range([around(1), around(1)]) == "1"


def lines(**rows: list[float]) -> dict[str, Line]:
    return {name: {str(k): around(v) for k, v in enumerate(row)} for name, row in rows.items()}


def test_of_three_lines_the_one_that_is_always_the_lowest_is_named() -> None:
    found = compare_lines(lines(a=[9, 8], b=[5, 5], c=[1, 2]), AXES)
    assert plain(found.shown) == (
        "At buffer = 0 and 1 BDP, a has the largest goodput (8 to 9 against at most 5 Mbit/s); "
        "c always has the smallest (1 to 2 Mbit/s)."
    )
    assert (found.relative, found.undecided, found.sentences) == (9.0, "", 1)
    mixed = compare_lines(lines(a=[9, 8], b=[5, 2], c=[1, 5]), AXES)
    assert "smallest" not in mixed.shown and mixed.relative == 9.0
    two = compare_lines(lines(a=[9, 8], b=[5, 2]), PLAIN)
    assert plain(two.shown) == "At n = 0 and 1, a has the larger goodput (8 to 9 against 2 to 5)."
    assert compare_lines(lines(a=[9, 8]), AXES) == NOTHING == compare_lines({}, AXES)
    pair = compare_lines(lines(a=[9], b=[5], c=[1], d=[1.05]), AXES)
    assert "smallest" not in pair.shown


def test_where_leaders_change_each_has_a_part_and_the_rest_is_open() -> None:
    found = compare_lines(lines(a=[9, 5, 1], b=[5, 5, 7], c=[1, 1, 2]), AXES)
    assert plain(found.shown) == (
        "At buffer = 0 BDP, a has the largest goodput (9 against at most 5 Mbit/s); "
        "at 1 BDP, a and b have (5 against at most 1 Mbit/s); at 2 BDP, b has (7 against at most 2 Mbit/s)."
    )
    alike = compare_lines(lines(a=[9, 5], b=[5, 5], c=[1, 5]), PLAIN)
    assert plain(alike.undecided) == "At n = 1, the highest 95 % intervals overlap: the runs do not tell."
    one = lines(a=[5, 5], b=[5, 5], c=[5, 5])
    assert plain(compare_lines(one, AXES).undecided) == (
        "The runs do not tell which has the largest goodput: at buffer = 0 and 1 BDP, the highest 95 % "
        "intervals overlap."
    )
    single = one | {"c": {"0": SINGLE, "1": around(5)}}
    assert plain(compare_lines(single, AXES).undecided).endswith(
        "at buffer = 1 BDP, the highest 95 % intervals overlap."
    )


@pytest.mark.parametrize(("leaders", "named"), [(4, True), (5, False)])
def test_at_most_four_leaders_are_named(leaders: int, named: bool) -> None:
    rows = {
        f"{'x' if k < leaders else 'y'}{k}": [9 - k / 1000 if k < leaders else 1 + k / 1000]
        for k in range(12)
    }
    assert compare_lines(lines(**rows), AXES).shown.startswith("At") is named


def test_a_line_is_described_by_its_ends() -> None:
    assert plain(one_line(lines(a=[5, 9, 3])["a"], AXES)) == (
        "Goodput falls from 5 to 3 Mbit/s, from buffer = 0 BDP to buffer = 2 BDP."
    )
    assert plain(one_line(lines(a=[1, 3])["a"], PLAIN)) == "Goodput rises from 1 to 3, from n = 0 to n = 1."
    assert one_line(lines(a=[5])["a"], AXES) == one_line({}, AXES) == ""
    assert one_line(lines(a=[5, 9, 5])["a"], AXES) == ""


def test_names_are_compared_only_if_all_are_known() -> None:
    line = {"a": around(1), "b": around(2)}
    assert named_values(line, PLAIN) == "b has the larger goodput (2 against 1)."
    assert named_values(line | {"c": SINGLE}, PLAIN) == named_values({"a": around(1)}, PLAIN) == ""
    three = line | {"c": around(1.05)}
    assert named_values(three, PLAIN) == "Goodput is higher with b (2) than with a (1)."
    assert named_values({"a": around(1), "b": around(2), "c": around(2.05)}, PLAIN) == (
        "Goodput is higher with c (2.05) than with a (1)."
    )
    four = {"d": around(4), "a": around(1), "c": around(2), "b": around(3)}
    assert named_values(four, AXES) == "d has the highest goodput (4 Mbit/s), a the lowest (1 Mbit/s)."


HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        ([], ""),
        ([(Verdict.CLOSE, "a", "")], ""),
        ([(HOLDS, "a", "")], "The one claim that could be checked holds."),
        ([(FAILS, "a", "why")], "The one claim that could be checked fails."),
        ([(OPEN, "a", "")], "The one claim that could be checked is undecided."),
        ([(HOLDS, "a", ""), (HOLDS, "b", "")], "All 2 claims that could be checked hold."),
        ([(FAILS, "a", ""), (FAILS, "b", "")], "None of the 2 claims that could be checked holds."),
        (
            [(FAILS, "a", "x"), (FAILS, "b", "y"), (FAILS, "c", "x")],
            "None of the 3 claims that could be checked holds; 3 fail: x; y.",
        ),
        ([(HOLDS, "a", ""), (OPEN, "b", "")], "1 of the 2 claims that could be checked holds."),
        ([(OPEN, "a", ""), (OPEN, "b", "")], "0 of the 2 claims that could be checked hold."),
        (
            [(HOLDS, "a", ""), (FAILS, "b", ""), (HOLDS, "c", ""), (FAILS, "d", "")],
            "2 of the 4 claims that could be checked hold; b, d fail.",
        ),
        (
            [(HOLDS, "a", ""), (FAILS, "b", "x"), (HOLDS, "c", "y")],
            "2 of the 3 claims that could be checked hold; 1 fails: x.",
        ),
        ([(HOLDS, "a", ""), (FAILS, "b", "")], "1 of the 2 claims that could be checked holds; b fails."),
    ],
)
def test_claims_are_counted_with_those_that_fail_and_why(
    claims: list[tuple[Verdict, str, str]], text: str
) -> None:
    judged = [SimpleNamespace(verdict=v, claim=SimpleNamespace(id=i, cause=c)) for v, i, c in claims]
    assert count_claims(cast(Any, judged)) == text


def figure(**more: object) -> Figure:
    about: dict[str, object] = {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "goodput"}
    return Figure.model_validate(about | more)


def results(values: Mapping[tuple[Scalar, ...], float], **axes: list[Scalar]) -> Any:
    """Goodputs that scatter by 0.1 around a value for each combination of the axes' values."""
    cells = synthetic.grid(**axes)
    data = {
        (cell.id, "goodput"): [values[tuple(cell.axes.values())] + x for x in (-0.1, 0.0, 0.1)]
        for cell in cells
        if tuple(cell.axes.values()) in values
    }
    return synthetic.make_results(cells, {"goodput": "Mbit/s"}, data)


def test_figures_of_other_kinds_have_no_headline() -> None:
    found = results({(1,): 5.0, (2,): 9.0}, iw=[1, 2])
    assert (
        plain(headline(figure(), found).shown) == "Goodput rises from 5 to 9 Mbit/s, from iw = 1 to iw = 2."
    )
    assert headline(figure(kind="bar"), found).shown
    assert not any(headline(figure(x="buffer"), found))
    assert not any(headline(figure(kind="cdf"), found))
    grid = results({(1, 1): 5.0, (2, 1): 9.0, (1, 2): 5.0, (2, 2): 9.0}, iw=[1, 2], buffer=[1, 2])
    assert not any(headline(figure(panels="buffer"), grid))
    assert not any(headline(figure(), grid))
    assert not any(headline(figure(compare="ratio(iw=1)"), found))
    assert not any(headline(figure(), results({}, iw=[1, 2])))
    partly = results({(1,): 5.0, (4,): 9.0}, iw=[1, 2, 3, 4])
    assert headline(figure(), partly).shown.startswith("Goodput rises from 5 to 9")


def test_the_effect_of_a_series_is_stated_where_it_is_the_largest() -> None:
    values = {(1, "red", "a"): 2.0, (1, "pie", "a"): 3.0, (1, "red", "b"): 2.0, (1, "pie", "b"): 8.0}
    found = results(cast(Any, values), iw=[1], queue=["red", "pie"], law=["a", "b"])
    turned = results(cast(Any, values), iw=[1], queue=["pie", "red"], law=["b", "a"])
    series = figure(series=["queue", "law"])
    assert headline(series, turned) == headline(series, found)
    text = plain(headline(figure(series=["queue", "law"]), found).shown)
    assert text == (
        "With law = b: at iw = 1, pie has the larger goodput (8 against 2 Mbit/s). "
        "With queue = pie: at iw = 1, b has the larger goodput (8 against 3 Mbit/s)."
    )


def flows(rows: Mapping[tuple[str, ...], list[float]], **axes: list[Scalar]) -> Any:
    """Numbers of flows (the first part of a key) in settings of `axes` along iw = 1, 2, …"""
    names = list(dict.fromkeys(key[0] for key in rows))
    cells = synthetic.grid(iw=[*range(1, 1 + len(next(iter(rows.values()))))], **axes)
    data = {}
    for cell in cells:
        iw, *setting = cell.axes.values()
        for name in names:
            value = rows[(name, *map(str, setting))][int(str(iw)) - 1]
            data[cell.id, name] = [value + x for x in NOISE]
    return names, synthetic.make_results(cells, dict.fromkeys(names, "s"), data)


NOISE = (-0.01, 0.0, 0.01)


def test_the_line_that_changes_most_from_end_to_end_is_stated() -> None:
    names, found = flows({("a",): [1, 10, 2], ("b",): [1, 1.5, 4]})
    text = plain(headline(figure(quantity=None, quantities=names, y_title="delay (s)"), found).shown)
    assert text.endswith("Delay of b rises from 1 to 4 s, from iw = 1 to iw = 3.")


def test_flows_are_compared_in_each_setting_and_named_by_the_first_without_a_title() -> None:
    rows = {("a", "pie"): [1.0], ("b", "pie"): [9.0], ("a", "red"): [3.0], ("b", "red"): [2.0]}
    names, found = flows(rows, queue=["pie", "red"])
    spec = figure(quantity=None, quantities=names, series=["queue"])
    assert plain(headline(spec, found).shown) == (
        "With queue = pie: at iw = 1, b has the larger a (9 against 1 s). "
        "With queue = red: at iw = 1, a has the larger a (3 against 2 s)."
    )
    alike = {key: [3.0] for key in rows}
    names, found = flows(alike, queue=["pie", "red"])
    open_ = headline(spec, found)
    assert open_.shown == "" and plain(open_.undecided) == (
        "The runs do not tell which has the larger a: at iw = 1, the 95 % intervals overlap."
    )


def test_of_several_settings_those_with_the_largest_ratios_are_stated() -> None:
    high = {("pie", "a"): 3.0, ("pie", "b"): 2.0, ("red", "a"): 9.0, ("red", "b"): 1.0, ("cake", "b"): 8.0}
    rows = {
        (flow, queue): [high.get((queue, flow), 2.0)] for queue in ("pie", "red", "cake") for flow in "ab"
    }
    names, found = flows(rows, queue=["pie", "red", "cake"])
    text = plain(headline(figure(quantity=None, quantities=names, series=["queue"]), found).shown)
    assert re.findall(r"queue = (\w+): at iw = 1, (\w)", text)[:2] == [("red", "a"), ("cake", "b")]
    assert "pie" not in text.partition("With")[2]


def test_cells_without_an_axis_of_the_series_are_a_line_of_their_own() -> None:
    cells = (*synthetic.grid(iw=[1, 2]), *synthetic.grid(iw=[1, 2], queue=["pie", "red"]))
    level = {None: 3.0, "pie": 3.0, "red": 9.0}
    data = {(cell.id, "goodput"): [level[cell.axes.get("queue")] + x for x in NOISE] for cell in cells}  # type: ignore[index]
    found = synthetic.make_results(cells, {"goodput": "Mbit/s"}, data)
    assert plain(headline(figure(series=["queue"]), found).shown) == (
        "At iw = 1 and 2, red has the larger goodput (9 against 3 Mbit/s)."
    )


def test_of_three_answers_the_two_with_the_largest_ratio_are_stated() -> None:
    values = {
        (iw, queue, law): 2.0 * (iw == 2 or 0.5) * (5 if queue == "pie" else 1) * (3 if law == "a" else 1)
        for iw in (1, 2)
        for queue in ("red", "pie")
        for law in ("a", "b")
    }
    found = results(cast(Any, values), iw=[1, 2], queue=["red", "pie"], law=["a", "b"])
    text = plain(headline(figure(series=["law", "queue"]), found).shown)
    assert re.findall(r"(pie|a|b|red) has the larger goodput|(rises)", text) == [("pie", ""), ("a", "")]
    assert text.endswith(".") and text.count(". ") == 1


def test_an_open_question_is_left_out_if_another_has_an_answer() -> None:
    values = {(1, "red"): 2.0, (2, "red"): 9.0, (1, "pie"): 2.0, (2, "pie"): 9.0}
    series, queues = figure(series=["queue"]), ["red", "pie"]
    found = headline(series, results(cast(Any, values), iw=[1, 2], queue=queues))
    assert found.shown.startswith("Goodput with queue") and found.by_kernel == 0.0
    open_text = "The runs do not tell which has the larger goodput: "
    assert found.undecided.startswith(open_text)
    values |= {(2, "red"): 2.0, (2, "pie"): 2.0}
    open_ = headline(series, results(cast(Any, values), iw=[1, 2], queue=queues))
    assert open_.shown == "" and open_.undecided.startswith(open_text)
    data = {
        (cell.id, flow): [float(str(cell.axes["iw"])) + x for x in (-0.1, 0.0, 0.1)]
        for cell in synthetic.grid(iw=[1, 2])
        for flow in ("a", "b")
    }
    alike = synthetic.make_results(synthetic.grid(iw=[1, 2]), {"a": "s", "b": "s"}, data)
    assert plain(
        " ".join(headline(figure(quantity=None, quantities=["a", "b"], y_title="delay"), alike)[:2])
    ) == ("Delay of a rises from 1 to 2 s, from iw = 1 to iw = 2. ")
    kernels = {(1, "6.12"): 2.0, (2, "6.12"): 2.0, (1, "7.3"): 3.0, (2, "7.3"): 6.0}
    told = headline(figure(series=["kernel"]), results(cast(Any, kernels), iw=[1, 2], kernel=["6.12", "7.3"]))
    assert told.by_kernel == pytest.approx(3.0)


def test_the_first_figure_that_shows_something_is_stated_with_the_first_open_question() -> None:
    cells = synthetic.grid(iw=[1, 2], queue=["red", "pie"])
    levels = {"flat": (2, 2), "rises": (2, 9), "falls": (9, 2)}
    data = {
        (cell.id, name): [at[int(str(cell.axes["iw"])) - 1] + x for x in (-0.1, 0.0, 0.1)]
        for cell in cells
        for name, at in levels.items()
    }
    found = synthetic.make_results(cells, dict.fromkeys(levels, "s"), data)
    specs = [figure(id=name, quantity=name, series=["queue"]) for name in levels]
    made = first_headline(specs, found)
    assert plain(made.shown).startswith("Rises with queue = red rises from 2 to 9 s")
    assert plain(made.undecided).startswith("The runs do not tell which has the larger flat")
    assert first_headline(specs[:1], found)[:1] == ("",)
    assert first_headline([], found) == Headline()


def test_one_statistic_of_a_measure_is_kept() -> None:
    def known(**within: str) -> dict[str, Quantity]:
        return {
            name: Quantity.model_validate(
                {"name": name, "unit": "s", "metric": "completion_time", "within": how}
            )
            for name, how in within.items()
        }

    spec = figure(quantity=None, quantities=["a", "b", "c"], y_title="delay (s)")
    one = keep_one_statistic(spec, known(a="mean", b="p95", c="p95"))
    assert (one.quantity, one.quantities, one.y_title) == ("a", [], "mean delay (s)")
    two = keep_one_statistic(spec, known(a="p95", b="mean", c="p95"))
    assert (two.quantity, two.quantities, two.y_title) == (None, ["a", "c"], "p95 delay (s)")
    assert keep_one_statistic(spec, known(a="p95", b="p95", c="p95")) is spec
    assert keep_one_statistic(spec, known(a="p95")) is spec and keep_one_statistic(spec, {}) is spec
    untitled = figure(quantity=None, quantities=["a", "b"])
    assert keep_one_statistic(untitled, known(a="mean", b="p95")).y_title == untitled.y_title


def estimate(k: int, unit: str, number: LineValue) -> Estimate:
    return Estimate("base", f"q{k}", unit, *number.interval)


def a_row(*numbers: LineValue, group: str = "share (%)", units: str = "%", rows: int = 1) -> JudgedTable:
    columns = [Column(heading=f"h{k}", group=group, quantity=f"q{k}") for k in range(len(numbers))]
    made = [
        JudgedCell(
            "t", (), k, "base", f"q{k}", Estimate("base", f"q{k}", units, *one.interval), None, None, None, ""
        )
        for k, one in enumerate(numbers)
    ]
    table = Table(id="t", title="T", rows=[], columns=[*columns, Column(heading="x", quantity="x")])
    return JudgedTable(table, ((),) * rows, (tuple(made),) * rows)


def test_a_study_of_one_cell_is_described_by_the_first_group_of_its_row() -> None:
    assert headline_of_row(a_row(around(7), around(3))).shown == "h0 has the larger share (7 against 3 %)."
    three = headline_of_row(a_row(around(5), around(5), around(5)))
    open_text = "The runs do not tell which has the largest share: the 95 % intervals overlap"
    assert three.undecided == f"{open_text} (h0 5 %, h1 5 %, h2 5 %)."
    assert headline_of_row(a_row(around(9), around(2), group="timeouts", units="timeouts")).shown == (
        "h0 has the larger number of timeouts (9 against 2)."
    )
    for none in (
        a_row(around(7)), a_row(around(7), SINGLE), a_row(around(7), around(3), group=""),
        a_row(around(7), around(3), rows=2),
    ):  # fmt: skip
        assert not any(headline_of_row(none))
    mixed = a_row(around(1), around(7), around(3))
    first, *more = mixed.spec.columns
    columns = [first.model_copy(update={"group": "other"}), *more]
    spec = mixed.spec.model_copy(update={"columns": columns})
    assert not any(headline_of_row(mixed._replace(spec=spec)))
    table = a_row(around(7), around(3))
    (row,) = table.cells
    other = row[1]._replace(estimate=estimate(1, "s", around(3)))
    assert not any(headline_of_row(table._replace(cells=((row[0], other),))))
    assert not any(headline_of_row(table._replace(cells=((row[0], row[1]._replace(estimate=None)),))))


def judged(claims: list[Any], source: str = "", grids: Any = (), found: Any = None) -> Any:
    outputs = SimpleNamespace(quantities={}, source=source)
    return SimpleNamespace(claims=claims, outputs=outputs, grids=grids, results=found)


def test_claims_are_the_finding_of_a_paper_and_of_what_shows_nothing_else() -> None:
    claim = SimpleNamespace(verdict=HOLDS, claim=SimpleNamespace(id="a", cause=""))
    holds = ("The one claim that could be checked holds.", "")
    shows = results({(1,): 5.0, (2,): 9.0}, iw=[1, 2])
    grid = [a_row(around(7), around(3))]
    assert state_finding(judged([claim], "A memo", found=shows), [figure()]) == holds
    shown, undecided = state_finding(judged([claim], found=shows), [figure()])
    assert shown.startswith("Goodput rises") and undecided == ""
    assert state_finding(judged([claim]), []) == holds
    assert state_finding(judged([claim], grids=grid), [])[0] == "h0 has the larger share (7 against 3 %)."
    assert (
        state_finding(judged([], "A memo", grids=grid), [])[0] == "h0 has the larger share (7 against 3 %)."
    )
    assert state_finding(judged([]), []) == ("", "")
    open_ = [a_row(around(5), around(5))]
    assert state_finding(judged([claim], grids=open_), [])[1].startswith("The runs do not tell which")
