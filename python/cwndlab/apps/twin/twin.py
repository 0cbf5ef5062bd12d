"""The comparison of two sets of results in a report: numbers with intervals, differences, and traces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cwndlab.apps.diagnosis.budget_figure import BudgetKey, MeanTimes, changes, objects_of
from cwndlab.apps.reproduction.listing import JudgedListing
from cwndlab.base.writing import csv_text, with_unit
from cwndlab.report.digits import number
from cwndlab.report.judge import Judged
from cwndlab.report.model import TwinGroup, TwinRow, TwinView
from cwndlab.stats.intervals import Interval
from cwndlab.stats.sample import relate
from cwndlab.stats.tables import JudgedTable, number_of_cell
from cwndlab.stats.verdict import Judgement, Verdict, decimals
from cwndlab.study.added_axes import KERNEL_AXIS

if TYPE_CHECKING:
    from cwndlab.apps.packets.trace_difference import Difference, Event
    from cwndlab.stats.results import Results
    from cwndlab.study.schema import Quantity

RULE = (
    "In each replicate, simulator and kernel request the same objects after the same pauses, so differences "
    "are paired. 95 % intervals are in brackets, if there are several runs. A difference is shaded if its "
    "interval excludes 0. Figures show both; all tables and claims further down are the kernel's."
)

_EVENTS = {
    "send": "packet {} sent",
    "retransmit": "packet {} sent again",
    "ack": "ACK up to packet {}",
    "dupack": "duplicate ACK of packet {}",
    "drop": "packet {} dropped",
}


class TwinNumber(NamedTuple):
    """One number, in a table of the study or in no table."""

    table: str
    cell: str
    quantity: str
    unit: str
    simulator: Interval
    kernel: Interval
    difference: Interval
    """Kernel minus simulator over the replicates of both, paired: replicate k draws the same on both."""
    published: str = ""
    """The published number as printed."""
    sim_verdict: str = ""
    kernel_verdict: str = ""
    note: str = ""
    """How the kernel's line differs, apart from its time."""

    @property
    def leaves_out_0(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return self.difference.leaves_out(0.0)


CSV_COLUMNS = (
    *("table", "cell", "quantity", "unit", "simulator", "sim_low", "sim_high"),
    *("kernel", "kernel_low", "kernel_high", "difference", "difference_low", "difference_high"),
    *("published", "sim_verdict", "kernel_verdict", "note"),
)


@dataclass(frozen=True)
class Twin:
    """The simulator's results for the same runs."""

    results: Results
    #: The first difference between the traces of each cell's first replicates.
    first_differences: Mapping[str, Difference] = field(default_factory=dict)
    #: How traces were compared, or why they were not.
    about: str = ""


def pair_numbers(sim: Judged, kernel: Judged) -> list[TwinNumber]:
    """The numbers of the study's tables, in their order, then the numbers that are in no table."""
    rows: list[TwinNumber] = []
    a, b = sim.results, kernel.results
    found = {table.id: table for table in kernel.tables}
    for x in sim.tables:
        y = found.get(x.id)
        if isinstance(x, JudgedTable) and any(
            c.compare and KERNEL_AXIS in c.compare.to for c in x.spec.columns
        ):
            continue  # the table compares kernels, for which the simulator has equal numbers
        if isinstance(x, JudgedTable) and isinstance(y, JudgedTable):
            rows += _pair_table(x, y, a, b)
        elif isinstance(x, JudgedListing) and isinstance(y, JudgedListing):
            rows += _pair_listing(x, y)
    return rows + list(_other_numbers(a, b, {(row.cell, row.quantity) for row in rows}))


def _pair_table(a: JudgedTable, b: JudgedTable, sim: Results, kernel: Results) -> Iterator[TwinNumber]:
    cells = {cell.id: cell for cell in kernel.cells}
    theirs = {(y.row, y.column): y for y in b.numbers}
    for x in a.numbers:
        y = theirs[x.row, x.column]  # the simulator may lack rows, but has no others
        if x.estimate is None or y.estimate is None:
            continue
        printed = x.published.text if x.published else ""
        if x.published and float(x.published.text) != x.published.value:
            printed = _number(x.published.value)  # converted to the quantity's unit
        column = a.column(x)
        simulated, measured = (
            number_of_cell(results, cells[x.cell], column.quantity, column.compare)
            for results in (sim, kernel)
        )
        yield TwinNumber(
            a.id,
            x.cell,
            x.quantity,
            x.estimate.unit,
            x.estimate.interval,
            y.estimate.interval,
            relate("difference", measured, simulated).estimate(),
            printed,
            _verdict(x.judgement),
            _verdict(y.judgement),
        )


def _pair_listing(a: JudgedListing, b: JudgedListing) -> Iterator[TwinNumber]:
    pairs = zip((c for row in a.cells for c in row), (c for row in b.cells for c in row), strict=True)
    for x, y in pairs:
        assert x.estimate is not None and y.estimate is not None and x.published is not None
        s, k = x.estimate.value, y.estimate.value
        sim, kernel, apart = (Interval(at, math.nan, math.nan, 1, "") for at in (s, k, k - s))
        differs = y.judgement is not None and y.judgement.verdict is Verdict.DIFFERS
        note = y.note if differs and y.note != x.note else ""
        verdicts = _verdict(x.judgement), _verdict(y.judgement)
        printed = x.published.text
        yield TwinNumber(a.id, x.cell, x.quantity, "s", sim, kernel, apart, printed, *verdicts, note)


def _other_numbers(sim: Results, kernel: Results, shown: set[tuple[str, str]]) -> Iterator[TwinNumber]:
    """The numbers that are in no table and that at least one side measured."""
    for cell in kernel.cells:
        for quantity, info in kernel.labels.quantities.items():
            key = (cell.id, quantity)
            if key in shown or key not in kernel.data or key not in sim.data or kernel.is_list(quantity):
                continue
            x, y = sim.estimate(*key), kernel.estimate(*key)
            if not any(map(math.isfinite, (*x[:3], *y[:3]))):  # not measured in this cell
                continue
            apart = (kernel.sample(*key) - sim.sample(*key)).estimate()
            yield TwinNumber("", cell.id, quantity, info.unit, x, y, apart)


def compare_lists(sim: Results, kernel: Results) -> Iterator[tuple[str, str, str]]:
    """The differences between lists of numbers by index, in the first replicates: cell, name and text."""
    for cell in kernel.cells:
        for quantity, info in kernel.labels.quantities.items():
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
                with_unit(quantity, info.unit),
                f"{len(a)} and {len(b)} values; kernel − simulator, first {shared}: mean "
                f"{np.mean(apart):.4g}, from {np.min(apart):.4g} to {np.max(apart):.4g}",
            )


