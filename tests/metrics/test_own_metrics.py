"""Metrics of the user's own: known by their decorator, kept under a digest of their code."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cwndlab
from cwndlab import Dumbbell, Flow, OutputError, Run, Study, StudyError, metrics
from cwndlab.base import watch
from cwndlab.cli import app
from cwndlab.metrics import _declared
from cwndlab.runs.work import MeasuredRuns
from cwndlab.study.schema import Quantity

FILE = '''\
import numpy as np

import cwndlab


@cwndlab.metric(unit="B", low=0, tables=["connections"])
def largest_transfer(run: cwndlab.RunView, *, traffic: str | None = None) -> float:
    """Bytes that the largest connection delivered."""
    rows = run.columns("connections")
    mine = np.isin(rows["traffic"], run.traffic(traffic))
    return FACTOR * float(np.max(rows["bytes_up"][mine], initial=0))


FACTOR = 1
'''


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    before = dict(_declared._known)
    yield
    _declared._known.clear()
    _declared._known.update(before)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    network = Dumbbell(rate="5Mbps", rtt="20ms", flows=[Flow(cc="cubic"), Flow(cc="reno")])
    _declared.load_metrics("mine.py")
    study = Study.build(
        "own", measure=["largest_transfer"], dumbbell=network, run=Run(duration="1s", replicates=2)
    )
    study.save("own.toml")
    _declared._known.clear()
    return tmp_path / "mine.py"


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        app(list(words))
    return int(caught.value.code or 0)


def test_a_study_file_alone_runs_no_code(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("check", "own.toml") == 2
    assert 'there is no measure or metric "largest_transfer"' in capsys.readouterr().err


def test_a_metric_of_a_file_is_measured_shown_and_reopened_without_its_code(file: Path) -> None:
    assert command("run", "own.toml", "--metric", "mine.py", "-q") == 0
    report = Path("own-out/report.md").read_text()
    assert "Bytes that the largest connection delivered" in report
    file.unlink()
    _declared._known.clear()
    run = cwndlab.open_results("own-out")
    for replicate in (0, 1):
        table = run.records("connections", replicate=replicate)
        sent = dict(zip(table.column("flow").to_pylist(), table.column("bytes_up").to_pylist(), strict=True))
        for flow in ("cubic", "reno"):
            name = f"largest_transfer_{flow}"
            assert run.results.values("base", name)[replicate] == sent[flow] > 0
    assert run.results.labels.unit("largest_transfer_cubic") == "B"
    with pytest.raises(ValueError, match="opening results runs no code"):
        metrics.get("largest_transfer").measure(None)


def test_a_changed_metric_is_measured_anew_and_nothing_runs(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("run", "own.toml", "--metric", "mine.py", "-q") == 0
    first = cwndlab.open_results("own-out").estimate("largest_transfer_cubic").value
    file.write_text(FILE.replace("FACTOR = 1", "FACTOR = 2"))
    assert command("run", "own.toml", "--metric", "mine.py", "--json") == 0
    known = json.loads(Path("own-out/provenance.json").read_text())
    assert known["replicates_run"] == 1  # a short run's records are not kept but for the first replicate
    assert known["replicates_measured"] == 1
    assert cwndlab.open_results("own-out").estimate("largest_transfer_cubic").value == 2 * first
    _declared._known.clear()
    file.write_text(FILE)
    _declared.load_metrics("mine.py")
    with pytest.raises(OutputError, match='another metric "largest_transfer"'):
        cwndlab.open_results("own-out")


def test_a_changed_module_that_a_metric_imports_is_another_metric(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "inner_of_mine.py").write_text("FACTOR = 1\n")
    (tmp_path / "helper_of_mine.py").write_text("from inner_of_mine import FACTOR\n")
    file.write_text(FILE.replace("FACTOR = 1", "from helper_of_mine import FACTOR"))

    def digest() -> str:
        _declared.load_metrics("mine.py")
        return _declared._known["largest_transfer"].code.digest

    first = digest()
    assert digest() == first
    (tmp_path / "inner_of_mine.py").write_text("FACTOR = 2\n")
    assert digest() != first
    cwndlab.run("own.toml", threads=1, out="out")
    assert cwndlab.open_results("out").estimate("largest_transfer_cubic").value > 0


def test_other_processes_get_the_metric_with_the_work(file: Path) -> None:
    _declared.load_metrics("mine.py")
    work = pickle.loads(pickle.dumps(MeasuredRuns((Quantity(name="x", metric="largest_transfer"),))))
    file.unlink()  # as on another machine
    _declared._known.clear()
    work.check()
    assert metrics.get("largest_transfer").unit == "B"
    _declared._known.clear()
    assert command("run", "own.toml", "--metric", "missing.py") == 2


def test_a_metric_reaches_the_processes_that_run_a_law_in_python(file: Path) -> None:
    few = Path(__file__).parents[1] / "laws/few.py"
    _declared.load_metrics("mine.py")
    run = cwndlab.run("own.toml", changes={"dumbbell.flows.2.cc": "few"}, cc={"few": few}, replicates=1)
    assert not run.failures
    assert run.estimate("largest_transfer_few").value > 0


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("None.foo", r"metrics: mine.py:9: largest_transfer: AttributeError: 'NoneType'"),
        ("raise RuntimeError('boom')", r"metrics: mine.py:9: largest_transfer: RuntimeError: boom"),
        (
            "while True: pass",
            r"mine.py:9: largest_transfer: CallTimeout: .* set CWNDLAB_CALL_LIMIT_S",
        ),
        ("import time; time.sleep(3600)", r"mine.py:9: largest_transfer: CallTimeout"),
        ("raise SystemExit", r"mine.py:9: SystemExit"),
    ],
)
def test_whatever_a_metric_does_fails_its_run_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "0.5")
    file.write_text(FILE.replace("    rows =", f"    {code}\n    rows ="))
    _declared.load_metrics("mine.py")
    result = cwndlab.run("own.toml", threads=1, replicates=2)
    assert [failure.replicate for failure in result.failures] == [0, 1]
    assert all(re.search(reason, failure.reason) for failure in result.failures)


@pytest.mark.parametrize(
    ("given", "limit"),
    [(None, 5.0), ("", 5.0), ("soon", 5.0), ("0", 5.0), ("-1", 5.0), ("0.25", 0.25), ("60", 60.0)],
)
def test_a_call_may_take_five_seconds_or_as_long_as_the_variable_says(
    monkeypatch: pytest.MonkeyPatch, given: str | None, limit: float
) -> None:
    monkeypatch.delenv("CWNDLAB_CALL_LIMIT_S", raising=False)
    if given is not None:
        monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", given)
    assert watch.limit_s() == limit
    message = f"has not returned for {limit:g} s; if it needs longer, set CWNDLAB_CALL_LIMIT_S"
    assert message in str(watch.CallTimeout())


def test_a_metric_of_kept_records_that_does_not_return_ends(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _declared.load_metrics("mine.py")
    cwndlab.run("own.toml", threads=1, out="out")
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "0.5")
    file.write_text(FILE.replace("    rows =", "    while True: pass\n    rows ="))
    _declared.load_metrics("mine.py")
    result = cwndlab.run("own.toml", threads=1, out="out")
    assert {failure.replicate for failure in result.failures} == {0, 1}


def test_an_installed_metric_is_found_by_its_entry_point(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        value = "mine:largest_transfer"

        def load(self) -> None:
            _declared.load_metrics("mine.py")

    monkeypatch.setattr(_declared, "_entry_points", lambda: {"largest_transfer": Point()})
    assert "largest_transfer" in metrics.names()
    assert Study.load("own.toml").plan().runs == 2
    (code,) = _declared.own_code(["largest_transfer", "goodput"])
    assert code.installed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("largest_transfer", "goodput", 'cwndlab has a metric "goodput"; choose another name'),
        (
            'tables=["connections"]',
            'tables=["segmets"]',
            'there is no table "segmets"; did you mean "segments"?',
        ),
        (
            "run: cwndlab.RunView, *, ",
            "run: cwndlab.RunView, ",
            "a metric takes a run, and options by keyword",
        ),
        ("-> float", "-> list[float]", "it returns a list; write @cwndlab.metric(many=True"),
        ('    """Bytes that the largest connection delivered."""\n', "", "it has no docstring"),
        ("@cwndlab.metric", "@cwndlab.metrc", "mine.py:6: metric: AttributeError"),
        ("FACTOR = 1", "FACTOR =", "mine.py:14: metric: invalid syntax"),
        ("@cwndlab.metric(", "@(lambda **k: lambda f: f)(", "mine.py defines no metric"),
        ("traffic: str | None", "traffic: Nonsense", "its annotations name what is not known"),
    ],
)
def test_what_is_wrong_with_a_metric_is_an_error(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(FILE.replace(old, new))
    with pytest.raises(StudyError) as caught:
        _declared.load_metrics("mine.py")
    assert message in str(caught.value)


def test_a_kernel_rejects_a_metric_of_tables_that_only_the_simulator_fills() -> None:
    @cwndlab.metric(unit="1", tables=["limits"])
    def changes_of_limits(run: cwndlab.RunView) -> float:
        """How often the limit of a sender changed."""
        return float(len(run.columns("limits")["time_ns"]))

    network = Dumbbell(rate="5Mbps", rtt="20ms", flows=[Flow(cc="cubic")])
    study = Study.build("own", measure=["changes_of_limits"], dumbbell=network, run=Run(duration="1s"))
    with pytest.raises(StudyError, match="metric changes_of_limits reads limits, which runs on a kernel"):
        study.run(backend="linux")


@pytest.mark.parametrize(("many", "value"), [(False, [1.0]), (True, 1.0)])
def test_a_metric_that_returns_otherwise_than_declared_fails_by_name(many: bool, value: object) -> None:
    def mismatched(run: cwndlab.RunView):  # type: ignore[no-untyped-def]
        return value

    with pytest.raises(metrics.MetricFailed, match=rf"mismatched: .*many={many}"):
        _declared._guarded(mismatched, many)(None)
