"""Reports and lessons as axe-core sees them: light and dark, wide and narrow, and while a cell runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cwndlab
import synthetic
from cwndlab.api import Study
from cwndlab.apps.evaluate import evaluation, pack, subjects
from cwndlab.apps.explore import lessons
from cwndlab.apps.twin.twin import Twin
from cwndlab.cli.registry import command_line
from cwndlab.report.contents import Outputs, collect_outputs
from cwndlab.study.outputs import Figure

WEB = Path(__file__).parents[2] / "web"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUESTION = """
title = "CUBIC against BBR"
measure = ["share", "loss_rate"]

[dumbbell]
rate = "5Mbps"
rtt = "40ms"
buffer = [0.5, 1, 2]
flows = [{ cc = "cubic" }, { cc = "bbr1" }]

[run]
duration = "4s"
warmup = "1s"
replicates = 3
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, minute_report: Path) -> list[Path]:
    """A question of a few lines, a study with claims and published numbers, a scorecard, a fit, lessons."""
    if CHROMIUM is None or shutil.which("node") is None or not (WEB / "node_modules/axe-core").exists():
        pytest.skip("needs chromium, node and the packages in web/ (`npm ci --prefix web`)")
    out = tmp_path_factory.mktemp("pages")
    (out / "question.toml").write_text(QUESTION, encoding="utf-8")
    cwndlab.run(out / "question.toml", out=out / "question")
    _kernel_report(out / "kernel")
    evaluation.evaluate(
        [pack.load("rfc9743").with_criteria(["5.1.2"])],
        [subjects.congestion_control("bbr1")],
        out / "card",
        changes={"dumbbell.rate": "2Mbps", "run.duration": "4s", "run.warmup": "1s"},
    )
    _fit(out)
    (out / "index.html").write_text(lessons.index()[0], encoding="utf-8")
    (out / "lesson.html").write_text(lessons.page("queues", "index.html"), encoding="utf-8")
    return [
        minute_report,
        *out.glob("*/report.html"),
        out / "card/scorecard.html",
        out / "fit/fit.html",
        *out.glob("*.html"),
    ]


def _fit(out: Path) -> None:
    """The page of a study fitted to a capture."""
    text = QUESTION.replace(', { cc = "bbr1" }', "").replace("[0.5, 1, 2]", "1").replace("4s", "8s")
    (out / "network.toml").write_text(text + "[probes]\nsegments_at = 'cubic_sender'\n", encoding="utf-8")
    words = ["trace", str(out / "network.toml"), "--format", "pcapng", "-o", str(out / "download.pcapng")]
    for command in (words, ["fit", str(out / "download.pcapng"), "-o", str(out / "fit")]):
        done = CliRunner().invoke(command_line(), command)
        assert done.exit_code == 0, done.output


def _kernel_report(folder: Path) -> None:
    """A report of a kernel, with the simulator's results in its place, and the README of RFC 2884's study."""
    study = Study.load("rfc2884").set(
        {"grid": "fairness", "background": "plain", "flows": 2, "max_p": [0.1, 0.2]}
    )
    folder.mkdir()
    readme = collect_outputs(study, study.folder or folder).readme
    figure = Figure(id="index", title="Fairness", kind="line", x="max_p", quantity="jain")
    outputs = Outputs("On a kernel", folder, tables=study.outline.tables, figures=[figure], readme=readme)
    results = study.run().results
    synthetic.report(outputs, results, folder, twin=Twin(results))


def test_axe_finds_nothing_wrong(pages: list[Path]) -> None:
    assert len(pages) == 7
    command = ["node", "axe.mjs", str(CHROMIUM), *map(str, pages)]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert found == [], "\n".join(f"{one['file']}: {one['id']} {one['first']}" for one in found)
