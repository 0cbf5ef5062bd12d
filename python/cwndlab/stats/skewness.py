"""Quantiles that replace Student's if the scatter of runs is large relative to their mean.

Such runs are skewed if they cannot be negative, and the t of their mean is, too, even on the logarithmic
scale: Student's interval ends too low. The quantiles here are those of lognormal runs with the scatter of the
sample, which are right for lognormal data and close for others; `python -m validation.skewness` computes
them, and `python -m validation.coverage` measures their coverage.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from cwndlab.base.numbers import Floats

FILE = Path(__file__).parent / "skewness.csv"
HEAD = ("runs", "scatter", "below", "above")

MILD = 0.2
"""Standard deviation over mean up to which Student's quantiles are used."""

UNDERSTATED = 1.5
"""The scatter assumed for the lognormal runs, over that of the sample, which lacks their tail."""


def stretch(n: int, scatter: float) -> tuple[float, float]:
    """The lower and the upper 95 % quantile of the mean's t, each divided by Student's.

    `scatter` is the standard deviation of n runs over their mean. Between the entries of the file, the
    factors are interpolated linearly in the scatter and in 1 / sqrt(n); for very many runs they are 1.
    """
    if not scatter > MILD:
        return 1.0, 1.0
    runs, scatters, entries = _table()
    at = np.array([[np.interp(scatter, scatters, line) for line in entry] for entry in entries])
    below, above = (float(np.interp(n**-0.5, [0.0, *runs[::-1] ** -0.5], [1.0, *row[::-1]])) for row in at)
    return below, above


@cache
def _table() -> tuple[Floats, Floats, Floats]:
    """Numbers of runs, scatters, and for each of the two quantiles the factors as runs × scatters."""
    lines = np.loadtxt(FILE, delimiter=",", skiprows=1)
    runs, scatters = np.unique(lines[:, 0]), np.unique(lines[:, 1])
    entries = lines[:, 2:].reshape(len(runs), len(scatters), 2)
    return runs, scatters, np.moveaxis(entries, 2, 0)
