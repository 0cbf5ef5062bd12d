"""The verdicts as tables: verdicts.csv and claims.csv."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cwndlab.files import csv_text
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.stats.verdict import Judgement, Verdict

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.stats.listing import JudgedListing

    from .judge import Judged

CSV_COLUMNS = (
    *("table", "cell", "quantity", "unit", "measured", "ci_low", "ci_high"),
    *("replicates", "published", "verdict", "note", "compatible", "close", "counted"),
)


def verdicts_csv(judged: Judged) -> str:
    """One line per published or measured number of every table."""
    lines = (
        _table_lines(table) if isinstance(table, JudgedTable) else _listing_lines(table)
        for _, table in judged.tables
    )
    return csv_text(CSV_COLUMNS, itertools.chain.from_iterable(lines))


def _table_lines(table: JudgedTable) -> list[list[str]]:
    lines = []
    for cell in (c for row in table.cells for c in row):
        e = cell.estimate
        numbers = ["", "", "", "0"]
        if e is not None:
            numbers = [_text(e.value), _text(e.ci_low), _text(e.ci_high), str(e.replicates)]
        lines.append(
            [
                cell.table,
                cell.cell,
                cell.quantity,
                e.unit if e is not None else "",
                *numbers,
                _text(cell.published.value) if cell.published else "",
                cell.judgement.verdict.value if cell.judgement else "",
                _note(cell),
                *_parts(cell.judgement),
            ]
        )
    return lines


def _parts(judgement: Judgement | None) -> list[str]:
    """`yes`, `no`, or nothing where it is unknown: compatible, close, counted."""
    if judgement is None:
        return ["", "", ""]
    parts = (judgement.compatible, judgement.close, judgement.counts)
    return [{True: "yes", False: "no", None: ""}[part] for part in parts]


def _note(cell: JudgedCell) -> str:
    judgement = cell.judgement
    if (
        judgement is None
        or judgement.verdict is not Verdict.NOT_JUDGED
        or math.isnan(judgement.prediction_low)
    ):
        return cell.note
    low, high = _text(judgement.prediction_low), _text(judgement.prediction_high)
    return f"{cell.note}: 95 % of runs between {low} and {high}"


def _listing_lines(listing: JudgedListing) -> list[list[str]]:
    lines = []
    for line, entries in zip(listing.published, listing.lines, strict=True):
        for entry in entries:
            at = _text(entry.measured.time_s) if entry.measured else ""
            what = f"time of line {line.number}: {line.event}" + (
                f" {line.acked}" if line.acked is not None else ""
            )
            verdict = entry.judgement.verdict.value if entry.judgement else ""
            replicates = "1" if entry.measured else "0"
            lines.append(
                [
                    listing.id,
                    entry.cell,
                    what,
                    "s",
                    at,
                    at,
                    at,
                    replicates,
                    line.time.text,
                    verdict,
                    entry.note,
                    *_parts(entry.judgement),
                ]
            )
    return lines


def claims_csv(claims: Sequence[JudgedClaim]) -> str:
    """One line per claim."""
    rows = [
        [c.claim.id, c.claim.section, c.verdict.value, c.detail, c.claim.text, c.claim.assert_ or ""]
        for c in claims
    ]
    return csv_text(["claim", "section", "verdict", "detail", "text", "assert"], rows)


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"
