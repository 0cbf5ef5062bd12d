"""Completion times of transfers (or pages, transactions, objects), all or those of one class of sizes.

From the start of the clock to the last byte (FCT, flow completion time); `at_least` and `below` choose by
size in bytes. Only finished ones: an unfinished one has no time.
"""

from __future__ import annotations

from . import RunView, _select
from ._options import Kind, Number
from ._range import NON_NEGATIVE

UNIT = "s"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(
    run: RunView,
    *,
    traffic: str | None = None,
    kind: Kind = "file",
    at_least: Number = 0,
    below: Number | None = None,
) -> _select.Floats:
    """In the order of the records; reduce it by `within`."""
    sample = _select.objects(run, kind, traffic)
    chosen = sample.finished & (sample.bytes >= at_least)
    if below is not None:
        chosen &= sample.bytes < below
    return sample.delay_s[chosen]
