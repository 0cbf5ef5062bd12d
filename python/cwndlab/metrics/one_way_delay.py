r"""One-way delay of packets: from the moment its end sends a packet until the other end has it.

$$ D_i = t_{received,i} - t_{sent,i} $$

Of every packet with payload that arrives in the window: queues, transmissions, propagation and extra delays
of the whole path. A packet sent again counts again; one that is lost has no delay. Recorded to 16 ns.
Reduce it by `within` (mean, p95).
"""

from __future__ import annotations

import numpy as np

from . import RunView
from ._delays import of_each
from ._range import NON_NEGATIVE
from ._select import Floats

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("connections", "delays")


def measure(run: RunView, *, traffic: str | None = None) -> Floats:
    """Of one traffic entry of the study, or of all."""
    return np.concatenate([np.zeros(0), *of_each(run, traffic)])
