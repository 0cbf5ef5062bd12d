"""The cause of each wait of a QUIC sender, according to the stack's log and according to its packets.

A wait is the time between two ack-eliciting packets. The stack states its window and bytes in flight, its
states and limits, and its timers. The packets show what released the later packet: an acknowledgment, a
raised limit, data from the peer, a timer, or nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from dataclasses import dataclass, field
from statistics import median

from .quic_log import (
    Blocked,
    Closed,
    Credit,
    Event,
    Expired,
    LimitReached,
    Lost,
    Metrics,
    PacketName,
    QuicLog,
    Received,
    Sent,
    State,
)

#: Causes that packets alone do not distinguish.
_WINDOW = ("cwnd", "recovery", "persistent-congestion")
_FAMILIES = {
    **dict.fromkeys(_WINDOW, "window"),
    "flow-connection": "flow",
    "flow-stream": "flow",
    "application": "application",
    "pto": "pto",
}
_ANSWER_NS = 1_000_000
"""An endpoint sends what an arrival released within this time, and within a twentieth of a round trip."""
_FLOW_SHARE = 0.85
"""A stream's window counts as full if this share is in flight; receivers raise it after an eighth."""
_MINIMUM = 2
"""Packets of the minimum window, which persistent congestion leaves (RFC 9002, section 7.6.2)."""
_NUMBER_GAP = 2
"""The stated bytes in flight may differ from those of the packets by this many packets."""


@dataclass(slots=True)
class QuicWait:
    """A time in which a sender sent nothing."""

    start_ns: int
    end_ns: int
    #: The cause that the stack states, and the cause that the packets show; "" if there is none.
    stated: str
    shown: str
    #: The stack's window and bytes in flight at the start of the wait; None if unknown.
    cwnd: int | None
    in_flight: int | None
    #: Events that explain the wait (time in ns, text): state changes, BLOCKED frames and arrivals.
    steps: list[tuple[int, str]]
    next: Sent

    @property
    def duration_ns(self) -> int:
        """Length of the wait."""
        return self.end_ns - self.start_ns

    @property
    def disputed(self) -> bool:
        """Whether the packets contradict the cause that the stack states."""
        families = _FAMILIES.get(self.stated), _FAMILIES.get(self.shown)
        return None not in families and "pto" not in families and families[0] != families[1]

    @property
    def cause(self) -> str:
        """The stated cause, or that of the packets if none is stated or a probe timeout went unstated."""
        if self.shown == "pto" and self.stated in (*_WINDOW, "application", ""):
            return "pto"
        return self.stated or self.shown or "unknown"

    @property
    def certain(self) -> bool:
        """Whether the stack states the cause and the packets do not contradict it."""
        return self.stated == self.cause and not self.disputed


@dataclass
class Replayed:
    """The waits of a log, and counts of its events."""

    waits: list[QuicWait] = field(default_factory=list)
    packets: int = 0
    lost: int = 0
    #: Bytes of stream data: acknowledged, sent (retransmissions included), and received.
    acknowledged: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    probes: int = 0
    rtts_ns: list[int] = field(default_factory=list)
    min_rtt_ns: int | None = None
    span_ns: tuple[int, int] | None = None
    ended: str = ""
    #: Each persistent congestion: time in ns, window before and after in bytes.
    collapses: list[tuple[int, int, int]] = field(default_factory=list)
    #: BLOCKED frames that the stack sent before its data had reached the limit.
    early_frames: int = 0
    #: Packets of the peer with a BLOCKED frame.
    peer_blocked: int = 0
    #: Statements of bytes in flight, and how many of them the packets contradict.
    statements: int = 0
    contradicted: int = 0

    @property
    def shortest_rtt_ns(self) -> int | None:
        """The least round trip that the stack states, or else that of its packets; None if unknown."""
        return self.min_rtt_ns or min(self.rtts_ns, default=None)

    @property
    def median_rtt_ns(self) -> float | None:
        """The median round trip of the packets; None if there is none."""
        return median(self.rtts_ns) if self.rtts_ns else None


def replay(log: QuicLog) -> Replayed:
    """The waits of a log's sender, including short ones, with counts of the log's events."""
    return _Replay(log).run()


