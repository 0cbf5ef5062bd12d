"""The simulator's runs of the same plan as a kernel's, and where the traces of both diverge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from cwndlab import _core
from cwndlab.base.arrow_tables import FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS, read_table
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import watched_host
from cwndlab.records.traces import (
    DEFAULT_TOLERANCE_S,
    Difference,
    Event,
    events_of_table,
    first_difference_of_stacks,
)
from cwndlab.report.twin import Twin
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.executors.protocol import sends_single_segments
from cwndlab.runs.executors.threads import Threads

from .result import RunResult


def simulate(kernel: Campaign) -> Campaign | None:
    """The simulator's campaign of the same plan as a kernel's; what of it is missing in the store is run.

    Cells with a congestion control that only the kernel has are left out; None if no others remain.
    """
    plan = kernel.plan.for_comparison(single_segments=sends_single_segments(kernel.backend))
    plan = replace(plan, cells=tuple(cell for cell in plan.cells if not cell.compiled.kernel_laws))
    if not plan.cells:
        return None
    # The simulator's runs have other keys, so one store holds both.
    simulator = Campaign(plan, kernel.store, Threads(None), kernel.rule, engine=kernel.engine, ids=kernel.ids)
    simulator.run()
    return simulator


def twin_of(simulated: RunResult, measured: RunResult) -> Twin:
    """The simulator's side of a report of the kernel's results."""
    about = (
        "The packets that one host sends and receives in the first replicate: the host of the observation "
        "point or, without one, the sender of the first traffic. Both traces are compared from the first "
        "packet with data until an event differs, or its times are more than "
        f"{DEFAULT_TOLERANCE_S * 1e3:g} ms apart. If the kernel's connection starts later, this delay is "
        "left out."
    )
    if sends_single_segments(measured.campaign.backend):
        about += " Senders hand their devices single segments on both, as the stack says."
    if not simulated.campaign.is_of_this_version:  # which may have to run again for its trace
        why = "Traces are not compared, because another version of cwndlab made these runs."
        return Twin(simulated.results, about=why)
    return Twin(simulated.results, dict(_first_differences(simulated, measured)), about)


def _first_differences(simulated: RunResult, measured: RunResult) -> Iterator[tuple[str, Difference]]:
    """Each cell's first event that differs between the traces of the first replicates."""
    for cell in simulated.plan.cells:
        with suppress(KeyError):  # the first run of one of them failed
            a, b = _traces(cell, simulated, measured)
            yield cell.id, first_difference_of_stacks(a, b, DEFAULT_TOLERANCE_S, kernel="b")


def _traces(cell: Cell, simulated: RunResult, measured: RunResult) -> tuple[list[Event], list[Event]]:
    scenario = cell.compiled.scenario
    if scenario.get("probes", {}).get("segments_at") is not None:
        return events_of_table(simulated.campaign.tables(cell.id)["segments"]), events_of_table(
            measured.campaign.tables(cell.id)["segments"]
        )
    b = measured.campaign.tables(cell.id)[FIRST_SEGMENTS]
    # Its run is simulated once more, with the host that was watched on the kernel observed.
    probes = {**scenario.get("probes", {}), "segments_at": watched_host(scenario)}
    again = _core.run(json.dumps({**scenario, "probes": probes}), measured.plan.seed_of(cell), 0)
    return events_of_table(
        read_table(again.table("segments")).slice(0, FIRST_SEGMENTS_ROWS)
    ), events_of_table(b)
