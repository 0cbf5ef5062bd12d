"""The files with verdicts in a result folder: verdicts.csv, claims.csv and summary.json."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cwndlab.base.plain_files import read_inside
from cwndlab.base.writing import csv_text, save_inside
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.stats.verdict import Incompatible, Verdict

from .judge import Judged

CSV_COLUMNS = (
    *("table", "cell", "quantity", "unit", "measured", "ci_low", "ci_high"),
    *("replicates", "published", "verdict", "note", "compatible", "close", "counted"),
)
CLAIM_COLUMNS = ("claim", "section", "verdict", "detail", "text", "assert", "cause")


def write_verdicts(judged: Judged, directory: Path) -> None:
    """Writes verdicts.csv and summary.json, and claims.csv if the study has claims."""
    save_summary(judged, directory)
    save_inside(directory, "verdicts.csv", csv_text(CSV_COLUMNS, verdict_rows(judged)))
    if judged.claims:
        save_inside(directory, "claims.csv", csv_text(CLAIM_COLUMNS, claim_rows(judged)))


def verdict_rows(judged: Judged) -> Iterator[list[str]]:
    """Yields the lines of verdicts.csv: one for each number of the tables and listings."""
    for table in judged.tables:
        for row in table.cells:
            yield from (_csv_line(cell, as_printed=not isinstance(table, JudgedTable)) for cell in row)


def claim_rows(judged: Judged) -> Iterator[list[str]]:
    """Yields the lines of claims.csv, one for each claim."""
    for judged_claim in judged.claims:
        claim, verdict = judged_claim.claim, judged_claim.verdict.value
        words = [claim.id, claim.section, verdict, judged_claim.detail, claim.text]
        yield [*words, claim.assert_ or "", claim.cause or ""]


def _csv_line(cell: JudgedCell, *, as_printed: bool) -> list[str]:
    """The line of one number; `compatible`, `close` and `counted` are yes, no, or "" if unknown."""
    e, published, judgement = cell.estimate, cell.published, cell.judgement
    parts = (None,) * 3 if judgement is None else (judgement.compatible, judgement.close, judgement.counts)
    note = cell.note
    if judgement is not None and judgement.verdict is Verdict.NOT_JUDGED:
        if not math.isnan(judgement.prediction_low):
            low, high = _text(judgement.prediction_low), _text(judgement.prediction_high)
            note += f": 95 % of runs between {low} and {high}"
    return [
        cell.table,
        cell.cell,
        cell.quantity,
        e.unit if e is not None else "",
        *([_text(e.value), _text(e.ci_low), _text(e.ci_high), str(e.replicates)] if e else ["", "", "", "0"]),
        (published.text if as_printed else _text(published.value)) if published else "",
        judgement.verdict.value if judgement else "",
        note,
        *({True: "yes", False: "no", None: ""}[part] for part in parts),
    ]


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"


def count_verdicts(path: Path) -> tuple[dict[Verdict, int], dict[str, list[str]]]:
    """The number of each verdict in a CSV file of verdicts or claims, and the ids of the claims with it.

    Both are empty if the file cannot be read.
    """
    rows = read_rows(path)
    numbers = {verdict: sum(row.get("verdict") == verdict for row in rows) for verdict in Verdict}
    claims: dict[str, list[str]] = {}
    for row in rows:
        claims.setdefault(row.get("verdict", ""), []).append(row.get("claim", ""))
    return {verdict: number for verdict, number in numbers.items() if number}, claims


def save_summary(judged: Judged, directory: Path, finding: str = "", undecided: str = "") -> None:
    """Writes summary.json: the paper's claim, the finding, and the number of incompatible numbers."""
    content: dict[str, object] = {
        "claimed": judged.outputs.claimed,
        "finding": finding,
        "undecided": undecided,
        "incompatible": judged.incompatible._asdict() if judged.incompatible is not None else None,
        "mean_changes": judged.played.mean_changes if judged.played is not None else None,
    }
    save_inside(directory, "summary.json", json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_summary(directory: Path) -> dict[str, Any]:
    """The content of summary.json in a result folder; empty if it cannot be read."""
    try:
        content = json.loads(read_inside(directory, "summary.json"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def read_incompatible(summary: Mapping[str, Any]) -> Incompatible | None:
    """The count of incompatible numbers in a summary; None if the summary has none."""
    try:
        return Incompatible(**summary["incompatible"])
    except (KeyError, TypeError):
        return None


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of verdicts or claims; empty if it cannot be read."""
    try:
        text = read_inside(path.parent, path.name).decode("utf-8")
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, csv.Error, UnicodeDecodeError):
        return []
