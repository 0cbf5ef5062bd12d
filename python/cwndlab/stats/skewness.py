"""Factors on Student's quantiles, for runs whose scatter is large relative to their mean.

Runs that cannot be negative and scatter widely are skewed, and so is the t of their mean, even on the
logarithmic scale: Student's interval ends too low. The factors are those of lognormal runs with 1.5 times
(`UNDERSTATED`) the scatter of the sample; `python -m validation.skewness` computes them, and `python -m
validation.coverage` measures the coverage of the intervals.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from cwndlab.base.numbers import Floats

FILE = Path(__file__).parent / "skewness.csv"
HEAD = ("runs", "scatter", "below", "above")

MILD = 0.2
"""The largest standard deviation over mean for which Student's quantiles are used unchanged."""

UNDERSTATED = 1.5
"""The scatter assumed for the lognormal runs, as a multiple of the sample's, which lacks their tail."""


def stretch(n: int, scatter: float) -> tuple[float, float]:
    """Factors on Student's lower and upper 95 % quantile for the mean of `n` skewed runs.

    `scatter` is the standard deviation of the runs over their mean. Between the entries of `FILE`, the
    factors are interpolated linearly in the scatter and in 1 / sqrt(n); as n grows they approach 1.
    """
    if not scatter > MILD:
        return 1.0, 1.0
    runs, scatters, entries = _table()
    at = np.array([[np.interp(scatter, scatters, line) for line in entry] for entry in entries])
    below, above = (float(np.interp(n**-0.5, [0.0, *runs[::-1] ** -0.5], [1.0, *row[::-1]])) for row in at)
    return below, above


@cache
def _table() -> tuple[Floats, Floats, Floats]:
    """The numbers of runs, the scatters, and the factors (quantile, runs, scatter) in `FILE`, as arrays."""
    lines = np.loadtxt(FILE, delimiter=",", skiprows=1)
    runs, scatters = np.unique(lines[:, 0]), np.unique(lines[:, 1])
    entries = lines[:, 2:].reshape(len(runs), len(scatters), 2)
    return runs, scatters, np.moveaxis(entries, 2, 0)
