"""Streams of replicates: a study runs in the background while its replicates are consumed."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Unpack

from cwndlab.base.core import Value
from cwndlab.base.errors import RunError
from cwndlab.plan.plan import make_plan
from cwndlab.results.execution import Finished, run_study
from cwndlab.results.result import RunResult
from cwndlab.runs.run_options import OptionFields, RunOptions, chosen_options
from cwndlab.study.schema import Scalar
from cwndlab.study.study_spec import StudySpec

#: Number of unconsumed replicates at which the run pauses.
WAITING = 1000
_POLL_S = 0.1


@dataclass(frozen=True)
class Replicate:
    """A finished replicate of a cell."""

    cell: str
    #: The cell's values on the axes.
    axes: Mapping[str, Scalar]
    #: The replicate's number, from 0.
    replicate: int
    #: The measured values by quantity, each in the quantity's unit.
    values: Mapping[str, Value]


#: A function that runs a study and calls its argument for each finished replicate.
Start = Callable[[Finished], RunResult]


class _Closed(Exception):  # noqa: N818 - not an error
    """The stream was closed."""


class _Feed:
    """The run of a stream, in its own thread."""

    def __init__(self, start: Start, axes: Mapping[str, Mapping[str, Scalar]]) -> None:
        self._start = start
        self._axes = axes
        self.found: queue.Queue[Replicate | None] = queue.Queue(WAITING)
        self.closed = threading.Event()
        self.failure: BaseException | None = None
        self.result: RunResult | None = None

    def run(self) -> None:
        """Runs the study until its end, or until the stream is closed."""
        try:
            self.result = self._start(self._finished)
        except _Closed:
            pass
        except BaseException as error:
            self.failure = error
        self._put(None)

    def _finished(self, cell: str, replicate: int, values: Mapping[str, Value]) -> None:
        if not self._put(Replicate(cell, self._axes[cell], replicate, values)):
            raise _Closed

    def _put(self, found: Replicate | None) -> bool:
        while not self.closed.is_set():
            try:
                self.found.put(found, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False


class Stream(Iterator[Replicate]):
    """The replicates of a run as they finish, in any order; stored replicates come first.

    The run continues in the background. `close`, or the end of a `with` block, stops it; finished replicates
    are kept in the result folder, if there is one. The iteration raises an error that ends the run.
    """

    def __init__(self, start: Start, axes: Mapping[str, Mapping[str, Scalar]]) -> None:
        """`start` runs the study; `axes` has the axis values of each cell."""
        self._feed = _Feed(start, axes)
        self._thread = threading.Thread(target=self._feed.run, name="study", daemon=True)
        self._thread.start()
        # The thread refers only to the feed, so that dropping the stream stops the run.
        weakref.finalize(self, self._feed.closed.set)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Replicate:
        found = None if self._feed.closed.is_set() else self._feed.found.get()
        if found is None:
            self.close()
            if self._feed.failure is not None:
                raise self._feed.failure
            raise StopIteration
        return found

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the run, unless it is over, and waits until it has stopped.

        >>> stream = study.stream()
        >>> next(stream).values["share_bbr1"] > 0.0
        True
        >>> stream.close()
        """
        self._feed.closed.set()
        self._thread.join()

    @property
    def result(self) -> RunResult:
        """The results, after the run has ended, skipping unconsumed replicates. Raises what ended the run."""
        for _ in self:
            pass
        if self._feed.result is None:
            raise RunError("the run was stopped; run the study again with the same `out` to continue")
        return self._feed.result


def start(study: StudySpec, options: RunOptions | None = None, **more: Unpack[OptionFields]) -> Stream:
    """Runs a loaded study in the background and returns the stream of its replicates."""
    chosen = chosen_options(options, more)
    plan = make_plan(study, replicates=chosen.replicates, seed=chosen.seed, sensitivity=chosen.sensitivity)
    axes = {cell.id: cell.axes for cell in plan.cells}
    return Stream(lambda finished: run_study(study, chosen, finished=finished), axes)
