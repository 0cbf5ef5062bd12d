"""Number of pages not finished when the window ended, or lost with a connection that was given up.

Counted are those that began in the window.
"""

from __future__ import annotations

import numpy as np

from . import RunView, _select
from ._options import Kind
from ._range import COUNT, SHARE

UNIT = "1"
RANGE = COUNT
RANGES = {"share": SHARE}
TABLES = ("objects",)


def measure(run: RunView, *, traffic: str | None = None, kind: Kind = "page", share: bool = False) -> float:
    """See the module; with `share` as a share of all that began. `kind`: page, file, transaction or
    object.
    """
    sample = _select.objects(run, kind, traffic)
    count = float(np.count_nonzero(~sample.finished))
    return count / max(1, len(sample.finished)) if share else count
