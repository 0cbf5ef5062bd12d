"""The command line: what it prints, and how it refuses."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cwndlab.cli import app
from fake_core import FakeCore
from small_study import TEXT, edited

QUESTION = """
title = "Which is better?"
dumbbell = { rate = "10Mbps", rtt = "20ms", flows = [{ cc = ["reno", "cubic"] }] }
run = { duration = "1s" }
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    with pytest.raises(SystemExit) as caught:
        app([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


@pytest.fixture
def study(tmp_path: Path, fake_core: FakeCore) -> Path:
    (tmp_path / "study.toml").write_text(TEXT)
    return tmp_path / "study.toml"


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("metrics queue_d", {"queue_delay"}),
        ("run rfc2416 --set va", {"variant="}),
        ("run rfc2416 --set run.dur", {"run.duration="}),
        ("run rfc2416 --set variant=sa", {"variant=sack"}),
        ("run rfc2416 --cc cub", {"cubic", "cubic-linux"}),
        ("evaluate --pack rfc97", {"rfc9743"}),
        ("explore buf", {"bufferbloat"}),
    ],
)
def test_the_shell_completes_names(words: str, completed: set[str]) -> None:
    asked = {"COMP_WORDS": f"cwndlab {words}", "COMP_CWORD": str(len(words.split()))}
    command = [sys.executable, "-c", "from cwndlab.cli import app; app(prog_name='cwndlab')"]
    env = {**os.environ, "_CWNDLAB_COMPLETE": "complete_bash", **asked}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == completed


def test_a_congestion_control_of_the_engine_joins_the_axis_of_such(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "q.toml").write_text(QUESTION)
    code, out, _ = call(capsys, "check", tmp_path / "q.toml", "--cc", "bbr1", "--json")
    assert code == 0
    assert [cell["cell"] for cell in json.loads(out)["cells"]] == ["cc=reno", "cc=cubic", "cc=bbr1"]
    code, _, err = call(capsys, "check", tmp_path / "q.toml", "--cc", "bbbr")
    assert code == 2 and "no congestion control 'bbbr'; did you mean" in err and "FILE.py:CLASS" in err


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (("--stack", "linux-stock"), "a finished run has no --stack"),
        (("--longest", "3"), "a finished run has no --longest"),
        (("--cc", "reno"), "a finished run has no --cc"),
    ],
)
def test_explain_refuses_options_that_a_finished_run_does_not_have(
    options: tuple[str, ...], refused: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "provenance.json").write_text("{}")
    code, _, err = call(capsys, "explain", tmp_path, *options)
    assert code == 2 and refused in err and "it takes --set, --budgets, --json" in err


def test_list_names_the_shipped_studies(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "list")
    assert code == 0 and "rfc2416" in out


