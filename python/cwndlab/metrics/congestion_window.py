"""Congestion windows that senders recorded."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from . import RunView
from ._declared import metric
from ._rows import select_connections


@metric(unit="segments", low=0, tables=["connections", "cwnd"])
def largest_window(run: RunView, *, traffic: str, segment_bytes: Annotated[int, Field(ge=1)] = 1448) -> float:
    """Largest congestion window: the most that a congestion window allowed, in segments.

    The largest of all windows that the senders of one traffic entry recorded, whether or not they were used,
    divided by `segment_bytes`. For each connection, only the end that sends more counts. A window is recorded
    whenever it or the sender's state changes. NaN if the cell has no such connection, or no window was
    recorded.
    """
    rows, table = select_connections(run, traffic), run.columns("cwnd")
    sends_up = np.asarray(rows["bytes_up"] >= rows["bytes_down"], dtype=np.int64)
    ends = np.asarray(rows["connection"], dtype=np.int64) * 2 + sends_up
    recorded = np.asarray(table["connection"], dtype=np.int64) * 2 + table["from_client"]
    windows = np.asarray(table["cwnd_bytes"])[np.isin(recorded, ends)]
    return float(windows.max()) / segment_bytes if len(windows) else math.nan
