"""Packet records reduced to what a picture of a given size can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwndlab.base.numbers import Columns
from cwndlab.report.canvas import INK, Spec, look_by_name, mark

EVENTS = ("send", "retransmit", "timeout", "ack", "dupack", "drop", "mark")
"""The events of the segments table that a time-sequence graph draws."""

EDGE, SACK = "window", "SACK"
"""The last packet that the receiver's window admits; the packets that a block of a SACK option reports."""

_SYN, _ECE, _CWR = 2, 64, 128


def _told_apart(segments: Columns) -> NDArray[Any]:
    """The event of each row, with "timeout" for retransmissions caused by a timer."""
    event = np.asarray(segments["event"]).astype("<U10")
    timeout = segments.get("timeout")
    if timeout is not None:
        event[np.asarray(timeout, dtype=bool) & (event == "retransmit")] = "timeout"
    return event


def _senders_acks(segments: Columns, event: NDArray[Any], mine: NDArray[Any]) -> NDArray[Any]:
    """Which rows are pure ACKs from the data sender; they belong to the other direction."""
    if "len" not in segments:
        return np.zeros(len(event), dtype=bool)
    client = np.asarray(segments["from_client"], dtype=bool)
    length = np.asarray(segments["len"], dtype=np.int64) * mine
    sender = client == bool(length[client].sum() >= length[~client].sum())
    return np.asarray(sender & np.isin(event, ("ack", "dupack")))


def _rows_with_flag(segments: Columns, bit: int) -> NDArray[np.bool_]:
    """Which rows have a TCP flag, without drops, marks and SYNs (there, ECE and CWR only negotiate ECN)."""
    if "flags" not in segments:
        return np.zeros(len(segments["event"]), dtype=bool)
    flags = np.asarray(segments["flags"], dtype=np.int64)
    passed = ~np.isin(np.asarray(segments["event"]).astype(str), ("drop", "mark"))
    return np.asarray((flags & bit != 0) & (flags & _SYN == 0) & passed, dtype=bool)


def _full_packet(segments: Columns, mine: NDArray[np.bool_]) -> int:
    """Payload bytes of a full packet, the unit of packet numbers; 0 if unknown."""
    return int(np.max(np.asarray(segments["len"])[mine], initial=0)) if "len" in segments else 0


