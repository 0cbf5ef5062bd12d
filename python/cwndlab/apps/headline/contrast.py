"""Comparison of several numbers by their intervals and by paired runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from cwndlab.stats.intervals import Interval
from cwndlab.stats.sample import Number, relate

PAIRED_LEVEL = 0.999


class LineValue(NamedTuple):
    """A number of a figure, and its interval."""

    interval: Interval
    number: Number | None = None
    """The replicates; None if numbers are compared by their intervals alone."""

    @property
    def value(self) -> float:
        """The estimate."""
        return self.interval.value

    @property
    def is_known(self) -> bool:
        """Whether the number can be compared; a single run cannot."""
        return self.interval.equal_runs or not math.isnan(self.interval.low)


Line = Mapping[str, LineValue]
"""The numbers of one line of a figure by their x values, in order."""


def is_below(a: LineValue, b: LineValue) -> bool:
    """Whether `a` is smaller: the 95 % intervals do not overlap, or the paired difference excludes 0.

    The difference is tested at `PAIRED_LEVEL`, because a figure has tens of pairs, some of similar flows.
    """
    if not (a.is_known and b.is_known and a.value < b.value):
        return False
    if a.interval.decided[1] < b.interval.decided[0]:
        return True
    if a.number is None or b.number is None:
        return False
    return relate("difference", b.number, a.number).estimate(PAIRED_LEVEL).leaves_out(0.0)


def relative(a: LineValue, b: LineValue) -> float:
    """The ratio of the larger of two numbers to the smaller; infinite if the smaller is not positive."""
    low, high = sorted((a.value, b.value))
    return high / low if low > 0.0 else math.inf


def top_group(numbers: Mapping[str, LineValue], *, lowest: bool = False) -> tuple[str, ...]:
    """The names whose numbers are all larger (or smaller) than all others; empty if there are none.

    Among several such groups, the one farthest from the others, preferably of at most half of the names.
    """
    order = sorted(numbers, key=lambda name: numbers[name].value, reverse=not lowest)
    groups = [
        count
        for count in range(1, len(order))
        if all(
            _is_beyond(numbers[name], numbers[other], lowest)
            for name in order[:count]
            for other in order[count:]
        )
    ]
    few = [count for count in groups if 2 * count <= len(order)] or groups[:1]
    if not few:
        return ()
    count = max(few, key=lambda c: relative(numbers[order[c - 1]], numbers[order[c]]))
    return tuple(name for name in numbers if name in order[:count])


def _is_beyond(a: LineValue, b: LineValue, below: bool) -> bool:
    return is_below(a, b) if below else is_below(b, a)


def extremes(lines: Mapping[str, Line], names: Collection[str], places: Iterable[str]) -> list[LineValue]:
    """The numbers of some lines at some x values, in ascending order."""
    return sorted((lines[name][place] for name in names for place in places), key=lambda one: one.value)


def common_places(lines: Mapping[str, Line]) -> Sequence[str]:
    """The x values at which all lines have a number."""
    first = next(iter(lines.values()))
    return [place for place in first if all(place in line for line in lines.values())]
