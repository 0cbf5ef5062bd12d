"""Congestion controls of the user's own in studies: where they join, their keys, how they fail."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab.api import Study
from cwndlab.apps.new.command import new, write_cc
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.base.laws import from_file, load, make_law_codes
from cwndlab.runs.executors.threads import Threads
from cwndlab.study.congestion import congestion_control
from small_study import edited

LAW = """\
from pathlib import Path

from cwndlab import AckReport, CongestionControl, LossEvent

Path(__file__).with_suffix(".ran").touch()


class Mine(CongestionControl):
    def on_ack(self, ack: AckReport) -> None:
        self.cwnd_bytes += ack.growth_bytes * 2 * ack.mss / self.cwnd_bytes

    def on_loss(self, event: LossEvent) -> None:
        self.cwnd_bytes = max(event.flight_bytes * 0.7, 2 * event.mss)
"""
STUDY = edited(
    ('sets = "tcp.initial_window"\nvalues = [1, 4]', 'sets = "tcp.window_law"\nvalues = ["reno", "cubic"]'),
    ("[axes.iw]", "[axes.law]"),
    ('duration = "50ms"', 'duration = "2s"'),
)


@pytest.fixture
def law(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(LAW)
    return file


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts no processes, which take their time."""
    monkeypatch.setattr("cwndlab.apps.processes.processes.Processes", Threads)


def values(result: Any) -> dict[tuple[str, str], Any]:
    return dict(result.results.data)


def test_a_law_joins_the_axis_that_varies_the_window_law(
    law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, out=out, threads=2)
    assert [cell.id for cell in result.results.cells] == ["law=reno", "law=cubic", "law=mine"]
    assert not result.failures
    kept = json.loads((out / "provenance.json").read_text())["congestion_controls"]
    report = (out / "report.md").read_text().replace("\\_", "_")
    assert f"digest {kept[0]['digest']}" in report and "--cc mine=congestion_controls/mine.py:Mine" in report
    assert kept[0]["class"] == "Mine" and (out / kept[0]["copy"]).read_text() == LAW
    # This process gives what two others give, and the folder is read without the code being run.
    law.with_suffix(".ran").unlink()
    opened = cwndlab.open_results(out)
    assert not law.with_suffix(".ran").exists()
    monkeypatch.setattr("cwndlab.apps.processes.processes.Processes", Threads)
    alone = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1)
    assert values(opened) == values(result) == values(alone)
    with pytest.raises(OutputError, match="runs no code"):
        opened.sel(cell="law=mine").records("connections", replicate=1)


def test_a_study_that_names_the_law_is_run_as_it_is(law: Path) -> None:
    study = Study.from_toml(STUDY.replace('"cubic"', '"mine"'))
    assert study.with_laws(make_law_codes({"mine": str(law)})).outline.axes["law"].names == ["reno", "mine"]
    by_key = Study.from_toml(edited()).configure(
        {"tcp.window_law": "mine"}, dict([congestion_control(f"{law}:Mine")])
    )
    assert [cell.compiled.scenario["tcp"][0]["window_law"] for cell in by_key.plan().cells] == [
        from_file(str(law)).knob
    ] * 2
    by_name = Study.from_toml(edited(('profile = "rfc5681"', 'profile = "rfc5681"\ncc = "mine"')))
    named = by_name.with_laws(make_law_codes({"mine": str(law)}))
    assert named.plan().cells[0].compiled.laws == [from_file(str(law)).digest]


def test_a_value_with_several_settings_is_copied_from_the_first(law: Path) -> None:
    several = '[{ name = "a", set = { "tcp.window_law" = "reno", "tcp.initial_window" = 3 } }]'
    study = Study.from_toml(
        STUDY.replace('sets = "tcp.window_law"\nvalues = ["reno", "cubic"]', f"values = {several}")
    )
    cell = study.with_laws(make_law_codes({"mine": str(law)})).plan().cells[1]
    assert cell.id == "law=mine"
    assert cell.compiled.scenario["tcp"][0]["initial_window"] == {"segments": 3}


