"""The environment of several flows, each controlled by an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium
from pettingzoo import AECEnv

from cwndlab.api import Study
from cwndlab.apps.policy import FlowStep, Interface, Policy
from cwndlab.apps.policy.interface import Observation
from cwndlab.base.errors import StudyError

from .episode import Episode
from .rewards import Reward, reward_of
from .study_env import ActionValue, Episodes, Space, scalar, spaces


class FlowsEnv(AECEnv):  # type: ignore[misc]  # PettingZoo has no types
    """A PettingZoo AEC environment for the flows of a study whose windows agents decide.

    Each flow with `cc = "agent"` is an agent and has one connection. Agents act in turn, in the order of
    simulated time, each at the ACKs of its own flow. They are named "flow_0", "flow_1" and so on, in the
    order in which they first act.

    The arguments are those of `StudyEnv`.

    Raises:
        StudyError: the study or an argument is wrong.

    """

    metadata: dict[str, Any] = {"name": "cwndlab_flows_v0", "render_modes": [], "is_parallelizable": False}

    def __init__(
        self,
        study: str | Path | Study,
        *,
        observation: Sequence[str] = Interface.observation,
        action: str = Interface.action,
        every: str = Interface.every,
        history: int = Interface.history,
        reward: Reward = "power",
        split: Literal["train", "test"] = "train",
        changes: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        self.interface = Interface(tuple(observation), action, every, history)
        self.episodes = Episodes(study, changes, split)
        most = max(len(cell.entries) for cell in self.episodes.study.cells)
        self.possible_agents = [f"flow_{k}" for k in range(most)]
        self.agents: list[str] = []
        self.render_mode = None
        self._spaces = spaces(self.interface)
        self._reward: Callable[[FlowStep], float] = reward_of(reward)
        self._random, _ = gymnasium.utils.seeding.np_random(None)
        self._episode: Episode | None = None
        self._observations: dict[str, Observation] = {}

    def observation_space(self, agent: str) -> gymnasium.spaces.Box:
        """The space of observations, the same for all agents."""
        return self._spaces[0]

    def action_space(self, agent: str) -> Space:
        """The space of actions, the same for all agents."""
        return self._spaces[1]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begins a run and continues until the first agent must act; see `StudyEnv.reset`."""
        self.close()
        if seed is not None:
            self._random, _ = gymnasium.utils.seeding.np_random(seed)
        episode = self._episode = self.episodes.begin(self._random, seed, options or {}, self.interface)
        self.agents = self.possible_agents[: len(episode.cell.entries)]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: dict(episode.about) for agent in self.agents}
        self._observations = dict.fromkeys(self.agents, self.interface.bounds()[0])
        self._turn(episode, episode.resume(), is_first=True)

    def step(self, action: ActionValue | None) -> None:
        """Acts for the agent whose turn it is, and continues the run until the next turn or its end.

        As in `StudyEnv`, steps cut short by the end of the run have no reward, and information has
        `measures`.
        """
        agent = self.agent_selection
        if self.truncations[agent]:
            self._was_dead_step(action)
            return
        if self._episode is None or action is None:
            raise gymnasium.error.ResetNeeded("call reset() before step(), and give an action")
        self._cumulative_rewards[agent] = 0.0
        self._turn(self._episode, self._episode.resume(scalar(action)))

    def _turn(self, episode: Episode, flow: Policy | None, *, is_first: bool = False) -> None:
        """Passes the turn to the agent of this flow, or ends the episode if there is none."""
        self._clear_rewards()
        if len(episode.flows) > len(self._observations):
            right = "give the agents applications with one connection, such as bulk"
            raise StudyError(f"the agents have {len(episode.flows)} connections", key="app", right=right)
        for name, own in zip(self.agents, episode.flows, strict=False):
            if own is flow or flow is None:
                self._observations[name] = own.observe(own.step)
                self.rewards[name] = 0.0 if is_first or flow is None else float(self._reward(own.step))
                self.infos[name] = self.infos[name] | {"time_s": own.step.now_s}
                if own is flow:
                    self.agent_selection = name
        self._accumulate_rewards()
        if flow is not None:
            return
        self.agent_selection = self.agents[0]
        self.truncations = dict.fromkeys(self.agents, True)
        if episode.records is not None:
            measures = self.episodes.study.measure(episode.cell, episode.records)
            self.infos = {name: info | {"measures": measures} for name, info in self.infos.items()}
        self._episode = None

    def observe(self, agent: str) -> Observation:
        """The agent's observation at its last turn; the lower bounds of the space before its first turn."""
        return self._observations[agent]

    def close(self) -> None:
        """Ends the current run."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None
