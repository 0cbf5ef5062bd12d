"""The share of packets that a path loses at random, from the losses that no full queue explains."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.flow_packets import Floats

from .full_queue import QueueEstimates

#: Attempts to draw a non-negative share.
_TRIES = 1000
#: Quantiles that represent the distribution of spurious losses.
_NODES = 39


@dataclass(frozen=True)
class RandomLoss:
    """Losses while the queue was not full, out of the segments sent then.

    The number of losses is Poisson distributed. Its mean is the sum of random losses, with Jeffreys' prior,
    and of losses at the full queue that only seem random. The latter have a gamma distribution with the mean
    `spurious` per segment and the standard deviation `scatter` between runs, as replays show.
    """

    losses: int
    segments: int
    spurious: float = 0.0
    scatter: float = 0.0

    @classmethod
    def of_queue(cls, found: QueueEstimates, spurious: tuple[float, float] = (0.0, 0.0)) -> RandomLoss:
        """The losses of a capture, with the mean and the standard deviation of spurious losses."""
        return cls(found.other_losses, max(found.other_segments, 1), *spurious)

    @property
    def share(self) -> float:
        """The estimated share of random losses."""
        return max(0.0, self.losses / self.segments - self.spurious)

    @property
    def may_be_none(self) -> bool:
        """Whether a full queue alone may explain the losses, at 95 %."""
        from scipy.stats import poisson

        return float(np.mean(poisson.sf(self.losses - 1, self._spurious_nodes() * self.segments))) > 0.025

    def draw(self, rng: random.Random) -> float:
        """A random draw of the share of random losses; 0 if there were no losses."""
        if not self.losses:
            return 0.0
        for _ in range(_TRIES):
            spurious = self.spurious if not self._scatters else rng.gammavariate(*self._shape_and_scale)
            share = rng.gammavariate(self.losses + 0.5, 1 / self.segments) - spurious
            if share >= 0:
                return min(share, 1.0)
        return 0.0

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share; it starts at 0 if a full queue may explain all losses."""
        from scipy.optimize import brentq
        from scipy.stats import gamma

        law, nodes = gamma(self.losses + 0.5, scale=1 / self.segments), self._spurious_nodes()
        most = float(law.isf(1e-9))

        def above(share: float) -> float:
            return float(np.mean(law.sf(share + nodes)))

        every = above(0.0)
        low, high = (
            float(brentq(lambda share, q=q: above(share) - q * every, 0.0, most)) for q in (0.975, 0.025)
        )
        return 0.0 if self.may_be_none else low, high

    @property
    def _scatters(self) -> bool:
        return self.spurious > 0 and self.scatter > 0

    @property
    def _shape_and_scale(self) -> tuple[float, float]:
        variance = self.scatter**2
        return self.spurious**2 / variance, variance / self.spurious

    def _spurious_nodes(self) -> Floats:
        """Equally likely values of the spurious losses per segment."""
        from scipy.stats import gamma

        if not self._scatters:
            return np.array([self.spurious])
        shape, scale = self._shape_and_scale
        return np.asarray(gamma.ppf((np.arange(_NODES) + 0.5) / _NODES, shape, scale=scale), dtype=float)
