"""How smooth a connection's rate is."""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._declared import metric
from ._rows import Period, rates_by_connection


@metric(unit="1", low=0, high=1)
def largest_rate_cut(run: RunView, *, traffic: str, interval: Period) -> float:
    r"""Smoothness: the largest cut of a connection's rate from one interval to the next.

    $$ s = \max_k \frac{\max(0, x_k - x_{k+1})}{x_k} $$

    with \(x_k\) the goodput of a connection in the \(k\)-th interval of the window, each `interval`
    (seconds) long, and the maximum over intervals with \(x_k > 0\); the mean over the traffic's connections.
    0: the rate never falls; 1: it falls to 0. With the round-trip time as the interval, this is the largest
    cut in a round trip.

    `traffic` selects one traffic entry of the study. NaN if no connection delivered in an interval before its
    last one.
    """
    cuts = []
    for x in rates_by_connection(run, interval, traffic):
        before = x[:-1] > 0
        if before.any():
            cuts.append(max(0.0, float(np.max(1.0 - x[1:][before] / x[:-1][before]))))
    return float(np.mean(cuts)) if cuts else math.nan


@metric(unit="bit/s", low=0)
def largest_rate_rise(run: RunView, *, traffic: str, interval: Period) -> float:
    r"""Aggressiveness: the largest rise of a connection's rate from one interval to the next.

    $$ a = \max_k \max(0, x_{k+1} - x_k) $$

    with \(x_k\) the goodput of a connection in the \(k\)-th interval of the window, each `interval`
    (seconds) long; the mean over the traffic's connections. With the round-trip time as the interval, this is
    the largest rise in a round trip. To leave out the connections' start, measure in a window or a phase.

    `traffic` selects one traffic entry of the study. NaN if no connection was open for two intervals.
    """
    series = [x for x in rates_by_connection(run, interval, traffic) if len(x) > 1]
    return float(np.mean([max(0.0, float(np.max(np.diff(x)))) for x in series])) if series else math.nan


@metric(unit="1", low=0)
def rate_variation(run: RunView, *, traffic: str, interval: Period) -> float:
    r"""Coefficient of variation of the rate at one time scale: how unevenly a connection delivers.

    $$ c = \frac{1}{\bar x} \sqrt{\frac{1}{n} \sum_{k=1}^{n} (x_k - \bar x)^2} $$

    with \(x_k\) the goodput of a connection in the \(k\)-th interval of the window, each `interval`
    (seconds) long, and \(\bar x\) their mean; the mean over the traffic's connections. Intervals throughout
    which a connection was not open are left out. 0: the rate is constant.

    `traffic` selects one traffic entry of the study. NaN if no connection delivered in two intervals or more.
    """
    series = [x for x in rates_by_connection(run, interval, traffic) if len(x) > 1 and np.sum(x) > 0]
    return float(np.mean([np.std(x) / np.mean(x) for x in series])) if series else math.nan


@metric(unit="1", low=0, many=True)
def rate_variation_scales(run: RunView, *, traffic: str, interval: Period) -> list[float]:
    r"""Variation of the rate at several time scales: its coefficient of variation over longer intervals.

    $$ c_m = \frac{\sigma(x^{(m)})}{\operatorname{mean}(x^{(m)})}, \quad m = 1, 2, 4, 8, \dots $$

    with \(x^{(m)}\) the goodput of a connection in intervals of \(m\) times `interval` (seconds); the mean
    over the traffic's connections. Element k of the list, counted from 0 (a figure with `x = "index"` draws
    it), has \(m = 2^k\); the list ends where no connection has two such intervals. \(c_1\) is
    `rate_variation`. A rate that is smooth over seconds may vary much over round trips.

    `traffic` selects one traffic entry of the study. The shortest scale comes first.
    """
    series = [x for x in rates_by_connection(run, interval, traffic) if len(x) > 1 and np.sum(x) > 0]
    variations: list[float] = []
    while series:
        variations.append(float(np.mean([np.std(x) / np.mean(x) for x in series])))
        paired = [x[: len(x) // 2 * 2].reshape(-1, 2).mean(axis=1) for x in series if len(x) >= 4]
        series = [x for x in paired if np.sum(x) > 0]
    return variations
