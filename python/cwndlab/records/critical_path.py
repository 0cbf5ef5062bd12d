"""Where the time of an object or a connection goes: its critical path, in parts that add up to its duration.

The core walks the path (crates/cwndlab-records/src/time_budget.rs); this module names its parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cwndlab import _core
from cwndlab.plan.probes import SENDER_PROBES

if TYPE_CHECKING:
    import pyarrow as pa

Part: TypeAlias = Literal[
    "client",
    "handshake",
    "rto-handshake",
    "request",
    "server",
    "slow-start",
    "cwnd",
    "max-window",
    "receive-window",
    "pacing",
    "small-segment",
    "send-buffer",
    "delayed-ack",
    "recovery",
    "probe",
    "reordering",
    "rto",
    "rto-repeated",
    "serialization",
    "queueing",
    "delivery",
    "closing",
]
"""A part of a budget."""

#: What has a budget.
KINDS = ("page", "file", "transaction", "object", "connection")
#: The parts of a budget, in the order in which they are shown.
PARTS: dict[Part, str] = {
    "client": "waiting for the application at the client",
    "handshake": "propagation of SYN and SYN-ACK",
    "rto-handshake": "waiting for the timeout of a SYN or a SYN-ACK",
    "request": "propagation of data that the server waited for",
    "server": "waiting for the application at the server",
    "slow-start": "propagation of the rounds that cwnd cost while it was below ssthresh",
    "cwnd": "propagation of the rounds that cwnd cost otherwise",
    "max-window": "propagation of the rounds that the configured largest window cost",
    "receive-window": "waiting for the peer's receive window, propagation included",
    "pacing": "waiting for the pacer, and propagation of the rounds before",
    "small-segment": "a small segment waiting for an ACK (Nagle), propagation included",
    "send-buffer": "propagation of the rounds that a full send buffer cost",
    "delayed-ack": "waiting for an ACK that its sender delayed",
    "recovery": "propagation of the rounds that repaired a loss",
    "probe": "waiting for a tail loss probe",
    "reordering": "waiting for RACK's reordering timer",
    "rto": "waiting for a retransmission timeout",
    "rto-repeated": "waiting for a timeout after one that brought no progress",
    "serialization": "transmission of the path's packets on each link",
    "queueing": "what else delayed the path's packets: queues (also behind the flow's own packets), jitter",
    "delivery": "propagation of data that the client waited for",
    "closing": "after the last data",
}

#: The record tables that the budget is made of.
TABLES = ("connections", "objects", "limits", "states", "timeouts", "cwnd", "delays")


#: The probes that fill these tables.
PROBES = {"connections": True} | {
    probe: True for probe, tables in SENDER_PROBES.items() if not tables.isdisjoint(TABLES)
}


def time_budgets(
    table: Callable[[str], pa.Table], scenario: Mapping[str, Any], end_ns: int, kind: str | None = None
) -> pa.Table:
    """The budgets of a run's finished objects and of its connections, or of one kind of them.

    In the order of the records, objects first. Flows of datagrams have none.

    Args:
        table: gives the whole run's record table of a name (`TABLES`).
        scenario: the run's scenario.
        end_ns: the end of the run, or of a window: what happens from then on is not looked at, and
            connections that are open end with it.
        kind: "page", "file", "transaction", "object" or "connection".

    Returns:
        `traffic` (its index), `kind`, `index`, `start_ns`, `end_ns`, and nanoseconds for each part, as
        `slow-start_ns`: these add up to `end_ns - start_ns`.

    Raises:
        ValueError: a table does not fit.

    """
    from cwndlab.arrow_tables import read_table  # pyarrow takes longer to load than a short command runs

    tables = {name: table(name) for name in TABLES}
    return read_table(_core.time_budgets(json.dumps(scenario), tables, end_ns, kind))
