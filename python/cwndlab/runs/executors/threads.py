"""Runs jobs in threads of this process. The engine releases the GIL, so threads run in parallel."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from cwndlab.base.errors import CwndlabError

from .protocol import Job, Outcome, Progress, Work

#: Seconds of work in a batch of jobs: long compared with the overhead, but a short wait when stopping.
CHUNK_S = 0.05
#: The largest number of jobs in one batch.
MAX_CHUNK = 64
#: Seconds between reports on the progress of current runs.
REPORT_S = 0.5
#: Seconds of work in a batch with a shared store, which responds more slowly.
SHARED_CHUNK_S = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Threads:
    """The executor that runs jobs in `count` threads; by default one per processor."""

    count: int | None = None
    #: Seconds of work in one batch.
    chunk_s: float = CHUNK_S
    watcher: Progress = field(default_factory=Progress)

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs and delivers each outcome on the calling thread, in any order.

        On Ctrl-C it stops the current runs and delivers finished ones, then raises KeyboardInterrupt again.
        """
        _Pool(iter(jobs), work, self).drain(deliver)


def available() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS and Windows have none
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class _Pool:
    def __init__(self, jobs: Iterator[Job], work: Work, wanted: Threads) -> None:
        count = wanted.count or available()
        self.chunk_s = wanted.chunk_s
        self.watcher = wanted.watcher
        #: For each thread, the finished share of its current run.
        self.shares = [0.0] * count
        self.jobs = jobs
        self.work = work
        self.lock = threading.Lock()
        self.stop = threading.Event()
        # Bounded: if storing outcomes is slower than running, the threads wait, so memory stays bounded.
        self.done: queue.Queue[list[Outcome] | BaseException | None] = queue.Queue(maxsize=4 * count)
        self.threads = [
            threading.Thread(target=self._work, args=(i,), name=f"run-{i}", daemon=True) for i in range(count)
        ]

    def _take(self, size: int) -> list[Job]:
        with self.lock:
            return list(islice(self.jobs, size))

    def _stopped(self, thread: int, share: float) -> bool:
        self.shares[thread] = share
        return self.stop.is_set()

    def _work(self, thread: int) -> None:
        size = 1
        try:
            while not self.stop.is_set():
                chunk = self._take(size)
                if not chunk:
                    break
                began = time.perf_counter()
                outcomes: list[Outcome] = []
                try:
                    outcomes.extend(self.work.perform(chunk, partial(self._stopped, thread)))
                except CwndlabError:
                    self.done.put(outcomes)  # deliver the outcomes before the error
                    raise
                each = (time.perf_counter() - began) / max(len(outcomes), 1)
                size = max(1, min(MAX_CHUNK, int(self.chunk_s / max(each, 1e-6))))
                self.shares[thread] = 0.0
                self.done.put(outcomes)
        except BaseException as error:
            self.done.put(error)
        finally:
            self.done.put(None)

    def _next(self) -> list[Outcome] | BaseException | None:
        while True:
            try:
                return self.done.get(timeout=REPORT_S)
            except queue.Empty:
                self.watcher.under_way(sum(self.shares))

    def drain(self, deliver: Callable[[Outcome], None]) -> None:
        for thread in self.threads:
            thread.start()
        running = len(self.threads)
        failure: BaseException | None = None
        delivers = True
        while running:
            try:
                item = self._next()
                if item is None:
                    running -= 1
                elif isinstance(item, BaseException):
                    failure = failure or item
                    self.stop.set()
                elif delivers:
                    delivers = False
                    for outcome in item:
                        deliver(outcome)
                    delivers = True
            except KeyboardInterrupt as interrupt:
                if failure is not None:
                    os._exit(130)  # at a second interrupt; the journal stays readable
                failure = interrupt
                delivers = True  # the interrupted batch is lost; later batches are delivered
                self.stop.set()
            except BaseException as error:
                failure = failure or error
                self.stop.set()
        if failure is not None:
            raise failure
