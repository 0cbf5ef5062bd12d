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


def of_traffic(run: RunView, table: str, *traffic: str) -> Bools:
    """Which rows of a table belong to these traffic entries of the study."""

    def make() -> Bools:
        belongs = np.zeros(len(run.traffic()), dtype=np.bool_)
        for name in traffic:
            belongs[run.traffic(name)] = True
        return belongs[run.columns(table)["traffic"]]

    return run.once((table, *traffic), make)


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
    return run.once(("kind", kind, traffic), lambda: _objects(run, kind, traffic))


def _objects(run: RunView, kind: Kind, traffic: str | None) -> Objects:
    table = run.columns("objects")
    chosen = run.once(("kind", kind), lambda: np.asarray(table["kind"] == kind))
    if traffic is not None:
        chosen = chosen & of_traffic(run, "objects", traffic)
    rows = np.flatnonzero(chosen)

    def column(name: str) -> Floats:
        return np.asarray(table[name][rows], dtype=np.float64)

    start, end, finished = column("start_ns"), column("end_ns"), np.asarray(table["finished"][rows], np.bool_)
    return Objects(
        client=np.asarray(table["traffic"][rows]),
        start_s=start / 1e9,
        delay_s=np.where(finished, (end - start) / 1e9, np.inf),
        bytes=column("bytes"),
        finished=finished,
        connections=column("connections"),
        retransmits=column("retransmits"),
        timeouts=column("timeouts"),
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


def pooled_median(run: RunView, kind: Kind, traffic: str | None, pool: Pool) -> float:
    """Median of the delays: of `all` clients together, or the mean of each `client`'s own median."""
    return run.once(("median", kind, traffic, pool), lambda: _pooled_median(run, kind, traffic, pool))


def _pooled_median(run: RunView, kind: Kind, traffic: str | None, pool: Pool) -> float:
    sample = objects(run, kind, traffic)
    if pool == "all" or len(sample.client) == 0:
        return median(sample.delay_s)
    # The middle one or two of each client's delays, all sorted at once.
    order = np.lexsort((sample.delay_s, sample.client))
    delays = sample.delay_s[order]
    _, first, count = np.unique(sample.client[order], return_index=True, return_counts=True)
    medians = (delays[first + (count - 1) // 2] + delays[first + count // 2]) / 2
    return float(np.mean(np.where(np.isfinite(medians), medians, np.nan)))
