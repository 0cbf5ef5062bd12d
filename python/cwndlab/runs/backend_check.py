"""Checks that a backend can run a plan: its programs, congestion controls and kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cwndlab.base.errors import StudyError, problem_at
from cwndlab.base.laws import built_in, name_versions
from cwndlab.plan.scenario import origin

from .kernel_side import kernel_laws, kernels

if TYPE_CHECKING:
    from cwndlab.plan.plan import Cell, Plan

    from .run_options import RunOptions

#: Returns the problem and the remedy if a cell cannot run a kernel's congestion control; else None.
Reason = Callable[["Cell", str], tuple[str, str] | None]


def check_backend(plan: Plan, options: RunOptions) -> None:
    """StudyError for the first part of a plan that the backend does not support."""
    _reject_several_kernels(plan, options)
    if options.backend != "linux-virtual":
        plan.check_parts(options.backend)
    if options.backend == "simulator":
        _reject_laws(plan, _not_simulated)
        return
    if plan.study.laws:
        right = "leave it out, or run the simulator"
        raise StudyError("a kernel runs no congestion control in Python or Rust", key="--cc", right=right)
    plan.check_kernel()
    if options.backend == "linux-virtual":
        _reject_laws(plan, _not_in_kernel(options.kernel))


def _reject_several_kernels(plan: Plan, options: RunOptions) -> None:
    """StudyError if a plan names several kernels, but the backend or `--kernel` allows one or none."""
    named = list(dict.fromkeys(cell.kernel for cell in plan.cells))
    if len(named) < 2 or (options.backend == "linux-virtual" and options.kernel is None):
        return
    names = ", ".join(map(str, named))
    whys = {"simulator": "the simulator has no kernel", "linux": "this machine has one kernel"}
    why = whys.get(options.backend, "--kernel names one")
    problem = f"the study runs on several kernels ({names}), and {why}"
    right = f"--set kernel={named[0]} keeps one"
    if options.backend != "linux-virtual":
        right = f"--backend linux-virtual has them; {right}"
    raise plan.study.place.locate(StudyError(problem, right=right), ("run", "kernel"))


def _reject_laws(plan: Plan, reason: Reason) -> None:
    """StudyError for the first kernel-only congestion control that `reason` rejects in its cell."""
    for cell in plan.cells:
        for law, tcp in cell.compiled.kernel_laws.items():
            fault = reason(cell, law)
            if fault is not None:
                at = (*origin(cell.compiled, ["tcp", str(tcp)]), "cc")
                raise cell.study.locate_refusal(problem_at(at, *fault), cell.axes)


def _not_simulated(cell: Cell, law: str) -> tuple[str, str]:
    """The problem and the remedy for a kernel-only congestion control in the simulator."""
    right = f"{_how_to_get(law)}; the simulator's own: {', '.join(built_in())}"
    if own := name_versions(law):
        right = f"{own}; {right}"
    return f'the simulator has no congestion control "{law}"', right


def _not_in_kernel(kernel: str | None) -> Reason:
    """A `Reason` that rejects congestion controls that the cell's kernel is known to lack."""
    side = kernels()

    def reason(cell: Cell, law: str) -> tuple[str, str] | None:
        image = side.find(kernel or cell.kernel)
        offered = image.congestion_controls
        if not offered or law in offered:
            return None
        right = f"{_how_to_get(law)}; in this one: {', '.join(offered)}"
        return f'kernel {image.name} has no congestion control "{law}"', right

    return reason


def _how_to_get(law: str) -> str:
    """The remedy for running a congestion control that only kernels have."""
    having = [*kernel_laws().get(law, ())]
    own = f"a law of your own in Python: --cc {law}.py:CLASS"
    if not having:
        return f"{own}; in C: `cwndlab linux build --law {law}.c`"
    others = f" (also in {', '.join(having[1:])})" if having[1:] else ""
    return f"{own}; in C: --backend linux-virtual --kernel {having[0]} has it{others}"
