"""Point estimates with 95 % confidence intervals, each naming its method.

The functions take the runs of one cell; `Sample.estimate` selects the function, and `sample` compares cells.
`python -m validation.coverage` measures how often each method covers the truth.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cwndlab.base.numbers import ANY, Floats, Range
from cwndlab.base.writing import count_text

from .distributions import LEVEL, order_ranks, poisson_ends, poisson_prediction, t_quantile
from .jackknife import ends, jackknife_values
from .skewness import stretch

FEWEST = 3
"""The fewest replicates for an interval: with two, t has one degree of freedom and is too wide."""

ENOUGH_EQUAL = 7
"""The number of equal replicates from which a further run is expected to be equal too.

If an outcome has probability p, n runs with it followed by one without it have the probability p^n (1 - p):
at most 4.9 % for n = 7, whatever p is.
"""

EXACT = "deterministic"
NOT_MEASURABLE = "not measurable"
NO_SPREAD_IN = "no spread in"
"""The beginning of `Interval.method` if all runs are equal."""
ITSELF = "compared with itself"
"""`Interval.method` if a cell is compared with itself."""

SCATTER = 0.75
"""The standard deviation over the mean above which the interval of a comparison carries a warning.

`python -m validation.coverage` counts how often the warning appears when, for skewed runs, the interval
covers the truth in less than 93 %.
"""

SCATTER_OF_MEAN = 1.5
"""The limit for the interval of a mean, whose quantiles already allow for skewed runs (see `skewness`)."""


class Interval(NamedTuple):
    """A point estimate with its confidence interval (NaN ends: no interval) and the method's name."""

    value: float
    low: float
    high: float
    n: int
    method: str
    warning: str = ""
    """Why the coverage may be below 95 %, or which connections failed; "" without a warning."""

    @property
    def exact(self) -> bool:
        """Whether nothing in the cell is random, so that a single run suffices."""
        return self.method == EXACT

    @property
    def equal_runs(self) -> bool:
        """Whether all runs of a random cell gave the same value."""
        return self.method.startswith(NO_SPREAD_IN)

    @property
    def decided(self) -> tuple[float, float]:
        """The ends that decide comparisons; if enough runs are equal, both are the runs' value."""
        if self.equal_runs and self.n >= ENOUGH_EQUAL:
            return self.value, self.value
        return self.low, self.high

    def leaves_out(self, value: float) -> bool:
        """Whether the interval excludes a value: 0 for a difference, 1 for a ratio."""
        low, high = self.decided
        return low > value or high < value

    @property
    def half_width(self) -> float:
        """Half the interval's width, in the estimate's unit."""
        return (self.high - self.low) / 2.0

    @property
    def reach(self) -> float:
        """The distance from the estimate to the farther end."""
        return max(self.high - self.value, self.value - self.low)


def _measurable(values: Floats) -> Floats:
    """The replicates that could be measured (NaN marks the others)."""
    return values[~np.isnan(values)]


def is_constant(values: Floats) -> bool:
    """Whether all replicates gave the same value."""
    return len(values) > 0 and bool(np.all(values == values[0]))


def unseen_share(n: int) -> float:
    """The largest share of runs that may give a value that none of `n` runs gave (95 %).

    It is the share p for which n runs all miss that value with a probability of 5 %: (1 - p)^n. About 3/n.
    """
    return 1.0 - math.pow(1.0 - LEVEL, 1.0 / n)


def exact(value: float, n: int = 1) -> Interval:
    """The interval of a value without randomness: both ends are the value."""
    return Interval(value, value, value, n, NOT_MEASURABLE if math.isnan(value) else EXACT)


def _degenerate(x: Floats, fewest: int = FEWEST) -> Interval | None:
    """The interval if nothing was measured or there are too few replicates; otherwise None."""
    n = len(x)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, NOT_MEASURABLE)
    if n < fewest:
        return too_few(float(np.mean(x)), n)
    return None


