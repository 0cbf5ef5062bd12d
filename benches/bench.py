#!/usr/bin/env python3
"""Runs the benchmark on cwndlab and, where it is installed, on ns-2, and writes build/bench.json.

    python benches/bench.py [--workload NAME ...] [--tool cwndlab|ns-2 ...] [--json build/bench.json]
    python benches/bench.py --ns-3 PROGRAM --htsim PROGRAM --workload 10x1.5M 50x100M   # these two as well

A hop is one packet, data or ACK, that has crossed one link. Each row is a workload on a tool: CPU time and
instructions per hop (set-up not counted), goodput, drops at the bottleneck, memory. The tools take turns, and
CPU time is the least of `--runs` runs of each; the ratio divides a tool's by cwndlab's. callgrind counts
instructions on two durations; their difference is divided by that of the hops. benches/README.md has the
workloads, and how the programs for ns-3 and htsim are built.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "wheel" / "examples" / "bench"
CELLS = ROOT / "build" / "bench"


class Tool(NamedTuple):
    """A simulator, and the command that runs a workload on it."""

    name: str
    command: tuple[str, ...]
    #: Whether the command takes a mode: `time`, or `count`, which observes every packet.
    has_modes: bool = False


CWNDLAB = Tool("cwndlab", (str(EXAMPLE),))
NS2 = Tool("ns-2", ("ns", str(ROOT / "benches" / "peer_ns2.tcl")), has_modes=True)


@dataclass(frozen=True)
class Workload:
    """One line of the table."""

    #: The two durations (s) on which instructions are counted: past the start, short for callgrind.
    counted_s: tuple[float, float]
    #: Whether ns-2 runs it, and whether its instructions are counted: it takes minutes to make its agents.
    ns2: bool = False
    ns2_counted: bool = False
    #: The further simulators that run it.
    others: tuple[str, ...] = ()
    #: Duration of the timed run; None is the workload's own.
    duration_s: float | None = None
    #: Study and cell whose scenario it is, instead of a dumbbell.
    cell: tuple[str, str] | None = None
    #: Flows of a short-form study whose only cell it is, instead of both.
    flows: str | None = None
    #: Rate and round trip of that study's dumbbell.
    link: tuple[str, str] = ("50Mbps", "40ms")
    #: Whether it takes minutes: then it runs only if it is named.
    large: bool = False

    @property
    def is_file(self) -> bool:
        """Whether its scenario is written to a file."""
        return self.cell is not None or self.flows is not None

    def runs_on(self, tool: Tool) -> bool:
        """Whether the tool can run it."""
        return tool == CWNDLAB or (self.ns2 if tool == NS2 else tool.name in self.others)

    def counts_on(self, tool: Tool) -> bool:
        """Whether the tool's instructions are counted."""
        return self.ns2_counted if tool == NS2 else self.runs_on(tool)


#: The names of the simulators that are used if they are given.
OTHERS = ("ns-3", "htsim")
#: The study of a workload with `flows`.
DUMBBELL = """\
title = "Benchmark"
measure = ["goodput"]
[dumbbell]
rate = "{rate}"
rtt = "{rtt}"
buffer = 1
flows = [{flows}]
[run]
duration = "20s"
warmup = "10s"
"""
RFC2415 = "model=reconstructed,http=1.0,webs=32,ftps=2,iw=1"
RFC2884 = "workload=bulk,recovery=sack,path=one-way,flows=10,max_p=0.3"
MODERN = "question=queue,speed=50,queue=fq-codel,flows=8"
WORKLOADS = {
    "10x1.5M": Workload((100, 200), ns2=True, ns2_counted=True, others=OTHERS),
    "50x100M": Workload((2, 4), ns2=True, ns2_counted=True, others=OTHERS),
    "200x1G": Workload((1, 1.5), ns2=True, ns2_counted=True, others=OTHERS),
    "1000x10G": Workload((0.6, 0.8), ns2=True),
    "short100k": Workload((0.5, 1), ns2=True),
    "live10k": Workload((0.5, 0.6), duration_s=1.5),
    "live100k": Workload((1.2, 1.3), duration_s=1.5),
    "short1M": Workload((1, 2), large=True),
    "incast": Workload((0.1, 1), ns2=True, ns2_counted=True, others=("htsim",)),
    "5000x10G": Workload((3, 3.4), large=True),
    "5000-cubic": Workload(
        (3, 3.4),
        duration_s=600,
        flows='{ cc = "cubic", count = 5000 }',
        link=("10Gbps", "100ms"),
        large=True,
    ),
    "rfc2415-cell": Workload((60, 120), cell=("rfc2415", RFC2415)),
    "rfc2884-cell": Workload((60, 120), cell=("rfc2884", RFC2884)),
    "fq-codel-cell": Workload((10, 20), cell=("modern", MODERN)),
    # today's stack: the short form with the default profile
    "8-reno": Workload(
        (10, 20), ns2=True, ns2_counted=True, duration_s=100, flows='{ cc = "reno", count = 8 }'
    ),
    "8-cubic": Workload(
        (10, 20), ns2=True, ns2_counted=True, duration_s=100, flows='{ cc = "cubic", count = 8 }'
    ),
    "cubic-bbr1": Workload((10, 20), flows='{ cc = "cubic" }, { cc = "bbr1" }'),
    "cubic-bbr3": Workload((10, 20), flows='{ cc = "cubic" }, { cc = "bbr3" }'),
    "8-bbr3": Workload((10, 20), flows='{ cc = "bbr3", count = 8 }'),
    "8-prague": Workload((10, 20), flows='{ cc = "prague", count = 8 }'),
    # what a probe costs, next to the first of these
    "50x100M+connections": Workload((2, 4)),
    "50x100M+segments": Workload((2, 4)),
    "50x100M+queue": Workload((2, 4)),
    "50x100M+samples": Workload((2, 4)),
    "50x100M+cwnd": Workload((2, 4)),
}
#: RFC 2415's 32 browsers and 3 file transfers, IW 1, 360 s, on both tools: whole runs, compared by CPU time.
WEB = "rfc2415-32-3"
SIZES = ROOT / "python" / "cwndlab" / "studies" / "rfc2415" / "sizes"


