"""The rate of a bottleneck by the spacing of acknowledgments of segments that waited behind each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cwndlab.apps.diagnosis.bottleneck import Bottleneck, size_text
from cwndlab.apps.diagnosis.conversation import Conversation

from .deliveries import Deliveries
from .flow_packets import Floats, of_conversation

#: Pairs of acknowledgments with a queue between them below which the spacing shows no rate.
FEWEST_PAIRS = 30
#: Rates this close are one peak of their distribution, in quarters of which they are counted.
_WIDTH, _BINS = 0.015, 8
#: Acknowledgments this many times later than at the rate did not wait for other packets, but for a timer.
_PAUSE = 20
#: Segments faster than the bottleneck by so much were not paced by it.
_FASTER = 0.03
#: A peak has this share of all, and of the largest peak, at least.
_PEAK = 0.1
#: A span of acknowledgments that is long enough to average over other flows' packets.
_SPAN_S, _SPAN_PAIRS = 0.02, 20
#: From this share of the bottleneck on, other traffic is part of the fit.
LEAST_CROSS = 0.015


#: The least base round trip that the clocks of a capture show.
_LEAST_BASE_S = 1e-6
#: Share of the data that arrives faster than the bottleneck's rate at most, and of the rate that a flow with
#: a queue leaves unused at most, or else it is not the rate.
MOST_FASTER, MOST_UNUSED = 0.05, 0.95
#: Packets that an estimate of the bottleneck needs at most, and the share of round trips with a late
#: acknowledgment.
_MOST_PACKETS, _LATE = 200_000, 0.005


class BottleneckRate(NamedTuple):
    """The bottleneck's rate; NaN if the packets do not show it."""

    rate_bps: float
    #: Share of it that others used while this flow had a queue.
    cross: float
    #: Share of the bytes that arrived faster.
    faster: float
    #: Share of it that was not this flow's while it had a queue, pauses included.
    not_used: float


UNKNOWN_RATE = BottleneckRate(math.nan, 0.0, 0.0, 0.0)


def measure_rate(size: Floats, gap: Floats, times: Floats) -> BottleneckRate:
    """The rate by the spacing of acknowledgments; NaN if there are too few pairs."""
    single, mode = gap_rates(size, gap)
    if not len(single):
        return UNKNOWN_RATE
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
        return BottleneckRate(math.exp(middle), 0.0, faster, not_used)
    return BottleneckRate(rate, max(0.0, cross), faster, not_used)


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


def measure_base_and_rate(of: Deliveries, stated_s: float | None = None) -> tuple[float, BottleneckRate]:
    """The base round trip, unless it is stated, and the rate; each needs the other."""
    handshake, (_, trips) = of.packets.handshake_s, of.trips(prompt=False)
    shortest = float(trips.min()) if len(trips) else math.nan
    base, found = stated_s or finite_min(handshake, shortest), UNKNOWN_RATE
    for _ in range(2):
        found = measure_rate(*of.spacing(base))
        if math.isnan(found.rate_bps):
            break
        less = shortest - of.packets.wire_bytes * 8 / found.rate_bps
        base = stated_s or max(finite_min(handshake, less), _LEAST_BASE_S)
    return base, found


def bottleneck_of(conversation: Conversation) -> Bottleneck | None:
    """The bottleneck as a capture at the sender shows it; None if it does not."""
    if conversation.seen_at != "sender" or conversation.steps or conversation.tick_ns or conversation.one_way:
        return None
    begin = replace(conversation, packets=conversation.packets[:_MOST_PACKETS])
    of = Deliveries(of_conversation(begin))
    base, found = measure_base_and_rate(of)
    rate = found.rate_bps
    if math.isnan(rate) or found.faster > MOST_FASTER or found.not_used > MOST_UNUSED:
        return None
    trips = of.trips(prompt=True)[1]
    waits = np.maximum(trips - base - of.packets.wire_bytes * 8 / rate, 0.0)
    longest = float(np.quantile(waits, 1 - _LATE)) * rate / 8 + of.packets.wire_bytes if len(waits) else 0.0
    others = f"other traffic took {100 * found.cross:.0f} % of it" if found.cross > LEAST_CROSS else ""
    return Bottleneck(rate, base, f"at least {size_text(longest)}", others, estimated=True)


def finite_min(*values: float) -> float:
    """The least of values, apart from NaN."""
    return float(np.nanmin(np.array(values))) if not all(map(math.isnan, values)) else math.nan
