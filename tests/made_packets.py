"""Packets of a flow that tests write by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import FlowPackets

MSS, HEADER = 1000, 40


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
