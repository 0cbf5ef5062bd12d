"""A change is checked against a folder, a revision or other settings; what surely moved fails."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cwndlab import Study
from cwndlab.apps.check_change.moved_numbers import Change, ChangeKind, find_changes, markdown, verdict
from cwndlab.cli import app

STUDY = """title = "one flow"
measure = ["goodput", "loss_rate"]
[dumbbell]
rate = "10Mbps"
rtt = "20ms"
buffer = 1
flows = [{ cc = "reno" }]
[run]
duration = "2s"
replicates = 4
"""
NOISY = STUDY.replace("buffer = 1\n", 'buffer = 1\nloss = "1%"\n')
LAW = """from cwndlab import CongestionControl
class Mine(CongestionControl):
    def on_ack(self, ack):
        self.cwnd_bytes += ack.mss * ack.growth_bytes / self.cwnd_bytes
    def on_loss(self, event):
        self.cwnd_bytes = max(FACTOR * event.flight_bytes, 2 * event.mss)
"""


def check(*words: object) -> int:
    with pytest.raises(SystemExit) as done:
        app(["check-change", *map(str, words)])
    return int(done.value.code or 0)


def commit(folder: Path) -> None:
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.email=a@b", "-c", "user.name=n", "commit", "-qm", "1"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(STUDY)
    return tmp_path


def changes(before: str, after: str, margin: float, *quantities: str) -> dict[str, Change]:
    first, second = (Study.from_toml(text).run().results for text in (before, after))
    return {one.quantity: one for one in find_changes("one", first, second, margin, quantities)}


def test_a_number_that_surely_moved_by_more_than_the_margin_fails_and_less_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """11 Mb/s in place of 10: the goodput, which little changes at random, rises by about 10 %."""
    assert (
        check("one.toml", "--baseline-set", "dumbbell.rate=11Mbps", "--on", "goodput", "--margin", "8%") == 3
    )
    assert capsys.readouterr().out.startswith("goodput moved by −9.")
    assert (
        check("one.toml", "--baseline-set", "dumbbell.rate=11Mbps", "--on", "goodput", "--margin", "12%") == 0
    )
    assert "1 within the margin" in capsys.readouterr().out


def test_a_folder_of_an_earlier_check_or_run_is_the_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("one.toml", "--baseline-set", "dumbbell.rate=11Mbps", "-o", "first") == 3
    capsys.readouterr()
    assert check("one.toml", "--baseline", "first", "-o", "second") == 0
    assert capsys.readouterr().out == "No number is sure to have moved: 2 equal.\n"
    assert check("one.toml", "--baseline", "second/one/after", "-o", "third") == 0


def test_the_law_of_a_revision_is_compared_with_the_one_in_the_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / "laws"
    folder.mkdir()
    (folder / "mine.py").write_text(LAW.replace("FACTOR", "0.5"))
    (folder / "own.toml").write_text(STUDY.replace('"reno"', '"mine"'))
    commit(here)
    (folder / "mine.py").write_text(LAW.replace("FACTOR", "0.9"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        given = ("own.toml", "--cc", "mine.py:Mine", "--on", "loss_rate", "--margin", "5%")
        assert check(*given, "--baseline", "HEAD", "--markdown", "said.md", "--junit", "said.xml") == 3
        assert Path.cwd() == folder
    said = capsys.readouterr()
    assert said.out.startswith("loss_rate moved by +") and said.err.startswith("before: ")
    assert said.out.strip() == (folder / "said.md").read_text().strip()
    (suite,) = ElementTree.parse(folder / "said.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "1", "0")
    assert suite[0][0].tag == "failure" and "margin 5 %" in str(suite[0][0].get("message"))


def test_the_workflow_for_a_law_works_step_by_step(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/workflows/law.yml").read_text()
    command = next(re.finditer(r"- run: >\n((?: {10}.*\n)+)", page))[1]
    (here / "mine.py").write_text(LAW.replace("FACTOR", "0.5"))
    (here / "study.toml").write_text(STUDY.replace('"reno"', '"mine"'))
    commit(here)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], cwd=here, check=True)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    program, *words = shlex.split(os.path.expandvars(command))
    assert program == "cwndlab"
    with pytest.raises(SystemExit) as done:
        app(words)
    assert not done.value.code, capsys.readouterr().err
    said = "No number is sure to have moved by more than 1 %: 2 equal.\n"
    assert (here / "summary.md").read_text() == said
    assert (here / "cwndlab.xml").exists() and (here / "check-change-out/study/after/report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one.toml"], "nothing says what was before the change"),
        (["one.toml", "--baseline", "nowhere"], "neither a result folder nor a revision"),
        (["one.toml", "--baseline-set", "run.seed=2", "--margin", "much"], "is no percentage"),
        (["one.toml", "--baseline-set", "run.seed=2", "--on", "godput"], 'did you mean "goodput"?'),
    ],
)
def test_what_cannot_be_checked_is_said(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(*words) == 2
    assert said in capsys.readouterr().err


def test_random_numbers_are_decided_by_intervals_that_cover_together() -> None:
    """The same law with other losses: nothing has surely moved, and nothing is called equal."""
    found = changes(NOISY, NOISY.replace('"2s"', '"2s"\nseed = 7'), 0.0)
    assert {one.kind for one in found.values()} == {ChangeKind.UNDECIDED}
    alone = changes(NOISY, NOISY.replace('"2s"', '"2s"\nseed = 7'), 0.0, "goodput")["goodput"].found
    assert found["goodput"].found.low < alone.low < alone.high < found["goodput"].found.high
    assert changes(NOISY, NOISY, 0.0)["goodput"].kind is ChangeKind.EQUAL
    single = changes(NOISY.replace("= 4", "= 1"), NOISY.replace("= 4", "= 1\nseed = 7"), 0.0)
    assert {one.kind for one in single.values()} == {ChangeKind.UNTESTED}


def test_the_largest_relative_change_comes_first_and_zero_is_compared_by_difference() -> None:
    found = changes(NOISY.replace('"1%"', '"0%"'), NOISY.replace('"1%"', '"4%"'), 0.0)
    assert found["goodput"].kind is ChangeKind.MOVED and found["goodput"].relative < -0.3
    lines = markdown(list(found.values()), 0.0).splitlines()
    assert lines[0] == verdict(list(found.values()), 0.0)
    assert lines[0].split(" moved by ")[0] == lines[4].split(" | ")[0].removeprefix("| ")
