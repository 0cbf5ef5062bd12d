"""Queues of links."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from . import RunView
from ._capacity import drain_seconds
from ._links import of_link
from ._own import metric
from ._select import Floats


@metric(unit="s", low=0, many=True, tables=["queues"])
def queue_delay(run: RunView, *, link: str | None = None) -> Floats:
    r"""Queueing delay at a link: how long what waits there takes to be sent.

    $$ d(t) = \frac{8\,B(t)}{R} $$

    with \(B\) the bytes waiting or in service when the queue is sampled (probe `queue_interval`) and \(R\)
    the link's rate. What a packet that arrives then finds, if the queue is one line. Where the rate
    changes, the time that the link takes for \(B\) from \(t\) on, pauses included.

    Behind `fq-codel`, `dualpi2` and `cbq`, packets wait in several lines, so this is the backlog over the
    rate and the delay of no flow; `measure` then heads it so. For the delay of a flow's packets take
    `one_way_delay`.

    At every sample, of a direction of a link, "r1>r2"; reduce it by `within`.
    """
    index = run.link(link)
    table = run.columns("queues")
    chosen = np.asarray(table["link"]) == index
    bits = 8 * np.asarray(table["bytes"], dtype=np.float64)[chosen]
    times = np.asarray(table["time_ns"], dtype=np.float64)[chosen] / 1e9
    return drain_seconds(run.scenario["links"][index], times, bits)


_COLUMNS = {"actual": "packets", "average": "average"}


@metric(unit="packets", low=0, many=True, tables=["queues"])
def queue_length(
    run: RunView, *, link: str | None = None, of: Literal["actual", "average"] = "actual"
) -> Floats:
    """Length of a link's queue: packets waiting or in service, or the average that RED computes from it.

    The average is in the unit of RED's thresholds. RFC 2884, section 4.1: the average and the actual queue
    size, by which its authors tuned RED.

    At every sample (probe `queue_interval`), of a direction of a link, "r1>r2"; reduce it by `within`.
    """
    table = run.columns("queues")
    chosen = np.asarray(table["link"]) == run.link(link)
    lengths: Floats = np.asarray(table[_COLUMNS[of]], dtype=np.float64)[chosen]
    return lengths


_REGIONS = ("below", "between", "above")


@metric(unit="1", low=0, high=1, tables=["links"])
def red_region(
    run: RunView, *, link: str | None = None, region: Literal["below", "between", "above"] = "between"
) -> float:
    r"""Share of time that RED's average queue spent in one region: below, between or above its thresholds.

    $$ s = \frac{t_{region}}{t_{below} + t_{between} + t_{above}} $$

    Weighted by time, not by packets. Between arrivals the average is taken as it was, in idle times as it
    decays (docs/models/red.md). RFC 2884, section 4.1: between the thresholds is the RED region.

    Of one direction of a link, "r1>r2"; NaN if its queue is not RED, nor a class queue with one RED.
    """
    times = of_link(run, link, *(f"red_{name}_ns" for name in _REGIONS))
    total = sum(times.values())
    return times[f"red_{region}_ns"] / total if total else math.nan