def budget_key(row: TwinNumber, quantities: Mapping[str, Quantity]) -> BudgetKey | None:
    """The objects whose time budgets may explain a row with a difference; None for a row without one."""
    if not row.leaves_out_0 and row.kernel_verdict != Verdict.DIFFERS:
        return None
    known = quantities.get(_parts(row.quantity)[1])
    kind, traffic = objects_of(known) if known is not None else ("", "")
    return BudgetKey(row.cell, kind or "connection", traffic)


def view(
    twin: Twin,
    rows: Sequence[TwinNumber],
    judged: Judged,
    budgets: Mapping[BudgetKey, tuple[MeanTimes, MeanTimes]],
) -> TwinView:
    """The comparison in the report of a kernel's results `judged`.

    `budgets` holds the mean times in the simulator and on the kernel, by `budget_key`.
    """
    kernel, quantities = judged.results, judged.outputs.quantities
    titles = {spec.id: spec.title for spec in judged.outputs.tables}
    traces = {cell: _trace_text(found) for cell, found in twin.first_differences.items()}
    keys = {row: budget_key(row, quantities) for row in rows}
    # In the order of the rows; each sentence appears once, however many rows it explains.
    words = {
        key: budget_text(key, *budgets[key]) if key in budgets else ""
        for key in keys.values()
        if key is not None
    }
    cells_in_words = {cell.id: kernel.cell_title(cell) for cell in kernel.cells}
    groups = []
    for table in dict.fromkeys(row.table for row in rows):
        cells = dict.fromkeys(row.cell for row in rows if row.table == table)
        # A cell's remark appears once in each table, although a table has a row for each of its quantities.
        remarks = {cell: f" ({kernel.remarks[cell]})" for cell in cells if kernel.remarks.get(cell)}
        mine = [row for row in rows if row.table == table]
        shown = []
        for row, span in zip(mine, _spans([row.cell for row in mine]), strict=True):
            key = keys[row]
            why = () if key is None else (traces.get(row.cell, ""), words[key])
            said = _row(
                row, kernel, cells_in_words[row.cell] + remarks.pop(row.cell, ""), " ".join(filter(None, why))
            )
            shown.append(said._replace(span=span))
        groups.append(TwinGroup(titles.get(table, table) or "Numbers of no table", tuple(shown), not table))
    tested, apart = count_apart(rows)
    count = f"Of {tested} intervals of differences, {apart} exclude 0." if tested else ""
    agreement = f"Kernel and simulator differ significantly in {apart or 'none'} of {tested} numbers."
    lines = tuple(dict.fromkeys(f"{cells_in_words[key.cell]}. {text}" for key, text in words.items() if text))
    return TwinView(
        tuple(groups),
        tuple((cells_in_words[cell], name, said) for cell, name, said in compare_lists(twin.results, kernel)),
        tuple((cells_in_words[cell], *_trace_row(found)) for cell, found in twin.first_differences.items()),
        twin.about,
        count,
        RULE + _more_runs(rows),
        agreement if tested else "",
        lines,
        last=any(KERNEL_AXIS in cell.axes for cell in kernel.cells),
    )


