"""The diagnosis of QUIC programs in a kernel's run, from their qlog and the laboratory's packet records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cwndlab.apps.diagnosis.causes import CAUSES
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.apps.diagnosis.link_use import explain_share
from cwndlab.apps.diagnosis.run_bottleneck import bottleneck_in
from cwndlab.apps.diagnosis.summary import Summary, length_text
from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import Columns
from cwndlab.base.writing import count_text

from .explain_qlog import as_logs
from .explain_quic import diagnose_logs
from .qlog_file import parse_qlog
from .quic_log import Event, Lost, QuicLog, Received, Sent
from .quic_waits import Replayed, replay

#: The record table of log files that programs wrote: `traffic`, `end`, `name` and `content`.
LOGS = "logs"
#: The environment variable that names the folder for qlog files; many stacks read it.
VARIABLE = "QLOGDIR"
#: A datagram captured later than its stack logged by more than this was delayed by the host.
_LATE_NS = 1_000_000


def asks_for_qlog(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The traffic of a scenario, with qlog enabled for programs that can write to their folder."""
    made = []
    for entry in scenario["traffic"]:
        app = entry["app"]
        if app["kind"] == "program" and "folder" not in app:
            entry = {**entry, "app": {**app, "environment": {VARIABLE: ".", **app.get("environment", {})}}}
        made.append(entry)
    return made


@dataclass(frozen=True)
class _Datagrams:
    """The datagrams of a traffic entry, seen at the sending host."""

    sent_ns: NDArray[np.int64]
    received_ns: NDArray[np.int64]
    sent_bytes: int
    #: Number of sent datagrams that links dropped.
    dropped: int


@dataclass(frozen=True)
class DatagramSummary(Summary):
    """A summary of a sender of datagrams; `retransmitted` counts the datagrams that links dropped."""

    repairs: ClassVar[str] = "datagrams dropped by links"


def is_datagrams(columns: Callable[[str], Columns], traffic: int) -> bool:
    """Whether all packets of a traffic entry are datagrams, that is, none has TCP flags."""
    table = columns("connections")
    mine = table["connection"][table["traffic"] == traffic]
    segments = columns("segments")
    rows = np.isin(segments["connection"], mine)
    return bool(rows.any()) and not bool(segments["flags"][rows].any())


def diagnose_program(
    columns: Callable[[str], Columns],
    files: Sequence[Mapping[str, Any]],
    scenario: Mapping[str, Any],
    traffic: int,
    node: int,
    at_s: float | None,
    longest: int,
) -> Diagnosis:
    """The diagnosis of a program's QUIC stack, from the qlog that it wrote at the sending host.

    Args:
        columns: returns the columns of a record table.
        files: the rows of table `LOGS`.
        scenario: the compiled scenario of the run.
        traffic: index of the traffic entry.
        node: the sending host.
        at_s: the moment to explain, in seconds.
        longest: how many waits to explain, without `at_s`.

    """
    entry = scenario["traffic"][traffic]
    end = "client" if entry["client"] == node else "server"
    packets = _datagrams(columns, traffic, end == "client")
    logs, notes = [], []
    for file in files:
        if file["traffic"] == traffic and file["end"] == end:
            try:
                logs += as_logs(parse_qlog(file["content"], file["name"]))
            except StudyError as error:
                notes.append(error.text)
    if not logs:
        notes.append(
            f"the program at the sender wrote no qlog, so what it waited for is not known; stacks that heed "
            f"{VARIABLE} write some"
        )
        return Diagnosis({}, (), tuple(notes), (_outside(str(entry["name"]), packets),), waits_known=False)
    if len(logs) == 1:
        logs = [_on_our_clock(logs[0], packets)]
        notes += _differences(logs[0], replay(logs[0]), packets)
    else:
        notes.append(f"{len(logs)} connections: their times count from the first event of each log")
    for log in logs:
        log.name = f"{entry['name']}, {log.name}"
    found = diagnose_logs(logs, at_s, longest)
    summaries = tuple(_with_bottleneck(summary, scenario, traffic, node) for summary in found.summaries)
    return replace(found, notes=(*notes, *found.notes), summaries=summaries)


