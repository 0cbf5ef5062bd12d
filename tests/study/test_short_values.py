"""Values of short forms: names on an axis, and what is computed from values that may change."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study import short_values
from cwndlab.study.short_values import value_labels

STEPS = {"at": {"0s": "10Mbps", "5s": "2Mbps"}}


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["10Mbps", "20Mbps"], ["10Mbps", "20Mbps"]),
        ([STEPS, "10Mbps"], ["10Mbps to 2Mbps", "10Mbps"]),
        ([{**STEPS, "repeat": "9s"}], ["10Mbps to 2Mbps every 9s"]),
        ([{"trace": "a"}, {"trace": "b"}], ["a", "b"]),
        ([{"kind": "codel"}, {"kind": "red"}], ["codel", "red"]),
        ([{"kind": "codel", "limit": 9}, {"kind": "codel", "ecn": True}], ["codel", "codel ecn"]),
        ([{"kind": "red", "min": 5}, {"kind": "red", "min": 9}], ["red min 5", "red min 9"]),
        ([{"kind": "red"}, {"kind": "red"}, {"kind": "codel"}], ["red 1", "red 2", "codel"]),
        ([{"kind": "tbf", "queue": {"kind": "red"}}, {"kind": "red"}], ["red 1", "red 2"]),
        ([{"kind": "red", "limit": 1}, {"kind": "red", "limit": 2}], ["red 1", "red 2"]),
        ([STEPS, dict(STEPS)], ["10Mbps to 2Mbps 1", "10Mbps to 2Mbps 2"]),
        (["a", "a"], ["a 1", "a 2"]),
    ],
)
def test_values_of_an_axis_have_names_of_their_own(values: list[Any], labels: list[str]) -> None:
    assert value_labels(values) == labels


@pytest.mark.parametrize(
    ("rtts", "longest"),
    [([7, 9, 8], 9), ([7, [3, 12], 8], 12), ([7, {"at": {}}], None), ([7, [3, {"at": {}}]], None)],
)
def test_the_longest_round_trip_is_known_if_none_changes(rtts: list[Any], longest: int | None) -> None:
    assert short_values.longest_round_trip(rtts) == longest


@pytest.mark.parametrize(
    ("rtt", "half"),
    [
        (40_000_000, "20ms"),
        (1_000_001, "500us"),
        ({"trace": "d", "interval": "1s"}, {"trace": "d", "interval": "1s", "factor": 0.5}),
        ({"trace": "d", "factor": 3}, {"trace": "d", "factor": 1.5}),
        ({"trace": "d", "factor": True}, {"trace": "d", "factor": True}),
        (
            {"at": {"0s": "40ms", "5s": "90ms"}, "repeat": "9s"},
            {"at": {"0s": "20ms", "5s": "45ms"}, "repeat": "9s"},
        ),
    ],
)
def test_each_direction_has_half_of_a_round_trip(rtt: Any, half: Any) -> None:
    assert short_values.halve_round_trip(rtt, ("rtt",)) == half


@pytest.mark.parametrize(
    ("rate", "highest"),
    [
        (800, 800),
        ({"at": {"0s": "1kbps", "1s": "3kbps", "2s": "0bps"}}, 3000),
        ({"at": {"0s": "0bps"}}, 0),
        ({"at": {}}, 0),
        ({"at": "0s"}, 0),
        ({"at": {"0s": "fast"}}, 0),
        ({"trace": "t"}, 0),
    ],
)
def test_the_highest_rate_is_that_of_all_steps(rate: Any, highest: int) -> None:
    assert short_values.highest_rate(rate) == highest


@pytest.mark.parametrize(
    ("shaper", "queue", "table"),
    [
        (None, {"kind": "red"}, {"kind": "red"}),
        ({"kind": "tbf"}, {"kind": "drop-tail", "limit": 9}, {"kind": "tbf", "limit": 9}),
        ({"kind": "tbf"}, {"kind": "red", "limit": 9}, {"kind": "tbf", "queue": {"kind": "red", "limit": 9}}),
        (
            {"kind": "tbf"},
            {"kind": "drop-tail", "limit": 9, "ecn": True},
            {"kind": "tbf", "queue": {"kind": "drop-tail", "limit": 9, "ecn": True}},
        ),
    ],
)
def test_a_shaper_keeps_a_plain_fifo_itself(shaper: Any, queue: Any, table: Any) -> None:
    assert short_values.with_shaper(shaper, queue) == table


@pytest.mark.parametrize(("value", "shown"), [(2.0, "2BDP"), (0.1 + 0.2, "0.3BDP"), ("60kB", "60kB")])
def test_a_buffer_is_written_without_the_errors_of_its_arithmetic(value: Any, shown: str) -> None:
    assert short_values.limit_text(value) == shown
    if not isinstance(value, str):
        assert isinstance(short_values.tidy(value), int) is (value == 2.0)


def test_names_of_axes_have_no_signs() -> None:
    assert short_values.own_name("a-b+c_d") == "a_b_c_d"


def test_a_step_of_a_round_trip_that_is_no_time_is_an_error_at_its_place() -> None:
    steps = {"0s": "40ms", "5s": "80ms"}
    assert short_values.round_trip_steps({"at": steps}, ("rtt",)) == steps
    with pytest.raises(StudyError, match='"abc" is not a time') as caught:
        short_values.round_trip_steps({"at": steps | {"9s": "abc"}}, ("rtt",))
    assert caught.value.path == ("rtt", "at", "9s")
    for rtt in ({}, {"at": "0s"}, {"at": {"1s": "40ms"}}):
        with pytest.raises(StudyError, match="the times from which each value holds are missing"):
            short_values.round_trip_steps(rtt, ("rtt",))


@pytest.mark.parametrize("kind", ["codel", "drop-on-full", "drop-tail", "pie"])
def test_only_drop_tail_is_replaced_by_the_fifo_of_a_shaper(kind: str) -> None:
    queue = {"kind": kind, "limit": "9pkt"}
    made = short_values.with_shaper({"kind": "tbf"}, queue)
    assert made == {"kind": "tbf"} | ({"limit": "9pkt"} if kind == "drop-tail" else {"queue": queue})
