"""Where a capture was made, and what the sender saw if it was made at the receiver or in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from cwndlab.apps.diagnosis.conversation import ACK, RST, Conversation, Packet

#: Segments of a hole are put in one by one up to this number; a larger hole is put in as a whole.
_MOST_SEGMENTS = 2_000_000
#: Acknowledgments are moved by this much less than a round trip, since round trips differ.
_MARGIN_NS = 500_000
#: A host answers within this time, or within this part of the round trip.
_HOST_NS, _NEAR = 3_000_000, 0.05
#: What follows a packet this soon may belong to the same burst.
_BURST_NS = 2_000_000


class Answers(NamedTuple):
    """The shortest times after which answers of the ends are seen where a capture was made."""

    sender_ns: int
    receiver_ns: int

    def place(self, tick_ns: int) -> Literal["sender", "receiver", "middle"]:
        """Where that is, by a clock with this tick; at an end, its host answers early in the round trip."""
        if min(self) > max(_HOST_NS, 2 * tick_ns, _NEAR * sum(self)):
            return "middle"
        return "receiver" if self.receiver_ns < self.sender_ns else "sender"


def find_answers(packets: Sequence[Packet]) -> Answers | None:
    """The answers of both ends, by the handshake and by timestamps; None if neither shows them."""
    known = [found for found in (_handshake(packets), _echoes(packets)) if found is not None]
    if not known:
        return None
    return Answers(min(one.sender_ns for one in known), min(one.receiver_ns for one in known))


def is_at_receiver(packets: Sequence[Packet]) -> bool:
    """Whether the receiver answers at once and the sender late, by the shortest times between packets."""
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


def _handshake(packets: Sequence[Packet]) -> Answers | None:
    """The answers to the last SYN before a SYN-ACK, and to that."""
    reply = next((p for p in packets if p.is_syn and p.flags & ACK), None)
    if reply is None:
        return None
    asked = [p for p in packets if p.is_syn and not p.flags & ACK and p.out != reply.out]
    syn = next((p for p in reversed(asked) if p.time_ns <= reply.time_ns), None)
    last = next(
        (
            p
            for p in packets
            if p.out != reply.out and p.flags & ACK and not p.is_syn and p.time_ns >= reply.time_ns
        ),
        None,
    )
    if syn is None or last is None:
        return None
    there, back = reply.time_ns - syn.time_ns, last.time_ns - reply.time_ns
    return Answers(back, there) if syn.out else Answers(there, back)


def _echoes(packets: Sequence[Packet]) -> Answers | None:
    """How long after a timestamp of one end the other end's packets echo it (RFC 7323, section 4)."""
    shortest: dict[bool, int] = {}
    #: By the end that stated them, timestamps that no answer has echoed yet, and when each was first seen.
    stated: dict[bool, dict[int, int]] = {True: {}, False: {}}
    for packet in packets:
        if packet.ts_val is None or packet.ts_ecr is None or packet.flags & RST:
            continue
        asked = stated[not packet.out]
        if (since := asked.get(packet.ts_ecr)) is not None:
            waited = packet.time_ns - since
            shortest[packet.out] = min(shortest.get(packet.out, waited), waited)
            while next(iter(asked)) != packet.ts_ecr:
                asked.pop(next(iter(asked)))
            asked.pop(packet.ts_ecr)
        stated[packet.out].setdefault(packet.ts_val, packet.time_ns)
    return Answers(shortest[True], shortest[False]) if len(shortest) == 2 else None


def make_as_sent(
    conversation: Conversation, place: Literal["receiver", "middle"], answers: Answers | None
) -> None:
    """Makes of what was seen at the receiver or in the middle what the sender saw, as far as possible.

    Acknowledgments are moved by the shortest time until data answers them, so that they come just before what
    they released. What was lost before the capture left holes: it is put in as unseen, unless it was
    acknowledged without having been seen, as then the capture lost it.
    """
    packets, mss, notes = conversation.packets, conversation.mss, conversation.notes
    answer = _answer_time(packets) if answers is None else answers.sender_ns
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
    conversation.seen_at = place
    where = "captured at the receiver"
    if place == "middle" and answers is not None:
        sender, receiver = (f"{ns / 1e6:.3g} ms" for ns in answers)
        where = (
            f"captured on the path, where the sender answers after {sender} or more and the receiver after "
            f"{receiver} or more"
        )
    notes.append(f"{where}: what the sender saw is reconstructed")


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
    """How long the sender's answers took to reach the receiver: the shortest time."""
    asked = None
    times: list[int] = []
    for packet in packets:
        if not packet.out:
            asked = packet
        elif asked is not None:
            if packet.time_ns - asked.time_ns > _BURST_NS:
                times.append(packet.time_ns - asked.time_ns)
            asked = None
    return min(times, default=0)
