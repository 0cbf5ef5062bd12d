"""packetdrill scripts on a kernel, and their outcomes next to the endpoint's. No kernel is started here."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cwndlab.apps.packetdrill.next_to_kernel import TwoOutcomes, count
from cwndlab.apps.packetdrill.packetdrill_scripts import ScriptOutcome, run_script
from cwndlab.base.errors import RunError, StudyError
from cwndlab.cli.registry import command_line
from cwndlab_linux.virtual import images, packetdrill, selftests
from cwndlab_linux.virtual.packetdrill import ScriptResult, ScriptRun

#: The end of what packetdrill prints: its events.
EVENTS = """socket syscall: 1000000010.094320
inbound injected packet:  0.000450 S 0:0(0) win 32792 <mss 1000,sackOK>
outbound sniffed packet:  0.000470 S. 66:66(0) ack 1 win 64240 <mss 1460>
running: 'python3 /tmp/code_kii3io'
"""
OPTION = """a.pkt:8: error handling packet: bad value in outbound TCP option: wscale 8 actual: wscale 7
script packet:  0.000490 S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
actual packet:  0.000470 S. 0:0(0) ack 1 win 64240 <mss 1460,nop,nop,sackOK,nop,wscale 7>
"""
ASSERTED = """import sys
tcpi_snd_cwnd = 10
assert tcpi_snd_cwnd == 12, tcpi_snd_cwnd

a.pkt:8: error in Python code
Traceback (most recent call last):
  File "/tmp/code_kii3io", line 105, in <module>
    assert tcpi_snd_cwnd == 12, tcpi_snd_cwnd
