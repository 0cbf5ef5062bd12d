"""RFC 2415's topology and web traffic compared with ns-2.35's FullTcp, and with the memo's authors' own TCP.

Code and random numbers differ; definitions and sizes are equal. The golden files contain the output of
`ns2/rfc2415.tcl` and `ns2/rfc2415_bay.tcl` for several seeds per cell; the simulator runs replicates of the
shipped study.

For FullTcp, the study gets the script's definitions: page clock from the SYN, in-line objects after the whole
primary, a separate FIN after the response (with the FIN on the last data, drop rates at IW=3 are a tenth
lower), access links of 2 ms, no delayed ACKs, Reno, a clock of 0.1 s, first timeout 6 s, no timeout below 0.2
s. For the authors' BayFullTcp, the shipped study only gets requests of 80 bytes, which are all that their
client sends.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cwndlab import _core
from cwndlab.api import Study

from .row import Row, means_apart

GOLDEN = Path(__file__).parent / "golden" / "ns2"
REPLICATES = 8
SEED = 7

PEER: Mapping[str, Any] = {
    "traffic.web.app.clock": "syn",
    "traffic.web.app.inline_trigger": "whole-primary",
    "traffic.web.app.server_closes": "after-response",
    "traffic.ftp.app.server_closes": "after-response",
    "topology.links.clients.delay": "2ms",
    "topology.links.servers.delay": "2ms",
    "tcp.ack_policy": "every",
    "tcp.rto": {"tick": "100ms", "initial": "6s", "min": "200ms", "max": "64s", "samples": "round-trip"},
}


class Peer(NamedTuple):
    """A TCP of ns-2, and the changes of the study that make it comparable."""

    title: str
    golden: str
    changes: Mapping[str, Any]
    known: Mapping[str, str] = {}
    """Means that are known to differ, with the reason."""


FULL_TCP = Peer("RFC 2415's web traffic on ns-2.35 (FullTcp)", "rfc2415.csv", PEER)
BAY = Peer(
    "RFC 2415 with its authors' TCP on ns-2.35 (BayFullTcp)",
    "rfc2415-bay.csv",
    {"traffic.web.app.request_bytes": {"kind": "fixed", "value": 80.0}},
    {"32 webs, 0 ftps, IW 3: drop rate": "known: pairs of the authors' agents die (overload.py)"},
)
QUANTITIES = (
    ("median_page_delay_s", "median page delay", "s"),
    ("utilization_pct", "utilization", "%"),
    ("drop_pct", "drop rate", "%"),
)
Cell = tuple[int, int, int]


def golden(peer: Peer) -> dict[Cell, np.ndarray[Any, Any]]:
    """ns-2's measurements by (webs, ftps, iw): a row for each seed, with `QUANTITIES` as columns."""
    found: defaultdict[Cell, list[list[float]]] = defaultdict(list)
    with (GOLDEN / peer.golden).open(newline="") as lines:
        for row in csv.DictReader(lines):
            cell = (int(row["webs"]), int(row["ftps"]), int(row["iw"]))
            found[cell].append([float(row[name]) for name, _, _ in QUANTITIES])
    return {cell: np.array(rows) for cell, rows in found.items()}


def ours(peer: Peer, cells: set[Cell]) -> Iterator[tuple[Cell, np.ndarray[Any, Any]]]:
    """The measurements of the simulator's replicates, cell by cell."""
    for cell in Study.load("rfc2415").set(peer.changes).plan().cells:
        axes = cell.axes
        if axes.get("model") != "reconstructed" or axes.get("http") != "1.0":
            continue
        key = (int(axes["webs"]), int(axes["ftps"]), int(axes["iw"]))
        if key in cells:
            yield key, np.array([measure(cell.scenario, replicate) for replicate in range(REPLICATES)])


def scenario(cell: Cell) -> str:
    """The scenario of a cell: webs, ftps, iw."""
    wanted = {"model": "reconstructed", "http": "1.0"} | dict(zip(("webs", "ftps", "iw"), cell, strict=True))
    for found in Study.load("rfc2415").set(PEER).plan().cells:
        if all(found.axes.get(axis) == value for axis, value in wanted.items()):
            return found.scenario
    raise ValueError(f"{cell}: not a cell of rfc2415")


def measure(scenario: str, replicate: int) -> list[float]:
    """The `QUANTITIES` of one replicate; the median excludes unfinished pages, as in `ns2/rfc2415.tcl`."""
    compiled = json.loads(scenario)
    records = _core.run(scenario, SEED, replicate)
    objects = pa.table(records.table("objects")).to_pylist()
    delays = [o["end_ns"] - o["start_ns"] for o in objects if o["kind"] == "page" and o["finished"]]
    at = [link["name"] for link in compiled["links"]].index("n1>n0")
    link = pa.table(records.table("links")).to_pylist()[at]
    return [
        float(np.median(delays)) / 1e9,
        100 * link["busy_ns"] / compiled["duration_ns"],
        100 * link["drops_full"] / link["arrivals"],
    ]


def rows(peer: Peer = FULL_TCP, every: int = 1) -> Iterator[Row]:
    """The comparison of every quantity in every cell, or in every n-th cell only."""
    theirs = golden(peer)
    theirs = {cell: theirs[cell] for cell in sorted(theirs)[::every]}
    for cell, mine in sorted(ours(peer, set(theirs)), key=lambda found: found[0]):
        where = f"{cell[0]} webs, {cell[1]} ftps, IW {cell[2]}"
        for column, (_, title, unit) in enumerate(QUANTITIES):
            name = f"{where}: {title}"
            known = peer.known.get(name, "")
            yield means_apart(peer.title, name, unit, theirs[cell][:, column], mine[:, column], known=known)


def bay_rows(every: int = 1) -> Iterator[Row]:
    """The comparison with the authors' TCP."""
    return rows(BAY, every)
