"""Point estimates with 95 % confidence intervals, each naming its method.

Cells are compared by common random numbers: replicate k of every cell saw the same object sizes, think
times and start times, so two cells are compared replicate by replicate and never as independent samples.
How often each method covers the truth is measured by `python -m validation.coverage`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cwndlab.metrics._numbers import ANY, Floats, Range, derived_range
from cwndlab.stats.distributions import LEVEL, order_ranks, poisson_ends, poisson_prediction, t_quantile
from cwndlab.stats.jackknife import align, centre, ends, has_no_spread, leave_one_out
from cwndlab.stats.skewness import stretch
from cwndlab.writing import number_of

FEWEST = 3
"""Replicates below which a random quantity has no interval: t with one degree of freedom says nothing."""

ENOUGH_EQUAL = 7
"""Equal replicates from which on a further run is expected to be equal too.

Whatever the probability p of that outcome, n runs with it and then one without have the probability
p^n (1 - p), at most 4.9 % for n = 7.
"""

EXACT = "deterministic"
NOT_MEASURABLE = "not measurable"
ITSELF = "compared with itself"
"""The method of a comparison that says nothing."""

SCATTER = 0.75
"""Standard deviation over mean from which on the interval of a comparison carries a warning.

`python -m validation.coverage` counts how often those carry it that are skewed enough for the interval to
cover less than 93 %.
"""

SCATTER_OF_MEAN = 1.5
"""The same of a mean, whose quantiles are those of skewed runs."""


class Interval(NamedTuple):
    """A point estimate with its confidence interval (NaN ends: none can be given) and how it was made."""

    value: float
    low: float
    high: float
    n: int
    method: str
    warning: str = ""
    """Why the interval may cover the truth less often than it says, or which connections failed."""

    @property
    def exact(self) -> bool:
        """Whether nothing in the cell is random, so that one run suffices."""
        return self.method == EXACT

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
    """The share of runs that may give what none of `n` runs gave: the rule of three, exactly.

    It is the share p for which n runs all miss it with a probability of 5 %: (1 - p)^n. About 3/n.
    """
    return 1.0 - math.pow(1.0 - LEVEL, 1.0 / n)


def _degenerate(x: Floats, deterministic: bool, fewest: int = FEWEST) -> Interval | None:
    """The cases that need no distribution: nothing measured, no randomness, or too few replicates."""
    n = len(x)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, NOT_MEASURABLE)
    if deterministic and is_constant(x):
        value = float(x[0])
        return Interval(value, value, value, n, EXACT)
    if n < fewest:
        return too_few(float(np.mean(x)), n)
    return None


#: Ends the method of an estimate from too few replicates.
NO_INTERVAL = ": no interval"


def too_few(value: float, n: int) -> Interval:
    """An estimate from too few replicates."""
    return Interval(value, math.nan, math.nan, n, f"{number_of(n, 'replicate')}{NO_INTERVAL}")


def equal_runs(value: float, n: int, within: Range = ANY) -> Interval:
    """The mean of a random quantity of which all `n` replicates gave the same.

    A count has the exact interval of a Poisson mean. Anything else has no interval, as its scatter is
    unknown: at most `unseen_share(n)` of all runs give something else (95 %).
    """
    method = f"no spread in {n} runs"
    if within.count and value.is_integer():
        low, high = (end / n for end in poisson_ends(round(n * value)))
        return Interval(value, low, high, n, method)
    return Interval(value, math.nan, math.nan, n, method)


def mean(
    values: Floats, within: Range = ANY, *, deterministic: bool = False, adjusted: bool = False
) -> Interval:
    """Mean over replicates: Student's t on the scale of the quantity's range.

    The interval of a count is never narrower than that of a Poisson count. `adjusted` values are those of
    `adjustment.adjust`: single ones may lie outside the range, and they are no counts.
    """
    x = _measurable(values) if adjusted else within.clip(_measurable(values))
    known = _degenerate(x, deterministic)
    if known is not None:
        return known
    n, value = len(x), float(np.mean(x))
    if is_constant(x):
        return equal_runs(float(x[0]), n, within)
    low, high = ends(leave_one_out(x), n, within, stretched=_stretch(x, within))
    method = f"{within.scale} t".strip()
    if within.count and not adjusted and bool(np.all(x == np.round(x))):
        at_least = [end / n for end in poisson_ends(round(float(np.sum(x))))]
        low, high, method = min(low, at_least[0]), max(high, at_least[1]), "log t, at least Poisson"
    return Interval(value, low, high, n, method, _scatter(within, x, limit=SCATTER_OF_MEAN))


def _stretch(x: Floats, within: Range) -> tuple[float, float]:
    """How much farther than Student's the quantiles of a mean's t lie, where only low values are bounded."""
    if within.count or within.scale != "log" or not math.isfinite(within.low):
        return 1.0, 1.0
    return stretch(len(x), float(np.std(x, ddof=1)) / (float(np.mean(x)) - within.low))


def _scatter(within: Range, *runs: Floats, limit: float = SCATTER) -> str:
    """The warning of runs that scatter so widely that skewness may matter."""
    wide = any(float(np.std(x, ddof=1)) > limit * float(np.mean(x)) for x in runs)
    if within.count or not within.positive or not wide:
        return ""
    return (
        f"the runs scatter by more than {100 * limit:g} % of their mean, so the interval may cover less "
        "than 95 %"
    )


def quantile(values: Floats, q: float, *, deterministic: bool = False, level: float = LEVEL) -> Interval:
    """Quantile with the distribution-free interval between two order statistics.

    With too few values for such a pair the interval is open (NaN): six are needed for a median at 95 %.
    """
    if not 0.0 < q < 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, got {q}")
    x = np.sort(_measurable(values))
    known = _degenerate(x, deterministic)
    if known is not None:
        return known
    n, value = len(x), float(np.quantile(x, q))
    ranks = order_ranks(n, q, level)
    if ranks is None:
        return Interval(value, math.nan, math.nan, n, f"{n} replicates: too few for order statistics")
    return Interval(value, float(x[ranks[0]]), float(x[ranks[1]]), n, "order statistics")


def median(values: Floats, *, deterministic: bool = False, level: float = LEVEL) -> Interval:
    """Median with its order-statistics interval."""
    return quantile(values, 0.5, deterministic=deterministic, level=level)


def estimate(
    values: Floats,
    statistic: str,
    within: Range = ANY,
    *,
    deterministic: bool = False,
    adjusted: bool = False,
) -> Interval:
    """Mean or median over replicates, as the quantity asks for; of `adjusted` values always a mean."""
    if statistic == "median":
        return median(values, deterministic=deterministic)
    return mean(values, within, deterministic=deterministic, adjusted=adjusted)


def compare(
    kind: str,
    a: Floats,
    b: Floats,
    within: Range = ANY,
    *,
    deterministic: bool = False,
    statistic: str = "mean",
) -> Interval:
    """Cell `a` against cell `b`, from the replicates that both have, on their means (or medians).

    `kind`: `decrease` = 100 (1 - a/b), `increase` = 100 (a/b - 1), `ratio` = a/b, `difference` = a - b, with
    a and b the means: a ratio of means, not a mean of ratios. `within` is the quantity's range. Differences
    have the paired t; ratios of what is never negative t on the scale of their own range; other ratios
    Fieller's interval, none where the denominator's reaches 0; medians the order statistics of both.
    """
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    n = len(a)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, NOT_MEASURABLE)
    value = float(relate(kind, centre(a, statistic), centre(b, statistic)))
    if deterministic and is_constant(a) and is_constant(b):
        return Interval(value, value, value, n, EXACT)
    if n < FEWEST:
        return too_few(value, n)
    if statistic == "median":
        return _compared_medians(kind, a, b, value)
    left, right = leave_one_out(a), leave_one_out(b)
    samples = relate(kind, left, right)
    if has_no_spread(samples, abs(float(left[0])) if kind == "difference" else 0.0):
        return Interval(value, math.nan, math.nan, n, f"no spread in {n} runs")
    what = "difference" if kind == "difference" else "ratio"
    if kind == "difference" or within.positive:
        derived = derived_range(kind, within, within)
        low, high = ends(samples, n, derived)
        method = f"{what} of means, {f'{derived.scale} paired t'.strip()}"
    else:
        ratios = np.array(fieller(left, right))
        low, high = sorted(float(end) for end in relate(kind, ratios, 1.0))
        method = "ratio of means, Fieller" + (": the denominator may be 0" if math.isnan(low) else "")
    return Interval(value, low, high, n, method, _scatter(within, a, b))


def _compared_medians(kind: str, a: Floats, b: Floats, value: float) -> Interval:
    """From the intervals of both medians, which share the risk of missing it; pairs gain nothing here."""
    each = 1.0 - (1.0 - LEVEL) / 2.0
    x, y = median(a, level=each), median(b, level=each)
    method = f"{'difference' if kind == 'difference' else 'ratio'} of medians, order statistics of both"
    corners = relate(kind, np.array([x.low, x.low, x.high, x.high]), np.array([y.low, y.high] * 2))
    if kind != "difference" and not y.low * y.high > 0.0:
        corners = np.array([math.nan])
    if math.isnan(x.low):
        method = f"{len(a)} replicates: too few for order statistics"
    return Interval(value, float(np.min(corners)), float(np.max(corners)), len(a), method)


def jackknife_difference(a: Floats, b: Floats, *, level: float = LEVEL) -> Interval:
    """How far an estimate `a` lies above `b`, from the leave-one-out values of both."""
    ns = [len(samples) - 1 for samples in (a, b) if len(samples) > 1]
    samples = np.subtract(*align(a, b))
    value = float(samples[0])
    if not ns:
        return Interval(value, value, value, 1, EXACT)
    n = min(ns)
    if n < FEWEST:
        return too_few(value, n)
    if has_no_spread(samples, abs(float(a[0]))):
        end = value if n >= ENOUGH_EQUAL else math.nan
        return Interval(value, end, end, n, f"no spread in {n} runs")
    low, high = ends(samples, n, level=level)
    return Interval(value, low, high, n, "difference, paired t")


def fieller(left: Floats, right: Floats) -> tuple[float, float]:
    """The interval of a ratio of two paired estimates, from their leave-one-out values.

    All ratios r for which left - r right does not differ from 0 (E. C. Fieller, 1954). NaN where the
    denominator's own interval reaches 0, as they then have no bound.
    """
    n = len(left) - 1
    a, b = float(left[0]), float(right[0])
    u, v = left[1:] - np.mean(left[1:]), right[1:] - np.mean(right[1:])
    t2 = t_quantile(0.5 + LEVEL / 2.0, n - 1) ** 2 * (n - 1) / n
    squared = b * b - t2 * float(v @ v)
    mixed = a * b - t2 * float(u @ v)
    if not squared > 0.0:
        return math.nan, math.nan
    root = math.sqrt(max(0.0, mixed * mixed - squared * (a * a - t2 * float(u @ u))))
    return (mixed - root) / squared, (mixed + root) / squared


def relate(kind: str, a: Floats | float, b: Floats | float) -> Floats:
    """The comparison `kind` of values (see `compare`), element by element; division by zero gives NaN."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if kind == "difference":
        return np.asarray(x - y)
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
    deterministic: bool = False,
    fewest: int = FEWEST,
) -> Interval:
    """Where the estimate from `runs` further runs would lie, inside the range.

    `values` are those of single runs, `samples` the leave-one-out values of the estimate where that is not
    their mean. For one further run: mean +- t s sqrt(1 + 1/n) of the values on the scale of the range, or on
    the plain scale, cut at the bounds, where a run lies on one; of counts on the scale of the square root
    (F. J. Anscombe, Biometrika 35, 1948). For several: t on the scale of the range with the estimate's
    standard error times sqrt(1 + n/runs), as the variances of both means add up. A count is predicted no
    closer than a Poisson count.
    """
    x = within.clip(_measurable(values))
    known = _degenerate(x, deterministic, fewest)
    if known is not None:
        return known
    n, value = len(x), float(np.mean(x))
    method = f"prediction for {runs} run(s)"
    whole = within.count and bool(np.all(x == np.round(x)))
    if is_constant(x) and not whole:
        end = value if n >= ENOUGH_EQUAL else math.nan
        return Interval(value, end, end, n, f"no spread in {n} runs")
    low, high = value, value
    if not is_constant(x):
        if runs > 1:
            means = leave_one_out(x) if samples is None else samples
            low, high = ends(means, n, within, widen=math.sqrt(1.0 + n / runs))
        elif whole:
            low, high = _one_count(x)
        else:
            low, high = _one_run(x, within)
    if whole:
        at_least = poisson_prediction(round(float(np.sum(x))), n, runs)
        low, high = min(low, at_least[0] / runs), max(high, at_least[1] / runs)
    return Interval(value, low, high, n, method)


def _next(y: Floats) -> tuple[float, float]:
    """Where one more of normal values would lie."""
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
