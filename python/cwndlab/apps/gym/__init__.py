"""Gymnasium environments over any study: a policy decides the windows of its flows.

>>> import gymnasium, cwndlab.apps.gym                                        # doctest: +SKIP
>>> env = gymnasium.make("cwndlab/Study-v0", study="study.toml")         # doctest: +SKIP

`StudyEnv` has one flow, `FlowsEnv` several, each an agent. Import this module to register "cwndlab/Study-v0".
"""

from cwndlab.base.errors import ExtraError

try:
    import greenlet as _greenlet  # noqa: F401
    import gymnasium as _gymnasium
    import pettingzoo as _pettingzoo  # noqa: F401
except ImportError as error:
    raise ExtraError("cwndlab.apps.gym", str(error.name), "gym") from None

from .flows_env import FlowsEnv
from .rewards import REWARDS
from .study_env import StudyEnv

__all__ = ["REWARDS", "FlowsEnv", "StudyEnv"]

_gymnasium.register(id="cwndlab/Study-v0", entry_point="cwndlab.apps.gym:StudyEnv")
