"""The words around numbers: notes, remarks on intervals, claims, verdicts, and parts that are left out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.report import looks
from cwndlab.report.judge import Omitted, omissions
from cwndlab.report.palette import DARK, PALETTE, find_colour_place
from cwndlab.report.render import _with_safe_url, markdown_code, markdown_text, readme_html
from cwndlab.report.verdict_files import _csv_line
from cwndlab.report.wording import (
    Footnotes,
    _detail_text,
    _groups,
    _with_bars,
    claim_view,
    count,
    method_text,
    paragraphs,
    table_view,
)
from cwndlab.report.write import _failed_connections, _similarity
from cwndlab.stats.claims import ClaimPart, JudgedClaim
from cwndlab.stats.intervals import EXACT, Interval
from cwndlab.stats.results import Estimate
from cwndlab.stats.tables import JudgedCell, JudgedTable, Published
from cwndlab.stats.verdict import Judgement, Verdict
from cwndlab.study.cells import NotRunError
from cwndlab.study.labels import Labels
from cwndlab.study.outputs import Claim, Figure, Table
from synthetic import grid, make_results

NAN = math.nan


def random(value: float, half: float = 0.5, n: int = 5, method: str = "t", warning: str = "") -> Interval:
    return Interval(value, value - half, value + half, n, method, warning)


def exactly(value: float) -> Interval:
    return Interval(value, value, value, 1, EXACT)


def judged(*rows: list[Any], groups: tuple[str, ...] = (), headings: str = "ABCDEFGH") -> JudgedTable:
    """A table of intervals, or of cells without an estimate (None)."""
    columns = [
        {"heading": headings[k], "quantity": f"q{k}", "group": groups[k] if k < len(groups) else ""}
        for k in range(len(rows[0]))
    ]
    spec = Table.model_validate({"id": "t", "title": "T", "rows": ["a"], "columns": columns})

    def cell(r: int, k: int, interval: Interval | None) -> JudgedCell:
        estimate = None if interval is None else Estimate.from_interval(f"c{r}", f"q{k}", "s", interval)
        return JudgedCell("t", (r,), k, f"c{r}", f"q{k}", estimate, None, None, None, "")

    cells = tuple(tuple(cell(r, k, one) for k, one in enumerate(row)) for r, row in enumerate(rows))
    return JudgedTable(spec, tuple((r,) for r in range(len(rows))), cells)


def test_notes_are_numbered_as_they_come_and_their_replicates_are_joined() -> None:
    notes = Footnotes()
    assert notes.numbers("", "a", "b", "a") == (1, 2, 1)
    assert notes.numbers("needs about 1,200 replicates.", "needs about 30 replicates.") == (3, 3)
    assert notes.numbers() == () == notes.numbers("")
    assert notes.texts == ("a", "b", "needs about 30 to 1,200 replicates.")
    assert notes.numbers("alone, about 7 replicates") == (4,)
    assert notes.texts[3] == "alone, about 7 replicates"


def test_paragraphs_are_separated_by_empty_lines() -> None:
    assert paragraphs("a\nb\n\n c \n\n\n\nd\n") == ("a\nb", "c", "d") and paragraphs("") == ()


@pytest.mark.parametrize(
    ("runs", "remark"),
    [
        ((5, 9), " 5 runs may miss what happens in up to 45 % of all runs."),
        ((9, 12), " 9 runs may miss what happens in up to 28 % of all runs."),
        ((10, 12), ""),
        ((2, 12), " 2 runs may miss what happens in up to 78 % of all runs."),
    ],
)
def test_few_runs_may_miss_what_is_rare(runs: tuple[int, int], remark: str) -> None:
    view = table_view(judged([random(1.0, n=runs[0]), random(2.0, n=runs[1])]))
    assert view.remarks == (f"95 % intervals: Student's t over the runs.{remark}",)


def test_a_table_without_randomness_says_so_and_shows_no_intervals() -> None:
    view = table_view(judged([exactly(1.0), exactly(2.0)]))
    assert view.remarks == ("Nothing in these cells is random: every number is exact.",)
    assert [number.interval for number in view.rows[0].numbers] == ["", ""]
    few = table_view(judged([random(1.0, NAN, 1, "t: no interval")]))
    assert few.remarks == ("Too few runs for intervals.",)
    assert table_view(judged([random(1.0)])).rows[0].numbers[0].interval == "0.50 … 1.50"


def test_each_method_names_up_to_four_columns() -> None:
    def remark(columns: int) -> str:
        row = [*(random(1.0) for _ in range(columns)), random(1.0, method="log t")]
        return table_view(judged(row)).remarks[0].partition(";")[0]

    assert remark(4) == "95 % intervals: Student's t over the runs (A, B, C, D)"
    assert remark(5) == "95 % intervals: Student's t over the runs"


def test_methods_are_reported_in_words() -> None:
    assert method_text("ratio of means, paired t") == (
        "ratio of means: Student's t on the differences between paired runs"
    )
    removed = "scatter that comes from what each run happened to draw, such as larger or smaller files,"
    assert method_text("t, adjusted") == f"Student's t over the runs, after {removed} was removed"
    assert method_text("something else") == "something else"
    adjusted = [random(1.0, method="t, adjusted"), random(1.0, n=20, method="t")]
    assert (
        f" From some of these means, {removed} was removed first." in table_view(judged(adjusted)).remarks[0]
    )
    assert f" From these means, {removed} was removed first." in table_view(judged(adjusted[:1])).remarks[0]


def test_headings_of_groups_cover_their_columns() -> None:
    table = judged([exactly(1.0)] * 5, groups=("", "g", "g", "", "h"))
    assert list(_groups(table.spec)) == [("", 1), ("g", 2), ("", 1), ("h", 1)]
    assert table_view(table).groups == (("", 1), ("g", 2), ("", 1), ("h", 1))
    assert table_view(judged([exactly(1.0)] * 2)).groups == ()


def test_bars_of_a_column_share_a_scale_that_begins_at_0() -> None:
    table = judged([random(4.0, 1.0), random(-2.0, 2.0)], [random(9.0, 1.0), exactly(3.0)])
    rows = _with_bars(table_view(table).rows, table, Labels(flows=("B",)))
    # 0 to 10 along A, −4 to 0 along B.
    assert [[number.bar for number in row.numbers] for row in rows] == [
        [(40, 30, 50, None), (50, 0, 100, 0)],
        [(90, 80, 100, None), None],
    ]
    # Columns of a group have one scale.
    grouped = judged([random(4.0, 1.0), random(9.0, 1.0)], groups=("g", "g"))
    (row,) = _with_bars(table_view(grouped).rows, grouped, Labels())
    assert [number.bar for number in row.numbers] == [(40, 30, 50, None), (90, 80, 100, None)]


def test_a_cell_shows_its_first_run_its_flow_and_its_claims() -> None:
    table = judged([random(4.0)], [None])
    words = Labels(flows=("0", "q0", "x"))
    named = table._replace(
        cells=tuple(tuple(cell._replace(quantity="share_q0") for cell in row) for row in table.cells)
    )
    view = table_view(named, words, [{("c0", "q0")}, set(), {("c0", "q0")}], {}, lambda *_: [4.25, 3.75])  # type: ignore[arg-type, return-value]
    (first,), (second,) = (row.numbers for row in view.rows)
    assert (first.first, first.flow, first.claims, first.cell) == ("4.25", "q0", (1, 3), "c0")
    assert (second.first, second.measured, second.claims) == ("", "", ())
    alone = table_view(table, values=lambda *_: [4.25])  # type: ignore[arg-type, return-value]
    assert alone.rows[0].numbers[0].first == ""


def printed(text: str = "1.5", **more: Any) -> JudgedTable:
    """A table of one number next to the paper's."""
    table = judged([random(1.0)])
    ((cell,),) = table.cells
    return table._replace(cells=((cell._replace(published=Published(1.5, 0.05, text), **more),),))


