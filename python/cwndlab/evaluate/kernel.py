"""What of a pack a kernel can run."""

from __future__ import annotations

from cwndlab.backends.linux.stack import Stack
from cwndlab.errors import StudyError
from cwndlab.plan.plan import Cell, Plan
from cwndlab.spec.knobs import word

#: The set-up of the kernel's TCP for evaluations, unless `--stack` names another.
STACK = "linux-laws"
#: Names of congestion controls that no mainline kernel has.
NOT_MAINLINE = ("bbr3",)


def lacks(stack: Stack, law: str) -> bool:
    """Whether a kernel with this set-up has no congestion control for a window law of the engine."""
    return stack.laws.get(law) in (None, *NOT_MAINLINE)


def refusal(plan: Plan, stack: Stack) -> str | None:
    """Why a kernel with this set-up cannot run all cells of a plan; None if it can."""
    try:
        plan.check_kernel()
    except StudyError as error:
        return error.problem
    missing = sorted({law for cell in plan.cells for law in _laws(cell) if lacks(stack, law)})
    return f"the kernel has no congestion control {', '.join(missing)}" if missing else None


def _laws(cell: Cell) -> set[str]:
    scenario = cell.compiled.scenario
    groups = {entry[end] for entry in scenario["traffic"] for end in ("tcp_client", "tcp_server")}
    return {word(scenario["tcp"][group]["window_law"]) for group in groups}
