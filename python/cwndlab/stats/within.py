"""Statistics inside one run: warm-up, batch means, and objects that the end of the run cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats import intervals
from cwndlab.stats.intervals import Interval

Floats: TypeAlias = NDArray[np.float64]


def warm_up(series: Floats, batch: int = 5) -> int:
    """How many observations at the start to leave out: MSER-5 (White 1997; Franklin & White 2008).

    Returns the cut, a multiple of `batch`, that minimizes the squared standard error of what is left; a
    cut beyond half of the run says that the run is too short, and gives half.
    """
    batches = len(series) // batch
    if batches < 4:
        return 0
    means = series[: batches * batch].reshape(batches, batch).mean(axis=1)
    best, cut = math.inf, 0
    for d in range(batches // 2 + 1):
        rest = means[d:]
        score = float(np.var(rest)) / len(rest)
        if score < best:
            best, cut = score, d
    return cut * batch


def batch_means(series: Floats, batches: int = 20, level: float = intervals.LEVEL) -> Interval:
    """Mean of a correlated series from one run, by non-overlapping batch means.

    Law & Kelton, "Simulation Modeling and Analysis", section 9.5.3; 20 to 30 batches (Schmeiser 1982).
    """
    size = len(series) // batches
    if size < 1:
        raise ValueError(f"{len(series)} observations are too few for {batches} batches")
    means = series[len(series) - size * batches :].reshape(batches, size).mean(axis=1)
    interval = intervals.mean(means, level=level)
    return Interval(interval.value, interval.low, interval.high, len(series), f"{batches} batch means")


@dataclass(frozen=True)
class CensoredQuantile:
    """A quantile of durations of which some were unfinished when the run ended."""

    value: float
    """NaN when so many are unfinished that the quantile lies among them."""
    finished: int
    unfinished: int


def censored_quantile(durations: Floats, finished: NDArray[np.bool_], q: float) -> CensoredQuantile:
    """Quantile that counts every unfinished object as larger than all finished ones.

    Leaving them out would make a slow network look fast. They are assumed to outlast the quantile, which
    is right as long as the run is long against it; their number stands in the result.
    """
    done = int(np.count_nonzero(finished))
    total = len(durations)
    if total == 0:
        return CensoredQuantile(math.nan, 0, 0)
    ordered = np.concatenate([np.sort(durations[finished]), np.full(total - done, np.inf)])
    position = q * (total - 1)
    low, high = math.floor(position), math.ceil(position)
    if math.isinf(ordered[high]):
        value = math.nan
    else:
        value = float(ordered[low] + (position - low) * (ordered[high] - ordered[low]))
    return CensoredQuantile(value, done, total - done)
