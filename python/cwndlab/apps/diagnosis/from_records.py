"""Conversations from the record tables of a run, simulated or on a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cwndlab.base.numbers import Columns
from cwndlab.base.writing import count_text
from cwndlab.study.knobs import alternative_name

from .conversation import Conversation, Drop, Known, Packet
from .diagnosis import Diagnosis
from .run_bottleneck import bottleneck_in

#: The record tables that `conversations` reads.
TABLES = ("connections", "segments", "limits", "timeouts", "cwnd")


def conversations(
    columns: Callable[[str], Columns],
    scenario: Mapping[str, Any],
    traffic: int,
    node: int,
    *,
    simulated: bool = True,
) -> list[Conversation]:
    """The connections of a traffic entry, with the observed node as the sender.

    Args:
        columns: returns the columns of a record table.
        scenario: the compiled scenario, with the probes of `TABLES` on and segments observed at the node.
        traffic: index of the traffic entry.
        node: the sending host.
        simulated: whether the tables record the sender's own state; those of kernels are inferred.

    """
    table = columns("connections")
    mine = table["traffic"] == traffic
    found = []
    for serial, client in zip(
        table["connection"][mine].tolist(), table["client"][mine].tolist(), strict=True
    ):
        found.append(_conversation(columns, scenario, traffic, serial, client == node, simulated))
    # Programs may send datagrams next to TCP, and datagrams have no windows.
    kept = [one for one in found if not one.packets or any(packet.flags for packet in one.packets)]
    if len(kept) < len(found) and kept:
        kept[0].notes.append(f"{count_text(len(found) - len(kept), 'connection')} of datagrams left out")
    return kept


#: At most this many failed connections are named.
NAMED = 4


def with_failures(diagnosis: Diagnosis, columns: Callable[[str], Columns], traffic: int) -> Diagnosis:
    """The diagnosis with a note for each connection of the traffic entry that failed."""
    table = columns("failures")
    rows = np.flatnonzero(table["traffic"] == traffic)
    if not len(rows):
        return diagnosis
    notes = []
    for row in rows[:NAMED]:
        end = _known_number(table["end_ns"][row])
        at = "" if end is None else f" at {end / 1e9:.6f} s"
        notes.append(f"connection {table['connection'][row]} failed{at}: {table['reason'][row]}")
    if len(rows) > NAMED:
        notes.append(f"{len(rows) - NAMED} more connections failed")
    return replace(diagnosis, notes=(*notes, *diagnosis.notes))


def _conversation(
    columns: Callable[[str], Columns],
    scenario: Mapping[str, Any],
    traffic: int,
    serial: int,
    client: bool,
    simulated: bool,
) -> Conversation:
    entry = scenario["traffic"][traffic]
    config = scenario["tcp"][entry["tcp_client" if client else "tcp_server"]]
    nodes = scenario["nodes"]
    ends = (nodes[entry["client"]], nodes[entry["server"]])
    sender, receiver = ends if client else ends[::-1]
    packets = _packets(columns("segments"), scenario, serial, client)
    return Conversation(
        name=f"{entry['name']}, connection {serial}, {sender} > {receiver}",
        packets=packets,
        # The options in each segment reduce its payload below the configured MSS.
        mss=max((packet.len for packet in packets if packet.out), default=0) or int(config["mss"]),
        seen_at="sender",
        known=_sender_facts(columns, serial, client, alternative_name(config["window_law"]))
        if simulated
        else None,
        drops_known=True,
        serial=serial,
        bottleneck=bottleneck_in(scenario, traffic, *(nodes.index(name) for name in (sender, receiver))),
    )


def _packets(table: Columns, scenario: Mapping[str, Any], serial: int, client: bool) -> list[Packet]:
    rows = np.flatnonzero(table["connection"] == serial)
    names = ("time_ns", "event", "from_client", "seq", "len", "ack", "window_bytes", "flags", "sack")
    more = ("ts_val", "ts_ecr", "ip_id", "link", "cause")
    packets: list[Packet] = []
    under_way: dict[tuple[int | None, int], Packet] = {}
    for row in zip(*(table[name][rows].tolist() for name in (*names, *more)), strict=True):
        time, event, from_client, seq, length, ack, window, flags, sack, val, ecr, ip_id, link, cause = row
        # A kernel's packets have no number; a drop then is that of the last packet with the same bytes.
        number = _known_number(ip_id)
        out = from_client == client
        if event in ("drop", "mark"):
            packet = under_way.get((number, seq)) if out else None
            if packet is not None and event == "drop":
                packet.drop = _drop(scenario["links"][int(link)], time, cause)
            continue
        blocks = tuple(zip(sack[::2], sack[1::2], strict=True)) if sack is not None else ()
        packet = Packet(
            time, out, seq, length, ack, window, flags, blocks, _known_number(val), _known_number(ecr)
        )
        packets.append(packet)
        if out:
            under_way[number, seq] = packet
    return packets


def _known_number(value: float | None) -> int | None:
    """The number as an int; None if it is missing (None, NaN or negative)."""
    return None if value is None or value != value or value < 0 else int(value)


def _drop(link: Mapping[str, Any], time_ns: int, cause: str) -> Drop:
    queue = link["queue"]
    policed = cause == "loss" and any(impairment["kind"] == "policer" for impairment in link["impairments"])
    limit = queue.get("limit")
    unit = str(queue.get("unit", "packets"))
    size = f" ({limit} of {limit} {unit})" if isinstance(limit, int) and queue["kind"] == "drop-tail" else ""
    why = {
        "full": f"the queue was full{size}",
        "aqm": f"the queue's law ({queue['kind']}) dropped it",
        "loss": "over the policer's rate" if policed else "lost on the link",
    }[cause]
    return Drop(time_ns, str(link["name"]), why, by_policer=policed)


def _sender_facts(columns: Callable[[str], Columns], serial: int, client: bool, law: str) -> Known | None:
    """The sender's recorded state; None if the table `limits` is empty for this connection."""

    def rows(table: str, *names: str) -> list[tuple[Any, ...]]:
        found = columns(table)
        mine = (found["connection"] == serial) & (np.asarray(found["from_client"], np.bool_) == client)
        return list(zip(*(found[name][mine].tolist() for name in names), strict=True))

    limits = sorted(rows("limits", "from_ns", "to_ns", "limit"))
    if not limits:
        return None
    timers = rows("timeouts", "time_ns", "timer", "set_ns", "backoffs")
    return Known(
        limits=limits,
        timers={time: (timer, since, count) for time, timer, since, count in timers},
        windows=rows("cwnd", "time_ns", "cwnd_bytes", "ssthresh_bytes"),
        law=law,
    )
