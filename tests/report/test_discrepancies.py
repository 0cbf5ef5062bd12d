"""Numbers that are not the paper's: which choices that were run move them, and how the report says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import synthetic
from cwndlab.api import Study
from cwndlab.apps.reproduction.differences import discrepancies_of_cells
from cwndlab.apps.reproduction.discrepancies import Discrepancy, explained_text
from cwndlab.cli import app
from cwndlab.report.contents import Outputs
from cwndlab.report.judge import judge
from cwndlab.stats.results import Results, Variation
from cwndlab.stats.verdict import Verdict
from cwndlab.study.outputs import AnyTable

CELL = "webs=8,ftps=0,iw=1"


def slower(share: float, replicates: int = 10) -> Results:
    """Pages that take longer by this share than those of the paper."""
    return synthetic.rfc2415(replicates, {1: -share, 2: 0.0, 3: 0.0, 4: 0.0})


def outputs(folder: Path) -> Outputs:
    (folder / "t.csv").write_text("webs,ftps,iw1\n8,0,0.56\n")
    column = {"heading": "IW=1", "quantity": "page_delay", "where": {"iw": 1}, "published": "iw1"}
    table = {"id": "t1", "title": "T", "rows": ["webs", "ftps"], "published": "t.csv", "columns": [column]}
    return Outputs("S", folder, tables=TypeAdapter(list[AnyTable]).validate_python([table]), choices=1)


def choice(value: str, results: Results, cells: tuple[str, ...] = (CELL,)) -> Variation:
    return Variation("access delay", value, results, cells=frozenset(cells))


def found(folder: Path, *variations: Variation, base: Results | None = None) -> Discrepancy:
    judged = judge(outputs(folder), base or slower(0.4))
    [one] = discrepancies_of_cells(judged, variations, {CELL}, None)
    return one


def test_the_choice_that_comes_nearest_is_named_first_with_its_size_and_verdict(tmp_path: Path) -> None:
    one = found(
        tmp_path, choice("half", slower(0.2)), choice("none", slower(0.0)), choice("more", slower(0.6))
    )
    assert one.verdict is Verdict.DIFFERS
    assert [(move.value, move.nearer) for move in one.moves.moves] == [
        ("none", True),
        ("half", True),
        ("more", False),
    ]
    nearest = one.moves.moves[0]
    assert nearest.closed == pytest.approx(1.0, abs=0.05)
    assert nearest.verdict is Verdict.AGREES
    assert nearest.change.low < -0.224 < nearest.change.high
    assert one.summary == "2 of 3 choices bring it nearer"
    assert "access delay = none gives 0.5" in one.lines[0] and "would be “agrees”" in one.lines[0]
    assert one.lines[-1].startswith("Farther: access delay = more")


def test_a_choice_that_does_nothing_explains_nothing(tmp_path: Path) -> None:
    one = found(tmp_path, choice("same", slower(0.4)))
    assert not one.explained
    assert one.lines == ("The choice that was run does not move it.",)


def test_a_choice_that_was_run_on_other_cells_only_was_not_run(tmp_path: Path) -> None:
    one = found(tmp_path, choice("none", slower(0.0), ("webs=16,ftps=0,iw=1",)))
    assert one.summary == "no choice was run"


def test_two_replicates_decide_nothing(tmp_path: Path) -> None:
    one = found(tmp_path, choice("none", slower(0.0, 2)))
    assert one.summary == "too few replicates to tell"


def test_the_report_has_the_explanation_below_its_number(tmp_path: Path) -> None:
    variations = [choice("none", slower(0.0))]
    view = synthetic.report(outputs(tmp_path), slower(0.4), tmp_path / "out", variations=variations)
    assert view.explained == (
        "A choice that was run brings 1 of 1 numbers that differ nearer to the published value."
    )
    for name in ("report.html", "report.md"):
        assert "access delay = none gives" in (tmp_path / "out" / name).read_text()


def test_a_report_without_choices_says_that_none_was_run(tmp_path: Path) -> None:
    view = synthetic.report(outputs(tmp_path), slower(0.4), tmp_path / "out")
    assert "none of the 1 choices that the paper leaves open was run" in view.explained
    assert "Why?" not in (tmp_path / "out" / "report.html").read_text()


STUDY = """
title = "A file"
[topology]
nodes = ["a", "b"]
[[topology.links]]
between = ["a", "b"]
rate = "1Mbps"
delay = "10ms"
[[traffic]]
name = "file"
client = "a"
server = "b"
app = { kind = "ftp", file_bytes = { kind = "fixed", value = 100000.0 } }
[run]
duration = "3s"
[axes.iw]
sets = "tcp.initial_window"
values = [2]
[sensitivity.rate]
sets = "topology.links.a-b.rate"
values = ["1Mbps", "2Mbps"]
[[quantities]]
name = "delay"
metric = "median_delay"
options = { kind = "file" }
[[tables]]
id = "times"
title = "Times"
rows = ["iw"]
published = "times.csv"
columns = [{ heading = "delay", quantity = "delay", published = "delay" }]
"""


def test_the_command_explains_a_finished_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "times.csv").write_text("iw,delay\n2,0.6\n")
    run = Study.load(tmp_path / "study.toml").run(sensitivity="all", out=tmp_path / "out")
    [one] = run.discrepancies(budgets=True)
    assert one.explained and one.moves.nearer[0].value == "2Mbps"
    assert one.budgets is not None and "serialization" in one.budgets
    shown: list[str] = []
    for words in ([], ["--json", "--budgets"], ["--set", "iw=2"]):
        with pytest.raises(SystemExit) as caught:
            app(["explain", str(tmp_path / "out"), *words])
        assert not caught.value.code
        shown.append(capsys.readouterr().out)
    [plain] = run.discrepancies()
    assert shown[0] == shown[2] == f"{plain}\n{explained_text([one], 1, run=True)}\n"
    assert str(one) == f"{plain}\n  {one.budgets}"
    [data] = json.loads(shown[1])
    assert data["moves"][0]["value"] == "2Mbps" and data["budgets"] == one.budgets
