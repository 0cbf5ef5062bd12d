"""The diagnosis of several conversations: their longest waits, or the waits at one moment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from .causes import CAUSES, ORDINARY
from .conversation import ACK, FIN, Conversation, Packet
from .summary import Summary, length_text, summarize, summarize_all
from .waits import Wait, find_all_waits, find_waits

#: With more connections than this, one summary covers all of them.
SUMMARIES = 4


@dataclass(frozen=True)
class Diagnosis:
    """What kept senders from sending."""

    #: Seconds that the senders waited, by cause, the longest first.
    waited_s: dict[str, float]
    #: The requested waits, with explanations.
    waits: tuple[Explanation, ...]
    notes: tuple[str, ...] = ()
    #: A summary of each connection.
    summaries: tuple[Summary, ...] = ()
    #: Whether the causes of waits could be determined.
    waits_known: bool = True

    @property
    def cause(self) -> str | None:
        """The cause that cost most time, apart from those of every healthy transfer; None if none did."""
        return next((cause for cause in self.waited_s if cause not in ORDINARY), None)

    def __str__(self) -> str:
        lines = [f"note: {note}" for note in self.notes]
        few = len(self.summaries) <= SUMMARIES
        lines += [str(summary) for summary in self.summaries] if few else [summarize_all(self.summaries)]
        if not self.waits_known:
            return "\n".join(lines)
        total = "; ".join(f"{cause} {seconds:.3f} s" for cause, seconds in self.waited_s.items())
        if total or any(summary.segments for summary in self.summaries):
            lines.append(f"waited: {total}" if total else "the sender never waited")
        name = ""
        for wait in self.waits:
            if wait.conversation != name:
                name = wait.conversation
                lines += ["", name]
            lines.append(str(wait))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """The diagnosis as a dictionary for JSON; times are in seconds from the start of the run or capture.

        >>> run.sel(buffer=2).explain("cubic").to_dict()["waits_known"]
        True
        """
        return {
            "cause": self.cause,
            "waits_known": self.waits_known,
            "connections": [summary.to_dict() for summary in self.summaries],
            "waited_s": self.waited_s,
            "waits": [wait.to_dict() for wait in self.waits],
            "notes": list(self.notes),
        }


def diagnose(conversations: Sequence[Conversation], at_s: float | None = None, longest: int = 5) -> Diagnosis:
    """The diagnosis at a moment, or of the longest waits (ordinary waits only if there are no others)."""
    every = [find_all_waits(conversation) for conversation in conversations]
    waits, short = [mine for mine, _ in every], [sums for _, sums in every]
    found = [(one, wait) for one, mine in zip(conversations, waits, strict=True) for wait in mine]
    waited: dict[str, int] = {}
    for cause, duration_ns in [
        *((wait.cause, wait.duration_ns) for _, wait in found),
        *(pair for sums in short for pair in sums.items()),
    ]:
        waited[cause] = waited.get(cause, 0) + duration_ns
    order = sorted(waited, key=lambda cause: (-waited[cause], list(CAUSES).index(cause)))
    if at_s is not None:
        all_waits = [(one, wait) for one in conversations for wait in find_waits(one, short=True)]
        chosen = [pair for pair in all_waits if pair[1].start_ns <= at_s * 1e9 < pair[1].end_ns]
    else:
        chosen = _longest(found, longest)
    notes = dict.fromkeys(note for conversation in conversations for note in conversation.notes)
    if at_s is not None and not chosen:
        notes[f"at {at_s:g} s no sender waited to send: none was open, or all had been sent"] = None
    return Diagnosis(
        {cause: waited[cause] / 1e9 for cause in order},
        tuple(explain(conversation, wait) for conversation, wait in chosen),
        tuple(notes),
        tuple(map(summarize, conversations, waits, short)),
        waits_known=any(conversation.shows_waits for conversation in conversations),
    )


def _longest(found: Sequence[tuple[Conversation, Wait]], count: int) -> list[tuple[Conversation, Wait]]:
    """The longest waits, in order of time; ordinary ones only if there are no others."""
    stalls = [pair for pair in found if pair[1].cause not in ORDINARY]
    stalls = stalls or [pair for pair in found if pair[1].cause != "unknown"]
    kept = sorted(stalls, key=lambda pair: -pair[1].duration_ns)[:count]
    return sorted(kept, key=lambda pair: (pair[0].name, pair[1].start_ns))


@dataclass(frozen=True)
class Step:
    """One event in the chain that led to a wait."""

    time_ns: int
    text: str


@dataclass(frozen=True)
class Explanation:
    """A wait, its cause, and the events that led to it."""

    conversation: str
    start_s: float
    end_s: float
    cause: str
    #: The cause, in one sentence.
    summary: str
    #: False if the cause is inferred.
    certain: bool
    steps: tuple[Step, ...]
    #: The connection's number in the run; None for captures.
    serial: int | None = None

    def __str__(self) -> str:
        sure = "" if self.certain else " (inferred)"
        span = f"{self.start_s:.6f} to {self.end_s:.6f} s ({length_text(self.end_s - self.start_s)})"
        head = f"{span}: {self.summary}{sure}"
        lines = [f"  {step.time_ns / 1e9:.6f} s  {step.text}" for step in self.steps]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, object]:
        """The explanation as a dictionary for JSON; times are in seconds."""
        return {
            "conversation": self.conversation,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "cause": self.cause,
            "summary": self.summary,
            "certain": self.certain,
            "steps": [{"time_s": step.time_ns / 1e9, "text": step.text} for step in self.steps],
        }


#: Descriptions of causes that differ while the cause is only inferred.
_UNSURE = {"policer": "a policer, or a queue too short to delay anything, had dropped segments"}


def explain(conversation: Conversation, wait: Wait) -> Explanation:
    """The explanation of a wait."""
    steps = [*_losses(wait), *_dupacks(conversation, wait), *_window(conversation, wait)]
    steps += _request(conversation, wait) + _timer(wait) + _end(conversation, wait)
    return Explanation(
        conversation=conversation.name,
        start_s=wait.start_ns / 1e9,
        end_s=wait.end_ns / 1e9,
        cause=wait.cause,
        summary=_UNSURE.get(wait.cause, CAUSES[wait.cause]) if not wait.certain else CAUSES[wait.cause],
        certain=wait.certain,
        steps=tuple(sorted(steps, key=lambda step: step.time_ns)),
        serial=conversation.serial,
    )


def _losses(wait: Wait) -> list[Step]:
    """The earlier transmissions of the data that ended the wait, and where they were dropped."""
    steps = []
    for count, packet in enumerate(wait.earlier):
        again = " again" if count else ""
        if packet.unseen:
            steps.append(Step(packet.time_ns, f"{_packet_name(packet)} is missing in the capture"))
            continue
        steps.append(Step(packet.time_ns, f"{_packet_name(packet)} sent{again}"))
        if packet.drop is not None:
            drop = packet.drop
            steps.append(Step(drop.time_ns, f"{_packet_name(packet)} dropped at {drop.link}: {drop.why}"))
    return steps


def _dupacks(conversation: Conversation, wait: Wait) -> list[Step]:
    if not wait.cause.startswith(("rto", "lost-re", "policer")) or wait.next is None or wait.next.is_syn:
        return []
    count = "no" if not wait.dupacks else str(wait.dupacks)
    flight = wait.nxt - wait.una
    last = next((p for p in reversed(conversation.packets[: wait.at]) if not p.out), None)
    time = min(last.time_ns, wait.end_ns) if last is not None else wait.start_ns
    plural = "" if wait.dupacks == 1 else "s"
    others = sum(
        p.drop is not None
        and p.out
        and p.seq > wait.next.seq
        and p.time_ns < wait.end_ns
        and p.end > wait.una
        for p in conversation.packets[: wait.at]
    )
    lost = f"; {others} of the later segments had been dropped, too" if others else ""
    size = f"{flight} bytes ({-(-flight // conversation.mss)} segments) were outstanding"
    arrived = "had arrived since the last new ACK, 3 cause a fast retransmit"
    return [Step(time, f"{count} duplicate ACK{plural} {arrived}; {size}{lost}")]


def _window(conversation: Conversation, wait: Wait) -> list[Step]:
    """The step that describes the window when the wait began; empty for causes other than a window."""
    if wait.cause in ("zero-window", "receive-window"):
        last = next(
            (p for p in reversed(conversation.packets[: wait.at]) if not p.out and p.time_ns < wait.end_ns),
            None,
        )
        if last is not None:
            text = f"the receiver offered a window of {last.window} bytes"
            return [Step(max(last.time_ns, wait.start_ns), text)]
    if wait.cause == "ecn-one-segment":
        last = next(p for p in reversed(conversation.packets[: wait.at]) if not p.out)
        return [Step(last.time_ns, "an ACK with an ECN echo arrived while one segment was outstanding")]
    known = conversation.known
    if known is None or not known.windows or wait.cause not in ("cwnd", "recovery"):
        return []
    at = max(bisect_right(known.windows, wait.start_ns, key=lambda row: row[0]) - 1, 0)
    end = bisect_left(known.windows, wait.end_ns, key=lambda row: row[0])
    _, before, _ = known.windows[at]
    time, cwnd, ssthresh = min(known.windows[at : max(end, at + 1)], key=lambda row: row[1])
    fell = cwnd < before
    verb = f"fell from {before} to" if fell else "was"
    threshold = f"ssthresh {ssthresh} bytes" if ssthresh >= 0 else "no ssthresh yet"
    text = f"cwnd {verb} {cwnd} bytes, {threshold}; {_outstanding(conversation, wait)} bytes were outstanding"
    # ProbeRTT's window: `bbr_cwnd_min_target` in Linux's tcp_bbr.c.
    if fell and wait.cause == "cwnd" and known.law == "bbr1" and cwnd <= 4 * conversation.mss:
        text += " (ProbeRTT: BBR sends at most 4 segments for 200 ms, to measure the round-trip time)"
    return [Step(max(time, wait.start_ns), text)]


def _outstanding(conversation: Conversation, wait: Wait) -> int:
    """The bytes in flight when a wait began."""
    for packet in reversed(conversation.packets[: wait.at]):
        if not packet.out and packet.time_ns <= wait.start_ns:
            return wait.nxt - packet.ack
    return wait.nxt


def _request(conversation: Conversation, wait: Wait) -> list[Step]:
    """The last data that arrived while the application had nothing to send, perhaps an awaited request."""
    if wait.cause != "application":
        return []
    last = next((p for p in reversed(conversation.packets[: wait.at]) if not p.out and p.len), None)
    if last is None or not wait.start_ns < last.time_ns < wait.end_ns:
        return []
    return [Step(last.time_ns, f"{last.len} bytes arrived from the peer")]


def _timer(wait: Wait) -> list[Step]:
    if wait.timer is None:
        return []
    name, since, count = wait.timer
    words = {"rto": "retransmission timer", "probe": "tail loss probe timer"}.get(name, f"{name} timer")
    times = f", after {count - 1} before it without progress" if count > 1 else ""
    return [Step(wait.end_ns, f"the {words} of {length_text((wait.end_ns - since) / 1e9)} expired{times}")]


def _end(conversation: Conversation, wait: Wait) -> list[Step]:
    if wait.next is None:
        return []
    again = " again" if wait.earlier else ""
    return [Step(wait.end_ns, f"{_packet_name(wait.next)} sent{again}")]


def _packet_name(packet: Packet) -> str:
    if packet.is_syn:
        return "the SYN-ACK" if packet.flags & ACK else "the SYN"
    if packet.probe == "keep-alive":
        return "a keep-alive"
    if packet.probe or not packet.len:
        return "the FIN" if packet.flags & FIN else "a window probe"
    return f"bytes {packet.seq} to {packet.end - 1}"
