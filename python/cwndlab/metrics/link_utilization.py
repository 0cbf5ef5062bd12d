r"""Link utilization: the share of the time in which the link's transmitter was busy.

$$ U = \frac{t_{busy}}{T} $$

Where the rate changes, the transmitter counts as busy in pauses, too, if a packet waits for their end.
"""

from __future__ import annotations

from . import RunView
from ._links import of_link
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("links",)


def measure(run: RunView, *, link: str | None = None) -> float:
    """See the module; `link` is a direction, "n1>n0"."""
    return of_link(run, link, "busy_ns")["busy_ns"] / (run.seconds * 1e9)