class _Replay:
    def __init__(self, log: QuicLog) -> None:
        self.log, self.out = log, Replayed()
        self.cwnd: int | None = None
        self.stated_flight: int | None = None
        #: Change of the bytes in flight by packets since `stated_flight` was stated.
        self.change = 0
        #: (send time, size, bytes of stream data) of each outstanding packet.
        self.outstanding: dict[PacketName, tuple[int, int, int]] = {}
        #: The packet numbers sent, in ascending order, by number space.
        self.numbers: dict[str, list[int]] = {}
        self.flight = self.largest = 0
        self.state, self.state_ns = "", 0
        #: The causes that the stack states to block it, by what is blocked.
        self.blocks: dict[str, str] = {}
        #: The cause of the last BLOCKED frames, until a limit is raised.
        self.asked = ""
        self.max_data: int | None = None
        self.credit: Credit | None = None
        self.max_stream: dict[int, int] = {}
        self.offsets: dict[int, int] = {}
        self.handshake, self.collapsed = True, False
        #: The packet whose acknowledgment, or that of a later one, ends the recovery from losses.
        self.repair: PacketName | None = None
        self.pto_count = 0.0
        # The state of the current wait.
        self.last: Sent | None = None
        self.now = 0
        self.spent: dict[str, int] = {}
        self.begun: tuple[int | None, int | None] = None, None
        self.timer_ns: int | None = None
        self.lost_ns: int | None = None
        #: Packets that arrived during the wait, and whether the window was full when they arrived.
        self.arrivals: deque[tuple[Received, bool]] = deque(maxlen=64)
        self.limited = ""
        self.steps: list[tuple[int, str]] = []

    def run(self) -> Replayed:
        for event in self.log.events:
            if self.last is not None and event.time_ns > self.now:
                cause = self.states()
                if not self.spent:
                    self.begun = self.cwnd, self.in_flight
                self.spent[cause] = self.spent.get(cause, 0) + event.time_ns - self.now
            self.now = max(self.now, event.time_ns)
            self.take(event)
        return self.out

    def take(self, event: Event) -> None:
        if isinstance(event, Sent):
            self.on_sent(event)
        elif isinstance(event, Received):
            self.on_received(event)
        elif isinstance(event, Metrics):
            self.on_metrics(event)
        elif isinstance(event, State):
            self.state, self.state_ns = event.name, event.time_ns
            more = f" ({event.trigger})" if event.trigger else ""
            self.steps.append((event.time_ns, f'the stack: state "{event.name}"{more}'))
        elif isinstance(event, Lost):
            self.on_lost(event)
        elif isinstance(event, Expired):
            self.on_timer(event.time_ns)
        elif isinstance(event, Blocked):
            self.on_blocked(event)
        elif isinstance(event, Credit):
            self.credit = event
            self.max_data = event.connection if self.max_data is None else self.max_data
        elif isinstance(event, Closed):
            self.out.ended = self.out.ended or f"{event.what} at {event.time_ns / 1e9:.6f} s{event.why}."

    # Values that the stack logged.

    @property
    def in_flight(self) -> int | None:
        """The last stated bytes in flight, updated with packets since; None if never stated."""
        return None if self.stated_flight is None else self.stated_flight + self.change

    def states(self) -> str:
        """The cause that the stack currently states for a wait; "" if none."""
        if self.blocks:
            return next(reversed(self.blocks.values()))
        if self.asked:
            return self.asked
        if self.handshake:
            return "handshake"
        is_old = self.last is not None and self.state_ns < self.last.time_ns
        # quic-go keeps reporting "application limited" from an earlier wait while packets fill its window.
        if "application" in self.state and "limited" in self.state and not (is_old and self.is_full()):
            return "application"
        if not self.is_full():
            return ""
        if self.collapsed:
            return "persistent-congestion"
        return "recovery" if self.repair is not None or "recovery" in self.state else "cwnd"

    def is_full(self) -> bool:
        """Whether the stated window lacks space for a packet of the largest size."""
        flight = self.in_flight
        return self.cwnd is not None and flight is not None and flight + self.largest > self.cwnd

    def on_metrics(self, event: Metrics) -> None:
        values = event.values
        if (rtt := values.get("min_rtt_ms")) is not None and rtt > 0:
            self.out.min_rtt_ns = round(rtt * 1e6)
        if (window := values.get("cwnd")) is not None:
            self.on_window(event.time_ns, int(window))
        if (flight := values.get("in_flight")) is not None:
            self.stated_flight, self.change = int(flight), 0
            if self.outstanding and self.largest and self.log.by_stack:
                self.out.statements += 1
                self.out.contradicted += abs(self.stated_flight - self.flight) > _NUMBER_GAP * self.largest
        count = values.get("pto_count", self.pto_count)
        if count > self.pto_count:
            self.on_timer(event.time_ns)
        self.pto_count = count

    def on_window(self, time_ns: int, window: int) -> None:
        smallest = (_MINIMUM + 1) * self.largest
        if self.cwnd is not None and window < smallest < self.cwnd // 2:
            self.collapsed = True
            self.out.collapses.append((time_ns, self.cwnd, window))
        elif window > 2 * smallest:
            self.collapsed = False
        self.cwnd = window

    def on_timer(self, time_ns: int) -> None:
        self.timer_ns = time_ns
        self.out.probes += 1
        self.steps.append((time_ns, "the stack: a probe timeout expired"))

    def on_blocked(self, event: Blocked) -> None:
        self.blocks.pop(event.what, None)
        if event.cause:
            self.blocks[event.what] = event.cause
            self.steps.append((event.time_ns, f"the stack: {event.what} blocked ({event.cause})"))

    def on_lost(self, event: Lost) -> None:
        self.out.lost += 1
        if event.packet is None:
            return
        gone = self.outstanding.pop(event.packet, None)
        if gone is None:
            return
        self.lost_ns = event.time_ns
        self.flight -= gone[1]
        self.change -= gone[1]
        newest = next(reversed(self.outstanding), event.packet)
        if self.repair is None:
            self.repair = newest

    # What the packets show.

    def on_received(self, event: Received) -> None:
        self.out.received_bytes += event.data_bytes
        self.out.peer_blocked += bool(event.blocked)
        full = self.cwnd is None or self.flight + self.largest > self.cwnd
        for space, first, last in event.acked:
            self.on_acked(event.time_ns, space, *sorted((first, last)))
        if event.max_data is not None or event.max_stream_data or event.more_streams:
            self.asked = ""
        if event.max_data is not None:
            self.max_data = max(self.max_data or 0, event.max_data)
        for stream, most in event.max_stream_data:
            self.max_stream[stream] = max(self.max_stream.get(stream, 0), most)
        self.arrivals.append((event, full))

    def on_acked(self, time_ns: int, space: str, first: int, last: int) -> None:
        sent = self.numbers.get(space, [])
        # ACKs repeat acknowledged ranges of any width, so search the shorter of range and outstanding
        # packets.
        low, high = bisect_left(sent, first), bisect_right(sent, last)
        numbers: list[PacketName]
        if high - low < len(self.outstanding):
            numbers = [name for number in sent[low:high] if (name := (space, number)) in self.outstanding]
        else:
            numbers = [name for name in self.outstanding if name[0] == space and first <= name[1] <= last]
        for name in numbers:
            sent_ns, size, data = self.outstanding.pop(name)
            self.flight -= size
            self.change -= size
            self.out.acknowledged += data
            if name == (space, last):
                self.out.rtts_ns.append(time_ns - sent_ns)
            if name[0] == "application" and self.handshake:
                self.end_handshake()
        if self.repair is not None and self.repair[0] == space and last >= self.repair[1]:
            self.repair = None

    def end_handshake(self) -> None:
        """Drops handshake packets from those in flight: their keys are discarded (RFC 9002, section 6.4)."""
        self.handshake = False
        for name in [packet for packet in self.outstanding if packet[0] != "application"]:
            self.flight -= self.outstanding.pop(name)[1]

    def on_sent(self, event: Sent) -> None:
        if not event.eliciting:
            return
        if self.last is not None and event.time_ns > self.last.time_ns:
            self.end_wait(event)
        self.out.packets += 1
        self.largest = max(self.largest, event.size)
        self.change += event.size
        data = 0
        for stream, offset, length in event.data:
            data += length
            self.offsets[stream] = max(self.offsets.get(stream, 0), offset + length)
        self.out.sent_bytes += data
        if event.packet is not None and event.packet not in self.outstanding:
            self.outstanding[event.packet] = (event.time_ns, event.size, data)
            space, number = event.packet
            sent = self.numbers.setdefault(space, [])
            if sent and number < sent[-1]:
                insort(sent, number)
            else:
                sent.append(number)
            self.flight += event.size
        first = self.out.span_ns[0] if self.out.span_ns is not None else event.time_ns
        self.out.span_ns = first, event.time_ns
        self.last, self.spent, self.timer_ns, self.lost_ns = event, {}, None, None
        self.arrivals.clear()
        self.steps = []
        self.limited = self.find_exhausted()
        for one in event.blocked:
            at = "" if one.limit is None else f" at {one.limit}"
            if self.has_reached(one):
                self.asked = one.cause
                self.steps.append((event.time_ns, f"the stack sent {_FRAMES[one.cause]}{at}"))
            else:
                self.out.early_frames += 1

    def has_reached(self, frame: LimitReached) -> bool:
        """Whether data reached a BLOCKED frame's limit; stacks also send it for data still in a buffer."""
        if frame.limit is None or frame.cause == "stream-limit":
            return True
        if frame.stream is not None:
            return self.offsets.get(frame.stream, 0) >= frame.limit
        return sum(self.offsets.values()) >= frame.limit

    def find_exhausted(self) -> str:
        """The flow-control limit that leaves no space for another byte: its cause, or ""."""
        window = self.log.stream_window
        if window is not None and self.flight >= _FLOW_SHARE * window and not self.is_full():
            return "flow-stream"
        if self.max_data is not None and sum(self.offsets.values()) >= self.max_data > 0:
            return "flow-connection"
        for stream, offset in self.offsets.items():
            most = self.stream_limit(stream)
            if most is not None and offset >= most > 0:
                return "flow-stream"
        return ""

    def stream_limit(self, stream: int) -> int | None:
        """The peer's limit for a stream in bytes (RFC 9000, section 2.1); None if unknown."""
        first = None
        if self.credit is not None and self.log.end:
            own = (stream % 2 == 0) == (self.log.end == "client")
            bidirectional = self.credit.own_bidirectional if own else self.credit.peer_bidirectional
            first = self.credit.unidirectional if stream & 2 else bidirectional
        granted = [limit for limit in (first, self.max_stream.get(stream)) if limit is not None]
        return max(granted) if granted else None

    @property
    def rtt_ns(self) -> int:
        """The shortest known round trip; `_ANSWER_NS` if none is known."""
        return self.out.min_rtt_ns or min(self.out.rtts_ns[:1], default=_ANSWER_NS)

    def answer_ns(self) -> int:
        """The time in ns within which an endpoint sends what an arrival or a timer released."""
        return max(self.log.tick_ns, min(_ANSWER_NS, self.rtt_ns // 20))

    def shows(self, event: Sent) -> str:
        """The cause, according to the packets, of the wait that `event` ends."""
        assert self.last is not None
        answer, rtt_ns = self.answer_ns(), self.rtt_ns
        fresh = [(one, full) for one, full in self.arrivals if event.time_ns - one.time_ns <= answer]
        raised = any(one.max_data is not None or one.max_stream_data for one, _ in self.arrivals)
        if self.limited and (raised or not self.log.by_stack):
            return self.limited
        lost = self.lost_ns is not None and event.time_ns - self.lost_ns <= answer
        if lost or any(one.acked and full for one, full in fresh):
            return "cwnd"
        if any(one.data_bytes for one, _ in fresh):
            return "application"
        gap = event.time_ns - self.last.time_ns
        new = any(offset + size > self.offsets.get(stream, 0) for stream, offset, size in event.data)
        if self.outstanding and gap >= rtt_ns and (not new or self.limited or self.is_full()):
            return "pto"
        return "pacing" if gap < rtt_ns and self.outstanding else "application"

    def end_wait(self, event: Sent) -> None:
        assert self.last is not None
        spent = dict(self.spent)
        stated = max(spent, key=lambda cause: spent[cause], default="")
        if self.timer_ns is not None and event.time_ns - self.timer_ns <= self.answer_ns():
            stated = "pto"
        elif stated == "application" and self.state_ns <= self.last.time_ns:
            since = f"{self.state_ns / 1e9:.6f} s"
            self.steps.append((self.last.time_ns, f'the stack: state "{self.state}" since {since}'))
        steps = list(self.steps)
        for one, _ in self.arrivals:
            text = _arrival(one)
            if text and (one.max_data is not None or one.max_stream_data or one is self.arrivals[-1][0]):
                steps.append((one.time_ns, text))
        shown = self.shows(event)
        wait = QuicWait(self.last.time_ns, event.time_ns, stated, shown, *self.begun, steps, event)
        self.out.waits.append(wait)


_FRAMES = {
    "flow-connection": "DATA_BLOCKED",
    "flow-stream": "STREAM_DATA_BLOCKED",
    "stream-limit": "STREAMS_BLOCKED",
}


def _arrival(event: Received) -> str:
    """A description of an arrival that may release data; "" for other arrivals."""
    parts = []
    if event.max_data is not None:
        parts.append(f"MAX_DATA {event.max_data}")
    parts += [f"MAX_STREAM_DATA {most} of stream {stream}" for stream, most in event.max_stream_data]
    if event.more_streams:
        parts.append("MAX_STREAMS")
    if event.acked:
        parts.append(f"an ACK up to packet {max(last for _, _, last in event.acked)}")
    if event.data_bytes:
        parts.append(f"{event.data_bytes} bytes of the peer")
    return f"{' and '.join(parts)} arrived" if parts else ""