def test_a_study_file_alone_runs_no_code_and_says_what_is_missing(
    law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # this user's kernels may have a law "mine"
    study = Study.from_toml(STUDY.replace('"cubic"', '"mine"'))
    with pytest.raises(StudyError, match=r"'mine'.*cc FILE.py:CLASS"):
        study.plan().check()
    path = Study.from_toml(STUDY.replace('"cubic"', f'"{law}:Mine"'))
    with pytest.raises(StudyError):
        path.plan().check()
    assert not law.with_suffix(".ran").exists()


def test_the_code_is_part_of_the_key_and_nothing_else_of_the_file_system_is(
    law: Path, tmp_path: Path
) -> None:
    first = from_file(str(law))
    elsewhere = tmp_path / "other.py"
    elsewhere.write_text(LAW)
    assert from_file(f"mine={elsewhere}").digest == first.digest
    law.write_text(LAW.replace("0.7", "0.8"))
    assert from_file(str(law)).digest != first.digest
    study = Study.from_toml(STUDY)
    scenarios = [
        study.with_laws({"mine": code}).plan().cells[2].completed_scenario
        for code in (first, from_file(str(law)))
    ]
    assert scenarios[0] != scenarios[1] and first.digest in scenarios[0]


def test_a_changed_module_that_a_law_imports_is_another_law(
    law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "beta_of_mine.py").write_text("BETA = 0.7\n")
    law.write_text("from beta_of_mine import BETA\n" + LAW.replace("0.7", "BETA"))
    first = from_file(str(law)).digest
    (tmp_path / "beta_of_mine.py").write_text("BETA = 0.8\n")
    assert from_file(str(law)).digest != first
    assert pickle.loads(pickle.dumps(from_file(str(law)))).digest != first


def test_another_process_computes_the_digest_of_what_it_received(law: Path) -> None:
    code = from_file(str(law))
    sent = pickle.dumps(code)
    assert pickle.loads(sent).digest == code.digest
    assert pickle.loads(sent.replace(b"0.7", b"0.8")).digest != code.digest


def test_a_class_stands_for_the_module_that_defines_it(law: Path) -> None:
    code = from_file(str(law))
    cls = load(code)
    assert load(code) is cls and make_law_codes({"mine": cls})["mine"].digest == code.digest


@pytest.mark.usefixtures("in_this_process")
def test_an_error_in_a_law_fails_its_cell_alone(law: Path) -> None:
    law.write_text(LAW.replace("self.cwnd_bytes = max", "self.cwnd = self.none + max"))
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1)
    assert {failure.cell for failure in result.failures} == {"law=mine"}
    assert f"{law}:13: Mine.on_loss: AttributeError" in result.failures[0].reason
    assert "flow bulk.0, connection 0, client" in result.failures[0].reason
    assert ("law=cubic", "goodput") in result.results.data


@pytest.mark.usefixtures("in_this_process")
def test_a_call_that_does_not_return_and_catches_exceptions_fails_its_cell_alone(
    law: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "0.05")
    endless = "while True:\n            try: pass\n            except Exception: pass\n        max"
    law.write_text(LAW.replace("self.cwnd_bytes = max", endless))
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1, replicates=1)
    assert {failure.cell for failure in result.failures} == {"law=mine"}
    reason = result.failures[0].reason
    assert re.search(r"mine\.py:1[345]: Mine\.on_loss: CallTimeout: the call has not returned", reason)
    assert ("law=cubic", "goodput") in result.results.data


@pytest.mark.usefixtures("in_this_process")
def test_no_exception_is_raised_in_the_thread_of_calls_that_return(
    law: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[int] = []
    monkeypatch.setattr("cwndlab.base.watch._raise", lambda thread, *_: raised.append(thread))
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1, replicates=1)
    assert not result.failures
    assert not raised  # CPython 3.11 hangs when a profiler is set after an exception was withdrawn


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "import time; time.sleep(3600)",
            r"mine\.py:13: Mine\.on_loss: CallTimeout: the call has not returned",
        ),
        (
            "while True:\n            try: pass\n            except BaseException: pass",
            r"mine\.py:1[345]: .*CallTimeout",
        ),
        (
            "import os; os.fork()",
            r"mine\.py:13: Mine\.on_loss: RuntimeError: a law or a metric must not fork",
        ),
        ("raise KeyboardInterrupt", r"mine\.py:13: KeyboardInterrupt"),
        ("self.kept = bytearray(1 << 40)", r"mine\.py:13: Mine\.on_loss: MemoryError"),
        (
            "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()",
            r"Mine\.on_loss: E: its text cannot be shown",
        ),
        ("import json; json.loads('{')", r"mine\.py:13: Mine\.on_loss: JSONDecodeError"),
    ],
)
def test_whatever_a_law_does_fails_its_cell_alone(
    law: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], code: str, reason: str
) -> None:
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "0.5")
    law.write_text(LAW.replace("self.cwnd_bytes = max", f"{code}\n        max"))
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1, replicates=1)
    assert {failure.cell for failure in result.failures} == {"law=mine"}
    assert re.search(reason, result.failures[0].reason)
    assert ("law=cubic", "goodput") in result.results.data
    assert "Traceback" not in capfd.readouterr().err


