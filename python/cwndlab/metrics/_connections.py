"""Helper of the metrics that read the connections table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from . import Column, RunView


def of_traffic(run: RunView, *traffic: str | None) -> Mapping[str, Column]:
    """The connections of these traffic entries of the study, or of all (None)."""
    table = run.columns("connections")
    if None in traffic:
        return table
    keep = np.isin(np.asarray(table["traffic"]), [index for name in traffic for index in run.traffic(name)])
    return {name: np.asarray(column)[keep] for name, column in table.items()}


def opened(run: RunView, traffic: str | None) -> Mapping[str, Column]:
    """Those of them that were opened in the window."""
    table = of_traffic(run, traffic)
    keep = np.asarray(table["start_ns"]) >= run.start_s * 1e9
    return {name: np.asarray(column)[keep] for name, column in table.items()}