def command(tool: Tool, name: str, mode: str, duration_s: float | None) -> list[str]:
    """The command of a tool; `mode` is `time` or `count`, which only some keep apart."""
    duration = [] if duration_s is None else [str(duration_s)]
    what = str(scenario(name)) if WORKLOADS[name].is_file and tool == CWNDLAB else name
    return [*tool.command, what, *([mode] if tool.has_modes else []), *duration]


@cache
def scenario(name: str) -> Path:
    """The file of a cell, written once in each run: the study may have changed since the last one."""
    from cwndlab import Study

    path = CELLS / f"{name}.json"
    workload = WORKLOADS[name]
    if workload.cell:
        shipped, wanted = workload.cell
        found = [cell.scenario for cell in Study.load(shipped).plan().cells if str(cell.id) == wanted]
        if len(found) != 1:
            raise SystemExit(f"bench: {shipped} has no cell {wanted}")
    else:
        rate, rtt = workload.link
        study = Study.from_toml(DUMBBELL.format(flows=workload.flows, rate=rate, rtt=rtt))
        found = [cell.scenario for cell in study.plan().cells]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(found[0])
    return path


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Runs a command that prints one JSON object on a line of its own."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    objects = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not objects:
        problem = done.stderr.strip()[-500:]
        raise SystemExit(f"bench: {' '.join(arguments)} failed ({done.returncode}): {problem}")
    found: dict[str, Any] = json.loads(objects[-1])
    return found


def instructions(arguments: Sequence[str]) -> int:
    """Instructions of a whole process, by callgrind."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *arguments]
    done = subprocess.run(valgrind, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        raise SystemExit(f"bench: {' '.join(valgrind)} counted nothing: {done.stderr.strip()[-500:]}")
    return int(found[1])


def instructions_per_hop(tool: Tool, name: str) -> tuple[float, float]:
    """Instructions per hop, set-up cancelled out; and set-up's share of a run's instructions, in percent."""
    durations = WORKLOADS[name].counted_s
    hops = [run(command(tool, name, "count", duration_s))["hops"] for duration_s in durations]
    counts = [instructions(command(tool, name, "time", duration_s)) for duration_s in durations]
    per_hop = (counts[1] - counts[0]) / float(hops[1] - hops[0])
    return per_hop, 100 * (1 - per_hop * hops[1] / counts[1])


#: What a tool reports and the row repeats.
MEASURED = ("goodput_bps", "drops", "bytes_per_flow", "peak_mb", "rows")


def measure(name: str, tools: Sequence[Tool], runs: int, callgrind: bool) -> list[dict[str, Any]]:
    """One workload on the tools in turn."""
    workload = WORKLOADS[name]
    tools = [tool for tool in tools if workload.runs_on(tool)]
    found: dict[Tool, dict[str, Any]] = {}
    for turn in range(runs):
        for tool in tools:
            # making 100,000 agents takes ns-2 three minutes: once is enough
            if turn > 0 and (tool, name) == (NS2, "short100k"):
                continue
            latest = run(command(tool, name, "time", workload.duration_s))
            if tool not in found or latest["cpu_s"] < found[tool]["cpu_s"]:
                found[tool] = latest
    rows = []
    for tool, best in found.items():
        if "hops" not in best:
            best |= run(command(tool, name, "count", None)) | best
        row = {"workload": name, "tool": tool.name, "hops": best["hops"], "cpu_s": best["cpu_s"]}
        row["ns_per_hop"] = round(best["cpu_s"] * 1e9 / best["hops"], 1)
        if callgrind and workload.counts_on(tool):
            per_hop, set_up = instructions_per_hop(tool, name)
            row |= {"instructions_per_hop": round(per_hop, 1), "set_up_percent": round(set_up, 1)}
        row |= {key: best[key] for key in MEASURED if key in best}
        if rows and rows[0]["tool"] == CWNDLAB.name:
            row["ratio"] = round(row["ns_per_hop"] / rows[0]["ns_per_hop"], 2)
        rows.append(row)
    return rows


def web(tools: Sequence[Tool], runs: int) -> list[dict[str, Any]]:
    """`WEB` on the tools: by the definitions of ns-2's script on both."""
    rows: list[dict[str, Any]] = []
    if CWNDLAB in tools:
        sys.path.insert(0, str(ROOT))
        from validation import web as definitions

        from cwndlab import _core

        times = []
        for replicate in range(runs):
            before = time.process_time()
            records = _core.run(definitions.scenario((32, 3, 1)), definitions.SEED, replicate)
            times.append((time.process_time() - before, records.packets))
        cpu_s, hops = min(times)
        rows.append({"workload": WEB, "tool": "cwndlab", "cpu_s": round(cpu_s, 4), "hops": hops})
    if NS2 in tools:
        # making its agents takes ten times as long as the run, and is not counted
        script = str(ROOT / "validation" / "ns2" / "rfc2415.tcl")
        sizes = [str(SIZES / f"mah-{side}-bytes.csv") for side in ("reply", "request")]
        found = run(["ns", script, "32", "3", "1", "1", "360", *sizes, "cpu"])
        row = {"workload": WEB, "tool": "ns-2"} | {key: found[key] for key in ("cpu_s", "making_agents_s")}
        if rows:
            row["ratio"] = round(found["cpu_s"] / rows[0]["cpu_s"], 1)
        rows.append(row)
    return rows


