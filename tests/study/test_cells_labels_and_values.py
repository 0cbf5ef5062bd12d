"""Cells by their axes, labels with their defaults, and values of axes as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import ANY
from cwndlab.study import short_values, values
from cwndlab.study.base import Drawn
from cwndlab.study.cells import CellInfo, Cells, NotRunError, is_name, was_not_run
from cwndlab.study.changes import (
    DelaySteps,
    DelayTrace,
    LossSteps,
    RateSteps,
    capacity,
    parse_loss,
    propagation,
)
from cwndlab.study.labels import AxisInfo, Labels, QuantityInfo
from cwndlab.study.network_form import MAX_RATE

LABELS = Labels(
    {"goodput": QuantityInfo("kbit/s", "goodput of all")},
    {"iw": AxisInfo("initial window", "packets", {"4": "four"}), "cc": AxisInfo(), "seen": AxisInfo()},
)
CELLS = Cells(
    (
        CellInfo("a", {"iw": 1, "cc": "reno"}),
        CellInfo("b", {"iw": 4.0, "cc": "reno"}),
        CellInfo("c", {"iw": 1, "cc": "cubic"}),
        CellInfo("d", {"iw": 1, "cc": "cubic", "on": True}),
    ),
    LABELS,
)


def ids(cells: list[CellInfo]) -> str:
    return "".join(cell.id for cell in cells)


def test_axes_and_values_are_in_the_order_of_the_cells() -> None:
    assert CELLS.axes == {"iw": [1, 4.0], "cc": ["reno", "cubic"], "on": [True]}
    assert CELLS.axis_value("iw", "4") == 4.0 and CELLS.axis_value("iw", "7") == "7"
    assert CELLS.value_with_label("on", "true") is True and CELLS.value_with_label("iw", "7") is None
    assert ids(CELLS.with_ids(["c", "x", "a", "c"])) == "ac"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, "abcd"),
        ({"iw": 1}, "acd"),
        ({"iw": "4"}, "b"),
        ({"iw": [4, 1], "cc": "reno"}, "ab"),
        ({"on": True}, "d"),
        ({"on": True, "cc": "cubic", "iw": 1}, "d"),
        ({"iw": 4, "cc": "cubic"}, ""),
        ({"iw": 7}, ""),
    ],
)
def test_cells_are_selected_by_all_their_axes(where: dict[str, Any], found: str) -> None:
    assert ids(CELLS.cells_at(where)) == found
    if where.get("iw") != 7:
        assert ids(CELLS.select(where)) == found


def test_the_one_cell_of_a_selection_is_that_without_other_axes() -> None:
    one, none = CELLS.find({"iw": 1, "cc": "cubic"}), CELLS.find({"iw": 4, "cc": "cubic"})
    assert one is not None and one.id == "c" and none is None
    with pytest.raises(StudyError) as error:
        CELLS.find({"iw": 1})
    assert error.value.problem == "3 cells match (iw=1)" and error.value.right == "fix cc and on too"
    with pytest.raises(StudyError) as error:
        CELLS.find({})
    assert error.value.problem == "4 cells match (no axis fixed)"
    with pytest.raises(StudyError) as error:
        Cells(CELLS.cells[:2]).find({"iw": [1, 4], "cc": "reno"})
    assert error.value.right == "fix each axis to one value"


def test_what_was_not_run_differs_from_what_the_study_lacks() -> None:
    for where, kind, problem, right in (
        ({"iw": 7}, NotRunError, "axis 'iw' has no value 7", "known: 1, 4.0"),
        ({"seen": 1}, NotRunError, "no axis 'seen'", "known: iw, cc, on"),
        ({"other": 1}, StudyError, "no axis 'other'", "known: iw, cc, on"),
        ({"iw": 4, "cc": "cubic"}, NotRunError, "the study has no cell iw=4, cc=cubic", None),
    ):
        with pytest.raises(StudyError) as error:
            CELLS.only_cell(where)
        assert (type(error.value), error.value.problem, error.value.right) == (kind, problem, right)
    missing = NotRunError("x")
    caused = StudyError("y")
    caused.__cause__ = missing
    during = StudyError("z")
    during.__context__ = caused
    assert all(map(was_not_run, (missing, caused, during)))
    assert not was_not_run(StudyError("x")) and not was_not_run(None)


def test_a_cell_is_called_by_the_axes_that_vary() -> None:
    assert CELLS.cell_title(CELLS.cells[1]) == "initial window: four packets, cc: reno"
    one = Cells((CellInfo("a", {"iw": 1}),), LABELS)
    assert one.cell_title(one.cells[0]) == "initial window: 1 packet"
    assert Cells((CellInfo("", {}),)).cell_title(CellInfo("", {})) == "the only cell"


def test_labels_without_titles_are_the_names_and_their_defaults() -> None:
    assert QuantityInfo() == ("", "", ANY, "mean", (), False, False, None)
    assert (LABELS.title("iw"), LABELS.plain_title("iw")) == ("initial window (packets)", "initial window")
    assert (LABELS.title("goodput"), LABELS.title("no_such")) == ("goodput of all", "no such")
    assert (LABELS.unit("goodput"), LABELS.axis_unit("iw"), LABELS.axis_unit("x")) == (
        "kbit/s",
        "packets",
        "",
    )
    assert LABELS.setting("iw", 1, 4, 8) == "initial window: 1, four and 8 packets"
    assert LABELS.setting("iw", 1) == "initial window: 1 packet"
    assert Labels(axes={"t": AxisInfo(unit="ms")}).setting("t", 1) == "t: 1 ms"
    assert Labels(axes={"t": AxisInfo(unit="dogs")}).setting("t", 1) == "t: 1 dog"
    assert LABELS.setting("cc", True) == "cc: true"
    assert not LABELS.source_paired and LABELS.flows == () and LABELS.cells == {}
    with pytest.raises(StudyError, match="no quantity 'goodputs'"):
        LABELS.unit("goodputs")


def test_names_have_no_order_and_numbers_with_units_have() -> None:
    assert [is_name(value) for value in ("reno", "10ms", "", 3, True, 1.5)] == [
        *(True, False, True, False, False, False)
    ]


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (slice(2, 4), [2, 3.5, 4]),
        (slice(None, 2), [1, 2]),
        (slice(4, None), [4, 8]),
        (slice("3Mbps", "8000kbps"), [3.5, 4, 8]),
        ([1, 9], [1, 9]),
        ("x", ["x"]),
    ],
)
def test_a_slice_selects_numbers_with_both_its_ends(wanted: Any, chosen: list[Any]) -> None:
    assert values.select_values(wanted, [1, 2, 3.5, 4, 8, "x"], "Mbit/s") == chosen


@pytest.mark.parametrize("wanted", [slice("a", 3), slice(1, "b"), slice(1, 3, 1)])
def test_a_slice_without_numbers_or_with_a_step_selects_nothing(wanted: slice) -> None:
    with pytest.raises(StudyError) as error:
        values.select_values(wanted, [1], None)
    assert error.value.problem == f"{wanted} selects nothing"
    assert error.value.right == "a slice has numbers as its ends, and no step"


def test_values_are_found_as_they_are_written() -> None:
    assert values.find_value("10Mbps", [5, 10], "Mbit/s") == 10
    assert values.find_value("10.0", [5, 10], None) == 10 and values.find_value("11", [5, 10], None) is None
    assert values.parse("41ms", "s") == ("0.041", 0.041) and values.parse("41 ms", None)[0] == "41 ms"
    assert values.parse("2 apples", "s") == ("2 apples", "2 apples")
    assert values.parse(" true ", None) == ("true", True)
    assert [values.label(value) for value in (1, 1.0, "1", True, 1.5)] == ["1", "1", "1", "true", "1.5"]
    assert values.toml_value("a\nb") == "a\nb" and values.toml_value("[1]") == [1]


@pytest.mark.parametrize(("rtt", "fits"), [((1 << 31) * 1000, True), ((1 << 31) * 1000 + 1, False)])
def test_a_round_trip_lasts_at_most_half_of_the_clock_of_timestamps(rtt: int, fits: bool) -> None:
    if fits:
        short_values.check_round_trip([5, rtt], ("rtt",))
        return
    with pytest.raises(StudyError) as error:
        short_values.check_round_trip(rtt, ("rtt",))
    assert error.value.problem == "a round trip of 35.7914 min is longer than TCP can measure"
    assert (error.value.path, error.value.right) == (("rtt",), "at most 35 min")


def test_the_fastest_link_has_400_gbps() -> None:
    assert MAX_RATE == 400_000_000_000


def test_a_drawn_start_lies_in_its_interval_in_seconds() -> None:
    assert Drawn(uniform=["500ms", "2s"]).seconds == (0.5, 2.0)
    for ends in (["1s", "1s"], ["2s", "1s"]):
        with pytest.raises(Exception, match="this interval ends before it begins"):
            Drawn(uniform=ends)


@pytest.mark.parametrize(("given", "share"), [("0%", 0.0), ("100%", 1.0), ("2.5%", 0.025)])
def test_a_loss_is_a_percentage(given: str, share: float) -> None:
    assert parse_loss(given) == share


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (0.02, '0.02 is not a percentage of packets; write "2%"'),
        (1, '1 is not a percentage of packets; write "100%"'),
        ("101%", "'101%' is more than all packets; write at most 100%"),
        ("2", "'2' is not a valid percentage; write it in quotes, like \"2%\""),
        (True, 'True is not a valid percentage; write it in quotes, like "2%"'),
    ],
)
def test_what_is_no_percentage_of_packets_is_reported(given: object, problem: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_loss(given)
    assert str(error.value) == problem


def test_steps_begin_at_0_and_rise_and_repeat_after_the_last() -> None:
    for at, repeat, problem in (
        ({"1s": "1Mbps"}, None, 'the first time must be "0s"'),
        ({"0s": "1Mbps", "2s": "2Mbps", "1s": "3Mbps"}, None, "the times must rise"),
        ({"0s": "1Mbps", "2s": "2Mbps", "2000ms": "3Mbps"}, None, "the times must rise"),
        ({"0s": "1Mbps", "2s": "2Mbps"}, "2s", "`repeat` must be later than the last time"),
    ):
        with pytest.raises(Exception, match=problem):
            RateSteps.model_validate({"at": at, **({"repeat": repeat} if repeat else {})})
    steps = RateSteps.model_validate({"at": {"0s": "1Mbps", "2s": "0bps"}, "repeat": "2001ms"})
    assert (steps.times, steps.values, steps.repeat) == ([0, 2 * 10**9], [10**6, 0], 2_001_000_000)
    losses = LossSteps.model_validate({"at": {"0s": "0%", "1s": "5%"}, "repeat": "2s"}).impairment()
    assert losses == {"kind": "loss-steps", "at_ns": [0, 10**9], "p": [0.0, 0.05], "repeat_ns": 2 * 10**9}
    once = LossSteps.model_validate({"at": {"0s": "1%"}}).impairment()
    assert once == {"kind": "loss-steps", "at_ns": [0], "p": [0.01]}


def rate(down: list[tuple[int, int]], given: Any = 1000, folder: Path | None = None) -> Any:
    return capacity(given, down, folder, ("link",), ("link", "down"))


def test_a_rate_pauses_while_the_link_is_down() -> None:
    assert rate([]) == (1000, None)
    steps = {"kind": "steps", "at_ns": [0, 5, 9], "rates_bps": [1000, 0, 1000]}
    assert rate([(5, 9)]) == (1000, steps)
    # Pauses that overlap are one, and a rate that changes in a pause holds after it.
    changing = RateSteps.model_validate({"at": {"0s": "1000bps", "6ns": "500bps"}})
    assert rate([(5, 8), (7, 9)], changing)[1] == steps | {"rates_bps": [1000, 0, 500]}
    late = RateSteps.model_validate({"at": {"0s": "0bps", "6ns": "500bps"}})
    assert rate([], late) == (500, {"kind": "steps", "at_ns": [0, 6], "rates_bps": [0, 500]})
    for down, problem in (([(9, 9)], "an interval ends before it begins"), ([(9, 5)], "an interval ends")):
        with pytest.raises(StudyError, match=problem) as error:
            rate(down)
        assert error.value.path == ("link", "down")
    with pytest.raises(StudyError, match="these times would have to repeat, too"):
        rate([(1, 2)], RateSteps.model_validate({"at": {"0s": "1bps"}, "repeat": "1s"}))
    with pytest.raises(StudyError, match="all rates are 0") as zero:
        rate([], RateSteps.model_validate({"at": {"0s": "0bps"}}))
    assert zero.value.path == ("link", "rate", "at")


def test_a_delay_that_changes_is_its_least_and_what_is_beyond(tmp_path: Path) -> None:
    steps = DelaySteps.model_validate({"at": {"0s": "5ns", "2ns": "3ns", "4ns": "9ns"}, "keep_order": True})
    changed = propagation(steps, None, ("link",))
    assert (changed.first_ns, changed.least_ns) == (5, 3)
    assert changed.impairment == {
        **{"kind": "delay-steps", "at_ns": [0, 2, 4], "extra_ns": [2, 0, 6]},
        "keep_order": True,
    }
    assert propagation(7, None, ()) == (7, 7, None)
    (tmp_path / "d.txt").write_text("2\n2\n1.5\n2\n")
    trace = DelayTrace.model_validate({"trace": "d.txt", "interval": "10ms", "factor": 0.5})
    read = propagation(trace, tmp_path, ("link",))
    assert (read.first_ns, read.least_ns) == (1_000_000, 750_000)
    assert read.impairment == {
        "kind": "delay-steps",
        "at_ns": [0, 20_000_000, 30_000_000],
        "extra_ns": [250_000, 0, 250_000],
        "repeat_ns": 40_000_000,
        "keep_order": False,
    }


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1\n3\n2\n", 3, "2 comes after 3"),
        ("1\nx\n", 2, "'x' is no time"),
        ("1\n1234567890123\n", 2, "'1234567890123' is no time"),
        ("²\n", 1, "'²' is no time"),
        ("", None, "the trace lasts for no time"),
        ("0\n0\n", None, "the trace lasts for no time"),
    ],
)
def test_a_wrong_line_of_a_delivery_trace_is_named(
    tmp_path: Path, text: str, line: int | None, problem: str
) -> None:
    from cwndlab.study.changes import RateTrace

    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(StudyError) as error:
        rate([], RateTrace(trace="t.txt"), tmp_path)
    where = "" if line is None else f"line {line}: "
    assert error.value.problem == f"t.txt: {where}{problem}"
    assert error.value.path == ("link", "rate", "trace")
    assert error.value.right == "a trace has a whole number of milliseconds on each line, never falling"


def test_a_delivery_trace_has_its_mean_rate_of_packets_of_1500_bytes(tmp_path: Path) -> None:
    from cwndlab.study.changes import RateTrace

    (tmp_path / "t.txt").write_text("0\n5\n5\n123456789012\n")
    assert rate([], RateTrace(trace="t.txt"), tmp_path)[0] == 8  # the least rate
    (tmp_path / "u.txt").write_text("1\n5\n10\n")
    found = rate([], RateTrace(trace="u.txt"), tmp_path)
    assert found == (3_600_000, {"kind": "deliveries", "at_ms": [1, 5, 10]})
    with pytest.raises(StudyError, match="a trace has its pauses in it"):
        rate([(1, 2)], RateTrace(trace="u.txt"), tmp_path)
