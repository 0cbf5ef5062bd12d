"""The options of a run, which `cwndlab.run`, `run_study` and the command line share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from cwndlab.base.errors import ArgumentError, OptionError, check_constructor, nearest

BACKENDS = ("simulator", "linux", "linux-virtual")
_VIRTUAL = (("linux-virtual",), "{} applies only to kernels in virtual time", "--backend linux-virtual too")
#: Options for some backends only: these backends, and the problem and remedy for other backends.
_APPLIES_TO = {
    "stack": (BACKENDS[1:], "{} applies only to kernel backends", "--backend linux or linux-virtual too"),
    "kernel": _VIRTUAL,
    "verify": _VIRTUAL,
    "store": (BACKENDS[:1], "a kernel's runs are not shared", "leave it out; --out keeps them"),
    "cluster": (BACKENDS[:1], "a kernel's runs stay on this machine", "leave one of both out"),
}


@check_constructor
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run. An invalid value raises an error that is a StudyError and a ValueError."""

    #: Folder for records, verdicts and report; without it everything stays in memory.
    out: str | Path | None = None
    #: Replicates of each cell; default: the study's.
    replicates: int | None = None
    #: Seed of all random streams; default: the study's.
    seed: int | None = None
    #: Replicates are added until each 95 % interval's half-width is at most this share of its number (0.02:
    #: 2 %); default: the study's `run.until`, if any.
    until: float | None = None
    #: Threads of this machine; default: one for each processor; for runs on a kernel, 24.
    threads: int | None = None
    #: Address of a dask scheduler ("tcp://…") instead of threads.
    cluster: str | None = None
    #: A shared folder or object store (s3://…): results that it has are not run again.
    store: str | Path | None = None
    #: An axis of [sensitivity], "combinations" of these axes, or "all".
    sensitivity: str | None = None
    #: "simulator"; "linux", this machine's kernel; or "linux-virtual", a User-Mode Linux in virtual time.
    backend: str = "simulator"
    #: The kernel's TCP: "linux-1998", "linux-stock", "linux-laws", or a TOML file; default: the study's.
    stack: str | None = None
    #: The kernel of "linux-virtual": a series ("7.3"), a name from `linux list`, or a file; default: 6.12.
    kernel: str | None = None
    #: Whether each first replicate on "linux-virtual" runs twice, to check that both runs are equal.
    verify: bool = False
    #: The largest number of events of one run of the simulator, which fails beyond it; default: 10^9.
    max_events: int | None = None
    #: The largest memory of one run of the simulator, approximately; default: 384 MiB.
    max_memory_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise OptionError(f"{self.threads} does not fit", key="--threads", right="it must be at least 1")
        for key, value in (("--max-events", self.max_events), ("--max-memory", self.max_memory_bytes)):
            if value is not None and not 1 <= value < 2**63:
                raise OptionError(f"{value} is not a possible budget", key=key, right="at least 1")
        if self.backend not in BACKENDS:
            right = nearest(self.backend, list(BACKENDS))
            raise OptionError(f'there is no backend "{self.backend}"', key="--backend", right=right)
        for option, (backends, problem, right) in _APPLIES_TO.items():
            if getattr(self, option) not in (None, False) and self.backend not in backends:
                raise OptionError(problem.format(f"--{option}"), key=f"--{option}", right=right)


class FurtherOptions(TypedDict, total=False):
    """The fields of `RunOptions` except `out`, as keyword arguments."""

    replicates: int | None
    seed: int | None
    until: float | None
    threads: int | None
    cluster: str | None
    store: str | Path | None
    sensitivity: str | None
    backend: str
    stack: str | None
    kernel: str | None
    verify: bool
    max_events: int | None
    max_memory_bytes: int | None


class OptionFields(FurtherOptions, total=False):
    """The fields of `RunOptions` as keyword arguments; a test checks that both have the same fields."""

    out: str | Path | None


def chosen_options(options: object, more: OptionFields) -> RunOptions:
    """`options` (None: the defaults) with the fields of `more`; ArgumentError if not RunOptions."""
    options = RunOptions() if options is None else options
    if not isinstance(options, RunOptions):
        right = "axes and keys are changed by changes={…}"
        raise ArgumentError(f"options must be RunOptions, not {options!r}; {right}")
    given: Any = {name: value for name, value in more.items() if value is not None}
    return replace(options, **given)
