"""A Gymnasium environment: an agent sets the window or the rate of one flow of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, SupportsFloat, TypeAlias

import gymnasium
import numpy as np

from cwndlab.api import Study
from cwndlab.apps.policy import FlowStep, Interface
from cwndlab.apps.policy.interface import Observation
from cwndlab.base.errors import NotFoundError, StudyError, nearest

from .episode import AGENT, AgentStudy, Episode
from .rewards import Reward, reward_of

#: Added to the study's seed for training, so that training shares no random numbers with the study's runs.
TRAINING = 1 << 32
REPLICATES = 1 << 31
ActionValue = np.ndarray[Any, Any] | np.integer[Any] | int | float
Space: TypeAlias = gymnasium.spaces.Box | gymnasium.spaces.Discrete


class Episodes:
    """The runs of an environment: the cells of the study that have an agent, and their seeds."""

    def __init__(self, study: str | Path | Study, changes: Mapping[str, object] | None, split: str) -> None:
        if split not in ("train", "test"):
            raise StudyError(f"there is no split {split!r}", key="split", right='write "train" or "test"')
        loaded = study if isinstance(study, Study) else Study.load(study)
        self.study = AgentStudy(loaded, changes or {})
        self.split = split
        self._position = 0

    def begin(
        self, random: np.random.Generator, seed: int | None, wanted: Mapping[str, Any], interface: Interface
    ) -> Episode:
        """The next run.

        For training, cell and replicate are random. For tests, the study's own runs follow in order from
        number `seed` on: replicate 0 of all cells, then replicate 1. `wanted` may name a cell or a replicate.
        """
        cells = self.study.cells
        if self.split == "train":
            cell, replicate = cells[int(random.integers(len(cells)))], int(random.integers(REPLICATES))
            engine_seed = (self.study.seed + TRAINING) % (1 << 64)
        else:
            self._position = self._position if seed is None else seed
            replicate, index = divmod(self._position, len(cells))
            cell, engine_seed = cells[index], self.study.seed
            self._position += 1
        if (name := wanted.get("cell")) is not None:
            by_id = {cell.cell.id: cell for cell in cells}
            if name not in by_id:
                raise NotFoundError(f"no cell {name!r} has an agent; {nearest(str(name), by_id)}")
            cell = by_id[name]
        return Episode(cell, engine_seed, int(wanted.get("replicate", replicate)), interface)


class StudyEnv(gymnasium.Env[Observation, ActionValue]):  # type: ignore[misc]  # its types are not read
    """A flow of a study whose window the agent decides.

    The flow is the one with `cc = "agent"`. If the study has none, "agent" becomes one more value of the axis
    that varies the congestion control.

    Args:
        study: a shipped name, a file, or a `Study`.
        observation: names in `cwndlab.apps.policy.FEATURES`.
        action: a name in `cwndlab.apps.policy.ACTIONS`.
        every: when the agent acts: "ack", "rtt", or a time; see `Interface`.
        history: number of steps in an observation.
        reward: a name in `REWARDS`, weights of features (`{"throughput_mbps": 1, "loss_share": -50}`), or a
            function of the `FlowStep`.
        split: "train" draws cells and random numbers that no run of the study uses; "test" gives the study's
            own replicates in turn.
        changes: as for `cwndlab.run`.
        render_mode: always None.

    Raises:
        StudyError: the study or an argument is wrong, or several flows have agents.

    """

    metadata: dict[str, Any] = {"render_modes": []}

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
        render_mode: None = None,
    ) -> None:
        self.interface = Interface(tuple(observation), action, every, history)
        self.episodes = Episodes(study, changes, split)
        for cell in self.episodes.study.cells:
            if len(cell.entries) > 1:
                raise _several_flows_error(len(cell.entries), cell.cell.id)
        self.observation_space, self.action_space = spaces(self.interface)
        self.render_mode = render_mode
        self._reward: Callable[[FlowStep], float] = reward_of(reward)
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins a run and continues until the agent must act for the first time.

        `options` may have "cell" (an id) and "replicate". The returned information identifies the run.
        """
        super().reset(seed=seed)
        self.close()
        episode = self._episode = self.episodes.begin(self.np_random, seed, options or {}, self.interface)
        flow = episode.resume()
        if flow is None:
            right = "let it start earlier"
            raise StudyError(f"cell {episode.cell.cell.id}: the agent's flow got no ACK", right=right)
        return flow.observe(flow.step), dict(episode.about)

    def step(self, action: ActionValue) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Acts, and continues the run until the agent must act again or to its end.

        The last step, which the end of the run cuts short, has no reward; its information has the study's
        quantities under `measures`.
        """
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        episode = self._episode
        episode.resume(scalar(action))
        own = episode.flows[0]
        if len(episode.flows) > 1:
            raise _several_flows_error(len(episode.flows), episode.cell.cell.id)
        step = own.step
        info: dict[str, Any] = {"time_s": step.now_s}
        if episode.records is None:
            return own.observe(step), float(self._reward(step)), False, False, info
        info["measures"] = self.episodes.study.measure(episode.cell, episode.records)
        self._episode = None
        return own.observe(step), 0.0, False, True, info

    def close(self) -> None:
        """Ends the current run."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None


def spaces(interface: Interface) -> tuple[gymnasium.spaces.Box, Space]:
    """The spaces of observations and actions."""
    low, high = interface.bounds()
    choices = interface.acts.choices
    acts: Space = (
        gymnasium.spaces.Discrete(choices) if choices else gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    )
    return gymnasium.spaces.Box(low, high, dtype=np.float32), acts


def scalar(action: ActionValue) -> SupportsFloat:
    """The action as a number."""
    return action.item() if isinstance(action, np.ndarray) else action


def _several_flows_error(count: int, cell: str) -> StudyError:
    right = "use cwndlab.apps.gym.FlowsEnv, or give one flow to the agent"
    return StudyError(f'{count} flows of cell {cell} have cc = "{AGENT}", and StudyEnv has one', right=right)
