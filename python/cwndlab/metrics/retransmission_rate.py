r"""Retransmission rate: segments sent again, per segment sent.

$$ r = \frac{\text{retransmits}}{\text{segments sent}} $$

Both ends of the connections count.
"""

from __future__ import annotations

from . import RunView
from ._connections import per_segment_sent
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("connections",)


def measure(run: RunView, *, traffic: str | None = None) -> float:
    """Of one traffic entry of the study, or of all; NaN if nothing was sent."""
    return per_segment_sent(run, "retransmits", traffic)