def _more_runs(rows: Sequence[TwinNumber]) -> str:
    """A sentence, if the simulator has more runs than the kernel, on why differences use fewer runs."""
    simulated = max((row.simulator.n for row in rows), default=0)
    kernel = max((row.kernel.n for row in rows), default=0)
    if simulated <= kernel:
        return ""
    return (
        f" The simulator's numbers are of {simulated} runs; differences compare the {kernel} runs that the "
        "kernel has, too."
    )


def _spans(cells: Sequence[str]) -> list[int]:
    """The number of rows that each row's heading covers; 0 for rows covered by an earlier heading."""
    spans: list[int] = []
    for _, run in groupby(cells):
        length = len(list(run))
        spans += [length] + [0] * (length - 1)
    return spans


def budget_text(key: BudgetKey, *means: MeanTimes) -> str:
    """The mean times of the simulator and the kernel, and the parts that differ, in a sentence."""
    simulator, kernel = map(_as_seen_outside, means)
    of = f" ({key.traffic})" if key.traffic else ""
    times = [f"{1e3 * sum(mean.values()):.0f}" for mean in (simulator, kernel)]
    return (
        f"In the first replicate the mean {key.kind}{of} takes {times[0]} ms in the simulator and "
        f"{times[1]} ms on the kernel: {changes(simulator, kernel)}."
    )


def _as_seen_outside(mean: MeanTimes) -> MeanTimes:
    """Mean times with one part for window and pacer, which a kernel's packets do not distinguish."""
    together = [mean[part] for part in ("cwnd", "pacing") if part in mean]
    rest = {part: spent for part, spent in mean.items() if part not in ("cwnd", "pacing")}
    return {**rest, "congestion-window-or-pacing": sum(together)} if together else rest


