"""The kernels that run a study in place of the simulator: what the distribution `cwndlab-linux` gives.

It is found by its entry point in the group `cwndlab.backends`; nothing here imports it.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from cwndlab.base.errors import ExtraError, StudyError
from cwndlab.study.study_spec import Catalogue

from .executors.protocol import Executor, Progress, Work

if TYPE_CHECKING:
    from cwndlab.base.core import Check, KeptRecords
    from cwndlab.plan.plan import Cell, Plan

    from .run_options import RunOptions

#: The group of entry points, and the name in it.
GROUP, NAME = "cwndlab.backends", "linux"


class KernelStack(Protocol):
    """A set-up of the kernel's TCP (`--stack`)."""

    @property
    def laws(self) -> Mapping[str, str]:
        """The kernel's congestion control for each window law of a study."""

    @property
    def text(self) -> str | None:
        """The file that it was read from, if any."""


class KernelImage(Protocol):
    """A kernel for virtual time."""

    @property
    def name(self) -> str:
        """The name that `--kernel` takes."""

    @property
    def congestion_controls(self) -> Sequence[str]:
        """What it offers; empty if that is not known before it runs."""


class KernelExecutor(Executor, Protocol):
    """Who runs the cells of a plan on a kernel."""

    watcher: Progress | None
    #: The folder for stamps and captures of runs.
    keep: Path | None

    @property
    def stack(self) -> KernelStack:
        """The set-up of its TCP."""

    @property
    def key(self) -> str:
        """Part of every result's key."""

    @property
    def keys(self) -> Mapping[str, str]:
        """The keys of cells that run on another kernel than the others, by cell."""

    @property
    def releases(self) -> str:
        """The kernels of all cells, in words."""

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Gets ready for the runs of these cells; StudyError for what they lack."""

    def record(
        self, cell: Cell, seed: int, replicate: int, work: Work, scenario: str | None = None
    ) -> KeptRecords:
        """One run and what was captured of it; RunError if it failed or is invalid."""

    def provenance(self) -> dict[str, Any]:
        """What is added to provenance.json."""


class Kernels(Protocol):
    """The module that the entry point names."""

    #: Number of simultaneous runs in real time.
    AT_ONCE: int

    def executor(self, options: RunOptions, plan: Plan) -> KernelExecutor:
        """Who runs the cells of a plan; StudyError or RunError if nobody can."""

    def load_stack(self, name: str) -> KernelStack:
        """A set-up by its name, or a TOML file; StudyError says what is wrong with it."""

    def other_recovery(self, backend: str, configs: Iterable[Mapping[str, Any]]) -> str:
        """A sentence about recoveries that replace those of the study under this key; empty if none do."""

    def find(self, kernel: str | None) -> KernelImage:
        """The kernel for virtual time of this name; RunError if there is none."""

    def kernels_by_law(self) -> Mapping[str, Sequence[str]]:
        """The congestion controls of the kernels that were built, each with the kernels that have it."""

    def examine(self) -> Iterator[Check]:
        """What kernel runs need on this machine."""


@cache
def find_kernels() -> Kernels | None:
    """The kernels' side; None where it is not installed, and on systems other than Linux."""
    if sys.platform != "linux":
        return None
    points = importlib.metadata.entry_points(group=GROUP, name=NAME)
    return cast(Kernels, next(iter(points)).load()) if points else None


def kernels() -> Kernels:
    """The kernels' side; StudyError or ExtraError if there is none."""
    if sys.platform != "linux":
        raise StudyError(
            f"a kernel's runs need Linux, this is {sys.platform}",
            key="--backend",
            right="--backend simulator",
        )
    if (side := find_kernels()) is None:
        raise ExtraError("a run on a kernel", "cwndlab-linux", "linux")
    return side


def kernel_laws() -> Mapping[str, Sequence[str]]:
    """The congestion controls of the kernels that were built, each with the kernels that have it."""
    side = find_kernels()
    return side.kernels_by_law() if side is not None else {}


#: The congestion controls of the kernels that were built; a study adds the user's own.
CATALOGUE = Catalogue(kernel_laws=kernel_laws)
