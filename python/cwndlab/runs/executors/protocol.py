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

#: On a kernel, a segment sent within this many seconds after another's arrival counts as a response to it.
ANSWER_S = 0.002


def is_repeatable(backend: str) -> bool:
    """Whether all runs of a cell without randomness are equal, as in the simulator and in virtual time.

    `backend` is the part of keys that names the kernel and its set-up; empty for the simulator.
    """
    return not backend or json.loads(backend)[0] == "linux-virtual"


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """One replicate of one cell, to be run."""

    key: str
    cell: str
    scenario: str
    seed: int
    replicate: int
    #: Whether the record tables are stored.
    keep_records: bool
    #: The scenario as a mapping, for work in the process that compiled it; not sent to other processes.
    content: Mapping[str, Any] | None = None
    #: Kinds of objects whose time budgets are computed with the run.
    budgets: tuple[str, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether this is the cell's first replicate, all of whose tables are stored, for figures."""
        return self.replicate == 0

    @property
    def parsed(self) -> Mapping[str, Any]:
        """The scenario as a mapping."""
        return _parse_scenario(self.scenario) if self.content is None else self.content

    def __getstate__(self) -> dict[str, Any]:
        """The state that other processes get, without the scenario as a mapping."""
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
    #: The record tables as `encode_tables` writes them, if they are to be stored.
    records: bytes | None = None
    error: str | None = None
    #: What to do about the error; empty if that is not known.
    advice: str = ""
    #: Whether stored records were measured, and nothing was run.
    measured: bool = False
    #: Whether the values come from the shared store, and nothing was run.
    fetched: bool = False
    #: A message about damaged data that was found.
    note: str | None = None
    #: The time budgets that the job requested, by kind.
    budgets: Mapping[str, pa.Table] | None = None


class Progress:
    """Is notified of a campaign's progress. This base class shows nothing; displays derive from it."""

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Is called first, with the numbers of cells, of replicates, and of replicates stored before."""

    def advance(self, packets: int) -> None:
        """Is called after each replicate, with its packet-hops."""

    def under_way(self, replicates: float) -> None:
        """Is called twice a second, with the sum over current runs of the share that is done (0 to 1)."""

    def cell_done(self) -> None:
        """Is called after the last replicate of a cell."""

    def add_replicates(self, replicates: int, cells: int) -> None:
        """Is called when sequential stopping adds `replicates` in all to `cells` cells that had finished."""

    def note(self, line: str) -> None:
        """Shows a line of text at once, such as that a run is repeated."""

    def time_left(self, seconds: float | None) -> None:
        """Is called each second of runs on a kernel, with the remaining seconds, if known."""


#: Is called every 100 ms of a run with the share of its duration that is simulated; true stops the run.
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
        """ClusterError if this process has another engine or other metrics than the caller's."""

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
        """An executor that fetches stored outcomes, lets `executor` perform other jobs, and stores these."""
