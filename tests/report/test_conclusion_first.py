"""The order of a report: the finding and its figure, claims, and tables with the figures that show them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import synthetic
from cwndlab.base.errors import StudyError
from cwndlab.report.contents import Outputs, finding_text
from cwndlab.report.judge import check
from cwndlab.report.render import readme_html
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import AnyTable, Claims, Figure

WEB = synthetic.rfc2415()
NAMED = replace(
    WEB,
    labels=replace(
        WEB.labels,
        axes={"webs": AxisInfo("browsers", values={"8": "eight"}), "iw": AxisInfo(unit="segments")},
    ),
)


def table(name: str, quantity: str) -> dict[str, Any]:
    column = {"heading": "IW=1", "quantity": quantity, "where": {"iw": 1}}
    return {"id": name, "title": name, "rows": ["webs", "ftps"], "columns": [column]}


def figure(name: str, quantity: str) -> Figure:
    where = {"ftps": 0, "webs": 8}
    return Figure(id=name, title=name, kind="line", x="iw", quantity=quantity, where=where)


def outputs(folder: Path, **more: Any) -> Outputs:
    claims = [
        {
            "id": "falls",
            "section": "3",
            "text": "It falls.",
            "assert": "all(page_delay[iw=3] < page_delay[iw=1])",
        },
        {
            "id": "rises",
            "section": "3",
            "text": "It rises.",
            "assert": "all(page_delay[iw=3] > page_delay[iw=1])",
        },
    ]
    given: dict[str, Any] = {
        "tables": TypeAdapter(list[AnyTable]).validate_python(
            [table("a", "page_delay"), table("b", "power")]
        ),
        "figures": [figure("of-power", "power"), figure("of-delay", "page_delay")],
        "claims": Claims.model_validate({"claims": claims}).claims,
        **more,
    }
    return Outputs("A study", folder, **given)


def test_the_finding_comes_first_and_each_figure_next_to_the_table_with_its_numbers(tmp_path: Path) -> None:
    said = "Delays fall to {mean(page_delay[webs=8, iw=3]):2} s."
    view = synthetic.report(outputs(tmp_path, finding=said, key_figure="of-delay"), NAMED, tmp_path)
    assert re.fullmatch(r"Delays fall to 0\.\d\d s\.", view.finding)
    assert view.key_figure is not None and view.key_figure.id == "of-delay"
    assert {t.id: [f.id for f in t.figures] for t in view.tables} == {"a": [], "b": ["of-power"]}
    page = (tmp_path / "report.html").read_text()
    order = ["Delays fall to", 'id="figure-of-delay"', 'id="claims"', 'id="table-b"', 'id="figure-of-power"']
    assert [page.index(part) for part in order] == sorted(page.index(part) for part in order)


def test_axes_and_their_values_have_titles_and_units(tmp_path: Path) -> None:
    view = synthetic.report(outputs(tmp_path), NAMED, tmp_path)
    found = view.tables[0]
    assert getattr(found, "row_headings", ()) == ("browsers", "ftps")
    assert found.rows[0].keys == ("eight", "0")  # type: ignore[union-attr]
    assert NAMED.labels.setting("iw", 3) == "iw: 3 segments"
    assert NAMED.labels.setting("iw", 1) == "iw: 1 segment"


def test_without_a_source_the_figure_is_the_finding(tmp_path: Path) -> None:
    view = synthetic.report(outputs(tmp_path), WEB, tmp_path)
    assert view.finding.startswith("Power rises from 1.80 to 2.14 MB/s")


def test_without_a_finding_of_its_own_a_report_of_a_paper_says_how_the_claims_ended(tmp_path: Path) -> None:
    view = synthetic.report(outputs(tmp_path, source="A memo"), WEB, tmp_path)
    assert view.finding == "1 of the 2 claims that could be checked holds; rises fails."
    claims = outputs(tmp_path).claims
    for chosen, said in (([0], "The one claim that could be checked holds."), ([1, 1], "None of the 2 ")):
        view = synthetic.report(
            outputs(tmp_path, source="A memo", claims=[claims[k] for k in chosen]), WEB, tmp_path
        )
        assert view.finding.startswith(said)
    known = [claims[0], claims[1].model_copy(update={"cause": "Windows"})]
    view = synthetic.report(outputs(tmp_path, source="A memo", claims=known), WEB, tmp_path)
    assert view.finding == "1 of the 2 claims that could be checked holds; 1 fails: Windows."
    few = replace(WEB, cells=tuple(cell for cell in WEB.cells if cell.axes["iw"] == 1))
    view = synthetic.report(outputs(tmp_path, finding="{mean(power[iw=3])}"), few, tmp_path)
    assert view.finding == ""
    assert any("finding" in line for line in view.omitted)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"finding": "{mean(powre[iw=3])}"}, "power"),
        ({"finding": "{power}"}, "not a single number"),
        ({"key_figure": "of-powr"}, "of-power"),
    ],
)
def test_what_is_wrong_with_a_finding_is_reported_before_a_run(
    tmp_path: Path, wrong: dict[str, str], says: str
) -> None:
    with pytest.raises(StudyError, match=says):
        check(outputs(tmp_path, **wrong), WEB)


def test_a_finding_shows_the_digits_that_it_asks_for() -> None:
    shown = finding_text("{max(power[webs=8, iw=1]):3} and {max(power[webs=8, iw=1]):0}", WEB)
    assert re.fullmatch(r"\d\.\d{3} and \d", shown)


def test_paragraphs_of_a_finding_whose_cells_were_not_run_are_left_out() -> None:
    few = replace(WEB, cells=tuple(cell for cell in WEB.cells if cell.axes["iw"] == 1))
    said = "Power is {max(power[iw=1]):1}.\n\nIt becomes {max(power[iw=3]):1}."
    assert re.fullmatch(r"Power is \d\.\d\. It becomes \d\.\d\.", finding_text(said, WEB))
    assert re.fullmatch(r"Power is \d\.\d\.", finding_text(said, few))
    with pytest.raises(StudyError):
        finding_text("{max(power[iw=3])}", few)


def test_a_finding_over_one_axis_stands_once_for_each_of_its_values() -> None:
    shown = finding_text("Power is {max(max(power, over=webs), over=ftps):1}.", WEB)
    said = re.findall(r"(\S+): (\d)[^.]*\. Power is (\d\.\d)\.", shown)
    assert [(axis, value) for axis, value, _ in said] == [("iw", str(iw)) for iw in WEB.axes["iw"]]
    assert len({power for *_, power in said}) > 1


def test_a_readme_is_shown_without_its_title_and_its_links_lead_to_the_web() -> None:
    text = (
        "# Title\n\n## Part\n\n[a](../b.md) [c](https://d.example/) ![e](f.png) <b>g</b> [h](javascript:i)\n"
    )
    page = readme_html(text)
    assert "Title" not in page
    assert "<h3>Part</h3>" in page
    assert re.findall(r'href="([^"]*)"', page) == ["https://d.example/"]
    assert "&lt;b&gt;g" in page and "<img" not in page


def test_numbers_are_marked_with_the_claims_that_rest_on_them(tmp_path: Path) -> None:
    view = synthetic.report(outputs(tmp_path), WEB, tmp_path)
    delays, powers = view.tables
    assert {n.claims for row in delays.rows for n in row.numbers} == {(1, 2)}  # type: ignore[union-attr]
    assert {n.claims for row in powers.rows for n in row.numbers} == {()}  # type: ignore[union-attr]
    assert [(c.numbers, c.tables) for c in view.claims] == [(12, (("a", "a"),))] * 2
    assert 'data-claims="1 2"' in (tmp_path / "report.html").read_text()


def test_a_heading_of_a_table_has_a_text(tmp_path: Path) -> None:
    """Screen readers announce each heading; a column of no group has none there."""
    mixed = table("a", "power")
    mixed["columns"] = [{**mixed["columns"][0], "group": "both"}, *mixed["columns"]]
    tables = TypeAdapter(list[AnyTable]).validate_python([mixed])
    synthetic.report(outputs(tmp_path, tables=tables), WEB, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert 'scope="colgroup">both</th><td colspan="1"></td>' in page
    assert not re.search(r"<th[^>]*></th>", page)


@pytest.mark.parametrize(("count", "heights"), [(3, (440, 290)), (4, (290, 290))])
def test_figures_that_fill_two_columns_are_of_one_size(
    tmp_path: Path, count: int, heights: tuple[int, int]
) -> None:
    """At 1280 pixels, a large one of four left half a row empty."""
    figures = [figure(f"of-{k}", "power") for k in range(count)]
    shown = outputs(tmp_path, figures=figures, tables=[], claims=[])
    synthetic.report(shown, WEB, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert ('<div class="lead">' in page) == (count == 3)
    for one, height in zip(figures, heights, strict=False):
        svg = (tmp_path / f"figures/{one.id}.svg").read_text()
        assert re.search(rf'<path d="M0,{height}h\d+" stroke="#888888"/>', svg), svg[:3000]
