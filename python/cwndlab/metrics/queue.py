"""Delay and length of links' queues, and RED's average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from cwndlab.base.numbers import Floats

from . import RunView
from ._declared import metric
from ._rows import link_counters


@metric(unit="s", low=0, many=True, tables=["queues"])
def queue_delay(run: RunView, *, link: str | None = None) -> Floats:
    r"""Queueing delay at a link: the time that the link needs to send the packets waiting there.

    $$ d(t) = \frac{8\,B(t)}{R} $$

    with \(B\) the bytes waiting or in service when the queue is sampled (probe `queue_interval`) and \(R\)
    the link's rate, or that of its shaper. In a first-in, first-out queue, a packet that arrives at that time
    waits this long. If the rate changes, the value is the time that the link takes to send \(B\) from \(t\)
    on, pauses included.

    With `fq-codel`, `fq-pie`, `cake`, `dualpi2` and `cbq`, packets wait in several queues. The value is then
    the backlog divided by the rate, which is not the delay of any flow, and `measure` titles it accordingly.
    For the delay of a flow's packets use `one_way_delay`.

    `link` is a direction of a link, such as "r1>r2". There is one value for each sample; reduce them by
    `within`.
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

    The average is in the unit of RED's thresholds. The authors of RFC 2884 tuned RED by the average and the
    actual queue size (section 4.1).

    `link` is a direction of a link, such as "r1>r2". There is one value for each sample (probe
    `queue_interval`); reduce them by `within`.
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

    The share is weighted by time, not by packets. Between arrivals the average is constant; while the queue
    is idle it decays (docs/models/red.md). RFC 2884, section 4.1, calls the region between the thresholds the
    RED region.

    `link` is a direction, such as "r1>r2". NaN unless its queue is RED, or a class queue with one RED.
    """
    times = link_counters(run, link, *(f"red_{name}_ns" for name in _REGIONS))
    total = sum(times.values())
    return times[f"red_{region}_ns"] / total if total else math.nan


# ── the capacity of links ─────────────────────────────────────────────────────────────────────────────────

#: Bits that one delivery opportunity of a trace can carry.
_OPPORTUNITY_BITS = 12_000.0


def drain_seconds(link: Mapping[str, Any], time_s: Floats, bits: Floats) -> Floats:
    """Seconds that a link of the scenario takes to send each number of bits, from its time in `time_s` on."""
    capacity = link.get("capacity")
    if capacity is None:
        return np.asarray(bits / min(link["rate_bps"], link.get("queue", {}).get("rate_bps", math.inf)))
    if len(time_s) == 0:
        return np.zeros(0)
    if capacity["kind"] == "steps":
        times, sent = _steps(capacity, float(time_s.max()), float(bits.max()))
        begun = np.interp(time_s, times, sent)
        # The curve is flat during a pause: slightly fewer bits give the pause's beginning, not its end.
        ends = np.interp(begun + bits - 1e-6, sent, times)
        return np.where(bits > 0, np.maximum(ends - time_s, 0.0), 0.0)
    times, sent = _deliveries(capacity, float(time_s.max()), float(bits.max()))
    begun = sent[np.searchsorted(times, time_s, side="right")]
    ends = times[np.searchsorted(sent, begun + bits, side="left") - 1]
    return np.where(bits > 0, np.maximum(ends - time_s, 0.0), 0.0)


def _steps(capacity: Mapping[str, Any], until: float, more: float) -> tuple[Floats, Floats]:
    """The bits that a link can send by each time (s), from 0 until `more` bits after the time `until`."""
    begins = [at / 1e9 for at in capacity["at_ns"]]
    rates = capacity["rates_bps"]
    repeat = capacity.get("repeat_ns")
    times, sent, base, k = [0.0], [0.0], 0.0, 0
    passed = None
    while True:
        last = k + 1 == len(begins)
        end = base + (begins[k + 1] if not last else repeat / 1e9 if repeat else np.inf)
        if passed is None and end > until:
            passed = sent[-1] + rates[k] * (until - times[-1]) + more
        if passed is not None and rates[k] > 0 and sent[-1] + rates[k] * (end - times[-1]) >= passed:
            end = times[-1] + (passed - sent[-1]) / rates[k] + 1.0
            return np.array([*times, end]), np.array([*sent, sent[-1] + rates[k] * (end - times[-1])])
        sent.append(sent[-1] + rates[k] * (end - times[-1]))
        times.append(end)
        k += 1
        if last:
            base, k = end, 0


def _deliveries(capacity: Mapping[str, Any], until: float, more: float) -> tuple[Floats, Floats]:
    """The times (s) of a link's delivery opportunities, and the bits that can be sent before each of them."""
    once = np.asarray(capacity["at_ms"], dtype=np.float64) / 1e3
    rounds = int(np.ceil((until / once[-1]) + more / _OPPORTUNITY_BITS / len(once))) + 2
    times = np.asarray((once[None, :] + once[-1] * np.arange(rounds)[:, None]).ravel())
    return times, np.asarray(_OPPORTUNITY_BITS * np.arange(len(times) + 1))