def test_a_law_cannot_read_the_requests_to_its_process(law: Path) -> None:
    law.write_text(
        LAW.replace(
            "self.cwnd_bytes = max", "import sys; assert sys.stdin.read() == ''; self.cwnd_bytes = max"
        )
    )
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1, replicates=1)
    assert not result.failures


@pytest.mark.parametrize("command", ["check", "trace", "explain"])
def test_a_command_ends_though_a_call_sleeps(law: Path, tmp_path: Path, command: str) -> None:
    law.write_text(LAW.replace("self.cwnd_bytes = max", "import time; time.sleep(3600); max"))
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace('"reno", "cubic"', '"mine"'))
    done = subprocess.run(
        [sys.executable, "-m", "cwndlab", command, str(study), "--cc", str(law)],
        env={**os.environ, "CWNDLAB_CALL_LIMIT_S": "0.5"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert re.search(r"^error: .*mine\.py:13: Mine\.on_loss: CallTimeout", done.stderr, re.MULTILINE), (
        done.stderr
    )
    assert "Traceback" not in done.stderr


def test_a_process_of_laws_ends_with_the_one_that_started_it(law: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    law.write_text(
        LAW.replace(
            "self.cwnd_bytes = max",
            f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(3600); max",
        )
    )
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace('"reno", "cubic"', '"mine"'))
    command = [
        sys.executable,
        "-m",
        "cwndlab",
        "run",
        str(study),
        "--cc",
        str(law),
        "-o",
        str(tmp_path / "out"),
    ]
    with subprocess.Popen(
        command, env={**os.environ, "CWNDLAB_CALL_LIMIT_S": "600"}, stderr=subprocess.PIPE, text=True
    ) as run:
        deadline = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        worker = int(pid.read_text())
        run.kill()
        assert run.stderr is not None
        assert "Traceback" not in run.stderr.read()  # ends once the workers have ended
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()


def test_a_law_that_ends_its_process_fails_its_cell_alone(law: Path) -> None:
    law.write_text(LAW.replace("self.cwnd_bytes = max", "import os; os._exit(7); max"))
    result = cwndlab.run(Study.from_toml(STUDY), cc={"mine": str(law)}, threads=1, replicates=1)
    assert [(f.cell, f.reason) for f in result.failures] == [("law=mine", "its process ended with code 7")]
    assert ("law=cubic", "goodput") in result.results.data


def test_a_file_that_runs_a_study_is_read_for_its_law_and_runs_nothing(law: Path) -> None:
    law.write_text(LAW + '\nimport cwndlab\n\ncwndlab.run("rfc2415", cc={"mine": Mine})\nraise OSError\n')
    assert from_file(str(law)).class_name == "Mine"


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ("none.py:Mine", "", "none.py cannot be read"),
        ("mine.txt", "", "names no Python file"),
        ("mine.py:Yours", LAW, 'no congestion control Yours.*did you mean "Mine"|Yours.*known: Mine'),
        ("cubic=mine.py", LAW, "cubic is a window law of the engine"),
        ("My=mine.py", LAW, "is not a name"),
        ("mine.py", "1 +", r"mine\.py:1: cc: invalid syntax"),
        ("mine.py", "x = 1\nx.y", r"mine\.py:2: cc: AttributeError"),
        ("mine.py", LAW.replace("on_loss", "on_lost"), "Mine has no on_loss"),
    ],
)
def test_a_law_that_cannot_be_used_says_why(
    spec: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    with pytest.raises(StudyError, match=message):
        from_file(spec)


def test_a_law_that_no_cell_uses_is_an_error(law: Path) -> None:
    study = Study.from_toml(STUDY).configure({}, dict([congestion_control(str(law))])).set({"law": "reno"})
    with pytest.raises(StudyError, match="no cell of this run uses"):
        study.plan().check()
    with pytest.raises(StudyError, match="no axis varies it"):
        Study.from_toml(edited()).configure({}, dict([congestion_control(str(law))]))


def test_the_files_of_cwndlab_new_cc_check_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new(["cc", str(tmp_path / "my-law")])
    law = tmp_path / "my-law" / "my_law.py"
    assert f"next: cwndlab run {law.parent / 'study.toml'} --cc {law} " in capsys.readouterr().out
    plan = Study.load(tmp_path / "my-law").configure({}, dict([congestion_control(str(law))])).plan()
    plan.check()
    assert {cell.axes["cc"] for cell in plan.cells} == {"my-law", "cubic", "bbr3"}
    test = law.with_name("test_my_law.py")
    done = subprocess.run([sys.executable, test], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr
    with pytest.raises(OutputError, match="exists already"):
        write_cc(str(tmp_path / "my-law"))
