"""Helper of the metrics that read the one-way delays of packets."""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._select import Floats


def of_each(run: RunView, traffic: str | None) -> list[Floats]:
    """Delays (s) of the packets with payload that arrived in the window, in the order of arrival: of each
    direction of each connection.
    """
    return run.once(("delays", traffic), lambda: _of_each(run, traffic))


def _of_each(run: RunView, traffic: str | None) -> list[Floats]:
    table = run.columns("delays")
    data = np.asarray(table["len"]) > 0
    if traffic is not None:
        own = np.unique(np.asarray(of_traffic(run, traffic)["connection"]))
        data &= np.isin(np.asarray(table["connection"]), own)
    flow = 2 * np.asarray(table["connection"], dtype=np.int64)[data] + np.asarray(table["from_client"])[data]
    delay = np.asarray(table["delay_ns"], dtype=np.float64)[data] / 1e9
    order = np.argsort(flow, kind="stable")
    edges = np.flatnonzero(np.diff(flow[order])) + 1
    return [np.asarray(part) for part in np.split(delay[order], edges) if len(part)]
