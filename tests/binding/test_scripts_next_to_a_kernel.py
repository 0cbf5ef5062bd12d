"""Outcomes of packetdrill scripts on the endpoint next to those on a kernel, written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner, Result

from cwndlab.apps.packetdrill import next_to_kernel
from cwndlab.apps.packetdrill.next_to_kernel import TwoOutcomes, count, on_kernel
from cwndlab.apps.packetdrill.packetdrill_scripts import ScriptOutcome, markdown, summary
from cwndlab.base.errors import StudyError
from cwndlab.cli.registry import command_line
from dataclass_kinds import changeable

A, B = Path("a.pkt"), Path("b.pkt")


class OnKernel(NamedTuple):
    """The outcome of a script on a kernel."""

    holds: bool = True
    line: int | None = None
    was_run: bool = True
    reason: str = ""


HOLDS, FAILS = ScriptOutcome(A), ScriptOutcome(A, 2, "sequence numbers", before=("one", "two"))
ASKS = ScriptOutcome(A, 3, "epoll is not supported", unsupported=True)
KERNEL_FAILS = OnKernel(False, 2, reason="why")


@pytest.mark.parametrize(
    ("endpoint", "kernel", "verdict"),
    [
        (HOLDS, OnKernel(), "held by both"),
        (FAILS, KERNEL_FAILS, "failed by both in the same line"),
        (FAILS, OnKernel(False, 3), "different"),
        (FAILS, OnKernel(False, None), "different"),
        (FAILS, OnKernel(True, 2), "different"),
        (HOLDS, OnKernel(False, None), "different"),
        (HOLDS, OnKernel(True, None, False), "not run on the kernel"),
        (FAILS, OnKernel(False, 2, False), "not run on the kernel"),
        (ASKS, OnKernel(), "not supported by the simulator"),
        (ASKS, OnKernel(False, 3, False), "not supported by the simulator"),
    ],
)
def test_two_outcomes_have_a_verdict(endpoint: ScriptOutcome, kernel: OnKernel, verdict: str) -> None:
    assert TwoOutcomes(endpoint, kernel).verdict == verdict


def said(endpoint: ScriptOutcome, kernel: OnKernel, folder: Path) -> list[str]:
    file = folder / "x.pkt"
    file.write_text("first\n  second \nthird\n", encoding="utf-8")
    moved = ScriptOutcome(file, endpoint.line, endpoint.message, endpoint.unsupported, endpoint.before)
    head, *rest = TwoOutcomes(moved, kernel).lines("6.12")
    assert head == f"{file}: {TwoOutcomes(moved, kernel).verdict}"
    return [line.removeprefix("    ") for line in rest]


def test_the_failing_lines_and_both_outcomes_are_shown(tmp_path: Path) -> None:
    assert said(FAILS, OnKernel(False, 3, reason="why"), tmp_path) == [
        "line 2: second",
        "line 3: third",
        "simulator: fails at line 2: sequence numbers",
        "Linux 6.12: fails: why",
        "before it, in the simulator:",
        "    one",
        "    two",
    ]
    assert said(FAILS, OnKernel(True, 3), tmp_path)[:3] == [
        "line 2: second",
        "simulator: fails at line 2: sequence numbers",
        "Linux 6.12: holds",
    ]
    assert said(HOLDS, OnKernel(False, 3, reason="tcp_psh 1 0"), tmp_path) == [
        "line 3: third",
        "simulator: holds",
        "Linux 6.12: fails: tcp_psh 1 0",
        "why: the simulator does not compare PSH, which depends on how segments leave in trains",
    ]
    assert said(HOLDS, OnKernel(False, 4, reason="tcp_ack"), tmp_path) == [
        "simulator: holds",
        "Linux 6.12: fails: tcp_ack",
    ]
    assert said(FAILS, OnKernel(False, 1, reason="tcp_psh"), tmp_path)[-4] == "Linux 6.12: fails: tcp_psh"
    assert said(ASKS, OnKernel(), tmp_path) == [
        "line 3: third",
        "simulator: does not support line 3: epoll is not supported",
        "Linux 6.12: holds",
        "why: the simulator rejects what it does not model, in place of ignoring it",
    ]
    assert said(HOLDS, OnKernel(False, None, False, "no command"), tmp_path) == [
        "simulator: holds",
        "Linux 6.12: is not run: no command",
        "why: packetdrill stopped before the kernel was asked",
    ]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A kernel on which every script fails in line 2; what it was asked."""
    asked: list[Any] = []

    def run_scripts(paths: list[Path], *words: Any) -> Any:
        asked.append((paths, *words))
        return "6.12.1", [KERNEL_FAILS] * len(paths), "abc"

    monkeypatch.setattr(next_to_kernel, "kernels", lambda: None)
    monkeypatch.setattr(next_to_kernel, "import_module", lambda _: SimpleNamespace(run_scripts=run_scripts))
    return asked


