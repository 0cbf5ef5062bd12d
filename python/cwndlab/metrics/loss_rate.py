r"""Loss rate of flows: their packets that links dropped, per packet that they sent.

$$ p = \frac{\text{drops}}{\text{segments sent}} $$

Both directions and all kinds of packets count (data, SYN, ACK, FIN). A packet dropped in the window may have
been sent before it. `drop_rate` is the rate at one link.
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
    return per_segment_sent(run, "drops", traffic)
