"""Draws from the scenario's distributions."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Mapping
from typing import Any


class Dist:
    """A distribution of the scenario, with a stream of its own."""

    def __init__(self, spec: Mapping[str, Any], shared: Mapping[str, Any], rng: random.Random) -> None:
        while spec["kind"] == "named":
            spec = shared[spec["name"]]
        self.spec = spec
        self.rng = rng
        if spec["kind"] == "empirical":
            self.cumulative = list(itertools.accumulate(spec["counts"]))

    def draw(self) -> float:
        """One value."""
        s, rng = self.spec, self.rng
        match s["kind"]:
            case "fixed":
                return float(s["value"])
            case "uniform":
                return float(s["low"]) + (float(s["high"]) - float(s["low"])) * rng.random()
            case "exponential":
                return -float(s["mean"]) * math.log(1.0 - rng.random())
            case "lognormal-pareto":
                body = math.exp(math.log(s["median"]) + s["sigma"] * rng.gauss(0, 1))
                tail = s["tail_from"] * (1.0 - rng.random()) ** (-1.0 / s["tail_alpha"])
                return float(min(tail if body > s["tail_from"] else body, s["max"]))
            case "empirical":
                at = rng.randrange(self.cumulative[-1])
                return float(s["values"][bisect.bisect_right(self.cumulative, at)])
        raise ValueError(f'no distribution is called "{s["kind"]}"')

    def bytes(self) -> int:
        """A size, at least 1."""
        return max(1, round(self.draw()))
