r"""Round-trip time that the senders of a traffic measure: the mean over time of the smoothed one.

$$ \bar r = \frac{1}{T} \int r(t)\,dt $$

over the window (from the first measurement on, to the connection's end), with \(r\) the sender's
estimate (RFC 6298) whenever its window changed (probe `cwnd`); the mean over the traffic's senders.
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView, _select
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("connections", "cwnd")


def measure(run: RunView, *, traffic: str) -> float:
    """Of one traffic entry of the study, by the end that sends more; NaN if nothing was measured."""
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
    known = [mean for mean in means if math.isfinite(mean)]
    return float(np.mean(known)) if known else math.nan


def _mean(time: _select.Floats, value: _select.Floats, end: float) -> float:
    """Mean of a step function from its first value to `end`."""
    lasts = np.maximum(np.append(time[1:], end) - time, 0.0)
    total = float(np.sum(lasts))
    return float(np.sum(value * lasts)) / total if total else math.nan
