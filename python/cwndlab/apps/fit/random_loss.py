"""The share of packets that a path loses at random, by the losses that no full queue explains."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .full_queue import QueueEstimates

#: Tries of a draw above the losses that replays take for random ones.
_TRIES = 1000


@dataclass(frozen=True)
class RandomLoss:
    """Losses while the queue was not full, of so many segments sent then.

    The number is Poisson's. Its mean has two parts: the random losses, with Jeffreys' prior, and those at the
    full queue that only seem random, as `spurious` per segment, which replays show.
    """

    losses: int
    segments: int
    spurious: float = 0.0

    @classmethod
    def of_queue(cls, found: QueueEstimates, spurious: float = 0.0) -> RandomLoss:
        """That of a capture."""
        return cls(found.other_losses, max(found.other_segments, 1), spurious)

    @property
    def share(self) -> float:
        """The estimate."""
        return max(0.0, self.losses / self.segments - self.spurious)

    @property
    def may_be_none(self) -> bool:
        """Whether a full queue alone may explain the losses."""
        from scipy.stats import poisson

        return float(poisson.sf(self.losses - 1, self.spurious * self.segments)) > 0.025

    def draw(self, rng: random.Random) -> float:
        """A share that explains the losses; 0 if there were none."""
        if not self.losses:
            return 0.0
        for _ in range(_TRIES):
            share = rng.gammavariate(self.losses + 0.5, 1 / self.segments) - self.spurious
            if share >= 0:
                return min(share, 1.0)
        return 0.0

    def interval(self) -> tuple[float, float]:
        """95 %, from 0 if all may be losses at the full queue."""
        from scipy.stats import gamma

        law = gamma(self.losses + 0.5, scale=1 / self.segments)
        below = float(law.cdf(self.spurious))
        low, high = (
            max(0.0, float(law.ppf(below + q * (1 - below))) - self.spurious) for q in (0.025, 0.975)
        )
        return 0.0 if self.may_be_none else low, high
