r"""Drop rate of a link: packets dropped per packet offered.

$$ p = \frac{\text{drops}}{\text{arrivals}} $$

All kinds of packets (data, SYN, ACK, FIN) count alike. `causes`: full buffer, active queue management
and loss models together (`all`), or one of `full`, `aqm`, `loss`.
"""

from __future__ import annotations

import math
from typing import Literal

from . import RunView
from ._links import of_link
from ._range import SHARE

UNIT = "1"
RANGE = SHARE
TABLES = ("links",)
_COLUMNS = {
    "all": ("drops_full", "drops_aqm", "drops_loss"),
    "full": ("drops_full",),
    "aqm": ("drops_aqm",),
    "loss": ("drops_loss",),
}


def measure(
    run: RunView, *, link: str | None = None, causes: Literal["all", "full", "aqm", "loss"] = "all"
) -> float:
    """See the module; NaN if nothing was offered."""
    counted = of_link(run, link, "arrivals", *_COLUMNS[causes])
    arrivals = counted.pop("arrivals")
    return sum(counted.values()) / arrivals if arrivals else math.nan
