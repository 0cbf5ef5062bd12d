r"""Link utilization: the share of the run in which the link's transmitter was busy.

$$ U = \frac{t_{busy}}{T} $$
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("links",)


def measure(run: RunView, *, link: str | None = None) -> float:
    """See the module; `link` is a direction, "n1>n0"."""
    table = run.columns("links")
    row = np.flatnonzero(table["link"] == run.link(link))
    # The last packet accepted may still be on the wire when the run ends.
    return min(1.0, float(table["busy_ns"][row][0]) / (run.duration_s * 1e9))
