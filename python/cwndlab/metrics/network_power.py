r"""Network power: what was transferred over the median delay (Kleinrock 1979; RFC 2415, section 3).

$$ P = \frac{B}{\tilde{d}} $$

B is the megabytes transferred (see `transferred`), the delay is the median of pages
(`kind = "page"`) or files (`kind = "file"`) in seconds. The memo says "Mbytes/ms"; only megabytes of the
run per second of delay fit its tables (8 webs, 1 ftp: about 41 MB over 8.8 s = 4.7). Its *normalized*
power is the ratio to the same cell at IW = 1: in a study, `compare = { kind = "ratio", to = { iw = 1 }
}`.
"""

from __future__ import annotations

import math

from . import RunView, _select, transferred
from ._options import Kind, Pool, Transferred
from ._range import NON_NEGATIVE

UNIT = "MB/s"
RANGE = NON_NEGATIVE
TABLES = ("objects", "connections")


def measure(
    run: RunView,
    *,
    kind: Kind = "page",
    traffic: str | None = None,
    count: Transferred = "delivered",
    pool: Pool = "all",
) -> float:
    """See the module; NaN without such traffic."""
    delay = _select.pooled_median(run, kind, traffic, pool)
    megabytes = transferred.measure(run, traffic=traffic, count=count, direction="down") / 1e6
    return megabytes / delay if delay > 0 else math.nan
