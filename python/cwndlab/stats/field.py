"""Numbers over cells with their uncertainty: the values that claims compute with.

A field holds, for every combination of its axes, a point estimate followed by the values of the same
statistic in every bootstrap sample. The samples are the same rows of replicates in all cells, so whatever
is computed from several cells stays paired. A result without randomness holds the point alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats import intervals
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import AxisValue

Floats: TypeAlias = NDArray[np.float64]
Key: TypeAlias = tuple[AxisValue, ...]

INDEX = "index"
"""The axis of a list quantity: position in the list, from 0."""


@dataclass(frozen=True)
class Field:
    """Values over axes: key -> [point, bootstrap samples…]; of a condition 1, 0, or NaN (undecided)."""

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

    @classmethod
    def number(cls, value: float) -> Field:
        """A constant."""
        return cls((), {(): np.array([float(value)])})

    @classmethod
    def sequence(cls, values: Iterable[float]) -> Field:
        """A list written in the expression."""
        data: dict[Key, Floats] = {(i,): np.array([float(v)]) for i, v in enumerate(values)}
        return cls((INDEX,), data, lengths={(): len(data)}, literal=True)

    def map(self, f: Callable[[Floats], Floats]) -> Field:
        """Applies `f` to every value."""
        return replace(self, data={k: f(v) for k, v in self.data.items()}, lengths=None, literal=False)

    def interval(self, key: Key = ()) -> Interval:
        """One value with its 95 % interval."""
        values = self.data[key]
        point = float(values[0])
        if self.bounds:
            return Interval(
                point, float(values[1:].min()), float(values[1:].max()), 0, "sure to not excluded"
            )
        if len(values) == 1 or self.n is None:
            return Interval(point, point, point, self.n or 1, "deterministic")
        if self.n < 2:
            return Interval(point, math.nan, math.nan, self.n, "one replicate: no interval")
        low, high = intervals.bootstrap_ends(values[1:], self.n)
        return Interval(point, low, high, self.n, "paired bootstrap")


def leaf(values: Floats, *, deterministic: bool, statistic: str) -> Floats:
    """The point estimate and bootstrap samples of a quantity's replicates."""
    point = intervals.centre(values, statistic)
    if deterministic or len(values) == 0:
        return np.array([point])
    if len(values) == 1:
        return np.concatenate([[point], np.full(intervals.RESAMPLES, np.nan)])
    return np.concatenate([[point], intervals.resampled(values, statistic)])


def fewest(*ns: int | None) -> int | None:
    """The smaller number of replicates; None means no randomness."""
    known = [n for n in ns if n is not None]
    return min(known) if known else None


def combine(a: Field, b: Field, f: Callable[[Floats, Floats], Floats]) -> Field:
    """`f` on the values of both that agree in the axes they share; other axes are crossed.

    Raises ValueError when nothing agrees, unless a side is empty (a list that came out empty).
    """
    if (a.bounds and not _plain(b)) or (b.bounds and not _plain(a)):
        raise ValueError("a count stands beside plain numbers only")
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
            data[(*key, *(other_key[i] for i in extra))] = f(value, other)
    if a.data and b.data and not data:
        raise ValueError(f"the two sides have no {' and '.join(shared) or 'cells'} in common")
    axes = (*a.axes, *(b.axes[i] for i in extra))
    return Field(axes, data, fewest(a.n, b.n), a.condition and b.condition, a.bounds or b.bounds)


def _plain(x: Field) -> bool:
    return not x.bounds and x.n is None and all(len(v) == 1 for v in x.data.values())


def reduce(x: Field, f: Callable[[Floats], Floats], over: str | None, *, bounds: bool = False) -> Field:
    """`f` over the cells (rows of a matrix: one row per cell), over all axes or over the one named."""
    if over is not None and over not in x.axes:
        raise ValueError(f"cannot reduce over {over!r}: open axes are {', '.join(x.axes) or 'none'}")
    keep = [i for i, name in enumerate(x.axes) if over is not None and name != over]
    groups: dict[Key, list[Floats]] = {}
    for key, value in x.data.items():
        groups.setdefault(tuple(key[i] for i in keep), []).append(value)
    if not groups and not keep:
        groups[()] = [np.array([math.nan])]  # nothing can be said of nothing
    data = {
        key: f(np.stack(np.broadcast_arrays(*rows)) if len(rows) > 1 else np.atleast_2d(rows[0]))
        for key, rows in groups.items()
    }
    axes = tuple(x.axes[i] for i in keep)
    return Field(axes, data, x.n, x.condition and not bounds, bounds)


def lists_equal(a: Field, b: Field) -> Field:
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
            same = kleene_and(same, equal(value, wanted, whole.n))
        data[key] = same
    axes = tuple(x for x in whole.axes if x != INDEX)
    return Field(axes, data, whole.n, condition=True)


CLOSE = 1e-9
"""Two numbers nearer than this (relatively, or absolutely around 0) count as equal."""


def less(a: Floats, b: Floats, n: int | None, *, bounds: bool = False) -> Floats:
    """Whether `a` is surely less than `b`: 1, 0, or NaN where the replicates leave a doubt.

    Sure is what is so of the estimates and of all but the tail of the bootstrap samples (2.5 %, less for few
    replicates); of counts what is so of both their bounds.
    """
    near = np.abs(a - b) <= CLOSE * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    answers = np.atleast_1d((a < b) & ~near)
    if np.isnan(a).any() or np.isnan(b).any():
        return UNDECIDED
    point = bool(answers[0])
    agreeing = float(np.mean(answers[1:] == point)) if len(answers) > 1 else 1.0
    needed = 1.0
    if len(answers) > 1 and not bounds:
        if n is None or n < 2:
            return UNDECIDED
        needed -= intervals.expanded_tail(n)
    return np.array([float(point)]) if agreeing >= needed else UNDECIDED


UNDECIDED: Floats = np.array([math.nan])


def equal(a: Floats, b: Floats, n: int | None, *, bounds: bool = False) -> Floats:
    """Whether `a` equals `b`: false where one is surely less, true where neither can be."""
    lower, higher = less(a, b, n, bounds=bounds), less(b, a, n, bounds=bounds)
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


def truth(x: Field, key: Key = ()) -> bool | None:
    """What a condition came to; None = undecided."""
    value = float(x.data[key][0])
    return None if math.isnan(value) else value == 1.0


def count(matrix: Floats) -> Floats:
    """How many conditions (rows) are true: at best guess, surely, and at most."""
    sure = float(np.count_nonzero(matrix == 1.0))
    open_ = float(np.count_nonzero(np.isnan(matrix)))
    return np.array([sure, sure, sure + open_])
