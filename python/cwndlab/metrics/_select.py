"""What the metrics have in common: rows of the record tables by traffic, kind and time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._options import Kind, Pool

if TYPE_CHECKING:
    from . import RunView

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Objects:
    """Pages, files, transactions or objects of one run: those that began in the window."""

    client: NDArray[Any]
    """Index of the traffic entry, which is one client."""
    start_s: Floats
    delay_s: Floats
    """From the start of the clock to the last byte in order; infinite if the window ended first."""
    bytes: Floats
    finished: Bools
    connections: Floats
    retransmits: Floats
    timeouts: Floats


def objects(run: RunView, kind: Kind, traffic: str | None = None) -> Objects:
    """The objects of one kind whose clock began in the window."""
    table = run.columns("objects")
    chosen = np.asarray(table["kind"] == kind)
    if traffic is not None:
        chosen &= np.isin(table["traffic"], run.traffic(traffic))
    start = np.asarray(table["start_ns"], dtype=np.float64)
    finished = np.asarray(table["finished"], dtype=np.bool_)[chosen]
    end = np.asarray(table["end_ns"], dtype=np.float64)[chosen]
    start = start[chosen]
    return Objects(
        client=np.asarray(table["traffic"])[chosen],
        start_s=start / 1e9,
        delay_s=np.where(finished, (end - start) / 1e9, np.inf),
        bytes=np.asarray(table["bytes"], dtype=np.float64)[chosen],
        finished=finished,
        connections=np.asarray(table["connections"], dtype=np.float64)[chosen],
        retransmits=np.asarray(table["retransmits"], dtype=np.float64)[chosen],
        timeouts=np.asarray(table["timeouts"], dtype=np.float64)[chosen],
    )


def of_finished(run: RunView, quantity: str, kind: Kind, traffic: str | None) -> list[float]:
    """A quantity of the objects that were finished, in the order of the records."""
    sample = objects(run, kind, traffic)
    values: list[float] = getattr(sample, quantity)[sample.finished].tolist()
    return values


def median(delays: Floats) -> float:
    """Median in which an unfinished object (infinite) counts as longer than every finished one; NaN
    without objects,
    or if the median lies among the unfinished ones.
    """
    if len(delays) == 0:
        return math.nan
    with np.errstate(invalid="ignore"):  # inf - inf between two unfinished ones
        value = float(np.median(delays))
    return value if math.isfinite(value) else math.nan


def pooled_median(sample: Objects, pool: Pool) -> float:
    """Median of the delays: of `all` clients together, or the mean of each `client`'s own median."""
    if pool == "all":
        return median(sample.delay_s)
    medians = [median(sample.delay_s[sample.client == c]) for c in np.unique(sample.client)]
    return float(np.mean(medians)) if medians else math.nan
