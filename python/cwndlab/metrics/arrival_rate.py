r"""Arrival rate at a link: packets offered to it per second, dropped ones included.

$$ a = \frac{\text{arrivals}}{T} $$

All kinds of packets count. At a bottleneck that only data passes, it is the sending rate of its flows.
"""

from __future__ import annotations

from . import RunView
from ._links import of_link
from ._range import NON_NEGATIVE

UNIT = "1/s"
RANGE = NON_NEGATIVE
TABLES = ("links",)


def measure(run: RunView, *, link: str | None = None) -> float:
    """See the module; `link` is a direction, "n1>n0"."""
    return of_link(run, link, "arrivals")["arrivals"] / run.seconds
