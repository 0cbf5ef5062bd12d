"""The tutorial's study and commands, as docs/guide/quickstart.md has them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cwndlab.cli import app
from cwndlab.study import Study

PAGE = (Path(__file__).parents[2] / "docs/guide/quickstart.md").read_text()
(FILE,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
#: The same question in less time: what the test runs.
QUICK = [
    ('duration = "30s"', 'duration = "3s"'),
    ('warmup = "5s"', 'warmup = "1s"'),
    ("replicates = 10", "replicates = 3"),
]


def test_the_question_takes_at_most_twenty_lines_and_every_replicate_differs() -> None:
    assert len(FILE.splitlines()) <= 20
    plan = Study.from_toml(FILE).plan()
    assert [cell.id for cell in plan.cells] == ["buffer=0.5", "buffer=1", "buffer=2", "buffer=8"]
    assert plan.runs == 40
    plan.check()


def test_the_tutorials_commands_work_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FILE
    for written, shorter in QUICK:
        assert written in text
        text = text.replace(written, shorter)
    (tmp_path / "question.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"(?:^|`)cwndlab ([^`#\n]*question[^`#\n]*)", PAGE, flags=re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        with pytest.raises(SystemExit) as caught:
            app(shlex.split(command))
        assert not caught.value.code, (command, capsys.readouterr())
    report = (tmp_path / "question-out/report.md").read_text()
    assert "rule of the verdicts" not in report
    rows = [line for line in report.splitlines() if re.match(r"\| (0\.5|1|2|8) \|", line)]
    assert len(rows) == 4 and all(row.count("**") == 2 * 7 for row in rows)
    assert {path.stem for path in (tmp_path / "question-out/figures").glob("*.svg")} == {
        *("share-by-buffer", "loss-rate-by-buffer", "queue-delay-by-buffer")
    }
    assert (tmp_path / "question.pcapng").stat().st_size > 10_000
