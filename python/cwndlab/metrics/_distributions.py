"""Expectations of the distributions that a scenario draws sizes and times from, by its kinds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def mean(written: Mapping[str, Any]) -> float:
    """The expectation. Rounding to whole bytes or nanoseconds is left out."""
    return _beyond(written, 0.0)[1] if written["kind"] != "fixed" else float(written["value"])


def mean_beyond(written: Mapping[str, Any], at: float) -> float:
    """The expectation of the values that exceed `at`; `at` itself if (almost) none does."""
    share, part = _beyond(written, at)
    return part / share if share > 1e-12 else at


def _beyond(d: Mapping[str, Any], at: float) -> tuple[float, float]:
    """How probable values beyond `at` are, and the expectation of the value where it is, else 0."""
    match d["kind"]:
        case "fixed":
            return (1.0, float(d["value"])) if d["value"] > at else (0.0, 0.0)
        case "uniform":
            low, high = float(d["low"]), float(d["high"])
            if low == high:
                return (1.0, low) if low > at else (0.0, 0.0)
            start = min(max(at, low), high)
            share = (high - start) / (high - low)
            return share, share * (high + start) / 2.0
        case "exponential":
            share = math.exp(-at / d["mean"]) if d["mean"] else 0.0
            return share, share * (at + d["mean"])
        case "pareto":
            shape = d["shape"]
            least = d["min"] if d.get("min") is not None else d["mean"] * (shape - 1.0) / shape
            return _pareto_beyond(least, shape, _limit(d), at)
        case "lognormal":
            return _lognormal_beyond(d["median"], d["sigma"], _limit(d), at)
        case "lognormal-pareto":
            tail_from, most = d["tail_from"], _limit(d)
            body = _lognormal_beyond(d["median"], d["sigma"], math.inf, min(at, tail_from))
            above = _lognormal_beyond(d["median"], d["sigma"], math.inf, tail_from)
            share, part = _pareto_beyond(tail_from, d["tail_alpha"], most, at)
            return body[0] - above[0] + above[0] * share, body[1] - above[1] + above[0] * part
        case "empirical":
            values, counts = (np.asarray(d[key], dtype=np.float64) for key in ("values", "counts"))
            shares = np.where(values > at, counts, 0.0) / counts.sum()
            return float(shares.sum()), float(shares @ values)
    raise ValueError(f"the expectation of a distribution of kind {d['kind']!r} is not known")


def _limit(d: Mapping[str, Any]) -> float:
    """The value that replaces larger ones."""
    most = d.get("max")
    return math.inf if most is None else float(most)


def _pareto_beyond(least: float, shape: float, most: float, at: float) -> tuple[float, float]:
    """As `_beyond`: the value at the start, and the integral of P(X > x) from there to the limit."""
    start = max(at, least)
    if at >= most:
        return 0.0, 0.0
    start = min(start, most)
    share = (least / start) ** shape
    if shape == 1.0:
        area = least * math.log(most / start)
    elif math.isinf(most):
        area = start * share / (shape - 1.0) if shape > 1.0 else math.inf
    else:
        area = least**shape * (most ** (1.0 - shape) - start ** (1.0 - shape)) / (1.0 - shape)
    return share, start * share + area


def _lognormal_beyond(median: float, sigma: float, most: float, at: float) -> tuple[float, float]:
    """As `_beyond`: the part of the mean between `at` and the limit, and what is moved to the limit."""
    if at >= most:
        return 0.0, 0.0
    if sigma == 0.0:
        value = min(median, most)
        return (1.0, value) if value > at else (0.0, 0.0)

    def above(x: float, shift: float) -> float:
        """P(Z > z) at the normal score of `x`, less a shift."""
        if x <= 0.0 or math.isinf(x):
            return 1.0 if x <= 0.0 else 0.0
        return 0.5 * math.erfc((math.log(x / median) / sigma - shift) / math.sqrt(2.0))

    whole = median * math.exp(sigma * sigma / 2.0)
    moved = most * above(most, 0.0) if math.isfinite(most) else 0.0
    return above(at, 0.0), whole * (above(at, sigma) - above(most, sigma)) + moved
