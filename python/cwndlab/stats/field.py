"""Numbers over cells with their uncertainty, on which the expressions of claims operate.

A field holds a number (`sample.Number`) for every combination of its axes' values. The numbers of a condition
are 1 (true), 0 (false) and NaN (undecided).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cwndlab.base.numbers import ANY, Floats, Range
from cwndlab.study.outputs import Scalar

from . import intervals
from .distributions import LEVEL
from .intervals import FEWEST, Interval
from .sample import Derived, Number, derive, is_less

Key: TypeAlias = tuple[Scalar, ...]
Pair: TypeAlias = Callable[[Number, Number], Number]

INDEX = "index"
"""The axis of a list quantity: the position in the list, from 0."""


@dataclass(frozen=True)
class Field:
    """Numbers by the values of axes: a key has one value for each of `axes`."""

    axes: tuple[str, ...]
    data: Mapping[Key, Number]
    condition: bool = False
    bounds: bool = False
    """Whether the numbers are counts, each with three values: the count and its two bounds (`count`)."""
    lengths: Mapping[Key, int] | None = None
    """The length of each list, by the key without its position; None if positions are left out."""
    literal: bool = False
    """Whether the field is a list written in the expression: `[7, 9]`."""

    @classmethod
    def number(cls, value: float) -> Field:
        """A field of one constant number, without axes."""
        return cls((), {(): Derived.constant(value)})

    @classmethod
    def sequence(cls, values: Iterable[float]) -> Field:
        """The field of a list written in the expression."""
        data: dict[Key, Number] = {(i,): Derived.constant(v) for i, v in enumerate(values)}
        return cls((INDEX,), data, lengths={(): len(data)}, literal=True)

    @property
    def constant(self) -> bool:
        """Whether none of the numbers is random."""
        return not any(number.derived.parts for number in self.data.values())

    def map(self, f: Callable[[Floats], Floats], within: Callable[[Range], Range] = lambda _: ANY) -> Field:
        """Applies `f` to each number; `within` returns the range of the result from the number's range."""
        data = {key: derive(f, [number], within(number.derived.range)) for key, number in self.data.items()}
        return replace(self, data=data, lengths=None, literal=False)

    def interval(self, key: Key = ()) -> Interval:
        """The number at this key with its 95 % interval."""
        if self.bounds:
            values = self.data[key].derived.values
            ends = float(values[1:].min()), float(values[1:].max())
            return Interval(float(values[0]), *ends, 0, "sure to not excluded")
        return self.data[key].estimate()


def combine(a: Field, b: Field, f: Pair) -> Field:
    """Applies `f` to each pair of numbers whose keys agree on the axes that both fields have.

    Axes that only one field has are crossed. ValueError if no keys agree, unless a field has no numbers.
    """
    if (a.bounds and not _plain(b)) or (b.bounds and not _plain(a)):
        raise ValueError("a count stands next to plain numbers only")
    shared = [x for x in a.axes if x in b.axes]
    a_at = [a.axes.index(x) for x in shared]
    b_at = [b.axes.index(x) for x in shared]
    extra = [i for i, x in enumerate(b.axes) if x not in shared]
    by_shared: dict[Key, list[tuple[Key, Number]]] = {}
    for key, number in b.data.items():
        by_shared.setdefault(tuple(key[i] for i in b_at), []).append((key, number))
    data: dict[Key, Number] = {}
    for key, number in a.data.items():
        for other_key, other in by_shared.get(tuple(key[i] for i in a_at), []):
            data[(*key, *(other_key[i] for i in extra))] = f(number, other)
    if a.data and b.data and not data:
        raise ValueError(f"the two sides have no {' and '.join(shared)} in common")
    axes = (*a.axes, *(b.axes[i] for i in extra))
    return Field(axes, data, a.condition and b.condition, a.bounds or b.bounds)


def _plain(x: Field) -> bool:
    return not x.bounds and x.constant


