"""Where a capture was made, and a reconstruction of the sender's view if it was made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from cwndlab.apps.diagnosis.conversation import ACK, RST, Conversation, Packet

#: Up to this number of segments, a hole is filled segment by segment; beyond, with one segment.
_MOST_SEGMENTS = 2_000_000
#: Acknowledgments are moved by the least round trip minus this margin, because round trips vary.
_MARGIN_NS = 500_000
#: A capture is at an end whose host answers within `_HOST_NS`, or within `_NEAR` of the round trip.
_HOST_NS, _NEAR = 3_000_000, 0.05
#: A packet that follows another this soon may belong to the same burst.
_BURST_NS = 2_000_000


class Answers(NamedTuple):
    """The shortest times, at the point of capture, after which each end answers a packet of the other."""

    sender_ns: int
    receiver_ns: int

    def place(self, tick_ns: int) -> Literal["sender", "receiver", "middle"]:
        """The end that answers soon, or "middle" if neither does; `tick_ns` is the clock's resolution."""
        if min(self) > max(_HOST_NS, 2 * tick_ns, _NEAR * sum(self)):
            return "middle"
        return "receiver" if self.receiver_ns < self.sender_ns else "sender"


def find_answers(packets: Sequence[Packet]) -> Answers | None:
    """The answer times of both ends from the handshake and from timestamps; None if neither shows them."""
    known = [times for times in (_handshake(packets), _echoes(packets)) if times is not None]
    if not known:
        return None
    return Answers(min(times.sender_ns for times in known), min(one.receiver_ns for one in known))


def is_at_receiver(packets: Sequence[Packet]) -> bool:
    """Whether the receiver has the lower answer time, so that the capture was made at the receiver."""
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
    """The answer times of the handshake: of the SYN-ACK after the last SYN, and of the ACK that follows."""
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
    """The shortest times after which each end echoes a timestamp of the other (RFC 7323, section 4)."""
    shortest: dict[bool, int] = {}
    #: For each end, its timestamps that were not echoed yet, and when each was first seen.
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
    """Reconstructs the sender's view from a capture made at the receiver or in the middle.

    Acknowledgments are delayed by the sender's shortest answer time, so that they come just before the data
    that they released. Data lost before the capture left holes, which are filled with segments marked
    `unseen`. Missing data that was acknowledged was lost by the capture itself, and stays missing.
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
    """Appends `unseen` segments for the data from `start` to `end`, which was lost before the capture."""
    hole = max(0, end - start)
    step = mss
    if len(moved) + -(-hole // mss) > _MOST_SEGMENTS:
        step = hole
        notes.append(f"{hole} bytes before {time_ns / 1e9:.6f} s are not in the capture")
    for seq in range(start, end, step or 1):
        moved.append(Packet(time_ns, True, seq, min(step, end - seq), 0, 0, ACK, unseen=True))


def _answer_time(packets: list[Packet]) -> int:
    """The sender's shortest answer time, in nanoseconds, at the receiver; 0 if no packet shows one."""
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
