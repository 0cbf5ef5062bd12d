"""Pages, files, transactions and objects: their sizes and completion times."""

from __future__ import annotations

import math

import numpy as np

from cwndlab.base.numbers import Floats

from . import RunView
from ._declared import metric
from ._rows import Kind, Pool, WholeNumber, objects, pooled_median


@metric(unit="s", low=0, many=True, tables=["objects"])
def completion_time(
    run: RunView,
    *,
    traffic: str | None = None,
    kind: Kind = "file",
    at_least: WholeNumber = 0,
    below: WholeNumber | None = None,
) -> Floats:
    """Completion times of transfers (or pages, transactions, objects), all or those of one class of sizes.

    A completion time is the time from the start of the transfer's clock (SYN or request, as the application
    says) to its last byte (FCT, flow completion time). `at_least` and `below` select transfers by size in
    bytes. Unfinished transfers have no completion time; `unfinished_pages` counts them.

    The values are in the order of the records. Reduce them by `within`.
    """
    sample = objects(run, kind, traffic)
    chosen = sample.finished & (sample.bytes >= at_least)
    if below is not None:
        chosen &= sample.bytes < below
    return sample.delay_s[chosen]


_SHARES = (np.arange(100) + 0.5) / 100


@metric(unit="s", low=0, many=True, tables=["objects"])
def delay_quantiles(run: RunView, *, kind: Kind = "page", traffic: str | None = None) -> list[float]:
    """Quantiles of the delay of pages (or files, transactions, objects), for figures of distributions.

    The hundred values are the quantiles 0.5 %, 1.5 %, …, 99.5 %. An unfinished page counts as longer than
    every finished one; quantiles that fall among unfinished pages are NaN.

    The list is empty if there is no such object.
    """
    delays = np.sort(objects(run, kind, traffic).delay_s)
    if len(delays) == 0:
        return []
    at = np.minimum((_SHARES * len(delays)).astype(np.int64), len(delays) - 1)
    values: list[float] = np.where(np.isfinite(delays[at]), delays[at], np.nan).tolist()
    return values


@metric(unit="s", low=0, tables=["objects"])
def median_delay(
    run: RunView, *, kind: Kind = "page", traffic: str | None = None, pool: Pool = "all"
) -> float:
    """Median delay of pages (or files, transactions, objects).

    The delay of a page lasts from the start of its clock (SYN or request, as the application says) to the
    last byte of its last object; that of a file from its clock (by default its SYN) to its last byte in
    order. The median is over all clients together (`pool = "all"`), or it is the mean of the medians of all
    clients (`pool = "client"`). Pages unfinished at the window's end count as longer than all finished ones
    (right-censored): leaving them out would make a slow network look fast.

    NaN if there are no such objects, or if the median falls among the unfinished ones.
    """
    return pooled_median(run, kind, traffic, pool)


@metric(unit="B", low=0, many=True, tables=["objects"])
def object_bytes(run: RunView, *, kind: Kind = "object", traffic: str | None = None) -> Floats:
    """Sizes of finished pages, files, transactions or objects.

    The values are in the order of the records.
    """
    sample = objects(run, kind, traffic)
    return sample.bytes[sample.finished]


@metric(unit="1", low=0, tables=["objects"])
def objects_finished(run: RunView, *, traffic: str | None = None, kind: Kind = "page") -> float:
    """Number of pages (or files, transactions, objects) that began and were finished in the window."""
    return float(np.count_nonzero(objects(run, kind, traffic).finished))


@metric(unit="1", low=0, count=True, ranges={"share": (0, 1)}, tables=["objects"])
def unfinished_pages(
    run: RunView, *, traffic: str | None = None, kind: Kind = "page", share: bool = False
) -> float:
    """Number of pages not finished when the window ended, or lost with a connection that was given up.

    Only pages that began in the window count. With `share`, the value is a share of all pages that began in
    it. `kind` is page, file, transaction or object.
    """
    sample = objects(run, kind, traffic)
    count = float(np.count_nonzero(~sample.finished))
    return count / max(1, len(sample.finished)) if share else count


@metric(unit="1/s", low=0, tables=["objects"])
def transaction_rate(run: RunView, *, traffic: str | None = None) -> float:
    """Transactions per second: those that began and ended in the window, over the window's length.

    RFC 2884, section 5.3, and netperf's TCP_CRR count requests with their complete responses per second, too.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if the cell has no such
    traffic.
    """
    if not run.traffic(traffic):
        return math.nan
    transactions = objects(run, "transaction", traffic)
    return float(np.count_nonzero(transactions.finished)) / run.seconds
