"""ACK numbers repeated at least three times at the observation point, as tcptrace counts triple dupacks.

A sender that retransmits at the third duplicate has as many fast retransmits, unless its window or a recovery
forbids one. RFC 2884, section 5.2, infers retransmissions due to timeouts as all less these.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._connections import of_traffic
from ._range import COUNT

UNIT = "ACKs"
RANGE = COUNT
TABLES = ("segments", "connections")


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all; NaN if the cell has none."""
    if traffic is not None and not run.traffic(traffic):
        return math.nan
    table = run.columns("segments")
    mine = np.isin(table["connection"], of_traffic(run, traffic)["connection"])
    repeats = mine & (np.asarray(table["event"]) == "dupack") & (np.asarray(table["len"]) == 0)
    sender = (
        np.asarray(table["connection"], dtype=np.int64)[repeats] * 2
        + np.asarray(table["from_client"])[repeats]
    )
    numbers = np.stack((sender, np.asarray(table["ack"], dtype=np.int64)[repeats]))
    _, times = np.unique(numbers, axis=1, return_counts=True)
    return float(np.count_nonzero(times >= 3))
