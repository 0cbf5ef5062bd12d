"""How far two sets of replicates are apart, with an interval."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .distributions import t_quantile
from .intervals import Floats, Interval, mean


def difference(x: Floats, y: Floats, *, paired: bool, deterministic: bool = False) -> Interval:
    """Mean of y less mean of x, with its 95 % interval (NaN where there are too few replicates).

    Paired over the replicates that both have where replicate k saw the same random numbers in both;
    otherwise Welch's (B. L. Welch, Biometrika 34, 1947).
    """
    if paired:
        x, y = x[: len(y)], y[: len(x)]
        found = mean((y - x)[~np.isnan(y - x)], deterministic=deterministic)
        return replace(found, method=f"paired, {len(x)} replicates")
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    n = min(len(x), len(y))
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, "not measurable")
    centre = float(np.mean(y) - np.mean(x))
    if n < 2:
        return Interval(centre, math.nan, math.nan, n, "too few replicates")
    vx, vy = float(np.var(x, ddof=1)) / len(x), float(np.var(y, ddof=1)) / len(y)
    if vx + vy == 0:
        return Interval(centre, centre, centre, n, "deterministic")
    freedom = (vx + vy) ** 2 / (vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1))
    half = t_quantile(0.975, freedom) * math.sqrt(vx + vy)
    return Interval(centre, centre - half, centre + half, n, f"Welch, {len(x)} and {len(y)} replicates")
