"""Numbers from runs: how they are estimated, compared and combined. Only this module compares runs.

A `Sample` holds the values of one quantity of one cell, a `Derived` a number computed from samples.

1. An exact value (nothing in its cell is random) is compared with every replicate of the other side.
2. Whether numbers are paired follows from the random numbers that they depend on (`Streams`), not from an
   argument. Samples with the same random numbers are compared over the replicates that both have.
3. Each number carries its statistic, range and unit.
4. Controls are applied to each sample before it is compared (see `adjustment`).
5. Only `estimate` decides what happens if runs are too few, all equal, or dominated by one of them.

A derived number holds its estimate, then the estimate without each replicate of each stream in turn: a
jackknife (B. Efron, C. Stein, "The jackknife estimate of variance", Annals of Statistics 9, 1981). For means
and their differences this gives the paired t, or Welch's t where the random numbers differ, with the degrees
of freedom of F. E. Satterthwaite (Biometrics Bulletin 2, 1946).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.numbers import ANY, NON_NEGATIVE, Floats, Range, derived_range

from . import intervals
from .adjustment import ADJUSTED, adjust
from .distributions import LEVEL
from .intervals import FEWEST, NOT_MEASURABLE, Interval
from .jackknife import NO_SPREAD, Blocks, centre, ends, jackknife_values, quantile_of_t, variances

CLOSE = 1e-9
"""Two numbers count as equal if they differ by less than this, relatively or (near 0) absolutely."""

_UNITS: dict[str, Callable[[str, str], str]] = {
    "sum": lambda a, b: a if a == b or b == "1" else b,
    "difference": lambda a, b: a if a == b or b == "1" else b,
    "product": lambda a, b: b if a == "1" else a if b == "1" else f"{a} × {b}",
    "ratio": lambda a, b: "1" if a == b else a if b == "1" else f"{a}/{b}",
    "increase": lambda a, b: "%",
    "decrease": lambda a, b: "%",
}

_RATIOS = ("ratio", "increase", "decrease")
_NAMES = {"difference": "difference"} | dict.fromkeys(_RATIOS, "ratio")
"""The name of each kind of comparison in `Interval.method`."""


class Streams(NamedTuple):
    """The random numbers of a cell's runs: none, a seed's, or its "own", which are never paired."""

    kind: Literal["exact", "paired", "own"] = "paired"
    id: str = ""
    """The stream's name: for "paired" the seed ("" for the study's), for "own" a digest of the values."""


PAIRED = Streams()
"""The random numbers of the study's seed, which all cells share, replicate by replicate."""


class StreamRuns(NamedTuple):
    """The replicates of one stream of random numbers on which a derived number depends."""

    streams: Streams
    length: int
    n: int
    """The number of measured replicates; for a number from several samples, the smallest."""


class _Operators:
    """The arithmetic operators of samples and derived numbers."""

    def _relate(self, kind: str, other: Number | float) -> Derived:
        assert isinstance(self, Sample | Derived)
        return relate(kind, self, other)

    def __add__(self, other: Number | float) -> Derived:
        return self._relate("sum", other)

    def __sub__(self, other: Number | float) -> Derived:
        return self._relate("difference", other)

    def __mul__(self, other: Number | float) -> Derived:
        return self._relate("product", other)

    def __truediv__(self, other: Number | float) -> Derived:
        return self._relate("ratio", other)


