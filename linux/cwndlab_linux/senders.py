"""Inference of what senders did in a kernel's run: the tables `limits`, `states` and `timeouts`.

The inputs are the packets at both ends and the applications' writes, with their times. A kernel reports
neither what limits it at each moment nor its timers. Both are inferred from what it sent, and after which
event, by the rules of Linux 6.12 (`tcp_write_xmit`, `tcp_schedule_loss_probe`, `tcp_rearm_rto`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: The inferred tables.
TABLES = ("limits", "states", "timeouts")

FIN, SYN, ACK, CWR = 1, 2, 16, 128
#: The kernel's least retransmission timeout (`TCP_RTO_MIN`); earlier transmissions are paced or probes.
_RTO_MIN_NS = 200_000_000
#: States in which losses are repaired.
_REPAIRING = ("recovery", "loss")

Writes: TypeAlias = Mapping[tuple[int, bool], Sequence[tuple[int, int]]]
"""By connection and end (whether it is the client's): time in ns and bytes of each write."""


@dataclass(frozen=True)
class ReadingRules:
    """Properties of an end that its packets do not show."""

    #: Whether the largest window that the peer offers is this end's `max_window` in the study.
    max_window: bool = False
    nagle: bool = True
    #: Whether tail loss probes are enabled (`tcp_early_retrans`); they also need SACK on the connection.
    probes: bool = True


@dataclass
class _End:
    """One end of a connection, whose state is reconstructed from its packets."""

    settings: ReadingRules
    #: Payload bytes of a full segment.
    mss: int
    answer_ns: int
    start_ns: int
    end_ns: int
    #: The rows of the tables, without the columns for connection and end.
    limits: list[tuple[int, int, str]] = field(default_factory=list)
    states: list[tuple[int, int, str, str, str | None]] = field(default_factory=list)
    timeouts: list[tuple[int, str, int, int, int]] = field(default_factory=list)

    una: int = 0
    nxt: int = 0
    written: int = 0
    window: int = 0
    established: bool = False
    fin: int | None = None
    state: str = "open"
    #: The sequence number whose acknowledgment ends recovery or loss.
    recover: int = 0
    dupacks: int = 0
    sacks: bool = False
    sack_permitted: bool = False
    #: Consecutive expiries of the retransmission timer, and whether a probe was sent since the last progress.
    backoffs: int = 0
    probed: bool = False
    #: Sequence number after the last segment that was smaller than a full one.
    small: int = 0
    last_in: int = -1
    last_out: int = -1
    last_write: int = -1
    #: When the retransmission timer was last set.
    set_ns: int = 0
    rtt_ns: int | None = None
    #: The segment whose round trip is being measured: the sequence number after it, and its send time.
    timed: tuple[int, int] | None = None
    _since: int = 0
    _limit: str = "handshake"
    _entered: tuple[int, str] = (0, "start")

    def __post_init__(self) -> None:
        self._since = self.set_ns = self.start_ns
        self._entered = (self.start_ns, "start")

    def leave_handshake(self) -> None:
        """Skips the handshake, for a connection without one in the run."""
        self.established, self._limit = True, "idle"

    # ── limits and states ─────────────────────────────────────────────────────────────────────────────────

    def limit(self) -> str:
        """What currently limits the end, as in the table `limits`."""
        if not self.established:
            return "handshake"
        left = self.written - self.nxt
        if left <= 0:
            closed = self.fin is not None and self.una >= self.fin
            return "closed" if closed else "idle" if self.una >= self.nxt else "application"
        if self.una + self.window - self.nxt < min(self.mss, left):
            return "max-window" if self.settings.max_window else "receive-window"
        if self.state == "recovery":
            return "recovery"
        if left < self.mss and self.small > self.una and self.settings.nagle:
            return "small-segment"  # `tcp_nagle_check`: only while another small one is outstanding
        return "cwnd"

    def _note(self, now: int, instead: str | None = None) -> None:
        """Adds the time since the last event to what limited the end, or to `instead`."""
        limit = self._limit if instead is None else instead
        if now > self._since:
            if self.limits and self.limits[-1][2] == limit:
                self.limits[-1] = (self.limits[-1][0], now, limit)
            else:
                self.limits.append((self._since, now, limit))
            self._since = now

    def _enter(self, now: int, state: str, by: str) -> None:
        since, entered_by = self._entered
        if now > since:
            self.states.append((since, now, self.state, entered_by, by))
        self.state, self._entered = state, (max(now, since), by)

    # ── events ────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, now: int, count: int) -> None:
        """Handles a write of the application."""
        self._note(now)
        self.written += count
        self.last_write = now
        self._limit = self.limit()

    def receive(self, now: int, length: int, ack: int, window: int, flags: int, sack: bool) -> None:
        """Handles the arrival of a segment."""
        self._note(now)
        if flags & SYN:
            self.window = window
        if not self.established and flags & ACK:
            self.established = True
            if not self.backoffs and self.last_out >= 0:
                self.rtt_ns = now - self.last_out
            self.backoffs = 0
        if ack > self.una:
            if self.timed is not None and ack >= self.timed[0]:
                taken = now - self.timed[1]
                self.rtt_ns = taken if self.rtt_ns is None else min(self.rtt_ns, taken)
                self.timed = None
            self.una, self.dupacks, self.sacks = ack, 0, sack
            self.backoffs, self.probed = 0, False
            self.set_ns = now
            if self.state != "open" and self.una >= self.recover:
                self._enter(now, "open", "ack")
        elif not length and not flags & (SYN | FIN) and self.una < self.nxt and window == self.window:
            self.dupacks += 1
        if sack:
            self.sacks = True
            self.set_ns = now
        if not flags & SYN:
            self.window = window
        self.last_in = now
        self._limit = self.limit()

    def send(self, now: int, seq: int, length: int, flags: int) -> None:
        """Handles a transmitted segment."""
        end = seq + length + bool(flags & FIN)
        if flags & SYN:
            again, end = self.last_out >= 0, 0
        elif end > seq and self.established:
            again = seq < self.nxt
        else:  # a pure acknowledgment
            self._note(now)
            self._limit = self.limit()
            return
        timer = self._timer(now, again, bool(flags & SYN))
        paced = timer is None and not again and self._is_alone(now) and self._limit == "cwnd"
        self._note(now, "pacing" if paced else timer if self.established else None)
        if timer is not None:
            self._expire(now, timer)
        elif again and self.state not in _REPAIRING:
            self._repair(self.last_in if self.last_in >= 0 else now, "recovery", "reports")
        if flags & CWR and self.state == "open":
            self.recover = self.nxt
            self._enter(max(self.last_in, self._entered[0]), "cwr", "ecn")
        if again:
            self.timed = None
        elif self.timed is None:
            self.timed = (end, now)
        if self.una >= self.nxt or seq <= self.una:
            self.set_ns = now
        if length and length < self.mss:
            self.small = end
        if flags & FIN:
            self.fin = end
        self.nxt = max(self.nxt, end)
        self.last_out = now
        self._limit = self.limit()

    def _is_alone(self, now: int) -> bool:
        """Whether a transmission follows no arrival, no write and no segment of the same burst."""
        return now - max(self.last_in, self.last_out, self.last_write) > self.answer_ns

    def _timer(self, now: int, again: bool, syn: bool) -> str | None:
        """The timer whose expiry caused a transmission; None for other causes."""
        if syn:
            return "rto" if again and now - self.last_in > self.answer_ns else None
        quiet = now - max(self.last_in, self.last_out)
        if self.una >= self.nxt or quiet <= self.answer_ns:
            return None
        if self.state in _REPAIRING and not self.backoffs and quiet < _RTO_MIN_NS:
            return None
        probes = self.settings.probes and self.sack_permitted and not self.probed and not self.backoffs
        if not again:  # a probe may carry new data
            waited = self.rtt_ns is not None and quiet >= 2 * self.rtt_ns
            fed = now - self.last_write <= self.answer_ns
            return "probe" if probes and waited and not fed and self.state not in _REPAIRING else None
        if self.sacks and quiet < _RTO_MIN_NS:
            return "reordering"
        return "probe" if probes and not self.sacks and self.state not in _REPAIRING else "rto"

    def _expire(self, now: int, timer: str) -> None:
        if timer == "rto":
            self.backoffs += 1
            set_ns = self.last_out if not self.established or self.backoffs > 1 else self.set_ns
            self.timeouts.append((now, timer, max(min(set_ns, now), self.start_ns), self.backoffs, self.una))
            if self.established:
                self._repair(now, "loss", "rto")
        else:
            set_ns = max(self.last_in, self.last_out, self.start_ns)
            self.timeouts.append((now, timer, set_ns, 0, self.una))
            self.probed = self.probed or timer == "probe"
            if timer == "reordering" and self.state not in _REPAIRING:
                self._repair(now, "recovery", "reordering-timer")
        self.set_ns = now

    def _repair(self, now: int, state: str, by: str) -> None:
        self.recover = self.nxt
        self._enter(now, state, by)

    def finish(self) -> None:
        """Adds the time up to the end of the connection."""
        self._note(self.end_ns)
        since, by = self._entered
        if self.end_ns > since:
            self.states.append((since, self.end_ns, self.state, by, None))


def infer(
    segments: pa.Table,
    connections: pa.Table,
    writes: Writes,
    settings: Mapping[tuple[int, bool], ReadingRules],
    end_ns: int,
    answer_ns: int,
    like: Mapping[str, pa.Schema],
) -> dict[str, pa.Table]:
    """The inferred tables of all ends.

    Args:
        segments: the packets of all hosts; an arriving packet has two rows, at its sender and its receiver.
        connections: the run's connections.
        writes: the applications' writes.
        settings: the rules for each traffic entry's client and server.
        end_ns: the end of the run.
        answer_ns: a host sends what an arrival or a write releases within this time.
        like: the schemas of the tables.

    """
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    events = _events(segments)
    names = ("connection", "traffic", "start_ns", "end_ns", "established_ns")
    for serial, traffic, start, end, shaken in zip(
        *(connections.column(name).to_pylist() for name in names), strict=True
    ):
        ended = min(end if end is not None else end_ns, end_ns)
        shaken = shaken is not None and shaken > start
        for client in (True, False):
            own = events.get((serial, client), [])
            mss = max((row[3] for row in own if row[1]), default=0) or 1460
            found = _End(settings[traffic, client], mss, answer_ns, start, ended)
            _follow(found, own, writes.get((serial, client), ()), shaken)
            for name in TABLES:
                rows[name] += [_row(name, serial, client, row) for row in getattr(found, name)]
    return {name: table_of(rows[name], like[name]) for name in TABLES}


def _follow(
    end: _End, events: Sequence[tuple[Any, ...]], writes: Iterable[tuple[int, int]], shaken: bool
) -> None:
    """Replays an end's packets and writes in order of time; of simultaneous events, arrivals come first."""
    end.sack_permitted = any(permitted for *_, permitted in events)
    if not shaken:
        end.leave_handshake()
    pending = sorted(writes, reverse=True)
    for time, sent, seq, length, ack, window, flags, sack, _ in events:
        while pending and pending[-1][0] <= time and (sent or pending[-1][0] < time):
            end.write(*pending.pop())
        if sent:
            end.send(time, seq, length, flags)
        else:
            end.receive(time, length, ack, window, flags, sack)
    while pending:
        at, count = pending.pop()
        end.write(min(at, end.end_ns), count)
    end.finish()


def _events(segments: pa.Table) -> dict[tuple[int, bool], list[tuple[Any, ...]]]:
    """The packets that each end sent and received, in order of time."""
    table = segments.filter(pc.is_null(segments.column("link")))  # events of links are irrelevant
    blocks = pc.fill_null(pc.list_value_length(table.column("sack")), 0)
    names = ("time_ns", "sent", "seq", "len", "ack", "window_bytes", "flags")
    columns = [table.column(name).to_pylist() for name in names]
    columns += [pc.greater(blocks, 0).to_pylist(), table.column("sack_permitted").to_pylist()]
    serials = table.column("connection").to_pylist()
    at_client = np.asarray(table.column("from_client")) == np.asarray(table.column("sent"))
    found: dict[tuple[int, bool], list[tuple[Any, ...]]] = defaultdict(list)
    for serial, client, row in zip(serials, at_client.tolist(), zip(*columns, strict=True), strict=True):
        found[serial, client].append(row)
    return found


def _row(name: str, serial: int, client: bool, row: tuple[Any, ...]) -> tuple[Any, ...]:
    if name == "timeouts":  # in this table, the time comes first
        return (row[0], serial, client, *row[1:])
    return (serial, client, *row)


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """The rows as a table of this schema."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    made = [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(made, schema=schema)
