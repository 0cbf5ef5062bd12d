"""ECN and RED compared with ns-2.35: one flow event by event, and replicates of three cells.

- `steps`: a flow over a queue that marks each packet that finds three others waiting, without randomness.
  With a limit of four packets, losses and echoes occur in one window.
- `rows`: cells like RFC 2884's: an ECN flow and one without, next to 2, 5 or 10 without, all with Reno, over
  RED (5/15, w_q 0.002, max_p 0.1) at 1.5 Mb/s, with and without ns-2's `wait_` (its default). The golden file
  is the output of `ns2/red_ecn.tcl`.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cwndlab import _core
from cwndlab.api import Study

from .row import Row, means_apart
from .simulate import table

GOLDEN = Path(__file__).parent / "golden" / "ns2" / "red_ecn.csv"
REPLICATES = 24
ERRORS = 4.0
"""Tolerated standard errors: among 42 quantities, one beyond 3 is likely."""
SEED = 2884
BEGIN_S, END_S = 20.0, 320.0
"""The start of the two compared flows, and the end of the run, in seconds."""
QUANTITIES = (
    ("ecn_kbps", "ECN flow's throughput", "kb/s"),
    ("non_ecn_kbps", "non-ECN flow's throughput", "kb/s"),
    ("ecn_marks", "ECN flow's marks", ""),
    ("ecn_drops", "ECN flow's drops", ""),
    ("non_ecn_drops", "non-ECN flow's drops", ""),
    ("background_drops", "background's drops", ""),
    ("average_queue", "mean average queue", "packets"),
)
TCP = {"profile": "ns2-1998", "mss": "1000B", "ack": "40B", "max_window": "20pkt"}
Cell = tuple[int, float, bool]
"""Number of background flows, max_p, and `wait`."""


@cache
def steps() -> Study:
    """A flow over step marking, by variant and limit; CWR as in RFC 2481, on retransmissions too."""
    return Study.from_dict(
        {
            "title": "ECN over step marking",
            "topology": {
                "nodes": ["source", "router", "receiver"],
                "links": [
                    {"between": ["source", "router"], "rate": "10Mbps"},
                    {
                        "between": ["router", "receiver"],
                        "rate": "1.5Mbps",
                        "delay": "20ms",
                        "forward": {
                            "queue": {
                                "kind": "red",
                                "limit": "{limit}pkt",
                                "min_th": 0.5,
                                "max_th": 3.0,
                                "max_p": 0.0,
                                "w_q": 1.0,
                                "ecn": True,
                                "hard_drop": False,
                            }
                        },
                    },
                ],
            },
            "traffic": [_bulk("transfer", client="source", server="receiver")],
            "tcp": {**TCP, "ecn": "rfc2481"},
            "axes": {
                "variant": {
                    "values": [
                        {"name": name, "set": {"tcp.recovery": kind, "tcp.sack": kind == "sack"}}
                        for name, kind in (
                            ("tahoe", "tahoe"),
                            ("reno", "reno"),
                            ("newreno", "new-reno"),
                            ("sack", "sack"),
                        )
                    ]
                },
                "limit": {"values": [4, 1000]},
            },
            "run": {"duration": "6s"},
            "probes": {"segments_at": "source"},
        }
    )


def cell(background: int, max_p: float, wait: bool) -> str:
    """The scenario of a cell as JSON, with ns-2's interpretation of RED."""
    red = {
        "kind": "red",
        "limit": "60pkt",
        "min_th": 5.0,
        "max_th": 15.0,
        "max_p": max_p,
        "w_q": 0.002,
        "ecn": True,
        "wait": wait,
        "rules": "ns2",
    }
    begin = f"{BEGIN_S:.0f}s"
    study = Study.from_dict(
        {
            "title": "ECN next to ns-2",
            "topology": {
                "nodes": ["server", "r1", "r2", "client"],
                "links": [
                    {"between": ["server", "r1"], "rate": "10Mbps"},
                    {"between": ["r1", "r2"], "rate": "1.5Mbps", "delay": "20ms", "forward": {"queue": red}},
                    {"between": ["r2", "client"], "rate": "10Mbps"},
                ],
            },
            "traffic": [
                _bulk("with", tcp="ecn", start=begin),
                _bulk("without", start=begin),
                _bulk("background", count=background, stagger="500ms"),
            ],
            "tcp": {**TCP, "recovery": "reno", "groups": {"ecn": {"ecn": "rfc2481"}}},
            "run": {"duration": f"{END_S:.0f}s"},
            "probes": {"queues": ["r1>r2"], "queue_interval": "10ms"},
        }
    )
    return study.plan().cells[0].scenario


def _bulk(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "client": "server",
        "server": "client",
        "app": {"kind": "bulk", "from": "client"},
    } | more


def measure(scenario: str, replicate: int) -> list[float]:
    """The `QUANTITIES` of one replicate."""
    records = _core.run(scenario, SEED, replicate)
    connections = table(records, "connections")
    order = np.argsort(connections["traffic"].to_numpy(), kind="stable")
    acked, marks, drops = (connections[name].to_numpy()[order] for name in ("bytes_up", "marks", "drops"))
    samples = table(records, "queues")
    late = samples["time_ns"].to_numpy() >= BEGIN_S * 1e9
    kilobits = acked[:2] * 8e-3 / (END_S - BEGIN_S)
    average = samples["average"].to_numpy()[late].mean()
    return [*kilobits, marks[0], drops[0], drops[1], drops[2:].sum(), average]


def golden() -> dict[Cell, np.ndarray[Any, Any]]:
    """ns-2's measurements by cell: a row for each seed, with `QUANTITIES` as columns."""
    found: defaultdict[Cell, list[list[float]]] = defaultdict(list)
    with GOLDEN.open(newline="") as lines:
        for row in csv.DictReader(lines):
            key = (int(row["background"]), float(row["max_p"]), row["wait"] == "1")
            found[key].append([float(row[name]) for name, _, _ in QUANTITIES])
    return {key: np.array(rows) for key, rows in found.items()}


def rows() -> Iterator[Row]:
    """The comparison of every quantity in every cell."""
    for key, theirs in golden().items():
        scenario = cell(*key)
        mine = np.array([measure(scenario, replicate) for replicate in range(REPLICATES)])
        where = f"{key[0]} flows beside, max_p {key[1]:g}, {'wait' if key[2] else 'no wait'}"
        for column, (_, title, unit) in enumerate(QUANTITIES):
            yield means_apart(
                "RED and ECN on ns-2.35, three cells of RFC 2884's kind",
                f"{where}: {title}",
                unit,
                theirs[:, column],
                mine[:, column],
                errors=ERRORS,
            )