#: The end of `Interval.method` for an estimate from too few replicates.
NO_INTERVAL = ": no interval"


def too_few(value: float, n: int) -> Interval:
    """An estimate from too few replicates, whose interval has NaN ends."""
    return Interval(value, math.nan, math.nan, n, f"{count_text(n, 'replicate')}{NO_INTERVAL}")


def too_few_to_order(n: int) -> str:
    """`Interval.method` of a median or quantile from too few replicates."""
    return f"{n} replicates: too few for order statistics"


def equal_in(n: int) -> str:
    """`Interval.method` if all `n` runs gave the same value."""
    return f"{NO_SPREAD_IN} {n} runs"


def equal_runs(value: float, n: int, within: Range = ANY) -> Interval:
    """The mean of a random quantity that has the same value in all `n` replicates.

    A count has the exact interval of a Poisson mean. Other quantities have no interval, as their scatter is
    unknown: at most `unseen_share(n)` of all runs give another value (95 %).
    """
    method = equal_in(n)
    if within.count and value.is_integer():
        low, high = (end / n for end in poisson_ends(round(n * value)))
        return Interval(value, low, high, n, method)
    return Interval(value, math.nan, math.nan, n, method)


def mean(values: Floats, within: Range = ANY, *, adjusted: bool = False) -> Interval:
    """Mean over replicates: Student's t on the scale of the quantity's range.

    The interval of a count is never narrower than that of a Poisson count. `adjusted`: the values are from
    `adjustment.adjust`, so they may lie outside the range and are no counts.
    """
    x = _measurable(values) if adjusted else within.clip(_measurable(values))
    degenerate = _degenerate(x)
    if degenerate is not None:
        return degenerate
    n, value = len(x), float(np.mean(x))
    if is_constant(x):
        return equal_runs(float(x[0]), n, within)
    low, high = ends(jackknife_values(x), [(n, n)], within, stretched=_stretch(x, within))
    method = f"{within.scale} t".strip()
    if within.count and not adjusted and bool(np.all(x == np.round(x))):
        at_least = [end / n for end in poisson_ends(round(float(np.sum(x))))]
        low, high, method = min(low, at_least[0]), max(high, at_least[1]), "log t, at least Poisson"
    return Interval(value, low, high, n, method, warn_of_scatter(x, within, SCATTER_OF_MEAN))


def _stretch(x: Floats, within: Range) -> tuple[float, float]:
    """Factors on the lower and upper quantile of a mean's t; 1 unless the range has only a lower bound."""
    if within.count or within.scale != "log" or not math.isfinite(within.low):
        return 1.0, 1.0
    return stretch(len(x), float(np.std(x, ddof=1)) / (float(np.mean(x)) - within.low))


def warn_of_scatter(values: Floats, within: Range, limit: float = SCATTER) -> str:
    """The warning if the standard deviation exceeds `limit` times the mean; else ""."""
    x = _measurable(values)
    if within.count or not within.positive or len(x) < FEWEST:
        return ""
    if not float(np.std(x, ddof=1)) > limit * float(np.mean(x)):
        return ""
    return (
        f"the runs scatter by more than {100 * limit:g} % of their mean, so the interval may cover less "
        "than 95 %"
    )


def quantile(values: Floats, q: float) -> Interval:
    """The quantile `q` with the distribution-free interval between two order statistics.

    The interval's ends are NaN with too few values: a median needs six at 95 %.
    """
    if not 0.0 < q < 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, got {q}")
    x = np.sort(_measurable(values))
    degenerate = _degenerate(x)
    if degenerate is not None:
        return degenerate
    if is_constant(x):
        return equal_runs(float(x[0]), len(x))
    n, value = len(x), float(np.quantile(x, q))
    ranks = order_ranks(n, q)
    if ranks is None:
        return Interval(value, math.nan, math.nan, n, too_few_to_order(n))
    return Interval(value, float(x[ranks[0]]), float(x[ranks[1]]), n, "order statistics")


