"""When enough replicates were run: a sequential rule on the relative half-width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats import intervals

Floats: TypeAlias = NDArray[np.float64]

FIRST_LOOK = 10
"""Replicates before the first look: fewer make the sample variance too wild (Law & Kelton, 9.4.1)."""


@dataclass(frozen=True)
class StoppingRule:
    """Run until the 95 % half-width is at most `relative` of the mean, or `cap` replicates are done.

    Chow & Robbins (Annals of Mathematical Statistics 36, 1965) show that stopping when the half-width
    first falls below a bound keeps the coverage asymptotically; Law & Kelton ("Simulation Modeling and
    Analysis", section 9.4.1) give the relative form used here, with the bound relative / (1 + relative),
    because the half-width is compared with the estimated and not with the true mean.
    """

    relative: float
    cap: int
    first_look: int = FIRST_LOOK

    def __post_init__(self) -> None:
        if not 0.0 < self.relative < 1.0:
            raise ValueError(f"the precision must lie between 0 and 1 (2 % is 0.02), got {self.relative}")
        if self.cap < self.first_look:
            raise ValueError(f"the cap must be at least {self.first_look} replicates, got {self.cap}")

    def enough(self, values: Floats) -> bool:
        """Whether the quantity needs no further replicate."""
        n = int(np.count_nonzero(~np.isnan(values)))
        if len(values) >= self.cap:
            return True
        if n < self.first_look:
            return False
        estimate = intervals.mean(values)
        bound = self.relative / (1.0 + self.relative) * abs(estimate.value)
        return estimate.half_width <= bound

    def replicates_needed(self, values: Floats) -> int:
        """A forecast of the replicates in all, for the progress bar (n grows with the squared half-width)."""
        n = int(np.count_nonzero(~np.isnan(values)))
        if n < 2:
            return self.first_look
        estimate = intervals.mean(values)
        bound = self.relative / (1.0 + self.relative) * abs(estimate.value)
        if bound == 0.0:
            return self.cap
        return min(self.cap, max(self.first_look, math.ceil(n * (estimate.half_width / bound) ** 2)))
