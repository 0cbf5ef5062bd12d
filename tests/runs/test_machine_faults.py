"""Faults of the machine: results are kept, errors say what to do, and no command ends with a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cwndlab.cli import app
from small_study import TEXT

CWNDLAB = [sys.executable, "-m", "cwndlab"]
FIGURE = """
[[figures]]
id = "goodput-by-iw"
title = "Goodput"
kind = "line"
x = "iw"
quantity = "goodput"
"""


def command(*words: object, shell: str = "", seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """A command of cwndlab, after some words of the shell."""
    line = [*CWNDLAB, *map(str, words)]
    if shell:
        line = ["bash", "-c", f'{shell}; exec "$@"', "bash", *line]
    return subprocess.run(line, capture_output=True, text=True, timeout=seconds, check=False)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(TEXT + FIGURE)
    return file


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v limits nothing here")
def test_a_report_with_figures_needs_few_addresses(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command("run", study, "-o", out, shell="ulimit -v 12000000")
    assert done.returncode == 0, done.stderr
    assert (out / "report.html").stat().st_size > 10_000
    done = command("report", out, "--pictures", shell="ulimit -v 12000000")
    assert done.returncode == 0, done.stderr
    (pdf,) = out.glob("figures/*.pdf")
    assert pdf.read_bytes().startswith(b"%PDF-")


INTERRUPTED = """
import sys
from cwndlab.cli import app


module, sys.argv = sys.argv[1], ["cwndlab", *sys.argv[2:]]


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            raise KeyboardInterrupt


sys.meta_path.insert(0, Finder())
app()
"""
LATE = ("cwndlab.cli.registry", "cwndlab.cli.run", "cwndlab.api", "cwndlab.results.execution")


@pytest.mark.parametrize("module", ["pyarrow", *LATE, "cwndlab.report.write"])
def test_an_interrupt_of_any_import_ends_with_130_and_no_traceback(
    study: Path, tmp_path: Path, module: str
) -> None:
    words = [sys.executable, "-c", INTERRUPTED, module, "run", str(study), "-o", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 130, done.stderr


@pytest.mark.parametrize("module", ["cwndlab._core", "cwndlab.base.errors", "cwndlab.cli"])
def test_an_interrupt_while_the_package_is_imported_ends_with_130_and_no_traceback(
    tmp_path: Path, module: str
) -> None:
    lines = [line for line in INTERRUPTED.splitlines() if "app" not in line or "append" in line]
    finder = "\n".join(f"module = {module!r}" if line.startswith("module,") else line for line in lines)
    (tmp_path / "sitecustomize.py").write_text(finder)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*CWNDLAB, "--version"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


def test_an_interrupt_of_the_runs_ends_with_130_and_no_traceback(study: Path, tmp_path: Path) -> None:
    words = [*CWNDLAB, "run", str(study), "--replicates", "50000", "-o", str(tmp_path / "out")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 120
        while not (tmp_path / "out" / "store").exists() and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(0.5)  # what pydantic builds just after this would swallow the interrupt
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert process.returncode == 130, stderr


def test_an_interrupt_that_pydantic_wraps_ends_with_130_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(words: object) -> object:
        raise RuntimeError("Error building `model` serializer:\n  KeyboardInterrupt: ")

    monkeypatch.setattr("cwndlab.cli.registry.command_line", interrupted)
    with pytest.raises(SystemExit) as end:
        app(["list"])
    assert end.value.code == 130 and capsys.readouterr().err == "interrupted\n"


LONG = "n" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("run", LONG),
        ("run", f"{LONG}.toml"),
        ("check", f"{LONG}/study.toml"),
        ("report", LONG),
        ("explain", f"{LONG}.pcap"),
        ("fit", f"{LONG}.pcap"),
        ("packetdrill", f"{LONG}.pkt"),
        ("trace", "rfc2416", "--set", "variant=sack,iw=4,size=as-traced", "--format", "csv", "-o", LONG),
        ("compare", LONG, LONG),
        ("evaluate", "--cc", f"{LONG}.py:X", "--pack", "nsperf", "-o", "x"),
        ("evaluate", "--cc", "reno", "--pack", LONG, "-o", "x"),
        ("new", "study", LONG),
        ("run", "rfc2416", "--stack", LONG, "--backend", "linux-virtual", "-o", "x"),
        ("export", LONG),
    ],
    ids=lambda words: "-".join(words)[:20],
)
def test_a_name_of_300_characters_is_an_error_without_a_traceback(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert done.returncode in (1, 2), (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert "error" in done.stderr.lower()


def test_results_go_into_no_folder_of_300_characters(study: Path, tmp_path: Path) -> None:
    done = command("run", study, "-o", tmp_path / LONG)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "name too long" in done.stderr.lower()


def test_long_names_in_a_study_run_or_are_refused(tmp_path: Path) -> None:
    for name in ("two nodes", "wire", "bulk"):
        text = TEXT.replace(f'"{name}"', f'"{LONG}"')
        (tmp_path / "long.toml").write_text(text)
        done = command("run", tmp_path / "long.toml", "-o", tmp_path / f"out-{name[:4].strip()}")
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 2), done.stderr


TWO_CUBICS = """
title = "two flows"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
buffer = 1
flows = [{ name = "first", cc = "cubic" }, { name = "second", cc = "cubic" }]
[run]
duration = "10s"
replicates = 1
[probes]
segments_at = "first_sender"
"""


@pytest.mark.parametrize("at", ["first_sender", "left"])
def test_two_cubic_flows_are_fitted_or_refused_with_a_reason(tmp_path: Path, at: str) -> None:
    (tmp_path / "two.toml").write_text(TWO_CUBICS.replace('"first_sender"', f'"{at}"'))
    capture = tmp_path / "two.pcapng"
    traced = command("trace", tmp_path / "two.toml", "--format", "pcapng", "-o", capture)
    assert traced.returncode == 0, traced.stderr
    done = command("fit", capture, "-o", tmp_path / "fitted", seconds=200)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2) and (done.stdout or done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [["metrics"], ["--help"], ["--version"]])
def test_output_that_cannot_be_written_is_an_error_without_a_traceback(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*CWNDLAB, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: output: No space left on device\n"


LEFT_OVER = """
import atexit, sys, threading, time
from cwndlab.cli import main

atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
sys.argv[1:] = ["--version"]
main()
"""


def test_a_command_ends_after_its_threads_and_what_was_registered_for_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_OVER], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
    words = done.stdout.split()
    assert "thread" in words and words[-1] == "registered"