def judgement(verdict: Verdict, **more: Any) -> Judgement:
    return Judgement(verdict, "", -0.333, 0.4, 1.6)._replace(**more)


@pytest.mark.parametrize(
    ("verdict", "more", "deciding", "note"),
    [
        (Verdict.TREND, {"compatible": True, "close": False, "margin": 0.15},
         "0.400 … 1.60", "compatible (95 % of runs: 0.400 … 1.60), not close (within 0.150)"),
        (Verdict.DIFFERS, {"compatible": False, "close": None, "margin": 0.15},
         "0.400 … 1.60", "not compatible (95 % of runs: 0.400 … 1.60), not shown to be close (within 0.150)"),
        (Verdict.DIFFERS, {"compatible": False, "close": True, "margin": 0.2, "prediction_high": 0.4},
         "", "not compatible, close (within 0.200)"),
        (Verdict.AGREES, {}, "", ""),
        (Verdict.COMPATIBLE, {"prediction_low": NAN, "prediction_high": NAN}, "", ""),
    ],
)  # fmt: skip
def test_a_published_number_has_its_verdict_and_what_decides_it(
    verdict: Verdict, more: dict[str, Any], deciding: str, note: str
) -> None:
    (number,) = table_view(printed(judgement=judgement(verdict, **more))).rows[0].numbers
    assert (number.mark, number.relative, number.published) == (verdict, "−33 %", "1.5")
    assert (number.deciding, number.note) == (deciding, note)


