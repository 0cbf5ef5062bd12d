r"""Share of time that RED's average queue spent in one region: below, between or above its thresholds.

$$ s = \frac{t_{region}}{t_{below} + t_{between} + t_{above}} $$

Weighted by time, not by packets. Between arrivals the
average is taken as it was, in idle times as it decays (docs/models/red.md). RFC 2884, section 4.1: between
the thresholds is the RED region.
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
_REGIONS = ("below", "between", "above")


def measure(
    run: RunView, *, link: str | None = None, region: Literal["below", "between", "above"] = "between"
) -> float:
    """Of one direction of a link, "r1>r2"; NaN if its queue is not RED, nor a class queue with one RED."""
    times = of_link(run, link, *(f"red_{name}_ns" for name in _REGIONS))
    total = sum(times.values())
    return times[f"red_{region}_ns"] / total if total else math.nan
