"""Quantiles that replace Student's for skewed runs: `python -m validation.skewness`.

Runs that cannot be negative and vary by much of their mean are skewed, and so is the t of the mean, even on
the logarithmic scale. The command simulates it with lognormal runs. For numbers of runs and coefficients of
variation, it prints how far the 2.5 % and 97.5 % quantiles are from 0, relative to Student's. `--write`
writes them to the file that `cwndlab.stats.skewness` reads.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats.distributions import LEVEL, t_quantile
from cwndlab.stats.jackknife import DOMINATED
from cwndlab.stats.skewness import FILE, HEAD, MILD, UNDERSTATED

RUNS = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100, 300, 1000)
SCATTER = (0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0)
DRAWS = 100_000
"""Samples for each number; the standard error of a quantile's probability is 0.05 percentage points."""
AT_ONCE = 2_000_000

Floats = NDArray[np.float64]


def pivots(samples: Floats, truth: float) -> Floats:
    """The log mean of each row minus the log true mean, in standard errors.

    The standard error is that of `jackknife.standard_error`, for many rows at once.
    """
    n = samples.shape[1]
    means = samples.mean(axis=1)
    without_one = (n * means[:, None] - samples) / (n - 1)
    places = np.log(np.maximum(without_one, 1e-300))
    spread = places - places.mean(axis=1, keepdims=True)
    errors = np.sqrt((n - 1) / n * (spread**2).sum(axis=1))
    plain = samples.std(axis=1, ddof=1) / math.sqrt(n) / means
    errors = np.where(without_one.min(axis=1) < DOMINATED * means, plain, errors)
    return np.asarray((np.log(means) - math.log(truth)) / errors)


def quantiles(n: int, scatter: float, draws: int = DRAWS) -> tuple[float, float]:
    """The lower and the upper quantile of simulated `pivots`, as multiples of Student's quantiles."""
    sigma = math.sqrt(math.log1p((UNDERSTATED * scatter) ** 2))
    rng = np.random.default_rng([n, round(1000 * scatter)])
    found: list[Floats] = []
    while draws > 0:
        rows = min(draws, max(1, AT_ONCE // n))
        found.append(pivots(rng.lognormal(0.0, sigma, (rows, n)), math.exp(sigma * sigma / 2.0)))
        draws -= rows
    low, high = np.quantile(np.concatenate(found), [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    t = t_quantile(0.5 + LEVEL / 2.0, n - 1)
    return -float(low) / t, float(high) / t


def rows() -> list[str]:
    """The lines of the file."""
    lines = [",".join(HEAD)]
    for n in RUNS:
        lines.append(f"{n},{MILD:g},1,1")
        for scatter in SCATTER:
            below, above = quantiles(n, scatter)
            lines.append(f"{n},{scatter:g},{below:.3f},{above:.3f}")
    return lines


def main() -> None:
    """Print the lines, or write them to the file."""
    parser = argparse.ArgumentParser(prog="python -m validation.skewness", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file that cwndlab reads")
    options = parser.parse_args()
    text = "\n".join(rows()) + "\n"
    if options.write:
        FILE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
