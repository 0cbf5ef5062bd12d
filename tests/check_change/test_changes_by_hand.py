"""Numbers before and after a change, made by hand: what moved, by how much, and how it is said."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import synthetic
from cwndlab.apps.check_change import command
from cwndlab.apps.check_change.moved_numbers import (
    Change,
    ChangeKind,
    by_size,
    find_changes,
    junit,
    markdown,
    verdict,
)
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.runs.run_options import RunOptions
from cwndlab.stats.intervals import Interval

NAN = math.nan
MOVED, UNDECIDED, UNTESTED = ChangeKind.MOVED, ChangeKind.UNDECIDED, ChangeKind.UNTESTED
WITHIN, EQUAL = ChangeKind.WITHIN, ChangeKind.EQUAL


def compared(before: list[float], after: list[float], margin: float = 0.0) -> Change:
    """The comparison of a quantity whose replicates are these, with the same random numbers."""
    cells = synthetic.grid(buffer=[1])
    (one,) = find_changes(
        "s",
        *(synthetic.make_results(cells, {"x": "ms"}, {(cells[0].id, "x"): runs}) for runs in (before, after)),
        margin,
    )
    return one


@pytest.mark.parametrize(
    ("before", "after", "margin", "kind"),
    [
        ([10, 11, 12], [10, 11, 12], 0.0, EQUAL),
        ([10, 11, 12], [20, 22, 24.2], 0.5, MOVED),
        ([10, 11, 12], [20, 22, 24.2], 1.5, WITHIN),
        ([10, 11, 12], [20, 22, 24.2], 1.0, UNDECIDED),
        ([10, 11, 12], [5, 5.5, 6.1], 0.4, MOVED),
        ([10, 11, 12], [5, 5.5, 6.1], 0.6, WITHIN),
        ([10], [20], 0.0, UNTESTED),
        ([10, 11, 12], [9, 12, 12], 0.0, UNDECIDED),
        ([-10, -11, -12], [-20, -21, -22.1], 0.5, MOVED),
        ([-10, -11, -12], [-20, -21, -22.1], 1.0, WITHIN),
        ([-10, -11, -12], [0, -1, -2.1], 0.5, MOVED),
        ([0, 0, 0], [1, 1.1, 1.2], 5.0, MOVED),
        ([0, 0, 0], [-1, -1.1, -1.2], 5.0, MOVED),
        ([0, 0, 0], [-1, 0, 1.0], 5.0, UNDECIDED),
        ([10, 11, 12], [0, 0, 0], 0.5, MOVED),
        ([10, 11, 12], [0, 0, 0], 1.5, WITHIN),
    ],
)
def test_a_number_moved_if_its_whole_interval_lies_beyond_the_margin(
    before: list[float], after: list[float], margin: float, kind: ChangeKind
) -> None:
    assert compared(before, after, margin).kind is kind


def test_a_change_is_relative_to_the_size_of_the_number_before() -> None:
    assert compared([10, 11, 12], [20, 22, 24]).relative == pytest.approx(1.0)
    negative = compared([-10, -11, -12], [-5, -6, -7.5])
    assert not negative.is_ratio and negative.relative == pytest.approx((11 - 18.5 / 3) / 11)
    assert math.isnan(compared([0, 0, 0], [1, 1, 2]).relative)
    positive = {
        (a, b): compared([a] * 3, [b] * 3).is_ratio for a in (-0.5, 0.0, 0.5) for b in (-0.5, 0.0, 0.5)
    }
    assert [pair for pair, is_ratio in positive.items() if is_ratio] == [(0.5, 0.5)]
    one = compared([10, 11, 12], [20, 22, 24])
    assert (one.study, one.quantity, one.unit, one.before, one.after) == ("s", "x", "ms", 11, 22)


def test_differing_numbers_share_the_five_percent() -> None:
    """With two of them each interval covers 97.5 %; equal ones do not count."""
    cells = synthetic.grid(buffer=[1, 2])
    units = {"x": "ms", "y": "s", "list": "s", "own": "s"}
    names = [(cell.id, name) for cell in cells for name in ("x", "y")]
    runs = {"before": [10.0, 11.0, 12.0], "after": [10.0, 12.0, 12.5]}

    def results(which: str, differing: int) -> Any:
        data: dict[Any, Any] = {key: runs["before"] for key in names}
        data |= {key: runs[which] for key in names[:differing]} | {(cells[0].id, "list"): [[1.0, 2.0]] * 3}
        if which == "after":
            data[cells[0].id, "own"] = [1.0, 2.0, 3.0]
        return synthetic.make_results(cells, units, data)

    def widths(differing: int, *on: str) -> list[float]:
        found = find_changes("s", results("before", differing), results("after", differing), 0.0, on)
        assert all(name.quantity in ("x", "y") for name in found)
        return [one.found.high - one.found.low for one in found if one.kind is not EQUAL]

    (alone,) = widths(1)
    both = widths(2)
    assert len(both) == 2 and both[0] == both[1] > alone
    assert widths(2, "x") == [alone], "those that are not asked for do not count"
    assert compared(runs["before"], runs["after"]).found.high - compared(
        runs["before"], runs["after"]
    ).found.low == pytest.approx(alone)
    with pytest.raises(StudyError, match='the study measures no "z"') as caught:
        widths(1, "x", "z")
    assert (caught.value.key, caught.value.right) == ("--on", "known: x, y, list, own")


def change(
    kind: ChangeKind, ratio: float, name: str = "x", cell: str = "base", study: str = "s", **more: Any
) -> Change:
    found = Interval(ratio, ratio - 0.1, ratio + 0.1, 5, "t")
    made = Change(study, cell, name, "ms", 10.0, 10.0 * ratio, found, True, kind)
    return made._replace(**more)


def test_a_change_is_written_with_its_interval() -> None:
    assert change(MOVED, 1.5).by == "+50 % (+40 % to +60 %)"
    assert change(EQUAL, 1.0).by == "equal"
    assert change(UNTESTED, 1.5, found=Interval(1.5, NAN, NAN, 1, "")).by == "+50 %"
    difference = change(MOVED, 2.0, is_ratio=False, found=Interval(-3.0, -4.0, -2.0, 5, "t"))
    assert difference.by == "−3 ms (−4 to −2)"
    assert difference._replace(found=Interval(-3.0, NAN, NAN, 1, "")).by == "−3 ms"
    assert [change(MOVED, 1.5, cell=cell).name for cell in ("base", "c")] == ["x", "x at c"]


CHANGES = [
    change(WITHIN, 1.01, "a"),
    change(MOVED, 0.5, "b"),
    change(MOVED, 1.8, "c"),
    change(EQUAL, 1.0, "d"),
    change(UNDECIDED, 1.3, "e"),
    change(MOVED, 9.0, "f", is_ratio=False, before=0.0, after=5.0),
    change(UNTESTED, 2.0, "g"),
]


def test_changes_are_listed_by_kind_and_size() -> None:
    assert "".join(one.quantity for one in by_size(CHANGES)) == "fcbega"


@pytest.mark.parametrize(
    ("changes", "margin", "text"),
    [
        ([], 0.0, "No number is sure to have moved: none was compared."),
        (CHANGES[:1], 0.05, "No number is sure to have moved by more than 5 %: 1 within the margin."),
        (
            [change(EQUAL, 1.0)] * 2 + [CHANGES[0], CHANGES[4], CHANGES[6], CHANGES[6]],
            0.0,
            "No number is sure to have moved: 2 equal, 1 within the margin, 1 undecided, "
            "2 with too few runs for a test.",
        ),
        ([CHANGES[1]], 0.05, "b moved by −50 % (−60 % to −40 %), of 1 number."),
        (
            CHANGES[:3],
            0.05,
            "c moved by +80 % (+70 % to +90 %); 1 more moved by more than 5 %, of 3 numbers.",
        ),
        ([CHANGES[1], CHANGES[2]], 0.0, "c moved by +80 % (+70 % to +90 %); 1 more moved, of 2 numbers."),
    ],
)
def test_the_verdict_names_the_largest_change_or_counts_the_numbers(
    changes: list[Change], margin: float, text: str
) -> None:
    assert verdict(changes, margin) == text


def test_the_summary_has_a_row_for_each_number_that_is_not_equal() -> None:
    lines = markdown([CHANGES[1], CHANGES[3], CHANGES[0]], 0.0).splitlines()
    assert lines[:2] == [verdict([CHANGES[1], CHANGES[3], CHANGES[0]], 0.0), ""]
    assert [line.strip("| ") for line in lines[2:]] == [
        "number | before | after | change",
        lines[3].strip("| "),
        "b | 10 ms | 5 ms | −50 % (−60 % to −40 %) | moved",
        "a | 10 ms | 10.1 ms | +1.0 % (−9.0 % to +11 %) | within the margin",
    ]
    two = markdown([CHANGES[1], change(MOVED, 1.3, study="t", unit="")], 0.0).splitlines()
    assert two[2].startswith("| study | number |") and "| t | x | 10 | 13 |" in two[5]
    assert markdown([CHANGES[3]], 0.0) == verdict([CHANGES[3]], 0.0) + "\n"
    many = [change(UNDECIDED, 1.1, f"q{k}") for k in range(90)]
    text = markdown(many, 0.0)
    assert text.count("undecided |") == 40 and text.endswith("\n\n50 more differ.\n")
    assert "more differ" not in markdown(many[:40], 0.0)


def test_junit_has_a_suite_for_each_study_and_fails_for_what_moved() -> None:
    root = ElementTree.fromstring(junit([*CHANGES, change(EQUAL, 1.0, "x", "c", "t")], 0.05))
    first, second = root
    assert root.tag == "testsuites"
    assert first.attrib == {"name": "s", "tests": "7", "failures": "3", "skipped": "2"}
    assert second.attrib == {"name": "t", "tests": "1", "failures": "0", "skipped": "0"}
    assert second[0].attrib == {"classname": "t", "name": "x at c"}
    marks = {case.get("name"): [(one.tag, one.get("message")) for one in case] for case in first}
    assert marks["a"] == marks["d"] == []
    assert marks["b"] == [("failure", "margin 5 %: 10 to 5 ms: −50 % (−60 % to −40 %), moved")]
    assert marks["e"] == [("skipped", "10 to 13 ms: +30 % (+20 % to +40 %), undecided")]
    assert [one.tag for case in first for one in case] == ["failure"] * 2 + ["skipped", "failure", "skipped"]


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), (" 2.5 % ", 0.025), ("0", 0.0), ("150%", 1.5)])
def test_a_margin_is_a_percentage(text: str, share: float) -> None:
    assert command._share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["-1%", "inf", "nan", "a%", "", "1%%"])
def test_other_margins_are_refused(text: str) -> None:
    with pytest.raises(StudyError, match="is no percentage") as caught:
        command._share(text)
    assert caught.value.key == "--margin"


def test_nothing_is_compared_if_a_run_failed() -> None:
    failure = SimpleNamespace(cell="c", reason="why")

    def study(*failures: Any) -> Any:
        result = SimpleNamespace(failures=failures, results="numbers")
        return SimpleNamespace(name="one", run=lambda folder, options: result)

    assert command._run(study(), None, RunOptions()) == "numbers"  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(OutputError, match="one: a run failed, so nothing is compared: c: why"):
        command._run(study(failure, None), None, RunOptions())  # type: ignore[arg-type]
