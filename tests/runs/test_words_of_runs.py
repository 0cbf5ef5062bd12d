"""What is printed of runs: durations, failures, the bar, and tables in text."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cwndlab.base import importing
from cwndlab.base.core import KeptRecords
from cwndlab.base.errors import StudyError
from cwndlab.base.usercode import describe_error
from cwndlab.base.writing import aligned_lines, csv_text, markdown_lines
from cwndlab.cli import run
from cwndlab.runs import progress
from cwndlab.runs.campaign import Failure
from cwndlab.runs.run_options import RunOptions


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.1 s"),
        (0.25, "0.25 s"),
        (89.4, "89 s"),
        (90.0, "2 min"),
        (151.0, "3 min"),
        (5399.0, "90 min"),
        (5400.0, "1.5 h"),
        (9000.0, "2.5 h"),
    ],
)
def test_durations_have_two_digits(seconds: float, words: str) -> None:
    assert progress.span(seconds) == words


def test_the_bar_shows_cells_replicates_packets_per_second_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [50.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress.Bar()
    bar.start(3, 8, 2)
    now[0] = 54.0
    bar.cell_done()
    bar.under_way(0.5)
    bar.advance(6_000_000)
    now[0] = 54.05  # too soon to be drawn
    bar.advance(9_000_000)
    (task,) = bar._bar.tasks
    assert (task.completed, task.total, task.fields) == (2.5, 8, {"cells": "1/3", "rate": "0.0 packets/s"})
    now[0] = 54.2
    bar.advance(0)
    assert (task.completed, task.total, task.fields) == (5, 8, {"cells": "1/3", "rate": "3.6 Mpackets/s"})
    columns = len(bar._bar.columns)
    bar.time_left(None)
    bar.time_left(200.0)
    assert bar._bar.columns[-1].text_format == "about 3 min left"  # type: ignore[attr-defined]
    assert len(bar._bar.columns) == columns


def test_a_failure_is_printed_for_each_of_ten_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    failures = [Failure("a", 0, "reason 0"), Failure("a", 1, "reason 0"), Failure("b", 2, "reason 0")]
    run._print_failures(failures)
    assert capsys.readouterr().err == "failed: a, replicate 0 (and 2 more): reason 0\n"
    run._print_failures([*failures[:2], *(Failure("c", k, f"reason {k}") for k in range(1, 10))])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "failed: a, replicate 0 (and 1 more): reason 0"
    assert lines[1:] == [f"failed: c, replicate {k}: reason {k}" for k in range(1, 10)]
    run._print_failures([Failure("c", k, f"reason {k}", advice=f"do {k % 2}") for k in range(12)])
    assert capsys.readouterr().err.splitlines()[9:] == [
        "failed: c, replicate 9: reason 9",
        "… and for 2 more reasons",
        "what to do: do 0",
        "what to do: do 1",
    ]


@pytest.mark.parametrize(("seconds", "said"), [(600.0, ""), (601.0, "note: 2 runs at once, in real time, ")])
def test_more_than_ten_minutes_in_real_time_are_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seconds: float, said: str
) -> None:
    class Study:
        def plan(self, **_: object) -> str:
            return "the plan"

    asked: list[tuple[str, int]] = []

    class Estimate:
        @staticmethod
        def real_seconds(plan: str, at_once: int) -> float:
            asked.append((plan, at_once))
            return seconds

    monkeypatch.setattr(run, "import_module", lambda name: Estimate)
    study: Any = Study()
    run._warn_of_real_time(study, RunOptions(backend="linux", threads=2))
    err = capsys.readouterr().err
    assert asked == [("the plan", 2)]
    assert err.startswith(said) and ("take 10 min for all" in err) == bool(said)


def test_tables_in_text_are_aligned_and_end_without_spaces() -> None:
    rows = [("name", "n"), ("a", "10"), ("long one", "")]
    assert aligned_lines(rows) == ["name      n", "a         10", "long one"]
    assert markdown_lines(rows[0], rows[1:]) == [
        "| name | n |",
        "| --- | --- |",
        "| a | 10 |",
        "| long one |  |",
    ]
    assert csv_text(rows[0], rows[1:]) == "name,n\na,10\nlong one,\n"


def test_the_type_and_the_text_of_a_users_error_are_shown_even_if_it_has_none() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_error(ValueError("no\nluck")) == "ValueError: no\nluck"
    assert describe_error(SilentError()) == "SilentError: its text cannot be shown"


def test_an_error_keeps_the_place_that_it_has_and_gets_what_it_lacks() -> None:
    bare = StudyError("wrong").with_place(file="a.toml", line=3, key="run")
    assert (bare.file, bare.line, bare.key) == ("a.toml", 3, "run")
    again = bare.with_place(file="b.toml", line=4, key="tcp")
    assert (again.file, again.line, again.key) == ("a.toml", 3, "run")
    first = StudyError("wrong", line=0).with_place(file=None, line=7)
    assert (first.line, first.key) == (0, None)


def test_only_a_capture_of_kept_records_can_be_written(tmp_path: Any) -> None:
    file = tmp_path / "trace"
    KeptRecords({}, capture=b"capture").write_trace(str(file), "pcapng")
    assert file.read_bytes() == b"capture"
    for records, kind in ((KeptRecords({}, capture=b"capture"), "ns"), (KeptRecords({}), "pcapng")):
        with pytest.raises(ValueError, match=f"kept records are not written as {kind}; `cwndlab trace` runs"):
            records.write_trace(str(file), kind)


def test_an_interrupt_ends_the_command_without_a_traceback_and_other_errors_keep_theirs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes: list[int] = []
    shown: list[object] = []
    monkeypatch.setattr(importing.os, "_exit", codes.append)
    monkeypatch.setattr(sys, "__excepthook__", lambda kind, error, trace: shown.append(error))
    error = ValueError("wrong")
    importing._end(ValueError, error, None)
    assert (codes, shown, capsys.readouterr().err) == ([], [error], "")
    importing._end(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert (codes, capsys.readouterr().err) == ([130], "stopped\n")


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        (["python", "-m", "cwndlab", "run"], True),
        (["python", "/usr/bin/cwndlab", "run"], True),
        (["python", "/usr/bin/notcwndlab"], False),
        (["python", "script.py", "/usr/bin/cwndlab"], False),
        (["python", "-m", "pytest", "cwndlab"], False),
        (["python"], False),
    ],
)
def test_only_the_command_line_ends_by_an_interrupt_so(
    monkeypatch: pytest.MonkeyPatch, command: list[str], is_ours: bool
) -> None:
    monkeypatch.setattr(sys, "orig_argv", command)
    monkeypatch.setattr(sys, "excepthook", before := object())
    importing.end_quietly()
    assert (sys.excepthook is importing._end) == is_ours and (sys.excepthook is before) != is_ours
