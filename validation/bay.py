"""One connection of the TCP of RFC 2415's authors (ns-2's Agent/TCP/BayFullTcp), event by event.

The golden files contain the output of `ns2/rfc2415_bay.tcl one` at the server's link: each departing data
packet, and each arriving acknowledgment. Without losses, the simulator produces the same events in the same
order, 55 µs later, because its SYN and SYN-ACK have the MSS option of four bytes, which ns-2's lack.
Acknowledgments that wait for the receiver's clock come at the same time in both.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from cwndlab import _core
from cwndlab.api import Study

GOLDEN = Path(__file__).parent / "golden" / "ns2"
OPTIONS_S = 60e-6
"""Two SYNs with an option of four bytes take 55.5 µs longer over 10, 1.5 and 10 Mb/s."""
BYTES = 60_000


class Event(NamedTuple):
    """Data sent from an offset, or an acknowledgment of everything up to it."""

    time_s: float
    event: str
    offset: int
    bytes: int


def theirs(name: str) -> list[Event]:
    """ns-2's events."""
    with (GOLDEN / f"rfc2415-bay-{name}.csv").open(newline="") as lines:
        return [
            Event(float(time), event, int(at), int(n)) for time, event, at, n in list(csv.reader(lines))[1:]
        ]


def ours(iw: int, buffer: int = 25) -> list[Event]:
    """The simulator's events of the same connection in the shipped study: one browser, one object."""
    fixed = {key: {"kind": "fixed", "value": value} for key, value in _FIXED.items()}
    changes = {"webs": 1, "ftps": 0, "parameters.buffer": buffer, "probes.segments_at": "n6"}
    study = Study.load("rfc2415").set(
        {**fixed, **changes, "traffic.web.app.inline_objects": 0, "run.duration": "60s"}
    )
    axes = {"model": "reconstructed", "http": "1.0", "webs": 1, "ftps": 0, "iw": iw}
    [cell] = [cell for cell in study.plan().cells if cell.axes == axes]
    found = []
    for row in pa.table(_core.run(cell.scenario, 0, 0).table("segments")).to_pylist():
        data, up = row["len"] > 0, row["from_client"]
        if row["event"] == "drop" or row["flags"] & 2 or up == data or row["sent"] == up:
            continue
        found.append(
            Event(row["time_ns"] / 1e9, *(("send", row["seq"]) if data else ("ack", row["ack"])), row["len"])
        )
    return found


_FIXED = {
    "traffic.web.app.object_bytes": float(BYTES),
    "traffic.web.app.request_bytes": 80.0,
    "traffic.web.app.first_s": 0.0,
    "traffic.web.app.think_s": 1000.0,
}


def parting(mine: list[Event], other: list[Event]) -> int | None:
    """The index of the first event that differs, or is later than the options explain; None if none is."""
    for place, (a, b) in enumerate(zip(mine, other, strict=False)):
        if a[1:] != b[1:] or abs(a.time_s - b.time_s) > OPTIONS_S:
            return place
    return None if len(mine) == len(other) else min(len(mine), len(other))