#: Columns of the table: heading, key, width and format.
COLUMNS = (
    ("workload", "workload", 20, "{}"),
    ("tool", "tool", 8, "{}"),
    ("hops", "hops", 10, "{}"),
    ("ns/hop", "ns_per_hop", 7, "{}"),
    ("ratio", "ratio", 6, "{}"),
    ("instr/hop", "instructions_per_hop", 9, "{}"),
    ("set-up %", "set_up_percent", 8, "{}"),
    ("goodput bit/s", "goodput_bps", 13, "{:.4g}"),
    ("drops", "drops", 7, "{}"),
    ("B/flow", "bytes_per_flow", 7, "{}"),
    ("peak MB", "peak_mb", 7, "{}"),
)


def line(row: dict[str, Any] | None) -> str:
    """A row of the table, or its head."""
    cells = []
    for heading, key, width, shape in COLUMNS:
        text = heading if row is None else shape.format(row[key]) if key in row else "-"
        cells.append(text.ljust(width) if key in ("workload", "tool") else text.rjust(width))
    return " ".join(cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Speed of cwndlab and others, same workloads.")
    usual = [name for name, workload in WORKLOADS.items() if not workload.large] + [WEB]
    parser.add_argument("--workload", nargs="+", choices=[*WORKLOADS, WEB], default=usual)
    parser.add_argument("--tool", nargs="+", choices=["cwndlab", "ns-2"], default=["cwndlab", "ns-2"])
    parser.add_argument("--ns-3", type=Path, metavar="PROGRAM", help="benches/peer_ns3.cc, built")
    parser.add_argument("--htsim", type=Path, metavar="PROGRAM", help="benches/peer_htsim.cc, built")
    parser.add_argument("--runs", type=int, default=3, help="CPU time is the least of this many runs")
    parser.add_argument("--no-instructions", action="store_true", help="leave callgrind out")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench.json")
    options = parser.parse_args(arguments)

    tools = [tool for tool in (CWNDLAB, NS2) if tool.name in options.tool]
    if NS2 in tools and not shutil.which("ns"):
        print("bench: ns-2 is not installed (Debian package ns2) and left out", file=sys.stderr)
        tools.remove(NS2)
    if options.ns_3:
        tools.append(Tool(OTHERS[0], (str(options.ns_3.resolve()),), has_modes=True))
    if options.htsim:
        tools.append(Tool(OTHERS[1], (str(options.htsim.resolve()),)))
    if CWNDLAB in tools:
        build = ["cargo", "build", "--profile", "wheel", "-p", "cwndlab-records", "--example", "bench"]
        subprocess.run(build, cwd=ROOT, check=True)
    count = not options.no_instructions and shutil.which("valgrind") is not None
    if not count and not options.no_instructions:
        print("bench: valgrind is not installed; instructions are not counted", file=sys.stderr)

    shutil.rmtree(CELLS, ignore_errors=True)
    rows: list[dict[str, Any]] = []
    print("A hop is one packet, data or ACK, that has crossed one link. Ratio: time by cwndlab's.")
    print(line(None))
    for name in options.workload:
        for row in web(tools, options.runs) if name == WEB else measure(name, tools, options.runs, count):
            rows.append(row)
            print(line(row), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"written: {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
