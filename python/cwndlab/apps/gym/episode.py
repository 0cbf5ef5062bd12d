"""Runs that stop whenever a flow's policy must act.

The engine calls the policy in the middle of a run. A greenlet gives the run its own stack, so that the call
can wait for the action while the caller continues (docs/decisions/gym.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsFloat

from greenlet import GreenletExit, getcurrent, greenlet

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.apps.policy import FlowStep, Interface, Policy
from cwndlab.base.core import Value
from cwndlab.base.errors import RunError, StudyError
from cwndlab.base.laws import LawCode
from cwndlab.metrics import Measurer
from cwndlab.plan.plan import Cell, make_plan
from cwndlab.plan.scenario import Compiled
from cwndlab.records.run_view import WholeRun
from cwndlab.runs.work import with_needed_probes

#: The name, in studies, of the congestion control that the agent decides.
AGENT = "agent"
_LAW = LawCode(AGENT, "Agent", "cwndlab.apps.gym", "", uses_random=False)


@dataclass(frozen=True, eq=False)
class AgentCell:
    """A cell in which an agent decides the window of at least one flow."""

    cell: Cell

    @cached_property
    def compiled(self) -> Compiled:
        """The cell's scenario, with the probes that the study's quantities read."""
        return with_needed_probes(self.cell.compiled, self.cell.study.outline.quantities)

    @cached_property
    def scenario(self) -> _core.Scenario:
        """The scenario as an object of the engine."""
        self.cell.check()
        return _core.Scenario(self.compiled.json)

    @cached_property
    def entries(self) -> list[str]:
        """Names of the traffic entries that the agent controls."""
        scenario = self.compiled.scenario
        own = {k for k, config in enumerate(scenario["tcp"]) if config["window_law"] == _LAW.knob}
        return [
            entry["name"] for entry in scenario["traffic"] if {entry["tcp_client"], entry["tcp_server"]} & own
        ]


class AgentStudy:
    """A study with the congestion control "agent", and its cells that use it."""

    def __init__(self, study: Study, changes: Mapping[str, object]) -> None:
        self.study = study.configure(changes, {AGENT: _LAW})
        plan = make_plan(self.study)
        self.seed = plan.seed
        self.cells = [AgentCell(cell) for cell in plan.cells if _LAW.digest in cell.compiled.laws]
        if not self.cells:
            raise StudyError(
                f'no cell uses the window law "{AGENT}"', right=f'write cc = "{AGENT}" for a flow'
            )
        self._measurer = Measurer(self.study.outline.quantities)

    def measure(self, cell: AgentCell, records: _core.Records) -> dict[str, Value]:
        """The study's quantities, measured in a run."""
        return self._measurer.measure(WholeRun(records, cell.compiled.scenario))


class Episode:
    """A run that `resume` continues until a flow must act."""

    def __init__(self, cell: AgentCell, seed: int, replicate: int, interface: Interface) -> None:
        episode = self
        self.cell = cell
        #: The cell, seed and replicate of the run.
        self.about: dict[str, Any] = {"cell": cell.cell.id, "seed": seed, "replicate": replicate}

        class Agent(Policy):
            def decide(self, step: FlowStep) -> SupportsFloat:
                if self not in episode.flows:
                    episode.flows.append(self)
                action: SupportsFloat = episode._run.parent.switch(self)
                return action

        Agent.interface = interface
        #: The flows that have acted, in the order of their first actions.
        self.flows: list[Policy] = []
        #: The run's records; None until it has ended.
        self.records: _core.Records | None = None
        self._end_s = cell.compiled.scenario["duration_ns"] / 1e9
        laws = {_LAW.digest: Agent}
        self._run: Any = greenlet(lambda _: cell.scenario.run(seed, replicate, laws=laws))

    def resume(self, action: SupportsFloat | None = None) -> Policy | None:
        """Gives the action to the waiting flow. Returns the next flow that must act, or None at the end.

        Raises:
            RunError: the run exceeds its budget.

        """
        self._run.parent = getcurrent()
        try:
            given = self._run.switch(action)
        except (RuntimeError, ValueError, MemoryError) as error:
            raise RunError(str(error) or type(error).__name__) from None
        if self._run.dead:
            self.records = given
            for one in self.flows:
                one.step.now_s = self._end_s
            return None
        flow: Policy = given
        return flow

    def close(self) -> None:
        """Ends the run early."""
        if self._run and not self._run.dead:
            self._run.parent = getcurrent()
            self._run.throw(GreenletExit)
