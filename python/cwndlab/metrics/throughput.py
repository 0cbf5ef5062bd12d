"""Throughput and goodput of flows, and utilization of links."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from . import RunView
from ._declared import metric
from ._rows import (
    Kind,
    Period,
    Pool,
    Transferred,
    delivered_bytes,
    link_counters,
    objects,
    pooled_median,
    select_connections,
)


@metric(unit="bit/s", low=0)
def goodput(run: RunView, *, traffic: str | None = None) -> float:
    """Goodput: payload bytes delivered in order (both directions), times 8, per second.

    Bytes that arrive after a lost segment count when its retransmission arrives, because the application gets
    them only then. So the goodput of a window shorter than a recovery can exceed the link's rate.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if the cell has no such
    traffic.
    """
    if traffic is not None and not run.traffic(traffic):
        return math.nan
    return float(delivered_bytes(select_connections(run, traffic)).sum()) * 8.0 / run.seconds


@metric(unit="bit/s", low=0, many=True)
def goodput_series(run: RunView, *, traffic: str | None = None, interval: Period) -> list[float]:
    """Goodput over time: of a traffic's connections together, in each interval of the window.

    Payload bytes delivered in order, both ways, times 8, over the interval's length. After a loss is
    repaired, this can exceed the link's rate. A figure with `x = "index"` draws it: point k is the k-th
    interval of length `interval` (seconds).

    `traffic` selects one traffic entry of the study; by default, all count. The values are in the order of
    time.
    """
    rates = []
    for part in run.parts(interval):
        rows = select_connections(part, traffic)
        rates.append(8.0 * float(delivered_bytes(rows).sum()) / part.seconds)
    return rates


@metric(unit="bit/s", low=0, tables=["objects", "connections"])
def flow_throughput(run: RunView, *, traffic: str) -> float:
    """Throughput of a bulk flow as its user sees it: payload over the time from its start to its last byte.

    If a flow has not finished when the window ends, its payload and time until then count. If it began before
    the window, its payload and time since the window's beginning count. The value is the mean over the
    traffic's flows (RFC 2884, section 5.2: end user throughput).

    `traffic` selects one traffic entry of the study. NaN if the cell has no such traffic.
    """
    files = objects(run, "file", traffic)
    rates = [8 * files.bytes[files.finished] / files.delay_s[files.finished]]
    done = set(files.client[files.finished].tolist())
    flows = select_connections(run, traffic)
    for index in np.flatnonzero([entry not in done for entry in flows["traffic"].tolist()]):
        begin = max(float(flows["start_ns"][index]), run.start_s * 1e9)
        ended = float(flows["end_ns"][index])
        taken = (ended if ended >= 0 else run.end_s * 1e9) - begin
        rates.append(np.array([8e9 * float(delivered_bytes(flows)[index]) / taken]))
    every = np.concatenate(rates)
    return float(np.mean(every)) if len(every) else math.nan


_COMPLETED: tuple[Kind, ...] = ("page", "file", "transaction")
_COLUMNS = {"down": ("bytes_down",), "up": ("bytes_up",), "both": ("bytes_up", "bytes_down")}


@metric(unit="B", low=0, tables=["objects", "connections"])
def transferred(
    run: RunView,
    *,
    traffic: str | None = None,
    count: Transferred = "delivered",
    direction: Literal["down", "up", "both"] = "both",
) -> float:
    """Payload bytes that reached the applications in order.

    `count` is `delivered` (of every connection, finished or not) or `completed` (of finished pages, files and
    transactions, regardless of `direction`). `direction` is `down` (to the client), `up` (to the server) or
    `both`.

    NaN if the cell has no such traffic.
    """
    if len(run.traffic(traffic)) == 0:
        return math.nan
    if count == "completed":
        kinds = [objects(run, kind, traffic) for kind in _COMPLETED]
        return float(sum(o.bytes[o.finished].sum() for o in kinds))
    table = select_connections(run, traffic)
    return float(sum(np.asarray(table[c], dtype=np.float64).sum() for c in _COLUMNS[direction]))


@metric(unit="1", low=0, high=1, tables=["links"])
def link_utilization(run: RunView, *, link: str | None = None) -> float:
    r"""Link utilization: the share of the time in which the link's transmitter was busy.

    $$ U = \frac{t_{busy}}{T} $$

    If the rate changes, pauses in which a packet waits for the link count as busy, too.

    `link` is a direction, such as "n1>n0".
    """
    return link_counters(run, link, "busy_ns")["busy_ns"] / (run.seconds * 1e9)


@metric(unit="1/s", low=0, tables=["links"])
def arrival_rate(run: RunView, *, link: str | None = None) -> float:
    r"""Arrival rate at a link: packets offered to it per second, dropped ones included.

    $$ a = \frac{\text{arrivals}}{T} $$

    All kinds of packets count. At a bottleneck that only data passes, this is the sending rate of the flows.

    `link` is a direction, such as "n1>n0".
    """
    return link_counters(run, link, "arrivals")["arrivals"] / run.seconds


@metric(unit="MB/s", low=0, tables=["objects", "connections"])
def network_power(
    run: RunView,
    *,
    kind: Kind = "page",
    traffic: str | None = None,
    count: Transferred = "delivered",
    pool: Pool = "all",
) -> float:
    r"""Network power: the bytes transferred over the median delay (Kleinrock 1979; RFC 2415, section 3).

    $$ P = \frac{B}{\tilde{d}} $$

    with \(B\) the megabytes transferred to clients (see `transferred`) and \(\tilde d\) the median delay of
    pages (`kind = "page"`) or files (`kind = "file"`) in seconds. RFC 2415 states the unit "Mbytes/ms", but
    its tables agree only with the megabytes of a run per second of delay (8 webs, 1 ftp: about 41 MB over 8.8
    s = 4.7). The *normalized* power of RFC 2415 is the ratio to the same cell at IW = 1, in a study `compare
    = "ratio(iw=1)"`.

    NaN if there is no such traffic.
    """
    delay = pooled_median(run, kind, traffic, pool)
    megabytes = transferred(run, traffic=traffic, count=count, direction="down") / 1e6
    return megabytes / delay if delay > 0 else math.nan
