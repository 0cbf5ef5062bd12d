"""The tutorial's study and commands, as docs/guide/quickstart.md has them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.cli import app

PAGE = (Path(__file__).parents[2] / "docs/guide/quickstart.md").read_text()
(FILE,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def quick(text: str) -> str:
    """The same question in less time: what the tests run."""
    for key, value, less in (
        ("duration", '"30s"', '"3s"'),
        ("warmup", '"5s"', '"1s"'),
        ("replicates", "10", "3"),
    ):
        text, found = re.subn(rf"{key}( ?= ?){value}", rf"{key}\g<1>{less}", text)
        assert found == 1
    return text


def test_the_question_takes_at_most_twenty_lines_and_every_replicate_differs() -> None:
    assert len(FILE.splitlines()) <= 20
    plan = Study.from_toml(FILE).plan()
    assert [cell.id for cell in plan.cells] == ["buffer=0.5", "buffer=1", "buffer=2", "buffer=4"]
    assert plan.runs == 40
    plan.check()


def test_the_question_in_python_takes_at_most_twelve_lines_and_runs_the_same_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len([line for line in PROGRAM.splitlines() if line]) <= 12
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(quick(PROGRAM), names)
    assert "queue_delay_p95" in capsys.readouterr().out
    wanted = Study.from_toml(quick(FILE)).plan().cells
    assert [cell.scenario for cell in names["study"].plan().cells] == [cell.scenario for cell in wanted]
    assert names["run"].estimates.num_rows == 4 * 7
    saved = names["study"].save("again.toml")
    assert [cell.scenario for cell in Study.load(saved).plan().cells] == [cell.scenario for cell in wanted]


def test_the_tutorials_commands_work_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "question.toml").write_text(quick(FILE))
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"(?:^|`)cwndlab ([^`#\n]*question[^`#\n]*)", PAGE, flags=re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        if command.startswith("explore"):
            continue  # it serves its page until it is interrupted
        with pytest.raises(SystemExit) as caught:
            app(shlex.split(command))
        assert not caught.value.code, (command, capsys.readouterr())
    report = (tmp_path / "question-out/report.md").read_text()
    assert "How verdicts are decided" not in report
    rows = [line for line in report.splitlines() if re.match(r"\| (0\.5|1|2|4) \|", line)]
    assert len(rows) == 4 and all(row.count("**") == 2 * 7 for row in rows)
    assert {path.stem for path in (tmp_path / "question-out/figures").glob("*.svg")} == {
        *("share-by-buffer", "loss-rate-by-buffer", "queue-delay-by-buffer")
    }
    assert (tmp_path / "question.pcapng").stat().st_size > 10_000
