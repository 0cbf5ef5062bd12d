"""Estimates of a path from a flow's packets: rate, base round trip, buffer, random loss, cross traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats
from cwndlab.apps.captures.link_rate import measure_base_and_rate

from .full_queue import QueueEstimates, queue_of
from .stated_parameters import NOTHING_STATED, StatedParameters

#: Cells of half a base round trip, before and after a time, in which deliveries can catch up; and how far, in
#: base round trips, deliveries stay behind after the bottleneck was idle.
_NEAR_CELLS, _IDLE = 20, 0.25


@dataclass(frozen=True)
class PathEstimates:
    """Estimated parameters of a path; NaN for what the packets do not show."""

    rate_bps: float
    base_s: float
    queue: QueueEstimates
    #: Share of the bottleneck's rate that other flows use while this flow has a queue.
    cross: float
    #: Round trips that reached the least time; if few did, all of them may have met a queue.
    touches: int
    #: Share of the bytes that arrived faster than the rate.
    faster: float
    #: Share of the rate that this flow did not use while it had a queue, pauses included.
    not_used: float
    #: Whether the capture has the handshake, or a time at which the bottleneck was idle.
    base_shown: bool = True


def estimate_path(of: Deliveries, stated: StatedParameters = NOTHING_STATED) -> PathEstimates:
    """The direct estimates; a stated base round trip or buffer replaces its estimate."""
    handshake, (at, trips) = of.packets.handshake_s, of.trips(prompt=False)
    base, found = measure_base_and_rate(of, stated.rtt_s)
    rate = found.rate_bps
    queue = queue_of(of, base, rate, stated.buffer_of(rate, base))
    near = at[trips - base < 2.5 * of.packets.wire_bytes * 8 / rate + 5e-4]
    shown = bool(stated.rtt_s) or found.cross > 0 or math.isfinite(handshake) or was_idle(of, base, rate)
    return PathEstimates(
        rate, base, queue, found.cross, _touches(near, base), found.faster, found.not_used, shown
    )


def was_idle(of: Deliveries, base_s: float, rate_bps: float) -> bool:
    """Whether the bottleneck was idle at some time: deliveries then fall behind its rate permanently.

    A loss also delays acknowledgments, but deliveries catch up again.
    """
    shown = of.last >= 0  # the other acknowledgments are for data sent before the capture
    times, last = of.ack_s[shown], of.last[shown]
    if not len(times) or not math.isfinite(rate_bps):
        return True
    delivered = (of.ends + of.packets.header * np.arange(1, len(of.ends) + 1))[last]
    ahead = 8 * delivered / rate_bps - times  # seconds of transmission at the bottleneck
    cells = ((times - times[0]) / (base_s / 2)).astype(np.int64)
    most = np.full(int(cells[-1]) + 1, -np.inf)
    np.maximum.at(most, cells, ahead)
    count = len(most) - 2 * _NEAR_CELLS
    before = [most[k : k + _NEAR_CELLS].max() for k in range(max(count, 0))]
    after = [most[k + _NEAR_CELLS : k + 2 * _NEAR_CELLS].max() for k in range(max(count, 0))]
    return bool((np.array(before) - np.array(after) > _IDLE * base_s).any())


def _touches(near: Floats, base: float) -> int:
    """The number of distinct round trips in which segments were sent at these times."""
    return len(np.unique((near / max(base, 1e-3)).astype(np.int64)))
