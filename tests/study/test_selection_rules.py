"""How cells are selected, what their axes and quantities are called, and how values of axes are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study.cells import CellInfo, Cells, NotRunError, is_name, was_not_run
from cwndlab.study.labels import AxisInfo, Labels, QuantityInfo
from cwndlab.study.values import (
    as_list,
    find_value,
    is_among,
    label,
    parse,
    same_value,
    select_values,
    toml_value,
)

LABELS = Labels(
    {
        "goodput": QuantityInfo("Mbit/s", "goodput of bulk"),
        "loss": QuantityInfo("%"),
        "jain": QuantityInfo("1"),
    },
    {
        "iw": AxisInfo("initial window", "packets"),
        "cc": AxisInfo("", "", {"bbr": "BBR", "1": "one"}),
        "rtt": AxisInfo("round trip", "ms"),
        "unused": AxisInfo(),
    },
)
CELLS = Cells(
    (
        CellInfo("iw=1,cc=reno", {"iw": 1, "cc": "reno"}),
        CellInfo("iw=1,cc=bbr", {"iw": 1, "cc": "bbr"}),
        CellInfo("iw=4,cc=reno", {"iw": 4.0, "cc": "reno"}),
        CellInfo("iw=4,cc=reno,rtt=10", {"iw": 4, "cc": "reno", "rtt": 10}),
    ),
    LABELS,
)


def names(cells: list[CellInfo]) -> list[str]:
    return [cell.id for cell in cells]


def test_the_values_of_an_axis_come_in_the_order_of_the_cells_each_once() -> None:
    assert CELLS.axes == {"iw": [1, 4.0], "cc": ["reno", "bbr"], "rtt": [10]}
    assert CELLS.values_on("cc") == ["reno", "bbr"]


def test_an_axis_of_the_study_without_cells_was_not_run_and_any_other_does_not_exist() -> None:
    with pytest.raises(NotRunError, match="no axis 'unused'"):
        CELLS.values_on("unused")
    with pytest.raises(StudyError, match=r"no axis 'iww'.*did you mean .iw.") as found:
        CELLS.values_on("iww")
    assert not isinstance(found.value, NotRunError)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, [0, 1, 2, 3]),
        ({"iw": 1}, [0, 1]),
        ({"iw": "4"}, [2, 3]),
        ({"iw": [4, 1], "cc": "reno"}, [0, 2, 3]),
        ({"rtt": 10}, [3]),
        ({"iw": 4, "cc": "reno", "rtt": 10}, [3]),
        ({"iw": 4, "cc": "bbr"}, []),
    ],
)
def test_cells_are_selected_by_their_axes_in_their_own_order(where: dict[str, Any], found: list[int]) -> None:
    assert names(CELLS.select(where)) == [CELLS.cells[at].id for at in found]
    assert CELLS.cells_at(where) == CELLS.select(where)


def test_a_value_that_no_cell_has_is_named_with_the_nearest() -> None:
    with pytest.raises(NotRunError, match=r"axis 'cc' has no value 'renoo'.*reno"):
        CELLS.select({"cc": ["bbr", "renoo"]})
    assert CELLS.cells_at({"cc": "renoo"}) == []


def test_one_cell_is_found_if_the_axes_say_which_or_it_has_no_others() -> None:
    assert CELLS.find({"iw": 1, "cc": "bbr"}) == CELLS.cells[1]
    assert CELLS.find({"iw": 4, "cc": "reno"}) == CELLS.cells[2], "the other one has an axis more"
    assert CELLS.find({"iw": 4, "cc": "bbr"}) is None
    with pytest.raises(StudyError, match=r"2 cells match \(iw=1\).*fix cc too"):
        CELLS.find({"iw": 1})
    with pytest.raises(StudyError, match=r"4 cells match \(no axis fixed\).*fix iw and cc and rtt too"):
        CELLS.find({})
    with pytest.raises(StudyError, match=r"2 cells match .*fix each axis to one value"):
        Cells(CELLS.cells[:2]).find({"iw": 1, "cc": ["reno", "bbr"]})


def test_the_only_cell_must_have_been_run() -> None:
    assert CELLS.only_cell({"rtt": 10}).id == "iw=4,cc=reno,rtt=10"
    with pytest.raises(NotRunError, match="the study has no cell iw=4, cc=bbr"):
        CELLS.only_cell({"iw": 4, "cc": "bbr"})
    with pytest.raises(NotRunError, match="axis 'iw' has no value 2"):
        CELLS.only_cell({"iw": 2, "cc": "bbr"})


def test_cells_are_found_by_their_ids_and_values_by_their_labels() -> None:
    assert names(CELLS.with_ids(["iw=4,cc=reno", "none", "iw=1,cc=reno"])) == ["iw=1,cc=reno", "iw=4,cc=reno"]
    assert (CELLS.value_with_label("iw", "4"), CELLS.value_with_label("iw", "5")) == (4.0, None)
    assert (CELLS.axis_value("iw", "4"), CELLS.axis_value("iw", "x"), CELLS.axis_value("no", "1")) == (
        4.0,
        "x",
        "1",
    )


def test_a_cell_is_called_by_the_axes_that_vary() -> None:
    assert CELLS.cell_title(CELLS.cells[1]) == "initial window: 1 packet, cc: BBR"
    assert CELLS.cell_title(CELLS.cells[3]) == "initial window: 4 packets, cc: reno"
    assert Cells(CELLS.cells[3:], LABELS).cell_title(CELLS.cells[3]).endswith("round trip: 10 ms")
    (alone,) = cells = (CellInfo("", {}),)
    assert Cells(cells).cell_title(alone) == "the only cell"


def test_an_error_is_one_of_a_missing_cell_if_another_was_made_from_it() -> None:
    try:
        try:
            raise NotRunError("no")
        except NotRunError as error:
            raise ValueError("of it") from error
    except ValueError as error:
        assert was_not_run(error)
    assert was_not_run(NotRunError("")) and not was_not_run(StudyError("")) and not was_not_run(None)
    assert [is_name(value) for value in ("reno", "10ms", 10, True, "")] == [True, False, False, False, True]


def test_titles_and_settings_have_units_and_names_of_values() -> None:
    assert [LABELS.title(name) for name in ("iw", "cc", "goodput", "loss", "no_such")] == [
        "initial window (packets)", "cc", "goodput of bulk", "loss", "no such",
    ]  # fmt: skip
    assert (LABELS.axis_unit("rtt"), LABELS.axis_unit("goodput")) == ("ms", "")
    assert (LABELS.value_title("cc", 1), LABELS.value_title("cc", True), LABELS.value_title("no", 2)) == (
        "one", "true", "2",
    )  # fmt: skip
    assert LABELS.setting("iw", 1) == "initial window: 1 packet"
    assert LABELS.setting("iw", 1, 2) == "initial window: 1 and 2 packets"
    assert LABELS.setting("rtt", 1) == "round trip: 1 ms", "an abbreviation has no singular"
    assert LABELS.setting("cc", "bbr", "reno", "x") == "cc: BBR, reno and x"
    assert LABELS.settings({"iw": 2, "cc": "bbr"}) == "initial window: 2 packets, cc: BBR"


def test_the_unit_of_a_quantity_that_the_study_lacks_is_an_error_with_the_nearest() -> None:
    assert LABELS.unit("loss") == "%"
    with pytest.raises(StudyError, match=r"no quantity 'los'.*did you mean .loss."):
        LABELS.unit("los")


def test_a_value_has_one_label_however_it_is_written() -> None:
    assert [label(value) for value in (1, 1.0, "1", 1.5, True, "true", "x")] == [
        "1",
        "1",
        "1",
        "1.5",
        "true",
        "true",
        "x",
    ]
    assert same_value(2, "2") and not same_value(2, 2.5) and is_among("1", [1.0]) and not is_among(1, [])


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (1, [1]),
        ("ab", ["ab"]),
        ((1, 2), [1, 2]),
        (np.array([1, 2]), [1, 2]),
        ({"a": 1}, [{"a": 1}]),
        (range(2), [0, 1]),
    ],
)
def test_a_collection_is_a_list_and_anything_else_one_value(value: object, found: list[object]) -> None:
    assert as_list(value) == found


def test_a_slice_includes_both_ends_in_the_axis_unit() -> None:
    known = [5, 10.0, 20, 40, "other"]
    assert select_values(slice(10, 20), known, "ms") == [10.0, 20]
    assert select_values(slice("10ms", None), known, "ms") == [10.0, 20, 40]
    assert select_values(slice(None, "0.01s"), known, "ms") == [5, 10.0]
    assert select_values([5], known, "ms") == [5]
    for wrong in (slice(1, 2, 1), slice("a", None), slice(None, "b")):
        with pytest.raises(StudyError, match=r"selects nothing.*numbers as its ends, and no step"):
            select_values(wrong, known, "ms")


def test_a_value_is_read_in_the_unit_of_its_axis() -> None:
    assert parse("41ms", "ms") == ("41", 41) and parse("0.041 s", "ms") == ("41", 41)
    assert parse("41ms", None) == ("41ms", "41ms") and parse("41kg", "ms") == ("41kg", "41kg")
    items = (10, "10.0", "10Mbps", "2500 kbps", "reno", 3)
    found = [find_value(item, [10, 2.5, "reno"], "Mbps") for item in items]
    assert found == [10, 10, 10, 2.5, "reno", None]
    assert [toml_value(item) for item in ("1", "true", '"a"', "a", "1\nb = 2", 3, "[1, 2]")] == [
        1, True, "a", "a", "1\nb = 2", 3, [1, 2],
    ]  # fmt: skip
