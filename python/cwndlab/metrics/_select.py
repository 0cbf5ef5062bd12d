"""What the metrics have in common: rows of the record tables by traffic, kind and time."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab.records.window import Columns, equals

from . import _median
from ._options import Kind, Pool

if TYPE_CHECKING:
    from . import RunView

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


def of_traffic(run: RunView, table: str, *traffic: str) -> Bools:
    """Which rows of a table belong to these traffic entries of the study."""

    def make() -> Bools:
        entries = [entry for name in traffic for entry in run.traffic(name)]
        column = run.columns(table)["traffic"]
        if len(entries) == 1:
            return np.asarray(column == entries[0])
        belongs = np.zeros(len(run.traffic()), dtype=np.bool_)
        belongs[entries] = True
        return belongs[column]

    return run.once((table, *traffic), make)


class Objects:
    """Pages, files, transactions or objects of one run: those that began in the window.

    Each column is computed on first access, as most metrics read two or three.
    """

    def __init__(self, table: Columns, rows: NDArray[np.intp]) -> None:
        self._table, self._rows = table, rows

    def _floats(self, name: str) -> Floats:
        return np.asarray(self._table[name][self._rows], dtype=np.float64)

    @cached_property
    def client(self) -> NDArray[Any]:
        """Index of the traffic entry, which is one client."""
        return np.asarray(self._table["traffic"][self._rows])

    @cached_property
    def start_s(self) -> Floats:
        """When the clock started."""
        return self._floats("start_ns") / 1e9

    @cached_property
    def delay_s(self) -> Floats:
        """From the start of the clock to the last byte in order; infinite if the window ended first."""
        took = self._floats("end_ns") - self._floats("start_ns")
        return np.where(self.finished, took / 1e9, np.inf)

    @cached_property
    def finished(self) -> Bools:
        """Whether the last byte came before the window ended."""
        return np.asarray(self._table["finished"][self._rows], np.bool_)

    @cached_property
    def bytes(self) -> Floats:
        """Payload."""
        return self._floats("bytes")

    @cached_property
    def connections(self) -> Floats:
        """How many connections it used."""
        return self._floats("connections")

    @cached_property
    def retransmits(self) -> Floats:
        """Segments sent again for it."""
        return self._floats("retransmits")

    @cached_property
    def timeouts(self) -> Floats:
        """Retransmission timeouts of its connections."""
        return self._floats("timeouts")


def objects(run: RunView, kind: Kind, traffic: str | None = None) -> Objects:
    """The objects of one kind whose clock began in the window."""
    return run.once(("kind", kind, traffic), lambda: _objects(run, kind, traffic))


def _objects(run: RunView, kind: Kind, traffic: str | None) -> Objects:
    table = run.columns("objects")
    if not run.traffic(traffic):
        return Objects(table, np.empty(0, np.intp))
    chosen = run.once(("kind", kind), lambda: equals(table, "kind", kind))
    if traffic is not None:
        chosen = chosen & of_traffic(run, "objects", traffic)
    return Objects(table, chosen.nonzero()[0])


def of_finished(run: RunView, quantity: str, kind: Kind, traffic: str | None) -> Floats:
    """A quantity of the objects that were finished, in the order of the records."""
    sample = objects(run, kind, traffic)
    return np.asarray(getattr(sample, quantity)[sample.finished])


def median(delays: Floats) -> float:
    """Median in which an unfinished object (infinite) counts as longer than every finished one.

    NaN without objects, or if the median lies among the unfinished ones.
    """
    if len(delays) == 0:
        return math.nan
    value = float(_median.median(delays))
    return value if math.isfinite(value) else math.nan


def pooled_median(run: RunView, kind: Kind, traffic: str | None, pool: Pool) -> float:
    """Median of the delays: of `all` clients together, or the mean of each `client`'s own median."""
    return run.once(("median", kind, traffic, pool), lambda: _pooled_median(run, kind, traffic, pool))


def _pooled_median(run: RunView, kind: Kind, traffic: str | None, pool: Pool) -> float:
    sample = objects(run, kind, traffic)
    if pool == "all" or len(sample.client) == 0:
        return median(sample.delay_s)
    # The middle one or two of each client's delays, all sorted at once.
    order = np.argsort(sample.delay_s)
    clients = sample.client[order]
    if len(run.traffic()) <= 1 << 16:
        clients = clients.astype(np.uint16)  # sorted by radix
    order = order[np.argsort(clients, kind="stable")]
    delays, clients = sample.delay_s[order], sample.client[order]
    first = np.flatnonzero(np.diff(clients, prepend=-1))
    count = np.diff(first, append=len(clients))
    medians = (delays[first + (count - 1) // 2] + delays[first + count // 2]) / 2
    return float(np.mean(np.where(np.isfinite(medians), medians, np.nan)))
