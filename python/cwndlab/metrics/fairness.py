"""How competing connections share a bottleneck."""

from __future__ import annotations

import math

import numpy as np

from cwndlab.base.numbers import Floats

from . import RunView
from ._declared import metric
from ._rows import (
    Bools,
    Period,
    Seconds,
    Tolerance,
    delivered_bytes,
    rates_by_interval,
    select_connections,
)


@metric(unit="1", low=0, high=1)
def share(run: RunView, *, traffic: str) -> float:
    r"""Share of the goodput: the part of all delivered payload that one traffic delivers.

    $$ s = \frac{\sum_{i \in \text{traffic}} x_i}{\sum_i x_i} $$

    with \(x_i\) the payload bytes that connection \(i\) delivered in order, both ways. If there is one
    bottleneck, \(s\) is the traffic's share of what it carries, apart from headers.

    `traffic` selects one traffic entry of the study. NaN if the cell lacks it, or if nothing was delivered.
    """
    if not run.traffic(traffic):
        return math.nan
    own, every = (select_connections(run, name) for name in (traffic, None))
    part, total = (float(delivered_bytes(rows).sum()) for rows in (own, every))
    return part / total if total else math.nan


@metric(unit="1", low=0, high=1)
def jain_index(run: RunView, *, traffic: list[str] | None = None) -> float:
    r"""Jain's fairness index of the connections' throughputs.

    $$ J = \frac{\left(\sum_{i=1}^{n} x_i\right)^2}{n \sum_{i=1}^{n} x_i^2} $$

    with \(x_i\) the payload that connection \(i\) delivered in order, both ways. 1: all shares are equal;
    1/n: one connection has everything. Source: Jain, Chiu, Hawe 1984, DEC-TR-301; RFC 2884, section 5.1.

    `traffic` lists the traffic entries whose connections count together; by default, all count. NaN if
    nothing was delivered.
    """
    rows = select_connections(run, *(traffic if traffic is not None else [None]))
    x = delivered_bytes(rows)
    squares = float(np.sum(x**2))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares else math.nan


@metric(unit="s", low=0)
def convergence_time(
    run: RunView, *, traffic: list[str] | None = None, interval: Period, delta: Tolerance = 0.1
) -> float:
    r"""Time to delta-fair: how long competing connections take until their rates are nearly equal.

    $$ t = \min \left\{ e_k - t_0 : \left| \frac{n\,x_{ki}}{\sum_j x_{kj}} - 1 \right| \le \delta
       \text{ for all } i \right\} $$

    with \(x_{ki}\) the goodput of connection \(i\) of \(n\) in the \(k\)-th interval, each `interval`
    (seconds) long, \(e_k\) its end, and \(t_0\) the start of the last connection (or of the window, if
    that is later). For two connections: from the later one's start until each gets between (1 - delta)/2
    and (1 + delta)/2 of their sum. The first such interval counts, even if later ones are unequal.

    `traffic` lists the traffic entries whose connections count together; by default, all count. NaN if there
    is no such interval in which all are open, or there are fewer than two connections.
    """
    entries = tuple(traffic) if traffic is not None else (None,)
    rows = select_connections(run, *entries)
    count = len(rows["connection"])
    if count < 2:
        return math.nan
    last = max(run.start_s, float(np.max(rows["start_ns"])) / 1e9)
    for part, rates in rates_by_interval(run, interval, *entries):
        x = np.array(list(rates.values()))
        if len(x) == count and np.sum(x) > 0 and np.all(np.abs(count * x / np.sum(x) - 1) <= delta):
            return part.end_s - last
    return math.nan


