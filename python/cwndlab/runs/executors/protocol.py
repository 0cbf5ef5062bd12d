"""What every backend has in common: jobs in, outcomes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from cwndlab.base.core import Records, Value

if TYPE_CHECKING:
    import pyarrow as pa

#: On a kernel, what is sent within this time after a segment's arrival is its answer.
ANSWER_S = 0.002


def is_repeatable(backend: str) -> bool:
    """Whether a cell without randomness gives the same in every run: in the simulator, and in virtual time.

    `backend` is the part of a result's key that names the kernel and its set-up, empty for the simulator.
    """
    return not backend or json.loads(backend)[0] == "linux-virtual"


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """One replicate of one cell."""

    key: str
    cell: str
    scenario: str
    seed: int
    replicate: int
    #: Whether its record tables are kept.
    keep_records: bool
    #: The scenario as a mapping, for work in the process that compiled it; not sent to others.
    content: Mapping[str, Any] | None = None
    #: Kinds of objects whose time budgets are made with it.
    budgets: tuple[str, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether it is the cell's first replicate, whose tables are kept whole and shown in figures."""
        return self.replicate == 0

    @property
    def parsed(self) -> Mapping[str, Any]:
        """The scenario as a mapping."""
        return _parse_scenario(self.scenario) if self.content is None else self.content

    def __getstate__(self) -> dict[str, Any]:
        """The state that other processes get: the scenario as JSON, not as a mapping in addition."""
        return {**self.__dict__, "content": None}


@lru_cache(maxsize=16)
def _parse_scenario(scenario: str) -> Mapping[str, Any]:
    """A cell's scenario, which its replicates share."""
    content: Mapping[str, Any] = json.loads(scenario)
    return content


class Outcome(NamedTuple):
    """What became of a job: values by their measures' ids, or why it failed."""

    job: Job
    values: Mapping[str, Value]
    packets: int
    #: Its record tables as `encode_tables` writes them, if they are kept.
    records: bytes | None = None
    error: str | None = None
    #: What to do about the error, where something can be done.
    advice: str = ""
    #: Measured from kept records; nothing ran.
    measured: bool = False
    #: Taken from the shared store, not performed.
    fetched: bool = False
    #: What was found damaged on the way, in words.
    note: str | None = None
    #: The time budgets that the job asks for, by kind.
    budgets: Mapping[str, pa.Table] | None = None


class Progress:
    """Is notified as a run proceeds, and shows nothing; displays derive from it."""

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Is called first, with the numbers of cells, of replicates, and of replicates kept from before."""

    def advance(self, packets: int) -> None:
        """Is called after each replicate, with its packet-hops."""

    def under_way(self, replicates: float) -> None:
        """Is called twice a second, with the sum of the shares that runs under way have done."""

    def cell_done(self) -> None:
        """Is called after the last replicate of a cell."""

    def add_replicates(self, replicates: int, cells: int) -> None:
        """Is called when sequential stopping requests more replicates of so many finished cells."""

    def note(self, line: str) -> None:
        """Reports a line at once, such as that a run is repeated."""

    def time_left(self, seconds: float | None) -> None:
        """Is called each second of runs on a kernel, with the seconds that are left, if known."""


#: Is asked each 100 ms whether a run is to stop, with the share of its duration that it has simulated.
Stopped: TypeAlias = Callable[[float], bool]


def never_stop(share: float) -> bool:
    """The `Stopped` of a run that nothing stops."""
    return False


class Work(Protocol):
    """What is done with jobs where they run; it travels to the workers of a cluster."""

    @property
    def memory_bytes(self) -> int:
        """What one run may use."""

    def check(self) -> None:
        """ClusterError if this process would not produce the requested numbers."""

    def perform(self, jobs: Sequence[Job], stopped: Stopped = ...) -> Iterator[Outcome]:
        """Simulates and measures jobs one after another, until `stopped`."""

    def measure(self, job: Job, records: Records) -> Mapping[str, Value]:
        """Values, by their measures' ids, of the records of a job that ran elsewhere."""


class Executor(Protocol):
    """Performs jobs, here or elsewhere."""

    def execute(self, jobs: Iterable[Job], work: Work, deliver: Callable[[Outcome], None]) -> None:
        """Performs all jobs and delivers each outcome on the calling thread, in any order."""


class SharedStore(Protocol):
    """A store that others may use for the same plan at the same time."""

    @property
    def public_place(self) -> str:
        """The address of the store, without credentials."""

    def wrap(self, executor: Executor) -> Executor:
        """An executor that takes from the store what is there, and puts there what `executor` performs."""
