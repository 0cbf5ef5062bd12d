"""The terminal's side of `cwndlab shell`: passes lines to a shell in a guest, whose clock stops meanwhile."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cwndlab.base.errors import RunError, StudyError, nearest
from cwndlab.plan.plan import Cell
from cwndlab.runs.executors.protocol import Job
from cwndlab_linux.guest_shell import FOLDER
from cwndlab_linux.router_program import find_router

from .backend import VirtualKernel
from .boot import last_words
from .program_files import ENVIRONMENT


def talk(
    kernel: VirtualKernel,
    cell: Cell,
    seed: int,
    node: str,
    at_ns: int,
    ask: Callable[[str], str | None],
    show: Callable[[str], None],
) -> None:
    """Runs the first replicate of a cell, with a shell at a node; RunError if the run fails.

    Args:
        kernel: the executor.
        cell: the cell.
        seed: the seed of the run.
        node: the shell's host.
        at_ns: the time at which the shell opens.
        ask: called with the prompt; returns a line, or None at the end of the input.
        show: called with output as it arrives.

    """
    scenario = cell.compiled.scenario
    hosts = {scenario["nodes"][entry[end]] for entry in scenario["traffic"] for end in ("client", "server")}
    if node not in hosts:
        problem = f'there is no host "{node}"; hosts are where traffic begins and ends'
        raise StudyError(problem, key="--at", right=nearest(node, sorted(hosts)))
    if at_ns >= scenario["duration_ns"]:
        right = f"less than {scenario['duration_ns'] / 1e9:g}s"
        raise StudyError("the run is over by then", key="--time", right=right)
    kernel.prepare([cell])
    wanted = {"node": scenario["nodes"].index(node), "at_ns": at_ns, "environment": ENVIRONMENT}
    kernel = replace(kernel, shell=wanted)
    job = Job("shell", cell.id, cell.scenario, seed, 0, keep_records=False)
    run = kernel.begin(job, scenario, find_router(), 1)
    try:
        home = run.folder / FOLDER
        home.mkdir(exist_ok=True)
        shown = lines = 0
        while run.process.poll() is None:
            shown = _show(home / "output", shown, show)
            asks = home / f"asks-{lines}"
            if asks.exists() and (text := asks.read_text()):
                shown = _show(home / "output", shown, show)
                os.kill(run.process.pid, signal.SIGSTOP)  # the guest would poll for the line
                line = ask(f"{node} {float(text):.6f} s> ")
                (home / "new").write_text("" if line is None else line + "\n")
                (home / "new").rename(home / f"line-{lines}")
                os.kill(run.process.pid, signal.SIGCONT)
                lines += 1
            time.sleep(0.005)
        _show(home / "output", shown, show)
        if not (run.folder / "result.json").exists():
            raise RunError(f"the testbed ended without a result; it said: {last_words(run.folder)}")
    finally:
        kernel.discard(run)


def _show(path: Path, shown: int, show: Callable[[str], None]) -> int:
    """Shows new content of a file; returns how many bytes have been shown."""
    if not path.exists():
        return shown
    with path.open("rb") as file:
        file.seek(shown)
        new = file.read()
    if new:
        show(new.decode(errors="replace"))
    return shown + len(new)
