"""The path as a flow's packets show it: rate, base round trip, buffer, random loss, cross traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .deliveries import Deliveries
from .flow_packets import Floats
from .full_queue import QueueEstimates, queue_of
from .stated_parameters import NOTHING_STATED, StatedParameters

#: Pairs of acknowledgments with a queue between them below which the spacing shows no rate.
FEWEST_PAIRS = 30
#: Rates this close are one peak of their distribution, in quarters of which they are counted.
_WIDTH, _BINS = 0.015, 8
#: Acknowledgments this many times later than at the rate did not wait for other packets, but for a timer.
_PAUSE = 20
#: Segments faster than the bottleneck by so much were not paced by it.
_FASTER = 0.03
#: The least base round trip that the clocks of a capture show.
_LEAST_BASE_S = 1e-6
#: A peak has this share of all, and of the largest peak, at least.
_PEAK = 0.1
#: A span of acknowledgments that is long enough to average over other flows' packets.
_SPAN_S, _SPAN_PAIRS = 0.02, 20
#: Halves of a base round trip before and after a time, within which deliveries catch up with the rate, and
#: the part of a base round trip that they stay behind where the bottleneck was idle.
_NEAR_CELLS, _IDLE = 20, 0.25
#: From this share of the bottleneck on, other traffic is part of the fit.
LEAST_CROSS = 0.015


@dataclass(frozen=True)
class PathEstimates:
    """Parameters of a path; NaN for what the packets do not show."""

    rate_bps: float
    base_s: float
    queue: QueueEstimates
    #: Share of the bottleneck that others use while this flow has a queue.
    cross: float
    #: Round trips in which the shortest time was reached: few of them may all have met a queue.
    touches: int
    #: Share of the bytes that arrived faster than this rate.
    faster: float
    #: Share of the rate that was not this flow's while it had a queue, pauses included.
    not_used: float
    #: Whether the capture has the handshake, or a time in which the bottleneck was idle.
    base_shown: bool = True


def estimate_path(of: Deliveries, stated: StatedParameters = NOTHING_STATED) -> PathEstimates:
    """The direct estimates, with the base round trip and the buffer as they are stated, if they are."""
    handshake = of.packets.handshake_s
    at, trips = of.trips(prompt=False)
    shortest = float(trips.min()) if len(trips) else math.nan
    base, found = stated.rtt_s or _finite_min(handshake, shortest), _NO_RATE
    for _ in range(2):  # the base round trip needs the rate, and the spacing the base round trip
        found = _rate(*of.spacing(base))
        if math.isnan(found.rate_bps):
            break
        less = shortest - of.packets.wire_bytes * 8 / found.rate_bps
        base = stated.rtt_s or max(_finite_min(handshake, less), _LEAST_BASE_S)
    rate = found.rate_bps
    queue = queue_of(of, base, rate, stated.buffer_of(rate, base))
    near = at[trips - base < 2.5 * of.packets.wire_bytes * 8 / rate + 5e-4]
    shown = bool(stated.rtt_s) or found.cross > 0 or math.isfinite(handshake) or was_idle(of, base, rate)
    return PathEstimates(
        rate, base, queue, found.cross, _touches(near, base), found.faster, found.not_used, shown
    )


def was_idle(of: Deliveries, base_s: float, rate_bps: float) -> bool:
    """Whether the bottleneck was idle at a time: deliveries then fall behind its rate, and stay behind.

    A loss delays acknowledgments, too, but they catch up.
    """
    shown = of.last >= 0  # others acknowledge what was sent before the capture
    times, last = of.ack_s[shown], of.last[shown]
    if not len(times) or not math.isfinite(rate_bps):
        return True
    delivered = (of.ends + of.packets.header * np.arange(1, len(of.ends) + 1))[last]
    ahead = 8 * delivered / rate_bps - times  # seconds of the bottleneck
    cells = ((times - times[0]) / (base_s / 2)).astype(np.int64)
    most = np.full(int(cells[-1]) + 1, -np.inf)
    np.maximum.at(most, cells, ahead)
    count = len(most) - 2 * _NEAR_CELLS
    before = [most[k : k + _NEAR_CELLS].max() for k in range(max(count, 0))]
    after = [most[k + _NEAR_CELLS : k + 2 * _NEAR_CELLS].max() for k in range(max(count, 0))]
    return bool((np.array(before) - np.array(after) > _IDLE * base_s).any())


def _finite_min(*values: float) -> float:
    return float(np.nanmin(np.array(values))) if not all(map(math.isnan, values)) else math.nan


class _Rate(NamedTuple):
    """The bottleneck's rate, and what `PathEstimates` has of it."""

    rate_bps: float
    cross: float
    faster: float
    not_used: float


