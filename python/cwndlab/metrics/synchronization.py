r"""Synchronization: how many of the competing connections reduce their rate at the same congestion event.

$$ s = \frac{1}{m} \sum_{k=1}^{m} \frac{r_k}{n_k} $$

over the \(m\) events of the window, with \(r_k\) the connections that enter a reduction in event \(k\) and
\(n_k\) those that are open then. A connection enters one when its sender goes from the state `open` or
`disorder` to `cwr`, `recovery` or `loss` (probe `cwnd`). An event begins with a reduction that belongs to no
earlier event, and lasts `span` seconds: choose about a round-trip time with a full buffer. 1: all reduce
together; 1/n: always one alone. "Loss Synchronization of TCP Connections at a Shared Bottleneck Link"
(Washington University in St. Louis, 2006) defines it by the connections that lose a packet.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._options import Interval
from ._range import SHARE
from ._select import Bools, Floats

UNIT = "1"
RANGE = SHARE
TABLES = ("connections", "cwnd")

#: States of a sender that has reduced its rate.
REDUCED = ("cwr", "recovery", "loss")


def measure(run: RunView, *, traffic: list[str] | None = None, span: Interval) -> float:
    """Of the connections of these traffic entries together, or of all; NaN without a reduction, and where
    fewer than two connections are open.
    """
    rows = of_traffic(run, *(traffic if traffic is not None else [None]))
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
    """Time (ns) and connection of every reduction, in the order of time."""
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
