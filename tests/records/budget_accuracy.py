"""How well budgets are inferred from packets; it prints the tables of docs/evidence/explain-accuracy.md.

Simulated runs know their budgets. The inference gets the same runs as it gets those of a kernel: packets at
both ends, and the applications' writes. With the argument "kernel": Linux in virtual time next to the
simulator.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cwndlab import Study, _core
from cwndlab.base.core import time_budgets
from cwndlab.records.critical_path import PARTS, PROBES
from cwndlab.results.execution import find_kernel_executor
from cwndlab.runs.run_options import RunOptions
from cwndlab.runs.single_run import OneCell
from cwndlab_linux import senders

QUIET = ("application", "idle", "closed", "handshake")
#: Runs whose budgets cover most of the parts.
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "RFC 2415, 16 web clients": (
        "rfc2415",
        {"grid": "tables_1_to_3", "webs": 16, "ftps": 1, "iw": 3, "model": "reconstructed"},
    ),
    "RFC 2884, 10 flows": (
        "rfc2884",
        {"grid": "transactions", "recovery": "reno", "size": 20, "flows": 10, "max_p": 0.1},
    ),
}


def tables_of(scenario: Mapping[str, Any], seed: int = 1, **probes: Any) -> dict[str, pa.Table]:
    changed = {**scenario, "probes": {**scenario["probes"], **PROBES, **probes}}
    records = _core.run(json.dumps(changed), seed, 0)
    return {name: pa.table(records.table(name)) for name in records.names}


def inferred(scenario: Mapping[str, Any], known: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of a simulated run, with what senders knew inferred from the packets at all hosts."""
    hosts = {entry[end] for entry in scenario["traffic"] for end in ("client", "server")}
    seen = [tables_of(scenario, segments_at=host)["segments"] for host in sorted(hosts)]
    tcp = [(entry["tcp_client"], entry["tcp_server"]) for entry in scenario["traffic"]]
    settings = {
        (index, client): senders.ReadingRules(nagle=scenario["tcp"][own]["nagle"], probes=False)
        for index, pair in enumerate(tcp)
        for client, own in zip((True, False), pair, strict=True)
    }
    made = senders.infer(
        pa.concat_tables(seen),
        known["connections"],
        writes(known, pa.concat_tables(seen)),
        settings,
        scenario["duration_ns"],
        1_000,
        {name: known[name].schema for name in senders.TABLES},
    )
    return {**known, **made, "cwnd": known["cwnd"].slice(0, 0)}


def writes(known: Mapping[str, pa.Table], segments: pa.Table) -> senders.Writes:
    """When the applications wrote: where a sender that had nothing to send sent something."""
    quiet: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    for row in known["limits"].to_pylist():
        if row["limit"] in QUIET:
            quiet.setdefault((row["connection"], row["from_client"]), []).append(
                (row["from_ns"], row["to_ns"])
            )
    found: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    high: dict[tuple[int, bool], int] = {}
    for row in segments.filter(segments.column("sent")).sort_by("time_ns").to_pylist():
        key, end = (row["connection"], row["from_client"]), row["seq"] + row["len"]
        if not row["len"] or end <= high.get(key, 0) or row["link"] is not None:
            continue
        mine = found.setdefault(key, [])
        spans = quiet.get(key, [])
        at = bisect_left(spans, (row["time_ns"],)) - 1
        new = at >= 0 and (not mine or spans[at][1] > mine[-1][0])
        if new or not mine:
            mine.append((min(spans[at][1], row["time_ns"]), 0))
        mine[-1] = (mine[-1][0], mine[-1][1] + end - high.get(key, 0))
        high[key] = end
    return found


@dataclass(frozen=True)
class Budget:
    """One row of budgets."""

    kind: str
    index: int
    start_ns: int
    end_ns: int
    #: Nanoseconds of the parts that took time.
    parts: Mapping[str, int]


def budgets(
    scenario: Mapping[str, Any], tables: Mapping[str, pa.Table], kind: str | None = None
) -> list[Budget]:
    """The budgets of a run whose tables are these."""
    found = time_budgets(tables.__getitem__, scenario, int(scenario["duration_ns"]), kind)
    return [
        Budget(
            row["kind"],
            row["index"],
            row["start_ns"],
            row["end_ns"],
            {part: row[f"{part}_ns"] for part in PARTS if row[f"{part}_ns"]},
        )
        for row in found.to_pylist()
    ]


def scenario_of(name: str, changes: Mapping[str, Any], duration_s: float = 60) -> dict[str, Any]:
    """The first cell. Its largest windows are the receivers' buffers, as on a kernel: packets show them."""
    found = dict(Study.load(name).set(dict(changes)).plan().cells[0].compiled.scenario)
    for tcp in found["tcp"]:
        if "segments" in tcp["max_window"]:
            tcp["receive_buffer_bytes"] = tcp["max_window"]["segments"] * tcp["mss"]
            tcp["max_window"] = {"bytes": 1 << 30}
    return found | {"duration_ns": int(duration_s * 1e9), "windows": {}}


