"""Throughput of a bulk flow as its user sees it: payload over the time from its start to its last byte.

A flow that the window's end cuts short, or one without end, counts with what it delivered until then; one
that was under way when the window began, from then on. The mean over the traffic's flows (RFC 2884,
section 5.2: end user throughput).
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _select
from ._connections import delivered_bytes, of_traffic
from ._range import NON_NEGATIVE

UNIT = "bit/s"
RANGE = NON_NEGATIVE
TABLES = ("objects", "connections")


def measure(run: RunView, *, traffic: str) -> float:
    """Of one traffic entry of the study; NaN if the cell has none."""
    files = _select.objects(run, "file", traffic)
    rates = [8 * files.bytes[files.finished] / files.delay_s[files.finished]]
    done = set(files.client[files.finished].tolist())
    flows = of_traffic(run, traffic)
    for index in np.flatnonzero([entry not in done for entry in flows["traffic"].tolist()]):
        begin = max(float(flows["start_ns"][index]), run.start_s * 1e9)
        ended = float(flows["end_ns"][index])
        taken = (ended if ended >= 0 else run.end_s * 1e9) - begin
        rates.append(np.array([8e9 * float(delivered_bytes(flows)[index]) / taken]))
    every = np.concatenate(rates)
    return float(np.mean(every)) if len(every) else math.nan
