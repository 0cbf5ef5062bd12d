"""The protocol between a campaign and its executors: jobs, outcomes, work, progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from cwndlab.base.core import Records, Value

if TYPE_CHECKING:
    import pyarrow as pa

#: The longest time, in seconds, between a segment's arrival and its response on a kernel.
ANSWER_S = 0.002


def is_repeatable(backend: str) -> bool:
    """Whether all runs of a cell without randomness are equal, as in the simulator and in virtual time.

    `backend` is the part of keys that names the kernel and its set-up; "" for the simulator.
    """
    return not backend or json.loads(backend)[0] == "linux-virtual"


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """One replicate of one cell to run."""

    key: str
    cell: str
    scenario: str
    seed: int
    replicate: int
    #: Whether to store the record tables.
    keep_records: bool
    #: The scenario as a mapping, for use in the process that compiled it; not sent to other processes.
    content: Mapping[str, Any] | None = None
    #: Kinds of objects whose time budgets to compute with the run.
    budgets: tuple[str, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether this is the cell's first replicate, all of whose tables are stored for figures."""
        return self.replicate == 0

    @property
    def parsed(self) -> Mapping[str, Any]:
        """The scenario as a mapping."""
        return _parse_scenario(self.scenario) if self.content is None else self.content

    def __getstate__(self) -> dict[str, Any]:
        """The state for other processes, without the scenario as a mapping."""
        return {**self.__dict__, "content": None}


@lru_cache(maxsize=16)
def _parse_scenario(scenario: str) -> Mapping[str, Any]:
    """A scenario as a mapping; cached, because the replicates of a cell share it."""
    content: Mapping[str, Any] = json.loads(scenario)
    return content


class Outcome(NamedTuple):
    """The result of a job: values by the ids of quantities, or an error."""

    job: Job
    values: Mapping[str, Value]
    packets: int
    #: The record tables encoded by `encode_tables`; None if they are not stored.
    records: bytes | None = None
    error: str | None = None
    #: The remedy for the error; "" if it is not known.
    advice: str = ""
    #: Whether the values were measured from stored records, without a run.
    measured: bool = False
    #: Whether the values are from the shared store, without a run.
    fetched: bool = False
    #: A message about damaged data; None if no damage was found.
    note: str | None = None
    #: The requested time budgets, by kind of object.
    budgets: Mapping[str, pa.Table] | None = None


class Progress:
    """The observer of a campaign's progress. This base class shows nothing; displays derive from it."""

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Called first, with the numbers of cells, of replicates, and of replicates already stored."""

    def advance(self, packets: int) -> None:
        """Called after each replicate, with its number of packet-hops."""

    def under_way(self, replicates: float) -> None:
        """Called twice a second with the sum, over current runs, of the finished share of each (0 to 1)."""

    def cell_done(self) -> None:
        """Called after the last replicate of a cell."""

    def add_replicates(self, replicates: int, cells: int) -> None:
        """Called when sequential stopping adds `replicates` in total to `cells` finished cells."""

    def note(self, line: str) -> None:
        """Shows a line of text immediately, such as that a run is repeated."""

    def time_left(self, seconds: float | None) -> None:
        """Called each second of runs on a kernel with the remaining seconds; None if unknown."""


#: Called every 100 ms of a run with the simulated share of its duration; returns whether to stop the run.
Stopped: TypeAlias = Callable[[float], bool]


def never_stop(share: float) -> bool:
    """A `Stopped` that never stops a run."""
    return False


class Work(Protocol):
    """Runs and measures jobs. Executors send it to the processes and workers that perform jobs."""

    @property
    def memory_bytes(self) -> int:
        """The largest memory of one run, in bytes."""

    def check(self) -> None:
        """ClusterError if this process has a different engine or different metrics than the caller."""

    def perform(self, jobs: Sequence[Job], stopped: Stopped = ...) -> Iterator[Outcome]:
        """Simulates and measures jobs one after another, until `stopped` returns true."""

    def measure(self, job: Job, records: Records) -> Mapping[str, Value]:
        """The values, by the ids of quantities, from the records of a job that was run elsewhere."""


class Executor(Protocol):
    """Performs jobs, in this process or elsewhere."""

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs and delivers each outcome on the calling thread, in any order."""


class SharedStore(Protocol):
    """A store that several processes may use for the same plan at the same time."""

    @property
    def public_place(self) -> str:
        """The address of the store, without credentials."""

    def wrap(self, executor: Executor) -> Executor:
        """An executor that fetches stored outcomes, and stores those of the jobs that `executor` performs."""