def test_a_published_number_may_be_corrected_or_have_no_run() -> None:
    ((number,),) = (row.numbers for row in table_view(printed("-1.50", corrected=2.0)).rows)
    assert number.published == "−1.50 (read 2.00)" and number.relative == "" and number.mark is None
    ((missing,),) = (row.numbers for row in table_view(printed(estimate=None, note="n")).rows)
    assert (missing.measured, missing.published, missing.note, missing.mark) == ("not run", "1.5", "n", None)


def claim(**more: Any) -> Claim:
    return Claim.model_validate({"id": "c", "section": "3.1", "text": "T.", "assert": "a <\n  b"} | more)


def test_a_claim_shows_its_parts_and_where_it_holds() -> None:
    parts = (ClaimPart("a", random(1.0)), ClaimPart("b", exactly(2.0)))
    made = JudgedClaim(
        claim(note="N.", suspect="misprint"), Verdict.HOLDS, parts, where="in all cells.", tally="2 of 2."
    )
    view = claim_view(made, "holds in 3 of 4", {("x", "q")}, 1, (), {"c"})
    assert (view.section, view.expression, view.note) == (
        "section 3.1",
        "a < b",
        "N. Source suspect: misprint",
    )
    assert view.parts == (("a", "1 (0.50 … 1.50)"), ("b", "2"))
    assert view.detail == "In all cells. Decided on its own, but not together with all other claims."
    assert (view.sensitivity, view.numbers, view.same_cells, view.where, view.cause) == (
        *("holds in 3 of 4", 0, True),
        *("", ""),
    )
    plain = claim_view(
        replace(made, claim=claim(section="abstract"), rests_on=frozenset({("x", "q")})), "", {("x", "q")}
    )
    assert (plain.section, plain.same_cells, plain.detail) == ("abstract", False, "In all cells.")
    failed = JudgedClaim(claim(cause="it rains"), Verdict.FAILS)
    assert (
        claim_view(failed).cause == "it rains"
        and claim_view(replace(failed, verdict=Verdict.HOLDS)).cause == ""
    )


@pytest.mark.parametrize(("letters", "folded"), [(120, False), (121, True)])
def test_a_long_list_of_cells_is_folded_and_counted(letters: int, folded: bool) -> None:
    made = JudgedClaim(claim(), Verdict.HOLDS, where="x" * letters, tally="counted")
    assert _detail_text(made) == ("Counted" if folded else "X" + "x" * 119)
    assert claim_view(made).where == ("x" * 121 if folded else "")


def test_conditions_are_counted_by_verdict() -> None:
    conditions = ((Verdict.HOLDS, "a"), (Verdict.FAILS, "b"), (Verdict.FAILS, "c"), (Verdict.UNDECIDED, "d"))
    made = JudgedClaim(claim(), Verdict.FAILS, conditions=conditions)
    assert _detail_text(made) == "Of 4 conditions, 1 holds, 2 fail, 1 undecided."
    assert claim_view(made).conditions == conditions


