"""The words of discrepancies, of shifts, of listings and of means of changes, with every number given."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cwndlab.apps.reproduction import choice_effects, listing, played
from cwndlab.apps.reproduction.choice_effects import ChoiceOutcome, Move, Moves, Shift
from cwndlab.apps.reproduction.differences import _shift_text
from cwndlab.apps.reproduction.discrepancies import Discrepancy, explained_text
from cwndlab.base.errors import StudyError
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Estimate
from cwndlab.stats.verdict import Verdict
from cwndlab.study.labels import Labels
from cwndlab.study.outputs import Listing


def change(value: float, low: float = math.nan, high: float = math.nan) -> Interval:
    return Interval(value, low, high, 5, "")


def move(value: str, closed: float, verdict: Verdict | None = None, by: Interval | None = None) -> Move:
    return Move("delay", value, 1.5, by or change(0.25, 0.125, 0.5), closed, verdict)


def apart(*moves: Move, tried: int = 9, undecided: bool = False, **more: Any) -> Discrepancy:
    cell: Any = None
    made = Moves(cell, tried, undecided, moves)
    return Discrepancy("t1", "iw=1", "page_delay", "s", 1.25, 2.0, Verdict.DIFFERS, made, **more)


def test_the_first_line_has_the_number_the_published_one_and_how_far_they_are_apart() -> None:
    assert str(apart(tried=0)).splitlines() == [
        "t1, iw=1, page_delay: 1.25 s, published 2 (−38 %): differs",
        "  No choice that the paper leaves open was run for this number.",
    ]
    none = Discrepancy("t1", "c", "q", "", math.nan, 2.0, Verdict.TREND, apart(tried=0).moves)
    assert str(none).splitlines()[0] == f"t1, c, q: n/a, published 2: {Verdict.TREND}"


@pytest.mark.parametrize(
    ("found", "lines", "summary"),
    [
        (
            apart(tried=0),
            "No choice that the paper leaves open was run for this number.",
            "no choice was run",
        ),
        (
            apart(tried=3, undecided=True),
            "There are too few replicates to tell which of the 3 choices move it.",
            "too few replicates to tell",
        ),
        (apart(tried=1), "The choice that was run does not move it.", "no choice moves it"),
        (apart(tried=2), "The 2 choices that were run do not move it.", "no choice moves it"),
        (
            apart(move("short", -0.5)),
            "Farther: delay = short gives 1.50 s (+0.250, 0.125 … 0.500).",
            "no choice brings it nearer",
        ),
        (
            apart(move("a", -0.5, by=change(-0.25)), move("b", 2.0)),
            "Farther (2 choices; this one by least): delay = a gives 1.50 s (−0.250).",
            "no choice brings it nearer",
        ),
    ],
)
def test_what_choices_do_is_said(found: Discrepancy, lines: str, summary: str) -> None:
    assert "\n".join(found.lines) == lines
    assert found.summary == summary


def test_three_choices_are_named_and_further_ones_counted_before_the_time_budget() -> None:
    near = [move(f"v{k}", 0.9 - k / 10, Verdict.AGREES if k else Verdict.DIFFERS) for k in range(3)]
    effect = "gives 1.50 s (+0.250, 0.125 … 0.500)"
    named = [
        f"Nearer: delay = v0 {effect}; 90 % of the difference.",
        f"Nearer: delay = v1 {effect}; 80 % of the difference; the verdict would be “{Verdict.AGREES}”.",
        f"Nearer: delay = v2 {effect}; 70 % of the difference; the verdict would be “{Verdict.AGREES}”.",
    ]
    assert list(apart(*near).lines) == named
    more = [move("v3", 0.1), move("v4", 1.9)]
    found = apart(*near, *more, move("far", -1.0), budgets="The budget.")
    assert list(found.lines) == [
        *named,
        "2 more bring it nearer by less.",
        f"Farther: delay = far {effect}.",
        "The budget.",
    ]
    assert found.summary == "5 of 9 choices bring it nearer" and found.explained


def test_a_discrepancy_as_data_has_the_verdict_of_each_choice_or_none() -> None:
    found = apart(move("a", 0.5, Verdict.AGREES), move("b", -0.5, None, change(-1.0)), tried=4)
    whole: Any = found.to_dict()
    assert whole["choices_run"] == 4 and whole["verdict"] == Verdict.DIFFERS.value
    assert [(one["value"], one["nearer"], one["verdict"]) for one in whole["moves"]] == [
        ("a", True, Verdict.AGREES.value),
        ("b", False, None),
    ]
    assert [one["change_low"] for one in whole["moves"]] == [0.125, None]


def test_how_many_numbers_are_explained_is_said_by_verdict() -> None:
    near, far = apart(move("a", 0.5)), apart(move("a", -0.5))
    trend = Discrepancy("t1", "c", "q", "", 1.0, 2.0, Verdict.TREND, near.moves)
    assert explained_text([], 3, run=True) == explained_text([near], 0, run=True) == ""
    assert explained_text([near, far, far], 3, run=True) == (
        "A choice that was run brings 1 of 3 numbers that differ nearer to the published value."
    )
    assert explained_text([near, far, trend], 3, run=True) == (
        "A choice that was run brings 1 of 2 numbers that differ and 1 of 1 numbers that only follow the "
        "trend nearer to the published value."
    )
    assert "none of the 3 choices that the paper leaves open was run" in explained_text([near], 3, run=False)


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (Shift(0, 4, math.nan, math.nan, {}), "not run"),
        (Shift(4, 4, 0.02, 0.5, {}), "2.0 %, at most 50 %"),
        (
            Shift(3, 4, math.nan, math.nan, {"%": 1.5, "1": 0.25, "s": 0.125}),
            "near zero at most 1.50 percentage points, 0.250, 0.125 s; 3 of 4 numbers",
        ),
    ],
)
def test_a_shift_is_relative_or_near_zero_a_difference_in_its_unit(shift: Shift, words: str) -> None:
    assert _shift_text(shift) == words


@pytest.mark.parametrize(
    ("values", "small"),
    [([2.0, -0.0, math.nan], 0.1), ([0.0, 0.0], 0.0), ([-4.0, 0.0], 0.2), ([-4.0, 1.0], 4.0), ([], None)],
)
def test_numbers_of_both_signs_are_compared_by_difference_whatever_their_size(
    values: list[float], small: float | None
) -> None:
    estimates = [Estimate.from_interval("c", "q", "s", change(value)) for value in values]
    assert choice_effects._small_sizes(estimates).get("q") == (
        small if small is None else pytest.approx(small)
    )


def test_the_verdict_under_a_choice_is_of_the_same_table_row_and_column() -> None:
    def table(name: str, verdict: Verdict | None) -> Any:
        judgement = None if verdict is None else SimpleNamespace(verdict=verdict)
        other = SimpleNamespace(judgement=SimpleNamespace(verdict=Verdict.FAILS))
        return SimpleNamespace(
            id=name,
            rows=((1,), (2,)),
            cells=[[other, other], [other, SimpleNamespace(judgement=judgement)]],
        )

    def found(*tables: Any, row: tuple[int] = (2,)) -> Verdict | None:
        choice: Any = None
        cell: Any = SimpleNamespace(table="t", row=row, column=1)
        return choice_effects._verdict(cell, ChoiceOutcome(choice, tables, ()))

    assert found(table("u", Verdict.HOLDS), table("t", Verdict.AGREES)) is Verdict.AGREES
    assert found(table("t", None)) is None
    assert found(table("t", Verdict.AGREES), row=(3,)) is None
    assert found(table("u", Verdict.AGREES)) is None


# ── listings ────────────────────────────────────────────


def _trace(*rows: tuple[float, str, int, int]) -> Any:
    names = ("time_ns", "event", "segment", "connection")
    columns = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    return {**columns, "time_ns": np.round(columns["time_ns"] * 1e9).astype(np.int64)}


def test_packets_belong_to_the_acknowledgment_before_them_at_most_the_time_of_an_answer() -> None:
    trace = _trace(
        (0.5, "send", 1, 0),
        (0.6, "ack", 9, 1),  # of another connection
        (1.0, "ack", 1, 0),
        (1.0, "send", 2, 0),
        (1.125, "send", 3, 0),
        (1.25, "drop", 3, 0),
        (1.5, "send", 4, 0),
        (2.0, "dupack", 1, 0),
        (4.0, "retransmit", 2, 0),
    )
    made = [(one.time_s, one.event, one.acked, one.sent) for one in listing.lines_of_trace(trace, 0.125)]
    assert made == [
        (0.5, "start", None, (1,)),
        (1.0, "ack", 1, (2, 3)),
        (1.5, "send", None, (4,)),
        (2.0, "dupack", 1, ()),
        (4.0, "timeout", None, (2,)),
    ]
    exact = listing.lines_of_trace(trace)
    assert [one.sent for one in exact] == [(1,), (2,), (3,), (4,), (), (2,)]


def test_a_line_that_cannot_be_read_is_named_with_its_line_in_the_file() -> None:
    spec: Any = SimpleNamespace(axes={}, rounding=None, published="l.csv")
    good = {"time_s": "1.5", "event": "ack", "acked_packet": "2", "sent_packets": "3 4"}
    results: Any = None
    (line,) = listing._published(spec, results, [good], "tables.l")
    assert (line.number, line.time.value, line.time.rounding, line.acked, line.sent) == (
        1,
        1.5,
        0.05,
        2,
        (3, 4),
    )
    with pytest.raises(StudyError) as caught:
        listing._published(spec, results, [good, {**good, "acked_packet": "two"}], "tables.l")
    assert (caught.value.file, caught.value.line, caught.value.key) == ("l.csv", 3, "tables.l")


def listing_of(**more: Any) -> Listing:
    variants = [{"heading": "one", "where": {}}, {"heading": "two", "where": {}}]
    about: dict[str, Any] = {"kind": "listing", "id": "l", "title": "L", "published": "l.csv"}
    return Listing.model_validate(about | {"axes": {"a": "iw"}, "variants": variants} | more)


def _judged(*variants: list[float]) -> Any:
    """Published lines at 1, 2 and 3 s of `ack 6`, of which the last is a start, and our times (NaN: none)."""
    published = [
        listing.PublishedLine(k, {}, listing.Published(float(k), 0.0, str(k)), event, acked, sent)
        for k, (event, acked, sent) in enumerate(
            [("ack", 6, (7, 8)), ("ack", 7, ()), ("start", None, (1,))], start=1
        )
    ]
    cell: Any = SimpleNamespace(id="c")
    rows = []
    for k, line in enumerate(published):
        row = []
        for at, times in enumerate(variants):
            known = not math.isnan(times[k])
            line_here = listing.Line(times[k], line.event, line.acked, line.sent) if known else None
            row.append(listing._judge("l", line, line_here, cell, at, []))
        rows.append(tuple(row))
    return listing.JudgedListing(listing_of(), tuple(published), tuple(rows))


def test_the_first_line_that_differs_is_named_for_each_variant() -> None:
    found = _judged([1.0, 2.5, 3.5], [math.nan, 2.0, 3.0]).view(Labels({}, {}))
    assert found.remarks == (
        "First line that differs, one: ack 7 at 2 s (2 s here).",
        "First line that differs, two: ack 6 → sends 7 8 at 1 s (no such event in our trace).",
    )
    first, second, third = found.rows
    assert [entry.difference for entry in second.entries] == ["+500.0 ms", "±0.0 ms"]
    assert (first.entries[1].time, first.entries[1].difference) == ("none", "")
    assert first.event == "ack 6 → sends 7 8" and third.event == "start → sends 1"
    assert (found.about, found.variants) == ("", ("one", "two"))
    words = {"about": "On it.", "rounding": {"half_width": 0.5, "reason": "whole seconds"}, "variants": []}
    view = _judged([1.0, 2.0, 3.0])._replace(spec=listing_of(**words)).view(Labels({}, {}))
    assert (view.about, view.variants) == ("On it.", ("measured",))
    assert view.remarks == ("Rounding of the source: whole seconds",)
    judged = _judged([1.0, 2.5, 3.5])
    assert [row[0].quantity for row in judged.cells] == [
        "time of line 1: ack 6",
        "time of line 2: ack 7",
        "time of line 3: start",
    ]


# ── means of changes ────────────────────────────────────────────


@pytest.mark.parametrize(
    ("p", "chance"),
    [(1 / (played.DRAWS + 1), "p < 0.005"), (2 / (played.DRAWS + 1), "p = 0.005"), (0.25, "p = 0.25")],
)
def test_a_chance_of_less_than_two_draws_is_a_bound(p: float, chance: str) -> None:
    inside = played.MeanChange("t1", "webs: 8", 3, 1.0, 2.0, 1.0, 3.0, "%")
    outside = inside._replace(published=0.5)
    assert inside.text == "t1, webs: 8: published mean change 1 %, our runs 2 (1 … 3): compatible"
    assert outside._replace(unit="").text.endswith(
        "published mean change 0.5, our runs 2 (1 … 3): incompatible"
    )
    for means, words in (
        ((inside,), "Of 1 means of changes, none are incompatible"),
        ((inside, outside), "Of 2 means of changes, 1 is incompatible"),
        ((outside, outside), "Of 2 means of changes, 2 are incompatible"),
    ):
        assert played.JointTest(means, p).text == f"{words}; jointly {chance}."


def test_the_range_of_draws_leaves_out_two_and_a_half_per_cent_on_each_side() -> None:
    drawn = np.arange(401.0)
    assert played._ends(drawn) == pytest.approx((10.0, 390.0))
    assert played._ends(np.repeat([3.0, 5.0], 200), "inverted_cdf") == (3.0, 5.0)