_NO_RATE = _Rate(math.nan, 0.0, 0.0, 0.0)


def _rate(size: Floats, gap: Floats, times: Floats) -> _Rate:
    """The rate by the spacing of acknowledgments; NaN if there are too few pairs."""
    single, mode = gap_rates(size, gap)
    if not len(single):
        return _NO_RATE
    faster = float(size[single > mode + _FASTER].sum() / size.sum())
    long, weights = _spans(size, gap, times)
    middle = _weighted_median(long, weights)
    near = np.abs(single - mode) < _WIDTH
    rate = 8 * float(size[near].sum() / gap[near].sum())
    not_used = 1.0 - 8 * float(size.sum() / gap.sum()) / rate
    usual = 8 * size / gap > rate / _PAUSE
    # The packets of another TCP flow come in trains, which most spans are free of.
    cross = 1.0 - 8 * float(size[usual].sum() / gap[usual].sum()) / rate
    if max(cross, 1.0 - math.exp(middle - mode)) < LEAST_CROSS:
        return _Rate(math.exp(middle), 0.0, faster, not_used)
    return _Rate(rate, max(0.0, cross), faster, not_used)


def gap_rates(size: Floats, gap: Floats) -> tuple[Floats, float]:
    """Logarithms of the rate of each pair, and of the bottleneck's; none if there are too few pairs."""
    if len(size) < FEWEST_PAIRS:
        return np.array([]), math.nan
    single = np.log(8 * size / gap)
    return single, _mode(single, size)


def _mode(values: Floats, weights: Floats) -> float:
    """The highest of weighted values around which many others lie.

    Behind packets of other flows a pair is slower, by one packet, two, and so on. That makes peaks below the
    rate, of which one may be the largest.
    """
    low = float(values.min())
    bins = np.bincount(((values - low) / (_WIDTH / 4)).astype(np.int64), weights)
    near = np.convolve(bins, np.ones(_BINS), mode="same") if len(bins) > _BINS else np.array([])
    if not len(near):
        return _weighted_median(values, weights)
    places = np.flatnonzero(near >= max(_PEAK * float(weights.sum()), _PEAK * float(near.max())))
    top = int(places[-1]) if len(places) else int(np.argmax(near))
    while top > 0 and near[top - 1] >= near[top]:
        top -= 1
    centre = low + (top + 0.5) * _WIDTH / 4
    inside = np.abs(values - centre) < _WIDTH
    return _weighted_median(values[inside], weights[inside]) if inside.any() else centre


def _spans(size: Floats, gap: Floats, times: Floats) -> tuple[Floats, Floats]:
    """Logarithms of the rates over longer spans of pairs that follow each other, and their seconds."""
    follows = np.abs(times[1:] - gap[1:] - times[:-1]) < 1e-9
    starts = np.concatenate([[0], np.flatnonzero(~follows) + 1])
    ends = np.concatenate([starts[1:], [len(size)]])
    bits, seconds = np.concatenate([[0], np.cumsum(8 * size)]), np.concatenate([[0], np.cumsum(gap)])
    rates, weights = [], []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        at = start
        while at < end:
            stop = int(np.searchsorted(seconds, seconds[at] + _SPAN_S))
            stop = min(max(stop, at + _SPAN_PAIRS), end)
            took = float(seconds[stop] - seconds[at])
            rates.append(math.log((bits[stop] - bits[at]) / took))
            weights.append(took)
            at = stop
    return np.array(rates), np.array(weights)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _touches(near: Floats, base: float) -> int:
    """Round trips, one after another, in which segments were sent at these times."""
    return len(np.unique((near / max(base, 1e-3)).astype(np.int64)))
