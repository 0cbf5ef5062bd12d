"""How often each cause is found; run as a program, it prints the tables of docs/guide/explain.md.

With the argument "kernel" the stalls run on Linux in virtual time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from prepared_stalls import STALLS, study

from cwndlab.runs.again import OneCell, OneKernelCell
from cwndlab.runs.explain import explain_capture, explain_run
from cwndlab.runs.options import RunOptions
from cwndlab.runs.run import kernel_of
from cwndlab.runs.trace import trace

VARIANTS: list[dict[str, Any]] = [
    {"topology.links.path.delay": delay, **change}
    for delay in ("10ms", "50ms", "100ms")
    for change in ({}, {"tcp.timestamps": False}, {"tcp.initial_window": 10})
]


def causes(cause: str, variant: dict[str, Any], folder: Path) -> list[str | None]:
    """The causes found in the records, in a capture at the sender, and in one at the receiver."""
    found = []
    for node in ("sender", "receiver"):
        plan = study(cause).set({**variant, "probes.segments_at": node}).plan(seed=1)
        cell = plan.cells[0]
        if node == "sender":
            found.append(explain_run(OneCell(cell, 1), cell.id, 0, "flow", None, 1).cause)
        file = folder / "capture.pcapng"
        file.write_bytes(trace(cell, "pcapng", seed=1))
        found.append(explain_capture(file).cause)
    return found


def cause_on_a_kernel(cause: str, variant: dict[str, Any]) -> str | None:
    """The cause found in the trace of a run on Linux in virtual time."""
    prepared = study(cause).set(variant)
    kernel = kernel_of(RunOptions(backend="linux-virtual"), prepared)
    assert kernel is not None
    cell = prepared.plan(seed=1).cells[0]
    return explain_run(OneKernelCell(cell, 1, kernel), cell.id, 0, "flow", None, 1).cause


def on_a_kernel() -> None:
    """Prints the table of the kernel."""
    print("| cause | trace of Linux |\n|---|---|")
    for cause in STALLS:
        right = sum(cause_on_a_kernel(cause, variant) == cause for variant in VARIANTS)
        print(f"| `{cause}` | {right} of {len(VARIANTS)} |", flush=True)


def main() -> None:
    """Prints the table of the simulator."""
    print("| cause | records | capture at the sender | capture at the receiver |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for cause in STALLS:
            found = [causes(cause, variant, Path(folder)) for variant in VARIANTS]
            right = [sum(one == cause for one in column) for column in zip(*found, strict=True)]
            print(f"| `{cause}` |", " | ".join(f"{n} of {len(VARIANTS)}" for n in right), "|", flush=True)


if __name__ == "__main__":
    on_a_kernel() if sys.argv[1:] == ["kernel"] else main()
