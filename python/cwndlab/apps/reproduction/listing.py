"""A paper's packet listing compared with the trace of a run, line by line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import Columns
from cwndlab.report.digits import difference, number
from cwndlab.report.model import ListingEntry, ListingRow, ListingView
from cwndlab.report.wording import Footnotes
from cwndlab.stats.intervals import EXACT, NOT_MEASURABLE, Interval
from cwndlab.stats.results import Estimate, Results
from cwndlab.stats.tables import JudgedCell, Published, read_published
from cwndlab.stats.verdict import Judgement, Verdict, decimals, half_unit, relative_difference
from cwndlab.study.cells import CellInfo
from cwndlab.study.labels import Labels
from cwndlab.study.outputs import Scalar

if TYPE_CHECKING:
    from cwndlab.study.outputs import Listing, Mark

COLUMNS = ("time_s", "event", "acked_packet", "sent_packets")


@dataclass(frozen=True)
class Line:
    """A line of a listing: an event, and the packets sent in response."""

    time_s: float
    event: str
    acked: int | None
    sent: tuple[int, ...]


@dataclass(frozen=True)
class PublishedLine:
    """A published line."""

    number: int
    axes: Mapping[str, Scalar]
    time: Published
    event: str
    acked: int | None
    sent: tuple[int, ...]


class JudgedListing(NamedTuple):
    """The published lines, and the time of each in each variant as a table's number: `cells[i][variant]`.

    The number has no interval. It has no judgement in a variant that is only shown.
    """

    spec: Listing
    published: tuple[PublishedLine, ...]
    cells: tuple[tuple[JudgedCell, ...], ...]

    @property
    def id(self) -> str:
        """The id of the study's listing."""
        return self.spec.id

    def view(self, words: Labels) -> ListingView:
        """The listing, laid out line by line."""
        return _lay_out(self, words)


def lines_of_trace(segments: Columns, answer_s: float = 0.0) -> list[Line]:
    """The first connection at its sender as lines: the start, then each acknowledgment and what it released.

    `segments` is the record table of the sender. Packets belong to the acknowledgment at the same time or, on
    a real stack, to one at most `answer_s` before.
    """
    lines: list[Line] = []
    for time_ns, event, segment, flow in zip(
        segments["time_ns"], segments["event"], segments["segment"], segments["connection"], strict=True
    ):
        if int(flow) != 0:
            continue
        time_s, kind, packet = int(time_ns) / 1e9, str(event), int(segment)
        if kind in ("ack", "dupack"):
            lines.append(Line(time_s, kind, packet, ()))
        elif kind in ("send", "retransmit"):
            if not lines:
                lines.append(Line(time_s, "start", None, ()))
            last = lines[-1]
            if time_s - last.time_s <= answer_s:
                lines[-1] = Line(last.time_s, last.event, last.acked, (*last.sent, packet))
            else:
                lines.append(Line(time_s, "timeout" if kind == "retransmit" else "send", None, (packet,)))
    return lines


def judge_listing(spec: Listing, results: Results, folder: Path, marks: Sequence[Mark]) -> JudgedListing:
    """Finds the measured counterpart of each published line, and judges its time.

    The counterpart is the same occurrence of the same event on the same packet, such as the second duplicate
    ACK of packet 6, so that a missing line does not shift all others.
    """
    what = f"tables.{spec.id}"
    needed = [*(("published", name) for name in COLUMNS), *(("axes", name) for name in spec.axes)]
    rows = read_published(folder, spec.published, what, needed)
    published = _published(spec, results, rows, what)
    own = [m for m in marks if m.table == spec.id]
    grid: list[list[JudgedCell]] = [[] for _ in published]
    for index, variant in enumerate(spec.variants or (None,)):
        where = {**spec.where, **(variant.where if variant else {})}
        traces: dict[str, dict[tuple[str, int | None, int], Line]] = {}
        seen: Counter[tuple[str, str, int | None]] = Counter()
        for row, line in zip(grid, published, strict=True):
            try:
                cell = results.only_cell({**where, **line.axes})
                if cell.id not in traces:
                    traces[cell.id] = _by_occurrence(_segments(results, cell), results.answer_s)
            except StudyError as error:
                raise error.with_place(file=None, line=None, key=what) from None
            key = (cell.id, line.event, line.acked)
            measured = traces[cell.id].get((line.event, line.acked, seen[key]))
            seen[key] += 1
            marked = own if variant is None or variant.judged else None
            found = _judge(spec.id, line, measured, cell, index, marked)
            note = ". ".join(text for text in (found.note, results.remarks.get(cell.id)) if text)
            row.append(found._replace(note=note))
    return JudgedListing(spec, tuple(published), tuple(map(tuple, grid)))


def _segments(results: Results, cell: CellInfo) -> Columns:
    try:
        return results.records.table(cell.id, "segments")
    except KeyError:
        raise StudyError(
            f"cell {cell.id} has no segment records", right='a listing needs [probes] segments_at = "NODE"'
        ) from None