AssertionError: 10
a.pkt: error executing code: 'python3' returned non-zero status 1
"""
COMMAND = """sysctl: setting key "net.ipv4.tcp_ecn": Invalid argument
a.pkt: error executing init command: non-zero status 1
"""
NEWER = "assertion len >= sizeof(struct _tcp_info) failed at code.c line 148"


def on_kernel(output: str, holds: bool = False) -> ScriptResult:
    return ScriptResult(ScriptRun(Path("scripts/a.pkt")), holds, output + EVENTS)


@pytest.mark.parametrize(
    ("output", "line", "was_run", "reason"),
    [
        (
            OPTION,
            8,
            True,
            r"a.pkt:8: error handling packet.* wscale 7; actual packet:  0.000470 S\. .*wscale 7>$",
        ),
        (ASSERTED, 8, True, "AssertionError: 10$"),
        (COMMAND, None, False, "sysctl: setting key .*; a.pkt: error executing init command"),
        ("a.pkt:10: parse error at 'ECN': syntax error\n", 10, False, "parse error at 'ECN'"),
        (NEWER, None, False, "newer than the kernel; `cwndlab linux packetdrill` builds one for all kernels"),
        ("", None, False, "packetdrill printed nothing"),
    ],
)
def test_what_packetdrill_prints_gives_the_line_and_the_reason(
    output: str, line: int | None, was_run: bool, reason: str
) -> None:
    result = on_kernel(output)
    assert (result.line, result.was_run) == (line, was_run)
    assert re.search(reason, result.reason), result.reason


def test_a_script_that_holds_has_no_line_and_was_run() -> None:
    assert on_kernel("", holds=True).line is None and on_kernel("", holds=True).was_run


SCRIPT = Path("scripts/a.pkt")
HOLDS, FAILS = ScriptOutcome(SCRIPT), ScriptOutcome(SCRIPT, 8, "expected 12", before=("0.1 s < .",))
UNSUPPORTED = ScriptOutcome(SCRIPT, 3, "poll", unsupported=True)


@pytest.mark.parametrize(
    ("endpoint", "kernel", "verdict"),
    [
        (HOLDS, on_kernel("", holds=True), "held by both"),
        (HOLDS, on_kernel(OPTION), "different"),
        (FAILS, on_kernel("", holds=True), "different"),
        (FAILS, on_kernel(OPTION), "failed by both in the same line"),
        (FAILS, on_kernel(OPTION.replace(":8:", ":9:")), "different"),
        (FAILS, on_kernel(COMMAND), "not run on the kernel"),
        (UNSUPPORTED, on_kernel("", holds=True), "not supported by the simulator"),
    ],
)
def test_two_outcomes_have_a_verdict(endpoint: ScriptOutcome, kernel: ScriptResult, verdict: str) -> None:
    assert TwoOutcomes(endpoint, kernel).verdict == verdict


def test_outcomes_that_differ_are_printed_with_both_lines(tmp_path: Path) -> None:
    script = tmp_path / "a.pkt"
    script.write_text("".join(f"text of line {number}\n" for number in range(1, 11)))
    endpoint = ScriptOutcome(script, 5, "expected 12", before=("0.1 s < .",))
    both = TwoOutcomes(endpoint, on_kernel(OPTION))
    lines = list(both.lines("6.12.1-x"))
    assert lines[:4] == [
        f"{script}: different",
        "    line 5: text of line 5",
        "    line 8: text of line 8",
        "    simulator: fails at line 5: expected 12",
    ]
    assert lines[4].startswith("    Linux 6.12.1-x: fails: a.pkt:8: error handling packet")
    assert lines[-1].strip() == "0.1 s < ."
    assert count([both, both, TwoOutcomes(HOLDS, on_kernel("", holds=True))]) == "2 different, 1 held by both"


@pytest.mark.parametrize(
    ("endpoint", "output", "why"),
    [
        (HOLDS, "a.pkt:2: error handling packet: live packet field tcp_psh: expected: 1\n", "compare PSH"),
        (HOLDS, COMMAND, "packetdrill stopped before the kernel was asked"),
        (UNSUPPORTED, OPTION, "rejects what it does not model"),
        (HOLDS, OPTION, None),
    ],
)
def test_a_difference_that_the_outcomes_explain_says_why(
    tmp_path: Path, endpoint: ScriptOutcome, output: str, why: str | None
) -> None:
    script = tmp_path / "a.pkt"
    script.write_text("text\n")
    lines = TwoOutcomes(replace(endpoint, path=script), on_kernel(output)).lines("6.12.1-x")
    said = [line for line in lines if line.startswith("    why: ")]
    assert said == [] if why is None else why in said[0]


@pytest.fixture
def kernel(tmp_path: Path) -> images.Image:
    folder = tmp_path / "7.3-x"
    (folder / selftests.SCRIPTS).mkdir(parents=True)
    return images.Image(folder / "linux", "7.3", "")


def test_scripts_of_a_kernel_are_those_for_a_version_of_ip(kernel: images.Image) -> None:
    with pytest.raises(RunError, match="has no packetdrill scripts"):
        selftests.runs_of(kernel, "ipv4", 4000)
    folder = kernel.path.parent / selftests.SCRIPTS
    for name, text in (("a", "--mss=1000"), ("b", "--ip_version=ipv6"), ("c", "--ip_version=ipv4")):
        (folder / f"{name}.pkt").write_text(f"// {name}\n{text}\n")
    assert [one.path.stem for one in selftests.runs_of(kernel, "ipv4", 4000)] == ["a", "c"]
    assert [one.path.stem for one in selftests.runs_of(kernel, "ipv6", 4000)] == ["a", "b"]
    (one,) = selftests.runs_of(kernel, "ipv6", 1000, "b")
    assert {"--ip_version=ipv6", "--tolerance_usecs=1000", "--mtu=1520"} <= set(one.options)
    with pytest.raises(RunError, match="no script with 'x'"):
        selftests.runs_of(kernel, "ipv4", 4000, "x")


def test_a_kernel_without_ipv6_runs_its_scripts_over_ipv4_alone(kernel: images.Image) -> None:
    assert selftests.ip_versions(kernel) == ["ipv4"]
    config = kernel.path.parent / "config"
    config.write_text("# CONFIG_IPV6 is not set\n")
    assert selftests.ip_versions(kernel) == ["ipv4"]
    config.write_text("CONFIG_IPV6=y\n")
    assert selftests.ip_versions(kernel) == ["ipv4", "ipv6"]


@pytest.mark.parametrize("more", [["--packetdrill", "p"], ["--kernel", "6.12", "--table"]])
def test_options_without_an_effect_are_rejected(tmp_path: Path, more: list[str]) -> None:
    words = ["packetdrill", str(tmp_path), *more]
    found = CliRunner().invoke(command_line(words), words)
    assert isinstance(found.exception, StudyError) and found.exception.right


def test_the_command_prints_what_differs_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "a.pkt"
    script.write_text(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
    )
    assert run_script(script).passed
    printed = {"holds": ("", True), "fails": (OPTION, False)}
    found: list[object] = []

    def run(image: images.Image, program: Path, scripts: list[ScriptRun]) -> list[ScriptResult]:
        found.append((image, program, scripts))
        return [ScriptResult(one, printed[outcome][1], printed[outcome][0]) for one in scripts]

    program = tmp_path / "6.12.1-x" / "linux"
    program.parent.mkdir()
    program.write_bytes(b"Linux version 6.12.1 (somebody) time-travel=inf-cpu")
    image = images.find(str(program))
    monkeypatch.setattr(packetdrill, "run", run)
    monkeypatch.setattr(packetdrill, "find_packetdrill", lambda given: Path(given or "packetdrill"))
    words = ["packetdrill", str(script), "--kernel", str(program), "--tolerance-usecs", "1000"]
    outcome = "holds"
    held = CliRunner().invoke(command_line(words), words)
    assert held.exit_code == 0 and held.stdout.startswith("1 held by both; digest of the kernel's output: ")
    assert found == [(image, Path("packetdrill"), [ScriptRun(script, ("--tolerance_usecs=1000",))])]
    outcome = "fails"
    failed = CliRunner().invoke(command_line(words), words)
    assert failed.exit_code == 1 and f"{script}: different\n" in failed.stdout
    assert "Linux 6.12.1-x: fails: a.pkt:8" in failed.stdout
