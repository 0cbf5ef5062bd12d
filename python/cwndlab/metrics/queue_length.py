"""Length of a link's queue: packets waiting or in service, or the average that RED computes from it.

The average is in the unit of RED's thresholds. RFC 2884, section 4.1: the average and the actual queue size,
by which its authors tuned RED.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from . import RunView
from ._range import NON_NEGATIVE
from ._select import Floats

UNIT = "packets"
RANGE = NON_NEGATIVE
TABLES = ("queues",)
_COLUMNS = {"actual": "packets", "average": "average"}


def measure(run: RunView, *, link: str | None = None, of: Literal["actual", "average"] = "actual") -> Floats:
    """At every sample (probe `queue_interval`), of a direction of a link, "r1>r2"; reduce it by `within`."""
    table = run.columns("queues")
    chosen = np.asarray(table["link"]) == run.link(link)
    lengths: Floats = np.asarray(table[_COLUMNS[of]], dtype=np.float64)[chosen]
    return lengths
