"""The live part of a report in a real browser, from disk."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import cwndlab
import synthetic
from cwndlab.apps.live.embed import engine_module
from cwndlab.apps.rewrite.pdf import print_pdf
from cwndlab.base.errors import OutputError
from cwndlab.report.judge import Outputs
from cwndlab.stats.results import Results

WEB = Path(__file__).parents[2] / "web"
MODULE = Path(cwndlab.__file__).parent / "report" / "live" / "engine.wasm.gz"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_module = pytest.mark.skipif(
    not MODULE.exists(), reason="no WebAssembly module: rustup lacks wasm32-unknown-unknown"
)


def embedded(page: str, part: str) -> str:
    found = re.search(f'id="live-{part}">([^<]*)</script>', page)
    assert found is not None
    return found[1]


def cells_of(page: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(embedded(page, "data"))))


@pytest.fixture(scope="module")
def report(minute_report: Path) -> Path:
    return minute_report


@pytest.fixture(scope="module")
def seen(report: Path) -> Any:
    if CHROMIUM is None or shutil.which("node") is None or not (WEB / "node_modules").exists():
        pytest.skip("needs chromium, node and the packages in web/ (`npm ci --prefix web`)")
    page = report.read_text()
    cells = cells_of(page)
    for cell in cells["cells"].values():
        cell["digest"] = "0" * 64
    packed = base64.b64encode(gzip.compress(json.dumps(cells).encode())).decode()
    damaged = report.with_name("damaged.html")
    page = page.replace(embedded(page, "data"), packed)
    page = re.sub(
        r'(data-of="Published numbers".*?data-verdict=")[^"]*', r"\1differs", page, count=1, flags=re.DOTALL
    )
    # Reports of many tables fold them.
    page = page.replace('<div id="table-', '<details open><summary>A table</summary><div id="table-')
    damaged.write_text(page.replace(" data-cell=", ' class="differs" data-cell=', 1))
    command = ["node", "browser.mjs", CHROMIUM, str(report), str(damaged), str(report.parent)]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_module
def test_a_click_on_a_number_runs_its_cell_with_the_bytes_of_the_table(seen: Any) -> None:
    assert seen["check"].startswith("✓ Same bytes as replicate 0")
    assert seen["title"].startswith("TCP variant: Tahoe, initial window: 1 packet,")
    command = "cwndlab explain study.toml --set variant=tahoe,iw=1,size=as-traced --seed 2416"
    assert seen["command"] == command
    assert "rate (Mb/s)" in seen["totals"]
    assert min(seen["colours"]) > 3  # every graph has axes and series


@needs_module
def test_the_page_notices_other_bytes_than_the_tables_even_if_these_are_folded(seen: Any) -> None:
    assert seen["damaged"].startswith("✗ Not the bytes")


@needs_module
def test_graphs_zoom_by_mouse_and_show_values(seen: Any) -> None:
    assert re.match(r"\d+\.\d{6} s · acknowledged", seen["hover"])
    assert seen["dragZooms"]
    assert seen["resetShowsAll"]
    assert seen["legendHides"]


@needs_module
def test_everything_works_by_keyboard_alone(seen: Any) -> None:
    assert seen["escapeCloses"]
    assert seen["focusReturns"]
    assert seen["keyboardCheck"].startswith("✓")
    assert seen["keyboard"] == [True, True, True]


@needs_module
def test_a_verdict_shows_only_the_rows_that_have_it_and_again_all(seen: Any) -> None:
    everything, different, filtered, again = seen["rows"]
    assert 0 < different == filtered < everything == again


@needs_module
def test_a_sentence_shows_its_moment_in_the_graphs(seen: Any) -> None:
    text, zoomed, marked = seen["explained"]
    assert re.match(r"[\d.]+ to [\d.]+ s \(2\.50 s\): losses were being repaired", text)
    assert zoomed and marked


@needs_module
def test_a_claim_leads_to_its_numbers_and_back(seen: Any) -> None:
    text, marked, claim, focused, left = seen["trail"]
    assert text == f"{claim.removeprefix('claim-')}: number 1 of {marked}"
    assert focused == claim
    assert marked > left == 0
    assert claim.removeprefix("claim-") in seen["claimsOfCell"]


@needs_module
def test_a_heading_sorts_its_table_both_ways(seen: Any) -> None:
    low, up, high, down = seen["sorted"]
    assert (up, down) == ("ascending", "descending")
    assert low < high


@needs_module
def test_nothing_overflows_or_is_tiny_on_a_telephone(seen: Any) -> None:
    assert seen["narrow"] == [0, 0]
    assert seen["smallest"] >= 12


@needs_module
def test_every_figure_fits_its_column_at_every_width_in_legible_text(seen: Any) -> None:
    assert len(seen["figures"]) >= 5 * 4
    for one in seen["figures"]:
        assert (one["shown"], one["over"]) == (1, 0), one
        assert one["size"] >= 10, one


@needs_module
def test_nothing_is_fetched_and_no_error_is_logged(seen: Any) -> None:
    assert seen["errors"] == []
    assert all(url.startswith("file://") and url.endswith(".html") for url in seen["requests"])


@needs_module
def test_the_report_is_complete_without_scripts(seen: Any) -> None:
    assert seen["withoutScripts"]


def test_a_pdf_has_the_headings_as_bookmarks(report: Path, tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    content = print_pdf(report, tmp_path / "report.pdf").read_bytes()
    bookmarks = re.findall(rb"/Title \(([^)]*)\)", content)
    assert {b"Claims", b"The whole minute", b"Both starts of Tahoe", b"What was run"} <= set(bookmarks)


INCAST = """
title = "DCTCP with sixteen senders at once"
measure = ["completion_time", "goodput", "timeouts", "loss_rate"]
[dumbbell]
rate = "1Gbps"
rtt = "0.2ms"
buffer = "100pkt"
queue = ["drop-tail", { kind = "red", min_th = "20pkt", max_th = "21pkt", ecn = true }]
[[dumbbell.flows]]
name = "senders"
cc = ["reno", "cubic", "dctcp"]
count = [4, 8, 16, 32, 64]
bytes = "64kB"
start = "0s"
[run]
duration = "2s"
replicates = 3
"""


def test_the_figures_of_a_pdf_fit_its_pages_and_leave_none_empty(tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    cwndlab.Study.from_toml(INCAST).run(tmp_path / "out", threads=1)
    content = print_pdf(tmp_path / "out" / "report.html", tmp_path / "report.pdf").read_bytes()
    # four figures on three pages, the first below the heading; two of table; what was measured and run
    assert len(re.findall(rb"/Type /Page\b(?!s)", content)) <= 7


def test_a_pdf_without_a_browser_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutputError, match="install Chromium"):
        print_pdf(tmp_path / "report.html", tmp_path / "report.pdf")


@needs_module
def test_only_the_reports_own_script_may_run(report: Path) -> None:
    page = report.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    sources = re.search(r"script-src ([^;]*);", policy[1])
    assert sources is not None
    assert re.fullmatch(r"'sha256-[\w+/=]{44}' 'wasm-unsafe-eval'", sources[1])
    assert "default-src 'none'" in policy[1]
    assert page.count("</script>") == 4
    assert len(page.encode()) < 1_500_000


@needs_module
def test_the_embedded_scenarios_are_those_that_ran(report: Path) -> None:
    content = cells_of(report.read_text())
    for name, cell in content["cells"].items():
        scenario = {key: content["sections"][place] for key, place in cell["sections"].items()}
        records = cwndlab._core.run(json.dumps(scenario), int(content["seed"]), 0)
        assert records.digest == cell["digest"], name


@needs_module
def test_writing_a_report_again_measures_no_cell(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cells_of(report.read_text())
    monkeypatch.setattr(cwndlab._core, "Scenario", None)
    cwndlab.results.execution.report_again(report.parent)
    assert cells_of(report.read_text()) == before


@needs_module
def test_runs_of_another_engine_have_no_live_part() -> None:
    why_not = engine_module("of last year")
    assert isinstance(why_not, str) and "Another version of the engine" in why_not


def test_a_report_says_why_it_has_no_live_part(tmp_path: Path) -> None:
    outputs = Outputs("A study", tmp_path)
    synthetic.report(outputs, Results(()), tmp_path, runnable="The runs are of a kernel.")
    page = (tmp_path / "report.html").read_text()
    assert "The runs are of a kernel." in page
    assert "<script" not in page
