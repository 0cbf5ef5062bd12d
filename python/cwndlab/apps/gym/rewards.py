"""Reward functions by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from cwndlab.apps.policy.features import FEATURES, FlowStep, check_features
from cwndlab.base.errors import StudyError, nearest

#: A reward: a name, weights of features, or a function of the step.
Reward: TypeAlias = "str | Mapping[str, float] | Callable[[FlowStep], float]"
#: The packet size in Aurora's reward, in bits.
PACKET_BITS = 8 * 1500


def power(step: FlowStep) -> float:
    """ln(throughput in Mb/s ÷ round-trip time relative to the smallest) - 10 × loss share.

    The logarithm of Kleinrock's power, with a price for losses.
    """
    ratio = max(step.throughput_bps / 1e6, 1e-3) / FEATURES["rtt_ratio"].value(step)
    return math.log(ratio) - 10 * step.loss_share


def aurora(step: FlowStep) -> float:
    """10 × throughput in packets/s - 1000 × round-trip time in s - 2000 × loss share, in thousandths.

    Jay et al., ICML 2019, as their program has it (`network_sim.py`).
    """
    return (10 * step.throughput_bps / PACKET_BITS - 1e3 * step.rtt_s - 2e3 * step.loss_share) / 1e3


#: All rewards by name.
REWARDS: Mapping[str, Callable[[FlowStep], float]] = {"power": power, "aurora": aurora}


def reward_of(given: Reward) -> Callable[[FlowStep], float]:
    """The function of a reward. StudyError if the name or a feature is unknown."""
    if isinstance(given, str):
        if given not in REWARDS:
            raise StudyError(f"there is no reward {given!r}", key="reward", right=nearest(given, REWARDS))
        return REWARDS[given]
    if not isinstance(given, Mapping):
        return given
    check_features(given, "reward")
    terms = [(FEATURES[name].value, float(weight)) for name, weight in given.items()]
    return lambda step: sum(weight * value(step) for value, weight in terms)
