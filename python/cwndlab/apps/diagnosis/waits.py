"""What each wait of a sender was for: between two of its transmissions, and between SYNs.

With the records of a run the table `limits` tells; of a capture it is inferred from what released the next
transmission: an acknowledgment that came just before it, a window that opened, or nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from math import inf

from .conversation import ACK, ECE, FIN, RST, SYN, Conversation, Packet
from .pacing import paces
from .policing import is_policed

#: Causes whose short waits count where they add up: something outside the sender's control holds it back.
_ADDED_UP = ("receive-window", "zero-window", "small-window", "send-buffer", "max-window", "application")
#: They add up from this share of the time on.
_NOTABLE = 0.05
#: What the words of the table `limits` mean where nothing more is to be found out.
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
"""Packets after a retransmission among which its acknowledgment is looked for."""
_DELAYED_NS = 20_000_000
"""An ACK that is later than the shortest round trip by this was delayed (hosts delay by 40 to 500 ms)."""


@dataclass(slots=True)
class Wait:
    """A time in which a sender sent nothing, and what it waited for."""

    start_ns: int
    end_ns: int
    cause: str
    #: Whether it is known from a run's records, or follows from what was captured.
    certain: bool
    #: What was sent at its end; None if nothing was.
    next: Packet | None
    #: Position of `next` among the packets.
    at: int
    una: int
    nxt: int
    window: int
    dupacks: int
    #: Earlier transmissions of what was sent again at its end.
    earlier: list[Packet] = field(default_factory=list)
    #: The timer that expired, when it was set, and how often it had expired in a row; None if not known.
    timer: tuple[str, int, int] | None = None

    @property
    def duration_ns(self) -> int:
        """How long it was."""
        return self.end_ns - self.start_ns


def find_waits(conversation: Conversation, *, short: bool = False) -> list[Wait]:
    """The waits of a sender, in order of time; those of less than a tenth of a round trip only if `short`."""
    return _Replay(conversation, short).run()


def find_all_waits(conversation: Conversation) -> tuple[list[Wait], dict[str, int]]:
    """The waits of a sender, and by cause the nanoseconds of shorter ones where they are much of the time."""
    replay = _Replay(conversation, False)
    waits, packets = replay.run(), conversation.packets
    least = _NOTABLE * (packets[-1].time_ns - packets[0].time_ns) if packets else 0.0
    return waits, {cause: ns for cause, ns in replay.short_ns.items() if cause in _ADDED_UP and ns > least}


class _Replay:
    """Follows a sender's packets and keeps what a host would know."""

    def __init__(self, conversation: Conversation, short: bool) -> None:
        self.of = conversation
        self.una = self.nxt = 0
        self.window = -1
        self.dupacks = 0
        self.recover = -1
        #: Whether a policer dropped what is being recovered.
        self.recovers_policed = False
        self.echoed = False
        #: Each segment's first transmission, and all those of segments that were sent again.
        self.first_sent: dict[int, Packet] = {}
        self.sent_again: dict[int, list[Packet]] = {}
        self.syns: list[Packet] = []
        self.last_out: Packet | None = None
        self.last_in: Packet | None = None
        self.opened = False
        #: The number that the receive window allowed when the last segment left.
        self.edge = 0
        #: The widest receive window.
        self.widest = 0
        #: Most bytes that were ever outstanding; cwnd, which begins with two segments, was at least that.
        self.largest = 0
        self.rtt_ns = shortest_rtt(conversation)
        self.least_ns = 0 if short else max(self.rtt_ns // 10, 2 * conversation.tick_ns)
        #: Whether waits that are too short are counted.
        self.counts_short = not short and not conversation.tick_ns
        #: By cause.
        self.short_ns: dict[str, int] = {}
        #: The latest arrivals, to which the next transmission may be the answer, and the one before them.
        self.recent: deque[Packet] = deque()
        self.settled: Packet | None = None
        #: Spans of time of which packets are missing, and the next one.
        self.unknown = sorted(
            [(one.after_ns, one.before_ns) for one in conversation.missing]
            + [(t, t + 1) for t in conversation.steps]
        )
        self.next_unknown = 0
        #: When a RST arrived.
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
        """All waits; none of a capture that does not show them."""
        if not self.of.shows_waits:
            return []
        for at, packet in enumerate(self.of.packets):
            if not packet.out:
                self.receive(packet)
            elif packet.len or packet.flags & (SYN | FIN) or packet.probe or self.is_probe(packet):
                self.send(at, packet)
        return self.waits

    def settle(self, now_ns: int) -> None:
        """Forgets arrivals that no transmission from now on answers, but the last of them."""
        while self.recent and now_ns - self.recent[0].time_ns > self.answer:
            self.settled = self.recent.popleft()

    def is_probe(self, packet: Packet) -> bool:
        """Whether a segment without data probes a closed window: it repeats the last acknowledged number."""
        return self.window == 0 and packet.seq < self.una

    def receive(self, packet: Packet) -> None:
        """An arrival at the sender."""
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
        """Whether an arrival tells that the receiver's application has read after a while without reading.

        One that reads at once opens the window at once, too, if its kernel counts more than the payload.
        """
        if packet.len or packet.ack != self.una or not 0 <= self.window < packet.window:
            return False
        late = self.last_in is None or packet.time_ns - self.last_in.time_ns > _ANSWER_NS
        return late and (self.of.scale_known or self.window == 0)

    def send(self, at: int, packet: Packet) -> None:
        """A transmission: the end of a wait."""
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
        """When the data from an offset on was sent before."""
        first = self.first_sent.get(seq)
        return self.sent_again.get(seq, [] if first is None else [first])

    def wait(self, at: int, packet: Packet, last: Packet) -> Wait:
        """The wait between two transmissions."""
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
        """A wait's cause, and whether a capture leaves no doubt about it."""
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
        """Whether the capture lacks packets of a wait, or its clock was set meanwhile."""
        while self.next_unknown < len(self.unknown) and self.unknown[self.next_unknown][1] <= wait.start_ns:
            self.next_unknown += 1
        return self.next_unknown < len(self.unknown) and self.unknown[self.next_unknown][0] < wait.end_ns

    def may_reorder(self, packet: Packet) -> bool:
        """Whether RACK's timer for reordering may have sent this: a round trip or less after SACK blocks
        beyond it (RFC 8985, section 6.2).
        """
        last = self.last_in
        if last is None or packet.time_ns - last.time_ns > self.rtt_ns:
            return False
        return any(right > packet.seq for _, right in last.sack)

    def was_closed(self, wait: Wait, packet: Packet, answers: bool, again: bool) -> bool:
        """Whether the receiver had closed its window, as its application did not read.

        That is so where no segment has room in the window, and where a wait ends as the window opens if what
        was sent had reached its edge and it had shrunk to less than half. A window that only ever grows is
        too small for the path, or its data waits behind a loss.
        """
        room = min(self.of.mss, max(packet.len, 1)) if self.of.scale_known else 1
        if 0 <= self.window < room:
            return True
        una, window = self.state_before(wait)
        if again:
            return self.of.known is None and window == 0
        return self.opened and answers and una + window - wait.nxt < room and 2 * window < self.widest

    def first(self, wait: Wait) -> str:
        """What the first data waited for: the handshake, or an application, whose request may come first."""
        if self.of.known is not None:
            return "handshake"
        opened = next(
            (p.time_ns for p in self.of.packets[: wait.at] if not p.out and p.flags & ACK), wait.end_ns
        )
        return "handshake" if 2 * (opened - wait.start_ns) >= wait.duration_ns else "application"

    def answer_ns(self) -> int:
        """How long after an arrival the sender's answer to it is seen."""
        return _ANSWER_NS if self.of.seen_at == "sender" else max(_ANSWER_NS, self.rtt_ns)

    def timeout(self, wait: Wait, packet: Packet) -> tuple[str, bool]:
        """What made a retransmission timer necessary."""
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
        """Whether a policer dropped one of these."""
        if self.of.drops_known:
            return any(packet.drop is not None and packet.drop.by_policer for packet in earlier)
        return self.policed

    def was_spurious(self, wait: Wait, packet: Packet) -> bool:
        """Whether the original had arrived: no link dropped it, or its ACK came too soon for the copy's."""
        if self.of.drops_known:
            return all(one.drop is None for one in wait.earlier)
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
        """What kept back data that had not been sent before."""
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
        # Seen elsewhere, an ACK may have released what came before the time by which it is moved.
        released = answers or (self.of.seen_at != "sender" and wait.una < wait.nxt)
        if fed or not released:
            if flight >= self.window and self.of.scale_known:
                return "receive-window", wait.una >= wait.nxt
            # A pacer releases segments within a round trip, without an arrival. So does a slow host, of what
            # an earlier acknowledgment released.
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
        """Whether the receive window had no room for a segment while the sender waited.

        Elsewhere than at the sender its state is at least as old as it seems. So the window counts that
        was known as the wait began, which the sender may not yet have had.
        """
        full = flight + self.of.mss > window
        if self.of.seen_at != "sender":
            full = wait.nxt + self.of.mss > self.edge
        return full and self.of.scale_known

    def fills_small_window(self, packet: Packet, wait: Wait) -> bool:
        """Whether a segment is small as the window had room for no more (RFC 9293, section 3.8.6.2.1)."""
        room = wait.una + self.window - wait.nxt
        return self.of.scale_known and packet.len < self.of.mss and packet.len == room > 0

    def limit(self, wait: Wait) -> str:
        """The recorded limit that held longest."""
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
        """Nagle's wait for an ACK, and whether that was delayed."""
        return "nagle-delayed-ack" if wait.end_ns - last.time_ns > self.rtt_ns + _DELAYED_NS else "nagle"

    def state_before(self, wait: Wait) -> tuple[int, int]:
        """What was acknowledged, and the window, before the arrivals that ended the wait."""
        self.settle(wait.end_ns)
        return (0, wait.window) if self.settled is None else (self.settled.ack, self.settled.window)


def shortest_rtt(conversation: Conversation) -> int:
    """The shortest round trip of data or a SYN sent once, in nanoseconds; 1 ms if there is none."""
    return max(min(round_trips(conversation), default=1_000_000), 1)


def round_trips(conversation: Conversation) -> list[int]:
    """The round trips of data and SYNs sent once and acknowledged by themselves, in nanoseconds."""
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
