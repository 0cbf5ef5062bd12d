"""The simulator's runs of a kernel's plan, and the first differences between their traces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

from cwndlab import _core
from cwndlab.apps.diagnosis.budget_figure import BudgetKey, MeanTimes
from cwndlab.apps.diagnosis.time_budgets import mean_times
from cwndlab.apps.packets.trace_difference import (
    DEFAULT_TOLERANCE_S,
    Difference,
    Event,
    events_of_table,
    first_difference_of_stacks,
)
from cwndlab.base.arrow_tables import FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS, read_table
from cwndlab.base.writing import save_inside
from cwndlab.plan.plan import Cell, Plan
from cwndlab.plan.scenario import Compiled, watched_host
from cwndlab.report.figures import Drawing
from cwndlab.report.judge import Judged, judge
from cwndlab.report.model import TwinView
from cwndlab.results.execution import gather_results
from cwndlab.results.result import RunResult
from cwndlab.results.study_figures import with_replays
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.executors.threads import Threads

from .both_figures import draw_both
from .twin import Twin, TwinNumber, budget_key, pair_numbers, to_csv, view


@dataclass(frozen=True)
class KernelTwin:
    """A kernel's judged results, and the simulator's for the same plan."""

    judged: Judged
    twin: Twin
    rows: Sequence[TwinNumber]
    #: The campaigns of the simulator and the kernel, for time budgets; None: no time budgets.
    campaigns: tuple[Campaign, Campaign] | None = None

    @classmethod
    def from_results(
        cls, judged: Judged, twin: Twin, campaigns: tuple[Campaign, Campaign] | None = None
    ) -> KernelTwin:
        """Judges the simulator's results by the same tables, and pairs both results' numbers."""
        return cls(judged, twin, pair_numbers(judge(judged.outputs, twin.results), judged), campaigns)

    def draw(self) -> Sequence[Drawing]:
        """The study's figures, with the results of the kernel and the simulator."""
        return draw_both(self.judged, self.twin.results)

    def save(self, directory: Path) -> None:
        """Writes agreement.csv."""
        save_inside(directory, "agreement.csv", to_csv(self.rows))

    def view(self) -> TwinView:
        """The comparison for the report; runs of numbers that differ are repeated for time budgets."""
        return view(self.twin, self.rows, self.judged, self._budgets())

    def _budgets(self) -> Mapping[BudgetKey, tuple[MeanTimes, MeanTimes]]:
        """Mean times in the simulator and on the kernel, for the numbers that differ."""
        if self.campaigns is None:
            return {}
        simulator, kernel = self.campaigns
        keys = dict.fromkeys(budget_key(row, self.judged.outputs.quantities) for row in self.rows)
        means = {
            key: (mean_times(simulator, key), mean_times(kernel, key)) for key in keys if key is not None
        }
        return {key: both for key, both in means.items() if all(both)}


def simulate_twin(measured: RunResult, judged: Judged) -> KernelTwin | None:
    """A kernel's results and the simulator's; None if no cell of the plan can be simulated."""
    simulator = simulate(measured.campaign)
    if simulator is None:
        return None
    twin = make_twin(gather_results(simulator), measured)
    twin = replace(twin, results=with_replays(simulator, twin.results, judged.outputs.figures))
    measured.simulated = twin.results
    return KernelTwin.from_results(judged, twin, (simulator, measured.campaign))


def simulate(kernel: Campaign) -> Campaign | None:
    """The simulator's campaign for a kernel's plan; runs that are not stored are performed.

    Cells with a congestion control that only the kernel has are omitted; None if no others remain.
    """
    plan = for_comparison(kernel.plan, single_segments=_sends_single_segments(kernel.backend))
    plan = replace(plan, cells=tuple(cell for cell in plan.cells if not cell.compiled.kernel_laws))
    if not plan.cells:
        return None
    # The simulator's runs have different keys, so both can use the same store.
    simulator = Campaign(plan, kernel.store, Threads(None), kernel.rule, engine=kernel.engine, ids=kernel.ids)
    simulator.run()
    return simulator


def make_twin(simulated: RunResult, measured: RunResult) -> Twin:
    """The simulator's side of the report of a kernel's results."""
    about = (
        "The packets that one host sends and receives in the first replicate: the host of the observation "
        "point or, without one, the sender of the first traffic. Both traces are compared from the first "
        "packet with data until an event differs, or its times are more than "
        f"{DEFAULT_TOLERANCE_S * 1e3:g} ms apart. If the kernel's connection starts later, this delay is "
        "left out."
    )
    if _sends_single_segments(measured.campaign.backend):
        about += " Senders hand their devices single segments on both, as the stack says."
    if not simulated.campaign.is_of_this_version:  # its runs might have to be repeated for a trace
        why = "Traces are not compared, because another version of cwndlab made these runs."
        return Twin(simulated.results, about=why)
    return Twin(simulated.results, dict(_first_differences(simulated, measured)), about)


def _first_differences(simulated: RunResult, measured: RunResult) -> Iterator[tuple[str, Difference]]:
    """The first difference between the traces of each cell's first replicates."""
    for cell in simulated.plan.cells:
        with suppress(KeyError):  # one of the first runs failed
            a, b = _traces(cell, simulated, measured)
            yield cell.id, first_difference_of_stacks(a, b, DEFAULT_TOLERANCE_S, kernel="b")


def _traces(cell: Cell, simulated: RunResult, measured: RunResult) -> tuple[list[Event], list[Event]]:
    scenario = cell.compiled.scenario
    if scenario.get("probes", {}).get("segments_at") is not None:
        return events_of_table(simulated.campaign.tables(cell.id)["segments"]), events_of_table(
            measured.campaign.tables(cell.id)["segments"]
        )
    b = measured.campaign.tables(cell.id)[FIRST_SEGMENTS]
    # Repeats the run with the observation point at the host that was observed on the kernel.
    probes = {**scenario.get("probes", {}), "segments_at": watched_host(scenario)}
    again = _core.run(json.dumps({**scenario, "probes": probes}), measured.plan.derive_seed(cell), 0)
    return events_of_table(
        read_table(again.table("segments")).slice(0, FIRST_SEGMENTS_ROWS)
    ), events_of_table(b)


def _sends_single_segments(backend: str) -> bool:
    """Whether a kernel's hosts have no segmentation offload; `backend` is part of a result's key."""
    return bool(backend) and json.loads(backend)[2].get("segments") == "single"


@dataclass(frozen=True, eq=False)
class SingleSegments(Cell):
    """A cell whose senders pass single segments to their devices, as a kernel's do, instead of trains."""

    @cached_property
    def compiled(self) -> Compiled:
        """The cell's scenario with the origins of its parts."""
        trains = super().compiled
        tcp = [{**knobs, "max_train_segments": 1} for knobs in trains.scenario["tcp"]]
        return replace(trains, scenario={**trains.scenario, "tcp": tcp})


def for_comparison(plan: Plan, *, single_segments: bool) -> Plan:
    """The plan for the simulator next to a kernel: with at least the study's own number of replicates.

    With `single_segments`, senders do not pass trains to their devices, as the kernel's configuration states.
    """
    cells = plan.cells
    if single_segments:
        own = [{field.name: getattr(cell, field.name) for field in fields(cell)} for cell in cells]
        cells = tuple(SingleSegments(**values) for values in own)
    fewer = any(cell.replicates < (plan.replicates or 0) for cell in cells)
    return replace(plan, cells=cells, replicates=plan.replicates if fewer else None)
