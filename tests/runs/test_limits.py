"""Inputs that used to hang, to fill the memory or to end in a traceback end in a clear error or a result."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.results.execution import run_study
from cwndlab.runs.work import MeasuredRuns
from fake_core import FakeCore
from small_study import TEXT, edited

#: Seconds after which a command hangs, on a machine however busy, and bytes that it may use.
HANGS_S = 120
MEMORY = 1_000_000_000

ENDLESS = edited(("duration", 'duration = "300000s"\n#'), ("probes]", "probes]\nconnections = true"))
WEB = (
    'app = { kind = "web", protocol = "http/1.0", object = "5kB", request = "300B", clock = "syn", '
    'inline_trigger = "first-packet", think = "1s", inline_objects = 2000000000 }'
)

HANGING = {
    "standstill": (
        edited(
            ('"1Mbps"', '"100Gbps"'),
            ('"10ms"', '"0ms"'),
            ('impairments = [{ kind = "bernoulli", p = 0.01 }]', ""),
            ('profile = "rfc5681"', 'profile = "ns2-1998"\nmss = 1\nack_bytes = 1'),
            ('"50ms"', '"10s"'),
        ),
        r"stands still|stopped at 0\.0",  # the trial of `check` may first be out of time
    ),
    "objects": (edited(('app = { kind = "bulk" }', WEB)), "10000"),
    "duration": (
        edited(("50ms", "500000000s")),
        r"study\.toml:\d+:\d+: run\.duration: must be at most a year",
    ),
    "samples": (
        edited(("50ms", "1000s"), ('segments_at = "a"', 'queues = ["a>b"]\nqueue_interval = "10us"')),
        r"memory|estimated",  # the trial of `check` may be out of time first
    ),
    "digits": (edited(("webs = 2", 'webs = 2\nk = "= round(7, -9000000000)"')), "digits"),
}
"""A study, and what its error says."""

COMMAND = """
import resource, sys
from cwndlab.cli import app
try:
    app()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=open(sys.argv[2] + ".rss", "w"))
"""


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("name", HANGING)
def test_what_would_not_end_ends_with_an_error_within_a_gigabyte(
    name: str, command: str, tmp_path: Path
) -> None:
    text, expected = HANGING[name]
    study = tmp_path / "study.toml"
    study.write_text(text)
    words = [command, str(study), *(["-o", str(tmp_path / "out")] if command == "run" else [])]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, timeout=HANGS_S
    )
    assert "Traceback" not in done.stderr
    said = done.stderr + done.stdout
    assert re.search(expected, said) and (done.returncode != 0 or command == "check"), said
    assert int(Path(f"{study}.rss").read_text()) < MEMORY


def test_a_run_over_its_budget_is_an_error_of_its_cell_that_says_what_to_do(tmp_path: Path) -> None:
    study = Study.from_toml(edited(("50ms", "2s"), ("replicates = 3", "replicates = 1")))
    result = run_study(study, max_events=100)
    assert len(result.failures) == 2
    assert "more than 100 events" in result.failures[0].reason
    assert "--max-events" in result.failures[0].advice
    assert not run_study(study).failures
    with pytest.raises(StudyError, match="max_memory"):
        run_study(study, max_memory_bytes=0)


def test_a_run_is_stopped_by_whoever_started_it_and_by_its_time() -> None:
    scenario = Study.from_toml(ENDLESS).plan().cells[0].scenario
    with pytest.raises(_core.RunStopped):
        _core.run(scenario, 1, 0, max_events=10**12, max_memory_bytes=10**12, stopped=lambda share: True)
    with pytest.raises(_core.BudgetError) as over:
        _core.run(scenario, 1, 0, max_events=10**12, max_memory_bytes=10**12, max_seconds=0.01)
    assert over.value.simulated_ns > 0
    calls: list[int] = []
    work = MeasuredRuns((), max_events=10**12, max_memory_bytes=10**12)
    assert list(work.perform([], lambda: bool(calls.append(1)))) == []


@pytest.mark.parametrize("thread", [False, True])
def test_the_first_ctrl_c_ends_a_long_run(thread: bool, tmp_path: Path) -> None:
    """On the main thread, as `check` and records on demand, and on the threads of `run`."""
    (tmp_path / "study.toml").write_text(ENDLESS)
    main = f"from cwndlab.api import Study; study = Study.load({str(tmp_path / 'study.toml')!r}); "
    main += (
        "study.run(max_events=10**12, max_memory_bytes=10**12)"
        if thread
        else "from cwndlab import _core; "
        "_core.run(study.plan().cells[0].scenario, 1, 0, max_events=10**12, max_memory_bytes=10**12)"
    )
    code = f"print('begun', flush=True); {main}"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None and run.stdout.readline()
        time.sleep(3)  # well into the run: before, Python itself would be interrupted
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=HANGS_S)
    assert b"KeyboardInterrupt" in errors and run.returncode != 0


def test_dates_in_a_study_are_an_error_with_their_key() -> None:
    for value in ("1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "[1979-05-27]"):
        with pytest.raises(StudyError, match=r"parameters\.webs.*dates"):
            Study.from_toml(edited(("webs = 2", f"webs = {value}")))


@pytest.mark.parametrize("place", ["store/values.pack", "Records/x.csv", "report.html"])
def test_a_studys_file_may_not_lie_where_results_are_written(place: str, tmp_path: Path) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("iw,goodput\n1,2\n")
    table = f"""
[[tables]]
id = "t"
title = "t"
rows = ["iw"]
published = "{place}"
[[tables.columns]]
quantity = "goodput"
heading = "h"
"""
    (tmp_path / "study.toml").write_text(TEXT + table)
    with pytest.raises(StudyError, match=r"published.*results"):
        Study.load(tmp_path)


def test_a_folder_in_place_of_the_stores_file_is_an_error(tmp_path: Path, fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    run_study(study, out=tmp_path / "out")
    pack = tmp_path / "out" / "store" / "values.pack"
    pack.unlink()
    pack.mkdir()
    with pytest.raises(OutputError, match=r"values\.pack.*remove it"):
        run_study(study, out=tmp_path / "out")
    pack.rmdir()
    assert run_study(study, out=tmp_path / "out").failures == []


def test_no_control_character_of_a_title_reaches_the_terminal(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(edited(('"two nodes"', '"two\\u001b[31m\\u202e nodes"')))
    done = subprocess.run([sys.executable, "-m", "cwndlab", "check", str(study)], capture_output=True)
    assert done.returncode == 0 and b"two" in done.stdout
    assert b"\x1b" not in done.stdout and "\u202e".encode() not in done.stdout


ELSEWHERE = """
import os, sys
del os.sched_getaffinity
sys.modules["fcntl"] = None
import cwndlab
from cwndlab.runs.executors.threads import available
from cwndlab.base.errors import StudyError
from cwndlab.api import Study
study = Study.load(sys.argv[1])
assert not study.run().failures and available() >= 1
sys.platform = "darwin"
try:
    study.run(backend="linux")
except StudyError as error:
    print(error)
from cwndlab.apps.doctor.installation import examine
print(*(item.detail for item in examine() if item.name.startswith("linux")))
"""


def test_elsewhere_than_on_linux_studies_run_and_the_kernel_backend_says_what_it_needs(
    tmp_path: Path,
) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path / "study.toml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "need Linux" in done.stdout and "a kernel's runs need Linux" in done.stdout
