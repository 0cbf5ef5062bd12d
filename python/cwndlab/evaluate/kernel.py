"""What of a pack a kernel can run."""

from __future__ import annotations

from pathlib import Path

from cwndlab.backends.linux.stack import Stack
from cwndlab.errors import StudyError
from cwndlab.files import write_atomic
from cwndlab.plan.plan import Cell, Plan
from cwndlab.spec.knobs import word

from .subjects import STAND_IN

#: The set-up of the kernel's TCP for evaluations, unless `--stack` names another.
STACK = "linux-laws"
#: Names of congestion controls that no mainline kernel has.
NOT_MAINLINE = ("bbr3", "prague")


def stack_for(given: str | None, law: str | None, folder: Path) -> str:
    """The set-up of the kernel's TCP: the one given, or with a congestion control of the kernel's own.

    That one takes the place of a window law; the set-up is written to the folder.
    """
    if law is None:
        return given or STACK
    if given not in (None, STACK):
        right = f"leave out --stack, or map a window law to {law} in its [laws]"
        raise StudyError(f"{law} and a set-up of your own do not fit together", key="--stack", right=right)
    path = folder / f"{law}-stack.toml"
    write_atomic(path, f'based_on = "{STACK}"\n[laws]\n{STAND_IN} = "{law}"\n'.encode())
    return str(path)


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
