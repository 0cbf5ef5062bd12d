"""Jobs that end the workers of a dask cluster fail alone, and an ended run leaves nothing on the cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cwndlab.apps.cluster.dask import Cluster
from cwndlab.base.errors import ClusterError
from cwndlab.runs.executors.protocol import Job, Outcome
from deadly_work import DEADLY, Deadly

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two workers with a thread each, which come back when they end."""
    import dask
    from distributed import LocalCluster

    quick = {"distributed.scheduler.allowed-failures": 1, "distributed.admin.log-format": "%(message)s"}
    with (
        dask.config.set(quick),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        cluster.adapt(minimum=2, maximum=2, interval="200ms")  # on a busy machine some do not come back
        yield str(cluster.scheduler_address)


def jobs_of(cell: str, count: int, deadly: set[int]) -> list[Job]:
    return [Job(f"{cell}-{k}", cell, DEADLY if k in deadly else "{}", 1, k, False) for k in range(count)]


def execute(address: str, jobs: list[Job], work: Deadly) -> dict[str, Outcome]:
    done: list[Outcome] = []
    Cluster(address).execute(jobs, work, done.append)
    assert sorted(outcome.job.key for outcome in done) == sorted(job.key for job in jobs)
    return {outcome.job.key: outcome for outcome in done}


def test_a_job_that_ends_its_worker_fails_alone(address: str, tmp_path: Path) -> None:
    jobs = [*jobs_of("good", 60, set()), *jobs_of("bad", 60, {31}), *jobs_of("last", 60, set())]
    done = execute(address, jobs, Deadly(tmp_path / "log"))
    failed = {key: outcome.error for key, outcome in done.items() if outcome.error is not None}
    assert {key.split("-")[0] for key in failed} == {"bad"}
    assert "ended its worker 2 times" in str(failed["bad-31"])
    assert (tmp_path / "log").read_text().split().count("bad-31") <= 3 * 2


def test_a_cell_of_which_each_run_ends_its_worker_is_given_up_soon(address: str, tmp_path: Path) -> None:
    jobs = [*jobs_of("bad", 300, set(range(300))), *jobs_of("good", 100, set())]
    done = execute(address, jobs, Deadly(tmp_path / "log"))
    finished = {key for key, outcome in done.items() if outcome.error is None}
    assert finished == {f"good-{k}" for k in range(100)}
    assert all(outcome.error for key, outcome in done.items() if key.startswith("bad"))
    begun = [key for key in (tmp_path / "log").read_text().split() if key.startswith("bad")]
    assert len(begun) < 20, "each of them costs a worker"


def test_an_interrupted_run_leaves_no_task_on_the_cluster(address: str, tmp_path: Path) -> None:
    def interrupt(_: Outcome) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cluster(address).execute(jobs_of("a", 500, set()), Deadly(tmp_path / "log", 0.3), interrupt)
    time.sleep(1.5)
    begun = (tmp_path / "log").read_text()
    time.sleep(1.5)
    assert (tmp_path / "log").read_text() == begun, "jobs are still begun"


def test_a_cluster_without_workers_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr("cwndlab.apps.cluster.dask.LOST_S", 2.0)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        jobs = jobs_of("a", 50, set())
        address = str(cluster.scheduler_address)
        work = Deadly(tmp_path / "log", 0.2)
        with pytest.raises(ClusterError, match="has had no worker for 2 s"):
            Cluster(address).execute(jobs, work, lambda _: cluster.scale(0))
