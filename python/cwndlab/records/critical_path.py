"""Names of the parts of a time budget, which add up to the duration of an object or a connection.

The crate `cwndlab-records` computes budgets along the critical path (time_budget.rs).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from cwndlab.base.core import BUDGET_TABLES

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
"""The name of a part of a time budget."""

#: The kinds of objects that have time budgets; "connection" stands for connections.
KINDS = ("page", "file", "transaction", "object", "connection")
#: The parts of a time budget in words, in the order in which they are shown.
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

#: The probes of senders and packets, and the record tables that each of them fills.
SENDER_PROBES = {
    "cwnd": frozenset({"cwnd"}),
    "limits": frozenset({"limits"}),
    "delays": frozenset({"delays"}),
    "states": frozenset({"states", "timeouts"}),
    "accecn": frozenset({"accecn"}),
}
#: The probes, as keys of a study, that fill the tables from which time budgets are computed.
PROBES = {"connections": True} | {
    probe: True for probe, tables in SENDER_PROBES.items() if not tables.isdisjoint(BUDGET_TABLES)
}
