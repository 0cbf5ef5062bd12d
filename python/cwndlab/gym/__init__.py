"""Gymnasium environments over any study: a policy decides the windows of its flows.

>>> import gymnasium, cwndlab.gym                                        # doctest: +SKIP
>>> env = gymnasium.make("cwndlab/Study-v0", study="study.toml")         # doctest: +SKIP

`StudyEnv` has one flow, `FlowsEnv` several, each an agent. Import this module to register "cwndlab/Study-v0".
"""

from cwndlab.errors import ExtraError

try:
    import greenlet as _greenlet  # noqa: F401
    import gymnasium as _gymnasium
    import pettingzoo as _pettingzoo  # noqa: F401
except ImportError as error:
    raise ExtraError("cwndlab.gym", str(error.name), "gym") from None

from cwndlab.gym.flows_env import FlowsEnv
from cwndlab.gym.rewards import REWARDS
from cwndlab.gym.study_env import StudyEnv

__all__ = ["REWARDS", "FlowsEnv", "StudyEnv"]

_gymnasium.register(id="cwndlab/Study-v0", entry_point="cwndlab.gym:StudyEnv")