def reduce(
    x: Field,
    f: Callable[[Floats], Floats],
    over: str | None,
    *,
    bounds: bool = False,
    within: Callable[[Range], Range] = lambda _: ANY,
) -> Field:
    """Reduces all axes, or the axis `over`, by a function `f` of a matrix with one row per cell.

    `within` returns the range of the result from that of the cells.
    """
    if over is not None and over not in x.axes:
        raise ValueError(f"cannot reduce over {over!r}: open axes are {', '.join(x.axes) or 'none'}")
    keep = [i for i, name in enumerate(x.axes) if over is not None and name != over]
    groups: dict[Key, list[Number]] = {}
    for key, number in x.data.items():
        groups.setdefault(tuple(key[i] for i in keep), []).append(number)
    if not groups and not keep:
        groups[()] = [Derived.constant(math.nan)]  # the field has no cells
    data = {
        key: derive(lambda *rows: f(np.stack(rows)), numbers, within(numbers[0].derived.range))
        for key, numbers in groups.items()
    }
    return Field(tuple(x.axes[i] for i in keep), data, x.condition and not bounds, bounds)


def lists_equal(a: Field, b: Field, level: float = LEVEL) -> Field:
    """Whether each list of a field equals the list written in an expression, in length and elements."""
    whole, literal = (a, b) if b.literal else (b, a)
    if whole.lengths is None or literal.lengths is None:
        raise ValueError("only a list quantity (or take() of one) is compared with a list")
    at = whole.axes.index(INDEX)
    data: dict[Key, Number] = {}
    for key, length in whole.lengths.items():
        same = np.array([1.0 if length == literal.lengths[()] else 0.0])
        for (i,), wanted in literal.data.items():
            if not same.any():
                break
            number = whole.data[(*key[:at], i, *key[at:])]
            same = kleene_and(
                same, neither_less(surely_less(number, wanted, level), surely_less(wanted, number, level))
            )
        data[key] = Derived(same)
    return Field(tuple(x for x in whole.axes if x != INDEX), data, condition=True)


def surely_less(a: Number, b: Number, level: float = LEVEL, *, bounds: bool = False) -> Floats:
    """Whether `a` is less than `b` (`sample.is_less`): 1, 0, or NaN if undecided.

    Counts (`bounds`) are decided if their estimates and their bounds give the same answer.
    """
    if bounds:
        answers = np.atleast_1d(a.derived.values < b.derived.values)
        return np.array([float(answers[0])]) if bool(np.all(answers == answers[0])) else UNDECIDED
    answer = is_less(a, b, level)
    return UNDECIDED if answer is None else np.array([float(answer)])


UNDECIDED: Floats = np.array([math.nan])


def neither_less(lower: Floats, higher: Floats) -> Floats:
    """Equality from "less" in both directions: false if either is true, true if both are false."""
    return kleene_and(kleene_not(lower), kleene_not(higher))


def kleene_and(a: Floats, b: Floats) -> Floats:
    """Three-valued "and": 0 (false) if either is 0, else NaN (undecided) if either is NaN, else 1 (true)."""
    return np.asarray(np.where((a == 0.0) | (b == 0.0), 0.0, a * b))


def kleene_not(a: Floats) -> Floats:
    """Three-valued "not": exchanges 1 (true) and 0 (false); NaN (undecided) stays."""
    return np.asarray(1.0 - a)


def kleene_or(a: Floats, b: Floats) -> Floats:
    """Three-valued "or" of 1 (true), 0 (false) and NaN (undecided), element by element."""
    return kleene_not(kleene_and(kleene_not(a), kleene_not(b)))


def as_truth(x: Field, key: Key = ()) -> bool | None:
    """Whether a condition is true at this key; None if undecided."""
    value = float(x.data[key].derived.values[0])
    return None if math.isnan(value) else value == 1.0


def count(matrix: Floats) -> Floats:
    """The number of true conditions (rows), and its bounds if no, or every, undecided condition is true."""
    sure = float(np.count_nonzero(matrix == 1.0))
    open_ = float(np.count_nonzero(np.isnan(matrix)))
    return np.array([sure, sure, sure + open_])


def relative_scatter(values: Floats) -> Floats:
    """The coefficient of variation of single runs, followed by its values without each replicate in turn.

    `values` are the mean and the means without each replicate in turn, from which the runs are computed.
    """
    n = len(values) - 1
    if n < FEWEST:
        return np.full(len(values), math.nan if n else 0.0)
    runs = n * values[0] - (n - 1) * values[1:]
    without = [float(np.std(np.delete(runs, k), ddof=1)) for k in range(n)]
    spreads = np.array([float(np.std(runs, ddof=1)), *without])
    return intervals.relate("ratio", spreads, np.abs(values))
