"""Helper of the metrics that read the connections table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from . import Column, RunView


def of_traffic(run: RunView, traffic: str | None) -> Mapping[str, Column]:
    """The connections of one traffic entry of the study, or all."""
    table = run.columns("connections")
    if traffic is None:
        return table
    keep = np.isin(np.asarray(table["traffic"]), run.traffic(traffic))
    return {name: np.asarray(column)[keep] for name, column in table.items()}
