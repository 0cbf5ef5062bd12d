"""Runs jobs in processes of this machine, for work that holds Python's interpreter lock."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cwndlab.base.core import Records, Value
from cwndlab.base.errors import CwndlabError
from cwndlab.runs.executors.protocol import Job, Outcome, Progress, Stopped, Work, never_stop
from cwndlab.runs.executors.threads import CHUNK_S, Threads

#: Seconds between checks of a waiting thread whether to stop.
POLL_S = 0.05


@dataclass(frozen=True)
class Processes:
    """The executor for this machine that adds a process to each thread of `Threads`."""

    count: int | None = None
    chunk_s: float = CHUNK_S
    watcher: Progress = field(default_factory=Progress)

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs; delivers each outcome on the calling thread, like `Threads.execute`."""
        there = _There(work)
        try:
            Threads(self.count, self.chunk_s, self.watcher).execute(jobs, there, deliver)
        finally:
            there.close()


@dataclass
class _There:
    """The work, performed in a process that belongs to the calling thread."""

    work: Work
    own: threading.local = field(default_factory=threading.local)
    started: list[_Worker] = field(default_factory=list)

    @property
    def memory_bytes(self) -> int:
        return self.work.memory_bytes

    def check(self) -> None:
        self.work.check()

    def measure(self, job: Job, records: Records) -> Mapping[str, Value]:
        return self.work.measure(job, records)

    def perform(self, jobs: Sequence[Job], stopped: Stopped = never_stop) -> Iterator[Outcome]:
        process: _Worker | None = getattr(self.own, "process", None)
        if process is None or process.code is not None:
            process = self.own.process = _Worker(self.work)
            self.started.append(process)
        try:
            outcomes, error = process.perform(jobs, stopped)
        except _Stopped:
            return
        except _Ended as ended:
            # With several jobs, the one that killed the process is unknown.
            code = process.end()
            if len(jobs) == 1:
                yield Outcome(jobs[0], {}, 0, error=ended.reason or f"its process ended with code {code}")
            else:
                for job in jobs:
                    yield from self.perform([job], stopped)
            return
        yield from outcomes
        if error is not None:
            raise error

    def close(self) -> None:
        for process in self.started:
            process.end()


class _Stopped(Exception):  # noqa: N818 - not an error
    """The run was stopped while a process was working."""


class _Ended(Exception):  # noqa: N818 - not an error of ours
    """The process ended before its jobs, with the reason if it reported one."""

    def __init__(self, reason: str | None) -> None:
        self.reason = reason


class _Worker:
    def __init__(self, work: Work) -> None:
        # A fixed hash seed gives sets of strings the same order in every process.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-P", "-m", "cwndlab.apps.processes.worker"]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.replies: queue.Queue[Any] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._send((sys.path, work))

    @property
    def code(self) -> int | None:
        return self.child.poll()

    def perform(self, jobs: Sequence[Job], stopped: Stopped) -> tuple[list[Outcome], CwndlabError | None]:
        self._send(list(jobs))
        share = 0.0
        while True:
            try:
                reply = self.replies.get(timeout=POLL_S)
            except queue.Empty:
                if stopped(share):
                    self.end()
                    raise _Stopped from None
                continue
            if isinstance(reply, float):
                share = reply
                continue
            if reply is None or isinstance(reply, str):
                raise _Ended(reply)
            found: tuple[list[Outcome], CwndlabError | None] = reply
            return found

    def end(self) -> int:
        """Ends the process; returns its exit code."""
        for pipe in (self.child.stdin, self.child.stdout):
            assert pipe is not None
        if self.child.poll() is None:
            self.child.kill()
        code = self.child.wait()
        self.reader.join()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # the pipe held unwritten data
        return code

    def _send(self, message: object) -> None:
        assert self.child.stdin is not None
        try:
            pickle.dump(message, self.child.stdin)
            self.child.stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended; the reading thread reports it

    def _read(self) -> None:
        assert self.child.stdout is not None
        while True:
            try:
                self.replies.put(pickle.load(self.child.stdout))
            except (EOFError, OSError, pickle.UnpicklingError):
                self.replies.put(None)
                return
