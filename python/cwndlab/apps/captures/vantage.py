"""Where a capture was made, and what the sender saw if it was made at the receiver."""

from __future__ import annotations

from cwndlab.apps.diagnosis.conversation import ACK, Conversation, Packet

#: Segments of a hole are put in one by one up to this number; a larger hole is put in as a whole.
_MOST_SEGMENTS = 2_000_000
#: Acknowledgments are moved by this much less than a round trip, since round trips differ.
_MARGIN_NS = 500_000
#: What follows a packet this soon may belong to the same burst.
_BURST_NS = 2_000_000


def is_at_receiver(packets: list[Packet]) -> bool:
    """Whether the receiver answers at once and the sender late: in the handshake, else by shortest times."""
    if (shown := _shown_by_handshake(packets)) is not None:
        return shown
    answers: dict[bool, int] = {}
    before = None
    for packet in packets:
        if (
            before is not None
            and before.out != packet.out
            and (packet.len or before.len or packet.is_syn or before.is_syn)
        ):
            waited = packet.time_ns - before.time_ns
            answers[packet.out] = min(answers.get(packet.out, waited), waited)
        before = packet
    return answers.get(True, 0) > answers.get(False, 0)


def is_shown_by_handshake(packets: list[Packet]) -> bool:
    """Whether the times of a handshake say where the capture was made."""
    return _shown_by_handshake(packets) is not None


def _shown_by_handshake(packets: list[Packet]) -> bool | None:
    """Whether a handshake shows that the capture was made at the receiver; None if it does not say."""
    syn = next((p for p in packets if p.is_syn and not p.flags & ACK), None)
    if syn is None:
        return None
    later = [p for p in packets if p.time_ns >= syn.time_ns and p.flags & ACK]
    reply = next((p for p in later if p.is_syn and p.out != syn.out), None)
    last = next((p for p in later if not p.is_syn and p.out == syn.out), None)
    if reply is None or last is None:
        return None
    there, back = reply.time_ns - syn.time_ns, last.time_ns - reply.time_ns
    return None if there == back else (there < back) == syn.out


def make_as_sent(conversation: Conversation) -> None:
    """Makes of what was seen at the receiver what the sender saw, as far as possible.

    Acknowledgments are moved by the shortest time until data answers them, one round trip, so that they come
    just before what they released. What was lost before the capture left holes: it is put in as unseen,
    unless it was acknowledged without having been seen, as then the capture lost it.
    """
    packets, mss, notes = conversation.packets, conversation.mss, conversation.notes
    answer = _answer_time(packets)
    rtt = answer - min(answer // 20, _MARGIN_NS)
    moved: list[Packet] = []
    missing = iter(conversation.missing)
    lacking = next(missing, None)
    highest = 0 if conversation.from_start else next((p.seq for p in packets if p.out and p.len), 0)
    for packet in packets:
        if not packet.out:
            packet.time_ns += rtt
        elif packet.len:
            while lacking is not None and highest < packet.seq:
                if lacking.seq >= packet.seq:
                    break
                _fill(moved, packet.time_ns, highest, lacking.seq, mss, notes)
                highest = max(highest, lacking.seq + lacking.len)
                lacking = next(missing, None)
            _fill(moved, packet.time_ns, highest, packet.seq, mss, notes)
            highest = max(highest, packet.end)
        moved.append(packet)
    conversation.packets = sorted(moved, key=lambda packet: packet.time_ns)
    conversation.seen_at = "receiver"
    notes.append("captured at the receiver: what the sender saw is reconstructed")


def _fill(moved: list[Packet], time_ns: int, start: int, end: int, mss: int, notes: list[str]) -> None:
    """Puts in what was lost from `start` to `end`."""
    hole = max(0, end - start)
    step = mss
    if len(moved) + -(-hole // mss) > _MOST_SEGMENTS:
        step = hole
        notes.append(f"{hole} bytes before {time_ns / 1e9:.6f} s are not in the capture")
    for seq in range(start, end, step or 1):
        moved.append(Packet(time_ns, True, seq, min(step, end - seq), 0, 0, ACK, unseen=True))


def _answer_time(packets: list[Packet]) -> int:
    """How long the sender's answers took to reach the receiver: in the handshake, else the shortest."""
    asked = None
    times: list[int] = []
    for packet in packets:
        if not packet.out:
            asked = packet
        elif asked is not None:
            if asked.is_syn:
                return packet.time_ns - asked.time_ns
            if packet.time_ns - asked.time_ns > _BURST_NS:
                times.append(packet.time_ns - asked.time_ns)
            asked = None
    return min(times, default=0)
