"""Helpers of the metrics that read the segments seen at the observation point."""

from __future__ import annotations

import numpy as np

from . import Column, RunView

NS = 1e-9


def events(run: RunView, *kinds: str, connection: int = 0, history: bool = False) -> dict[str, Column]:
    """Time (s), packet number, payload bytes, event and whether a timer sent it: of the segments of one
    connection with one of these events, in order; with `history` also of those before the window.
    """
    table = run.history("segments") if history else run.columns("segments")
    event = np.asarray(table["event"])
    keep = np.isin(event, kinds) & (np.asarray(table["connection"]) == connection)
    return {
        "time_s": np.asarray(table["time_ns"])[keep] * NS,
        "segment": np.asarray(table["segment"])[keep],
        "event": event[keep],
        "len": np.asarray(table["len"])[keep],
        "timeout": np.asarray(table["timeout"], dtype=np.bool_)[keep],
    }
