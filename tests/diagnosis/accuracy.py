"""How often each cause is found; run as a program, it prints the tables of docs/evidence/explain-accuracy.md.

With the argument "kernel" the stalls run on Linux in virtual time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from prepared_stalls import STALLS, study

from cwndlab import Study
from cwndlab.apps.captures.explain_capture import explain_capture
from cwndlab.apps.diagnosis.explanation import explain_run
from cwndlab.apps.packets.traces import trace
from cwndlab.results.execution import find_kernel_executor
from cwndlab.runs.run_options import RunOptions
from cwndlab.runs.single_run import OneCell

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
    kernel = find_kernel_executor(RunOptions(backend="linux-virtual"), prepared.plan())
    assert kernel is not None
    cell = prepared.plan(seed=1).cells[0]
    return explain_run(OneCell(cell, 1, kernel), cell.id, 0, "flow", None, 1).cause


def on_a_kernel() -> None:
    """Prints the table of the kernel."""
    print("| cause | trace of Linux |\n|---|---|")
    for cause in STALLS:
        right = sum(cause_on_a_kernel(cause, variant) == cause for variant in VARIANTS)
        print(f"| `{cause}` | {right} of {len(VARIANTS)} |", flush=True)


LONG = """
title = "A long transfer over a path that loses or reorders"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
buffer = 0.5
flows = [{ name = "flow", cc = "cubic" }]
[probes]
segments_at = "flow_sender"
[run]
duration = "20s"
"""
LOSS = {"kind": "bernoulli", "p": "0.5%"}
REORDERING = {"kind": "jitter", "max": "4ms"}
#: What the path does.
PATHS = {"random loss": [LOSS], "reordering": [REORDERING], "both": [LOSS, REORDERING]}


def alike(path: str, changes: dict[str, Any], node: str, folder: Path) -> tuple[float, float]:
    """The time that a capture of a long transfer gives to the causes of the records, and all time."""
    study = Study.from_toml(LONG).set(
        {"topology.links.flow_exit.forward.impairments": PATHS[path], **changes}
    )
    cell = study.plan(seed=1).cells[0]
    known = explain_run(OneCell(cell, 1), cell.id, 0, "flow", None, 1).waited_s
    file = folder / "capture.pcapng"
    file.write_bytes(trace(study.set({"probes.segments_at": node}).plan(seed=1).cells[0], "pcapng", seed=1))
    found = explain_capture(file).waited_s
    for waited in (known, found):  # a capture does not show which of them holds a sender back
        waited["cwnd"] = waited.get("cwnd", 0.0) + waited.pop("pacing", 0.0)
    return sum(min(spent, found.get(cause, 0.0)) for cause, spent in known.items()), sum(known.values())


def on_lossy_paths() -> None:
    """Prints the table of paths that lose and reorder, for laws that pace and for one that does not."""
    print("| path | law | capture at the sender | capture at the receiver |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in PATHS:
            for law in ("cubic", "reno", "bbr3"):
                shares = []
                for node in ("flow_sender", "flow_receiver"):
                    pairs = [
                        alike(
                            path,
                            {"dumbbell.flows.1.cc": law, "dumbbell.rate": rate, "dumbbell.rtt": rtt},
                            node,
                            Path(folder),
                        )
                        for rate in ("10Mbps", "50Mbps")
                        for rtt in ("20ms", "80ms")
                    ]
                    shares.append(sum(same for same, _ in pairs) / sum(whole for _, whole in pairs))
                print(
                    f"| {path} | `{law}` |",
                    " | ".join(f"{100 * share:.0f} %" for share in shares),
                    "|",
                    flush=True,
                )


def main() -> None:
    """Prints the tables of the simulator."""
    print("| cause | records | capture at the sender | capture at the receiver |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for cause in STALLS:
            found = [causes(cause, variant, Path(folder)) for variant in VARIANTS]
            right = [sum(one == cause for one in column) for column in zip(*found, strict=True)]
            print(f"| `{cause}` |", " | ".join(f"{n} of {len(VARIANTS)}" for n in right), "|", flush=True)
    on_lossy_paths()


if __name__ == "__main__":
    on_a_kernel() if sys.argv[1:] == ["kernel"] else main()
