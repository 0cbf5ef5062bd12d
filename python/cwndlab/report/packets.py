"""Packet-level records thinned out to what a picture of a given size can show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwndlab.stats.results import Columns

EVENTS = ("send", "retransmit", "timeout", "ack", "dupack", "drop", "mark")
"""Events of the segments table that a time-sequence graph draws."""

_SYN, _ECE, _CWR = 2, 64, 128


def _told_apart(segments: Columns) -> NDArray[Any]:
    """Each row's event; what a retransmission timer sent again is a `timeout`."""
    event = np.asarray(segments["event"]).astype("<U10")
    timeout = segments.get("timeout")
    if timeout is not None:
        event[np.asarray(timeout, dtype=bool) & (event == "retransmit")] = "timeout"
    return event


def _senders_acks(segments: Columns, event: NDArray[Any], mine: NDArray[Any]) -> NDArray[Any]:
    """Pure acknowledgments of the end that sends the data: they tell of the other direction."""
    if "len" not in segments:
        return np.zeros(len(event), dtype=bool)
    client = np.asarray(segments["from_client"], dtype=bool)
    length = np.asarray(segments["len"], dtype=np.int64) * mine
    sender = client == bool(length[client].sum() >= length[~client].sum())
    return np.asarray(sender & np.isin(event, ("ack", "dupack")))


def _flagged(segments: Columns, bit: int) -> NDArray[np.bool_]:
    """Rows of segments that passed the node with a TCP flag; on a SYN ECE and CWR only offer ECN."""
    if "flags" not in segments:
        return np.zeros(len(segments["event"]), dtype=bool)
    flags = np.asarray(segments["flags"], dtype=np.int64)
    passed = ~np.isin(np.asarray(segments["event"]).astype(str), ("drop", "mark"))
    return np.asarray((flags & bit != 0) & (flags & _SYN == 0) & passed, dtype=bool)


def time_sequence_rows(
    segments: Columns, window: tuple[float, float], connection: int, width: int, height: int
) -> list[dict[str, Any]]:
    """The events of a connection in a time window, one for each pixel and kind of event.

    Two marks of the same kind in the same pixel look like one, so nothing that could be seen is lost.
    """
    event = _told_apart(segments)
    time = np.asarray(segments["time_ns"], dtype=np.float64) / 1e9
    number = np.asarray(segments["segment"], dtype=np.float64)
    keep = (np.asarray(segments["connection"]) == connection) & (time >= window[0]) & (time <= window[1])
    keep &= np.isin(event, EVENTS) & ~_senders_acks(segments, event, keep)
    echo, reduced = (_flagged(segments, bit) & keep for bit in (_ECE, _CWR))
    chosen = np.concatenate([np.flatnonzero(keep), np.flatnonzero(echo), np.flatnonzero(reduced)])
    event = np.concatenate([event[keep], np.full(echo.sum(), "ECE"), np.full(reduced.sum(), "CWR")])
    time, number = time[chosen], number[chosen]
    order = np.argsort(time, kind="stable")
    event, time, number = event[order], time[order], number[order]
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
