"""Runs jobs on an existing dask.distributed cluster, in batches of a few seconds of work."""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cwndlab.errors import ClusterError, ExtraError

from .protocol import Job, Outcome, Work

#: The scheduler costs some milliseconds a task, so a task is this much work.
BATCH_S = 3.0
MAX_BATCH = 2000
#: How often a batch is given out again after its worker died with it.
RETRIES = 5
#: How long a scheduler and its first worker may take to answer.
CONNECT_S = 10.0


@dataclass(frozen=True)
class Done:
    """A batch's outcomes, and the seconds it took."""

    outcomes: list[Outcome]
    seconds: float


def perform_batch(jobs: list[Job], work: Work) -> Done:
    """On a worker: performs jobs one after another."""
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
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise ClusterError(
                f"{self.address}: the scheduler has no worker; start some with `dask worker`"
            ) from None
        source = iter(jobs)
        size = 1
        sent: dict[Any, tuple[list[Job], int]] = {}
        running = as_completed(loop=client.loop)

        def give(batch: list[Job], attempt: int) -> None:
            future = client.submit(perform_batch, batch, work, pure=False, retries=RETRIES)
            sent[future.key] = (batch, attempt)
            running.add(future)

        def fill() -> None:
            # Two batches a thread: one that runs, one that waits; more would only fill memory.
            while len(sent) < 2 * max(sum(client.nthreads().values()), 1):
                batch = list(itertools.islice(source, size))
                if not batch:
                    break
                give(batch, 0)

        fill()
        try:
            for future in running:
                batch, attempt = sent.pop(future.key)
                try:
                    done: Done = future.result()
                except KilledWorker:
                    if attempt >= RETRIES:
                        raise ClusterError(
                            f"{self.address}: {len(batch)} runs brought a worker down {RETRIES + 1} times; "
                            "what is finished is kept"
                        ) from None
                    give(batch, attempt + 1)
                    continue
                except (OSError, TimeoutError) as error:
                    raise self._connection_lost(error) from None
                for outcome in done.outcomes:
                    deliver(outcome)
                each = done.seconds / max(len(batch), 1)
                size = max(1, min(MAX_BATCH, int(BATCH_S / max(each, 1e-6))))
                fill()
        finally:
            for future_key in list(sent):
                client.cancel([future_key], force=True)
