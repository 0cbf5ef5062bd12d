"""The interface of the kernel backend, which the distribution `cwndlab-linux` implements; loads the backend.

It is loaded by its entry point in the group `cwndlab.backends`; the core does not import it.
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

#: The group and the name of the backend's entry point.
GROUP, NAME = "cwndlab.backends", "linux"


class KernelStack(Protocol):
    """A configuration of the kernel's TCP (`--stack`)."""

    @property
    def laws(self) -> Mapping[str, str]:
        """Window law of a study -> the kernel's congestion control."""

    @property
    def text(self) -> str | None:
        """The text of the file from which the configuration was read; None without a file."""


class KernelImage(Protocol):
    """A kernel that runs in virtual time."""

    @property
    def name(self) -> str:
        """The kernel's name for `--kernel`."""

    @property
    def congestion_controls(self) -> Sequence[str]:
        """The kernel's congestion controls; empty if they are unknown until it runs."""


class KernelExecutor(Executor, Protocol):
    """Runs the cells of a plan on a kernel."""

    watcher: Progress | None
    #: The folder for descriptions and packet captures of runs; None to store none.
    keep: Path | None

    @property
    def stack(self) -> KernelStack:
        """The configuration of the kernel's TCP."""

    @property
    def key(self) -> str:
        """The part of keys in the store that names the kernel and its set-up."""

    @property
    def keys(self) -> Mapping[str, str]:
        """Cell that runs on another kernel -> the part of its keys that names that kernel."""

    @property
    def releases(self) -> str:
        """The releases of the cells' kernels as text."""

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Prepares the runs of these cells; StudyError if a cell cannot run."""

    def record(
        self, cell: Cell, seed: int, replicate: int, work: Work, scenario: str | None = None
    ) -> KeptRecords:
        """Runs one replicate; its records, with the packet capture. RunError if it fails or is invalid."""

    def provenance(self) -> dict[str, Any]:
        """The entries of provenance.json about the kernel."""


class Kernels(Protocol):
    """The module that the entry point loads."""

    #: The default number of simultaneous runs in real time.
    AT_ONCE: int

    def executor(self, options: RunOptions, plan: Plan) -> KernelExecutor:
        """The executor for a plan; StudyError or RunError if the kernel cannot run it."""

    def load_stack(self, name: str) -> KernelStack:
        """Loads a configuration by its name, or from a TOML file; StudyError if it is invalid."""

    def other_recovery(self, backend: str, configs: Iterable[Mapping[str, Any]]) -> str:
        """A sentence on how the kernel's loss recovery differs from these TCP configurations, or "".

        `backend` is the part of keys that names the kernel and its set-up.
        """

    def find(self, kernel: str | None) -> KernelImage:
        """The kernel of this name for virtual time (None: the default); RunError if there is none."""

    def kernels_by_law(self) -> Mapping[str, Sequence[str]]:
        """Congestion control -> the names of the built kernels that have it."""

    def examine(self) -> Iterator[Check]:
        """Yields the results of checking what runs on kernels need on this machine."""


@cache
def find_kernels() -> Kernels | None:
    """Loads the kernel backend; None if it is not installed, or the system is not Linux."""
    if sys.platform != "linux":
        return None
    points = importlib.metadata.entry_points(group=GROUP, name=NAME)
    return cast(Kernels, next(iter(points)).load()) if points else None


def kernels() -> Kernels:
    """The kernel backend; StudyError or ExtraError if there is none."""
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
    """Congestion control -> the names of the built kernels that have it; empty without the backend."""
    side = find_kernels()
    return side.kernels_by_law() if side is not None else {}


#: The congestion controls that the engine lacks; a study adds the user's own.
CATALOGUE = Catalogue(kernel_laws=kernel_laws)
