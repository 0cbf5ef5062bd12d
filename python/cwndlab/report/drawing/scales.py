"""Scales from data to pixels, with ticks and labels as in d3-scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

#: The gap between bars, and between groups of bars, as a share of the distance between their middles.
BAR_GAP, GROUP_GAP = 0.1, 0.2
#: Pairs of the least unrounded step of ticks and its rounded step, in powers of ten (d3-array, `ticks`).
_STEPS = ((math.sqrt(50), 10), (math.sqrt(10), 5), (math.sqrt(2), 2))


class Numbers(NamedTuple):
    """A linear or logarithmic scale from `low` at the pixel `start` to `high` at `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: object) -> float:
        """The pixel at which a number is drawn."""
        assert isinstance(value, int | float)
        low, high, at = self.low, self.high, float(value)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return self.start + (self.end - self.start) * ((at - low) / (high - low) if high != low else 0.5)

    def ticks(self, count: int, least: float = 0.0) -> list[float]:
        """About `count` round numbers, at least `least` apart."""
        if self.log:
            return _log_ticks(self.low, self.high, count)
        return _even_ticks(self.low, self.high, max(tick_step(self.low, self.high, count), least))

    def labels(self, ticks: Sequence[float], count: int) -> list[str]:
        """The labels of ticks; on a logarithmic scale with many ticks, some labels are ""."""
        if not self.log:
            step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
            return [format_number(v, f",.{_decimals(step)}f") for v in ticks]
        most = max(1.0, 10 * count / max(1, len(ticks)))
        return [format_number(v, "~g") if _mantissa(v) <= most else "" for v in ticks]


def domain_scale(
    values: Sequence[float], options: dict[str, object], *, span: tuple[float, float]
) -> Numbers:
    """A scale for the domain in `options`; by default for the values' range, extended to 0 and round ends."""
    log = options.get("type") == "log"
    domain = options.get("domain")
    if isinstance(domain, list):
        return Numbers(domain[0], domain[1], *span, log)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if log:
        return Numbers(low, high if high > low else 10 * low, *span, log)
    if options.get("zero", True):
        low, high = min(low, 0.0), max(high, 0.0)
    if options.get("nice", True):
        low, high = _round_ends(low, high)
    return Numbers(low, high, *span)


def tick_step(low: float, high: float, count: int) -> float:
    """The step that gives about `count` round numbers between two ends (d3-array, `tickStep`)."""
    raw = (high - low) / max(1, count)
    if not raw > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor for least, factor in _STEPS if raw / power >= least), 1) * power


def _round_ends(low: float, high: float) -> tuple[float, float]:
    """The ends, extended to round numbers (d3-scale, `nice`)."""
    step = 0.0
    while (wanted := tick_step(low, high, 10)) != step:
        step = wanted
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return low, high


def _even_ticks(low: float, high: float, step: float) -> list[float]:
    """The multiples of a step from one end to the other."""
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    """Multiples of powers of ten; round numbers if these are too few (d3-scale, `log.ticks`)."""
    first, last = math.log10(low), math.log10(high)
    if last - first >= count:
        step = round((last - first) / count)
        return [10.0**k for k in range(math.ceil(first), math.floor(last) + 1, step)]
    powers = range(math.floor(first), math.floor(last) + 1)
    # Parse text, so that 0.3 is not 0.30000000000000004.
    ticks = [v for p in powers for k in range(1, 10) if low <= (v := float(f"{k}e{p}")) <= high]
    if 2 * len(ticks) >= count:
        return ticks
    return _even_ticks(low, high, tick_step(low, high, count))


def _mantissa(value: float) -> float:
    """The factor before the power of ten, 1 to 9.5: 5 for 500."""
    share = value / 10.0 ** round(math.log10(value))
    return share * 10 if share * 10 < 9.5 else share


def _decimals(step: float) -> int:
    """The number of decimals for the labels of ticks with this step."""
    return max(0, -math.floor(math.log10(abs(step)) + 1e-9))


def format_number(value: float, pattern: str) -> str:
    """A number formatted by a pattern of d3: "d", "~g", or with a number of decimals: ",.1f"."""
    if pattern == "d":
        return f"{round(value)}"
    text = f"{value:.12g}" if pattern == "~g" else f"{value:{pattern}}"
    return text.replace("-", "−")


class Band(NamedTuple):
    """A scale of names, each with a band of pixels of the same width (d3-scale, `scaleBand`)."""

    names: Sequence[str]
    start: float
    end: float
    inner: float
    outer: float

    @property
    def step(self) -> float:
        """The distance between the left edges of adjacent bands, in pixels."""
        return (self.end - self.start) / max(1.0, len(self.names) - self.inner + 2 * self.outer)

    @property
    def width(self) -> float:
        """The width of a band, in pixels."""
        return self.step * (1 - self.inner)

    def left(self, name: object) -> float:
        """The pixel of the left edge of a name's band."""
        return self.start + self.step * (self.outer + self.names.index(str(name)))

    def place(self, name: object) -> float:
        """The pixel of the middle of a name's band."""
        return self.left(name) + self.width / 2


def point_scale(names: Sequence[str], start: float, end: float) -> Band:
    """A scale of names for lines and points: bands of width 0."""
    return Band(names, start, end, 1.0, 0.5)
