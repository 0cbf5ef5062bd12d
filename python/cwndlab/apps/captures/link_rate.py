"""The rate of a bottleneck, estimated from the spacing of acknowledgments of segments that queued."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cwndlab.apps.diagnosis.bottleneck import Bottleneck, size_text
from cwndlab.apps.diagnosis.conversation import Conversation

from .deliveries import Deliveries
from .flow_packets import Floats, of_conversation

#: With fewer pairs of acknowledgments of queued segments, no rate is estimated.
FEWEST_PAIRS = 30
#: Half the width of a peak among log rates, and how many bins, each a quarter as wide, count for a peak.
_WIDTH, _BINS = 0.015, 8
#: A gap between acknowledgments this many times longer than at the bottleneck rate is a timer, not a queue.
_PAUSE = 20
#: Segments whose log rate exceeds the bottleneck's by this much were not paced by the bottleneck.
_FASTER = 0.03
#: The least weight of a peak, as a share of the total weight and of the largest peak.
_PEAK = 0.1
#: Seconds and pairs over which a rate is averaged, so that packets of other flows even out.
_SPAN_S, _SPAN_PAIRS = 0.02, 20
#: A smaller share of cross traffic is reported as 0.
LEAST_CROSS = 0.015


#: The least base round trip, in seconds, that the clock of a capture resolves.
_LEAST_BASE_S = 1e-6
#: Largest `faster` and `not_used` with which an estimated rate is accepted.
MOST_FASTER, MOST_UNUSED = 0.05, 0.95
#: Packets used for a bottleneck estimate at most, and the share of round trips taken as late acknowledgments.
_MOST_PACKETS, _LATE = 200_000, 0.005


class BottleneckRate(NamedTuple):
    """The estimated bottleneck rate; `rate_bps` is NaN if the packets do not show it."""

    rate_bps: float
    #: Share of the rate that other flows used while this flow had a queue.
    cross: float
    #: Share of the bytes that arrived faster than the rate.
    faster: float
    #: Share of the rate that this flow did not use while it had a queue, pauses included.
    not_used: float


UNKNOWN_RATE = BottleneckRate(math.nan, 0.0, 0.0, 0.0)


def measure_rate(size: Floats, gap: Floats, times: Floats) -> BottleneckRate:
    """The bottleneck rate from the samples of `Deliveries.spacing`; NaN if there are too few pairs."""
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
    # Packets of another TCP flow come in trains, and most spans contain none of them.
    cross = 1.0 - 8 * float(size[usual].sum() / gap[usual].sum()) / rate
    if max(cross, 1.0 - math.exp(middle - mode)) < LEAST_CROSS:
        return BottleneckRate(math.exp(middle), 0.0, faster, not_used)
    return BottleneckRate(rate, max(0.0, cross), faster, not_used)


def gap_rates(size: Floats, gap: Floats) -> tuple[Floats, float]:
    """Log rates of the pairs (bit/s), and of the bottleneck; empty and NaN if there are too few pairs."""
    if len(size) < FEWEST_PAIRS:
        return np.array([]), math.nan
    single = np.log(8 * size / gap)
    return single, _mode(single, size)


def _mode(values: Floats, weights: Floats) -> float:
    """The value of the highest significant peak of a weighted distribution.

    Each packet of another flow between a pair lowers its rate. This makes further peaks below the
    bottleneck's rate, and one of them may be the largest.
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
    """Logarithms of the rates over spans of consecutive pairs, and the length of each span in seconds."""
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
    """The base round trip in s (`stated_s` if given) and the bottleneck rate, which depend on each other."""
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
    """The bottleneck that a capture at the sender shows; None if it shows none."""
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
    """The least of the values that are not NaN; NaN if none is left."""
    return float(np.nanmin(np.array(values))) if not all(map(math.isnan, values)) else math.nan
