"""Delay of packets, and round-trip times."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from cwndlab.base.numbers import Floats

from . import RunView
from ._declared import metric
from ._rows import WholeNumber, delays_by_direction, segment_events


@metric(unit="s", low=0, many=True, tables=["connections", "delays"])
def one_way_delay(run: RunView, *, traffic: str | None = None) -> Floats:
    """One-way delay of packets: from sending at one end to arrival at the other.

    $$ D_i = t_{received,i} - t_{sent,i} $$

    Every packet with payload that arrives in the window counts. The delay includes queueing, transmission,
    propagation and extra delays of the whole path. A packet sent again counts again; a lost packet has no
    delay. Delays are recorded to 16 ns. Reduce them by `within` (mean, p95). For an application that sends
    datagrams over a QUIC stack, the delays are those of its datagrams, including their waiting time at the
    sender.

    `traffic` selects one traffic entry of the study; by default, all count.
    """
    return np.concatenate([np.zeros(0), *delays_by_direction(run, traffic)])


@metric(unit="s", low=0, many=True, tables=["connections", "delays"])
def delay_variation(
    run: RunView, *, traffic: str | None = None, form: Literal["pdv", "ipdv"] = "pdv"
) -> Floats:
    r"""Delay variation of packets: one-way delays compared with the smallest, or with that of the packet
    before.

    $$ \text{pdv}_i = D_i - \min_j D_j \qquad \text{ipdv}_i = |D_i - D_{i-1}| $$

    with \(D_i\) the one-way delays (`one_way_delay`) of one direction of a connection in the window, in
    the order of arrival. `form = "pdv"` compares with the smallest of these, `form = "ipdv"` with the packet
    before, without the sign. RFC 5481 discusses both as forms of the variation of RFC 3393, which has a sign.
    Reduce it by `within` (p95, p99).

    `traffic` selects one traffic entry of the study; by default, all count.
    """
    parts = [
        np.abs(np.diff(delays)) if form == "ipdv" else delays - delays.min()
        for delays in delays_by_direction(run, traffic)
    ]
    return np.concatenate([np.zeros(0), *parts])


@metric(unit="s", low=0, many=True, tables=["segments"])
def delivery_times(run: RunView, *, connection: WholeNumber = 0) -> list[float]:
    """Times at which packets 1, 2, … were delivered in order, seen from the observation point.

    Packet N counts as delivered when the first acknowledgment that covers it is seen, so the times include
    the acknowledgment's way to the observation point. This delay cancels in differences between cells in
    which acknowledgments take the same path.

    Element N - 1 is the time of packet N, up to the last packet acknowledged. In a window that begins later,
    the first element is the first packet delivered in the window.
    """
    acks = segment_events(run, "ack", connection=connection, history=True)
    if not len(acks["segment"]):
        return []
    highest = np.maximum.accumulate(acks["segment"])
    wanted = np.arange(1, highest[-1] + 1)
    times = acks["time_s"][np.searchsorted(highest, wanted)]
    return [float(time) for time in times[times >= run.start_s]]


@metric(unit="s", low=0, tables=["connections", "cwnd"])
def round_trip(run: RunView, *, traffic: str) -> float:
    r"""Round-trip time that the senders of a traffic measure: the mean over time of the smoothed one.

    $$ \bar r = \frac{1}{T} \int r(t)\,dt $$

    over the window (from the first measurement to the connection's end), with \(r\) the sender's estimate
    (RFC 6298), recorded whenever its window changes (probe `cwnd`). The value is the mean over the traffic's
    senders; of each connection, only the end that sends more counts.

    `traffic` selects one traffic entry of the study. NaN if nothing was measured.
    """
    connections, table = run.columns("connections"), run.columns("cwnd")
    srtt = np.asarray(table["srtt_ns"], dtype=np.float64)
    time = np.asarray(table["time_ns"], dtype=np.float64)
    means = []
    for row in np.flatnonzero(np.isin(connections["traffic"], run.traffic(traffic))):
        up = connections["bytes_up"][row] >= connections["bytes_down"][row]
        chosen = np.asarray(table["connection"]) == connections["connection"][row]
        chosen &= (np.asarray(table["from_client"]) == up) & (srtt > 0)
        ended = float(connections["end_ns"][row])
        end = ended if ended >= 0 else run.end_s * 1e9
        means.append(_mean(time[chosen], srtt[chosen] / 1e9, end))
    finite = [mean for mean in means if math.isfinite(mean)]
    return float(np.mean(finite)) if finite else math.nan


def _mean(time: Floats, value: Floats, end: float) -> float:
    """Mean of a step function from its first value to `end`."""
    lasts = np.maximum(np.append(time[1:], end) - time, 0.0)
    total = float(np.sum(lasts))
    return float(np.sum(value * lasts)) / total if total else math.nan