def _edges(segments: Columns, acks: NDArray[np.bool_], unit: int) -> NDArray[np.float64]:
    """For each acknowledgment, the number of the last packet that the receiver's window admits."""
    edge = np.asarray(segments["ack"], dtype=np.int64) + np.asarray(segments["window_bytes"], dtype=np.int64)
    return np.asarray(edge[acks] // unit, dtype=np.float64)


def _sack_blocks(
    segments: Columns, acks: NDArray[np.bool_], unit: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """For each SACK block: row of the segment, first and last packet."""
    sack = segments["sack"]
    blocks = [
        (row, int(sack[row][k]) // unit + 1, -(-int(sack[row][k + 1]) // unit))
        for row in np.flatnonzero(acks)
        for k in range(0, 0 if sack[row] is None else len(sack[row]), 2)
    ]
    row, first, last = np.array(blocks, dtype=np.int64).reshape(-1, 3).T
    return row, first, last


def time_sequence_rows(
    segments: Columns, window: tuple[float, float], connection: int, width: int, height: int
) -> list[dict[str, Any]]:
    """The events of a connection in a time window, at most one per pixel and kind of event.

    Marks of the same kind in the same pixel would coincide. A SACK block extends down to `from`, its first
    packet.
    """
    event = _told_apart(segments)
    time = np.asarray(segments["time_ns"], dtype=np.float64) / 1e9
    number = np.asarray(segments["segment"], dtype=np.float64)
    mine = (np.asarray(segments["connection"]) == connection) & (time >= window[0]) & (time <= window[1])
    keep = mine & np.isin(event, EVENTS)
    keep &= ~_senders_acks(segments, event, keep)
    echo, reduced = (_rows_with_flag(segments, bit) & keep for bit in (_ECE, _CWR))
    parts = [
        (rows, np.full(len(rows), word) if word else event[rows], number[rows])
        for rows, word in (
            (np.flatnonzero(keep), ""),
            (np.flatnonzero(echo), "ECE"),
            (np.flatnonzero(reduced), "CWR"),
        )
    ]
    lowest, highest = (f(number[keep]) if keep.any() else 0.0 for f in (np.min, np.max))
    first = [part[2] for part in parts]
    acks = keep & np.isin(event, ("ack", "dupack"))
    if unit := _full_packet(segments, keep):
        if "window_bytes" in segments:
            rows = np.flatnonzero(acks)
            parts.append((rows, np.full(len(rows), EDGE), _edges(segments, acks, unit)))
            first.append(parts[-1][2])
        if "sack" in segments:
            rows, start, end = _sack_blocks(segments, acks, unit)
            parts.append((rows, np.full(len(rows), SACK), end.astype(np.float64)))
            first.append(start.astype(np.float64))
    chosen, event, number = (np.concatenate([part[k] for part in parts]) for k in range(3))
    time, start = time[chosen], np.concatenate(first)
    order = np.argsort(time, kind="stable")
    if len(order) > 2000:
        x = np.floor((time - time.min()) / max(float(np.ptp(time)), 1e-9) * 2 * width)
        y, y2 = (
            np.floor(np.clip((v - lowest) / max(highest - lowest, 1.0), 0.0, 1.0) * 2 * height)
            for v in (number, start)
        )
        kinds, kind = np.unique(event, return_inverse=True)
        shape = len(kinds), 2 * width + 1, 2 * height + 1, 2 * height + 1
        pixel = np.ravel_multi_index((kind, *(part.astype(np.int64) for part in (x, y, y2))), shape)
        order = order[np.sort(np.unique(pixel[order], return_index=True)[1])]
    return [
        {"time": round(float(time[k]), 6), "segment": int(number[k]), "event": str(event[k])}
        | ({"from": int(start[k])} if event[k] == SACK else {})
        for k in order
    ]


def decimate(
    time: NDArray[Any], values: NDArray[Any], window: tuple[float, float], width: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A step curve reduced to four points per pixel column: the first, lowest, highest and last."""
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


DRAWN: tuple[tuple[str, str, str], ...] = (
    # event, colour, shape as an SVG path in a square from -1 to 1, in drawing order
    (EDGE, "#8a8f98", "M-1,-.14H1V.14H-1Z"),
    (SACK, "#c2419c", "M-.16,-1H.16V1H-.16Z"),
    ("ack", "#2a9d6f", "M-1,-.18H1V.18H-1Z"),
    ("send", "#2f7fd0", "M-.6,0A.6,.6,0,1,1,.6,0A.6,.6,0,1,1,-.6,0Z"),
    ("dupack", "#b8860b", "M0,-.9L.9,.7H-.9Z"),
    ("mark", "#9a5fc9", "M-.7,-.7H.7V.7H-.7Z"),
    ("ECE", "#b8860b", "M-.9,-.9L.9,-.9L0,.9Z"),
    ("CWR", "#139fa8", "M-.3,-1H.3V-.3H1V.3H.3V1H-.3V.3H-1V-.3H-.3Z"),
    ("retransmit", "#d6455d", "M0,-1.1L1.1,0L0,1.1L-1.1,0Z"),
    ("timeout", "#d6455d", "M-1.1,-1.1H1.1L-1.1,1.1H1.1Z"),
    ("drop", INK, "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"),
)

RANK = {event: place for place, (event, _, _) in enumerate(DRAWN)}


def sequence_layers(
    large: bool, shown: Sequence[tuple[str, str, str]], x: Spec, y: Spec, top: int
) -> list[Spec]:
    """The layers of a time-sequence graph: step lines, SACK blocks, and marks up to packet `top`."""
    words, colours, shapes = (list(part) for part in zip(*shown, strict=True))
    at = {"x": x, "y": y}
    looks = {
        "color": look_by_name("event:N", words, colours),
        "shape": look_by_name("event:N", words, shapes),
    }
    size = 90 if large else 36
    near = f"datum.segment <= {top}"  # clipping would cut marks on the axes in half
    marks = mark("point", {**at, **looks}, only=near, filled=True, opacity=1, size=size)
    line = {"interpolate": "step-after", "strokeWidth": 1, "opacity": 0.7, "clip": True}
    lines = [
        mark("line", at, only=f"datum.event === '{event}'", color=colour, **line)
        for event, colour, _ in shown
        if event in (EDGE, "ack")
    ]
    blocks = [
        mark(
            "rule",
            {**at, "y2": {"field": "from"}},
            only=f"datum.event === '{SACK}'",
            strokeWidth=1.5,
            opacity=0.55,
            color=colour,
        )
        for event, colour, _ in shown
        if event == SACK
    ]
    return [*lines, *blocks, marks]
