"""The diagnosis of QUIC logs: what kept the senders from sending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cwndlab.apps.diagnosis.causes import CAUSES, ORDINARY
from cwndlab.apps.diagnosis.diagnosis import Diagnosis, Explanation, Step
from cwndlab.apps.diagnosis.summary import Summary, leading_waits, length_text
from cwndlab.base.writing import count_text

from .quic_log import QuicLog
from .quic_waits import QuicWait, Replayed, replay

#: Waits shorter than this share of the shortest round trip are ignored.
_SHORT = 0.1
#: Waits shorter than this are ignored if the round trip is unknown.
_SHORT_NS = 1_000_000
#: Wrong statements of bytes in flight are noted from this number and this share of all statements on.
_FEWEST, _MANY = 10, 0.1


@dataclass(frozen=True)
class LogSummary(Summary):
    """A summary of a sender from its log; `retransmitted` counts the packets that it declared lost."""

    repairs: ClassVar[str] = "packets declared lost"


def diagnose_logs(logs: Sequence[QuicLog], at_s: float | None = None, longest: int = 5) -> Diagnosis:
    """The diagnosis at a moment, or of the longest waits (ordinary waits only if there are no others)."""
    notes: list[str] = []
    found: list[tuple[QuicLog, QuicWait]] = []
    summaries: list[LogSummary] = []
    waited: dict[str, int] = {}
    for log in logs:
        replayed = replay(log)
        rtt = replayed.shortest_rtt_ns
        least = _SHORT * rtt if rtt else _SHORT_NS
        waits = [wait for wait in replayed.waits if wait.duration_ns >= least or at_s is not None]
        mine: dict[str, int] = {}
        for wait in waits:
            if wait.duration_ns >= least:
                mine[wait.cause] = mine.get(wait.cause, 0) + wait.duration_ns
        for cause, spent in mine.items():
            waited[cause] = waited.get(cause, 0) + spent
        found += [(log, wait) for wait in waits]
        summaries.append(_summary(log, replayed, mine))
        prefix = f"{log.name}: " if len(logs) > 1 else ""
        notes += [f"{prefix}{note}" for note in (*log.notes, *_remarks(log, replayed, waits))]
    chosen = _at(found, at_s) if at_s is not None else _longest(found, longest)
    if at_s is not None and not chosen:
        notes.append(f"at {at_s:g} s no sender waited between two packets")
    order = sorted(waited, key=lambda cause: (-waited[cause], cause))
    return Diagnosis(
        {cause: waited[cause] / 1e9 for cause in order},
        tuple(_explanation(log, wait) for log, wait in chosen),
        tuple(dict.fromkeys(notes)),
        tuple(summaries),
        waits_known=any(summary.segments for summary in summaries),
    )


def _at(found: Sequence[tuple[QuicLog, QuicWait]], at_s: float) -> list[tuple[QuicLog, QuicWait]]:
    return [pair for pair in found if pair[1].start_ns <= at_s * 1e9 < pair[1].end_ns]


def _longest(found: Sequence[tuple[QuicLog, QuicWait]], count: int) -> list[tuple[QuicLog, QuicWait]]:
    """The longest waits, in order of time; ordinary ones only if there are no others."""
    stalls = [pair for pair in found if pair[1].cause not in ORDINARY or pair[1].disputed] or found
    kept = sorted(stalls, key=lambda pair: -pair[1].duration_ns)[:count]
    return sorted(kept, key=lambda pair: (pair[0].name, pair[1].start_ns))


def _summary(log: QuicLog, replayed: Replayed, waited: dict[str, int]) -> LogSummary:
    start, end = replayed.span_ns or (0, 0)
    seconds = (end - start) / 1e9
    middle, least = replayed.median_rtt_ns, replayed.shortest_rtt_ns
    return LogSummary(
        log.name,
        seconds,
        replayed.acknowledged,
        replayed.packets,
        replayed.lost,
        (least / 1e9, middle / 1e9) if middle and least else None,
        leading_waits({cause: ns / 1e9 for cause, ns in waited.items()}, seconds),
        ended=replayed.ended,
    )


def _remarks(log: QuicLog, replayed: Replayed, waits: Sequence[QuicWait]) -> list[str]:
    """Remarks about a log, for the reader, including where the stack and its packets disagree."""
    notes = []
    if not replayed.packets:
        notes.append("no packet that asks for an acknowledgment is logged, so nothing is known of waits")
    elif log.by_stack and replayed.received_bytes > replayed.sent_bytes:
        asked = (
            f"; the peer said {count_text(replayed.peer_blocked, 'time')} that it was blocked"
            if replayed.peer_blocked
            else ""
        )
        notes.append(
            f"this end received most of the data{asked}: the sender's qlog says what that one waited for"
        )
    silent = all(wait.stated in ("", "handshake", "pto") for wait in replayed.waits)
    if log.by_stack and replayed.packets and silent:
        notes.append(
            "the stack says nothing of a full window or a limit; causes are inferred from its packets"
        )
    for time, before, after in replayed.collapses[:3]:
        notes.append(
            f"persistent congestion: the window fell from {before} to {after} bytes at {time / 1e9:.6f} s"
        )
    if replayed.early_frames:
        notes.append(
            f"the stack sent {count_text(replayed.early_frames, 'BLOCKED frame')} for limits that its "
            "data had not reached"
        )
    disputed = [wait for wait in waits if wait.disputed]
    if disputed:
        spent = sum(wait.duration_ns for wait in disputed) / 1e9
        first = max(disputed, key=lambda wait: wait.duration_ns)
        notes.append(
            f"in {len(disputed)} of {count_text(len(waits), 'wait')} ({length_text(spent)}) the packets do "
            f"not show what the stack says: the longest at {first.start_ns / 1e9:.6f} s, {first.stated} by "
            f"the stack, {first.shown} by its packets"
        )
    if replayed.contradicted >= max(_FEWEST, _MANY * replayed.statements):
        notes.append(
            f"{replayed.contradicted} of {replayed.statements} statements of bytes in flight differ by more "
            "than two packets from what was sent and neither acknowledged nor declared lost"
        )
    return notes


def _explanation(log: QuicLog, wait: QuicWait) -> Explanation:
    steps = [Step(time, text) for time, text in wait.steps]
    if wait.cwnd is not None and wait.in_flight is not None:
        text = f"window {wait.cwnd} bytes, {wait.in_flight} in flight"
        steps.append(Step(wait.start_ns, f"the stack: {text}" if log.by_stack else text))
    if wait.disputed or (wait.stated and wait.cause != wait.stated):
        steps.append(Step(wait.end_ns, f"by its packets: {CAUSES[wait.shown]}; by the stack: {wait.stated}"))
    number = f"packet {wait.next.packet[1]}" if wait.next.packet is not None else "a packet"
    steps.append(Step(wait.end_ns, f"{number} sent, {wait.next.size} bytes"))
    return Explanation(
        log.name,
        wait.start_ns / 1e9,
        wait.end_ns / 1e9,
        wait.cause,
        CAUSES[wait.cause],
        wait.certain,
        tuple(sorted(steps, key=lambda step: step.time_ns)),
    )
