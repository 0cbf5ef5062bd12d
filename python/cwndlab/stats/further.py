"""The prediction behind verdicts: where the paper's number would lie if its runs were further runs of ours.

A number of one cell is predicted by `intervals.prediction`. For a change between two cells, it matters
whether the source paired its runs. If it did, the changes in our pairs of runs show how one more pair
scatters. If not, the further runs of the two cells are independent, so that their variances add, although our
own estimate of the change stays paired.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cwndlab.base.numbers import Floats, Range, derived_range

from . import intervals
from .distributions import LEVEL, t_quantile
from .intervals import ENOUGH_EQUAL, FEWEST, Interval
from .jackknife import NO_SPREAD, scaled_variances
from .sample import Sample, relate, relate_runs

PLAIN = Range()
"""The unbounded range, whose scale is linear."""


class Asked(NamedTuple):
    """The comparison, the number of runs and the pairing with which a published number was measured."""

    kind: str | None
    """The kind of comparison with another cell; None for a number of one cell."""
    runs: int
    paired: bool = False
    """Whether the paper's two cells shared their random numbers, run by run."""

    def value(self, own: Sample, base: Sample | None) -> float:
        """The number, computed from the runs of its cell and of `base`, the cell it is compared with."""
        if self.kind is None or base is None:
            return own.centre
        return float(intervals.relate(self.kind, own.centre, base.centre))


def predict(asked: Asked, own: Sample, base: Sample | None, *, fewest: int = FEWEST) -> Interval:
    """The prediction interval of a published number (`asked`), if its runs were further runs of ours.

    The ends are NaN with fewer than `fewest` replicates. Control variates are left out, because the paper's
    runs are not adjusted.
    """
    both = [own] if asked.kind is None or base is None else [own, base]
    if all(sample.exact for sample in both):
        return intervals.exact(asked.value(own, base), own.n)
    plain = [replace(sample, controls=()) for sample in both]
    if asked.kind is None or len(plain) == 1:
        samples = plain[0].derived.values if asked.runs > 1 else None
        return intervals.prediction(own.runs, asked.runs, own.range, samples=samples, fewest=fewest)
    kind, (a, b) = asked.kind, plain
    if not asked.paired:
        x, y = a.fill(len(b.runs)), b.fill(len(a.runs))
        return _unpaired(asked, replace(a, runs=x), replace(b, runs=y), fewest)
    samples = relate(kind, a, b).values if asked.runs > 1 else None
    within = derived_range(kind, a.range, b.range)
    return intervals.prediction(relate_runs(kind, a, b), asked.runs, within, samples=samples, fewest=fewest)


class _Side(NamedTuple):
    """One of two cells, on the scale on which a change between the cells is a difference."""

    centre: float
    variance: float
    """The variance of the mean of as many runs as the paper averaged."""
    places: Floats
    """The values of single runs on that scale; NaN if not measured."""


def _unpaired(asked: Asked, own: Sample, base: Sample, fewest: int) -> Interval:
    """The prediction interval of a change between two cells whose runs the paper did not pair."""
    kind = asked.kind or "difference"
    n, value = min(own.n, base.n), asked.value(own, base)
    method = f"prediction for {asked.runs} run(s) of each cell, unpaired"
    if n == 0 or not math.isfinite(value):
        return Interval(math.nan, math.nan, math.nan, n, intervals.NOT_MEASURABLE)
    if n < fewest:
        return intervals.too_few(value, n)
    ratio = kind != "difference" and own.range.positive
    scale = Range(0.0) if ratio and _above_zero(own) and _above_zero(base) else PLAIN
    left, right = _side(own, asked.runs, scale), _side(base, asked.runs, scale)
    size = 1.0
    if scale is PLAIN and kind != "difference":  # to first order: the distance of own - ratio * base from 0
        size, slope = abs(right.centre), left.centre / right.centre
        right = _Side(right.centre * slope, right.variance * slope**2, right.places * slope)
    half = _half_width(left, right, fewest)
    if math.isnan(half) or half <= NO_SPREAD * max(abs(left.centre), abs(right.centre)):
        end = value if n >= ENOUGH_EQUAL else math.nan
        return Interval(value, end, end, n, intervals.equal_in(n))
    middle = left.centre - right.centre
    low, high = middle - half, middle + half
    if scale is not PLAIN:
        low, high = math.exp(low), math.exp(high)
    elif kind != "difference":
        point = own.centre / base.centre
        low, high = point - half / size, point + half / size
    if kind != "difference":
        low, high = sorted(float(end) for end in intervals.relate(kind, np.array([low, high]), 1.0))
    possible = derived_range(kind, own.range, base.range)
    return Interval(value, max(possible.low, low), min(possible.high, high), n, method)


def _above_zero(sample: Sample) -> bool:
    return bool(np.all(sample.runs[~np.isnan(sample.runs)] > 0.0))


def _side(sample: Sample, runs: int, scale: Range) -> _Side:
    places = scale.to_scale(sample.runs)
    if runs == 1:
        single = places[~np.isnan(places)]
        return _Side(float(np.mean(single)), float(np.var(single, ddof=1)), places)
    measured = replace(sample, runs=sample.runs[~np.isnan(sample.runs)]).derived
    [variance] = scaled_variances(measured.values, scale, measured.blocks)
    return _Side(float(scale.to_scale(float(measured.values[0]))), variance * sample.n / runs, places)


def _half_width(left: _Side, right: _Side, fewest: int) -> float:
    """Half the 95 % interval: t with the degrees of freedom of all variances together (Satterthwaite 1946).

    The variances are those of the source's number in either cell, and that of our own paired estimate. Paired
    runs are correlated, and so are the errors of the two cells' variances.
    """
    measured = ~np.isnan(left.places), ~np.isnan(right.places)
    counts = [int(np.count_nonzero(some)) for some in measured]
    n = min(len(left.places), len(right.places))
    both = measured[0][:n] & measured[1][:n]
    x, y = left.places[:n][both], right.places[:n][both]
    if min(counts) < 2:
        return math.nan
    total = left.variance + right.variance
    wrong = sum(side.variance**2 / (count - 1) for side, count in zip((left, right), counts, strict=True))
    if len(x) >= fewest:
        own = float(np.var(x - y, ddof=1)) / len(x)
        total, wrong = total + own, wrong + own**2 / (len(x) - 1)
        if (size := float(np.std(x) * np.std(y))) > 0.0:
            together = float(np.mean((x - np.mean(x)) * (y - np.mean(y)))) / size
            wrong += 2.0 * together**2 * left.variance * right.variance / (len(x) - 1)
    else:  # too few pairs: treat our runs of the two cells as independent
        for side, some, count in zip((left, right), measured, counts, strict=True):
            own = float(np.var(side.places[some], ddof=1)) / count
            total, wrong = total + own, wrong + own**2 / (count - 1)
    if not total > 0.0:
        return 0.0 if total == 0.0 else math.nan
    freedom = max(1, math.floor(total**2 / wrong))
    return t_quantile(0.5 + LEVEL / 2.0, freedom) * math.sqrt(total)
