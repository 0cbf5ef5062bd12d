"""Runs jobs on an existing dask.distributed cluster, in batches of a few seconds of work."""

# distributed is only partly typed.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from cwndlab.base.errors import ClusterError, ExtraError
from cwndlab.runs.executors.protocol import Job, Outcome, Work

#: Seconds of work in a batch: the scheduler's cost of some milliseconds per task becomes negligible.
BATCH_S = 3.0
MAX_BATCH = 2000
#: How often a batch that a worker rejects is submitted again.
RETRIES = 5
#: Seconds in which a scheduler and its first worker must answer.
CONNECT_S = 10.0
#: Seconds without any worker after which a run fails: restarted workers need some seconds.
LOST_S = 60.0


@dataclass(frozen=True)
class Done:
    """A batch's outcomes, and the seconds it took."""

    outcomes: list[Outcome]
    seconds: float


def perform_batch(jobs: list[Job], work: Work) -> Done:
    """Performs jobs one after another; runs on a worker."""
    work.check()
    began = time.perf_counter()
    outcomes = list(work.perform(jobs))
    return Done(outcomes, time.perf_counter() - began)


@dataclass(frozen=True)
class Cluster:
    """The executor for a cluster, by the address of its scheduler."""

    address: str

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs on the cluster and delivers each outcome here."""
        if "://" not in self.address:
            raise ClusterError(f"{self.address}: is no address of a scheduler; write tcp://host:8786")
        try:
            from distributed import Client
        except ImportError:
            raise ExtraError("--cluster", "dask.distributed", "cluster") from None
        try:
            client = Client(self.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"{self.address}: no dask scheduler answers there ({error or 'it timed out'}); "
                "start one with `dask scheduler` and workers with `dask worker`"
            ) from None
        from distributed.comm.core import CommClosedError

        try:
            self._run(client, jobs, work, deliver)
        except (CommClosedError, CancelledError) as error:
            raise self._connection_lost(error) from None
        finally:
            with suppress(CommClosedError, CancelledError, TimeoutError):
                client.close()

    def _connection_lost(self, error: BaseException) -> ClusterError:
        return ClusterError(
            f"{self.address}: the scheduler went away ({error or type(error).__name__}); what is finished is "
            "kept: start it again, and run the same command"
        )

    def _run(self, client: Any, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise ClusterError(
                f"{self.address}: the scheduler has no worker; start some with `dask worker`"
            ) from None
        tasks = _Tasks(client, work, deliver, iter(jobs))
        try:
            tasks.run()
        finally:
            tasks.cancel()


class _Stage(IntEnum):
    """How jobs are submitted. If a worker dies, the jobs sent to it are submitted again at the next stage."""

    #: In batches.
    TOGETHER = 0
    #: Each job as its own task.
    SINGLE = 1
    #: With nothing else on the cluster: dask blames all tasks of a worker that dies, including waiting ones.
    ALONE = 2


class _Sent(NamedTuple):
    """A task submitted to the cluster."""

    future: Any
    jobs: list[Job]
    stage: _Stage


@dataclass
class _Tasks:
    """The jobs of one run, as tasks on the cluster."""

    client: Any
    work: Work
    deliver: Callable[[Outcome], None]
    source: Iterator[Job]
    size: int = 1
    sent: dict[Any, _Sent] = field(default_factory=dict)
    alone: deque[Job] = field(default_factory=deque)
    #: Cells with a job that failed twice with its worker: their further jobs are sent at stage `ALONE`.
    suspects: set[str] = field(default_factory=set)
    #: For each cell whose job ended its worker alone, the reason to report for its other jobs.
    failed: dict[str, str] = field(default_factory=dict)

    #: The completed futures, in order of completion.
    ended: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)

    def run(self) -> None:
        """Performs all jobs."""
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        self._fill()
        while self.sent:
            future = self._next()
            _, jobs, stage = self.sent.pop(future.key)
            try:
                done: Done = future.result()
            except KilledWorker as killed:
                self._return(jobs, stage, killed.allowed_failures + 1)
            except (OSError, TimeoutError) as error:
                raise CommClosedError(str(error) or type(error).__name__) from None
            else:
                for outcome in done.outcomes:
                    self.deliver(outcome)
                if stage == _Stage.TOGETHER:
                    each = done.seconds / max(len(jobs), 1)
                    self.size = max(1, min(MAX_BATCH, int(BATCH_S / max(each, 1e-6))))
            self._fill()

    def _next(self) -> Any:
        """The next future that completes; ClusterError if the cluster has no worker for `LOST_S` seconds."""
        lost = None
        while True:
            try:
                return self.ended.get(timeout=1.0)
            except queue.Empty:
                if self.client.nthreads():
                    lost = None
                    continue
            now = time.monotonic()
            lost = now if lost is None else lost
            if now - lost > LOST_S:
                raise ClusterError(
                    f"the cluster has had no worker for {LOST_S:.0f} s; what is finished is kept: start some "
                    "with `dask worker`, and run the same command"
                )

    def cancel(self) -> None:
        """Cancels the submitted tasks, so that workers start none of them."""
        if self.sent:
            with suppress(OSError, CancelledError, TimeoutError):
                self.client.cancel([task.future for task in self.sent.values()], force=True)
            self.sent.clear()

    def _give(self, jobs: list[Job], stage: _Stage) -> None:
        future = self.client.submit(perform_batch, jobs, self.work, pure=False, retries=RETRIES)
        self.sent[future.key] = _Sent(future, jobs, stage)
        future.add_done_callback(self.ended.put)

    def _fill(self) -> None:
        # Two batches per thread: one runs and one waits; more would only fill memory.
        while len(self.sent) < 2 * max(sum(self.client.nthreads().values()), 1):
            taken = list(itertools.islice(self.source, self.size))
            if not taken:
                break
            self.alone.extend(job for job in taken if job.cell in self.suspects)
            if batch := [job for job in taken if job.cell not in self.suspects]:
                self._give(batch, _Stage.TOGETHER)
        while self.alone and not self.sent:
            job = self.alone.popleft()
            if job.cell not in self.failed:
                self._give([job], _Stage.ALONE)
            else:
                self.deliver(Outcome(job, {}, 0, error=self.failed[job.cell]))

    def _return(self, jobs: list[Job], stage: _Stage, times: int) -> None:
        """Resubmits jobs whose worker died, at the next stage; after the last stage, reports failure."""
        if stage == _Stage.TOGETHER and len(jobs) > 1:
            for job in jobs:
                self._give([job], _Stage.SINGLE)
        elif stage < _Stage.ALONE:
            self.alone.extend(jobs)
            self.suspects.update(job.cell for job in jobs)
        else:
            (job,) = jobs
            reason = f"it ended its worker {times} times; see the worker's log"
            self.deliver(Outcome(job, {}, 0, error=reason))
            self.failed[job.cell] = f"not run: replicate {job.replicate} of its cell ended workers"
