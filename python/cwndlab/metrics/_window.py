"""What the metrics over a window share: counters at the end of the run less those after the warm-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ._select import Floats

if TYPE_CHECKING:
    from . import RunView


def seconds(run: RunView) -> float:
    """Length of the window: from the end of the warm-up to the end of the run."""
    return run.duration_s - run.warmup_s


def connections(run: RunView, *columns: str) -> dict[str, Floats]:
    """These columns of `connections`, each less what it held when the warm-up was over; and `traffic`.

    A connection that was opened later had nothing then; one that had ended by then is left out.
    """
    table = run.columns("connections")
    keep = np.ones(len(table["traffic"]), dtype=np.bool_)
    now = {name: np.asarray(table[name], dtype=np.float64) for name in columns}
    if run.warmup_s:
        keep = ~(np.asarray(table["end_ns"], dtype=np.float64) <= run.warmup_s * 1e9)
        keep |= np.asarray(table["end_ns"], dtype=np.float64) < 0  # null of a whole-number column
        before = run.columns("warmup_connections")
        row = {int(serial): index for index, serial in enumerate(before["connection"])}
        for at, serial in enumerate(table["connection"]):
            if (index := row.get(int(serial))) is not None:
                for name in columns:
                    now[name][at] -= float(before[name][index])
    return {"traffic": np.asarray(table["traffic"])[keep], **{name: now[name][keep] for name in columns}}


def link(run: RunView, name: str | None, *columns: str) -> Mapping[str, float]:
    """These columns of a direction of a link, each less what it held after the warm-up; NaN where null."""
    index = run.link(name)

    def row(table: str) -> dict[str, float]:
        found = run.columns(table)
        at = np.flatnonzero(np.asarray(found["link"]) == index)[0]
        return {column: float(found[column][at]) for column in columns}

    total = row("links")
    # A null of a whole-number column comes as -1.
    total = {column: np.nan if value < 0 else value for column, value in total.items()}
    if not run.warmup_s:
        return total
    before = row("warmup_links")
    return {column: value - before[column] for column, value in total.items()}