def test_check_prints_the_plan(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    code, out, _ = call(capsys, "check", study, "--replicates", 5)
    assert code == 0 and "2 cells, 5 replicates each\n10 runs" in out and "estimated" in out


def test_check_says_when_flows_begin(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(QUESTION)
    drawn = "begin at random, from 0s to 1s"
    assert drawn in call(capsys, "check", tmp_path / "q.toml")[1]
    together = QUESTION.replace("flows = [{", 'flows = [{ start = "0s",')
    (tmp_path / "q.toml").write_text(together)
    assert drawn not in call(capsys, "check", tmp_path / "q.toml")[1]


def test_a_trace_that_is_not_there_is_one_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert '"10Mbps"' in QUESTION
    (tmp_path / "q.toml").write_text(QUESTION.replace('"10Mbps"', '{ trace = "none.trace" }'))
    code, _, err = call(capsys, "check", tmp_path / "q.toml")
    assert code == 2 and "none.trace: there is no such file" in err and "missing" not in err


def test_run_prints_the_results_before_it_makes_the_page(
    capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []

    def noted(*given: Any, **more: Any) -> Any:
        printed.append(capsys.readouterr().out)
        return build_view(*given, **more)

    writing = import_module("cwndlab.results.execution")
    build_view = writing.build_view
    monkeypatch.setattr(writing, "build_view", noted)
    _, rest, _ = call(capsys, "run", study, "-o", tmp_path / "a", "--threads", 1)
    assert "2 cells, 6 runs in" in printed[0] and rest.startswith("report: ")


def test_run_report_and_compare(capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path) -> None:
    figure = '[[figures]]\nid = "growth"\ntitle = "Growth"\nkind = "line"\nx = "iw"\nquantity = "goodput"\n'
    study.write_text(f"{TEXT}\n{figure}")
    code, out, _ = call(capsys, "run", study, "-o", tmp_path / "a", "--threads", 2)
    assert code == 0 and out.strip().endswith("report.html") and (tmp_path / "a/report.html").exists()
    assert {path.suffix for path in (tmp_path / "a/figures").iterdir()} == {".svg"}
    assert call(capsys, "report", tmp_path / "a", "--pictures")[0] == 0
    assert (tmp_path / "a/figures/growth.pdf").read_bytes().startswith(b"%PDF-")
    assert (tmp_path / "a/figures/growth.png").read_bytes().startswith(b"\x89PNG")
    call(
        capsys, "run", study, "-o", tmp_path / "b", "--set", "topology.links.wire.rate=2Mbps", "--set", "iw=4"
    )
    code, out, _ = call(capsys, "compare", tmp_path / "a", tmp_path / "b")
    assert code == 0 and "moved" in out and "only in" in out and "paired" in out
    code, out, _ = call(capsys, "compare", tmp_path / "a", tmp_path / "a")
    assert "2 numbers are equal, 0 differ" in out


def test_of_a_large_sweep_check_compiles_some_cells_and_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(edited(("values = [1, 4]", f"values = {list(range(1, 2602))}")))
    _, out, err = call(capsys, "check", file)
    assert "2601 cells, 3 replicates each" in out and "about 7803 runs" in out
    assert "note: 500 of 2,601 cells were checked; `run` checks all" in err
    file.write_text(edited(("values = [1, 4]", f"values = {[*range(1, 2601), 70_000]}")))
    code, _, err = call(capsys, "check", file)
    assert code == 2 and "initial_window" in err, "the last cell is among those"


def test_trace_prints_events_to_the_microsecond(
    capfdbinary: pytest.CaptureFixture[bytes], study: Path, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as caught:
        app(["trace", str(study), "--set", "iw=4"])
    out = capfdbinary.readouterr().out.decode()
    assert not caught.value.code
    assert out.splitlines()[:4] == [
        "time_s,event,segment",
        "0.000000,send,1",
        "0.000000,send,2",
        "1.222293,ack,1",
    ]
    with pytest.raises(SystemExit):
        app(["trace", str(study), "--set", "iw=4", "--format", "text", "-o", str(tmp_path / "t")])
    assert "1.222293  an ack arrives covering packet 1" in (tmp_path / "t").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "iw=4", "--set", "run.duration=80ms"],
        ["--set", "iw=4,run.duration=80ms"],
        ["--set", "iw=4", "run.duration=80ms"],
    ],
)
def test_several_changes_can_be_written_in_every_usual_way(
    capsys: pytest.CaptureFixture[str], study: Path, words: list[str]
) -> None:
    _, out, _ = call(capsys, "check", study, *words)
    assert "1 cell, 3 replicates each\n3 runs of 0.08 s" in out
    assert "2 cells" in call(capsys, "check", study, "--set", "iw=2,10")[1]


def test_traces_for_other_tools_are_written_by_the_core(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    for kind, start in (("pcapng", b"\x0a\x0d\x0d\x0a"), ("ns", b"+")):
        with pytest.raises(SystemExit) as caught:
            app(["trace", str(tmp_path), "--set", "iw=4", "--format", kind, "-o", str(tmp_path / kind)])
        assert not caught.value.code
        assert start in (tmp_path / kind).read_bytes()[:80], kind


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "STUDY", "-o", "OUT", "--set", "iww=4"], '"iw"'),
        (["run", "STUDY", "-o", "OUT", "--set", "iw"], "--set iw=4"),
        (["run", "STUDY", "-o", "OUT", "--until", "2"], '"2%"'),
        (["run", "STUDY", "-o", "OUT", "--sensitivity", "all"], "no sensitivity axes"),
        (["run", "STUDY", "-o", "OUT", "--store", "foo://x"], "s3://bucket/prefix"),
        (["run", "STUDY", "-o", "OUT", "--cluster", "nowhere"], "tcp://"),
        (["run", "STUDY", "-o", "/proc/nowhere/out"], "cannot be written"),
        (["run", "STUDY", "-o", "STUDY"], "is not a folder"),
        (["run", "rfc2461", "-o", "OUT"], "rfc2416"),
        (["report", "OUT"], "no such folder"),
        (["compare", "OUT", "OUT"], "no such folder"),
        (["trace", "STUDY", "--format", "pdf"], "csv"),
        (["trace", "STUDY", "-o", "/proc/nowhere"], "/proc/nowhere: cannot be written"),
        (["check", "OUT/missing.toml"], "no study"),
        (["run", "STUDY", "-o", "OUT", "--limit", "max-lateness=20ms"], "--backend linux"),
        (["run", "STUDY", "-o", "OUT", "--backend", "linux", "--limit", "max-latenes=1ms"], "max_lateness"),
        (["run", "STUDY", "-o", "OUT", "--backend", "linux", "--limit", "steal=5"], "percentage"),
        (["run", "STUDY", "-o", "OUT", "--backend", "linux", "--cluster", "tcp://a:1"], "this machine"),
    ],
)
def test_bad_input_ends_with_one_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    words = [a.replace("STUDY", str(study)).replace("OUT", str(tmp_path / "out")) for a in arguments]
    code, _, err = call(capsys, *words)
    assert code == 2 and said in err and "Traceback" not in err and len(err.strip().splitlines()) <= 2


