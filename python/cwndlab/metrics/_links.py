"""Helper of the metrics that read the links table."""

from __future__ import annotations

import math

import numpy as np

from . import RunView


def of_link(run: RunView, name: str | None, *columns: str) -> dict[str, float]:
    """These columns of a direction of a link; NaN where null."""
    table = run.columns("links")
    row = np.flatnonzero(np.asarray(table["link"]) == run.link(name))[0]
    values = {column: float(table[column][row]) for column in columns}
    return {column: math.nan if value < 0 else value for column, value in values.items()}