def event_text(event: Event) -> str:
    """An event of a trace in words."""
    what = "an ACK of no data" if event.is_bare else _EVENTS[event.event].format(event.segment)
    of = f" (connection {event.connection})" if event.connection else ""
    return f"at {event.time_s:.6f} s {what}{of}"


def _trace_row(found: Difference) -> tuple[str, str, str]:
    """How many events agree, and the first events that differ, as text."""
    agree = ", ".join(filter(None, (str(found.agree), found.times)))
    if found.a is None and found.b is None:
        return f"all {agree}", "", ""
    return agree, found.side("a", event_text), found.side("b", event_text)


def _trace_text(found: Difference) -> str:
    """The first difference between the traces of a cell's first replicates, in a sentence."""
    agree, simulator, kernel = _trace_row(found)
    if not simulator:
        return "The traces of the first replicates agree, so it comes from others."
    times = agree.removeprefix(str(found.agree))
    before = f"{found.agree} events agree before{times}" if found.agree else "none agrees before"
    sides = f"simulator: {simulator}; kernel: {kernel}"
    return f"First event that differs in the first replicate: {sides} ({before})."


def count_apart(rows: Sequence[TwinNumber]) -> tuple[int, int]:
    """The count of numbers with an interval of the difference, and of those whose interval excludes 0."""
    tested = [row for row in rows if math.isfinite(row.difference.low)]
    return len(tested), sum(row.leaves_out_0 for row in tested)


def _parts(name: str) -> tuple[str, str]:
    """The derivation and the quantity of a number: "decrease" and "delay" for "decrease(delay)"."""
    kind, bracket, rest = name.partition("(")
    return (kind, rest.removesuffix(")").partition(",")[0]) if bracket else ("", name)


def _row(row: TwinNumber, results: Results, cell: str, why: str) -> TwinRow:
    kind, quantity = _parts(row.quantity)
    name = results.labels.title(quantity) if quantity in results.labels.quantities else quantity
    if kind:
        name = f"{kind} {'of' if kind in ('ratio', 'quantile') else 'in'} {name}"
    marks = [Verdict(v) if v else None for v in (row.sim_verdict, row.kernel_verdict)]
    digits = (
        decimals(row.published)
        if row.published and math.isnan(row.difference.low) and row.unit == "s"
        else None
    )
    return TwinRow(
        cell,
        with_unit(name, row.unit) + (f"; kernel: {row.note}" if row.note else ""),
        _text(row.simulator, digits),
        marks[0],
        _text(row.kernel, digits),
        marks[1],
        _text(row.difference, digits, sign="+"),
        row.leaves_out_0,
        row.published,
        why,
    )


def to_csv(rows: Sequence[TwinNumber]) -> str:
    """The content of agreement.csv: every number with six significant digits."""
    lines = (
        [*row[:4], *(_number(end) for interval in row[4:7] for end in interval[:3]), *row[7:]] for row in rows
    )
    return csv_text(CSV_COLUMNS, lines)


def _verdict(judgement: Judgement | None) -> str:
    return judgement.verdict.value if judgement else ""


def _number(value: float) -> str:
    return "" if not math.isfinite(value) else f"{value:.6g}"


def _text(interval: Interval, digits: int | None, sign: str = "") -> str:
    """A number and its interval, rounded by the interval's width or, without an interval, to `digits`."""
    value, low, high = interval[:3]
    if not math.isfinite(value):
        return "–"
    width = high - low
    if not (math.isfinite(width) and width > 0):
        shown = number(round(value, 6), digits)
        return _with_sign(shown, value) if sign else shown
    digits = min(6, max(0, 1 - math.floor(math.log10(width))))
    shown = number(value, digits)
    return f"{_with_sign(shown, value) if sign else shown} ({number(low, digits)} … {number(high, digits)})"


def _with_sign(text: str, value: float) -> str:
    return f"+{text}" if value > 0 and text.strip("0.") else text
