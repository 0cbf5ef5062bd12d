"""Packet-by-packet comparison of simulator and kernel for the cells of a user's study."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cwndlab.api import Study
from cwndlab.base.writing import save
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import watched_host
from cwndlab_linux.stack_file import stack_for
from cwndlab_linux.virtual.backend import VirtualKernel
from cwndlab_linux.virtual.images import Image

from .differing import Row, listing, row_of, save_page
from .random_scenario import HZ, Alignment
from .sides import KernelRun, against_simulator, choose_segments, on_kernel


@dataclass(frozen=True)
class StudyCase:
    """A cell of a study as a scenario that both sides can run."""

    cell: Cell
    seed: int
    #: Whether senders pass trains of segments to their device.
    trains: bool = False

    @property
    def laws(self) -> list[str]:
        """The congestion control of each traffic entry, by the engine's name."""
        scenario = self.cell.compiled.scenario
        laws = (scenario["tcp"][entry["tcp_server"]]["window_law"] for entry in scenario["traffic"])
        return [law if isinstance(law, str) else next(iter(law)) for law in laws]

    def compile(self, alignment: Alignment | None = None) -> str:
        """The scenario as JSON; with `alignment`, adapted to a kernel's starts, ticks and BBR phases."""
        if alignment is None:
            return self.cell.scenario
        scenario: dict[str, Any] = json.loads(self.cell.scenario)
        for entry, start, draw in zip(scenario["traffic"], alignment.starts_ns, alignment.draws, strict=True):
            entry["start_ns"] = start
            entry["name"] += f"-{draw}" if draw else ""
        for tcp in scenario["tcp"]:
            tcp["trains"] = "linux" if self.trains else tcp["trains"]
            tcp["rto"] |= {"timer_hz": HZ, "tick_phase_ns": alignment.tick_phase_ns}
        return json.dumps(scenario)


def observed_at_sender(study: Study) -> Study:
    """The study with its observation point at the data sender of its first flow."""
    scenario = study.plan().cells[0].compiled.scenario
    node = scenario["nodes"][watched_host(scenario)]
    return study.set({"probes.segments_at": node})


def compare_study(
    study: Study,
    stack: str | None,
    image: Image,
    out: Path,
    *,
    trains: bool = False,
    threads: int | None,
    say: Callable[[str], None],
) -> str:
    """Compares each cell's first replicate with a kernel's; returns the page of results.

    Writes the page, a table, and, for each cell that differs, the packets around the first difference. The
    simulator gets the kernel's starts and ticks. `trains`: senders pass trains of segments to their device.
    """
    plan = observed_at_sender(study).plan()
    cases = {cell.id: StudyCase(cell, plan.derive_seed(cell), trains) for cell in plan.cells}
    sides = ("the simulator", f"Linux {image.release}")
    rows: dict[str, Row] = {}

    def deliver(name: str, theirs: KernelRun | str) -> None:
        if isinstance(theirs, str):
            rows[name] = Row.from_failure(len(rows), name, theirs)
        else:
            found, alignment = against_simulator(cases[name], theirs)
            rows[name] = row_of(len(rows), name, found, len(theirs.packets))
            if not found.is_same:
                save(out / name / "packets.txt", listing(found, sides))
                save(out / name / "aligned.json", cases[name].compile(alignment))
        say(f"{name}: {rows[name].kind}")

    host = replace(stack_for(plan.study, stack), segments=choose_segments(trains=trains))
    kernel = VirtualKernel(host, at_once=threads, image=image)
    on_kernel(kernel, cases, deliver)
    found = [rows[name] for name in cases]
    return save_page(out, found, sides)