@dataclass(frozen=True, eq=False)
class Sample(_Operators):
    """One quantity of one cell: a value for each replicate, NaN where it could not be measured."""

    runs: Floats
    unit: str = "1"
    range: Range = ANY
    statistic: str = "mean"
    streams: Streams = PAIRED
    controls: tuple[Floats, ...] = ()
    """Control variates (see `adjustment`): arrays of one value per replicate, with expectation 0."""
    warning: str = ""
    """The connections that failed, and why; "" if none failed."""

    def __post_init__(self) -> None:
        runs = np.array(self.runs, dtype=np.float64)
        runs.flags.writeable = False  # the cached properties depend on it
        object.__setattr__(self, "runs", runs)

    @property
    def exact(self) -> bool:
        """Whether nothing in the cell is random, so that one run suffices; equal runs do not prove this."""
        return self.streams.kind == "exact"

    @property
    def n(self) -> int:
        """The number of replicates that could be measured."""
        return int(np.count_nonzero(~np.isnan(self.runs)))

    @property
    def centre(self) -> float:
        """Mean or median of the runs, not adjusted."""
        return centre(self.runs, self.statistic)

    @cached_property
    def adjusted(self) -> Floats | None:
        """The runs adjusted by the control variates; None without controls, or if `adjust` returns None."""
        if not self.controls or self.exact:
            return None
        return adjust(self.runs, self.controls, self.range)

    @property
    def values(self) -> Floats:
        """The values to estimate from: `adjusted` if it exists, else `runs`."""
        return self.runs if self.adjusted is None else self.adjusted

    def estimate(self) -> Interval:
        """Mean or median over the replicates, with its 95 % interval."""
        return self._estimate._replace(
            warning="; ".join(filter(None, (self._estimate.warning, self.warning)))
        )

    @cached_property
    def _estimate(self) -> Interval:
        if self.exact:
            return intervals.exact(self.centre, self.n)
        if self.statistic == "median":
            return intervals.quantile(self.runs, 0.5)
        if self.adjusted is None:
            return intervals.mean(self.runs, self.range)
        interval = intervals.mean(self.adjusted, self.range, adjusted=True)
        return interval._replace(method=interval.method + ADJUSTED)

    @property
    def scale(self) -> float:
        """The magnitude relative to which a precision is stated: that of the estimate."""
        return abs(self.estimate().value)

    def quantile(self, share: float) -> Interval:
        """The value below which this share of the runs lies, with its interval."""
        if self.exact:
            return self.estimate()
        return intervals.quantile(self.runs, share)

    @cached_property
    def derived(self) -> Derived:
        """The sample as a `Derived`, for arithmetic."""
        values = self.values
        point = centre(values, self.statistic)
        warnings = (self.warning,)
        if self.exact or len(values) == 0:
            return Derived(np.array([point]), (), self.range, self.unit, abs(point), self.statistic, warnings)
        median = self.statistic == "median"  # pairing does not make a median's interval narrower
        streams = Streams("own", blake2b(values.tobytes()).hexdigest()) if median else self.streams
        return Derived(
            jackknife_values(values, self.statistic),
            (StreamRuns(streams, len(values), self.n),),
            self.range,
            self.unit,
            abs(point),
            self.statistic,
            ("" if median else intervals.warn_of_scatter(values, self.range), self.warning),
            adjusted=self.adjusted is not None,
        )

    def keep_common(self, other: Sample) -> Sample:
        """Drops replicates that `other` lacks, if both samples have the same random numbers."""
        if self.streams != other.streams or self.exact:
            return self
        n = min(len(self.runs), len(other.runs))
        runs = np.where(np.isnan(other.runs[:n]), math.nan, self.runs[:n])
        if np.array_equal(runs, self.runs, equal_nan=True):
            return self
        return replace(self, runs=runs, controls=tuple(control[:n] for control in self.controls))

    def equals(self, other: Sample) -> bool:
        """Whether each replicate has the same value in both; an exact sample has one value for all."""
        a, b = self.fill(len(other.runs)), other.fill(len(self.runs))
        return bool(np.array_equal(a, b, equal_nan=True))

    def fill(self, n: int) -> Floats:
        """The values of single runs; for an exact sample, its value `n` times."""
        return np.full(n, self.centre) if self.exact else self.runs


