"""The written report: complete, offline, and deaf to markup in what a study says."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import synthetic
from cwndlab import metrics
from cwndlab.api import Study
from cwndlab.apps.gallery.index import write_index
from cwndlab.base.errors import OutputError
from cwndlab.report import methods, render
from cwndlab.report.contents import Outputs
from cwndlab.report.digits import estimate_text, interval_text
from cwndlab.report.judge import Omitted, judge, omissions
from cwndlab.report.methods import definitions
from cwndlab.report.model import Fact, ReportView
from cwndlab.report.render import markdown_code, markdown_text
from cwndlab.report.svg import inline_svg
from cwndlab.report.verdict_files import CSV_COLUMNS, read_incompatible, read_summary
from cwndlab.report.wording import table_view
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Variation
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import AnyTable, Claim, Claims, Figure, Mark
from cwndlab.study.schema import Quantity

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"`|[a](javascript:alert(3))&lt;{{7*7}}</style>"


def outputs(folder: Path, say: str = "", **more: Any) -> Outputs:
    """A small study on synthetic.rfc2415; `say` is put wherever a study has a text."""
    (folder / "t.csv").write_text("webs,ftps,iw1,iw3\n8,0,0.56,17.9\n16,1,1.04,24.0\n32,3,1.56,29.5\n")
    tables: list[dict[str, Any]] = [
        {
            "id": "t1",
            "title": f"Table 1 {say}",
            "about": say or None,
            "rows": ["webs", "ftps"],
            "published": "t.csv",
            "rounding": {"half_width": 0.005, "reason": f"printed so {say}"},
            "columns": [
                {"heading": f"IW=1 {say}", "quantity": "page_delay", "where": {"iw": 1}, "published": "iw1"},
                {
                    "group": f"% decrease {say}",
                    "heading": "IW=3",
                    "quantity": "page_delay",
                    "where": {"iw": 3},
                    "published": "iw3",
                    "compare": "decrease(iw=1)",
                },
            ],
        }
    ]
    figures = [
        Figure(
            id="power",
            title=f"Power {say}",
            about=say or None,
            kind="line",
            x="iw",
            quantity="power",
            series=["webs"],
            where={"ftps": 0},
            y_title=f"power {say}",
        )
    ]
    claims = [
        {
            "id": "falls",
            "section": "3",
            "text": f"It falls. {say}",
            "assert": "all(page_delay[iw=3] < page_delay[iw=1])",
        },
        {
            "id": "wrong",
            "section": "3",
            "text": "It rises.",
            "assert": "all(page_delay[iw=3] > page_delay[iw=1])",
        },
    ]
    given: dict[str, Any] = {
        "title": f"A study {say}",
        "source": f"RFC 2415 {say}",
        "url": "https://www.rfc-editor.org/rfc/rfc2415",
        "about": f"About. {say}\n\nMore.",
        "tables": TypeAdapter(list[AnyTable]).validate_python(tables),
        "figures": figures,
        "marks": [Mark(table="t1", rows={"webs": 32}, reason=f"misprint {say}")],
        "claims": Claims.model_validate({"claims": claims}).claims,
        **more,
    }
    return Outputs(folder=folder, **given)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ReportView]:
    folder, out = tmp_path_factory.mktemp("study"), tmp_path_factory.mktemp("out")
    facts = [Fact("replicates", "10"), Fact("run again", "cwndlab run rfc2415")]
    variations = [
        Variation("access delay", "10 ms", synthetic.rfc2415(decrease=dict.fromkeys((1, 2, 3, 4), 0.0)))
    ]
    return out, synthetic.report(
        outputs(folder), synthetic.rfc2415(), out, facts=facts, variations=variations
    )


def test_everything_promised_is_written(written: tuple[Path, ReportView]) -> None:
    out, _ = written
    found = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert found == [
        "claims.csv",
        "figures/power.svg",
        "report.html",
        "report.md",
        "summary.json",
        "verdicts.csv",
    ]


def test_the_csv_says_which_numbers_the_line_that_counts_counts(written: tuple[Path, ReportView]) -> None:
    """`run` prints the line of the report, from summary.json."""
    rows = list(csv.DictReader((written[0] / "verdicts.csv").read_text().splitlines()))
    found = read_incompatible(read_summary(written[0]))
    assert found is not None and found.text == written[1].chance and 0 < found.judged < len(rows)
    assert found.judged == sum(row["counted"] == "yes" for row in rows)
    assert found.found == sum(row["counted"] == "yes" and row["compatible"] == "no" for row in rows)


def test_verdicts_csv_has_the_agreed_columns_and_a_line_for_every_number(
    written: tuple[Path, ReportView],
) -> None:
    rows = list(csv.DictReader(io.StringIO((written[0] / "verdicts.csv").read_text())))
    assert tuple(rows[0]) == CSV_COLUMNS
    columns = "table,cell,quantity,unit,measured,ci_low,ci_high,replicates,published,verdict,note"
    assert ",".join(CSV_COLUMNS) == f"{columns},compatible,close,counted"
    assert len(rows) == 6
    assert rows[0]["verdict"] == "agrees"
    assert rows[4]["verdict"] == "source suspect"
    assert float(rows[0]["ci_low"]) < float(rows[0]["measured"]) < float(rows[0]["ci_high"])
    assert rows[1]["quantity"] == "decrease(page_delay)"


def test_html_and_markdown_show_the_same_numbers(written: tuple[Path, ReportView]) -> None:
    out, view = written
    page, text = (out / "report.html").read_text(), (out / "report.md").read_text()
    table = view.tables[0]
    for row in getattr(table, "rows", ()):
        for n in row.numbers:
            assert n.mark is not None
            for shown in (n.measured, n.interval, n.published, n.relative):
                assert shown in page
                assert shown in text
    for word in (
        "source suspect",
        "holds",
        "fails",
        "access delay",
        "cwndlab run rfc2415",
        "prediction interval",
    ):
        assert word in page
        assert word in text


def test_every_verdict_is_worded_not_only_coloured(written: tuple[Path, ReportView]) -> None:
    page = (written[0] / "report.html").read_text()
    for style, word in re.findall(r'class="chip ([\w-]+)">(?:<span[^>]*>.</span>)? ?([^<]+)</span>', page):
        assert style.replace("-", " ") == word.strip()
    assert len(re.findall(r'class="chip ', page)) > 10


class Finder(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def parsed(page: str) -> Finder:
    finder = Finder()
    finder.feed(page)
    return finder


def test_the_page_asks_nothing_of_any_server_and_runs_nothing(written: tuple[Path, ReportView]) -> None:
    page = (written[0] / "report.html").read_text()
    found = parsed(page)
    assert not found.tags & {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
    for tag, name, value in found.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href") and not value.startswith("#"):
            assert (tag, value) == ("a", "https://www.rfc-editor.org/rfc/rfc2415")
    assert "@import" not in page
    assert "url(http" not in page
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_what_a_study_says_never_becomes_markup(tmp_path: Path) -> None:
    plain_dir, evil_dir = tmp_path / "plain", tmp_path / "evil"
    results = synthetic.rfc2415()
    synthetic.report(outputs(tmp_path, "harmless"), results, plain_dir)
    facts = [Fact(EVIL, EVIL), Fact(EVIL, EVIL)]
    synthetic.report(outputs(tmp_path, EVIL), results, evil_dir, facts=facts)
    plain, evil = (parsed((d / "report.html").read_text()) for d in (plain_dir, evil_dir))
    assert evil.tags <= plain.tags | {"dt", "dd", "code"}
    assert {(t, n) for t, n, _ in evil.attributes} <= {(t, n) for t, n, _ in plain.attributes}
    page = (evil_dir / "report.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert page.count("</style>") == 1
    assert "IW=3" not in page[: page.index("</style>")]  # headings are escaped in style rules
    assert "{{7*7}}" in page
    text = re.sub(r"(?<!\\)`[^`\n]*`", "", (evil_dir / "report.md").read_text())
    assert "<script" not in text
    assert "<img" not in text
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    svg = (evil_dir / "figures/power.svg").read_text()
    assert "<script" not in svg
    assert not [a for a in parsed(svg).attributes if a[1].startswith("on")]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "https://a/'onx=",
        "file:///etc/passwd",
        "",
    ],
)
def test_a_source_links_to_the_web_or_nowhere(tmp_path: Path, url: str) -> None:
    synthetic.report(outputs(tmp_path, url=url, figures=[]), synthetic.rfc2415(), tmp_path / "o")
    page, text = (tmp_path / "o/report.html").read_text(), (tmp_path / "o/report.md").read_text()
    assert all(value.startswith("#") for _, name, value in parsed(page).attributes if name == "href")
    assert "<" not in text.split("##")[0]


def test_a_figure_with_more_than_a_drawing_is_refused() -> None:
    start = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">'
    assert "onload" not in inline_svg(start.replace("<svg", '<svg onload="x()"') + '<path d="M0,0"/></svg>')
    for inside in ("<script/>", "<foreignObject/>", "<image/>", "<a/>", "<style/>"):
        with pytest.raises(ValueError, match="no place"):
            inline_svg(f"{start}{inside}</svg>")
    clipped = '<clipPath id="c"><path d="M0,0.12345"/></clipPath>'
    clipped += '<g clip-path="url(#c)"><path d="M0,0h1v1"/></g></svg>'
    assert inline_svg(start + clipped, "f-").count("f-c") == 2
    with pytest.raises(ValueError, match="refers to"):
        inline_svg(f'{start}<rect fill="url(https://x.example/)"/></svg>')


def test_equal_marks_of_a_figure_share_their_shape() -> None:
    mark = '<path transform="translate({},2.5)" d="M0,0L1,1" fill="#123456"/>'
    other = '<path transform="translate(9,9)" d="M0,0L2,2" fill="#123456"/>'
    start = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><g>'
    page = inline_svg(start + "".join(mark.format(x) for x in range(20)) + other + "</g></svg>", "f-")
    assert page.count('d="M0,0L1,1"') == 1
    assert page.count('href="#f-mark0"') == 20
    assert '<use href="#f-mark0" x="7" y="2.5" />' in page
    assert 'd="M0,0L2,2"' in page and page.count("<use") == 20


def test_a_part_that_was_not_run_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    results = synthetic.rfc2415()
    some = tuple(c for c in results.cells if c.axes["iw"] == 1)
    restricted = replace(results, cells=some)
    view = synthetic.report(outputs(tmp_path), restricted, tmp_path / "o")
    # the table shows what there is
    assert view.omitted == ("Of cells that were not run: claims falls, wrong",)
    assert "Not shown" in (tmp_path / "o/report.html").read_text()
    assert len(view.tables) == 1


def test_what_a_study_has_one_of_needs_no_name_where_it_was_not_run() -> None:
    parts = [Omitted("claim", "falls"), Omitted("finding", "")]
    assert omissions(parts) == (
        "Of cells that were not run: claim falls",
        "Of cells that were not run: the study's finding",
    )


def test_an_axis_that_no_cell_has_that_was_run_is_not_an_error_of_the_study(tmp_path: Path) -> None:
    results = synthetic.rfc2415()
    axes = dict.fromkeys(("webs", "ftps", "iw"), AxisInfo())
    without = tuple(c._replace(axes={"webs": c.axes["webs"]}) for c in results.cells if c.axes["ftps"] == 0)
    restricted = replace(results, cells=without[::4], labels=replace(results.labels, axes=axes))
    view = synthetic.report(outputs(tmp_path), restricted, tmp_path / "o")
    assert view.omitted and not any("no axis" in line for line in view.omitted)


@pytest.mark.parametrize(
    ("low", "value", "high", "shown"),
    [(99.94, 99.952, 99.96, "99.95"), (0.0039, 0.0042, 0.0045, "0.004"), (98.2, 98.26, 98.31, "98.3")],
)
def test_a_value_is_shown_within_its_interval(low: float, value: float, high: float, shown: str) -> None:
    assert estimate_text(Interval(value, low, high, 5, "t"), 1 if value > 1 else 2) == shown


def test_a_share_next_to_zero_is_no_row_of_zeros() -> None:
    interval = Interval(2e-200, 1e-220, 3e-200, 3, "t")
    assert interval_text(interval, None) == "1.00e\N{MINUS SIGN}220 … 3.00e\N{MINUS SIGN}200"


def test_the_rounding_of_equal_runs_is_no_row_of_digits() -> None:
    rounded = Interval(0.6434316350001, 0.643431635, 0.6434316350002, 3, "t")
    assert (estimate_text(rounded), interval_text(rounded, None)) == ("0.643", "equal to 6 digits in 3 runs")
    skewed = Interval(0.0424, 0.008565, 18.34, 5, "t")
    assert (estimate_text(skewed), interval_text(skewed, None)) == ("0.0424", "0.00856 … 18.3")
    narrow = Interval(159.55, 159.48, 159.62, 10, "t")
    assert (estimate_text(narrow), interval_text(narrow, None)) == ("159.6", "159.48 … 159.62")


def test_changes_that_one_run_would_not_tell_from_none_are_named(tmp_path: Path) -> None:
    results = synthetic.rfc2415()
    cell = results.only_cell({"webs": 32, "ftps": 3, "iw": 3}).id
    scattered = [v * (1.5 if k % 2 else 0.8) for k, v in enumerate(results.values(cell, "page_delay"))]
    wild = replace(results, data={**results.data, (cell, "page_delay"): scattered})
    for given, named in (
        (results, ": none of the 3 changes."),
        (wild, ", 1 of 3 changes, webs/ftps: 32/3 (IW=3)."),
    ):
        [table] = [t for t in synthetic.report(outputs(tmp_path), given, tmp_path).tables if t.id == "t1"]
        assert [r for r in table.remarks if r.startswith("Too unstable") and r.endswith(named)]


def test_each_number_has_its_metric_and_formula() -> None:
    found = definitions(Study.load("rfc2415").outline.quantities, synthetic.rfc2415(), {})
    texts = {d.metric: " ".join(d.text) for d in found}
    assert "p = drops / arrivals" in texts["drop_rate"] and "U = t_busy / T" in texts["link_utilization"]
    assert not any(sign in text for text in texts.values() for sign in ("$", "\\", "`"))
    [delay] = [d for d in found if d.metric == "median_delay"]
    assert delay.quantities[0] == "median page delay (s): traffic = web"


@pytest.mark.parametrize(
    ("tex", "line"),
    [
        (
            r"J = \frac{\left(\sum_{i=1}^{n} x_i\right)^2}{n \sum_{i=1}^{n} x_i^2}",
            "J = (Σᵢ₌₁ⁿ xᵢ)² / (n Σᵢ₌₁ⁿ xᵢ²)",
        ),
        (r"\bar r = \frac{1}{T} \int r(t)\,dt", "r̄ = (1 / T) ∫ r(t) dt"),
        (r"s = \frac{t_{on}}{t_{on} + t_{off}}", "s = tₒₙ / (tₒₙ + t_off)"),
        (r"p = \frac{\text{drops}}{\text{segments sent}}", "p = drops / segments sent"),
        (r"\frac{a + b}{c} - \frac{\unknown}{2}", "(a + b) / c - unknown / 2"),
        (r"\frac{1", "1 /"),
    ],
)
def test_a_formula_is_a_line_of_text(tex: str, line: str) -> None:
    assert methods.tex_as_text(tex) == line


def test_no_formula_of_a_metric_keeps_its_tex() -> None:
    for name in metrics.names():
        assert not set("$\\") & set(methods.formulas_as_text(metrics.get(name).formula)), name


def test_the_window_that_each_number_covers_is_stated() -> None:
    quantity = Quantity(name="page_delay", metric="median_delay")

    def stated(window: Callable[[str], tuple[float, float]]) -> str:
        results = synthetic.rfc2415()
        windows = {(cell.id, "page_delay"): window(cell.id) for cell in results.cells}
        [found] = definitions([quantity], results, windows)
        return found.quantities[0].removeprefix("page delay (s): measured ")

    assert stated(lambda cell: (1.5, 60.0)) == "from 1.5 s to 60 s"
    by_iw = stated(lambda cell: (0.0, 60.0) if cell.endswith("iw=1") else (10.0, 60.0))
    assert by_iw == "from 0 s to 60 s (iw = 1), from 10 s to 60 s (iw = 2, 3, 4)"
    one = stated(lambda cell: (0.0, 60.0) if cell == "webs=8,ftps=0,iw=1" else (10.0, 60.0))
    assert one == "from 0 s to 60 s (cells: 1), from 10 s to 60 s (cells: 47)"
    many = stated(lambda cell: (0.0, 30.0 + sum(int(part.split("=")[1]) for part in cell.split(","))))
    assert many == "from 0 s to 39 … 69 s, depending on the cell"


def test_intervals_are_bars_on_a_scale_that_the_columns_of_a_group_share() -> None:
    columns = [
        {"group": "delay", "heading": "a", "quantity": "page_delay", "where": {"iw": 1}},
        {"group": "delay", "heading": "b", "quantity": "page_delay", "where": {"iw": 4}},
    ]
    spec = TypeAdapter(AnyTable).validate_python(
        {"id": "t", "title": "T", "rows": ["webs", "ftps"], "columns": columns}
    )
    made = synthetic.rfc2415()
    results = replace(made, labels=replace(made.labels, flows=("b",)))
    [table] = judge(Outputs("A study", Path(), tables=[spec]), results).grids
    view = table_view(table, results.labels)
    bars = [number.bar for row in view.rows for number in row.numbers]
    assert {bar[3] for bar in bars if bar} == {None, 0}
    assert max(bar[2] for bar in bars if bar) == 100
    numbers = [n.estimate.value for line in table.cells for n in line if n.estimate]
    order = sorted(range(len(bars)), key=numbers.__getitem__)
    assert [bars[k][0] for k in order] == sorted(bar[0] for bar in bars)  # type: ignore[index]


def test_the_same_results_give_the_same_report_to_the_byte(tmp_path: Path) -> None:
    for name in ("a", "b"):
        synthetic.report(outputs(tmp_path), synthetic.rfc2415(), tmp_path / name)
    for file in ("report.html", "report.md", "verdicts.csv", "figures/power.svg"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_the_index_leads_to_every_report(written: tuple[Path, ReportView], tmp_path: Path) -> None:
    for name in ("a b", "rfc2415"):
        shutil.copytree(written[0], tmp_path / name)
    (tmp_path / "rfc2415/provenance.json").write_text('{"title": "<i>Windows</i>", "study": "rfc2415"}')
    (tmp_path / "lessons").mkdir()
    drawn = ("data:image/svg+xml;base64,", "cwnd")
    topics = [
        ("slow-start.html", "Slow & steady", "Windows.", *drawn),
        ("red.html", "RED", "A queue.", *drawn),
    ]
    (tmp_path / "lessons/lessons.json").write_text(json.dumps(topics))
    page = write_index(tmp_path).read_text()
    assert 'href="lessons/slow-start.html">Slow &amp; steady</a></h3>' in page
    assert "<p>Windows.</p>" in page and "<figcaption>cwnd</figcaption>" in page
    assert 'href="lessons/red.html">RED<' in page
    assert 'href="rfc2415/report.html">&lt;i&gt;Windows' in page
    assert 'href="a%20b/report.html"' in page
    assert "source suspect" in page
    assert "holds" in page
    with pytest.raises(OutputError, match="holds no reports"):
        write_index(tmp_path / "rfc2415")


def test_the_index_says_what_each_source_claimed_and_counts_failures_by_cause(tmp_path: Path) -> None:
    falls = {"section": "3", "assert": "all(power[iw=4] < power[iw=1])", "cause": "A <cause>"}
    claims = [Claim.model_validate({"id": f"falls-{k}", "text": "It falls.", **falls}) for k in range(2)]
    more = Claim.model_validate({"id": "alone", "text": "It falls alone.", **{**falls, "cause": None}})
    study = replace(outputs(tmp_path), claims=[*claims, more], claimed="Power falls.", finding="It rises.")
    view = synthetic.report(study, synthetic.rfc2415(), tmp_path / "web")
    assert view.causes == {"A <cause>": ["falls-0", "falls-1"]}
    report = (tmp_path / "web/report.html").read_text()
    assert '<li>A &lt;cause&gt;: <a href="#claim-falls-0">falls-0</a>' in report
    page = write_index(tmp_path).read_text()
    assert "<strong>Claimed:</strong> Power falls." in page and "<strong>Found:</strong> It rises." in page
    assert "<li>A &lt;cause&gt; (2 claims)</li><li>“It falls alone.”</li>" in page


@pytest.mark.parametrize(
    ("live", "said"),
    [
        ([], "None of them contains the simulator"),
        (["a"], "Select a number in one that is marked ▶"),
        (["a", "b"], "Select a number in it, and the page runs that cell."),
    ],
)
def test_the_index_promises_only_cells_that_a_report_can_run(
    tmp_path: Path, live: list[str], said: str
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.html").write_text('<script id="live-engine">' if name in live else "")
    page = write_index(tmp_path).read_text()
    assert said in page
    assert page.count("contains the simulator") == {0: 1, 1: 1, 2: 0}[len(live)]


def test_a_report_without_figures_loads_no_drawing_library(tmp_path: Path) -> None:
    code = (
        "import sys, cwndlab.report, cwndlab.report.render\n"
        "heavy = {'altair', 'vl_convert', 'scipy', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("0.56", "0.56"),
        ("1. item", "1\\. item"),
        ("- item", "\\- item"),
        ("+1.8 %", "+1.8 %"),
        ("# no heading\nsecond", "\\# no heading second"),
        ("<b>", "&lt;b&gt;"),
        ("[x](y)", "\\[x\\](y)"),
    ],
)
def test_text_in_markdown_is_only_text(text: str, escaped: str) -> None:
    assert markdown_text(text) == escaped


def test_code_in_markdown_cannot_be_left() -> None:
    assert markdown_code("x < 1 | y") == "`x < 1 \\| y`"
    assert markdown_code("a ` <b>") == "a \\` &lt;b&gt;"


def test_compiled_templates_are_kept_for_the_user_where_the_package_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    for _ in range(2):  # the second time, the folder is there
        made = render._environment.__wrapped__(False).get_template("index.html.j2")
        assert made is not None and list((tmp_path / "new/cwndlab/templates").iterdir())
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert render._template_cache() is None


def test_a_number_of_several_runs_has_its_flow_and_the_value_of_replicate_0(tmp_path: Path) -> None:
    study = Study.from_toml(
        'title = "t"\nmeasure = ["goodput"]\n[dumbbell]\nrate = "5Mbps"\nrtt = "20ms"\n'
        'flows = [{ cc = "reno" }, { cc = "cubic" }]\n[run]\nduration = "2s"\nreplicates = 3\n'
    )
    run = study.run(tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()
    found = re.findall(r'data-first="([^"]+)" data-flow="(\w+)"', page)
    assert [flow for _, flow in found] == ["reno", "cubic"]
    for text, flow in found:
        assert float(text) == pytest.approx(run.results.values("base", f"goodput_{flow}")[0], rel=0.01)
