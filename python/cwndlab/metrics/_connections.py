"""Helper of the metrics that read the connections table."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from cwndlab.records.window import Rows

from . import Column, RunView, _select


def of_traffic(run: RunView, *traffic: str | None) -> Mapping[str, Column]:
    """The connections of these traffic entries of the study, or of all (None)."""
    table = run.columns("connections")
    names = [name for name in traffic if name is not None]
    if len(names) < len(traffic):
        return table
    return run.once(
        ("connections of", *names),
        lambda: Rows(table, _select.of_traffic(run, "connections", *names).nonzero()[0]),
    )


def opened(run: RunView, traffic: str | None) -> Mapping[str, Column]:
    """Those of them that were opened in the window."""
    return run.once(("connections opened", traffic), lambda: _opened(run, traffic))


def _opened(run: RunView, traffic: str | None) -> Mapping[str, Column]:
    table = of_traffic(run, traffic)
    return Rows(table, np.flatnonzero(table["start_ns"] >= run.start_s * 1e9))


def delivered_bytes(rows: Mapping[str, Column]) -> Column:
    """Payload bytes that each of these connections delivered in order, both ways."""
    return rows["bytes_up"].astype(np.float64) + rows["bytes_down"]


def per_segment_sent(run: RunView, counter: str, traffic: str | None) -> float:
    """A counter's sum per segment that these connections sent, both ways; NaN if nothing was sent."""
    rows = of_traffic(run, traffic)
    sent = float(rows["segments_sent"].sum())
    return float(rows[counter].sum()) / sent if sent else math.nan