@dataclass(frozen=True, eq=False)
class Derived(_Operators):
    """A number computed from samples: the estimate, then the estimates without each replicate in turn."""

    values: Floats
    parts: tuple[StreamRuns, ...] = ()
    """The streams in the order of `values`; empty for a number without randomness."""
    range: Range = ANY
    unit: str = "1"
    size: float = 0.0
    """The magnitude of the largest summand, to which rounding errors are relative."""
    statistic: str = "mean"
    warnings: tuple[str, ...] = ()
    kind: str = ""
    """The operation of `intervals.relate` that gave the number; "" for other numbers."""
    adjusted: bool = False
    quotient: tuple[Derived, Derived] | None = None
    """Numerator and denominator of a ratio whose sides may be negative; None for other numbers."""

    @classmethod
    def constant(cls, value: float) -> Derived:
        """A number without randomness."""
        return cls(np.array([value]), range=Range(value, value), size=abs(value))

    @property
    def derived(self) -> Derived:
        """The number itself."""
        return self

    @property
    def n(self) -> int | None:
        """The fewest measured replicates of a stream; None for a number without randomness."""
        return min((part.n for part in self.parts), default=None)

    def estimate(self, level: float = LEVEL) -> Interval:
        """The number with its interval; if it has none, the ends are NaN and `method` states the reason."""
        interval = self._estimate(level)
        return interval._replace(warning="; ".join(dict.fromkeys(filter(None, self.warnings))))

    def _estimate(self, level: float) -> Interval:
        point, n = float(self.values[0]), self.n
        if n is None:
            return intervals.exact(point, 1)
        if math.isnan(point):
            return Interval(point, point, point, n, NOT_MEASURABLE)
        if n < FEWEST:
            return intervals.too_few(point, n)
        if np.ptp(self.values) <= NO_SPREAD * max(self.size, abs(point)):
            return Interval(point, math.nan, math.nan, n, intervals.equal_in(n))
        suffix = ADJUSTED * self.adjusted
        if self.quotient is not None:
            low, high = self._fieller(*self.quotient, level)
            method = "Fieller" + (": the denominator may be 0" if math.isnan(low) else "")
        else:
            low, high = ends(self.values, self.blocks, self.range, level=level)
            paired = "paired" if len(self.parts) == 1 else "unpaired"
            method = f"{self.range.scale} {paired} t".strip()
        if self.statistic == "median" and np.isnan(self.values).any():
            return Interval(point, math.nan, math.nan, n, intervals.too_few_to_order(n))
        what = _NAMES.get(self.kind, "")
        return Interval(point, low, high, n, (what and f"{what} of {self.statistic}s, ") + method + suffix)

    @property
    def scale(self) -> float:
        """The magnitude relative to which a precision is stated.

        For a change in percent it is the magnitude of its ratio, for a difference that of the larger side.
        """
        value = float(self.values[0])
        changes = {"difference": self.size, "decrease": abs(100.0 - value), "increase": abs(100.0 + value)}
        return changes.get(self.kind, abs(value))

    @property
    def blocks(self) -> Blocks:
        """For each stream the number of replicates, and of measured ones (see `jackknife.Blocks`)."""
        return [(part.length, part.n) for part in self.parts]

    def _fieller(self, above: Derived, below: Derived, level: float) -> tuple[float, float]:
        """The interval of the ratios r for which above - r * below may be 0 (E. C. Fieller, 1954).

        Both ends are NaN if the denominator may be 0, because the ratios are then unbounded.
        """
        (x, y), parts = _align((above, below))
        blocks = [(part.length, part.n) for part in parts]
        a, b = float(x[0]), float(y[0])
        apart = x - a / b * y
        t2 = quantile_of_t(variances(apart, apart, blocks), blocks, level) ** 2
        squared = b * b - t2 * sum(variances(y, y, blocks))
        mixed = a * b - t2 * sum(variances(x, y, blocks))
        if not squared > 0.0:
            return math.nan, math.nan
        root = math.sqrt(max(0.0, mixed * mixed - squared * (a * a - t2 * sum(variances(x, x, blocks)))))
        ratios = np.array([mixed - root, mixed + root]) / squared
        low, high = sorted(float(end) for end in intervals.relate(self.kind, ratios, 1.0))
        return low, high


Number: TypeAlias = Sample | Derived


def _pair(a: Number | float, b: Number | float) -> tuple[Derived, Derived]:
    """The two sides of a comparison; two samples are reduced to the replicates that both have."""
    x, y = (Derived.constant(number) if isinstance(number, int | float) else number for number in (a, b))
    if isinstance(x, Sample) and isinstance(y, Sample):
        x, y = x.keep_common(y), y.keep_common(x)
    return x.derived, y.derived


