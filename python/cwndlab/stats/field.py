"""Numbers over cells with their uncertainty: the values that claims compute with.

A field holds, for every combination of its axes, an estimate followed by its values without replicate 1,
without replicate 2, … (see `jackknife`). Replicate k saw the same random numbers in all cells, so whatever is
computed from several cells stays paired. A result without randomness holds the estimate alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cwndlab.metrics._numbers import ANY, NON_NEGATIVE, Floats, Range
from cwndlab.stats import intervals, jackknife
from cwndlab.stats.distributions import LEVEL, t_quantile
from cwndlab.stats.intervals import ENOUGH_EQUAL, EXACT, FEWEST, Interval
from cwndlab.stats.results import AxisValue

Key: TypeAlias = tuple[AxisValue, ...]

INDEX = "index"
"""The axis of a list quantity: position in the list, from 0."""


@dataclass(frozen=True)
class Field:
    """Values over axes: key -> [estimate, without replicate 1, …]; of a condition 1, 0 or NaN (undecided)."""

    axes: tuple[str, ...]
    data: dict[Key, Floats]
    n: int | None = None
    """Fewest replicates behind any random value; None when nothing is random."""
    condition: bool = False
    bounds: bool = False
    """A count of conditions: key -> [by the estimates, surely, not excluded]."""
    lengths: Mapping[Key, int] | None = None
    """Of list quantities, as long as they are whole: key without the index -> length."""
    literal: bool = False
    """Written out in the expression: a list `[7, 9]`."""
    within: Range = ANY
    """Which values are possible."""

    @classmethod
    def number(cls, value: float) -> Field:
        """A constant."""
        return cls((), {(): np.array([float(value)])}, within=Range(float(value), float(value)))

    @classmethod
    def sequence(cls, values: Iterable[float]) -> Field:
        """A list written in the expression."""
        data: dict[Key, Floats] = {(i,): np.array([float(v)]) for i, v in enumerate(values)}
        return cls((INDEX,), data, lengths={(): len(data)}, literal=True)

    def map(self, f: Callable[[Floats], Floats], within: Range = ANY) -> Field:
        """Applies `f`, whose values lie `within` a range, to every value."""
        data = {k: f(v) for k, v in self.data.items()}
        return replace(self, data=data, lengths=None, literal=False, within=within)

    def interval(self, key: Key = ()) -> Interval:
        """One value with its 95 % interval."""
        values = self.data[key]
        point = float(values[0])
        if self.bounds:
            return Interval(
                point, float(values[1:].min()), float(values[1:].max()), 0, "sure to not excluded"
            )
        if len(values) == 1 or self.n is None:
            return Interval(point, point, point, self.n or 1, EXACT)
        if self.n < FEWEST:
            return intervals.too_few(point, self.n)
        if jackknife.has_no_spread(values):
            return Interval(point, math.nan, math.nan, self.n, f"no spread in {self.n} runs")
        low, high = jackknife.ends(values, self.n, self.within)
        return Interval(point, low, high, self.n, f"{self.within.scale} paired t".strip())


def samples_at_position(values: Floats, *, deterministic: bool, statistic: str) -> Floats:
    """The estimate of one position of a list and its leave-one-out values; those of a median do not pair."""
    point = jackknife.centre(values, statistic)
    if deterministic or len(values) == 0:
        return np.array([point])
    if statistic == "median":
        return np.concatenate([[point], np.full(len(values), np.nan)])
    return jackknife.leave_one_out(values)


def least_replicates(*ns: int | None) -> int | None:
    """The smaller number of replicates; None means no randomness."""
    known = [n for n in ns if n is not None]
    return min(known) if known else None


def combine(a: Field, b: Field, f: Callable[[Floats, Floats], Floats], within: Range = ANY) -> Field:
    """`f` on the values of both that agree in the axes they share; other axes are crossed.

    Its values lie `within` a range. Raises ValueError when nothing agrees, unless a side is empty (a list
    that ended empty).
    """
    if (a.bounds and not _plain(b)) or (b.bounds and not _plain(a)):
        raise ValueError("a count stands next to plain numbers only")
    shared = [x for x in a.axes if x in b.axes]
    a_at = [a.axes.index(x) for x in shared]
    b_at = [b.axes.index(x) for x in shared]
    extra = [i for i, x in enumerate(b.axes) if x not in shared]
    by_shared: dict[Key, list[tuple[Key, Floats]]] = {}
    for key, value in b.data.items():
        by_shared.setdefault(tuple(key[i] for i in b_at), []).append((key, value))
    data: dict[Key, Floats] = {}
    for key, value in a.data.items():
        for other_key, other in by_shared.get(tuple(key[i] for i in a_at), []):
            data[(*key, *(other_key[i] for i in extra))] = f(*jackknife.align(value, other))
    if a.data and b.data and not data:
        raise ValueError(f"the two sides have no {' and '.join(shared) or 'cells'} in common")
    axes = (*a.axes, *(b.axes[i] for i in extra))
    n, condition = least_replicates(a.n, b.n), a.condition and b.condition
    return Field(axes, data, n, condition, a.bounds or b.bounds, within=within)


def _plain(x: Field) -> bool:
    return not x.bounds and x.n is None and all(len(v) == 1 for v in x.data.values())


def reduce(
    x: Field, f: Callable[[Floats], Floats], over: str | None, *, bounds: bool = False, within: Range = ANY
) -> Field:
    """`f` over the cells (rows of a matrix: one row per cell), over all axes or over the one named.

    Its values lie `within` a range.
    """
    if over is not None and over not in x.axes:
        raise ValueError(f"cannot reduce over {over!r}: open axes are {', '.join(x.axes) or 'none'}")
    keep = [i for i, name in enumerate(x.axes) if over is not None and name != over]
    groups: dict[Key, list[Floats]] = {}
    for key, value in x.data.items():
        groups.setdefault(tuple(key[i] for i in keep), []).append(value)
    if not groups and not keep:
        groups[()] = [np.array([math.nan])]  # no data, no statistics
    data = {key: f(np.stack(np.broadcast_arrays(*jackknife.align(*rows)))) for key, rows in groups.items()}
    axes = tuple(x.axes[i] for i in keep)
    return Field(axes, data, x.n, x.condition and not bounds, bounds, within=within)


def lists_equal(a: Field, b: Field, level: float = LEVEL) -> Field:
    """Whether lists are equal as wholes, list by list: the same length and the same elements."""
    whole, literal = (a, b) if b.literal else (b, a)
    if whole.lengths is None or literal.lengths is None:
        raise ValueError("only a list quantity (or take() of one) is compared with a list")
    at = whole.axes.index(INDEX)
    data: dict[Key, Floats] = {}
    for key, length in whole.lengths.items():
        same = np.array([1.0 if length == literal.lengths[()] else 0.0])
        for (i,), wanted in literal.data.items():
            if not same.any():
                break
            value = whole.data[(*key[:at], i, *key[at:])]
            lower = surely_less(value, wanted, whole.n, level=level)
            higher = surely_less(wanted, value, whole.n, level=level)
            same = kleene_and(same, neither_less(lower, higher))
        data[key] = same
    axes = tuple(x for x in whole.axes if x != INDEX)
    return Field(axes, data, whole.n, condition=True)


CLOSE = 1e-9
"""Two numbers nearer than this (relatively, or absolutely around 0) count as equal."""


def surely_less(
    a: Floats,
    b: Floats,
    n: int | None,
    *,
    bounds: bool = False,
    within: Range = ANY,
    level: float = LEVEL,
) -> Floats:
    """Whether `a` is surely less than `b`: 1, 0, or NaN where the replicates leave a doubt.

    Sure is a difference whose interval, of 95 % or another `level`, leaves out 0, taken on the scale of the
    range that both lie in; of counts what is so of both their bounds. A difference without spread needs
    `ENOUGH_EQUAL` replicates.
    """
    if np.isnan(a[0]) or np.isnan(b[0]):
        return UNDECIDED
    near = np.abs(a - b) <= CLOSE * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    answers = np.atleast_1d((a < b) & ~near)
    answer = np.array([float(answers[0])])
    if len(answers) == 1:
        return answer
    if bounds:
        return answer if bool(np.all(answers == answers[0])) else UNDECIDED
    if n is None or n < FEWEST or np.isnan(a).any() or np.isnan(b).any():
        return UNDECIDED
    if bool(np.all(near)):
        return answer if n >= ENOUGH_EQUAL else UNDECIDED
    apart = _scaled_difference(a, b, within)
    if jackknife.has_no_spread(apart):
        return answer if n >= ENOUGH_EQUAL else UNDECIDED
    half = t_quantile(0.5 + level / 2.0, n - 1) * jackknife.standard_error(apart)
    return answer if abs(float(apart[0])) > half else UNDECIDED


def _scaled_difference(a: Floats, b: Floats, within: Range) -> Floats:
    """The difference on the scale of the range, or on the plain scale where a value lies on a bound."""
    placed = within.to_scale(a), within.to_scale(b)
    x, y = placed if all(bool(np.isfinite(p).all()) for p in placed) else (a, b)
    return np.asarray(y - x)


UNDECIDED: Floats = np.array([math.nan])


def common_range(a: Field, b: Field) -> Range:
    """The range on whose scale two fields are compared: of both, or of the one that is not a constant."""
    if a.within == b.within or b.n is None:
        return a.within
    if a.n is None:
        return b.within
    return NON_NEGATIVE if a.within.positive and b.within.positive else ANY


def neither_less(lower: Floats, higher: Floats) -> Floats:
    """Equality: false where one side is surely less, true where neither can be."""
    return kleene_and(kleene_not(lower), kleene_not(higher))


def kleene_and(a: Floats, b: Floats) -> Floats:
    """Three-valued and: false beats unknown beats true."""
    return np.asarray(np.where((a == 0.0) | (b == 0.0), 0.0, a * b))


def kleene_not(a: Floats) -> Floats:
    """Three-valued not."""
    return np.asarray(1.0 - a)


def kleene_or(a: Floats, b: Floats) -> Floats:
    """Three-valued or."""
    return kleene_not(kleene_and(kleene_not(a), kleene_not(b)))


def as_truth(x: Field, key: Key = ()) -> bool | None:
    """What a condition came to; None = undecided."""
    value = float(x.data[key][0])
    return None if math.isnan(value) else value == 1.0


def count(matrix: Floats) -> Floats:
    """How many conditions (rows) are true: by the estimates, surely, and at most."""
    sure = float(np.count_nonzero(matrix == 1.0))
    open_ = float(np.count_nonzero(np.isnan(matrix)))
    return np.array([sure, sure, sure + open_])


def scatter_of(values: Floats) -> Floats:
    """The standard deviation of single runs over their mean, and the same without one replicate in turn.

    The runs follow from a mean and its leave-one-out values.
    """
    n = len(values) - 1
    if n < FEWEST:
        return np.full(len(values), math.nan if n else 0.0)
    runs = n * values[0] - (n - 1) * values[1:]
    without = [float(np.std(np.delete(runs, k), ddof=1)) for k in range(n)]
    spreads = np.array([float(np.std(runs, ddof=1)), *without])
    return intervals.relate("ratio", spreads, np.abs(values))