def test_verdicts_are_counted_in_their_order() -> None:
    counts = count([Verdict.DIFFERS, Verdict.AGREES, Verdict.DIFFERS])
    assert list(counts.items()) == [(Verdict.AGREES, 1), (Verdict.DIFFERS, 2)]


def test_parts_of_cells_that_were_not_run_are_named_by_kind_and_others_with_their_reason() -> None:
    left_out = [
        Omitted("table", "a"),
        Omitted("figure", "f", StudyError("wrong")),
        Omitted("table", "b", NotRunError("x")),
        Omitted("claim", "c"),
        Omitted("finding", "", NotRunError("x")),
    ]
    assert omissions(left_out) == (
        "Of cells that were not run: tables a, b",
        "Of cells that were not run: claim c",
        "Of cells that were not run: the study's finding",
        "wrong",
    )
    assert omissions([]) == ()


def test_failed_connections_are_reported_of_three_kinds_of_cells() -> None:
    cells = grid(n=[1, 2, 3, 4, 5, 6])

    def told(*texts: str) -> str:
        made = make_results(cells[: len(texts)], {"q": ""}, {})
        failed = {cell.id: text for cell, text in zip(cells, texts, strict=False) if text}
        return _failed_connections(replace(made, failed=failed))

    assert told("", "") == "" and told("x failed") == "x failed"
    assert told("a", "", "a") == "a (n: 1 and 1 more cell)"
    assert told("a", "b", "a", "a") == "a (n: 1 and 2 more cells); b (n: 2)"
    assert told("a", "b", "c", "d") == "a (n: 1); b (n: 2); c (n: 3); others in 1 more cell"
    assert told("a", "b", "c", "d", "d", "e").endswith("; others in 3 more cells")


def test_sets_are_alike_by_what_they_share() -> None:
    assert _similarity({1, 2, 3}, {2, 3, 4}) == 0.5
    assert (_similarity({1}, {2}), _similarity(set(), set()), _similarity({1}, {1})) == (0.0, 0.0, 1.0)


def test_a_line_of_verdicts_has_yes_no_or_nothing() -> None:
    ((cell,),) = printed(judgement=judgement(Verdict.DIFFERS, compatible=False, close=None, note="")).cells
    assert _csv_line(cell, as_printed=False) == [
        *("t", "c0", "q0", "s", "1", "0.5", "1.5", "5", "1.5", "differs", "", "no", "", "yes")
    ]
    assert _csv_line(cell._replace(published=Published(1.5, 0.05, "1.50")), as_printed=True)[8] == "1.50"
    empty = cell._replace(estimate=None, judgement=None, published=None, note="n")
    assert _csv_line(empty, as_printed=True) == [
        *("t", "c0", "q0", "", "", "", "", "0", "", "", "n", "", "", "")
    ]
    marked = cell._replace(judgement=judgement(Verdict.NOT_JUDGED), note="n")
    assert _csv_line(marked, as_printed=False)[10] == "n: 95 % of runs between 0.4 and 1.6"
    unknown = cell._replace(judgement=judgement(Verdict.NOT_JUDGED, prediction_low=NAN), note="n")
    assert _csv_line(unknown, as_printed=False)[10] == "n"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a  b\nc", "a b c"),
        ("<b> & co", "&lt;b&gt; &amp; co"),
        ("a*b_c`d|e~f$g\\h[i]", "a\\*b\\_c\\`d\\|e\\~f\\$g\\\\h\\[i\\]"),
        ("# x", "\\# x"),
        ("- x", "\\- x"),
        ("#x", "#x"),
        ("12. x", "12\\. x"),
        ("1) x", "1\\) x"),
        ("1.5 x", "1.5 x"),
        ("--", "\\--"),
    ],
)
def test_nothing_in_a_text_is_markdown(text: str, escaped: str) -> None:
    assert markdown_text(text) == escaped
    assert markdown_text(markdown_code("a|b")) == "`a\\|b`" and markdown_code("a\n `b`") == "a \\`b\\`"
    assert markdown_text(3) == 3 and markdown_text(None) is None