def _align(numbers: Sequence[Derived]) -> tuple[list[Floats], tuple[StreamRuns, ...]]:
    """The values of several numbers over the same replicates, and these replicates by stream.

    For replicates on which a number does not depend, its estimate is repeated.
    """
    first = numbers[0].parts
    if all(number.parts == first for number in numbers):
        return [number.values for number in numbers], first
    parts: dict[Streams, StreamRuns] = {}
    for part in (part for number in numbers for part in number.parts):
        shared = parts.get(part.streams, part)
        parts[part.streams] = StreamRuns(part.streams, max(shared.length, part.length), min(shared.n, part.n))
    rows = []
    for number in numbers:
        ends = np.cumsum([1, *(part.length for part in number.parts)])
        own = {
            part.streams: number.values[end - part.length : end]
            for part, end in zip(number.parts, ends[1:], strict=True)
        }
        row = [number.values[:1]]
        for part in parts.values():
            values = own.get(part.streams, number.values[:0])
            row += [values, np.full(part.length - len(values), number.values[0])]
        rows.append(np.concatenate(row))
    return rows, tuple(parts.values())


def derive(f: Callable[..., Floats], numbers: Sequence[Number], within: Range = ANY) -> Derived:
    """Applies `f` to the estimates and the leave-one-out values; `within` is the result's range."""
    several = [number.derived for number in numbers]
    rows, parts = _align(several)
    return Derived(
        np.asarray(f(*rows)),
        parts,
        within,
        several[0].unit,
        max(number.size for number in several),
        "median" if any(number.statistic == "median" for number in several) else "mean",
        tuple(text for number in several for text in number.warnings),
        adjusted=any(number.adjusted for number in several),
    )


def relate(kind: str, a: Number | float, b: Number | float) -> Derived:
    """The comparison or operation `kind` of two numbers (see `intervals.relate`)."""
    x, y = _pair(a, b)
    related = derive(lambda p, q: intervals.relate(kind, p, q), (x, y), derived_range(kind, x.range, y.range))
    quotient = (x, y) if kind in _RATIOS and not (x.range.positive and y.range.positive) else None
    size = 0.0 if kind in _RATIOS else related.size
    return replace(related, unit=_UNITS[kind](x.unit, y.unit), size=size, kind=kind, quotient=quotient)


def relate_runs(kind: str, a: Sample, b: Sample) -> Floats:
    """The comparison `kind` of the single runs of two samples, replicate by replicate."""
    x, y = a.fill(len(b.runs)), b.fill(len(a.runs))
    n = min(len(x), len(y))
    return intervals.relate(kind, x[:n], y[:n])


def is_less(a: Number | float, b: Number | float, level: float = LEVEL) -> bool | None:
    """Whether `a` is less than `b`; None if the interval of their difference includes 0.

    The difference is taken on the scale of the numbers' common range, or on the plain scale if a value lies
    on a bound.
    """
    x, y = _pair(a, b)
    (p, q), parts = _align((x, y))
    if math.isnan(p[0]) or math.isnan(q[0]):
        return None
    near = np.abs(p - q) <= CLOSE * np.maximum(1.0, np.maximum(np.abs(p), np.abs(q)))
    answer = bool(p[0] < q[0] and not near[0])
    if not parts:
        return answer
    within = common_range(x, y)
    placed = within.to_scale(p), within.to_scale(q)
    low, high = placed if all(bool(np.isfinite(row).all()) for row in placed) else (p, q)
    apart = Derived(np.zeros(len(p)) if near.all() else high - low, parts)
    below, above = apart.estimate(level).decided
    return answer if below > 0.0 or above < 0.0 or below == above else None


def common_range(a: Derived, b: Derived) -> Range:
    """The range on whose scale two numbers are compared; for a constant, that of the other number."""
    if a.range == b.range or not b.parts:
        return a.range
    if not a.parts:
        return b.range
    return NON_NEGATIVE if a.range.positive and b.range.positive else ANY
