"""The square-root law: window halvings, and the constant of Mathis's formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cwndlab.base.numbers import Floats

from . import RunView
from ._declared import metric
from ._rows import delivered_bytes, once_per_window, select_connections

#: The interval, in seconds, at which the window is sampled.
Sampling = Annotated[float, Field(gt=0)]
#: Payload bytes of a full segment.
SegmentBytes = Annotated[int, Field(ge=1)]


class _Sender(NamedTuple):
    """The records of one connection's sender: times (ns), windows (bytes), smoothed round-trip times (s)."""

    time: NDArray[Any]
    cwnd: NDArray[Any]
    srtt: Floats


@once_per_window
def _senders(run: RunView, traffic: str) -> list[_Sender]:
    """The end that sends more data, for each connection of a traffic entry, in the order of its rows."""
    rows, table = select_connections(run, traffic), run.columns("cwnd")
    sends_up = rows["bytes_up"] >= rows["bytes_down"]
    end = np.asarray(rows["connection"], dtype=np.int64) * 2 + sends_up
    recorded = np.asarray(table["connection"], dtype=np.int64) * 2 + table["from_client"]
    order = np.argsort(recorded, kind="stable")
    first = np.searchsorted(recorded[order], end, side="left")
    last = np.searchsorted(recorded[order], end, side="right")
    time, cwnd = np.asarray(table["time_ns"])[order], np.asarray(table["cwnd_bytes"])[order]
    srtt = np.asarray(table["srtt_ns"], dtype=np.float64)[order] / 1e9
    return [
        _Sender(time[a:b], cwnd[a:b], np.where(srtt[a:b] > 0, srtt[a:b], math.nan))
        for a, b in zip(first, last, strict=True)
    ]


def _local_maxima(sender: _Sender, every_ns: float) -> int:
    """The number of local maxima of a window read every `every_ns`; equal consecutive readings count once."""
    sample = np.append(np.ceil(sender.time / every_ns), np.inf)
    seen = sample[1:] != sample[:-1]  # of several changes between two readings, only the last is seen
    steps = np.diff(sender.cwnd[seen].astype(np.int64))
    rises = np.sign(steps[steps != 0])
    return int(np.count_nonzero(np.diff(rises) == -2))


@once_per_window
def _halvings(run: RunView, traffic: str, sampling: float) -> Floats:
    return np.array([_local_maxima(s, sampling * 1e9) for s in _senders(run, traffic)], dtype=np.float64)


def _round_trips(run: RunView, traffic: str) -> Iterator[float]:
    """Mean of each sender's smoothed round-trip time (s), read once a second in whole milliseconds."""
    seconds = np.arange(math.floor(run.start_s) + 1, math.floor(run.end_s) + 1) * 1e9
    for sender in _senders(run, traffic):
        last = np.searchsorted(sender.time, seconds, side="right") - 1
        read = np.floor(sender.srtt[last[last >= 0]] * 1e3) / 1e3
        read = read[np.isfinite(read)]
        yield float(np.mean(read)) if len(read) else math.nan


@metric(unit="halvings", low=0, count=True, tables=["connections", "cwnd"])
def window_halvings(run: RunView, *, traffic: str, sampling: Sampling = 0.01) -> float:
    """Window halvings: local maxima of the senders' congestion windows, sampled at an interval.

    The window is read every `sampling` seconds. A reading counts if the window has risen to it and falls
    after it; of equal readings in a row, one counts. This follows vinitaparasrampuria/IMC-Revisiting-TCP
    (`mathis_constant_cal.py`), which reads iperf3's windows every 10 ms; iperf3 prints three digits.

    `traffic` selects one traffic entry of the study, over whose connections the number is summed. NaN if the
    cell has no such traffic.
    """
    return float(np.sum(_halvings(run, traffic, sampling))) if run.traffic(traffic) else math.nan


@metric(unit="1", low=0, tables=["connections", "cwnd"])
def mathis_constant(
    run: RunView,
    *,
    traffic: str,
    by: Literal["losses", "halvings", "drops"],
    segment_bytes: SegmentBytes = 1448,
    sampling: Sampling = 0.01,
) -> float:
    r"""Mathis constant: the C of throughput = C · segment / (RTT · √p), fitted over the connections.

    $$ C = \frac{\sum_i x_i y_i}{\sum_i x_i^2}, \qquad x_i = \frac{8\,s}{r_i \sqrt{p_i}} $$

    with \(y_i\) the goodput of connection \(i\), \(s\) the payload of a segment and \(r_i\) the mean of the
    smoothed round-trip time, read once a second in whole milliseconds. \(p_i\) is a number of events per data
    segment that the connection sent, retransmissions included. `by` chooses the events: segments sent again
    (`losses`), window halvings (`halvings`, as `window_halvings` counts them), or packets that links dropped
    (`drops`), whose rate is that of all the connections together. The fit is a regression through the origin,
    as in vinitaparasrampuria/IMC-Revisiting-TCP (`mathis_constant_cal.py`); formula: Mathis, Semke, Mahdavi,
    Ott 1997.

    `traffic` selects one traffic entry of the study. Connections without such an event are left out. NaN if
    none is left.
    """
    if not run.traffic(traffic):
        return math.nan
    rows = select_connections(run, traffic)
    again = np.asarray(rows["retransmits"], dtype=np.float64)
    payload = np.asarray(delivered_bytes(rows), dtype=np.float64)
    sent = payload / segment_bytes + again
    if by == "losses":
        events = again
    elif by == "halvings":
        events = _halvings(run, traffic, sampling)
    else:
        events = sent * float(np.sum(rows["drops"])) / float(np.sum(sent))
    trips = np.array(list(_round_trips(run, traffic)))
    measurable = (events > 0) & (trips > 0)
    x = 8 * segment_bytes / (trips[measurable] * np.sqrt(events[measurable] / sent[measurable]))
    y = 8 * payload[measurable] / run.seconds
    return float(np.sum(x * y) / np.sum(x**2)) if len(x) else math.nan
