"""From SYN to the end of each connection that ended, by how many segments it had to send again.

`retransmits_at_least` and `retransmits_at_most` choose connections by the segments sent again at both ends.
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._connections import of_traffic

UNIT = "s"
TABLES = ("connections",)


def measure(
    run: RunView,
    *,
    traffic: str | None = None,
    retransmits_at_least: int = 0,
    retransmits_at_most: int | None = None,
) -> list[float]:
    """See the module, in the order of the records."""
    table = of_traffic(run, traffic)
    end = np.asarray(table["end_ns"], dtype=np.float64)
    again = np.asarray(table["retransmits"])
    chosen = np.isfinite(end) & (again >= retransmits_at_least)
    if retransmits_at_most is not None:
        chosen &= again <= retransmits_at_most
    durations: list[float] = ((end - np.asarray(table["start_ns"], dtype=np.float64))[chosen] / 1e9).tolist()
    return durations
