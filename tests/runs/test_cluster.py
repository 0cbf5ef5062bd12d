"""Runs on a real two-process dask cluster end in the bytes of local ones, also when a worker is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_store import content

from cwndlab import Dumbbell, Flow, Run, _core
from cwndlab.api import Study
from cwndlab.apps.evaluate import evaluation, pack, subjects
from cwndlab.base.errors import ClusterError
from cwndlab.base.laws import make_law_codes
from cwndlab.metrics import _declared
from cwndlab.results.execution import run_study
from cwndlab.runs.progress import Progress
from cwndlab.runs.run_options import RunOptions
from fake_core import FakeCore
from small_study import TEXT, edited

HERE = Path(__file__).parent.parent
#: The real core's, whose place a fake takes in tests.
ENGINE = _core.engine_digest()
PRELOAD = """
import sys
sys.path.insert(0, {here!r})
from fake_core import FakeCore, replace_core
replace_core(FakeCore(sleep_s=0.005))
"""


class TestCluster:
    """A scheduler and two workers, each a process of its own."""

    __test__ = False

    def __init__(self, folder: Path, fake: bool = True) -> None:
        """`fake`: whether the workers have the fake core."""
        preload = folder / "preload.py"
        preload.write_text(PRELOAD.format(here=str(HERE)) if fake else "")
        self.file = folder / "scheduler.json"
        common = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.log = (folder / "log").open("w")
        self.scheduler = self._start("scheduler", *common, "--host", "127.0.0.1", "--port", "0")
        work = ["--nthreads", "1", "--no-nanny", "--preload", str(preload), "--local-directory", str(folder)]
        self.workers = [self._start("worker", *common, *work) for _ in range(2)]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "dask", *words], stdout=self.log, stderr=self.log)

    @property
    def address(self) -> str:
        """Waits for the scheduler and both workers."""
        import json

        from distributed import Client

        for _ in range(900):
            if self.file.exists() and self.file.read_text().endswith("}"):
                break
            time.sleep(0.1)
        address = str(json.loads(self.file.read_text())["address"])
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        return address

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()  # a worker that looks for its scheduler ends slowly
        for process in [*self.workers, self.scheduler]:
            process.wait(30)
        self.log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TestCluster]:
    made = TestCluster(tmp_path)
    yield made
    made.close()


pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def test_a_cluster_with_a_killed_worker_gives_the_bytes_of_a_local_run(
    cluster: TestCluster, tmp_path: Path, fake_core: FakeCore
) -> None:
    study = Study.from_toml(edited(("replicates = 3", "replicates = 400")))
    address = cluster.address
    killer = threading.Timer(1.5, lambda: cluster.workers[0].send_signal(signal.SIGKILL))
    killer.start()
    result = run_study(study, out=tmp_path / "far", cluster=address)
    killer.join()
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert result.failures == [] and fake_core.runs == 0
    run_study(study, out=tmp_path / "near")
    assert fake_core.runs == 800
    assert content(tmp_path / "far") == content(tmp_path / "near")


MOST = """\
import cwndlab


@cwndlab.metric(unit="B", low=0)
def most(run: cwndlab.RunView) -> float:
    "Bytes of the largest transfer."
    return float(max(run.columns("connections")["bytes_up"]))
"""


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """Two workers with the real core."""
    made = TestCluster(tmp_path_factory.mktemp("cluster"), fake=False)
    yield made
    made.close()


def test_an_evaluation_on_two_workers_has_the_same_scorecard(workers: TestCluster, tmp_path: Path) -> None:
    chosen = [pack.load("rfc9743").with_criteria(["7.4"])]
    cubic = [subjects.congestion_control("cubic")]
    changes = {"run.duration": "20s", "run.warmup": "5s"}
    cards = []
    for name, options in (("far", RunOptions(cluster=workers.address)), ("near", RunOptions())):
        made = evaluation.evaluate(chosen, cubic, tmp_path / name, options, changes=changes)
        assert made.performed == 4 * 5
        cards.append((tmp_path / name / "scorecard.json").read_bytes())
    assert cards[0] == cards[1]


def test_a_law_and_a_metric_in_python_travel_to_the_workers(workers: TestCluster, tmp_path: Path) -> None:
    metric = tmp_path / "most.py"
    metric.write_text(MOST)
    known = dict(_declared._known)
    try:
        _declared.load_metrics(str(metric))
        metric.unlink()  # the workers get its text
        flows = [Flow(name="a", cc="few"), Flow(name="b", cc="reno")]
        network = Dumbbell(rate="5Mbps", rtt="20ms", flows=flows)
        length = Run(duration="1s", replicates=6)
        study = Study.build("few", measure=["share", "most"], dumbbell=network, run=length)
        study = study.configure({}, make_law_codes({"few": HERE / "laws/few.py"}))
        far, near = study.run(cluster=workers.address), study.run()
        assert far.failures == [] == near.failures
        assert far.results.data == near.results.data
        assert far.estimate("most").value > 0
    finally:
        _declared._known.clear()
        _declared._known.update(known)


def test_a_killed_scheduler_is_said_and_what_is_finished_is_kept(
    cluster: TestCluster, tmp_path: Path, fake_core: FakeCore
) -> None:
    study = Study.from_toml(edited(("replicates = 3", "replicates = 300")))
    address = cluster.address

    class Killer(Progress):
        def advance(self, packets: int) -> None:
            cluster.scheduler.kill()

    with pytest.raises(ClusterError, match="run the same command"):
        run_study(study, out=tmp_path / "far", cluster=address, progress=Killer())
    run_study(study, out=tmp_path / "far")
    run_study(study, out=tmp_path / "near")
    assert fake_core.runs < 2 * 600
    assert content(tmp_path / "far") == content(tmp_path / "near")


def test_a_worker_of_another_version_is_refused(workers: TestCluster, fake_core: FakeCore) -> None:
    with pytest.raises(ClusterError, match=f"digest {ENGINE[:12]}; expected digest of fa"):
        run_study(Study.from_toml(TEXT), cluster=workers.address)


def test_a_cluster_that_is_not_there_is_said(fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cwndlab.apps.cluster.dask.CONNECT_S", 0.5)
    with pytest.raises(ClusterError, match="no dask scheduler answers"):
        run_study(Study.from_toml(TEXT), cluster="tcp://127.0.0.1:9")
    with pytest.raises(ClusterError, match="tcp://"):
        run_study(Study.from_toml(TEXT), cluster="somewhere")
