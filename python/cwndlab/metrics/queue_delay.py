r"""Queueing delay at a link: how long what waits there takes to be sent.

$$ d(t) = \frac{8\,B(t)}{R} $$

with \(B\) the bytes waiting or in service when the queue is sampled (probe `queue_interval`) and
\(R\) the link's rate. What a packet that arrives then finds, if the queue is one line. Where the rate
changes, the time that the link takes for \(B\) from \(t\) on, pauses included.

Behind `fq-codel`, `dualpi2` and `cbq`, packets wait in several lines, so this is the backlog over the rate
and the delay of no flow; `measure` then heads it so. For the delay of a flow's packets take `one_way_delay`.
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._capacity import drain_seconds
from ._range import NON_NEGATIVE
from ._select import Floats

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("queues",)


def measure(run: RunView, *, link: str | None = None) -> Floats:
    """At every sample, of a direction of a link, "r1>r2"; reduce it by `within`."""
    index = run.link(link)
    table = run.columns("queues")
    chosen = np.asarray(table["link"]) == index
    bits = 8 * np.asarray(table["bytes"], dtype=np.float64)[chosen]
    times = np.asarray(table["time_ns"], dtype=np.float64)[chosen] / 1e9
    return drain_seconds(run.scenario["links"][index], times, bits)
