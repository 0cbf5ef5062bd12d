"""Packets lost or marked in the network."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from cwndlab.base.engine_kinds import is_unresponsive

from . import RunView
from ._declared import metric
from ._rows import (
    Position,
    WholeNumber,
    all_use_quic,
    delivered_bytes,
    link_counters,
    objects,
    per_segment_sent,
    segment_events,
    select_connections,
)


@metric(unit="1", low=0, high=1)
def loss_rate(run: RunView, *, traffic: str | None = None) -> float:
    r"""Loss rate of flows: packets that links dropped, per packet that the flows sent.

    $$ p = \frac{\text{drops}}{\text{segments sent}} $$

    Both directions and all kinds of packets count (data, SYN, ACK, FIN). A packet dropped in the window may
    have been sent before it. `drop_rate` is the rate at one link.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if nothing was sent.
    """
    return per_segment_sent(run, "drops", traffic)


@metric(unit="1", low=0, high=1, tables=["connections", "objects"])
def datagram_loss(run: RunView, *, traffic: str | None = None) -> float:
    r"""Datagrams that did not arrive, per datagram that the application sent.

    $$ p = 1 - \frac{\text{datagrams arrived}}{\text{datagrams sent}} $$

    Over UDP, the datagrams that links dropped count as lost. Over a QUIC stack, where a packet can carry
    several datagrams and the stack discards some without sending them (RFC 9221, section 5.4), the datagrams
    sent in the window that had not arrived when it ended count as lost. `loss_rate` counts packets instead.

    `traffic` selects one traffic entry of the study; by default, all count. NaN if none sent datagrams.
    """
    entries = run.scenario["traffic"]
    mine = [k for k in run.traffic(traffic) if is_unresponsive(entries[k]["app"])]
    over_quic = [k for k in mine if "stack" in entries[k]]
    sample = objects(run, "object", traffic)
    chosen = np.isin(sample.client, over_quic)
    rows = select_connections(run, traffic)
    over_udp = np.isin(rows["traffic"], np.setdiff1d(mine, over_quic))
    sent = float(np.count_nonzero(chosen)) + float(rows["segments_sent"][over_udp].sum())
    lost = float(np.count_nonzero(chosen & ~sample.finished)) + float(rows["drops"][over_udp].sum())
    return lost / sent if sent else math.nan


_DROPS = {
    "all": ("drops_full", "drops_aqm", "drops_loss"),
    "full": ("drops_full",),
    "aqm": ("drops_aqm",),
    "loss": ("drops_loss",),
}


@metric(unit="1", low=0, high=1, tables=["links"])
def drop_rate(
    run: RunView, *, link: str | None = None, causes: Literal["all", "full", "aqm", "loss"] = "all"
) -> float:
    r"""Drop rate of a link: packets dropped per packet offered.

    $$ p = \frac{\text{drops}}{\text{arrivals}} $$

    All kinds of packets (data, SYN, ACK, FIN) count alike. `causes` is the kind of drops that count: by a
    full buffer (`full`), by active queue management (`aqm`), by loss models (`loss`), or by any cause
    (`all`).

    NaN if nothing was offered.
    """
    counted = link_counters(run, link, "arrivals", *_DROPS[causes])
    arrivals = counted.pop("arrivals")
    return sum(counted.values()) / arrivals if arrivals else math.nan


@metric(unit="packet", low=0, many=True, tables=["segments"])
def dropped_packets(
    run: RunView, *, until: Literal["end", "first-retransmission"] = "end", connection: WholeNumber = 0
) -> list[float]:
    """Numbers of the packets that were dropped, in order of time.

    Packet N is the N-th of the transfer, from 1 (offset / MSS + 1). With ``until = "first-retransmission"``
    only packets dropped before the first retransmission seen at the observation point are listed, as in RFC
    2416.
    """
    drops = segment_events(run, "drop", connection=connection)
    keep = drops["len"] > 0
    if until == "first-retransmission":
        again = segment_events(run, "retransmit", connection=connection)["time_s"]
        if len(again):
            keep &= drops["time_s"] < again[0]
    return [float(number) for number in drops["segment"][keep]]


_SIGNALS = {"marks": ("marks",), "drops": ("drops",), "both": ("marks", "drops")}


@metric(unit="packets", low=0, count=True, ranges={"per_megabyte": (0, math.inf)})
def congestion_signals(
    run: RunView,
    *,
    traffic: list[str],
    signal: Literal["marks", "drops", "both"] = "both",
    per_megabyte: bool = False,
) -> float:
    r"""Packets of a traffic's connections that links marked CE or dropped, both ways.

    With `per_megabyte`, the number is per \(10^6\) payload bytes that these connections delivered in order in
    the same time. `signal` is `marks`, `drops` or `both`. NaN if the cell has no such traffic.
    """
    entries = [index for name in traffic for index in run.traffic(name)]
    if not entries:
        return math.nan
    rows = select_connections(run, *traffic)
    signals = float(sum(rows[column].sum() for column in _SIGNALS[signal]))
    if not per_megabyte:
        return signals
    delivered = float(delivered_bytes(rows).sum())
    return 1e6 * signals / delivered if delivered else math.nan


@metric(unit="1", low=0, count=True, ranges={"share": (0, 1)}, tables=["segments", "connections"])
def windows_with_drops(
    run: RunView, *, traffic: str | None = None, at_least: Position = 1, share: bool = False
) -> float:
    """Windows of data in which links dropped at least `at_least` packets.

    A window of data is what a sender has sent beyond its highest acknowledgment. Here it begins with the
    first packet dropped, and ends when the observation point sees the first acknowledgment that covers this
    packet. A packet dropped twice in the window counts once. With `share`, the value is a share of the
    windows in which any packet was dropped (NaN if there are none).

    `traffic` selects one traffic entry of the study; by default, all count. Only connections that the
    observation point sees count. NaN if the cell has no such traffic, or only connections of QUIC stacks,
    which have no cumulative acknowledgments.
    """
    if (traffic is not None and not run.traffic(traffic)) or all_use_quic(run, traffic):
        return math.nan
    packets = run.once(("drops by window", traffic), lambda: _drops_by_window(run, traffic))
    count = sum(number >= at_least for number in packets)
    if not share:
        return float(count)
    return count / len(packets) if packets else math.nan


def _drops_by_window(run: RunView, traffic: str | None) -> list[int]:
    """The number of dropped packets in each window of data in which any was dropped."""
    entries, rows = run.scenario["traffic"], select_connections(run, traffic)
    pairs = zip(rows["connection"].tolist(), rows["traffic"].tolist(), strict=True)
    connections = [connection for connection, entry in pairs if "stack" not in entries[entry]]
    return [
        packets
        for connection in connections
        for client in (True, False)
        for packets in _select_sender(run, connection, client)
    ]


def _select_sender(run: RunView, connection: int, from_client: bool) -> list[int]:
    table = run.columns("segments")
    event, time = np.asarray(table["event"]), np.asarray(table["time_ns"])
    mine = np.asarray(table["connection"]) == connection
    forward = np.asarray(table["from_client"], dtype=np.bool_) == from_client
    dropped = np.flatnonzero(mine & forward & (event == "drop") & (np.asarray(table["len"]) > 0))
    acks = np.flatnonzero(mine & ~forward & ~np.isin(event, ("drop", "mark")))
    if not len(acks):
        return []  # the observation point does not see this sender's acknowledgments
    times, acknowledged = time[acks], np.maximum.accumulate(np.asarray(table["ack"])[acks])
    windows: list[set[int]] = []
    end = -math.inf
    for when, offset in zip(time[dropped].tolist(), np.asarray(table["seq"])[dropped].tolist(), strict=True):
        if when < end:
            windows[-1].add(offset)
            continue
        windows.append({offset})
        covered = int(np.searchsorted(acknowledged, offset, side="right"))
        end = times[covered] if covered < len(times) else math.inf
    return [len(offsets) for offsets in windows]