def _datagrams(columns: Callable[[str], Columns], traffic: int, client: bool) -> _Datagrams:
    table, segments = columns("connections"), columns("segments")
    mine = np.isin(segments["connection"], table["connection"][table["traffic"] == traffic])
    out = mine & (segments["from_client"] == client)
    dropped = out & np.array([event == "drop" for event in segments["event"]], np.bool_)
    sent = out & segments["sent"] & ~dropped
    back = mine & (segments["from_client"] != client) & ~segments["sent"]
    times = segments["time_ns"].astype(np.int64)
    return _Datagrams(times[sent], times[back], int(segments["len"][sent].sum()), int(dropped.sum()))


def _outside(name: str, packets: _Datagrams) -> Summary:
    times = packets.sent_ns
    seconds = float(times[-1] - times[0]) / 1e9 if len(times) else 0.0
    return DatagramSummary(name, seconds, packets.sent_bytes, len(times), packets.dropped, None, {})


def _on_our_clock(log: QuicLog, packets: _Datagrams) -> QuicLog:
    """The log shifted to the run's clock: its first packet is the first datagram of the same direction."""
    first = next((event for event in log.events if isinstance(event, Sent | Received)), None)
    times = packets.sent_ns if isinstance(first, Sent) else packets.received_ns
    if first is None or not len(times):
        return log
    shift = int(times[0]) - first.time_ns
    moved: list[Event] = [event._replace(time_ns=event.time_ns + shift) for event in log.events]
    return replace(log, events=moved)


def _differences(log: QuicLog, replayed: Replayed, packets: _Datagrams) -> list[str]:
    """Notes on differences between the stack's log and the recorded packets."""
    notes = []
    lost = sum(isinstance(event, Lost) for event in log.events)
    notes.append(
        f"the stack declared {count_text(lost, 'packet')} lost; links dropped {packets.dropped} of its "
        "datagrams"
    )
    sent = np.unique(np.array([event.time_ns for event in log.events if isinstance(event, Sent)], np.int64))
    silent = 0
    for wait in replayed.waits:
        if wait.duration_ns <= 2 * max(log.tick_ns, _LATE_NS):
            continue
        margin = max(log.tick_ns, _LATE_NS)
        inside = slice(*np.searchsorted(packets.sent_ns, (wait.start_ns + margin, wait.end_ns - margin)))
        logged = slice(*np.searchsorted(sent, (wait.start_ns + 1, wait.end_ns)))
        silent += len(packets.sent_ns[inside]) > 0 and len(sent[logged]) == 0
    if silent:
        notes.append(
            f"in {count_text(silent, 'wait')} of the log, datagrams of it left that the log does not have"
        )
    if len(packets.sent_ns) and len(sent):
        after = (
            packets.sent_ns - sent[np.maximum(np.searchsorted(sent, packets.sent_ns, side="right") - 1, 0)]
        )
        late = int(after.max())
        if late > log.tick_ns + _LATE_NS:
            notes.append(f"datagrams left up to {length_text(late / 1e9)} later than the stack says")
    return notes


def _with_bottleneck(summary: Summary, scenario: Mapping[str, Any], traffic: int, node: int) -> Summary:
    """The summary with a sentence on the use of the bottleneck; unchanged if the bottleneck is unknown."""
    entry = scenario["traffic"][traffic]
    peer = entry["server"] if entry["client"] == node else entry["client"]
    neck = bottleneck_in(scenario, traffic, node, peer)
    if neck is None or not summary.seconds or not summary.acknowledged_bytes:
        return summary
    share = 8 * summary.acknowledged_bytes / summary.seconds / neck.rate_bps
    return replace(summary, bottleneck=explain_share(neck, share, summary.waited_s, summary.seconds, CAUSES))
