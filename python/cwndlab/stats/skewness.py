"""What takes the place of Student's quantiles where runs scatter by much of their mean.

What cannot be negative and scatters so is skewed, and the t of its mean is too, even on the logarithmic
scale: its interval ends too low. The quantiles here are those of lognormal runs with the scatter of the
sample, which are right for lognormal data and close for others; `python -m validation.skewness` draws them,
and `python -m validation.coverage` tries them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from cwndlab.base.numbers import Floats

FILE = Path(__file__).parent / "skewness.csv"
HEAD = ("runs", "scatter", "below", "above")

MILD = 0.2
"""Standard deviation over mean up to which Student's quantiles stay as they are."""

UNDERSTATED = 1.5
"""The scatter of skewed runs over that of a sample, which lacks their tail."""


def stretch(n: int, scatter: float) -> tuple[float, float]:
    """How far from 0 the lower and the upper quantile of the mean's t lie, over Student's.

    `scatter` is the standard deviation of n runs over their mean. Between the entries of the file, the
    scatter and 1 / sqrt(n) are interpolated linearly; for very many runs both are 1.
    """
    if not scatter > MILD:
        return 1.0, 1.0
    runs, scatters, entries = _table()
    at = np.array([[np.interp(scatter, scatters, line) for line in entry] for entry in entries])
    below, above = (float(np.interp(n**-0.5, [0.0, *runs[::-1] ** -0.5], [1.0, *row[::-1]])) for row in at)
    return below, above


@cache
def _table() -> tuple[Floats, Floats, Floats]:
    """Numbers of runs, scatters, and for either quantile a matrix of these."""
    lines = np.loadtxt(FILE, delimiter=",", skiprows=1)
    runs, scatters = np.unique(lines[:, 0]), np.unique(lines[:, 1])
    entries = lines[:, 2:].reshape(len(runs), len(scatters), 2)
    return runs, scatters, np.moveaxis(entries, 2, 0)
