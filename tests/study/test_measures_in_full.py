"""What each entry of `measure` stands for: quantities, tables and figures, with their titles and limits."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study.measures import Flows, Measured, figures, make_quantities, nearest_metric, tables

TWO = Flows({"cubic": None, "web": "page"}, ["left>right"])
AT = ("measure", 0)


def made(name: str, flows: Flows = TWO) -> list[tuple[str, dict[str, Any]]]:
    """The heading of each column, and its quantity."""
    group = make_quantities(name, flows, AT)
    return list(zip(group.headings, group.quantities, strict=True))


def test_a_measure_of_flows_has_a_quantity_for_each_group() -> None:
    assert made("share") == [
        (
            name,
            {
                "name": f"share_{name}",
                "title": f"share of the goodput, {name}",
                "metric": "share",
                "options": {"traffic": name},
                "unit": "%",
            },
        )
        for name in ("cubic", "web")
    ]
    alone = make_quantities("goodput", Flows({"my-flow": None}, []), AT)
    assert (alone.title, alone.unit, alone.headings) == ("goodput", "Mbit/s", ["my-flow"])
    assert alone.quantities == [
        {
            "name": "goodput",
            "title": "goodput, my-flow",
            "metric": "goodput",
            "options": {"traffic": "my-flow"},
            "unit": "Mbit/s",
        }
    ]


def test_a_measure_of_the_bottleneck_has_its_parts_and_names_the_link_only_if_there_are_several() -> None:
    assert made("queue_delay") == [
        (
            part,
            {
                "name": f"queue_delay_{part}",
                "title": f"queueing delay, {part}",
                "metric": "queue_delay",
                "options": {"link": "left>right"},
                "within": part,
                "unit": "ms",
            },
        )
        for part in ("mean", "p95", "p99")
    ]
    both = made("drop_rate", TWO._replace(bottlenecks=["a>b", "b>a"]))
    assert [(heading, quantity["name"], quantity["title"]) for heading, quantity in both] == [
        ("a>b", "drop_rate_a_b", "packets dropped, a>b"),
        ("b>a", "drop_rate_b_a", "packets dropped, b>a"),
    ]
    # Without a bottleneck, the metric chooses the link.
    assert made("drop_rate", TWO._replace(bottlenecks=[])) == [
        ("", {"name": "drop_rate", "title": "packets dropped", "metric": "drop_rate", "unit": "%"})
    ]


def test_a_measure_of_the_run_has_no_options_and_no_unit_if_it_is_a_plain_number() -> None:
    assert made("jain_index") == [
        ("", {"name": "jain_index", "title": "Jain's index", "metric": "jain_index"})
    ]


def test_a_backlog_of_several_lines_is_no_delay() -> None:
    several = TWO._replace(several_lines=True)
    assert [quantity["title"] for _, quantity in made("queue_delay", several)] == [
        "backlog over rate, mean",
        "backlog over rate, p95",
        "backlog over rate, p99",
    ]
    assert make_quantities("drop_rate", several, AT).title == "packets dropped"


def test_completion_times_are_of_flows_that_end_by_the_kind_of_their_objects() -> None:
    (first, *others) = made("completion_time")
    assert first == (
        "web, median",
        {
            "name": "completion_time_median",
            "title": "completion time, web, median",
            "metric": "completion_time",
            "options": {"traffic": "web", "kind": "page"},
            "within": "median",
            "unit": "s",
        },
    )
    assert [heading for heading, _ in others] == ["web, mean", "web, p95", "web, p99"]
    files = made("completion_time", Flows({"a": "file", "b": "file"}, []))
    assert [quantity["name"] for _, quantity in files[::4]] == [
        "completion_time_a_median",
        "completion_time_b_median",
    ]
    assert files[0][1]["options"] == {"traffic": "a"}
    with pytest.raises(StudyError) as error:
        make_quantities("completion_time", Flows({"cubic": None}, []), AT)
    assert error.value.path == AT
    assert error.value.problem == "the flows have no end, so they have no completion time"
    assert error.value.right == 'give flows a size, bytes = "1MB", or an app'


@pytest.mark.parametrize(("round_trip", "unit"), [(10_000_000, "ms"), (10_000_001, "s"), (None, "s")])
def test_times_are_in_milliseconds_where_no_round_trip_is_longer_than_10_ms(
    round_trip: int | None, unit: str
) -> None:
    flows = Flows({"web": "page"}, [], round_trip=round_trip)
    assert {quantity["unit"] for _, quantity in made("completion_time", flows)} == {unit}
    assert make_quantities("goodput", flows, AT).unit == "Mbit/s"


def test_other_metrics_are_of_flows_of_the_bottleneck_or_of_the_run_by_their_options() -> None:
    assert [heading for heading, _ in made("retransmits")] == ["cubic", "web"]
    # A list is reduced to its mean, which needs no word.
    (queue,) = made("queue_length")
    assert queue[0] == "" and queue[1]["within"] == "mean" and queue[1]["options"] == {"link": "left>right"}
    assert queue[1]["title"] == "queue length"
    # A metric's own name gives what its measure is made of, under that name.
    (used,) = made("link_utilization")
    assert (used[1]["name"], used[1]["title"]) == ("link_utilization", "utilization")


def test_an_unknown_measure_is_named_with_what_it_is_called_here() -> None:
    with pytest.raises(StudyError, match='there is no measure or metric "rtt"') as error:
        make_quantities("rtt", TWO, AT)
    assert error.value.right == 'write "round_trip"'
    assert nearest_metric("median_page_delay", []) == 'write "median_delay"'
    assert "goodput" in nearest_metric("goodputt", ["goodput", "share"])


def group(name: str, *headings: str, unit: str = "%") -> Measured:
    quantities = [{"name": f"{name}_{k}"} for k in range(len(headings))]
    return Measured(name, name.replace("_", " "), unit, quantities, list(headings))


def test_nine_columns_are_one_table_and_ten_are_a_table_for_each_measure() -> None:
    many, few = group("loss_rate", *"abcdefgh"), group("jain", "", unit="1")
    (table,) = tables([many, few], {"iw": [1, 2]})
    assert (table["id"], table["title"], table["rows"]) == ("results", "Results", ["iw"])
    assert table["columns"][0] == {"heading": "a", "group": "loss rate (%)", "quantity": "loss_rate_0"}
    assert table["columns"][8] == {"heading": "jain", "quantity": "jain_0"}
    first, second = tables([many, group("jain", "a", "b", unit="1")], {"iw": [1, 2]})
    assert (first["id"], first["title"], len(first["columns"])) == ("loss-rate", "Loss rate", 8)
    assert (second["id"], second["title"], second["rows"]) == ("jain", "Jain", ["iw"])


TITLES = {"iw": "initial window", "cc": "law", "aqm": "queue", "rtt": "round trip"}


def drawn(axes: dict[str, list[Any]], *groups: Measured) -> list[dict[str, Any]]:
    return figures(groups or [group("loss_rate", "")], axes, TITLES)


def test_a_figure_is_along_the_first_numeric_axis_with_lines_and_panels_for_the_next() -> None:
    assert drawn({"cc": ["a", "b"], "iw": [1, 2], "aqm": ["x", "y"], "rtt": [10, 20]}) == [
        {
            "id": "loss-rate-by-iw",
            "title": "Loss rate by initial window, round trip = 10",
            "y_title": "loss rate (%)",
            "quantity": "loss_rate_0",
            "kind": "line",
            "x": "iw",
            "series": ["cc"],
            "panels": "aqm",
            "where": {"rtt": 10},
        }
    ]
    (bars,) = drawn({"cc": ["a", "b"], "aqm": ["x", "y", "z"]})
    assert (bars["kind"], bars["x"], bars["series"]) == ("bar", "aqm", ["cc"]) and "panels" not in bars
    assert drawn({"iw": [1]}) == [] and drawn({}) == []
    (alone,) = drawn({"iw": [1, 2], "cc": ["a"]})
    assert "series" not in alone and "where" not in alone and "log_x" not in alone
    # Truth values are no numbers.
    assert drawn({"iw": [True, False]})[0]["kind"] == "bar"


@pytest.mark.parametrize(
    ("values", "log"), [([1, 8], False), ([1, 9], True), ([0, 9], False), ([0.5, 2, 4.5], True)]
)
def test_an_axis_over_more_than_a_factor_of_8_is_logarithmic(values: list[float], log: bool) -> None:
    (figure,) = drawn({"iw": values})
    assert figure.get("log_x", False) is log


def test_more_than_five_lines_are_a_panel_for_each_quantity() -> None:
    both = group("goodput", "a", "b")
    assert "panels" not in drawn({"iw": [1, 2], "cc": ["a", "b"]}, both)[0]
    (split,) = drawn({"iw": [1, 2], "cc": ["a", "b", "c"]}, both)
    assert split["panels"] == "quantity" and split["quantities"] == ["goodput_0", "goodput_1"]
    five = drawn({"iw": [1, 2], "cc": ["a", "b", "c", "d", "e", "f"]}, group("goodput", "a"))
    assert "panels" not in five[0]
    many = drawn({"iw": [1, 2]}, group("goodput", *"abcdef"))
    assert "panels" not in many[0]
    axes = {"iw": [1, 2], "cc": ["a", "b", "c"], "aqm": ["x", "y"]}
    assert [(f["id"], f["title"], f["quantity"], f["panels"]) for f in drawn(axes, both)] == [
        ("goodput-0-by-iw", "Goodput by initial window: a", "goodput_0", "aqm"),
        ("goodput-1-by-iw", "Goodput by initial window: b", "goodput_1", "aqm"),
    ]


def test_of_two_shares_next_to_an_axis_the_first_is_drawn() -> None:
    shares = group("share", "a", "b")
    (one,) = drawn({"iw": [1, 2], "cc": ["a", "b"]}, shares)
    assert one["quantity"] == "share_0" and one["title"] == "Share by initial window: a"
    (both,) = drawn({"iw": [1, 2]}, shares)
    assert both["quantities"] == ["share_0", "share_1"] and both["title"] == "Share by initial window"
    (three,) = drawn({"iw": [1, 2], "cc": ["a", "b"]}, group("share", "a", "b", "c"))
    assert len(three["quantities"]) == 3