@metric(unit="s", low=0)
def halving_time(run: RunView, *, traffic: str, since: Seconds, interval: Period) -> float:
    r"""Responsiveness: how long after a change of the network a traffic takes to halve its rate.

    $$ t = \min \{ e_k - t_0 : x_k \le \tfrac{1}{2} \bar x_0 \} $$

    with \(t_0\) the time of the change (`since`, in seconds from the start of the run), \(\bar x_0\) the
    mean goodput of the traffic's connections together in the intervals before the change, \(x_k\) their
    goodput in the \(k\)-th interval that begins at the change or later, and \(e_k\) the end of that interval.
    Every interval is `interval` seconds long.

    `traffic` selects one traffic entry of the study. NaN if it delivered nothing before the change, or never
    halves its rate.
    """
    before, after = [], []
    for part in run.parts(interval):
        rows = select_connections(part, traffic)
        rate = 8.0 * float(delivered_bytes(rows).sum()) / part.seconds
        if part.end_s <= since:
            before.append(rate)
        elif part.start_s >= since:
            after.append((part.end_s, rate))
    half = float(np.mean(before)) / 2 if before else 0.0
    return next((end - since for end, rate in after if rate <= half), math.nan) if half > 0 else math.nan


#: States of a sender in which it has reduced its rate.
REDUCED = ("cwr", "recovery", "loss")


@metric(unit="1", low=0, high=1, tables=["connections", "cwnd"])
def synchronization(run: RunView, *, traffic: list[str] | None = None, span: Period) -> float:
    r"""Synchronization: how many of the competing connections reduce their rate at the same congestion event.

    $$ s = \frac{1}{m} \sum_{k=1}^{m} \frac{r_k}{n_k} $$

    over the \(m\) events of the window, with \(r_k\) the number of connections that reduce their rate in
    event \(k\) and \(n_k\) the number of connections open then. A reduction is the change of a sender's state
    from `open` or `disorder` to `cwr`, `recovery` or `loss` (probe `cwnd`). An event begins with a reduction
    that belongs to no earlier event, and lasts `span` seconds: choose about a round-trip time with a full
    buffer. 1: all reduce together; 1/n: each reduces alone. "Loss Synchronization of TCP Connections at a
    Shared Bottleneck Link" (Washington University in St. Louis, 2006) instead counts the connections that
    lose a packet.

    `traffic` lists the traffic entries whose connections count together; by default, all count. NaN if there
    is no reduction while at least two connections are open.
    """
    rows = select_connections(run, *(traffic if traffic is not None else [None]))
    serials, start = rows["connection"], np.asarray(rows["start_ns"], dtype=np.float64)
    ended = np.asarray(rows["end_ns"], dtype=np.float64)
    end = np.where((ended < 0) | np.isnan(ended), np.inf, ended)
    time, connection = _reductions(run, np.isin(run.columns("cwnd")["connection"], serials))
    shares, first = [], 0
    while first < len(time):
        last = int(np.searchsorted(time, time[first] + span * 1e9, side="right"))
        open_ = int(np.sum((start <= time[first]) & (time[first] <= end)))
        if open_ > 1:
            shares.append(min(1.0, len(np.unique(connection[first:last])) / open_))
        first = last
    return float(np.mean(shares)) if shares else math.nan


def _reductions(run: RunView, mine: Bools) -> tuple[Floats, Floats]:
    """Time (ns) and connection of every reduction among these rows (`mine`), in the order of time."""
    table = run.columns("cwnd")
    time = np.asarray(table["time_ns"], dtype=np.float64)[mine]
    sender = np.asarray(table["connection"], dtype=np.int64)[mine] * 2 + table["from_client"][mine]
    reduced = np.isin(table["state"][mine].astype(str), REDUCED)
    order = np.lexsort((np.arange(len(time)), sender))
    sender, reduced, time = sender[order], reduced[order], time[order]
    enters = np.zeros(len(time), dtype=np.bool_)
    enters[1:] = reduced[1:] & ~reduced[:-1] & (sender[1:] == sender[:-1])
    at = np.flatnonzero(enters)
    at = at[np.argsort(time[at], kind="stable")]
    return time[at], np.asarray(sender[at] // 2, dtype=np.float64)
