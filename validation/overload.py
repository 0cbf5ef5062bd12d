"""RFC 2415 under overload: the authors' agents on ns-2.35 compared with the study's reconstructed model.

The golden files contain ten seeds for each cell. `rfc2415-bay-overload.csv` has the unchanged agents, with 32
and 64 web clients and the 32/32 mixture of Table 6. `rfc2415-bay-rules.csv` has 64/0, 32/3 and 32/0 with one
rule changed at a time (`ns2/rfc2415_bay.tcl` explains the rules; `ns2/regenerate_bay` writes both files).

`python -m validation.overload` updates the tables of docs/evidence/rfc2415-findings.md.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.stats.distributions import t_quantile

from .page import replace_part, table_row
from .row import Row, means_apart
from .web import BAY, GOLDEN, QUANTITIES

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "evidence" / "rfc2415-findings.md"
REPLICATES, SEED = 10, 2415
WAIT_S = 60
"""A web client counts as waiting if its page has taken longer than this at the end of the run."""
REPLIES = HERE.parent / "python/cwndlab/studies/rfc2415/sizes/mah-reply-bytes.csv"
Floats = np.ndarray[Any, Any]


class Cell(NamedTuple):
    """A load and an initial window; the window `1/3` is the mixture of Table 6."""

    webs: int
    ftps: int
    iw: str


#: The columns of a measurement: page delay, utilization, drop rate, and number of waiting clients.
COLUMNS = (*(name for name, _, _ in QUANTITIES), "hung")
#: The page delays of both halves of the mixture.
HALVES = ("median_page_delay_iw1_s", "median_page_delay_iw3_s")


@cache
def agents(name: str, first: str) -> Mapping[tuple[str, Cell], Floats]:
    """The measurements in a golden file, by the value of its column `first` and by cell: a row for each seed,
    with `COLUMNS` and, for the mixture, `HALVES` as columns.
    """
    found: defaultdict[tuple[str, Cell], list[list[float]]] = defaultdict(list)
    with (GOLDEN / f"rfc2415-bay-{name}.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            columns = (*COLUMNS, *(half for half in HALVES if row.get(half)))
            cell = Cell(int(row["webs"]), int(row["ftps"]), row["iw"])
            found[row[first], cell].append([float(row[column]) for column in columns])
    return {key: np.array(rows) for key, rows in found.items()}


def model(cell: Cell, changes: Mapping[str, Any], replicates: int = REPLICATES) -> Floats:
    """The measurements of the study's model: a row for each replicate."""
    scenario = _scenario(cell, changes)
    return np.array([_measure(scenario, replicate, cell.iw) for replicate in range(replicates)])


