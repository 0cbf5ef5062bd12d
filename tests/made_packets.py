"""Packets of a flow and of a conversation that tests write by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import FlowPackets
from cwndlab.apps.diagnosis.conversation import ACK, Packet
from cwndlab.apps.diagnosis.summary import Summary

MSS, HEADER = 1000, 40
MS = 1_000_000


def flow(
    sent: Sequence[tuple[float, int]],
    acks: Sequence[tuple[float, int]],
    *,
    sacked: Sequence[int] = (),
    window: int | Sequence[int] = 65_535,
    handshake_s: float = math.nan,
    seconds: float = 0.0,
) -> FlowPackets:
    """Segments and acknowledgments: a time, and the number of the segment or of segments acknowledged.

    `sacked` and `window` are in bytes.
    """
    numbers = np.array([MSS * acked for _, acked in acks], dtype=np.int64)
    return FlowPackets(
        sent_s=np.array([time for time, _ in sent], dtype=float),
        seq=np.array([MSS * number for _, number in sent], dtype=np.int64),
        size=np.full(len(sent), MSS),
        ack_s=np.array([time for time, _ in acks], dtype=float),
        ack=numbers,
        sacked=np.array(sacked or [0] * len(acks), dtype=np.int64),
        allowed=numbers + np.array(window, dtype=np.int64),
        handshake_s=handshake_s,
        mss=MSS,
        header=HEADER,
        seconds=seconds or max((time for time, _ in [*sent, *acks]), default=0.0),
    )


def deliveries(
    sent: Sequence[tuple[float, int]], acks: Sequence[tuple[float, int]], **changes: float
) -> Deliveries:
    """The same, as deliveries."""
    return Deliveries(flow(sent, acks, **changes))  # type: ignore[arg-type]


def sent(ms: float, seq: int = 0, length: int = 0, flags: int = ACK, **more: Any) -> Packet:
    """A packet of the sender of a conversation."""
    return Packet(round(ms * MS), True, seq, length, 0, 0, flags, **more)


def got(
    ms: float, ack: int = 0, window: int = 9000, length: int = 0, flags: int = ACK, **more: Any
) -> Packet:
    """A packet that arrives at the sender of a conversation."""
    return Packet(round(ms * MS), False, 0, length, ack, window, flags, **more)


def summary(**changes: Any) -> Summary:
    """The summary of a conversation of two seconds."""
    return replace(Summary("a > b", 2.0, 500_000, 400, 8, (0.04, 0.0525), {"cwnd": 1.5}), **changes)
