"""The faults of a capture itself: what it has twice, what it lacks, and what then cannot be known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from cwndlab.apps.diagnosis.conversation import FIN, RST, SYN, Conversation, Missing, Packet
from cwndlab.base.writing import count_text

if TYPE_CHECKING:
    from cwndlab._core import Capture, Faults

#: Times that are all multiples of this, in so many packets, come of a coarse clock.
_COARSE_NS, _COARSE_PACKETS = 1_000_000, 20
#: The largest window without a scale, which that of a SYN-ACK never has.
_LARGEST_UNSCALED = 65_535
#: From this share on, segments that are larger than the segment size are noted.
_MERGED = 0.02
#: So many pairs of ends are named.
_NAMED = 4
#: A hole of one byte may be a FIN.
_LEAST_HOLE = 2


class _Range(NamedTuple):
    """Data that was seen beyond a hole."""

    start: int
    stop: int
    #: When its first segment was seen, and the segment before that.
    after_ns: int
    before_ns: int


def find_missing(packets: Sequence[Packet], *, at_sender: bool, from_start: bool) -> list[Missing]:
    """The data that was sent, but is not in the capture, in order of its numbers.

    Data that is acknowledged must have been sent. A capture at the sender also lacks what a later segment
    skips, as a sender does not.
    """
    found: list[Missing] = []
    #: All that was seen or is known to be missing ends here; `ahead` was seen beyond it.
    whole = 0 if from_start else -1
    ahead: list[_Range] = []
    last_ns = packets[0].time_ns if packets else 0

    def reach(end: int, time_ns: int) -> int:
        """Notes the holes up to a number, and gives what is whole then."""
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
        ahead = [one for one in ahead if one.stop > reached]
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
    return [one for one in found if one.len >= _LEAST_HOLE]


def _add(ahead: list[_Range], new: _Range) -> None:
    """Adds a range to ranges in order and apart from each other."""
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
    """Whether a capture has one direction of a connection only, perhaps but for its handshake."""
    answers = any(not packet.out and not packet.flags & (SYN | RST) for packet in packets)
    if not has_data:
        return "acks" if any(packet.ack > 1 for packet in packets if not packet.out) else ""
    if answers:
        return ""
    offered = max((packet.window for packet in packets if not packet.out), default=0)
    # A sender that nobody answers stops at the end of the window, and sends again.
    sent = [packet for packet in packets if packet.out and packet.len]
    if max(packet.end for packet in sent) > max(offered, _LARGEST_UNSCALED):
        return "data"
    repeats = len(sent) - len({packet.seq for packet in sent})
    return "" if repeats or any(not packet.out for packet in packets) else "data"


def note_faults(conversation: Conversation, faults: Faults) -> None:
    """Notes what was wrong with the capture of a connection."""
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
        lacking = sum(one.len for one in conversation.missing)
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
    """Notes segments that hold several, as a device's driver hands them over (segmentation offload)."""
    data = [packet.len for packet in conversation.packets if packet.len]
    large = sum(size > conversation.mss for size in data)
    if large > _MERGED * len(data):
        conversation.notes.append(
            f"{large} of {len(data)} segments with data are larger than what was sent: the host hands its "
            "device several at once, or merges what it received; segments are counted as captured"
        )


def _ports_used_again(conversations: Sequence[Conversation]) -> list[str]:
    """A note on each two ends that have several connections."""
    ends = Counter(frozenset(one.name.split(" > ")) for one in conversations)
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
    """Notes what was wrong with the whole capture, with each connection that it touches."""
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
