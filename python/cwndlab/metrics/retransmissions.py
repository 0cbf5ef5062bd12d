"""Segments sent again, and timeouts."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from . import RunView
from ._declared import metric
from ._rows import (
    Kind,
    Position,
    WholeNumber,
    all_use_quic,
    objects,
    per_segment_sent,
    segment_events,
    select_connections,
)


@metric(unit="packets", low=0, count=True)
def retransmits(run: RunView, *, traffic: str | None = None, indicator: bool = False) -> float:
    """Segments sent again, summed over the connections of the traffic.

    With `indicator` the value is 1 if there were any, else 0. `traffic` selects one traffic entry of the
    study; by default, all count.
    """
    total = float(np.sum(select_connections(run, traffic)["retransmits"]))
    return float(total > 0) if indicator else total


@metric(unit="1", low=0, high=1)
def retransmission_rate(run: RunView, *, traffic: str | None = None) -> float:
    r"""Retransmission rate: segments sent again, per segment sent.

    $$ r = \frac{\text{retransmits}}{\text{segments sent}} $$

    Both ends of the connections count.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if nothing was sent.
    """
    return per_segment_sent(run, "retransmits", traffic)


@metric(unit="s", low=0, tables=["segments"])
def retransmission_time(
    run: RunView, *, nth: Position = 1, packet: Position | None = None, connection: WholeNumber = 0
) -> float:
    """Time at which the observation point sees the nth retransmission, from the start of the run.

    `nth` counts from 1, over the retransmissions of all packets, or of `packet` if it is given. NaN if there
    are fewer than `nth`.
    """
    again = segment_events(run, "retransmit", connection=connection)
    times = again["time_s"] if packet is None else again["time_s"][again["segment"] == packet]
    return float(times[nth - 1]) if 1 <= nth <= len(times) else math.nan


@metric(unit="s", low=0, many=True, tables=["segments"])
def retransmission_times(run: RunView, *, connection: WholeNumber = 0) -> list[float]:
    """Times at which the observation point sees retransmissions, from the start of the run, in order."""
    return [float(time) for time in segment_events(run, "retransmit", connection=connection)["time_s"]]


@metric(unit="segments", low=0, count=True)
def fast_retransmits(run: RunView, *, traffic: str | None = None) -> float:
    """Fast retransmits: recoveries begun by duplicate ACKs, summed over the connections.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if all connections use QUIC
    stacks, which report no fast retransmits.
    """
    if all_use_quic(run, traffic):
        return math.nan
    return float(np.sum(select_connections(run, traffic)["fast_retransmits"]))


@metric(unit="ACKs", low=0, count=True, tables=["segments", "connections"])
def triple_duplicate_acks(run: RunView, *, traffic: str | None = None) -> float:
    """ACK numbers repeated at least three times at the observation point, as tcptrace counts triple dupacks.

    A sender that retransmits at the third duplicate has as many fast retransmits, unless its window or a
    recovery prevents some. RFC 2884, section 5.2, computes retransmissions due to timeouts as all
    retransmissions less the triple duplicate ACKs.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if the cell has no such
    traffic, or only connections of QUIC stacks.
    """
    if (traffic is not None and not run.traffic(traffic)) or all_use_quic(run, traffic):
        return math.nan
    table = run.columns("segments")
    mine = np.isin(table["connection"], select_connections(run, traffic)["connection"])
    repeats = mine & (np.asarray(table["event"]) == "dupack") & (np.asarray(table["len"]) == 0)
    sender = (
        np.asarray(table["connection"], dtype=np.int64)[repeats] * 2
        + np.asarray(table["from_client"])[repeats]
    )
    numbers = np.stack((sender, np.asarray(table["ack"], dtype=np.int64)[repeats]))
    _, times = np.unique(numbers, axis=1, return_counts=True)
    return float(np.count_nonzero(times >= 3))


@metric(unit="timeouts", low=0, count=True)
def timeouts(run: RunView, *, traffic: str | None = None) -> float:
    """Retransmission timeouts (probe timeouts of QUIC stacks), summed over the connections of the traffic.

    `traffic` selects one traffic entry of the study; by default, all count.
    """
    return float(np.sum(select_connections(run, traffic)["timeouts"]))


@metric(unit="1", low=0, high=1, tables=["objects"])
def timeout_share(
    run: RunView,
    *,
    traffic: str | None = None,
    kind: Kind = "transaction",
    of: Literal["all", "resent"] = "all",
) -> float:
    """Share of the transactions in which a retransmission timer expired, at either end, for a SYN or data.

    All transactions that began in the window count, finished or not. With `of = "resent"`, only transactions
    with a segment sent again count; those of them without a timeout recovered by duplicate ACKs alone.

    `traffic` selects one traffic entry of the study (by default, all count), and `kind` one kind of object.
    NaN if there were no such objects.
    """
    sample = objects(run, kind, traffic)
    timeouts = sample.timeouts if of == "all" else sample.timeouts[sample.retransmits > 0]
    return float(np.mean(timeouts > 0)) if len(timeouts) else math.nan


@metric(unit="s", low=0, tables=["segments"])
def timeout_time(run: RunView, *, nth: Position = 1, connection: WholeNumber = 0) -> float:
    """Time at which the observation point sees the nth retransmission timeout, from the start of the run.

    A timeout is seen as the retransmission that it caused. The simulator's records mark such retransmissions;
    on a kernel, a retransmission counts as a timeout's if no packet arrived at its sender in the 2 ms before.

    `nth` counts from 1. NaN if there are fewer timeouts.
    """
    again = segment_events(run, "retransmit", connection=connection)
    times = np.unique(again["time_s"][again["timeout"]])
    return float(times[nth - 1]) if 1 <= nth <= len(times) else math.nan


@metric(unit="s", low=0, tables=["segments"])
def timeout_wait(run: RunView, *, nth: Position = 1, connection: WholeNumber = 0) -> float:
    """Time that the retransmission timer had run at the nth timeout, as the observation point shows it.

    The time begins when the observation point sees the last ACK of new data or the last retransmission before
    the timeout; both restart the timer (RFC 6298, section 5). If the observation point is at the sender, the
    value is the sender's timeout. NaN if there are fewer timeouts.

    `nth` counts from 1.
    """
    seen = segment_events(run, "retransmit", "ack", connection=connection, history=True)
    again = (seen["event"] == "retransmit") & seen["timeout"] & (seen["time_s"] >= run.start_s)
    times = np.unique(seen["time_s"][again])
    if not 1 <= nth <= len(times):
        return math.nan
    expired = times[nth - 1]
    before = seen["time_s"][seen["time_s"] < expired]
    return float(expired - before[-1]) if len(before) else math.nan