def _by_occurrence(segments: Columns, answer_s: float) -> dict[tuple[str, int | None, int], Line]:
    found: dict[tuple[str, int | None, int], Line] = {}
    counts: Counter[tuple[str, int | None]] = Counter()
    for line in lines_of_trace(segments, answer_s=answer_s):
        key = (line.event, line.acked)
        found[(*key, counts[key])] = line
        counts[key] += 1
    return found


def _published(
    spec: Listing, results: Results, rows: Sequence[Mapping[str, str]], what: str
) -> list[PublishedLine]:
    lines = []
    for place, row in enumerate(rows, start=1):
        axes = {axis: results.axis_value(axis, row[column]) for column, axis in spec.axes.items()}
        try:
            rounding = spec.rounding.half_width if spec.rounding else half_unit(row["time_s"])
            time = Published(float(row["time_s"]), rounding, row["time_s"])
            acked = int(row["acked_packet"]) if row["acked_packet"] else None
            sent = tuple(int(n) for n in row["sent_packets"].split())
        except ValueError as error:
            raise StudyError(str(error), file=spec.published, line=place + 1, key=what) from None
        lines.append(PublishedLine(place, axes, time, row["event"], acked, sent))
    return lines


def _judge(
    listing: str,
    line: PublishedLine,
    measured: Line | None,
    cell: CellInfo,
    variant: int,
    marks: Sequence[Mark] | None,
) -> JudgedCell:
    """The judged time of a line in one variant; without `marks` it has no judgement."""
    at = measured.time_s if measured else math.nan
    what = f"time of line {line.number}: {line.event}" + ("" if line.acked is None else f" {line.acked}")
    interval = Interval(at, at, at, int(measured is not None), EXACT if measured else NOT_MEASURABLE)
    judgement, note, corrected = None, "", None
    if measured is None:
        note = "no such event in our trace"
    elif measured.sent != line.sent:
        ours = " ".join(map(str, measured.sent)) or "nothing"
        note = f"sent in answer: {ours}"
    if marks is not None:
        right = (
            measured is not None
            and measured.sent == line.sent
            and abs(at - line.time.value) <= line.time.rounding + 1e-9
        )
        verdict = Verdict.AGREES if right else Verdict.DIFFERS
        for mark in marks:
            if (mark.lines and line.number in mark.lines) or not (mark.lines or mark.rows):
                verdict, note, corrected = Verdict(mark.verdict), mark.reason, mark.corrected
        judgement = Judgement(verdict, note, relative_difference(at, line.time.value), at, at)
    return JudgedCell(
        listing,
        tuple(line.axes.values()),
        variant,
        cell.id,
        what,
        Estimate.from_interval(cell.id, what, "s", interval),
        line.time,
        judgement,
        decimals(line.time.text),
        note,
        corrected,
    )


# ── in words ────────────────────────────────────────────


def _lay_out(judged: JudgedListing, words: Labels) -> ListingView:
    spec, notes = judged.spec, Footnotes()
    rows = []
    before = ""
    for line, cells in zip(judged.published, judged.cells, strict=True):
        group = words.settings(line.axes)
        entries = tuple(_entry(line, cell, notes) for cell in cells)
        rows.append(ListingRow(group if group != before else "", line.time.text, event_text(line), entries))
        before = group
    remarks = []
    if spec.rounding:
        remarks.append("Rounding of the source: " + spec.rounding.reason)
    headings = tuple(v.heading for v in spec.variants) or ("measured",)
    remarks += _first_differences(headings, judged)
    about, footnotes = spec.about or "", notes.texts
    return ListingView(spec.id, spec.title, about, headings, tuple(rows), footnotes, tuple(remarks))


def _first_differences(headings: Sequence[str], judged: JudgedListing) -> list[str]:
    """The first line of each variant that differs from the paper's; later differences may follow from it."""
    first: dict[int, str] = {}
    for line, cells in zip(judged.published, judged.cells, strict=True):
        for at, cell in enumerate(cells):
            if cell.judgement is None or cell.judgement.verdict is not Verdict.DIFFERS or at in first:
                continue
            ours = cell.note or f"{_time(cell)} s here"
            first[at] = f"{headings[at]}: {event_text(line)} at {line.time.text} s ({ours})"
    return [f"First line that differs, {text}." for _, text in sorted(first.items())]


def event_text(line: PublishedLine) -> str:
    """The event of a line in a few words: `ack 6 → sends 12 13`."""
    text = line.event if line.acked is None else f"{line.event} {line.acked}"
    if line.sent:
        text += f" → sends {' '.join(map(str, line.sent))}"
    return text


def _time(cell: JudgedCell) -> str:
    return number(cell.estimate.value, cell.digits) if cell.estimate is not None else ""


def _entry(line: PublishedLine, cell: JudgedCell, notes: Footnotes) -> ListingEntry:
    mark = cell.judgement.verdict if cell.judgement else None
    note = "".join(f"[{footnote}]" for footnote in notes.numbers(cell.note))
    if cell.estimate is None or math.isnan(cell.estimate.value):
        return ListingEntry("none", "", mark, note)
    return ListingEntry(_time(cell), difference(cell.estimate.value - line.time.value), mark, note)
