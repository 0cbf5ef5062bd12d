"""RFC 2415's topology and web traffic next to ns-2.35's FullTcp.

Other code and other random numbers, the same definitions and the same sizes. The golden file holds what
`ns2/rfc2415.tcl` printed, several seeds a cell; ours are replicates of the shipped study with the script's
definitions: page clock from the SYN, in-line objects after the whole primary, a FIN of its own after the
response (with the FIN on the last data, drop rates at IW=3 are a tenth lower), access links of 2 ms, every
packet acknowledged, Reno, a clock of 0.1 s, first timeout 6 s, no timeout below 0.2 s.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cwndlab import _core
from cwndlab.study import Study

from .row import Row, means_apart

GOLDEN = Path(__file__).parent / "golden" / "ns2" / "rfc2415.csv"
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
QUANTITIES = (
    ("median_page_delay_s", "median page delay", "s"),
    ("utilization_pct", "utilization", "%"),
    ("drop_pct", "drop rate", "%"),
)
Cell = tuple[int, int, int]


def golden() -> dict[Cell, np.ndarray[Any, Any]]:
    """What ns-2 measured: webs, ftps, iw -> one row a seed, the columns of `QUANTITIES`."""
    found: defaultdict[Cell, list[list[float]]] = defaultdict(list)
    with GOLDEN.open(newline="") as lines:
        for row in csv.DictReader(lines):
            cell = (int(row["webs"]), int(row["ftps"]), int(row["iw"]))
            found[cell].append([float(row[name]) for name, _, _ in QUANTITIES])
    return {cell: np.array(rows) for cell, rows in found.items()}


def ours(cells: set[Cell]) -> Iterator[tuple[Cell, np.ndarray[Any, Any]]]:
    """The same of our replicates, cell by cell."""
    for cell in Study.load("rfc2415").set(PEER).plan().cells:
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
    """One replicate's `QUANTITIES`; unfinished pages are left out, as in the script."""
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


def rows() -> Iterator[Row]:
    """Every quantity of every cell."""
    peer = golden()
    for cell, mine in sorted(ours(set(peer)), key=lambda found: found[0]):
        where = f"{cell[0]} webs, {cell[1]} ftps, IW {cell[2]}"
        for column, (_, title, unit) in enumerate(QUANTITIES):
            group = "RFC 2415's web traffic on ns-2.35 (FullTcp)"
            yield means_apart(group, f"{where}: {title}", unit, peer[cell][:, column], mine[:, column])
