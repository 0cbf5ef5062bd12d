"""The page on how well `cwndlab fit` finds known paths: `python tools/fit_table.py --paths 96 --seed 39`.

Draws paths, simulates a transfer over each, writes it as pcapng, and fits that capture. Then compares the fit
with the path, and what the fitted study says of BBR with BBR on the path.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.diagnosis.from_capture import read
from cwndlab.fit.fit_result import CaptureFit, markdown
from cwndlab.fit.fitting import FitRefusedError, StatedParameters, fit_conversation
from cwndlab.fit.flow_packets import of_segments
from cwndlab.fit.replays import Replayed
from cwndlab.runs.single_run import simulate_tables, trace
from cwndlab.study import Study

PAGE = Path(__file__).parents[1] / "docs/guide/fit-accuracy.md"
SECONDS = 20
#: A buffer holds at least so many packets.
FEWEST_PACKETS = 6
#: The law of the question "what if".
WHAT_IF = "bbr3"
LIMITS = ("network", "network", "network", "network", "network", "network", "short", "reader")


@dataclass(frozen=True)
class TruePath:
    """A path whose parameters are known, and the transfer over it."""

    seed: int
    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    loss_percent: float
    cc: str
    #: "none", "datagrams" (Poisson) or "tcp" (CUBIC), and the datagrams' share of the rate.
    cross: str
    share: float
    #: What limits the transfer: "network", "short" (100 segments) or "reader" (it reads at half the rate).
    limit: str

    @classmethod
    def drawn(cls, seed: int) -> TruePath:
        """One path."""
        rng = random.Random(seed)
        rate, rtt = 2 * 50 ** rng.random(), 10 * 20 ** rng.random()
        least = FEWEST_PACKETS * 12 / (rate * rtt)
        buffer = max(0.25 * 16 ** rng.random(), least)
        loss, cc = rng.choice([0, 0.1]), rng.choice(["cubic", "reno", "bbr1"])
        cross = rng.choice(["none", "none", "datagrams", "tcp"])
        share, limit = rng.uniform(0.1, 0.4), rng.choice(LIMITS)
        return cls(seed, rate, rtt, buffer, loss, cc, cross, share, limit)

    @property
    def rate_bps(self) -> float:
        """As the study has it."""
        return round(self.rate_mbps * 1e3) * 1e3

    @property
    def base_s(self) -> float:
        """As the study has it."""
        return round(self.rtt_ms * 1e3) / 1e6

    @property
    def buffer_bytes(self) -> float:
        """Bytes."""
        return self.buffer_bdp * self.rate_bps * self.base_s / 8

    def study(self, cc: str) -> Study:
        """The transfer with this congestion control."""
        flow: dict[str, Any] = {"name": "tested", "cc": cc, "start": "0s"}
        if self.limit == "short":
            flow["bytes"] = "145kB"
        elif self.limit == "reader":
            flow["app"] = {"kind": "bulk", "read_rate": f"{self.rate_mbps * 500:.0f}kbps"}
        flows = [flow]
        if self.cross == "datagrams":
            app = {"kind": "poisson", "rate": f"{self.share * self.rate_mbps * 1e3:.0f}kbps"}
            flows.append({"name": "cross", "start": "0s", "app": app})
        elif self.cross == "tcp":
            flows.append({"name": "cross", "cc": "cubic", "start": {"uniform": ["0s", "5s"]}})
        network = {
            "rate": f"{self.rate_mbps * 1e3:.0f}kbps",
            "rtt": f"{self.rtt_ms * 1e3:.0f}us",
            "buffer": self.buffer_bdp,
            "flows": flows,
        }
        if self.loss_percent:
            network["loss"] = f"{self.loss_percent}%"
        tables = {
            "title": "a known path",
            "dumbbell": network,
            "run": {"duration": f"{SECONDS}s"},
            "probes": {"segments_at": "tested_sender"},
        }
        return Study.from_dict(tables)


@dataclass
class Row:
    """What a fit found of a path."""

    path: TruePath
    #: Losses of the flow at a full queue.
    full_losses: int = 0
    reasons: tuple[str, ...] = ()
    law: str = ""
    #: Whether the fit says that other traffic may be TCP.
    warned: bool = False
    #: Estimate over truth less one for rate and buffer, milliseconds for the round trip.
    errors: dict[str, float] = field(default_factory=dict)
    covered: dict[str, bool] = field(default_factory=dict)
    cpu_s: float = 0.0


def measure(seed: int) -> Row:
    """Fits the capture of one path."""
    path = TruePath.drawn(seed)
    cell = path.study(path.cc).plan().cells[0]
    row = Row(path, _full_losses(simulate_tables(cell.scenario, seed, 0, ())["segments"]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "capture.pcapng"
        file.write_bytes(trace(cell, "pcapng", seed=seed))
        conversation = read(file)[0]
        began = time.process_time()
        stated = StatedParameters()
        for _ in range(3):  # what a fit lacks is stated, to measure the rest
            try:
                fit = fit_conversation(file, conversation, stated, seed=seed, threads=1)
            except FitRefusedError as refused:
                row.reasons = (*row.reasons, *refused.reasons)
                stated = _stated(path, row.reasons)
                if {"too-short", "held-back", "rate"} & set(row.reasons):
                    break
            else:
                row.cpu_s = time.process_time() - began
                row.warned = any("TCP" in warning for warning in fit.fitted.warnings)
                _compare(row, fit)
                if path.limit == "network":
                    _what_if(row, fit)
                break
    return row


def _stated(path: TruePath, reasons: Iterable[str]) -> StatedParameters:
    return StatedParameters(
        cc=path.cc if "cc" in reasons else None,
        rtt_s=path.base_s if "rtt" in reasons else None,
        buffer_bytes=path.buffer_bytes if "buffer" in reasons else None,
    )


def _full_losses(table: Any) -> int:
    """Segments of the flow that a full queue dropped."""
    drops = [
        (cause, connection)
        for cause, connection in zip(
            table.column("cause").to_pylist(), table.column("connection").to_pylist(), strict=True
        )
        if cause == "full"
    ]
    return sum(connection == 0 for _, connection in drops)


def _compare(row: Row, fit: CaptureFit) -> None:
    path = row.path
    truths = {
        "rate": path.rate_bps / 1e6,
        "rtt": path.base_s * 1e3,
        "buffer": path.buffer_bytes / 1e3,
        "loss": path.loss_percent,
    }
    for one in fit.fitted.parameters:
        if one.name == "cc" and not one.stated:
            row.law = str(one.value)
        if one.name not in truths or one.stated or one.low is None or one.high is None:
            continue
        truth, value = truths[one.name], float(one.value or 0.0)
        row.errors[one.name] = value - truth if one.name in ("rtt", "loss") else 100 * (value / truth - 1)
        row.covered[one.name] = one.low <= truth <= one.high
    for number in fit.fitted.compared:
        row.covered[f"replay: {number.name}"] = number.inside


def _what_if(row: Row, fit: CaptureFit) -> None:
    """Whether what the fitted study says of another law covers a run on the path itself."""
    path = row.path
    cell = path.study(WHAT_IF).plan().cells[0]
    true = Replayed.of_packets(
        of_segments(simulate_tables(cell.scenario, path.seed + 1, 0, ())["segments"], 0)
    )
    study = Study.from_dict({**fit.study, "probes": {"segments_at": "flow_sender"}}).set({"cc": WHAT_IF})
    plan = study.plan()
    said = [
        Replayed.of_packets(
            of_segments(simulate_tables(cell.scenario, plan.seed_of(cell), 0, ())["segments"], 0)
        )
        for cell in plan.cells
    ]
    for name in ("throughput_mbps", "round_trip_ms"):
        values = [getattr(one, name) for one in said]
        row.covered[f"what if: {name}"] = min(values) <= getattr(true, name) <= max(values)
        middle = statistics.median(values)
        row.errors[f"what if: {name}"] = 100 * (middle / getattr(true, name) - 1)


# ── the page ──────────────────────────────────────────────────────────────────────────────────────────────

_TOLD = {"rate": "rate", "rtt": "base round trip", "buffer": "buffer", "loss": "random loss"}
_SAID = {"what if: throughput_mbps": "BBR's throughput", "what if: round_trip_ms": "BBR's mean round trip"}
_OUTSIDE = {True: "", False: " (outside)"}
_CROSS = {"none": "none", "datagrams": "datagrams, Poisson, 10 to 40 %", "tcp": "a CUBIC flow"}


def page(rows: Sequence[Row], seed: int) -> str:
    """The page in Markdown."""
    fitted = [row for row in rows if row.errors and row.path.limit == "network"]
    lines = [
        "# How well a fit finds known paths",
        "",
        f"{len(rows)} known paths, drawn by seed {seed}: 2 to 100 Mb/s, 10 to 200 ms, a drop-tail "
        f"buffer of 0.25 to 4 BDP (at least {FEWEST_PACKETS} packets), random loss of 0 or 0.1 %, "
        "CUBIC, Reno or BBR, with and without cross traffic. "
        f"{sum(row.path.limit != 'network' for row in rows)} of the transfers are too short or have a "
        f"slow reader. Captures have at most {SECONDS} s. The estimators were developed on paths of other "
        "seeds, but of the same kind, and captures and replays come from the same simulator.",
        "",
        "Where a capture did not show the buffer, the base round trip or the congestion control, the true "
        "one was stated (`--buffer`, `--rtt`, `--cc`), and the fit repeated.",
        "",
        f"<!-- Made by `python tools/fit_table.py --paths {len(rows)} --seed {seed}`. -->",
        "",
        "## Parameters",
        "",
        *_summary(fitted),
        "",
        "The error is the median of its size.",
        "",
        *_goals(fitted),
        "",
        "## What if",
        "",
        f"The fitted study with `--set cc={WHAT_IF}`, compared with a run of {WHAT_IF} on the path itself: "
        "how often the range of the draws covers it, and the median size of the error of their median.",
        "",
        *_what_if_table(fitted),
        "",
        "## Refusals and congestion controls",
        "",
        *_refusals(rows),
        "",
        "## Every path",
        "",
        *_all(rows),
        "",
        f"One fit took {statistics.median(row.cpu_s for row in fitted):.2g} s of CPU time at the median, "
        f"{max(row.cpu_s for row in fitted):.2g} s at most.",
        "",
    ]
    return "\n".join(lines)


def _cell(rows: Sequence[Row], name: str, unit: str, digits: str = ".2g") -> str:
    errors = [abs(row.errors[name]) for row in rows if name in row.errors]
    covered = [row.covered[name] for row in rows if name in row.covered]
    if not errors:
        return "–"
    return f"{statistics.median(errors):{digits}} {unit}; {sum(covered)} of {len(covered)}"


def _summary(rows: Sequence[Row]) -> list[str]:
    units = {"rate": "%", "rtt": "ms", "buffer": "%", "loss": "points"}
    groups: list[tuple[str, list[Row]]] = [
        (words, [row for row in rows if row.path.cross == cross]) for cross, words in _CROSS.items()
    ]
    lines = [
        [words, str(len(group)), *(_cell(group, name, units[name]) for name in _TOLD)]
        for words, group in [*groups, ("**all**", list(rows))]
    ]
    head = ["cross traffic", "paths", *(f"{words}: error; covered" for words in _TOLD.values())]
    covered = ([row.covered[name] for row in rows if name in row.covered] for name in _TOLD)
    lines.append(["coverage", "", *map(_percent, covered)])
    return markdown(head, lines)


#: The largest median error that is aimed at, and the coverage.
_GOALS = {"rate": (2.0, "%"), "rtt": (1.0, "ms"), "buffer": (10.0, "%")}
_COVERAGE = (93, 97)


def _goals(rows: Sequence[Row]) -> list[str]:
    """Which goals are reached."""
    errors = []
    for name, (goal, unit) in _GOALS.items():
        size = statistics.median(abs(row.errors[name]) for row in rows if name in row.errors)
        errors.append(f"{_TOLD[name]} {goal:g} {unit} ({'reached' if size <= goal else 'not reached'})")
    sure = [row for row in rows if not row.warned]
    covered = []
    for name, words in {**_TOLD, **_SAID}.items():
        group = sure if name in _SAID else rows
        share = round(statistics.mean(100 * row.covered[name] for row in group if name in row.covered))
        low = "not reached" if share < _COVERAGE[0] else "reached"
        covered.append(f"{words} {share} % ({'wider than needed' if share > _COVERAGE[1] else low})")
    return [
        f"Goals for median errors: {', '.join(errors)}.",
        "",
        f"Goal for coverage, {_COVERAGE[0]} to {_COVERAGE[1]} %: {', '.join(covered)}. BBR's numbers are "
        "those of the next table without a warning.",
    ]


def _percent(truths: Sequence[bool]) -> str:
    return f"{100 * sum(truths) / len(truths):.0f} %" if truths else "–"


def _what_if_table(rows: Sequence[Row]) -> list[str]:
    groups = [(words, [row for row in rows if row.path.cross == cross]) for cross, words in _CROSS.items()]
    groups.append(("**all without a warning**", [row for row in rows if not row.warned]))
    lines = []
    for words, group in groups:
        warned = sum(row.warned for row in group)
        count = f"{len(group)} ({warned} with a warning)" if warned else str(len(group))
        lines.append([words, count, *(_cell(group, name, "%") for name in _SAID)])
    return markdown(["cross traffic", "paths", *(f"{w}: error; covered" for w in _SAID.values())], lines)


def _refusals(rows: Sequence[Row]) -> list[str]:
    counts: Counter[str] = Counter()
    network = [row for row in rows if row.path.limit == "network"]
    for row in rows:
        if row.path.limit != "network":
            counts["limited", bool({"too-short", "held-back", "rate"} & set(row.reasons))] += 1
    for row in network:
        held = bool({"too-short", "held-back", "rate"} & set(row.reasons))
        counts["held", held] += 1
        if not held:
            counts["buffer", "buffer" in row.reasons, row.full_losses > 0] += 1
            counts["law", "told" if row.law else "not", row.law == row.path.cc] += 1
    told, wrong = counts["law", "told", True] + counts["law", "told", False], counts["law", "told", False]
    table = [
        ("short, or with a slow reader", counts["limited", True], counts["limited", False]),
        ("limited by the network", counts["held", True], counts["held", False]),
        ("… without a loss at the full queue", counts["buffer", True, False], counts["buffer", False, False]),
        ("… with losses at the full queue", counts["buffer", True, True], counts["buffer", False, True]),
    ]
    return [
        *markdown(["transfers", "no fit", "fit"], [[words, str(no), str(yes)] for words, no, yes in table]),
        "",
        "The last two rows are about the buffer alone, which only losses at the full queue show. A slow "
        "reader limits only where the network would give the flow more than half of the rate.",
        "",
        f"The congestion control was identified in {told} of {told + counts['law', 'not', False]} captures "
        f"that the network limits, wrongly in {wrong}.",
    ]


def _all(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        path = row.path
        found = [
            f"{row.errors[name]:+.2g}{'' if row.covered[name] else ' (outside)'}"
            if name in row.errors
            else "–"
            for name in ("rate", "rtt", "buffer", *_SAID)
        ]
        what = f"{path.cc}, {path.limit}" if path.limit != "network" else path.cc
        lines.append(
            [
                str(path.seed),
                f"{path.rate_mbps:.3g}",
                f"{path.rtt_ms:.3g}",
                f"{path.buffer_bdp:.2g}",
                f"{path.loss_percent:g}",
                what,
                path.cross,
                ", ".join(dict.fromkeys(row.reasons)) or "–",
                row.law or "–",
                *found,
            ]
        )
    head = ["seed", "Mb/s", "ms", "BDP", "loss %", "sender", "cross", "refused", "law found"]
    return markdown([*head, "rate %", "RTT ms", "buffer %", "BBR's throughput %", "BBR's RTT %"], lines)


def main() -> None:
    """Makes the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=96)
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    seeds = [asked.seed * 10_000 + k for k in range(asked.paths)]
    with ProcessPoolExecutor(asked.jobs) as pool:
        rows = list(pool.map(measure, seeds))
    asked.out.write_text(page(rows, asked.seed), encoding="utf-8")


if __name__ == "__main__":
    main()
