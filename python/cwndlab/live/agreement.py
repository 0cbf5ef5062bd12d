"""Simulator, kernel and published value side by side: numbers with intervals, and where traces part."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from cwndlab.report.write import Judged, Outputs, judge
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.store import write_atomic, writing
from cwndlab.runs.tracediff import DEFAULT_TOLERANCE_S, first_difference, of_columns
from cwndlab.stats import intervals
from cwndlab.stats.listing import JudgedListing
from cwndlab.stats.results import Estimate, Results
from cwndlab.stats.tables import JudgedTable
from cwndlab.stats.verdict import Judgement


@dataclass(frozen=True)
class Row:
    """One number: of a table of the study, or of none."""

    table: str
    cell: str
    quantity: str
    unit: str
    simulator: float
    sim_low: float
    sim_high: float
    kernel: float
    kernel_low: float
    kernel_high: float
    difference: float
    #: As printed, and the verdicts on both.
    published: str = ""
    sim_verdict: str = ""
    kernel_verdict: str = ""


def write(folder: Path, outputs: Outputs, simulated: Campaign, measured: Campaign) -> None:
    """agreement.csv (the numbers) and agreement.md (all of it)."""
    sim, kernel = simulated.results(), measured.results()
    rows = list(_of_tables(judge(outputs, sim), judge(outputs, kernel)))
    rows += _others(sim, kernel, {(row.cell, row.quantity) for row in rows})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows([[_number(v) if isinstance(v, float) else v for v in astuple(row)] for row in rows])
    text = _markdown(rows, list(_lists(sim, kernel)), list(_traces(simulated, measured)))
    with writing(folder):
        write_atomic(folder / "agreement.csv", out.getvalue().encode())
        write_atomic(folder / "agreement.md", text.encode())


def _of_tables(sim: Judged, kernel: Judged) -> Iterator[Row]:
    """The numbers of the study's tables, in their order; the same table of both has the same cells."""
    found = {table.id: table for _, table in kernel.tables}
    for _, a in sim.tables:
        b = found.get(a.id)
        if isinstance(a, JudgedTable) and isinstance(b, JudgedTable):
            yield from _of_table(a, b)
        elif isinstance(a, JudgedListing) and isinstance(b, JudgedListing):
            yield from _of_listing(a, b)


def _of_table(a: JudgedTable, b: JudgedTable) -> Iterator[Row]:
    for x, y in zip((c for row in a.cells for c in row), (c for row in b.cells for c in row), strict=True):
        if x.estimate is None or y.estimate is None:
            continue
        printed = x.published.text if x.published else ""
        if x.published and float(x.published.text) != x.published.value:
            printed = _number(x.published.value)  # in the quantity's unit
        verdicts = (_verdict(x.judgement), _verdict(y.judgement))
        yield Row(
            a.id, x.cell, x.quantity, x.estimate.unit, *_both(_of(x.estimate), _of(y.estimate)), printed,
            *verdicts,
        )  # fmt: skip


def _of_listing(a: JudgedListing, b: JudgedListing) -> Iterator[Row]:
    for line, xs, ys in zip(a.published, a.lines, b.lines, strict=True):
        for x, y in zip(xs, ys, strict=True):
            times = [one.measured.time_s if one.measured else math.nan for one in (x, y)]
            what = f"time of line {line.number}: {line.event}"
            what += "" if line.acked is None else f" {line.acked}"
            both = _both((times[0], math.nan, math.nan), (times[1], math.nan, math.nan))
            verdicts = (_verdict(x.judgement), _verdict(y.judgement))
            yield Row(a.id, x.cell, what, "s", *both, line.time.text, *verdicts)


def _others(sim: Results, kernel: Results, shown: set[tuple[str, str]]) -> Iterator[Row]:
    """The numbers that no table has and one of both measured."""
    for cell in kernel.cells:
        for quantity, unit in kernel.units.items():
            key = (cell.id, quantity)
            if key in shown or key not in kernel.data or key not in sim.data or kernel.is_list(quantity):
                continue
            both = _both(_interval(sim, *key), _interval(kernel, *key))
            if not any(map(math.isfinite, both)):  # of another workload of the study
                continue
            yield Row("", cell.id, quantity, unit, *both)


