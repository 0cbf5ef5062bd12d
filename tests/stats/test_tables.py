"""Tables: published next to measured, row by row, and what is wrong named with its place."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

import synthetic
from cwndlab.apps.reproduction.choice_effects import ChoiceOutcome, effects
from cwndlab.apps.reproduction.listing import judge_listing, lines_of_trace
from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import COUNT
from cwndlab.report.model import TableView
from cwndlab.report.wording import table_view
from cwndlab.stats.results import CellRecords, Estimate, Results, Variation
from cwndlab.stats.tables import JudgedCell, JudgedTable, judge_table
from cwndlab.stats.verdict import Verdict
from cwndlab.study.labels import QuantityInfo
from cwndlab.study.outputs import Listing, Margin, Mark, Table

PUBLISHED = """webs,ftps,iw1_s,iw3_pct
8,0,0.56,17.9
16,0,0.64,15.6
32,3,1.56,29.5
64,0,1.5,
"""


def table(folder: Path, text: str = PUBLISHED, **more: Any) -> Table:
    (folder / "t.csv").write_text(text)
    return Table.model_validate(
        {
            "id": "t1",
            "title": "Table 1",
            "rows": ["webs", "ftps"],
            "published": "t.csv",
            "columns": [
                {"heading": "IW=1", "quantity": "page_delay", "where": {"iw": 1}, "published": "iw1_s"},
                {
                    "heading": "IW=3",
                    "quantity": "page_delay",
                    "where": {"iw": 3},
                    "published": "iw3_pct",
                    "compare": "decrease(iw=1)",
                },
            ],
            **more,
        }
    )


def judged(folder: Path, spec: Table, marks: list[Mark] | None = None) -> JudgedTable:
    return judge_table(spec, synthetic.rfc2415(), folder, marks or [])


def test_rows_follow_the_paper_and_each_cell_has_its_verdict(tmp_path: Path) -> None:
    t = judged(tmp_path, table(tmp_path))
    assert t.rows == ((8, 0), (16, 0), (32, 3), ("64", 0))
    first = t.cells[0][0]
    assert first.published is not None
    assert first.judgement is not None
    assert (first.published.value, first.published.rounding) == (0.56, 0.005)
    assert first.judgement.verdict is Verdict.AGREES
    assert first.cell == "webs=8,ftps=0,iw=1"


def test_a_number_has_the_decimals_of_its_column_or_of_the_printed_one(tmp_path: Path) -> None:
    spec = table(tmp_path)

    def decimals(**changes: Any) -> list[int | None]:
        first = spec.columns[0].model_copy(update=changes)
        of_column = judged(tmp_path, spec.model_copy(update={"columns": [first]})).cells
        return [line[0].digits for line in of_column]

    assert decimals() == [2, 2, 2, 1]  # 0.56, 0.64, 1.56 and 1.5
    assert decimals(digits=3) == [3] * 4
    assert decimals(published_scale=0.001) == decimals(published=None) == [None] * 4


def test_a_paper_may_print_one_row_or_none(tmp_path: Path) -> None:
    head, first = PUBLISHED.splitlines()[:2]
    [[level, change]] = judged(tmp_path, table(tmp_path, f"{head}\n{first}\n")).cells
    assert level.published is not None and change.published is not None
    assert (level.published.value, change.published.value) == (0.56, 17.9)
    short = judged(tmp_path, table(tmp_path, f"{head}\n{first}\n16,0,0.64\n"))  # without the last number
    assert [cell.published is None for cell in short.numbers] == [False, False, False, True]
    empty = judged(tmp_path, table(tmp_path, f"{head}\n"))
    assert len(empty.rows) == 12 and all(cell.published is None for cell in empty.numbers)


def test_a_comparison_is_paired_and_in_per_cent(tmp_path: Path) -> None:
    cell = judged(tmp_path, table(tmp_path)).cells[0][1]
    assert cell.estimate is not None
    assert (cell.quantity, cell.estimate.unit, cell.estimate.method) == (
        "decrease(page_delay)",
        "%",
        "ratio of means, log paired t",
    )
    assert cell.estimate.value == pytest.approx(17.9, abs=1.0)


def test_a_cell_that_was_not_run_is_told_not_judged(tmp_path: Path) -> None:
    cell = judged(tmp_path, table(tmp_path)).cells[3][0]
    assert cell.estimate is None
    assert cell.judgement is not None
    assert (cell.judgement.verdict, cell.note) == (Verdict.NOT_JUDGED, "not run")
    change = judged(tmp_path, table(tmp_path)).cells[3][1]
    assert change.estimate is None  # nor is it looked for the cell that it would be compared with


def test_a_mark_replaces_the_verdict_and_gives_its_reason(tmp_path: Path) -> None:
    marks = [
        Mark(table="t1", rows={"webs": 8}, verdict="fitted", reason="chose the model"),
        Mark(table="t1", rows={"webs": [32]}, columns=["iw3_pct"], reason="misprint", corrected=18.0),
        Mark(table="other", reason="not here"),
    ]
    t = judged(tmp_path, table(tmp_path), marks)
    verdicts = [[c.judgement.verdict if c.judgement else None for c in row] for row in t.cells]
    assert verdicts[0] == [Verdict.FITTED, Verdict.FITTED]
    assert verdicts[2] == [Verdict.AGREES, Verdict.SUSPECT]
    assert (t.cells[2][1].note, t.cells[2][1].corrected) == ("misprint", 18.0)


@pytest.mark.parametrize("verdict", ["fitted", "source suspect", "not judged"])
def test_a_marked_number_is_none_of_those_that_the_line_that_counts_counts(
    tmp_path: Path, verdict: Literal["fitted", "source suspect", "not judged"]
) -> None:
    plain = judged(tmp_path, table(tmp_path))
    marked = judged(
        tmp_path, table(tmp_path), [Mark(table="t1", rows={"webs": 8}, verdict=verdict, reason="r")]
    )
    before, after = ([bool(c.judgement and c.judgement.counts) for c in t.cells[0]] for t in (plain, marked))
    assert any(before) and not any(after)


def test_published_numbers_in_another_unit_are_scaled_with_their_rounding(tmp_path: Path) -> None:
    spec = table(tmp_path, "webs,ftps,ms\n8,0,560\n")
    column = spec.columns[0].model_copy(update={"published": "ms", "published_scale": 0.001})
    t = judged(tmp_path, spec.model_copy(update={"columns": [column]}))
    published = t.cells[0][0].published
    assert published is not None
    assert (published.value, published.rounding) == pytest.approx((0.56, 0.0005))


def test_a_table_without_published_numbers_lists_what_was_run(tmp_path: Path) -> None:
    spec = table(tmp_path).model_copy(update={"published": None, "where": {"ftps": 0}})
    t = judged(tmp_path, spec)
    assert t.rows == ((8, 0), (16, 0), (32, 0))
    assert all(c.judgement is None for row in t.cells for c in row)


LEVELS = "webs,ftps,iw1,iw4\n8,0,1.0,{four}\n16,0,0.64,0.53\n"


def levels(folder: Path, four: float, **more: Any) -> Table:
    """A table of two columns, iw 1 and iw 4, three steps apart; 8 webs have 0.56 s and 0.47 s."""
    columns = [
        {"heading": f"IW={iw}", "quantity": "page_delay", "where": {"iw": iw}, "published": f"iw{iw}"}
        for iw in (1, 4)
    ]
    margin = {"absolute": 0.2}
    return table(folder, LEVELS.format(four=four), columns=columns, margin=margin, **more)


def first_verdict(folder: Path, spec: Table) -> Verdict:
    judgement = judged(folder, spec).cells[0][0].judgement
    assert judgement is not None
    return judgement.verdict


def test_the_order_of_all_numbers_that_the_paper_compares_is_judged_not_only_of_neighbours(
    tmp_path: Path,
) -> None:
    within = {"compared_within": ["webs", "ftps"]}
    assert first_verdict(tmp_path, levels(tmp_path, 0.8)) is Verdict.DIFFERS  # compared with nothing
    assert first_verdict(tmp_path, levels(tmp_path, 0.8, **within)) is Verdict.TREND
    assert first_verdict(tmp_path, levels(tmp_path, 1.2, **within)) is Verdict.DIFFERS  # the other way round


@pytest.mark.parametrize(("four", "verdict"), [(0.9, Verdict.DIFFERS), (0.8, Verdict.TREND)])
def test_numbers_printed_no_farther_apart_than_both_roundings_are_not_compared(
    tmp_path: Path, four: float, verdict: Verdict
) -> None:
    """1.0 and 0.9, to one decimal, may be one number, 0.95; nothing is left to compare 1.0 with."""
    spec = levels(tmp_path, four, compared_within=["webs", "ftps"])
    assert first_verdict(tmp_path, spec) is verdict


def test_an_empty_list_compares_the_whole_table(tmp_path: Path) -> None:
    spec = levels(tmp_path, 0.8, compared_within=[])  # 16 webs, printed below 8, are above
    assert first_verdict(tmp_path, spec) is Verdict.DIFFERS


def test_numbers_of_different_quantities_are_compared_where_the_table_says_so(tmp_path: Path) -> None:
    made = synthetic.rfc2415()
    other = {(cell.id, "other"): made.data[cell.id, "page_delay"] for cell in made.cells}
    quantities = {**made.labels.quantities, "other": QuantityInfo("s")}
    results = replace(made, data={**made.data, **other}, labels=replace(made.labels, quantities=quantities))

    def of(word: str | None) -> Verdict:
        spec = levels(tmp_path, 0.8, compared_within=["webs", "ftps"])
        first, last = spec.columns
        last = last.model_copy(update={"quantity": "other", "compared_as": word})
        columns = [first.model_copy(update={"compared_as": word}), last]
        found = judge_table(spec.model_copy(update={"columns": columns}), results, tmp_path, [])
        judgement = found.cells[0][0].judgement
        assert judgement is not None
        return judgement.verdict

    assert of(None) is Verdict.DIFFERS
    assert of("delay") is Verdict.TREND


def test_the_margin_of_a_quantity_is_used_for_its_levels_only(tmp_path: Path) -> None:
    made = synthetic.rfc2415()
    info = made.labels.quantities["page_delay"]._replace(margin=Margin(absolute=0.001))
    labels = replace(made.labels, quantities={**made.labels.quantities, "page_delay": info})
    results = replace(made, labels=labels)
    spec = table(tmp_path, "webs,ftps,iw1_s,iw3_pct\n8,0,0.58,17.9\n")
    level, change = judge_table(spec, results, tmp_path, []).cells[0]
    assert level.judgement is not None and change.judgement is not None
    assert level.judgement.margin == 0.005  # the rounding, as the margin is less
    assert change.judgement.margin == pytest.approx(1.79)


def test_a_broken_model_turns_cells_red(tmp_path: Path) -> None:
    spec = table(tmp_path)
    broken = synthetic.rfc2415(decrease={1: 0.0, 2: 0.0, 3: -0.2, 4: 0.0})
    t = judge_table(spec, broken, tmp_path, [])
    reds = [row[1].judgement.verdict for row in t.cells[:3] if row[1].judgement]
    assert reds == [Verdict.DIFFERS] * 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": ["web", "ftps"]}, "tables.t1.rows: no axis 'web'; did you mean \"webs\"?"),
        ({"published": "gone.csv"}, "there is no such file"),
        ({"published": "../t.csv"}, "outside the study's folder"),
        ({"columns": [{"heading": "x", "quantity": "page_dely"}]}, 'did you mean "page_delay"'),
        ({"columns": [{"heading": "x", "quantity": "page_delays"}]}, "is a list"),
        ({"columns": [{"heading": "x", "quantity": "page_delay"}]}, "4 cells match"),
        ({"columns": [{"heading": "x", "quantity": "page_delay", "where": {"vi": 1}}]}, "no axis 'vi'"),
        (
            {"columns": [{"heading": "x", "quantity": "page_delay", "where": {"iw": 1}, "published": "iw1"}]},
            'did you mean "iw1_s"',
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError) as raised:
        judged(tmp_path, table(tmp_path, **change))
    assert says in str(raised.value)
    assert "tables.t1" in str(raised.value)


def test_a_published_number_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"'n\.a\.' is not a number"):
        judged(tmp_path, table(tmp_path, PUBLISHED.replace("0.56", "n.a.")))


# ── listings ─────────────────────────────────────────────────────────────────

LISTING = """start_packets,time_s,event,acked_packet,sent_packets,note
1,0.000,start,,1,
1,1.222,ack,1,2 3,
1,6.111,dupack,6,,misprint
1,7.444,dupack,6,,
1,8.278,dupack,6,7,retransmission
4,1.222,ack,1,5,
4,9.999,ack,99,,
"""


def listing(folder: Path, **more: Any) -> Listing:
    (folder / "l.csv").write_text(LISTING)
    return Listing.model_validate(
        {
            "kind": "listing",
            "id": "l",
            "title": "Listing",
            "published": "l.csv",
            "axes": {"start_packets": "iw"},
            "where": {"variant": "tahoe", "size": "as-traced"},
            "rounding": {"half_width": 0.001, "reason": "printed to the millisecond"},
            **more,
        }
    )


def test_a_listing_is_compared_event_by_event(tmp_path: Path) -> None:
    marks = [Mark(table="l", lines=[3], reason="misprint for 6.611", corrected=6.611)]
    judged = judge_listing(listing(tmp_path), synthetic.rfc2416(), tmp_path, marks)
    verdicts = [row[0].judgement.verdict for row in judged.cells if row[0].judgement]
    agrees, suspect, differs = Verdict.AGREES, Verdict.SUSPECT, Verdict.DIFFERS
    assert verdicts == [agrees, agrees, suspect, agrees, agrees, differs, differs]
    assert judged.cells[2][0].corrected == 6.611
    assert judged.cells[4][0].note == ""
    assert judged.cells[5][0].note == "sent in answer: 5 6"
    assert judged.cells[6][0].note == "no such event in our trace"


def test_variants_that_are_only_shown_get_no_verdict(tmp_path: Path) -> None:
    variants = [
        {"heading": "traced", "where": {"size": "as-traced"}},
        {"heading": "written", "where": {"size": "as-written"}, "judged": False},
    ]
    spec = listing(tmp_path, where={"variant": "tahoe"}, variants=variants)
    judged = judge_listing(spec, synthetic.rfc2416(), tmp_path, [])
    assert judged.cells[1][0].judgement is not None
    assert judged.cells[1][1].judgement is None
    assert judged.cells[1][1].estimate is not None and judged.cells[1][1].estimate.value > 1.2


def test_a_trace_becomes_lines_with_timeouts_of_their_own() -> None:
    rows = [(0, "send", 1), (10, "ack", 1), (10, "send", 2), (10, "send", 3), (500, "retransmit", 2)]
    lines = lines_of_trace(synthetic.columns(rows))
    assert [(x.event, x.acked, x.sent) for x in lines] == [
        ("start", None, (1,)),
        ("ack", 1, (2, 3)),
        ("timeout", None, (2,)),
    ]


def test_a_listing_without_segment_records_names_the_probe(tmp_path: Path) -> None:
    results = replace(synthetic.rfc2416(), records=CellRecords())
    with pytest.raises(StudyError, match="segments_at"):
        judge_listing(listing(tmp_path), results, tmp_path, [])


# ── sensitivity ──────────────────────────────────────────────────────────────


def test_a_column_may_show_how_single_runs_scatter(tmp_path: Path) -> None:
    spec = table(tmp_path).model_dump() | {"published": None, "where": {"ftps": 0, "iw": 1}}
    spec["columns"] = [{"heading": "q", "quantity": "page_delay", "runs": q} for q in (0.25, 0.75)]
    t = judged(tmp_path, Table.model_validate(spec))
    low, high = t.cells[0]
    values = synthetic.rfc2415().values(low.cell, "page_delay")
    assert low.estimate is not None and high.estimate is not None
    assert low.estimate.value == pytest.approx(sorted(values)[len(values) // 4], rel=0.1)
    assert low.estimate.value < high.estimate.value
    compared = {
        "heading": "q",
        "quantity": "page_delay",
        "runs": 0.5,
        "compare": "ratio(iw=1)",
    }
    with pytest.raises(ValueError, match="nothing is compared"):
        Table.model_validate(spec | {"columns": [compared]})


def test_a_cell_compared_with_itself_shows_a_dash(tmp_path: Path) -> None:
    itself: dict[str, Any] = {"heading": "IW=1", "quantity": "page_delay", "where": {"iw": 1}}
    itself["compare"] = "decrease(iw=1)"
    spec = Table.model_validate({"id": "t", "title": "T", "rows": ["webs", "ftps"], "columns": [itself]})
    view = table_view(judged(tmp_path, spec))
    assert {(n.measured, n.interval) for row in view.rows for n in row.numbers} == {("–", "")}
    assert view.remarks == ()


def outcome(*tables: JudgedTable) -> ChoiceOutcome:
    return ChoiceOutcome(Variation("axis", "1", Results(())), tables, [])


def test_sensitivity_tells_how_far_each_choice_moves_a_table(tmp_path: Path) -> None:
    spec = table(tmp_path)
    base = judge_table(spec, synthetic.rfc2415(), tmp_path, [])
    moved = judge_table(spec, synthetic.rfc2415(decrease={1: -0.1, 3: 0.1, 2: 0.0, 4: 0.0}), tmp_path, [])
    same, other = effects([base], [], [outcome(base), outcome(moved)])
    assert (same.shift["t1"].median, same.shift["t1"].largest) == (0.0, 0.0)
    assert 0.05 < other.shift["t1"].median <= other.shift["t1"].largest


def _numbers(**values: float) -> JudgedTable:
    """A table of one column, in %."""
    cells = {
        row: Estimate(row, "loss", "%", value, math.nan, math.nan, 5, "mean") for row, value in values.items()
    }
    made = [JudgedCell("t", (row,), 0, row, "loss", cells[row], None, None, None, "") for row in values]
    spec = Table.model_construct(id="t")
    return JudgedTable(spec, tuple((row,) for row in values), tuple((cell,) for cell in made))


def test_a_number_near_zero_moves_by_a_difference_and_a_cell_that_was_not_run_not_at_all() -> None:
    base = _numbers(a=0.01, b=5.0, c=6.0, d=4.0)
    moved = _numbers(d=math.nan, c=6.6, a=2.0)  # other rows, in another order
    [effect] = effects([base], [], [outcome(moved)])
    shift = effect.shift["t"]
    assert (shift.run, shift.of) == (2, 4)
    assert (shift.median, shift.largest) == (pytest.approx(0.1), pytest.approx(0.1))
    assert shift.differences == {"%": pytest.approx(1.99)}
    [signs] = effects([_numbers(a=-1.0, b=2.0)], [], [outcome(_numbers(a=3.0, b=2.0))])
    assert math.isnan(signs.shift["t"].largest) and signs.shift["t"].differences == {"%": 4.0}
    [none] = effects([base], [], [outcome()])
    assert none.shift["t"].run == 0


def dull_table(values: dict[str, list[list[float]]]) -> TableView:
    """A table of quantities whose runs have these values, in two cells; nothing is published."""
    cells = synthetic.grid(iw=[1, 2])
    data = {(cell.id, name): runs[at] for name, runs in values.items() for at, cell in enumerate(cells)}
    columns = [{"heading": name, "group": "all", "quantity": name} for name in values]
    spec = Table.model_validate({"id": "t", "title": "T", "rows": ["iw"], "columns": columns})
    results = synthetic.make_results(cells, dict.fromkeys(values, "1"), data, ranges={"count": COUNT})
    return table_view(judge_table(spec, results, Path(), []))


def test_columns_that_are_empty_or_equal_are_left_out_and_named() -> None:
    told = {"told": [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]}
    none = {"none": [[math.nan] * 3] * 2}
    view = dull_table({"count": [[0.0] * 3] * 2, **none, **told, "same": [[5.0] * 3] * 2})
    assert (view.headings, view.groups) == (("told",), (("all", 1),))
    assert [len(row.numbers) for row in view.rows] == [1, 1]
    assert view.remarks[0] == "Not measured in any cell: all, none."
    assert view.remarks[1] == "The same in all cells and runs: all, count: 0 (0.00 … 1.23); all, same: 5."
    assert len(dull_table({"moves": [[5.0] * 3, [6.0] * 3], **told}).headings) == 2
    assert dull_table({"same": [[5.0] * 3] * 2}).headings == ("same",)  # something must stay


def measured(*means: float) -> list[str]:
    """How a column shows these means, a cell each."""
    cells = synthetic.grid(iw=list(range(len(means))))
    data = {
        (cell.id, "x"): [mean - 0.01 * mean, mean, mean + 0.01 * mean]
        for cell, mean in zip(cells, means, strict=True)
    }
    spec = Table.model_validate(
        {"id": "t", "title": "T", "rows": ["iw"], "columns": [{"heading": "x", "quantity": "x"}]}
    )
    view = table_view(judge_table(spec, synthetic.make_results(cells, {"x": "s"}, data), Path(), []))
    return [row.numbers[0].measured for row in view.rows]


def test_numbers_of_a_column_have_equally_many_decimals_unless_they_differ_by_orders_of_magnitude() -> None:
    assert measured(4.061, 26.71, 38.44) == ["4.1", "26.7", "38.4"]
    assert measured(3.414, 43.81, 319.72) == ["3.4", "43.8", "319.7"]
    assert measured(0.133, 0.4232, 1.5) == ["0.133", "0.423", "1.500"]
    assert measured(0.002, 31.4, 96.25) == ["0.00200", "31.4", "96.2"]
    assert measured(4.0, 8.0, 16.0) == ["4", "8", "16"]