def _scenario(cell: Cell, changes: Mapping[str, Any]) -> str:
    mixture = "/" in cell.iw
    axes = (
        {"webs_iw1": cell.webs // 2, "webs_iw3": cell.webs // 2}
        if mixture
        else {"webs": cell.webs, "ftps": cell.ftps, "iw": int(cell.iw)}
    )
    wanted = {"model": "reconstructed"} | ({} if mixture else {"http": "1.0"}) | axes
    for found in Study.load("rfc2415").set({**changes, **axes}).plan().cells:
        if dict(found.axes) == wanted:
            return found.scenario
    raise ValueError(f"{cell}: not a cell of rfc2415")


def _measure(scenario: str, replicate: int, iw: str) -> list[float]:
    """One run's numbers: `COLUMNS`, then for the mixture `HALVES`. The median excludes unfinished pages."""
    compiled = json.loads(scenario)
    records = _core.run(scenario, SEED, replicate)
    pages = [o for o in pa.table(records.table("objects")).to_pylist() if o["kind"] == "page"]
    late = compiled["duration_ns"] - WAIT_S * 10**9
    waiting = sum(not page["finished"] and page["start_ns"] < late for page in pages)
    at = [link["name"] for link in compiled["links"]].index("n1>n0")
    link = pa.table(records.table("links")).to_pylist()[at]
    utilization = 100 * link["busy_ns"] / compiled["duration_ns"]
    drops = 100 * link["drops_full"] / link["arrivals"]
    found = [_median(pages), utilization, drops, float(waiting)]
    for half in ("half1.", "half3.") if "/" in iw else ():
        clients = {i for i, traffic in enumerate(compiled["traffic"]) if traffic["name"].startswith(half)}
        found.append(_median([page for page in pages if page["traffic"] in clients]))
    return found


def _median(pages: Sequence[Mapping[str, Any]]) -> float:
    return float(np.median([p["end_ns"] - p["start_ns"] for p in pages if p["finished"]])) / 1e9


# ── rows of `make validate` ──


def rows(replicates: int = REPLICATES) -> Iterator[Row]:
    """The agents without dead pairs against the model with their recovery; if installed, ns-2 repeats two."""
    changes = {**BAY.changes, **AGENTS_RECOVERY}
    for (rule, cell), theirs in agents("rules", "rule").items():
        if rule != SKIPPED:
            continue
        mine = model(cell, changes, replicates)
        for column, (_, title, unit) in enumerate(QUANTITIES):
            name = f"{cell.webs} webs, {cell.ftps} ftps, IW {cell.iw}: {title}"
            known = KNOWN.get(name, "")
            yield means_apart(GROUP, name, unit, theirs[:, column], mine[:, column], known=known)
    if shutil.which("ns") is not None:
        for cell in (Cell(64, 0, "1"), Cell(64, 0, "3")):
            yield from _again(cell)


_RENO = {"ends_with": "outstanding-plus-two"}
#: The agents' rules for the end of a recovery and for the start of the next one.
AGENTS_RECOVERY: Mapping[str, Any] = {"tcp.recovery": {"reno": {**_RENO, "retransmit_guard": "timeout"}}}
SKIPPED = "dead=skipped"
GROUP = "RFC 2415 under overload: its authors' TCP on ns-2.35, pairs of agents that died being left out"
_MORE = "known: the agents drop half a point more with each window; the cause was not found"
KNOWN: Mapping[str, str] = {
    f"{load}: drop rate": _MORE
    for load in ("64 webs, 0 ftps, IW 3", "32 webs, 3 ftps, IW 1", "32 webs, 3 ftps, IW 3")
}
"""Means that are known to differ, with what is known about the cause."""


def _again(cell: Cell) -> Iterator[Row]:
    """The first seed of a cell, run again on ns-2 and compared with the golden line."""
    script = str(HERE / "ns2" / "rfc2415_bay.tcl")
    command = ["ns", script, str(cell.webs), str(cell.ftps), cell.iw, "1", "360", str(REPLIES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    [line] = [line for line in done.stdout.splitlines() if line.startswith(f"{cell.webs},")]
    values = [float(value) for value in line.split(",")[5:8]]
    golden = agents("overload", "free_s")["30", cell][0]
    for (_, title, unit), value, expected in zip(QUANTITIES, values, golden, strict=False):
        name = f"{cell.webs} webs, {cell.ftps} ftps, IW {cell.iw}, seed 1 run again: {title}"
        yield Row(GROUP, name, "the golden file", unit, float(expected), value, 0.0, absolute=True)


# ── tables of the findings page ──


def overload_table() -> list[str]:
    """A table of agents and model in each cell: means with 95 % intervals."""
    quantities = ("page delay, s", "utilization, %", "drops, %", "waiting")
    head = "|".join(("webs / ftps|reused after|IW", *(f"agents: {name}|model" for name in quantities)))
    lines = [*_head(head)]
    for (free, cell), theirs in agents("overload", "free_s").items():
        mine = model(cell, {})
        pairs = [
            _interval(values[:, column], digits)
            for column, digits in enumerate((2, 1, 1))
            for values in (theirs, mine)
        ]
        waiting = [f"{values[:, 3].mean():.1f}" for values in (theirs, mine)]
        load = f"{cell.webs} / {cell.ftps}"
        lines.append(table_row([load, f"{free} s", cell.iw, *pairs, *waiting]))
        for place, half in enumerate(("1", "3"), 4) if "/" in cell.iw else ():
            delays = [_interval(values[:, place], 2) for values in (theirs, mine)]
            lines.append(table_row([f"of these, IW {half}", "", "", *delays, "", "", "", "", "", ""]))
    return lines


def rules_table() -> list[str]:
    """A table of each rule's effect on the change from IW 1 to IW 3."""
    head = "webs / ftps|rule|page delay, s|change, %|utilization, change|drops, %|change|waiting"
    lines = [*_head(head)]
    found: dict[tuple[str, Cell], Floats] = {}
    for (_, cell), values in agents("overload", "free_s").items():
        found.setdefault(("agents", cell), values)
    found |= agents("rules", "rule")
    for load in ((64, 0), (32, 3), (32, 0)):
        webs, ftps = load
        three = Cell(webs, ftps, "3")
        for rule, cell in [key for key in found if key[1] == three]:
            one = found[rule, cell._replace(iw="1")]
            lines.append(_rule(f"{webs} / {ftps}", RULES[rule], one, found[rule, cell]))
        for rule, changes in MODEL_RULES.items():
            if (ftps or "files" not in rule) and (load != (32, 0) or not changes):
                one, larger = (model(Cell(webs, ftps, iw), changes) for iw in ("1", "3"))
                lines.append(_rule(f"{webs} / {ftps}", rule, one, larger))
    return lines


RULES = {
    "agents": "**the agents as they are**",
    SKIPPED: "pairs whose server does not listen are left out",
    "free=own": "each client has four pairs of its own",
    "free=own+pause=5": "each client has pairs of its own, and 5 s between files",
    "recovery=ssthresh": "recovery ends at ssthresh",
    "interval=0.4": "heartbeat of 0.4 s",
    "trigger=whole": "in-lines after the whole primary (PSH)",
    "clock=syn": "page clock from the SYN",
    "pause=5": "5 s between files",
    "window=52": "maximum window of 52",
    "delays=25/25/1": "delays of the script (25, 25, 1 ms)",
}


_ACKS = {"quick-then-heartbeat": {"quick_bytes": 16384, "every": 2, "grid": "400ms"}}
MODEL_RULES: Mapping[str, Mapping[str, Any]] = {
    "**the reconstructed model**": {},
    "model: recovery ends at outstanding + 2": {"tcp.recovery": {"reno": _RENO}},
    "model: the same, guarded only after a timeout": AGENTS_RECOVERY,
    "model: a timeout of a SYN halves ssthresh": {"tcp.handshake.timeout_cuts": True},
    "model: heartbeat of 0.4 s": {"tcp.ack_policy": _ACKS},
    "model: in-lines after the whole primary (PSH)": {"parameters.trigger": "whole-primary"},
    "model: page clock from the SYN": {"parameters.clock": "syn"},
    "model: 5 s between files": {"parameters.file_pause": 5.0},
    "model: maximum window of 52": {"tcp.max_window": "52pkt", "tcp.initial_ssthresh_segments": 52},
    "model: delays of the script (25, 25, 1 ms)": {
        "topology.links.bottleneck.delay": "25ms",
        "topology.links.servers.delay": "25ms",
        "topology.links.clients.delay": "1ms",
    },
}


def _rule(load: str, rule: str, one: Floats, three: Floats) -> str:
    gain = 100 * (three[:, 0] / one[:, 0] - 1)
    delays, drops, waiting = (f"{one[:, c].mean():.{d}f} → {three[:, c].mean():.{d}f}" for c, d in _SHOWN)
    changes = (
        _interval(gain, 0),
        _interval(three[:, 1] - one[:, 1], 1),
        _interval(three[:, 2] - one[:, 2], 1),
    )
    return table_row([load, rule, delays, changes[0], changes[1], drops, changes[2], waiting])


_SHOWN = ((0, 2), (2, 1), (3, 1))


def _interval(values: Floats, digits: int) -> str:
    """The mean with its 95 % interval by Student's t."""
    mean, n = float(values.mean()), len(values)
    reach = t_quantile(0.975, n - 1) * float(values.std(ddof=1)) / n**0.5
    ends = (mean - reach, mean, mean + reach)
    low, mid, high = (f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−") for value in ends)
    return f"{mid} ({low} … {high})"


def _head(titles: str) -> list[str]:
    names = titles.split("|")
    return [table_row(names), "|" + "---|" * len(names)]


def main() -> None:
    """Write both tables."""
    for name, lines in (("agents", overload_table()), ("rules", rules_table())):
        begin, end = f"<!-- begin: python -m validation.overload, {name} -->", f"<!-- end: {name} -->"
        replace_part(PAGE, begin, end, "\n".join(lines))


if __name__ == "__main__":
    main()
