#!/usr/bin/env python3
"""Runs the benchmark workloads on cwndlab and on ns-2 where it is installed, and writes build/bench.json.

    python benches/bench.py [--workload NAME ...] [--tool cwndlab|ns-2 ...] [--json build/bench.json]

One object a workload and tool: nanoseconds of CPU time and instructions per packet-hop (set-up not counted),
goodput, drops at the bottleneck, memory a flow. The workloads are described in benches/README.md. CPU time is
the least of three runs; callgrind counts instructions on two durations, the difference is divided by that
of the hops. The last workload, `rfc2415-32-3`, is one run of a study's cell: CPU seconds a run on both, and
their ratio.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "target" / "release" / "examples" / "bench"
#: Workload -> the two durations (s) on which instructions are counted: past the start, short for callgrind.
WORKLOADS = {
    "10x1.5M": (100.0, 200.0),
    "50x100M": (2.0, 4.0),
    "200x1G": (1.0, 1.5),
    "1000x10G": (0.6, 0.8),
    "short100k": (0.5, 1.0),
}
#: RFC 2415's 32 browsers and 3 file transfers, IW 1, 360 s: whole runs, compared by CPU time.
WEB = "rfc2415-32-3"
SIZES = ROOT / "python" / "cwndlab" / "studies" / "rfc2415" / "sizes"
#: ns-2 spends minutes under callgrind only to create these many agents.
NOT_COUNTED = {("ns-2", "short100k"), ("ns-2", "1000x10G")}
KEYS = (
    "workload",
    "tool",
    "hops",
    "cpu_s",
    "ns_per_hop",
    "instructions_per_hop",
    "goodput_bps",
    "drops",
    "bytes_per_flow",
)

Command = Callable[[str, str, float | None], list[str]]


def cwndlab(workload: str, mode: str, duration_s: float | None) -> list[str]:
    """The command of our own engine; it counts in every run, so `mode` does not matter."""
    return [str(EXAMPLE), workload, *([] if duration_s is None else [str(duration_s)])]


def ns2(workload: str, mode: str, duration_s: float | None) -> list[str]:
    """The command of ns-2; `mode` is `time` or `count`."""
    script = str(ROOT / "benches" / "peer_ns2.tcl")
    return ["ns", script, workload, mode, *([] if duration_s is None else [str(duration_s)])]


def run(command: Sequence[str]) -> dict[str, Any]:
    """Runs a command that prints one JSON object as its last line."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        problem = done.stderr.strip()[-500:]
        raise SystemExit(f"bench: {' '.join(command)} failed ({done.returncode}): {problem}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def instructions(command: Sequence[str]) -> int:
    """Instructions of a whole process, by callgrind."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(valgrind, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        raise SystemExit(f"bench: {' '.join(valgrind)} counted nothing: {done.stderr.strip()[-500:]}")
    return int(found[1])


def instructions_per_hop(command: Command, workload: str) -> float:
    """Instructions of the longer run less those of the shorter, by hop: set-up cancels out."""
    short_s, long_s = WORKLOADS[workload]
    hops = [run(command(workload, "count", duration_s))["hops"] for duration_s in (short_s, long_s)]
    counts = [instructions(command(workload, "time", duration_s)) for duration_s in (short_s, long_s)]
    return (counts[1] - counts[0]) / float(hops[1] - hops[0])


def measure(tool: str, command: Command, workload: str, runs: int, callgrind: bool) -> dict[str, Any]:
    """One workload on one tool."""
    found = run(command(workload, "time", None))
    for _ in range(runs - 1):
        found["cpu_s"] = min(found["cpu_s"], run(command(workload, "time", None))["cpu_s"])
    if "hops" not in found:
        counted = run(command(workload, "count", None))
        found |= {key: counted[key] for key in ("hops", "drops")}
    found["ns_per_hop"] = round(found["cpu_s"] * 1e9 / found["hops"], 1)
    callgrind = callgrind and (tool, workload) not in NOT_COUNTED
    found["instructions_per_hop"] = round(instructions_per_hop(command, workload), 1) if callgrind else None
    return {key: found[key] for key in KEYS}


def web_cwndlab() -> dict[str, Any]:
    """One run of 32/3 by the definitions of ns-2's script; CPU time is the least of three replicates'."""
    sys.path.insert(0, str(ROOT))
    from validation import web

    from cwndlab import _core

    scenario = web.scenario((32, 3, 1))
    found = []
    for replicate in range(3):
        before = time.process_time()
        records = _core.run(scenario, web.SEED, replicate)
        found.append((time.process_time() - before, records.packets))
    cpu_s, hops = min(found)
    return {"workload": WEB, "tool": "cwndlab", "cpu_s": round(cpu_s, 4), "hops": hops}


def web_ns2() -> dict[str, Any]:
    """The same on ns-2; making its agents is not counted, which takes ten times as long as the run."""
    script = str(ROOT / "validation" / "ns2" / "rfc2415.tcl")
    sizes = [str(SIZES / f"mah-{side}-bytes.csv") for side in ("reply", "request")]
    found = run(["ns", script, "32", "3", "1", "1", "360", *sizes, "cpu"])
    return {
        "workload": WEB,
        "tool": "ns-2",
        "cpu_s": found["cpu_s"],
        "making_agents_s": found["making_agents_s"],
    }


def measure_web(tools: Sequence[str]) -> list[dict[str, Any]]:
    """`WEB` on the tools, printed as it goes."""
    rows = []
    if "cwndlab" in tools:
        rows.append(web_cwndlab())
        print(f"{WEB} cwndlab  {1000 * rows[0]['cpu_s']:.1f} ms of CPU a run")
    if "ns-2" in tools:
        theirs = web_ns2()
        line = f"{WEB} ns-2     {theirs['cpu_s']:.2f} s of CPU a run, its agents made before"
        if rows:
            theirs["ratio"] = round(theirs["cpu_s"] / rows[0]["cpu_s"], 1)
            line += f": {theirs['ratio']} times ours"
        print(line, flush=True)
        rows.append(theirs)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Time per packet-hop of cwndlab and ns-2, same workloads.")
    parser.add_argument("--workload", nargs="+", choices=[*WORKLOADS, WEB], default=[*WORKLOADS, WEB])
    parser.add_argument("--tool", nargs="+", choices=["cwndlab", "ns-2"], default=["cwndlab", "ns-2"])
    parser.add_argument("--runs", type=int, default=3, help="CPU time is the least of this many runs")
    parser.add_argument("--no-instructions", action="store_true", help="leave callgrind out")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench.json")
    options = parser.parse_args(arguments)

    commands: dict[str, Command] = {}
    if "cwndlab" in options.tool:
        build = ["cargo", "build", "--release", "-p", "cwndlab-records", "--example", "bench"]
        subprocess.run(build, cwd=ROOT, check=True)
        commands["cwndlab"] = cwndlab
    if "ns-2" in options.tool:
        if shutil.which("ns"):
            commands["ns-2"] = ns2
        else:
            print("bench: ns-2 is not installed (Debian package ns2); cwndlab alone", file=sys.stderr)
    count = not options.no_instructions and shutil.which("valgrind") is not None
    if not count and not options.no_instructions:
        print("bench: valgrind is not installed; instructions are not counted", file=sys.stderr)

    rows = []
    line = "{:<10} {:<8} {:>10} {:>7} {:>9} {:>12} {:>7} {:>7}"
    print(line.format("workload", "tool", "hops", "ns/hop", "instr/hop", "goodput Mb/s", "drops", "B/flow"))
    for workload in options.workload:
        if workload == WEB:
            continue
        for tool, command in commands.items():
            # Creating 100,000 agents takes ns-2 three minutes: once is enough.
            runs = 1 if (tool, workload) == ("ns-2", "short100k") else options.runs
            row = measure(tool, command, workload, runs, count)
            rows.append(row)
            megabits = f"{row['goodput_bps'] / 1e6:.2f}"
            shown = [row["hops"], row["ns_per_hop"], row["instructions_per_hop"] or "-", megabits]
            print(line.format(workload, tool, *shown, row["drops"], row["bytes_per_flow"]), flush=True)
    if WEB in options.workload:
        rows += measure_web(list(commands))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"written: {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