def test_without_an_observation_point_trace_names_a_node_of_the_study(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(edited(('segments_at = "a"', "cwnd = false")))
    with pytest.raises(SystemExit):
        app(["trace", str(tmp_path / "study.toml")])
    assert 'name a node: segments_at = "a"' in capsys.readouterr().err


def test_binary_traces_are_not_written_to_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, err = call(capsys, "trace", "rfc2416", "--format", "pcapng")
    assert code == 2 and out == ""
    assert "--format: pcapng is binary" in err and "-o rfc2416.pcapng" in err


def test_a_run_that_failed_exits_with_1(
    capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path, fake_core: FakeCore
) -> None:
    fake_core.broken = '"segments":4'
    code, _, err = call(capsys, "run", study, "-o", tmp_path / "out")
    assert code == 1 and "failed: iw=4" in err and "panicked" in err


def test_the_command_starts_without_loading_what_it_does_not_need() -> None:
    heavy = {"pyarrow", "numpy", "altair", "pydantic", "cwndlab.apps.evaluate.command"}
    called = "import sys, cwndlab.cli.registry as r; r.command_line(['run'])"
    script = f"{called}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


SMALL = """
title = "Two flows"
measure = ["goodput", "queue_delay"]
dumbbell = { rate = "10Mbps", rtt = "40ms", flows = [{ cc = "cubic" }, { cc = "reno" }] }
run = { duration = "1s" }
"""
#: What a run without figures, claims and lists has no use for.
UNREACHED = {
    *("altair", "concurrent.futures", "markdown_it", "numpy.ma", "pandas", "rich", "vl_convert", "xml.etree"),
    *("argparse", "asyncio", "dpkt", "multiprocessing", "scipy", "sqlite3", "ssl", "tomlkit", "unittest"),
    *(f"numpy.{name}" for name in ("ctypeslib", "fft", "polynomial", "random", "testing")),
    *(f"pyarrow.{name}" for name in ("compute", "dataset", "fs", "parquet")),
    *(f"cwndlab.report.{name}" for name in ("canvas", "figures", "svg")),
    *(f"cwndlab.stats.{name}" for name in ("claims", "expression", "listing", "series")),
    *("cwndlab.apps.notebook.stream", "cwndlab.apps.edit.study_text"),
}


@pytest.mark.parametrize(
    ("duration", "apps"),  # a page explains the waits of short cells only
    [("1s", ["check", "diagnosis", "headline", "live"]), ("30s", ["check", "headline", "live"])],
)
def test_a_small_run_imports_only_what_it_reaches(tmp_path: Path, duration: str, apps: list[str]) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace("1s", duration))
    script = (
        "import atexit, sys, cwndlab.cli as c\n"
        f"atexit.register(lambda: print(sorted({UNREACHED} & sys.modules.keys())))\n"
        "apps = lambda: {name.split('.')[2] for name in sys.modules if name.startswith('cwndlab.apps.')}\n"
        "atexit.register(lambda: print(sorted(apps())))\n"
        "c.app(['run', 'small.toml', '-o', 'out', '-q'])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(apps), "[]"]
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_loads_the_libraries_of_pyarrow_ahead_without_importing_it() -> None:
    script = (
        "import sys\n"
        "from cwndlab.cli.start import preload\n"
        "preload('pyarrow', 'lib').join()\n"
        "print('libarrow' in open('/proc/self/maps').read(), 'pyarrow' in sys.modules)\n"
        "import pyarrow\n"
        "print(len(pyarrow.array([1, 2])))\n"
        "print(preload('pyarrow', 'missing'), preload('missing', 'lib'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True False", "2", "None None"]


def test_garbage_is_collected_during_a_run_except_for_what_cwndlab_imported(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace("queue_delay", "mine"))
    (tmp_path / "mine.py").write_text(
        "import atexit, gc, sys, cwndlab\n"
        "def collected():\n"
        "    ids = {id(one) for one in gc.get_objects()}\n"
        "    return [id(sys.modules[name].__dict__) in ids for name in ('numpy', __name__)]\n"
        "atexit.register(lambda: print(gc.isenabled(), collected()))\n"
        "@cwndlab.metric(unit='1')\n"
        "def mine(run: cwndlab.RunView) -> float:\n"
        "    'Nothing.'\n"
        "    return 1.0\n"
    )
    command = [sys.executable, "-m", "cwndlab", "run", "small.toml", "-o", "out", "-q", "--metric", "mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True [False, True]"]


def test_a_command_called_from_python_leaves_its_garbage_collectable(
    capsys: pytest.CaptureFixture[str], study: Path
) -> None:
    call(capsys, "run", study, "-o", study.parent / "out", "-q")
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_an_error_has_no_traceback_from_the_shell(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(edited(('rate = "1Mbps"', 'rate = "-1Mbps"')))
    done = subprocess.run(
        [sys.executable, "-m", "cwndlab", "check", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"error: {tmp_path}/study.toml:12:1: topology.links.wire.rate: ")


def test_version_and_help_have_their_usual_short_forms(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--version")
    assert code == 0 and out.startswith("cwndlab 0.")
    assert call(capsys, "-h")[:2] == call(capsys, "--help")[:2]
    assert "simulator|linux" in call(capsys, "run", "-h")[1]


def test_run_writes_beside_the_caller_and_sums_up(
    capsys: pytest.CaptureFixture[str], study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    study.rename("mine.toml")
    code, out, _ = call(capsys, "run", "mine.toml")
    assert code == 0 and out.startswith("2 cells, 6 runs in ") and "report: mine-out/report.html" in out
    assert call(capsys, "run", "mine.toml", "-q")[1] == ""
    code, out, _ = call(capsys, "run", "mine.toml", "-v")
    assert "iw=1  goodput: " in out and "nothing to run" in out
    data = json.loads(call(capsys, "run", "mine.toml", "--json")[1])
    assert (data["cells"], data["replicates_run"], len(data["estimates"])) == (2, 0, 2)


def test_strict_fails_where_a_claim_does(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    claim = '[[claims]]\nid = "huge"\nsection = "1"\ntext = "It is huge."\nassert = "goodput > 1e9"\n'
    (study.parent / "claims.toml").write_text(claim)
    out = study.parent / "out"
    assert call(capsys, "run", study, "-o", out)[0] == 0
    code, said, err = call(capsys, "run", study, "-o", out, "--strict")
    assert code == 3 and "claims: 1 fails" in said and "error: 1 claim failed: huge" in err


def test_a_study_without_randomness_says_how_to_add_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fake_core: FakeCore
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(edited(('impairments = [{ kind = "bernoulli", p = 0.01 }]', "")))
    code, _, err = call(capsys, "check", file)
    assert (
        code == 0 and "nothing is random in this study" in err and 'start = { uniform = ["0s", "1s"] }' in err
    )
    assert "nothing is random" in call(capsys, "run", file, "-o", tmp_path / "out")[2]
    assert "nothing is random" not in call(capsys, "check", file, "--replicates", 1)[2]


def test_a_new_study_runs_as_written_and_is_never_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_core: FakeCore
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "new", "buffers")[:2] == (0, "wrote buffers.toml\nnext: cwndlab run buffers.toml\n")
    code, out, _ = call(capsys, "check", "buffers.toml")
    assert code == 0 and "3 cells, 5 replicates each" in out
    code, _, err = call(capsys, "new", "buffers")
    assert code == 2 and "exists already" in err
    assert call(capsys, "new", "two", "words", "more")[0] == 2
    assert call(capsys, "new", "study", "other")[1] == "wrote other.toml\nnext: cwndlab run other.toml\n"


def test_check_takes_a_seed(capsys: pytest.CaptureFixture[str], study: Path) -> None:
    assert "seed 77" in call(capsys, "check", study, "--seed", "77")[1]


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("new", "cc"), "write for instance cwndlab new cc mine"),
        (("check", "rfc2416", "--metric", "mine.py:best"), "write mine.py: all of its metrics"),
    ],
)
def test_a_name_missing_or_too_many_says_what_to_write(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], right: str
) -> None:
    code, _, err = call(capsys, *words)
    assert code != 0 and right in err


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["run", "rfc2416", "--png"], "`cwndlab report DIR --pictures` writes figures as PDF and PNG"),
        (["trace", "rfc2416", "--format", "xplot"], "write pcapng, of which `tcptrace -S` makes xplot files"),
    ],
)
def test_what_earlier_versions_had_says_what_to_write(
    capsys: pytest.CaptureFixture[str], words: list[str], right: str
) -> None:
    code, _, err = call(capsys, *words)
    assert code == 2 and right in err