_PLAIN: dict[str, Callable[[Floats, Floats], Floats]] = {
    "difference": operator.sub,
    "sum": operator.add,
    "product": operator.mul,
}


def relate(kind: str, a: Floats | float, b: Floats | float) -> Floats:
    """The comparison or operation `kind` of values, element by element; division by zero gives NaN.

    `decrease` = 100 (1 - a/b), `increase` = 100 (a/b - 1), `ratio` = a/b, `difference` = a - b, `sum` = a +
    b, `product` = a b. Applied to means, a ratio is a ratio of means, not a mean of ratios.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if kind in _PLAIN:
        return np.asarray(_PLAIN[kind](x, y))
    quotient: Floats = np.divide(x, y, out=np.full(np.broadcast(x, y).shape, np.nan), where=y != 0)
    if kind == "ratio":
        return np.asarray(quotient)
    if kind == "decrease":
        return np.asarray(100.0 * (1.0 - quotient))
    if kind == "increase":
        return np.asarray(100.0 * (quotient - 1.0))
    raise ValueError(f"unknown comparison {kind!r}: decrease, increase, ratio or difference")


def prediction(
    values: Floats,
    runs: int = 1,
    within: Range = ANY,
    *,
    samples: Floats | None = None,
    fewest: int = FEWEST,
) -> Interval:
    """The prediction interval of the estimate from `runs` further runs, inside the range.

    `values` are those of single runs; `samples` are the leave-one-out values of the estimate if it is not
    their mean. For one further run, the interval is mean ± t s sqrt(1 + 1/n) of the values on the scale of
    the range; on the plain scale, cut at the bounds, if a run lies on a bound; on the square-root scale for
    counts (F. J. Anscombe, Biometrika 35, 1948). For several runs, it is the t interval on the scale of the
    range with the estimate's standard error times sqrt(1 + n/runs), as the variances of both means add up.
    The interval of a count is never narrower than that of a Poisson count.
    """
    x = within.clip(_measurable(values))
    degenerate = _degenerate(x, fewest)
    if degenerate is not None:
        return degenerate
    n, value = len(x), float(np.mean(x))
    method = f"prediction for {runs} run(s)"
    whole = within.count and bool(np.all(x == np.round(x)))
    if is_constant(x) and not whole:
        end = value if n >= ENOUGH_EQUAL else math.nan
        return Interval(value, end, end, n, equal_in(n))
    low, high = value, value
    if not is_constant(x):
        if runs > 1:
            means = jackknife_values(x) if samples is None else samples
            low, high = ends(means, [(len(means) - 1, n)], within, widen=math.sqrt(1.0 + n / runs))
        elif whole:
            low, high = _one_count(x)
        else:
            low, high = _one_run(x, within)
    if whole:
        at_least = poisson_prediction(round(float(np.sum(x))), n, runs)
        low, high = min(low, at_least[0] / runs), max(high, at_least[1] / runs)
    return Interval(value, low, high, n, method)


def _next(y: Floats) -> tuple[float, float]:
    """The prediction interval for one more normal value."""
    n = len(y)
    middle, error = float(np.mean(y)), float(np.std(y, ddof=1)) * math.sqrt(1.0 + 1.0 / n)
    half = t_quantile(0.5 + LEVEL / 2.0, n - 1) * error
    return middle - half, middle + half


def _one_count(x: Floats) -> tuple[float, float]:
    low, high = (max(0.0, end) ** 2 - 0.375 for end in _next(np.sqrt(x + 0.375)))
    return max(0.0, math.floor(low)), math.ceil(high)


def _one_run(x: Floats, within: Range) -> tuple[float, float]:
    placed = within.to_scale(x)
    if bool(np.isfinite(placed).all()):
        low, high = _next(placed)
        return within.from_scale(low), within.from_scale(high)
    low, high = _next(x)
    return max(within.low, low), min(within.high, high)
