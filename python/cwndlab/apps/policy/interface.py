"""The interface of a policy: its observations, its actions, and when it acts."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cwndlab._core import parse_time
from cwndlab.base.errors import StudyError, nearest

from .actions import ACTIONS, Action
from .features import FEATURES, Feature, FlowStep, check_features

#: An observation: the features of the last steps, the latest step last.
Observation = NDArray[np.float32]
#: Special values of `every`; all others are times.
PER_ACK, PER_RTT = "ack", "rtt"


@dataclass(frozen=True)
class Interface:
    """The observations and actions of a policy, and when it acts."""

    #: Names in `FEATURES`.
    observation: tuple[str, ...] = ("rate_ratio", "rtt_ratio", "loss_share", "cwnd_ratio")
    #: A name in `ACTIONS`.
    action: str = "cwnd_factor"
    #: "ack", "rtt" (the smoothed round-trip time) or a time such as "30ms". A step ends with the first ACK
    #: that arrives at least this long after the start of the step.
    every: str = PER_RTT
    #: Number of steps in an observation.
    history: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "observation", tuple(self.observation))
        if not self.observation:
            raise StudyError(
                "there are no features", key="observation", right=f"choose among {', '.join(FEATURES)}"
            )
        check_features(self.observation, "observation")
        if self.action not in ACTIONS:
            raise StudyError(
                f"there is no action {self.action!r}", key="action", right=nearest(self.action, ACTIONS)
            )
        if self.history < 1:
            raise StudyError(f"{self.history} steps are no observation", key="history", right="at least 1")
        _ = self.interval_s

    @cached_property
    def interval_s(self) -> float | None:
        """Least length of a step in seconds; None for one round trip."""
        if self.every == PER_RTT:
            return None
        if self.every == PER_ACK:
            return 0.0
        try:
            return parse_time(self.every) / 1e9
        except ValueError as error:
            right = 'write "ack", "rtt" or a time such as "30ms"'
            raise StudyError(str(error), key="every", right=right) from None

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features of one step."""
        return tuple(FEATURES[name] for name in self.observation)

    @property
    def acts(self) -> Action:
        """The action's definition."""
        return ACTIONS[self.action]

    def bounds(self) -> tuple[Observation, Observation]:
        """The smallest and the largest possible observation."""
        low = [feature.low for feature in self.features] * self.history
        high = [feature.high for feature in self.features] * self.history
        return np.array(low, np.float32), np.array(high, np.float32)

    def observe(self, step: FlowStep, past: deque[list[float]]) -> Observation:
        """The observation after a step; adds the step's features to those of earlier steps in `past`."""
        row = []
        for _, low, high, value_of in self.features:
            value = value_of(step)
            row.append(low if value < low else high if value > high else value)
        if not past:
            past.extend([row] * self.history)
        past.append(row)
        past.popleft()
        if self.history == 1:  # the fastest way
            return np.array(row, np.float32)
        return np.array([value for row in past for value in row], np.float32)

    def to_json(self) -> str:
        """The interface as text, for the metadata of an ONNX file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Interface:
        """The interface from the text of `to_json`."""
        return cls(**json.loads(text))
