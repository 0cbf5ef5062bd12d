"""The diagnosis of embedded QUIC stacks, which do not report what kept them from sending.

Rates, losses, round-trip times, windows and pauses are recorded. The causes of pauses are inferred from
window, bytes in flight, probe timeouts, and the packets that arrived before the stack sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cwndlab.base.engine_kinds import is_unresponsive
from cwndlab.base.numbers import Columns

from .diagnosis import Diagnosis
from .quic.explain_quic import diagnose_logs
from .quic.quic_records import log_of_records
from .summary import Summary, length_text

#: Stream data that both stacks accept ahead of the application by default, in bytes.
_STREAM_WINDOW = 1_250_000


@dataclass(frozen=True)
class OutsideSummary(Summary):
    """A summary of a sender of QUIC; `retransmitted` counts the packets that it declared lost."""

    repairs: ClassVar[str] = "packets declared lost"
    #: Packets of the connection that links dropped, in both directions.
    dropped: int
    #: Probe timeouts of both ends.
    probe_timeouts: int
    ecn_reductions: int
    #: Time-weighted mean of the congestion window in bytes; None if it was not recorded.
    mean_window_bytes: float | None
    #: Share of the recorded changes of the window at which less than a packet of it was free.
    full_window_share: float | None
    #: The longest time between two packets of the sender, and its start, in seconds; None without packets.
    pause_s: tuple[float, float] | None

    def __str__(self) -> str:
        if not self.segments:
            return f"{self.conversation}: sent no data"
        rate = self.acknowledged_bytes * 8e-6 / self.seconds if self.seconds else 0.0
        lost = f"{100 * self.retransmitted / self.segments:.2g} % of {self.segments} {self.repairs}"
        parts = [
            f"{rate:.3g} Mb/s for {length_text(self.seconds)}",
            f"{lost} ({self.dropped} dropped by links)",
        ]
        parts += [
            f"{self.probe_timeouts} probe timeouts of both ends",
            f"{self.ecn_reductions} reductions by ECN marks",
        ]
        if self.rtt_s is not None:
            parts.append("smoothed round trip at least {}, median {}".format(*map(length_text, self.rtt_s)))
        text = f"{self.conversation}: {', '.join(parts)}."
        if self.mean_window_bytes is not None and self.full_window_share is not None:
            window = f"The window was {self.mean_window_bytes / 1e3:.3g} kB on average"
            text += f" {window}, and full at {100 * self.full_window_share:.0f} % of its changes."
        if self.pause_s is not None:
            text += " The longest pause, {}, began at {}.".format(*map(length_text, self.pause_s))
        return text + self._waited()


def diagnose_outside(
    columns: Callable[[str], Columns],
    scenario: Mapping[str, Any],
    traffic: int,
    node: int,
    at_s: float | None = None,
    longest: int = 5,
) -> Diagnosis:
    """The diagnosis of the connections of a traffic entry that uses an embedded QUIC stack.

    Args:
        columns: returns the columns of a record table: `connections`, `segments` at the node, `cwnd` and
            `timeouts`.
        scenario: the compiled scenario of the run.
        traffic: index of the traffic entry.
        node: the sending host.
        at_s: the moment to explain, in seconds.
        longest: how many waits to explain, without `at_s`.

    """
    stack = scenario["traffic"][traffic]["stack"]
    table = columns("connections")
    rows = np.flatnonzero(table["traffic"] == traffic).tolist()
    known = [_summary(columns, scenario, traffic, node, row) for row in rows]
    streams = not is_unresponsive(scenario["traffic"][traffic]["app"])
    window = int(stack.get("stream_window", _STREAM_WINDOW)) if streams else None
    logs = [
        log_of_records(
            columns("segments"),
            columns("cwnd"),
            columns("timeouts"),
            serial=int(table["connection"][row]),
            client=bool(table["client"][row] == node),
            name=one.conversation,
            stream_window=window,
        )
        for row, one in zip(rows, known, strict=True)
    ]
    found = diagnose_logs(logs, at_s, longest)
    summaries = tuple(
        replace(one, waited_s=log.waited_s) for one, log in zip(known, found.summaries, strict=True)
    )
    name = stack["stack"]
    note = f"{name} does not name what keeps it from sending; causes follow from its window and packets"
    return replace(found, notes=(note, *found.notes), summaries=summaries)


def _summary(
    columns: Callable[[str], Columns], scenario: Mapping[str, Any], traffic: int, node: int, row: int
) -> OutsideSummary:
    table = {name: column[row] for name, column in columns("connections").items()}
    serial, client = int(table["connection"]), bool(table["client"] == node)
    sent, most = _sent(columns("segments"), serial, client)
    window, full, rtt = _window(columns("cwnd"), serial, client, most)
    gaps = np.diff(sent)
    longest = int(np.argmax(gaps)) if len(gaps) else 0
    entry = scenario["traffic"][traffic]
    nodes = [scenario["nodes"][entry[end]] for end in ("client", "server")]
    sender, receiver = nodes if client else nodes[::-1]
    return OutsideSummary(
        conversation=f"{entry['name']}, connection {serial}, {sender} > {receiver}",
        seconds=float(sent[-1] - sent[0]) / 1e9 if len(sent) else 0.0,
        acknowledged_bytes=int(table["bytes_up" if client else "bytes_down"]),
        segments=len(sent),
        retransmitted=int(table["retransmits"]),
        rtt_s=rtt,
        waited_s={},
        dropped=int(table["drops"]),
        probe_timeouts=int(table["timeouts"]),
        ecn_reductions=int(table["ecn_reductions"]),
        mean_window_bytes=window,
        full_window_share=full,
        pause_s=(float(gaps[longest]) / 1e9, float(sent[longest]) / 1e9) if len(gaps) else None,
    )


def _sent(segments: Columns, serial: int, client: bool) -> tuple[NDArray[np.int64], int]:
    """The send times of the sender's datagrams in nanoseconds, and the largest payload in bytes."""
    mine = (segments["connection"] == serial) & (segments["from_client"] == client) & segments["sent"]
    sizes = segments["len"][mine]
    return segments["time_ns"][mine].astype(np.int64), int(sizes.max()) if len(sizes) else 0


def _window(
    table: Columns, serial: int, client: bool, packet: int
) -> tuple[float | None, float | None, tuple[float, float] | None]:
    """Mean window in bytes, share of changes with a full window, and least and median RTT in s; else None."""
    mine = (table["connection"] == serial) & (table["from_client"] == client)
    times, windows = table["time_ns"][mine].astype(float), table["cwnd_bytes"][mine].astype(float)
    if len(times) < 2:
        return None, None, None
    full = table["in_flight_bytes"][mine].astype(float) + packet > windows
    rtts = table["srtt_ns"][mine].astype(float)
    rtts = rtts[np.isfinite(rtts) & (rtts > 0)] / 1e9
    rtt = (float(rtts.min()), float(np.median(rtts))) if len(rtts) else None
    return float(np.average(windows[:-1], weights=np.diff(times))), float(full.mean()), rtt
