"""The packets of one flow at its sender as arrays, from a capture or from simulated records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cwndlab.apps.diagnosis.conversation import ACK, HEADERS, SYN, TIMESTAMPS, Conversation
from cwndlab.records.run_view import to_numpy

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True)
class FlowPackets:
    """What a flow's sender sent and received; times are in seconds from the first packet."""

    #: Data segments: send time, sequence number and payload bytes.
    sent_s: Floats
    seq: Whole
    size: Whole
    #: Acknowledgments: arrival time and number. Those of the handshake are excluded.
    ack_s: Floats
    ack: Whole
    #: The right edge of the first SACK block, which reports the latest arrival (RFC 2018, section 4); 0 if
    #: none.
    sacked: Whole
    #: The highest offset that the receiver's window allows.
    allowed: Whole
    #: Round trip of the handshake; NaN if it was not captured.
    handshake_s: float
    #: Payload of a full segment.
    mss: int
    #: Header bytes of a data segment.
    header: int
    #: Seconds from the first packet to the last.
    seconds: float

    @property
    def wire_bytes(self) -> int:
        """Size of a full segment including headers, in bytes."""
        return self.mss + self.header


def of_conversation(conversation: Conversation) -> FlowPackets:
    """The packets of a conversation that was captured at the sender."""
    packets, mss = conversation.packets, conversation.mss
    first = packets[0].time_ns if packets else 0
    data = [p for p in packets if p.out and p.len and not p.unseen and not p.probe]
    # Segments captured before segmentation offload are split into segments of at most `mss` bytes.
    parts = [(p.time_ns, p.seq + at, min(mss, p.len - at)) for p in data for at in range(0, p.len, mss)]
    acks = [p for p in packets if not p.out and p.flags & ACK and not p.flags & SYN]
    stamped = sum(p.ts_val is not None for p in data)
    return FlowPackets(
        sent_s=np.array([time - first for time, _, _ in parts], dtype=float) / 1e9,
        seq=np.array([seq for _, seq, _ in parts], dtype=np.int64),
        size=np.array([size for _, _, size in parts], dtype=np.int64),
        ack_s=np.array([p.time_ns - first for p in acks], dtype=float) / 1e9,
        ack=np.array([p.ack for p in acks], dtype=np.int64),
        sacked=np.array([p.sack[0][1] if p.sack else 0 for p in acks], dtype=np.int64),
        allowed=np.array([p.ack + p.window for p in acks], dtype=np.int64),
        handshake_s=_handshake(
            [(p.time_ns, p.out) for p in packets if p.is_syn], [p.time_ns for p in acks[:1]]
        ),
        mss=mss,
        header=HEADERS + (TIMESTAMPS if 2 * stamped > len(data) else 0),
        seconds=(packets[-1].time_ns - first) / 1e9 if packets else 0.0,
    )


def _handshake(syns: Sequence[tuple[int, bool]], acks: Sequence[int]) -> float:
    """The handshake's round trip in s: from SYN to SYN-ACK, or from SYN-ACK to the first acknowledgment.

    NaN unless exactly one SYN of each end was seen.
    """
    own = [time for time, out in syns if out]
    other = [time for time, out in syns if not out]
    if len(own) != 1 or len(other) != 1:
        return np.nan
    answer = other[0] if own[0] < other[0] else acks[0] if acks else None
    return (answer - own[0]) / 1e9 if answer is not None and answer > own[0] else np.nan


def of_segments(table: pa.Table, connection: int) -> FlowPackets:
    """The packets of one connection, from the segment records of its sender, which is the client."""
    import pyarrow.compute as pc

    table = table.filter(pc.equal(table.column("connection"), connection))
    of = {name: to_numpy(table.column(name)) for name in ("time_ns", "from_client", "sent", "seq", "len")}
    of |= {name: to_numpy(table.column(name)) for name in ("ack", "window_bytes", "flags", "wire_bytes")}
    mine = of["from_client"] & of["sent"]
    arrived = ~of["from_client"] & ~of["sent"]
    syn = (of["flags"] & SYN) > 0
    time = of["time_ns"].astype(np.int64)
    first = int(time[0]) if len(time) else 0
    data, acks = mine & (of["len"] > 0), arrived & ~syn & ((of["flags"] & ACK) > 0)
    size = of["len"][data].astype(np.int64)
    overhead = of["wire_bytes"][data].astype(np.int64) - size
    return FlowPackets(
        sent_s=(time[data] - first) / 1e9,
        seq=of["seq"][data].astype(np.int64),
        size=size,
        ack_s=(time[acks] - first) / 1e9,
        ack=of["ack"][acks].astype(np.int64),
        sacked=_second(table.column("sack"))[acks],
        allowed=of["ack"][acks].astype(np.int64) + of["window_bytes"][acks].astype(np.int64),
        handshake_s=_handshake(
            [(int(t), bool(out)) for t, out in zip(time[syn], of["sent"][syn], strict=True)],
            time[acks][:1].tolist(),
        ),
        mss=int(size.max()) if len(size) else 0,
        header=int(np.median(overhead)) if len(overhead) else HEADERS,
        seconds=float(time[-1] - first) / 1e9 if len(time) else 0.0,
    )


def _second(column: pa.ChunkedArray) -> Whole:
    """The second number of each list, the right edge of its first SACK block; 0 for an empty list."""
    lists = column.combine_chunks()
    offsets, values = lists.offsets.to_numpy(), lists.values.to_numpy(zero_copy_only=False).astype(np.int64)
    if not len(values):
        return np.zeros(len(lists), dtype=np.int64)
    places = np.minimum(offsets[:-1].astype(np.int64) + 1, len(values) - 1)
    return np.where(np.diff(offsets) >= 2, values[places], 0)
