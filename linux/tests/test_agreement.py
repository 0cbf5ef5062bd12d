"""Simulator, kernel and published value side by side; here two simulators: no kernel is needed."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import synthetic
from cwndlab.api import Study
from cwndlab.apps.compare.compare import compare_traces
from cwndlab.apps.twin.kernel_twin import KernelTwin, make_twin
from cwndlab.apps.twin.twin import Twin
from cwndlab.report.contents import Outputs
from cwndlab.report.judge import judge
from cwndlab.report.methods import describe_run
from cwndlab.report.write import build_view, write
from cwndlab.results.result_folder import open_folder
from cwndlab_linux import stack, stack_file


def two(study: Study, other: Study, folder: Path, figures: Sequence[str] = ()) -> list[dict[str, str]]:
    """The report of `other`, with `study` in the simulator's place; the lines of agreement.csv."""
    made = [each.run() for each in (study, other)]
    outline = study.outline
    assert study.folder is not None
    drawn = [figure for figure in outline.figures if figure.id in figures]
    outputs = Outputs(
        "t",
        study.folder,
        tables=outline.tables,
        marks=outline.marks,
        figures=drawn,
        quantities={quantity.name: quantity for quantity in outline.quantities},
    )
    judged = judge(outputs, made[1].results)
    kernel = KernelTwin.from_results(judged, make_twin(*made), (made[0].campaign, made[1].campaign))
    drawings = kernel.draw()
    kernel.save(folder)
    write(build_view(judged, drawings, twin=kernel.view()), judged, folder)
    with (folder / "agreement.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_published_numbers_stand_beside_both_and_the_first_differing_event_is_told(tmp_path: Path) -> None:
    chosen = {"grid": "minute", "variant": "tahoe", "iw": [1, 4], "size": "as-traced", "run.duration": "12s"}
    study = Study.load("rfc2416").set(chosen)
    rows = two(study, study.set({"tcp.dup_thresh": 4}), tmp_path)
    cell = "variant=tahoe,iw=1,size=as-traced"
    lines = {row["quantity"]: row for row in rows if row["table"] == "listing" and row["cell"] == cell}
    second = lines["time of line 2: ack 1"]
    assert second["published"] == "1.222" and float(second["simulator"]) == pytest.approx(1.222, abs=1e-3)
    verdicts = (second["sim_verdict"], second["kernel_verdict"], second["difference"])
    assert verdicts == ("agrees", "agrees", "0")
    assert lines["time of line 10: dupack 6"]["kernel_verdict"] == "differs"  # nothing is sent again there
    assert lines["time of line 10: dupack 6"]["note"].startswith("sent in answer")
    assert second["note"] == ""
    numbers = [row for row in rows if row["quantity"] == "first_retransmission" and row["cell"] == cell]
    assert len(numbers) == 1 and float(numbers[0]["difference"]) > 0.5
    for report in ("report.md", "report.html"):
        text = (tmp_path / report).read_text()
        assert "Simulator and kernel" in text and "Where the traces differ" in text
        assert "packet 7 sent again" in text
        assert "First line that differs, as traced: dupack 6" in text
    assert "First event that differs in the first replicate: simulator: at 8.277926 s packet 7" in text
    spans = [int(rows) for rows in re.findall(r'<th scope="rowgroup" rowspan="(\d+)">', text)]
    assert spans and min(spans) > 1, "a cell's heading covers all of its rows"


def test_the_simulators_key_figure_is_next_to_the_kernels(tmp_path: Path) -> None:
    """The other half of the page was empty, and the pairs of the figures below were apart."""
    chosen = {"grid": "minute", "variant": "tahoe", "iw": 4, "size": "as-traced", "run.duration": "12s"}
    study = Study.load("rfc2416").set(chosen)
    two(study, study.set({"tcp.dup_thresh": 4}), tmp_path, figures=("time-sequence", "queue"))
    lead = (tmp_path / "report.html").read_text().partition('<div class="lead">')[2].partition("</header>")[0]
    assert re.findall(r'<figure id="([^"]*)"', lead) == [
        "figure-time-sequence",
        "figure-time-sequence-simulator",
    ]
    assert (tmp_path / "report.md").read_text().count("time-sequence-simulator.svg") == 1


def test_the_only_cell_of_a_table_has_no_column(tmp_path: Path) -> None:
    """At 400 pixels, a column of the word "base" took half of the page."""
    chosen = {"grid": "minute", "variant": "tahoe", "iw": 4, "size": "as-traced", "run.duration": "12s"}
    study = Study.load("rfc2416").set(chosen)
    two(study, study.set({"tcp.dup_thresh": 4}), tmp_path)
    section = (tmp_path / "report.html").read_text().partition('<section id="beside">')[2]
    section = section.partition("</section>")[0]
    assert '<th scope="col">cell</th>' not in section and "rowgroup" not in section
    assert '<p class="note">TCP variant: Tahoe, initial window: 4 packets, packet size: ' in section


def test_the_kernels_own_recovery_is_named_once_in_each_table_of_a_cell(tmp_path: Path) -> None:
    """A reader who sees `recovery=reno` next to a kernel's number would take it for Reno's."""
    study = Study.load("rfc2884").set({"grid": "fairness", "background": "plain", "flows": 2, "max_p": 0.1})
    made = study.run(replicates=3)
    default = made.plan.cells[0].compiled.scenario["tcp"][0]
    reno = stack.other_recovery(stack_file.load("linux-1998"), [default])
    assert reno == "reno in the study, NewReno with PRR on the kernel"
    kernel = replace(made.results, remarks={cell.id: reno for cell in made.results.cells})
    outputs = Outputs("t", study.folder or tmp_path, tables=study.outline.tables)
    synthetic.report(outputs, kernel, tmp_path, twin=Twin(made.results))
    section = (
        (tmp_path / "report.md").read_text().partition("## Simulator and kernel")[2].partition("\n## ")[0]
    )
    tables = section.split("\n### ")[1:-1]
    assert tables and all(table.count(f"({reno})") == 1 for table in tables)
    page = (tmp_path / "report.html").read_text().partition('<section id="beside">')[2]
    assert page.count(f"({reno})</p>") == len(tables), "also where the only cell has no column"


def test_of_several_kernels_the_change_comes_first_and_the_simulator_last(tmp_path: Path) -> None:
    study = Study.from_toml(
        'title = "two"\nmeasure = ["goodput"]\n[dumbbell]\nrate = "10Mbps"\nrtt = "20ms"\nbuffer = 1\n'
        'flows = [{ cc = "cubic" }]\n[run]\nduration = "2s"\nkernel = ["6.12", "7.3"]\n'
    )
    cells = synthetic.grid(kernel=["6.12", "7.3"])
    data = {(cell.id, "goodput"): [8.0 + k, 8.1 + k, 8.2 + k] for k, cell in enumerate(cells)}
    results = synthetic.make_results(cells, {"goodput": "Mbit/s"}, data)
    outputs = Outputs("t", tmp_path, tables=study.outline.tables)
    synthetic.report(outputs, results, tmp_path, twin=Twin(results))
    heads = re.findall(r"^## (.*)$", (tmp_path / "report.md").read_text(), re.M)
    assert heads[:3] == ["Results: the change from kernel 6.12", "Results", "Simulator and kernel"]
    page = (tmp_path / "report.html").read_text()
    assert page.index('id="table-results"') < page.index('<section id="beside">')
    assert page.index('href="#table-results"') < page.index('href="#beside"')


def test_each_difference_has_the_interval_of_the_paired_replicates(tmp_path: Path) -> None:
    study = Study.load("rfc2415").set(
        {
            "grid": "tables_1_to_3",
            "webs": 8,
            "ftps": 1,
            "iw": [1, 3],
            "run.duration": "40s",
            "run.replicates": 3,
        }
    )
    rows = two(study, study.set({"tcp.ack_policy": "every"}), tmp_path)
    delays = [row for row in rows if row["quantity"] == "page_delay" and row["table"] == "table1"]
    apart = [float(delays[0][key]) for key in ("difference_low", "difference", "difference_high")]
    assert apart[0] < apart[1] < apart[2]
    # paired, it is narrower than the two intervals together
    widths = [float(delays[0][f"{who}_high"]) - float(delays[0][f"{who}_low"]) for who in ("sim", "kernel")]
    assert apart[2] - apart[0] < sum(widths)
    gains = [row for row in rows if row["table"] == "table1" and row["quantity"] == "decrease(page_delay)"]
    assert gains and all(row["difference_low"] for row in gains)
    text = (tmp_path / "report.md").read_text()
    tested = [row for row in rows if row["difference_low"]]
    differ = sum(float(row["difference_low"]) > 0 or float(row["difference_high"]) < 0 for row in tested)
    assert f"Of {len(tested)} intervals of differences, {differ} exclude 0." in text
    finding = next(line for line in text.splitlines() if line.startswith("**Finding.**"))
    assert f"differ significantly in {differ} of {len(tested)} numbers." in finding
    assert "| decrease in median page delay (%) |" in text
    # A number that differs has the time budgets of both sides, of the objects that it measures.
    cell = "initial window: 1 packet"
    lines = [line for line in text.splitlines() if line.startswith(f"- {cell}. In the first replicate")]
    assert lines
    for line in lines:
        assert re.search(
            r"the mean \w+( \(\w+\))? takes \d+ ms in the simulator and \d+ ms on the kernel: ", line
        )
    page = (tmp_path / "report.html").read_text()
    assert all(line.removeprefix("- ").partition(": ")[2] in page for line in lines)


def test_figures_come_in_pairs(tmp_path: Path) -> None:
    study = Study.load("rfc2416").set(
        {"grid": "minute", "variant": "tahoe", "iw": [1, 4], "run.duration": "12s"}
    )
    figure = study.outline.figures[0].id
    two(study, study.set({"tcp.dup_thresh": 4}), tmp_path, [figure])
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {f"{figure}.svg", f"{figure}-simulator.svg"} <= names
    html = (tmp_path / "report.html").read_text()
    assert html.index(f'id="figure-{figure}"') < html.index(f'id="figure-{figure}-simulator"')


def test_traces_whose_connection_only_opens_later_agree_from_the_first_data_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a kernel the receiver of a bulk transfer opens it, half a round trip later than a study's client."""
    text = """
        title = "One flow"
        measure = ["goodput"]
        dumbbell = { rate = "10Mbps", rtt = "40ms", flows = [{ cc = "cubic", bytes = "1MB", start = "0s" }] }
        run = { duration = "2s" }
        probes = { segments_at = "left" }
    """
    study, other = (Study.from_toml(text.replace('"0s"', start)) for start in ('"0s"', '"21ms"'))
    found = make_twin(study.run(), other.run()).first_differences
    assert [(one.a, one.b) for one in found.values()] == [(None, None)]
    same = "at the same times, the kernel's start 21.000 ms later left out"
    assert found["base"].times == same
    folders = [tmp_path / "simulator", tmp_path / "kernel"]
    for one, folder in zip((study, other), folders, strict=True):
        one.run(folder)
    in_the_simulator = compare_traces(folders[0], folders[1], 0.002)["base"]
    assert in_the_simulator.agree == 0 and "21.0" not in str(in_the_simulator)
    monkeypatch.setattr("cwndlab.apps.compare.compare.open_folder", _as_kernel)
    for a, b in (folders, folders[::-1]):
        assert re.fullmatch(rf"all \d{{3,}} events agree, {same}", str(compare_traces(a, b, 0.002)["base"]))


def test_a_simulator_with_more_runs_than_the_kernel_is_compared_by_those_of_both(tmp_path: Path) -> None:
    chosen = {"grid": "tables_1_to_3", "webs": 8, "ftps": 1, "iw": [1, 3], "run.duration": "40s"}
    study = Study.load("rfc2415").set({**chosen, "run.replicates": 3})
    two(study.set({"run.replicates": 4}), study, tmp_path)
    said = "The simulator's numbers are of 4 runs; differences compare the 3 runs that the kernel has, too."
    assert said in (tmp_path / "report.md").read_text()


@contextmanager
def _as_kernel(folder: Path) -> Iterator[tuple[object, object]]:
    """A result folder that says it is a kernel's if its name does."""
    with open_folder(folder) as (campaign, content):
        backend = folder.name if folder.name == "kernel" else ""
        yield SimpleNamespace(cells=campaign.cells, records=campaign.records, backend=backend), content


def test_of_several_kernels_each_is_next_to_the_simulator_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cwndlab.runs.backend_check._reject_several_kernels", lambda *_: None)
    study = Study.load("rfc2416").set(
        {"grid": "minute", "variant": "tahoe", "iw": [1, 4], "size": "as-traced", "run.duration": "12s"}
    )
    both = study.set({"run.kernel": "6.1,7.3"})
    rows = two(both, both, tmp_path, ["time-sequence-6.1", "time-sequence-7.3"])
    assert {row["table"] for row in rows} >= {"listing-6.1", "listing-7.3", "minute"}
    assert not [row for row in rows if row["table"].endswith("-changes")]
    text = (tmp_path / "report.md").read_text()
    titles = re.findall(r"^\*\*Both starts of Tahoe (.*?)\*\*", text, re.MULTILINE)
    assert titles == ["(kernel 6.1)", "(simulator)", "(kernel 7.3)"]
    assert "\n1. misprint for 6.611" in text, "a list of footnotes"


@pytest.mark.parametrize(
    ("changed", "option", "written"),
    [({"run.kernel": ["6.1", "7.3"]}, None, "--kernel 6.1,7.3"), ({}, "7.3", "--kernel 7.3"), ({}, None, "")],
)
def test_the_command_that_runs_it_again_names_the_kernels(
    changed: dict[str, list[str]], option: str | None, written: str
) -> None:
    content = {
        "cells": [{"replicates": 1}],
        "scenario": {"duration_ns": 10**9},
        "backend": "linux-virtual",
        "kernel": "6.1.192-cwndlab (e1), 7.3.4-cwndlab (fc)",
        "kernel_option": option,
        "stack": {"name": "linux-laws"},
        "study": "rfc2416",
        "set": {},
        "changed": changed,
        "seed": 1,
    }
    _, kernels, command = describe_run(content)
    assert kernels == "Linux 6.1.192-cwndlab, 7.3.4-cwndlab, stack linux-laws"
    found = command.removeprefix("cwndlab run rfc2416 --backend linux-virtual --stack linux-laws")
    assert found.removesuffix("--seed 1").strip() == written
