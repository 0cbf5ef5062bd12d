"""Packet-level records thinned out to what a picture of a given size can show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats.results import Columns

EVENTS = ("send", "retransmit", "ack", "dupack", "drop", "mark")
"""Events of the segments table that a time-sequence graph draws."""


def time_sequence_rows(
    segments: Columns, window: tuple[float, float], connection: int, width: int, height: int
) -> list[dict[str, Any]]:
    """The events of a connection in a time window, one for each pixel and kind of event.

    Two marks of the same kind in the same pixel look like one, so nothing that could be seen is lost.
    """
    event = np.asarray(segments["event"]).astype(str)
    time = np.asarray(segments["time_ns"], dtype=np.float64) / 1e9
    number = np.asarray(segments["segment"], dtype=np.float64)
    keep = (np.asarray(segments["connection"]) == connection) & (time >= window[0]) & (time <= window[1])
    keep &= np.isin(event, EVENTS)
    event, time, number = event[keep], time[keep], number[keep]
    if len(time) > 2000:
        x = np.floor((time - time.min()) / max(float(np.ptp(time)), 1e-9) * 2 * width)
        y = np.floor((number - number.min()) / max(float(np.ptp(number)), 1.0) * 2 * height)
        kind = np.unique(event, return_inverse=True)[1]
        pixel = (kind * (2 * width + 1) + x) * (2 * height + 1) + y
        first = np.sort(np.unique(pixel, return_index=True)[1])
        event, time, number = event[first], time[first], number[first]
    return [
        {"time": round(float(t), 6), "segment": int(n), "event": str(e)}
        for t, n, e in zip(time, number, event, strict=True)
    ]


def decimate(
    time: NDArray[Any], values: NDArray[Any], window: tuple[float, float], width: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A step curve of at most four points per pixel column: first, lowest, highest, last of each."""
    keep = (time >= window[0]) & (time <= window[1]) & np.isfinite(values)
    time, values = time[keep], values[keep]
    if len(time) <= 4 * width:
        return time, values
    column = np.floor((time - time[0]) / max(float(time[-1] - time[0]), 1e-9) * width).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(time))
    chosen = set(starts.tolist()) | set((ends - 1).tolist())
    for start, end in zip(starts, ends, strict=True):
        chosen.add(int(start + np.argmin(values[start:end])))
        chosen.add(int(start + np.argmax(values[start:end])))
    at = np.array(sorted(chosen))
    return time[at], values[at]
