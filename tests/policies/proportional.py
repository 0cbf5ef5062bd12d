"""A policy that keeps the round-trip time near 1.5 times its minimum."""

from cwndlab.apps.policy import Interface, Policy
from cwndlab.apps.policy.interface import Observation


class Proportional(Policy):
    interface = Interface(observation=("rtt_ratio",), every="rtt")

    def act(self, observation: Observation) -> float:
        return float(1.5 - observation[0])
