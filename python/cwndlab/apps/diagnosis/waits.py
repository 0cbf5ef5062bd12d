"""The cause of each wait of a TCP sender: of each time between two of its transmissions.

For a simulated run, the table `limits` records the cause. For a capture, the cause is inferred from what
released the next transmission: an acknowledgment just before it, a window that opened, or nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from math import inf

from .conversation import ACK, ECE, FIN, RST, SYN, Conversation, Packet
from .pacing import paces
from .policing import is_policed

#: Causes whose short waits are summed, because they come from outside the sender's congestion control.
_ADDED_UP = ("receive-window", "zero-window", "small-window", "send-buffer", "max-window", "application")
#: A sum of short waits is reported from this share of the connection's duration on.
_NOTABLE = 0.05
#: The cause for each limit of the table `limits`, unless the packets show a more specific one.
_LIMITS = {
    "handshake": "handshake",
    "cwnd": "cwnd",
    "max-window": "max-window",
    "receive-window": "receive-window",
    "recovery": "recovery",
    "pacing": "pacing",
    "small-segment": "nagle",
    "send-buffer": "send-buffer",
    "application": "application",
    "idle": "application",
    "closed": "application",
    "probe": "probe",
    "reordering": "recovery",
    "rto": "rto",
}
_DUPACKS = 3
"""Duplicate ACKs before a fast retransmit (RFC 5681, section 3.2)."""
_ANSWER_NS = 3_000_000
"""A host sends what an ACK released within this time."""
_ATTEMPTS = 10_000
"""At most this many packets after a retransmission are searched for its acknowledgment."""
_DELAYED_NS = 20_000_000
"""An ACK this much later than the shortest round trip was delayed (hosts delay by 40 to 500 ms)."""


@dataclass(slots=True)
class Wait:
    """A time in which a sender sent nothing, and what it waited for."""

    start_ns: int
    end_ns: int
    cause: str
    #: Whether a run's records state the cause, or a capture leaves no other.
    certain: bool
    #: The transmission that ended the wait.
    next: Packet | None
    #: Position of `next` in the conversation's packets.
    at: int
    una: int
    nxt: int
    window: int
    dupacks: int
    #: Earlier transmissions of the data in `next`.
    earlier: list[Packet] = field(default_factory=list)
    #: The timer that expired, when it was set, and its consecutive expirations; None if unknown.
    timer: tuple[str, int, int] | None = None

    @property
    def duration_ns(self) -> int:
        """Length of the wait."""
        return self.end_ns - self.start_ns


def find_waits(conversation: Conversation, *, short: bool = False) -> list[Wait]:
    """The waits of a sender, in order of time; waits under a tenth of a round trip only if `short`."""
    return _Replay(conversation, short).run()


def find_all_waits(conversation: Conversation) -> tuple[list[Wait], dict[str, int]]:
    """The waits of a sender, and the total ns of shorter waits by cause, for causes with a notable total."""
    replay = _Replay(conversation, False)
    waits, packets = replay.run(), conversation.packets
    least = _NOTABLE * (packets[-1].time_ns - packets[0].time_ns) if packets else 0.0
    return waits, {cause: ns for cause, ns in replay.short_ns.items() if cause in _ADDED_UP and ns > least}


class _Replay:
    """Replays a sender's packets to reconstruct its state and find its waits."""

    def __init__(self, conversation: Conversation, short: bool) -> None:
        self.of = conversation
        self.una = self.nxt = 0
        self.window = -1
        self.dupacks = 0
        self.recover = -1
        #: Whether a policer dropped the data that is being recovered.
        self.recovers_policed = False
        self.echoed = False
        #: The first transmission by sequence number, and all transmissions of retransmitted segments.
        self.first_sent: dict[int, Packet] = {}
        self.sent_again: dict[int, list[Packet]] = {}
        self.syns: list[Packet] = []
        self.last_out: Packet | None = None
        self.last_in: Packet | None = None
        self.opened = False
        #: The right edge of the receive window when the last segment left.
        self.edge = 0
        #: The widest receive window, in bytes.
        self.widest = 0
        #: The most bytes ever in flight: a lower bound of the largest cwnd.
        self.largest = 0
        self.rtt_ns = shortest_rtt(conversation)
        self.least_ns = 0 if short else max(self.rtt_ns // 10, 2 * conversation.tick_ns)
        #: Whether the waits that are too short to be listed are summed.
        self.counts_short = not short and not conversation.tick_ns
        #: Sum of the short waits by cause.
        self.short_ns: dict[str, int] = {}
        #: Arrivals that the next transmission may answer, and the last arrival before them.
        self.recent: deque[Packet] = deque()
        self.settled: Packet | None = None
        #: The times for which packets are missing (start, end), in order, and the index of the next one.
        self.unknown = sorted(
            [(hole.after_ns, hole.before_ns) for hole in conversation.missing]
            + [(t, t + 1) for t in conversation.steps]
        )
        self.next_unknown = 0
        #: Time of the last RST that arrived; -1 if none did.
        self.refused_ns = -1
        self.policed = not conversation.drops_known and is_policed(
            conversation.packets, self.rtt_ns, conversation.mss
        )
        self.waits: list[Wait] = []
        known = conversation.known
        self.limit_starts = [start for start, _, _ in known.limits] if known is not None else []
        self.answer = self.answer_ns()
        self.paces = known is not None or paces(conversation.packets, self.rtt_ns, self.answer)

    def run(self) -> list[Wait]:
        """All waits of the sender; empty for a capture that does not show them."""
        if not self.of.shows_waits:
            return []
        for at, packet in enumerate(self.of.packets):
            if not packet.out:
                self.receive(packet)
            elif packet.len or packet.flags & (SYN | FIN) or packet.probe or self.is_probe(packet):
                self.send(at, packet)
        return self.waits

    def settle(self, now_ns: int) -> None:
        """Removes arrivals that are too old to be answered at `now_ns`; `settled` keeps the last of them."""
        while self.recent and now_ns - self.recent[0].time_ns > self.answer:
            self.settled = self.recent.popleft()

    def is_probe(self, packet: Packet) -> bool:
        """Whether a segment without data, repeating the last acknowledged number, probes a closed window."""
        return self.window == 0 and packet.seq < self.una

    def receive(self, packet: Packet) -> None:
        """Updates the state for a packet that arrived."""
        if self.last_out is None and not packet.is_syn and not packet.len:
            self.last_out = packet  # the capture began later than the connection: its sender was waiting
        self.recent.append(packet)
        self.settle(packet.time_ns)
        if packet.flags & RST:
            self.refused_ns = packet.time_ns
        self.opened = self.opens(packet)
        self.widest = max(self.widest, packet.window)
        if packet.ack > self.una:
            self.una, self.dupacks = packet.ack, 0
            if self.una >= self.recover:
                self.recover = -1
        elif (
            packet.ack == self.una < self.nxt
            and not packet.len
            and not packet.flags & (SYN | FIN)
            and not packet.probe
            and (packet.window == self.window or packet.sack)
        ):
            self.dupacks += 1
        self.window = packet.window
        self.echoed = bool(packet.flags & ECE) and not packet.is_syn
        self.last_in = packet

    def opens(self, packet: Packet) -> bool:
        """Whether an arrival opens the window late, so that the receiver's application had stopped reading.

        A receiver whose application reads at once also opens its window, but at once.
        """
        if packet.len or packet.ack != self.una or not 0 <= self.window < packet.window:
            return False
        late = self.last_in is None or packet.time_ns - self.last_in.time_ns > _ANSWER_NS
        return late and (self.of.scale_known or self.window == 0)

    def send(self, at: int, packet: Packet) -> None:
        """Records the wait that a transmission ends, and updates the state."""
        last = self.last_out
        if last is not None and not packet.unseen and packet.time_ns > last.time_ns:
            if packet.time_ns - last.time_ns > self.least_ns:
                self.waits.append(self.wait(at, packet, last))
            elif self.counts_short:
                found = self.wait(at, packet, last)
                self.short_ns[found.cause] = self.short_ns.get(found.cause, 0) + found.duration_ns
        self.opened = False
        if packet.is_syn:
            self.syns.append(packet)
        elif packet.probe:
            self.last_out = packet
            return
        elif packet.len:
            if packet.seq < self.nxt and self.recover < 0:
                self.recover = self.nxt
                self.recovers_policed = self.was_policed(self.transmissions(packet.seq))
            if packet.seq in self.first_sent:
                self.sent_again[packet.seq] = [*self.transmissions(packet.seq), packet]
            else:
                self.first_sent[packet.seq] = packet
        self.nxt = max(self.nxt, packet.end)
        self.largest = max(self.largest, self.nxt - self.una)
        if not packet.unseen:
            self.last_out = packet
            self.edge = self.una + self.window

    def transmissions(self, seq: int) -> list[Packet]:
        """The earlier transmissions of the segment at a sequence number."""
        first = self.first_sent.get(seq)
        return self.sent_again.get(seq, [] if first is None else [first])

    def wait(self, at: int, packet: Packet, last: Packet) -> Wait:
        """The wait between the transmissions `last` and `packet`."""
        earlier = self.syns if packet.is_syn else self.transmissions(packet.seq)
        found = Wait(
            start_ns=last.time_ns,
            end_ns=packet.time_ns,
            cause="",
            certain=self.of.known is not None,
            next=packet,
            at=at,
            una=self.una,
            nxt=self.nxt,
            window=self.window,
            dupacks=self.dupacks,
            earlier=list(earlier),
            timer=self.of.known.timers.get(packet.time_ns) if self.of.known is not None else None,
        )
        found.cause, sure = self.cause(found, packet, last)
        found.certain = found.certain or sure
        return found

    def cause(self, wait: Wait, packet: Packet, last: Packet) -> tuple[str, bool]:
        """The cause of a wait, and whether a capture leaves no other."""
        if self.is_unknown(wait):
            return "unknown", True
        if packet.is_syn:
            refused = self.syns and self.refused_ns >= self.syns[-1].time_ns
            return ("refused" if refused else "lost-syn"), True
        if packet.probe:
            return ("application" if packet.probe == "keep-alive" else "zero-window"), True
        if last.is_syn and packet.seq == 0 and not self.first_sent:
            return self.first(wait), True
        answers = self.last_in is not None and packet.time_ns - self.last_in.time_ns <= self.answer
        again = packet.len > 0 and packet.seq < self.nxt
        if wait.timer is not None:
            timed, probes = wait.timer[0] in ("rto", "persist"), wait.timer[0] == "probe"
        elif self.of.known is not None:
            timed = probes = False
        else:
            timed, probes = not answers and (again or self.echoed) and not self.may_reorder(packet), False
        if self.was_closed(wait, packet, answers, again):
            return "zero-window", True
        if probes:
            return "probe", False
        if timed:
            return self.timeout(wait, packet)
        if again:
            lost = self.was_policed(wait.earlier)
            return ("policer" if lost else "recovery"), False
        return self.unsent(wait, packet, last, answers)

    def is_unknown(self, wait: Wait) -> bool:
        """Whether the capture lacks packets of the time of a wait, or its clock was stepped then."""
        while self.next_unknown < len(self.unknown) and self.unknown[self.next_unknown][1] <= wait.start_ns:
            self.next_unknown += 1
        return self.next_unknown < len(self.unknown) and self.unknown[self.next_unknown][0] < wait.end_ns

    def may_reorder(self, packet: Packet) -> bool:
        """Whether RACK's reordering timer may have sent a packet (RFC 8985, section 6.2): SACK blocks beyond
        it arrived at most a round trip before.
        """
        last = self.last_in
        if last is None or packet.time_ns - last.time_ns > self.rtt_ns:
            return False
        return any(right > packet.seq for _, right in last.sack)

    def was_closed(self, wait: Wait, packet: Packet, answers: bool, again: bool) -> bool:
        """Whether the receiver had closed its window because its application did not read.

        Either the window has no space for a segment; or the wait ends as the window opens, after it had
        shrunk below half its maximum and sent data had reached its edge. A window that never shrinks is too
        small for the path, or its data waits behind a loss.
        """
        room = min(self.of.mss, max(packet.len, 1)) if self.of.scale_known else 1
        if 0 <= self.window < room:
            return True
        una, window = self.state_before(wait)
        if again:
            return self.of.known is None and window == 0
        return self.opened and answers and una + window - wait.nxt < room and 2 * window < self.widest

    def first(self, wait: Wait) -> str:
        """What delayed the first data: the handshake if that took half of the wait, else the application."""
        if self.of.known is not None:
            return "handshake"
        opened = next(
            (p.time_ns for p in self.of.packets[: wait.at] if not p.out and p.flags & ACK), wait.end_ns
        )
        return "handshake" if 2 * (opened - wait.start_ns) >= wait.duration_ns else "application"

    def answer_ns(self) -> int:
        """The time after an arrival within which the sender's answer to it is captured."""
        return _ANSWER_NS if self.of.seen_at == "sender" else max(_ANSWER_NS, self.rtt_ns)

    def timeout(self, wait: Wait, packet: Packet) -> tuple[str, bool]:
        """The reason why a retransmission timer had to expire, and whether it is certain."""
        if self.echoed and wait.nxt - wait.una <= self.of.mss:
            return "ecn-one-segment", False
        if packet.seq >= self.nxt:
            return "rto", False
        if self.was_spurious(wait, packet):
            return "spurious-rto", True
        if self.was_policed(wait.earlier):
            return "policer", False
        if len(wait.earlier) > 1:
            return "lost-retransmission", True
        return ("rto-few-dupacks" if wait.dupacks < _DUPACKS else "rto"), False

    def was_policed(self, earlier: list[Packet]) -> bool:
        """Whether a policer dropped one of these packets."""
        if self.of.drops_known:
            return any(packet.drop is not None and packet.drop.by_policer for packet in earlier)
        return self.policed

    def was_spurious(self, wait: Wait, packet: Packet) -> bool:
        """Whether the original had arrived: no link dropped it, or its ACK came too soon for the copy."""
        if self.of.drops_known:
            return all(original.drop is None for original in wait.earlier)
        for at in range(wait.at + 1, min(len(self.of.packets), wait.at + 1 + _ATTEMPTS)):
            later = self.of.packets[at]
            since = later.time_ns - packet.time_ns
            if later.out:
                continue
            if later.sack and later.sack[0][0] <= packet.seq < later.sack[0][1] <= later.ack:
                return True  # a duplicate SACK block (RFC 2883, section 4)
            if later.ack > packet.seq:
                if later.ts_ecr is not None and packet.ts_val is not None and later.ts_ecr != packet.ts_val:
                    return (packet.ts_val - later.ts_ecr) % 2**32 < 2**31  # RFC 3522, section 3
                if since < self.rtt_ns * 3 // 4:
                    return True
                if since > 2 * self.rtt_ns:
                    return False
        return False

    def unsent(self, wait: Wait, packet: Packet, last: Packet, answers: bool) -> tuple[str, bool]:
        """The cause that held back new data, and whether it is certain."""
        if self.of.known is not None:
            cause = _LIMITS[self.limit(wait)]
            if cause == "cwnd" and not answers and self.echoed:
                return "ecn-one-segment", True
            if cause == "rto":
                return self.timeout(wait, packet)
            if cause == "recovery" and self.recovers_policed:
                cause = "policer"
            return (self.nagle(wait, last) if cause == "nagle" else cause), True
        una, window = self.state_before(wait)
        flight = wait.nxt - una
        fed = self.last_in is not None and self.last_in.len > 0 and una >= wait.nxt
        # In captures made elsewhere, ACKs are shifted and may seem to follow the data that they released.
        released = answers or (self.of.seen_at != "sender" and wait.una < wait.nxt)
        if fed or not released:
            if flight >= self.window and self.of.scale_known:
                return "receive-window", wait.una >= wait.nxt
            # Both a pacer and a slow host send within a round trip without an arrival just before.
            if not fed and wait.una < wait.nxt and wait.duration_ns < self.rtt_ns:
                return ("pacing" if self.paces else "cwnd"), False
            if self.fills_small_window(packet, wait):
                return "small-window", True
            return "application", wait.una >= wait.nxt
        if self.fills_window(wait, flight, window):
            return "receive-window", self.of.seen_at == "sender"
        if (
            packet.len < self.of.mss
            and self.una >= wait.nxt
            and flight + packet.len <= max(self.largest, 2 * self.of.mss)
        ):
            return self.nagle(wait, last), False
        if self.recover >= 0:
            return ("policer" if self.recovers_policed else "recovery"), False
        return "cwnd", False

    def fills_window(self, wait: Wait, flight: int, window: int) -> bool:
        """Whether the receive window had no space for a segment while the sender waited.

        For a capture made elsewhere, the window at the start of the wait counts: the sender may have learned
        of a newer window later than the capture shows.
        """
        full = flight + self.of.mss > window
        if self.of.seen_at != "sender":
            full = wait.nxt + self.of.mss > self.edge
        return full and self.of.scale_known

    def fills_small_window(self, packet: Packet, wait: Wait) -> bool:
        """Whether a segment is small because the window had no more space (RFC 9293, section 3.8.6.2.1)."""
        room = wait.una + self.window - wait.nxt
        return self.of.scale_known and packet.len < self.of.mss and packet.len == room > 0

    def limit(self, wait: Wait) -> str:
        """The recorded limit that held for most of a wait."""
        assert self.of.known is not None
        spent: dict[str, int] = {}
        at = max(bisect_right(self.limit_starts, wait.start_ns) - 1, 0)
        for k in range(at, len(self.of.known.limits)):
            start, end, limit = self.of.known.limits[k]
            if start >= wait.end_ns:
                break
            spent[limit] = spent.get(limit, 0) + max(0, min(end, wait.end_ns) - max(start, wait.start_ns))
        return max(spent, key=lambda limit: spent[limit], default="idle")

    def nagle(self, wait: Wait, last: Packet) -> str:
        """The cause of a wait by Nagle's algorithm: whether the awaited ACK was also delayed."""
        return "nagle-delayed-ack" if wait.end_ns - last.time_ns > self.rtt_ns + _DELAYED_NS else "nagle"

    def state_before(self, wait: Wait) -> tuple[int, int]:
        """The acknowledged number and the window before the arrivals that ended the wait."""
        self.settle(wait.end_ns)
        return (0, wait.window) if self.settled is None else (self.settled.ack, self.settled.window)


def shortest_rtt(conversation: Conversation) -> int:
    """The shortest round trip in ns, of data or a SYN sent once; 1 ms if there is none."""
    return max(min(round_trips(conversation), default=1_000_000), 1)


def round_trips(conversation: Conversation) -> list[int]:
    """The round trips in ns of data and SYNs that were sent once and acknowledged individually."""
    sent: dict[int, int | None] = {}  # None: sent again, or not seen
    order: deque[int] = deque()
    steps = iter([*conversation.steps, inf])
    step, acknowledged = next(steps), 0
    found = []
    for packet in conversation.packets:
        if packet.time_ns > step:
            step = next(steps)
            sent.clear()  # the clock was set
        if packet.probe or packet.flags & RST:
            continue
        if packet.out:
            end = max(packet.end, packet.seq) if packet.len else -1 if packet.is_syn else None
            if end is not None:
                sent[end] = None if end in sent or packet.unseen else packet.time_ns
                order.append(end)
        elif packet.is_syn or packet.ack > acknowledged:
            if (since := sent.get(-1 if packet.is_syn else packet.ack)) is not None:
                found.append(packet.time_ns - since)
            acknowledged = packet.ack
            while order and order[0] <= acknowledged:
                sent.pop(order.popleft(), None)
    return found
