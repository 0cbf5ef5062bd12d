"""Throughput of a bulk flow as its user sees it: payload over the time from its start to its last byte.

A flow that the run's end cuts short, or one without end, counts with what it delivered until then. The mean
over the traffic's flows (RFC 2884, section 5.2: end user throughput).
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _select
from ._connections import of_traffic
from ._range import NON_NEGATIVE

UNIT = "bit/s"
RANGE = NON_NEGATIVE
TABLES = ("objects", "connections")


def measure(run: RunView, *, traffic: str) -> float:
    """Of one traffic entry of the study; NaN if the cell has none."""
    files = _select.objects(run, "file", traffic, warmup=False)
    rates = [8 * files.bytes[files.finished] / files.delay_s[files.finished]]
    done = set(files.client[files.finished].tolist())
    open_ = of_traffic(run, traffic)
    for index, entry in enumerate(open_["traffic"]):
        if int(entry) not in done:
            taken = run.duration_s - float(open_["start_ns"][index]) / 1e9
            delivered = float(open_["bytes_up"][index]) + float(open_["bytes_down"][index])
            rates.append(np.array([8 * delivered / taken]))
    every = np.concatenate(rates)
    return float(np.mean(every)) if len(every) else math.nan