def test_all_scripts_are_run_on_the_kernel_and_counted(kernel: list[Any]) -> None:
    name, both, digest = on_kernel([HOLDS, FAILS, FAILS], "6.12", None, 9)
    assert (name, digest, kernel) == ("6.12.1", "abc", [([A, A, A], "6.12", None, 9)])
    assert [one.endpoint for one in both] == [HOLDS, FAILS, FAILS]
    assert count(both) == "1 different, 2 failed by both in the same line"


def run(*words: str) -> Result:
    return CliRunner().invoke(command_line(), ["packetdrill", *words])


def test_the_command_shows_what_differs_and_fails(kernel: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "s.pkt"
    file.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", encoding="utf-8")
    result = run(str(file), "--kernel", "6.12", "--packetdrill", "/pd", "--tolerance-usecs", "7")
    assert kernel == [([file], "6.12", Path("/pd"), 7)]
    assert result.exit_code == 1
    first, *_, last = result.stdout.splitlines()
    assert first == f"{file}: different" and last == "1 different; digest of the kernel's output: abc"
    assert run(str(file)).stdout == "1 passed, 0 failed, 0 not supported\n"
    for words in (["--packetdrill", "/pd"], ["--kernel", "6.12", "--table"]):
        assert isinstance(run(str(file), *words).exception, StudyError)


def test_the_command_succeeds_if_all_hold_on_both(
    kernel: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        next_to_kernel, "on_kernel", lambda *_: ("6.12", [TwoOutcomes(HOLDS, OnKernel())], "d")
    )
    file = tmp_path / "s.pkt"
    file.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", encoding="utf-8")
    result = run(str(file), "--kernel", "6.12")
    assert (result.exit_code, result.stdout) == (0, "1 held by both; digest of the kernel's output: d\n")


def test_outcomes_are_written_with_their_line_and_the_events_before_a_failure() -> None:
    assert [str(one) for one in (HOLDS, FAILS, ASKS)] == [
        "a.pkt: ok",
        "a.pkt:2: sequence numbers\n    one\n    two",
        "a.pkt:3: epoll is not supported",
    ]
    assert summary([HOLDS, FAILS, FAILS, ASKS]) == "1 passed, 2 failed, 1 not supported"
    assert summary([]) == "0 passed, 0 failed, 0 not supported"


def test_a_table_has_a_row_for_each_folder_and_for_each_failure() -> None:
    root = Path("r")
    made = markdown(
        [
            ScriptOutcome(root / "z/a.pkt", 3, 'option "x" is not supported; it has y', True),
            ScriptOutcome(root / "z/b/c.pkt", 4, "a | b\nc"),
            ScriptOutcome(root / "d.pkt"),
            ScriptOutcome(Path("other/e.pkt"), 5, "flags are not supported", True),
        ],
        root,
    )
    assert made.splitlines() == [
        "| folder | holds | fails | not supported | of |",
        "|---|---|---|---|---|",
        "| . | 1 | 0 | 0 | 1 |",
        "| other | 0 | 0 | 1 | 1 |",
        "| z | 0 | 1 | 1 | 2 |",
        "| all | 1 | 1 | 2 | 4 |",
        "",
        "| script that fails | line | found |",
        "|---|---|---|",
        "| z/b/c.pkt | 4 | a \\| b c |",
        "",
        "| folder | not supported | scripts |",
        "|---|---|---|",
        "| other | flags | 1 |",
        '| z | option "x" | 1 |',
    ]
    assert len(markdown([HOLDS], root).splitlines()) == 4


def test_objects_that_are_shared_cannot_be_changed() -> None:
    assert not changeable("apps.packetdrill")
