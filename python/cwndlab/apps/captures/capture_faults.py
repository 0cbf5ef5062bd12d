"""Faults of a capture itself: duplicates, missing and damaged packets, one direction only, clock faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from cwndlab.apps.diagnosis.conversation import FIN, RST, SYN, Conversation, Missing, Packet
from cwndlab.base.writing import count_text

if TYPE_CHECKING:
    from cwndlab._core import Capture, Faults

#: A capture's clock is coarse if the times of `_COARSE_PACKETS` packets are multiples of `_COARSE_NS`.
_COARSE_NS, _COARSE_PACKETS = 1_000_000, 20
#: The largest receive window without window scaling. The window field of a SYN-ACK is never scaled.
_LARGEST_UNSCALED = 65_535
#: Share of data segments larger than the segment size from which a note is added.
_MERGED = 0.02
#: If more pairs of endpoints reused their ports, the note gives only their number.
_NAMED = 4
#: Holes of fewer bytes are ignored: a hole of one byte may be a FIN.
_LEAST_HOLE = 2


class _Range(NamedTuple):
    """A range of data captured beyond a hole."""

    start: int
    stop: int
    #: When the first segment of the range was captured, and the packet before that segment.
    after_ns: int
    before_ns: int


def find_missing(packets: Sequence[Packet], *, at_sender: bool, from_start: bool) -> list[Missing]:
    """Data that was sent but is missing from the capture, in order of sequence numbers.

    Acknowledged data must have been sent. A sender never skips data, so a capture made at the sender also
    lacks everything before a later segment.
    """
    found: list[Missing] = []
    #: End of the contiguous data, seen or known to be missing; `ahead` holds the ranges seen beyond `whole`.
    whole = 0 if from_start else -1
    ahead: list[_Range] = []
    last_ns = packets[0].time_ns if packets else 0

    def reach(end: int, time_ns: int) -> int:
        """Records the holes below `end`; returns the new end of the contiguous data."""
        nonlocal ahead
        reached = whole
        for one in ahead:
            if one.start > end:
                break
            if one.start > reached:
                found.append(Missing(reached, one.start - reached, one.after_ns, one.before_ns))
            reached = max(reached, one.stop)
        if reached < end:
            found.append(Missing(reached, end - reached, last_ns, time_ns))
            reached = end
        ahead = [part for part in ahead if part.stop > reached]
        return reached

    for packet in packets:
        if packet.out and (packet.len or packet.flags & FIN):
            if whole < 0:
                whole = packet.seq
            if packet.seq > whole and at_sender:
                whole = reach(packet.seq, packet.time_ns)
            if packet.seq <= whole:
                whole = max(whole, packet.end)
                while ahead and ahead[0].start <= whole:
                    whole = max(whole, ahead.pop(0).stop)
            else:
                _add(ahead, _Range(packet.seq, packet.end, last_ns, packet.time_ns))
            last_ns = packet.time_ns
        elif not packet.out and 0 <= whole < packet.ack and not packet.flags & RST:
            whole = reach(packet.ack, packet.time_ns)
    return [hole for hole in found if hole.len >= _LEAST_HOLE]


def _add(ahead: list[_Range], new: _Range) -> None:
    """Inserts a range into `ahead`, which stays sorted, and merges ranges that touch."""
    at = len(ahead)
    while at and ahead[at - 1].start > new.start:
        at -= 1
    if at and ahead[at - 1].stop >= new.start:
        at -= 1
        new = ahead[at]._replace(stop=max(ahead[at].stop, new.stop))
        del ahead[at]
    while at < len(ahead) and ahead[at].start <= new.stop:
        new = new._replace(stop=max(new.stop, ahead[at].stop))
        del ahead[at]
    ahead.insert(at, new)


def find_direction(packets: Sequence[Packet], has_data: bool) -> Literal["", "data", "acks"]:
    """The only direction that a capture holds, apart from the handshake; "" if it holds both."""
    answers = any(not packet.out and not packet.flags & (SYN | RST) for packet in packets)
    if not has_data:
        return "acks" if any(packet.ack > 1 for packet in packets if not packet.out) else ""
    if answers:
        return ""
    offered = max((packet.window for packet in packets if not packet.out), default=0)
    # Without ACKs, a sender stops at the end of the window and retransmits.
    sent = [packet for packet in packets if packet.out and packet.len]
    if max(packet.end for packet in sent) > max(offered, _LARGEST_UNSCALED):
        return "data"
    repeats = len(sent) - len({packet.seq for packet in sent})
    return "" if repeats or any(not packet.out for packet in packets) else "data"


def note_faults(conversation: Conversation, faults: Faults) -> None:
    """Adds a note for each kind of fault that the capture of this connection has."""
    notes = conversation.notes
    if faults.copies:
        where = " by several interfaces" if faults.interfaces else ""
        if faults.ttls is not None:
            where += " on both sides of a router (TTL {} and {})".format(*faults.ttls)
        notes.append(f"packets were captured more than once{where}: {faults.copies} copies were left out")
    if faults.damaged:
        count = f"{faults.damaged} segments have" if faults.damaged > 1 else "1 segment has"
        notes.append(f"{count} a wrong checksum or impossible numbers, and no part in the diagnosis")
    if faults.fragmented:
        notes.append(f"{count_text(faults.fragmented, 'segment')} came as fragments of IP")
    if conversation.missing:
        lacking = sum(hole.len for hole in conversation.missing)
        sent = max((p.end for p in conversation.packets if p.out), default=lacking)
        share = f"{100 * lacking / max(sent, lacking):.2g} %"
        notes.append(
            f"the capture lacks {lacking} bytes that were sent ({share}): "
            "what the sender waited for meanwhile is not known"
        )
    if conversation.one_way == "data":
        notes.append("only the sender's packets were captured: what it waited for is not known")
    elif conversation.one_way == "acks":
        notes.append("only the receiver's packets were captured: what the sender waited for is not known")


def note_merged(conversation: Conversation) -> None:
    """Notes segments larger than the MSS, which result from segmentation offload."""
    data = [packet.len for packet in conversation.packets if packet.len]
    large = sum(size > conversation.mss for size in data)
    if large > _MERGED * len(data):
        conversation.notes.append(
            f"{large} of {len(data)} segments with data are larger than what was sent: the host hands its "
            "device several at once, or merges what it received; segments are counted as captured"
        )


def _ports_used_again(conversations: Sequence[Conversation]) -> list[str]:
    """A note for each pair of endpoints with several connections, or one that counts many such pairs."""
    ends = Counter(frozenset(conversation.name.split(" > ")) for conversation in conversations)
    again = {pair: count for pair, count in ends.items() if count > 1}
    if len(again) > _NAMED:
        return [
            f"the ports of {len(again)} pairs of ends were used again, for {sum(again.values())} connections"
        ]
    return [
        f"the ports of {' and '.join(sorted(pair))} were used again: {count} connections"
        for pair, count in again.items()
    ]


def note_whole_capture(conversations: Sequence[Conversation], capture: Capture) -> None:
    """Notes faults of the whole capture, and sets `tick_ns` and `steps` of each connection."""
    packets = sum(len(one.packets) for one in conversations)
    coarse = capture.tick_ns if capture.tick_ns >= _COARSE_NS and packets >= _COARSE_PACKETS else 0
    for conversation in conversations:
        conversation.tick_ns = coarse
        conversation.steps = [time_ns for time_ns, _ in capture.steps]
    first = conversations[0].notes
    first += _ports_used_again(conversations)
    if capture.cut is not None:
        first.insert(0, capture.cut)
    if capture.headers_cut:
        first.append(
            f"{count_text(capture.headers_cut, 'packet')} cut within TCP's header, and left out; "
            "capture with a snap length of at least 96"
        )
    for time_ns, back_ns in capture.steps:
        how = f"{'back' if back_ns > 0 else 'forward'} by about {abs(back_ns) / 1e9:.2f} s"
        slept = "" if back_ns > 0 else ", or its host slept"
        first.append(
            f"the clock of the capture was set {how} after {time_ns / 1e9:.6f} s{slept}: "
            "how long the packets there are apart is not known"
        )
    if coarse:
        first.append(
            f"the times of the capture are multiples of {coarse / 1e6:g} ms: shorter round trips and waits "
            "do not show"
        )
