"""Simulator beside kernel: every number with its interval, lists point by point, and where traces part."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from cwndlab.runs.campaign import Campaign
from cwndlab.runs.store import write_atomic, writing
from cwndlab.runs.tracediff import DEFAULT_TOLERANCE_S, first_difference, of_columns
from cwndlab.stats import intervals
from cwndlab.stats.results import Results

_COLUMNS = ("cell", "quantity", "unit", "simulator", "sim_low", "sim_high", "kernel", "kernel_low",
            "kernel_high", "difference", "published", "published_in")  # fmt: skip


def write(folder: Path, simulated: Campaign, measured: Campaign) -> None:
    """agreement.csv (the numbers) and agreement.md (all of it)."""
    rows, lists, traces = [], [], []
    sim, kernel = simulated.results(), measured.results()
    published = _published(folder)
    for cell in kernel.cells:
        for quantity, unit in kernel.units.items():
            if (cell.id, quantity) not in kernel.data or (cell.id, quantity) not in sim.data:
                continue
            if kernel.is_list(quantity):
                text = _list(sim, kernel, cell.id, quantity)
                if text:
                    lists.append(f"| {cell.id} | {quantity} ({unit}) | {text} |")
                continue
            own, theirs = _interval(sim, cell.id, quantity), _interval(kernel, cell.id, quantity)
            value, place = published.get((cell.id, quantity), ("", ""))
            rows.append((cell.id, quantity, unit, *own, *theirs, theirs[0] - own[0], value, place))
        try:
            a = of_columns(simulated.records(cell.id, "segments"))
            b = of_columns(measured.records(cell.id, "segments"))
        except KeyError:
            continue
        traces.append(f"- {cell.id}: {first_difference(a, b, DEFAULT_TOLERANCE_S)}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([[_number(v) if isinstance(v, float) else v for v in row] for row in rows])
    with writing(folder):
        write_atomic(folder / "agreement.csv", out.getvalue().encode())
        write_atomic(folder / "agreement.md", _markdown(rows, lists, traces).encode())


def _interval(results: Results, cell: str, quantity: str) -> tuple[float, float, float]:
    summed = intervals.median if results.statistic(quantity) == "median" else intervals.mean
    found = summed(results.values(cell, quantity), deterministic=results.is_exact(cell, quantity))
    return found.value, found.low, found.high


def _list(sim: Results, kernel: Results, cell: str, quantity: str) -> str:
    """How far two lists are apart, index by index (first replicates)."""
    a, b = np.asarray(sim.samples(cell, quantity)[0]), np.asarray(kernel.samples(cell, quantity)[0])
    shared = min(len(a), len(b))
    if not shared:
        return ""
    apart = b[:shared] - a[:shared]
    return (
        f"{len(a)} and {len(b)} values; kernel - simulator, first {shared}: mean {np.mean(apart):.4g}, "
        f"from {np.min(apart):.4g} to {np.max(apart):.4g}"
    )


def _published(folder: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """What was published, by cell and quantity, from the verdicts that an earlier report wrote."""
    path = folder / "verdicts.csv"
    if not path.is_file():
        return {}
    with path.open(newline="") as file:
        return {
            (row["cell"], row["quantity"]): (row["published"], row["table"])
            for row in csv.DictReader(file)
            if row.get("published")
        }


def _number(value: Any) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.6g}"


def _text(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:.5g}" + (f" [{low:.4g}, {high:.4g}]" if math.isfinite(low) and low < high else "")


def _markdown(rows: list[Any], lists: list[str], traces: list[str]) -> str:
    parts = ["# Simulator and kernel side by side\n"]
    parts.append("95 % intervals in brackets, where there are several replicates.\n")
    if rows:
        parts.append("| cell | quantity | simulator | kernel | published |\n|---|---|---|---|---|")
        parts += [
            f"| {row[0]} | {row[1]} ({row[2]}) | {_text(*row[3:6])} | {_text(*row[6:9])} | {row[10]} |"
            for row in rows
        ]
    if lists:
        parts.append("\n## Lists, index by index\n\n| cell | quantity | |\n|---|---|---|")
        parts += lists
    if traces:
        parts.append(
            f"\n## Where traces part (times within {DEFAULT_TOLERANCE_S * 1e3:g} ms): simulator | kernel\n"
        )
        parts += traces
    return "\n".join(parts) + "\n"