def modern() -> Study:
    """Pages and files over a short queue, with today's TCP; `slow` has a small receive buffer."""
    size = {
        "kind": "lognormal-pareto",
        "median": 8000.0,
        "sigma": 1.2,
        "tail_from": 60000.0,
        "tail_alpha": 1.2,
        "max": 1e6,
    }
    hosts = {"client": "client", "server": "server"}
    web = {
        "kind": "web", "protocol": "http/1.1", "clock": "syn", "object_bytes": size,
        "inline_objects": 3, "inline_trigger": "first-packet", "record_objects": True,
        "request_bytes": {"kind": "fixed", "value": 300.0},
        "think_s": {"kind": "uniform", "low": 1.0, "high": 3.0},
        "first_s": {"kind": "uniform", "low": 0.0, "high": 2.0},
    }  # fmt: skip
    file = {
        "kind": "ftp",
        "file_bytes": {"kind": "fixed", "value": 3e5},
        "request_bytes": {"kind": "fixed", "value": 100.0},
        "clock": "syn",
    }
    return Study.build(
        "modern pages",
        topology={
            "nodes": ["client", "r1", "r2", "server"],
            "links": [
                {"name": "near", "between": ["client", "r1"], "rate": "100Mbps", "delay": "1ms"},
                {
                    "name": "bottleneck", "between": ["r1", "r2"], "rate": "4Mbps", "delay": "20ms",
                    "queue": {"kind": "drop-tail", "limit": "20pkt"},
                },
                {"name": "far", "between": ["r2", "server"], "rate": "100Mbps", "delay": "1ms"},
            ],
        },
        traffic=[
            {"name": "web", "count": 4, "app": web, **hosts},
            {"name": "ftp", "app": file, **hosts},
            {"name": "slow", "app": file, "tcp": "small", **hosts},
        ],
        tcp={"profile": "linux-6", "groups": {"small": {"receive_buffer": "8KiB"}}},
        run={"duration": "120s"},
    )  # fmt: skip


def compare(title: str, truth: list[Budget], found: list[Budget], *, paired: bool) -> None:
    """Prints each part's share of the time, known and inferred, and the time that is in the wrong part."""
    for kind in dict.fromkeys(b.kind for b in truth):
        a, b = ([one for one in budgets if one.kind == kind] for budgets in (truth, found))
        totals = [sum(one.end_ns - one.start_ns for one in budgets) for budgets in (a, b)]
        means = [total / len(one) / 1e9 for total, one in zip(totals, (a, b), strict=True)]
        print(f"\n{title}: {kind}, {len(a)} and {len(b)}, mean {means[0]:.3f} and {means[1]:.3f} s\n")
        for part in PARTS:
            x, y = (np.array([one.parts.get(part, 0) for one in budgets], float) for budgets in (a, b))
            if max(x.sum() / totals[0], y.sum() / totals[1]) >= 0.001:
                wrong = f"{np.abs(x - y).sum() / totals[0]:.1%}" if paired else ""
                print(f"| `{part}` | {x.sum() / totals[0]:.1%} | {y.sum() / totals[1]:.1%} | {wrong} |")


def in_the_simulator() -> None:
    for title, (name, changes) in STUDIES.items():
        scenario = scenario_of(name, changes)
        known = tables_of(scenario)
        compare(title, budgets(scenario, known), budgets(scenario, inferred(scenario, known)), paired=True)


def on_a_kernel() -> None:
    study = modern()
    cell = study.plan(seed=1).cells[0]
    cell.check()
    scenario = cell.compiled.scenario
    kernel = find_kernel_executor(RunOptions(backend="linux-virtual", stack="linux-stock"), study.plan())
    assert kernel is not None
    probes = {**scenario["probes"], **PROBES}
    tables = OneCell(cell, 1, kernel).simulate_again(cell.id, 0, {"probes": probes})
    compare("kernel", budgets(scenario, tables_of(scenario)), budgets(scenario, tables), paired=False)
    print()
    counters(tables)


def counters(tables: Mapping[str, pa.Table]) -> None:
    """Prints what the kernel counted itself next to the sums of what was inferred."""
    known, rows = tables["tcp_info"].to_pylist(), tables["limits"].to_pylist()
    spent = {row["limit"]: 0 for row in rows}
    for row in rows:
        spent[row["limit"]] += row["to_ns"] - row["from_ns"]
    busy = sum(spent.values()) - sum(spent.get(word, 0) for word in ("handshake", "idle", "closed"))
    expired = sum(row["timer"] == "rto" for row in tables["timeouts"].to_pylist())
    for name, column, unit, found in (
        ("busy (s)", "busy_ns", 1e9, busy),
        ("limited by the receive window (s)", "rwnd_limited_ns", 1e9, spent.get("receive-window", 0)),
        ("limited by the send buffer (s)", "sndbuf_limited_ns", 1e9, 0),
        ("retransmission timeouts", "total_rto", 1, expired),
    ):
        print(f"| {name} | {sum(row[column] for row in known) / unit:.4g} | {found / unit:.4g} |")


if __name__ == "__main__":
    on_a_kernel() if sys.argv[1:] == ["kernel"] else in_the_simulator()
