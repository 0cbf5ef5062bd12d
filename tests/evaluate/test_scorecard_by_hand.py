"""What a scorecard says about rows written by hand: ranks, marks, summaries, bars, JSON and JUnit."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from written_rows import around, card, criterion, row

from cwndlab.apps.evaluate import overview, scorecard, scorecard_data
from cwndlab.apps.evaluate.overview import RangeBar
from cwndlab.apps.evaluate.scorecard import Standing, ThresholdOutcome
from cwndlab.apps.evaluate.subjects import Subject
from cwndlab.stats.intervals import Interval, exact
from synthetic import make_results

MET, NOT_MET = ThresholdOutcome.MET, ThresholdOutcome.NOT_MET
UNDECIDED, OTHERS = ThresholdOutcome.UNDECIDED, ThresholdOutcome.NOT_APPLICABLE
BETTER, WORSE, OPEN = Standing.BETTER, Standing.WORSE, Standing.OPEN


def test_an_outcome_and_a_standing_have_a_sign_a_style_and_an_opposite() -> None:
    assert [one.symbol for one in ThresholdOutcome] == ["✓", "✗", "?", "–"]
    assert [one.style for one in ThresholdOutcome] == ["holds", "fails", "undecided", "none"]
    pairs = {BETTER: WORSE, WORSE: BETTER, Standing.HIGHER: Standing.LOWER, Standing.LOWER: Standing.HIGHER}
    assert {one: one.opposite for one in Standing} == pairs | {OPEN: OPEN}


VALUES = {"a": around(1), "b": around(2), "c": around(3), "none": around(math.nan)}


@pytest.mark.parametrize(
    ("standings", "rank", "text"),
    [
        ({"b": BETTER, "c": BETTER, "none": OPEN}, (1, 1, 3), "rank 1 of 3"),
        ({"b": WORSE, "c": WORSE, "none": BETTER}, (3, 3, 3), "rank 3 of 3"),
        ({"b": WORSE, "c": OPEN, "none": OPEN}, (2, 3, 3), "rank 2 to 3 of 3"),
        ({"b": BETTER, "c": OPEN, "none": OPEN}, (1, 2, 3), "rank 1 to 2 of 3"),
        ({"b": OPEN, "c": OPEN, "none": WORSE}, (1, 3, 3), "rank not decided"),
    ],
)
def test_a_rank_counts_those_that_are_surely_better_and_worse(
    standings: dict[str, Standing], rank: tuple[int, int, int], text: str
) -> None:
    made = row(standings={"a": standings}, values=VALUES)
    assert (made.rank("a"), made.number("a").place) == (rank, text)
    assert (made.rank("none"), made.number("none").place, made.rank("d")) == (None, "", None)
    assert row(standings={"a": standings}, values=VALUES, of=criterion(better=None)).rank("a") is None


def test_the_number_of_a_row_says_all_that_is_known_of_it() -> None:
    made = row(
        {"a": UNDECIDED},
        {
            "a": {"b": OPEN, "c": BETTER, "none": OPEN},
            "b": {"a": OPEN, "c": OPEN},
            "c": {"a": WORSE, "b": OPEN},
        },
        VALUES,
        where={"a": "buffer: 2"},
        simulated={
            "a": around(7, 0.5),
            "b": around(math.nan),
            "c": exact(3.0),
        },
        failed={"a": "1 connection failed: why"},
        refused={"q": "no QUIC"},
        to_decide={"a": 25},
        to_differ={"b": (7, "a")},
    )
    one = made.number("a")
    assert (one.name, one.value, one.interval, one.mark) == ("a", "1", "0.00 … 2.00", UNDECIDED)
    assert (one.wanted, one.where, one.simulated) == (
        "about 30 runs would decide",
        "buffer: 2",
        "7 (6.50 … 7.50)",
    )
    assert one.compared == "better than c; no clear difference from b, none"
    assert one.failed == "1 connection failed: why"
    two = made.number("b")
    assert two.compared == "no clear difference from a, c; about 7 runs would show one from a"
    assert (two.mark, two.wanted, two.where, two.simulated, two.failed) == (None, "", "", "", "")
    assert made.number("c").simulated == "3 (exact)"
    assert (made.number("none").value, made.number("none").interval) == ("n/a", "")
    refused = made.number("q")
    assert (refused.value, refused.interval, refused.compared) == ("not measured", "", "no QUIC")
    assert (made.id, made.report) == ("p/1-x", "p/small/report.html")
    assert made.against("a", ["c", "d"]) == {"c": BETTER} and made.against("d", ["a"]) == {}


def test_rows_that_are_not_met_come_first_and_then_those_that_are_undecided() -> None:
    rows = [
        row({"a": MET}, of=criterion("met")),
        row({"reno": NOT_MET}, of=criterion("reference")),
        row({"b": UNDECIDED}, of=criterion("undecided")),
        row({}, of=criterion("none")),
        row({"a": MET, "b": NOT_MET}, of=criterion("missed")),
        row({"a": NOT_MET, "b": UNDECIDED}, of=criterion("both")),
    ]
    made = card(*rows, subjects=("a", "b"))
    assert [one.criterion.id for one in made.failed_first] == [
        "missed", "both", "undecided", "met", "reference", "none",
    ]  # fmt: skip
    assert made.counts("a") == {MET: 2, NOT_MET: 1} and made.counts("b") == {NOT_MET: 1, UNDECIDED: 2}
    assert made.counts("c") == {}


def test_only_a_must_that_a_subject_does_not_meet_fails() -> None:
    must, should = criterion("must", level="MUST"), criterion("should", level="SHOULD")
    rows = [row({"a": NOT_MET, "b": MET, "reno": NOT_MET}, of=one) for one in (must, should, criterion())]
    made = card(*rows, row({"a": UNDECIDED, "b": OTHERS}, of=must), subjects=("a", "b"))
    assert [(one.criterion.id, who) for one, who in made.failing()] == [("must", "a")]


def test_rows_are_unmeasured_if_no_study_ran_or_none_for_the_subject() -> None:
    made = card(row(missing="its study was not run"), row(refused={"a": "no QUIC"}), row(), row())
    assert (made.count_unmeasured("a"), made.count_unmeasured("b")) == (2, 1)


NONE = (math.nan, math.nan)
ALL_BETTER, ALL_WORSE = {"reno": BETTER, "cubic": BETTER}, {"reno": WORSE, "cubic": WORSE}
MIXED = {"reno": BETTER, "cubic": OPEN}


@pytest.mark.parametrize(
    ("outcomes", "standings", "text"),
    [
        ([MET], [], "a meets the one limit that applies to it."),
        ([NOT_MET], [], "a does not meet the one limit that applies to it."),
        ([UNDECIDED], [], "a may or may not meet the one limit that applies to it."),
        ([OTHERS], [], ""),
        ([MET, MET, OTHERS], [], "a meets all 2 limits that apply to it."),
        ([NOT_MET, NOT_MET], [], "a meets none of the 2 limits that apply to it."),
        ([MET, NOT_MET, NOT_MET], [], "a meets 1 of the 3 limits that apply to it."),
        (
            [MET, MET, UNDECIDED],
            [],
            "a meets 2 of the 3 limits that apply to it; 1 is undecided.",
        ),
        (
            [NOT_MET, UNDECIDED, UNDECIDED],
            [],
            "a meets none of the 3 limits that apply to it; 2 are undecided.",
        ),
        (
            [MET],
            [ALL_BETTER, ALL_BETTER, ALL_WORSE, MIXED],
            "a meets the one limit that applies to it. It is better than every reference in 2 of 4 rows and "
            "worse than every reference in 1.",
        ),
        (
            [],
            [ALL_BETTER],
            "a is better than every reference in 1 of 1 row and worse than every reference in none.",
        ),
        (
            [],
            [ALL_WORSE, MIXED],
            "a is better than every reference in no row, and worse than every reference in 1 of 2 rows.",
        ),
        (
            [],
            [MIXED],
            "a is better than every reference in no row, and worse than every reference in none of 1 row.",
        ),
        ([], [{"reno": BETTER}, {"reno": BETTER, "b": BETTER}], ""),
    ],
)
def test_the_finding_of_a_subject(
    outcomes: list[ThresholdOutcome], standings: list[dict[str, Standing]], text: str
) -> None:
    rows = [*(row({"a": one}) for one in outcomes), *(row(standings={"a": one}) for one in standings)]
    half = len(rows) // 2
    cards = [card(*rows[:half]), card(*rows[half:])]
    assert overview.finding(cards, "a") == text
    assert overview.findings(cards, ["a"]) == [text] * bool(text)
    assert any(map(overview.has_summary, cards)) == bool(text or outcomes)


def test_rows_without_a_better_direction_are_not_counted() -> None:
    made = card(row(standings={"a": ALL_BETTER}, of=criterion(better=None)))
    assert not overview.is_ranked(made, made.rows[0], "a")
    assert overview.against_references(made, "a") == []
    assert not overview.has_summary(card(row(), row(standings={"a": {"b": BETTER}})))


def test_standings_are_counted_by_reference() -> None:
    made = card(*(row(standings={"a": one}) for one in (ALL_BETTER, ALL_WORSE, MIXED, MIXED)))
    assert overview.against_references(made, "a") == [
        ("reno", {BETTER: 3, WORSE: 1}),
        ("cubic", {BETTER: 1, OPEN: 2, WORSE: 1}),
    ]
    assert overview.against_references(made, "b") == []


def test_of_more_than_three_subjects_the_extremes_are_named() -> None:
    names = ["a", "b", "c", "d"]
    values = {name: around(at) for at, name in enumerate(names)}

    def ranked(*order: str) -> dict[str, dict[str, Standing]]:
        return {
            one: {
                other: BETTER if order.index(one) < order.index(other) else WORSE
                for other in order
                if other != one
            }
            for one in order
        }

    outcomes = [
        {"a": MET, "b": NOT_MET, "c": NOT_MET, "d": OTHERS},
        {"a": MET, "b": MET, "c": NOT_MET, "d": OTHERS},
        {"a": MET, "b": UNDECIDED, "c": NOT_MET},
    ]
    rows = [row(one) for one in outcomes]
    rows += [row(standings=ranked(*order), values=values) for order in ("abcd", "abdc", "badc")]
    rows.append(row(standings={"a": {}}, values={"a": around(1)}))
    cards = [card(*rows[:3]), card(*rows[3:])]
    assert overview.findings(cards, names) == [
        "Limits not met: c 3 of 3, b 1 of 3. Undecided: b 1 of 3. All limits that apply are met by a.",
        "a is most often better than all others, in 2 of 3 rows. "
        "c is most often worse than all others, in 2 of 3 rows.",
    ]
    assert len(overview.findings(cards, names[:3])) == 3
    pair = {name: values[name] for name in "ab"}
    one = row(standings={"a": {"b": BETTER}, "b": {"a": WORSE}}, values=pair)
    assert overview.findings([card(one)], names) == [
        "a is most often better than all others, in 1 of 1 row. b is most often worse than all others, in 1 "
        "of 1 row."
    ]
    only = [card(row({"a": MET, "b": MET}))]
    assert overview.findings(only, names) == ["All limits that apply are met by a and b."]
    assert overview.findings([card(row())], names) == []


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ({"a": around(5, 5), "b": around(15, 5)}, {"a": (25, 0, 50), "b": (75, 50, 100)}),
        ({"a": around(-5, 5), "b": around(5, 5)}, {"a": (25, 0, 50), "b": (75, 50, 100)}),
        ({"a": around(-5, 5)}, {"a": (50, 0, 100)}),
        ({"a": Interval(4, *NONE, 1, ""), "b": around(6, 2)}, {"a": (50, 50, 50), "b": (75, 50, 100)}),
        ({"a": around(math.nan), "b": around(4, 0)}, {"b": (100, 100, 100)}),
        ({"a": around(0, 0)}, {}),
        ({"a": Interval(4, -math.inf, math.inf, 1, "")}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_bars_share_a_scale_that_includes_zero(
    values: dict[str, Interval], bars: dict[str, tuple[int, int, int]]
) -> None:
    assert overview.range_bars(row(values=values)) == {name: RangeBar(*bar) for name, bar in bars.items()}


def test_a_scorecard_as_data_has_all_numbers_and_null_for_none() -> None:
    made = row(
        {"a": MET},
        {"a": {"reno": BETTER}, "reno": {"a": WORSE}},
        {"a": around(4), "reno": around(math.nan)},
        criterion(level="MUST", unit="s"),
        simulated={"a": around(5)},
        failed={"a": "why"},
        where={"a": "buffer: 2"},
        to_decide={"a": 25},
        refused={"q": "no"},
    )
    subject = Subject("cc", "a")
    data = scorecard_data.as_data([card(made, row(missing="not run"))], [subject], "1.2")
    assert (data["format"], data["cwndlab"]) == (1, "1.2")
    assert data["subjects"] == [{"name": "a", "kind": "cc", "is": "congestion control a of the engine"}]
    (pack,) = data["packs"]
    assert (pack["name"], pack["document"], pack["references"]) == ("p", "RFC 0", ["reno", "cubic"])
    one, two = pack["rows"]
    assert {key: one[key] for key in ("id", "level", "unit", "report", "missing", "refused", "shows")} == {
        "id": "p/1-x",
        "level": "MUST",
        "unit": "s",
        "report": "p/small/report.html",
        "missing": None,
        "refused": {"q": "no"},
        "shows": "goodput",
    }
    assert "note" not in one
    numbers = {"estimate": 4, "ci_low": 3, "ci_high": 5, "replicates": 5, "method": "t"}
    none = {"outcome": None, "simulated": None, "failed_connections": None, "where": None}
    assert one["numbers"] == {
        "a": {
            **numbers,
            "outcome": "met",
            "simulated": numbers | {"estimate": 5, "ci_low": 4, "ci_high": 6},
            "failed_connections": "why",
            "where": "buffer: 2",
            "runs_to_decide": 25,
        },
        "reno": numbers
        | {"estimate": None, "ci_low": None, "ci_high": None}
        | none
        | {"runs_to_decide": None},
    }
    assert one["standings"] == {"a": {"reno": "better"}}
    assert (two["missing"], two["level"], two["unit"], two["standings"]) == ("not run", None, None, {"a": {}})


def test_junit_has_a_case_for_each_row_with_its_failure_or_why_it_was_skipped() -> None:
    values = {"a": around(4)}
    made = card(
        row({"a": NOT_MET}, {}, values, criterion("must", level="MUST", unit="s"), failed={"a": "1 failed"}),
        row({"a": NOT_MET}, {}, values, criterion("should", level="SHOULD")),
        row({"a": NOT_MET}, {}, values, criterion("may", level="MAY")),
        row({"a": UNDECIDED}, {}, values, criterion("open", level="MUST")),
        row({"a": OTHERS}, {}, values, criterion("others")),
        row({"a": MET}, {"a": {"reno": BETTER}}, values, criterion("met", unit="s")),
        row(of=criterion("missing", unit="s"), missing="its study was not run"),
        row(of=criterion("refused"), refused={"a": "no QUIC"}),
    )
    root = ElementTree.fromstring(scorecard_data.as_junit([made]))
    assert (root.tag, root.get("name")) == ("testsuites", "cwndlab evaluate")
    (suite,) = root
    assert suite.attrib == {"name": "p: a", "tests": "8", "failures": "2", "skipped": "4"}
    found = {case.get("name"): case for case in suite}
    assert found["p/must"].get("classname") == "p.a"
    said = {name: case.findtext("system-out") for name, case in found.items()}
    assert said["p/must"] == "goodput: 4 s (3.00 … 5.00) not met 1 failed"
    assert said["p/met"] == "goodput: 4 s (3.00 … 5.00) met better than reno"
    assert said["p/missing"] == "goodput: not measured"
    failures = {name: one.attrib for name, case in found.items() if (one := case.find("failure")) is not None}
    assert failures == {
        "p/must": {"type": "MUST", "message": said["p/must"]},
        "p/should": {"type": "SHOULD", "message": said["p/should"]},
    }
    skipped = {
        name: one.get("message") for name, case in found.items() if (one := case.find("skipped")) is not None
    }
    assert skipped == {
        "p/open": said["p/open"],
        "p/others": said["p/others"],
        "p/missing": "its study was not run",
        "p/refused": "no QUIC",
    }


def test_without_a_comparison_no_outcome_is_counted_as_decided() -> None:
    results = make_results((), {}, {})
    limited = criterion(requires='x[subject="$subject"] > 0', limit="l", note="n", study="small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorecard, "_outcome", lambda pack, criterion, name, evaluator: MET)
        made = [row({"a": MET, "b": UNDECIDED}, of=limited), row({"a": NOT_MET}, of=limited)]
        assert scorecard._family(card().pack, made, {"small": results}, 0) == (0, 0, 0)
        assert scorecard._family(card().pack, made, {"small": results}, 4) == (2, 4, 1)