def _lists(sim: Results, kernel: Results) -> Iterator[tuple[str, str, str]]:
    """How far lists are apart, index by index (first replicates)."""
    for cell in kernel.cells:
        for quantity, unit in kernel.units.items():
            key = (cell.id, quantity)
            if key not in kernel.data or key not in sim.data or not kernel.is_list(quantity):
                continue
            a, b = np.asarray(sim.samples(*key)[0]), np.asarray(kernel.samples(*key)[0])
            shared = min(len(a), len(b))
            if not shared:
                continue
            apart = b[:shared] - a[:shared]
            yield (
                cell.id,
                f"{quantity} ({unit})",
                f"{len(a)} and {len(b)} values; kernel - simulator, first {shared}: mean "
                f"{np.mean(apart):.4g}, from {np.min(apart):.4g} to {np.max(apart):.4g}",
            )


def _traces(simulated: Campaign, measured: Campaign) -> Iterator[tuple[str, str]]:
    """Each cell's first event in which the traces of the first replicates part."""
    for cell in measured.cells:
        try:
            a = of_columns(simulated.records(cell, "segments"))
            b = of_columns(measured.records(cell, "segments"))
        except KeyError:
            continue
        yield cell, str(first_difference(a, b, DEFAULT_TOLERANCE_S))


def _both(
    a: tuple[float, float, float], b: tuple[float, float, float]
) -> tuple[float, float, float, float, float, float, float]:
    return (*a, *b, b[0] - a[0])


def _of(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.ci_low, estimate.ci_high


def _interval(results: Results, cell: str, quantity: str) -> tuple[float, float, float]:
    summed = intervals.median if results.statistic(quantity) == "median" else intervals.mean
    found = summed(results.values(cell, quantity), deterministic=results.is_exact(cell, quantity))
    return found.value, found.low, found.high


def _verdict(judgement: Judgement | None) -> str:
    return judgement.verdict.value if judgement else ""


def _number(value: float) -> str:
    return "" if not math.isfinite(value) else f"{value:.6g}"


def _text(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:.5g}" + (f" [{low:.4g}, {high:.4g}]" if math.isfinite(low) and low < high else "")


def _markdown(rows: list[Row], lists: list[tuple[str, str, str]], traces: list[tuple[str, str]]) -> str:
    parts = ["# Simulator and kernel side by side\n"]
    parts.append("95 % intervals in brackets, where there are several replicates.")
    for table in dict.fromkeys(row.table for row in rows):
        parts.append(f"\n## {table or 'Numbers of no table'}\n")
        parts.append("| cell | quantity | simulator | kernel | published |\n|---|---|---|---|---|")
        for row in (row for row in rows if row.table == table):
            sim = _text(row.simulator, row.sim_low, row.sim_high)
            kernel = _text(row.kernel, row.kernel_low, row.kernel_high)
            name = f"{row.quantity} ({row.unit})" if row.unit else row.quantity
            told = [
                f"{number} {_mark(v)}" for number, v in ((sim, row.sim_verdict), (kernel, row.kernel_verdict))
            ]
            parts.append(f"| {row.cell} | {name} | {told[0]} | {told[1]} | {row.published} |")
    if lists:
        parts.append("\n## Lists, index by index\n\n| cell | quantity | |\n|---|---|---|")
        parts += [f"| {cell} | {quantity} | {text} |" for cell, quantity, text in lists]
    if traces:
        parts.append(
            f"\n## Where traces part (times within {DEFAULT_TOLERANCE_S * 1e3:g} ms): simulator | kernel\n"
        )
        parts += [f"- {cell}: {text}" for cell, text in traces]
    return "\n".join(parts) + "\n"


def _mark(verdict: str) -> str:
    return f"({verdict})" if verdict else ""
