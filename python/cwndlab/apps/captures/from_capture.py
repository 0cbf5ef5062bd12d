"""Conversations read from a capture that was made at either end of a connection or on the path."""

from __future__ import annotations

from pathlib import Path

from cwndlab._core import Capture, CapturedEnd, read_capture
from cwndlab.apps.diagnosis.conversation import RST, SYN, TIMESTAMPS, Blocks, Conversation, Packet
from cwndlab.apps.diagnosis.keep_alive import mark_probes
from cwndlab.base.errors import StudyError

from .capture_faults import find_direction, find_missing, note_faults, note_merged, note_whole_capture
from .capture_formats import readable
from .endings import describe_ending
from .vantage import find_answers, is_at_receiver, make_as_sent

#: Limits of what is read from a capture; its packets then fit in 500 MB of memory.
MOST_SEGMENTS = 1_000_000
MOST_BYTES = 2 << 30
#: A capture at the receiver has holes that retransmissions fill later, at least this share of their bytes.
_FILLED = 0.5


def read(path: Path) -> list[Conversation]:
    """The TCP connections of a capture; the end that sent more data is the sender.

    Times count from the first packet of the capture. Only the first `MOST_SEGMENTS` segments and `MOST_BYTES`
    bytes of a larger capture are read; a note reports the cut.

    Raises:
        StudyError: the file cannot be read, or contains no TCP.

    """
    with readable(path) as file:
        try:
            capture = read_capture(file, most_segments=MOST_SEGMENTS, most_bytes=MOST_BYTES)
        except (ValueError, OSError) as error:
            raise StudyError(f"{path}: this capture cannot be read: {error}") from None
    made = [_conversation(capture, k) for k in range(len(capture))]
    if not made:
        cut = "" if capture.cut is None else f"; {capture.cut}"
        raise StudyError(f"{path}: there is no TCP segment in it{cut}")
    note_whole_capture(made, capture)
    return made


def _first_sends(one: CapturedEnd, other: CapturedEnd) -> bool:
    """Whether `one` is the sender: it sent more data or, if both sent the same, had more acknowledged."""
    return (one.bytes, one.acknowledged) >= (other.bytes, other.acknowledged)


def _scale(end: CapturedEnd) -> int | None:
    """The window scale of an end, 0 if it did not offer one; None if unknown."""
    if not end.opened or (end.scale is None and end.options_cut):
        return None
    return end.scale or 0


def _conversation(capture: Capture, k: int) -> Conversation:
    ends, faults = capture.ends(k), capture.faults(k)
    one, other = capture.end(k, True), capture.end(k, False)
    first_sends = _first_sends(one, other)
    sender, receiver = (one, other) if first_sends else (other, one)
    # The options in each segment reduce its payload (RFC 6691, section 2).
    options = TIMESTAMPS if sender.stamped else 0
    offered = [end.mss - options for end in (one, other) if end.mss is not None]
    conversation = Conversation(
        name=" > ".join(ends if first_sends else ends[::-1]),
        packets=_packets(capture, k, first_sends, _scale(sender), _scale(receiver)),
        # With segmentation offload, captured segments exceed the MSS.
        mss=max(1, min([sender.largest, *offered]) if sender.largest else min(offered, default=1460)),
        seen_at="sender",
        scale_known=_scale(one) is not None and _scale(other) is not None,
        from_start=sender.opened,
        damaged=_damaged_of_sender(faults.damaged, faults.damaged_bytes[not first_sends]),
    )
    packets = conversation.packets
    spoke = any(not packet.flags & (SYN | RST) for packet in packets)
    conversation.one_way = find_direction(packets, sender.largest > 0) if spoke else ""
    if one.options_cut or other.options_cut:
        conversation.notes.append(
            "options of TCP were cut off: window scale, segment size, SACK and timestamps are not known"
        )
    elif spoke and not conversation.one_way and not conversation.scale_known:
        conversation.notes.append("the handshake was not captured: windows may be larger than shown")
    if faults.damaged:
        conversation.span_ns = faults.span_ns
    mark_probes(packets)
    conversation.ended = describe_ending(packets) if not conversation.one_way else ""
    if spoke:
        _place(conversation, capture.tick_ns)
    note_faults(conversation, faults)
    note_merged(conversation)
    return conversation


def _damaged_of_sender(count: int, size: int) -> tuple[int, int]:
    return (count if size else 0), size


def _place(conversation: Conversation, tick_ns: int) -> None:
    """Finds what the capture lacks and where it was made; if elsewhere, reconstructs the sender's view."""
    packets, from_start = conversation.packets, conversation.from_start
    if conversation.one_way:
        return
    answers = find_answers(packets)
    skipped = find_missing(packets, at_sender=True, from_start=from_start)
    lacking = find_missing(packets, at_sender=False, from_start=from_start)
    if answers is not None:
        place = answers.place(tick_ns)
    else:
        holes, lost = sum(hole.len for hole in skipped), sum(one.len for one in lacking)
        # A sender never skips data and sends it later, so holes that are filled later rule out the sender.
        at_receiver = is_at_receiver(packets) or lost < (1 - _FILLED) * holes
        place = "receiver" if at_receiver else "sender"
    conversation.missing = skipped if place == "sender" else lacking
    if place != "sender":
        make_as_sent(conversation, place, answers)


def _packets(
    capture: Capture, k: int, first_sends: bool, own_scale: int | None, peer_scale: int | None
) -> list[Packet]:
    """The packets of a connection, with sequence numbers from 0 and windows in bytes."""
    known = own_scale is not None and peer_scale is not None
    scales = {True: own_scale or 0, False: peer_scale or 0} if known else {True: 0, False: 0}
    #: One object for each distinct length or window, which saves memory.
    numbers: dict[int, int] = {}
    made: list[Packet] = []
    while segments := capture.take_segments(k):
        for segment in segments:
            out = segment.from_first == first_sends
            window = segment.window << (0 if segment.flags & SYN else scales[out])
            length = segment.len
            ts_val, ts_ecr = segment.ts or (None, None)
            made.append(
                Packet(
                    segment.time_ns,
                    out,
                    segment.seq,
                    numbers.setdefault(length, length),
                    segment.ack,
                    numbers.setdefault(window, window),
                    segment.flags,
                    Blocks.of_pairs(segment.sack) if segment.sack else (),
                    ts_val,
                    ts_ecr,
                )
            )
    return made
