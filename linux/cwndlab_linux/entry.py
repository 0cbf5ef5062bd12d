"""The entry point of this distribution, which implements `cwndlab.runs.kernel_side.Kernels`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cwndlab.base.core import Check
from cwndlab.plan.plan import Plan
from cwndlab.runs.run_options import RunOptions

from . import stack
from .real_kernel import AT_ONCE, Kernel
from .router_program import find_router
from .stack_file import load as load_stack
from .stack_file import stack_for
from .virtual.images import find, kernels_by_law

if TYPE_CHECKING:
    from cwndlab.runs.kernel_side import Kernels

__all__ = ["AT_ONCE", "examine", "executor", "find", "kernels_by_law", "load_stack", "other_recovery"]


def executor(options: RunOptions, plan: Plan) -> Kernel:
    """The executor that runs a plan's cells on a kernel; StudyError or RunError if that is not possible."""
    find_router()
    study = plan.study
    chosen = stack_for(study, options.stack), options.threads, study.base.limits
    if options.backend != "linux-virtual":
        return Kernel(*chosen)
    from .virtual.backend import VirtualKernel

    named = {cell.id: options.kernel or cell.kernel for cell in plan.cells}
    found = {name: find(name) for name in dict.fromkeys(named.values())}
    first = next(iter(found.values()))
    others = {cell: found[name] for cell, name in named.items() if found[name] != first}
    return VirtualKernel(*chosen, image=first, others=others, folder=study.folder, verify=options.verify)


def other_recovery(backend: str, configs: Iterable[Mapping[str, Any]]) -> str:
    """A text on how the stack in a result's key replaces the study's recovery; empty if it does not."""
    return stack.other_recovery(stack.stack_of_key(backend), configs)


def examine() -> Iterator[Check]:
    """Checks of this machine for kernel runs."""
    from . import kernel_doctor
    from .virtual import doctor

    yield from kernel_doctor.examine()
    yield doctor.examine()


if TYPE_CHECKING:
    from . import entry

    _: Kernels = entry