def test_flows_have_the_colours_of_the_palette_again_and_again() -> None:
    flows = [f"f{k}" for k in range(10)]
    assert [find_colour_place(flow, flows) for flow in ("f0", "f7", "f8", "x")] == [0, 7, 0, None]
    assert set(DARK) <= set(range(len(PALETTE)))


def figure(**keys: Any) -> Figure:
    return Figure.model_validate(
        {"id": "f", "title": "F", "kind": "line", "x": "iw", "quantity": "q", **keys}
    )


def test_kernel_and_simulator_are_reported_apart_by_dashes_and_hollow_bars() -> None:
    names = ["reno, kernel", "reno, simulator", "cubic, kernel", "cubic, simulator"]
    assert looks.choose_colours(names, [], figure()) == [PALETTE[0], PALETTE[0], PALETTE[1], PALETTE[1]]
    assert looks.choose_dashes(names, figure()) == [looks.DASHES[0], looks.DASHES[1]] * 2
    assert looks.choose_fills(names, ["#1", "#1", "#2", "#2"], figure()) == ["#1", "transparent"] * 1 + [
        *("#2", "transparent")
    ]
    assert looks.name_series(names) == {"reno, kernel": "reno", "cubic, kernel": "cubic"}
    assert looks.name_series(["kernel", "simulator"]) == {"kernel": "kernel", "simulator": "simulator"}
    assert looks.name_series(["a", "b"]) == {"a": "a", "b": "b"}
    assert [looks.without_source(name) for name in (*names[:2], "kernel", "reno")] == [
        "reno",
        "reno",
        "",
        "reno",
    ]


def test_colours_of_flows_that_a_figure_does_not_show_are_taken_last() -> None:
    flows = ["a", "b", "c"]
    shown = looks.choose_colours(["b", "x", "y"], flows, figure())
    assert shown == [PALETTE[1], PALETTE[3], PALETTE[4]]
    others = [f"x{k}" for k in range(7)]
    assert looks.choose_colours(["b", *others], flows, figure()) == [
        PALETTE[k] for k in (1, 3, 4, 5, 6, 7, 0, 2)
    ]
    # The nearest colour of those that no flow has is taken last next to a kernel.
    sources = ["x, kernel", "x, simulator", "y, kernel", "y, simulator"]
    assert looks.choose_colours(sources, flows, figure()) == [PALETTE[3], PALETTE[3], PALETTE[5], PALETTE[5]]


def test_more_lines_than_dashes_begin_again() -> None:
    names = [f"n{k}" for k in range(10)]
    assert looks.choose_dashes(names, figure())[7:] == [looks.DASHES[7], looks.DASHES[1], looks.DASHES[2]]
    assert len(looks.DASHES) == 8 and looks.DASHES[0] == [1, 0] and looks.DASHES[3] == [8, 3, 2, 3]


def test_a_report_links_only_to_the_web() -> None:
    from cwndlab.report.model import ReportView

    fields = dict.fromkeys(ReportView._fields, "")
    for url, kept in (
        ("https://a.org/x", True),
        ("http://a.org", True),
        ("javascript:x", False),
        ("https:///x", False),
        ("https://a.org/<x", False),
        ("ftp://a.org", False),
        ("", False),
    ):
        view: Any = ReportView(**{**fields, "url": url})  # type: ignore[arg-type]
        assert _with_safe_url(view).url == (url if kept else "")


def test_a_readme_keeps_its_emphasis_code_and_lists_and_loses_its_pictures() -> None:
    html = readme_html("# Title\n\na **b** *c* `d`\\\n![alt](x.png) <i>\n\n- e\n\n###### deep\n\n## two\n")
    assert html == (
        "<p>a <strong>b</strong> <em>c</em> <code>d</code><br />\nalt &lt;i&gt;</p>\n"
        "<ul>\n<li>e</li>\n</ul>\n<h6>deep</h6>\n<h3>two</h3>\n"
    )
    assert readme_html("") == "" and readme_html("no title") == "<p>no title</p>\n"
    # Only a first heading is the title.
    assert readme_html("a\n\n# b\n") == "<p>a</p>\n<h2>b</h2>\n"
    assert readme_html("## a\n") == "<h3>a</h3>\n"
