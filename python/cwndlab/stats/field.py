"""Numbers over cells with their uncertainty: the values that claims compute with.

A field holds, for every combination of its axes, a point estimate followed by the values of the same
statistic in every bootstrap sample. The samples are the same rows of replicates in all cells, so whatever
is computed from several cells stays paired. A result without randomness holds the point alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    """Values over axes: key -> [point, bootstrap samples…]; in conditions 1 is true, 0 false, NaN unknown."""

    axes: tuple[str, ...]
    data: dict[Key, Floats]
    n: int | None = None
    """Fewest replicates behind any random value; None when nothing is random."""
    condition: bool = False
    literal: bool = False
    """Written out in the expression: a list `[7, 9]`."""

    @classmethod
    def number(cls, value: float) -> Field:
        """A constant."""
        return cls((), {(): np.array([float(value)])})

    @classmethod
    def sequence(cls, values: Iterable[float]) -> Field:
        """A list written in the expression."""
        return cls((INDEX,), {(i,): np.array([float(v)]) for i, v in enumerate(values)}, literal=True)

    def map(self, f: Callable[[Floats], Floats]) -> Field:
        """Applies `f` to every value."""
        return Field(self.axes, {k: f(v) for k, v in self.data.items()}, self.n, self.condition)

    def interval(self, key: Key = ()) -> Interval:
        """One value with its 95 % interval."""
        values = self.data[key]
        point = float(values[0])
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


def combine(a: Field, b: Field, f: Callable[[Floats, Floats], Floats], *, condition: bool = False) -> Field:
    """`f` on the values of both that agree in the axes they share; other axes are crossed.

    Raises ValueError when nothing agrees.
    """
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
    if not data:
        raise ValueError(f"the two sides have no {' and '.join(shared) or 'cells'} in common")
    return Field((*a.axes, *(b.axes[i] for i in extra)), data, fewest(a.n, b.n), condition)


def reduce(x: Field, f: Callable[[Floats], Floats], over: str | None, *, condition: bool = False) -> Field:
    """`f` over the cells (rows of a matrix: one row per cell), over all axes or over the one named."""
    if over is not None and over not in x.axes:
        raise ValueError(f"cannot reduce over {over!r}: open axes are {', '.join(x.axes) or 'none'}")
    keep = [i for i, name in enumerate(x.axes) if over is not None and name != over]
    groups: dict[Key, list[Floats]] = {}
    for key, value in x.data.items():
        groups.setdefault(tuple(key[i] for i in keep), []).append(value)
    data = {
        key: f(np.stack(np.broadcast_arrays(*rows)) if len(rows) > 1 else np.atleast_2d(rows[0]))
        for key, rows in groups.items()
    }
    return Field(tuple(x.axes[i] for i in keep), data, x.n, condition)


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
    """Whether a condition holds beyond the doubt of the replicates; None = undecided.

    It holds when it is true of the estimate and of all but the tail of the bootstrap samples (2.5 %, less
    for few replicates), and fails when it is false of them likewise.
    """
    values = x.data[key]
    if np.isnan(values).any():
        return None
    point = values[0] == 1.0
    if len(values) == 1 or x.n is None:
        return bool(point)
    if x.n < 2:
        return None
    sure = float(np.mean((values[1:] == 1.0) == point)) >= 1.0 - intervals.expanded_tail(x.n)
    return bool(point) if sure else None
