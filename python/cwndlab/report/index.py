"""A page that leads to the reports of several studies, made from their result folders."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from urllib.parse import quote

from cwndlab.errors import OutputError
from cwndlab.files import save
from cwndlab.stats.verdict import Incompatible, Verdict

from . import render
from .model import CountView
from .view import count

#: Where `cwndlab explore -o DIR/lessons` puts the lessons, and their list: file, title and topic of each.
LESSONS, LIST = "lessons", "lessons.json"
#: What a report contains that contains the simulator (templates/simulator.html.j2).
LIVE = b'id="live-engine"'


def write_index(folder: Path) -> Path:
    """Writes `index.html` into a folder whose sub-folders are results of studies; returns its path."""
    entries = []
    for report in sorted(folder.glob("*/report.html")):
        results = report.parent
        title, source, ran = _provenance(results)
        entries.append(
            render.IndexEntry(
                title,
                source,
                f"{quote(results.name)}/report.html",
                _counts(results / "verdicts.csv"),
                _counts(results / "claims.csv"),
                ran,
                _picture(results),
                LIVE in report.read_bytes(),
            )
        )
    if not entries:
        raise OutputError(f"{folder}: holds no reports; `cwndlab run STUDY -o {folder}/STUDY` makes one")
    page = folder / "index.html"
    save(page, render.index(entries, _lessons(folder / LESSONS)))
    return page


def _lessons(folder: Path) -> list[tuple[str, str, str]]:
    """Address, title and topic of the lessons in a folder, if it has some."""
    try:
        found = json.loads((folder / LIST).read_text(encoding="utf-8"))
        return [(f"{quote(folder.name)}/{quote(file)}", title, topic) for file, title, topic in found]
    except (OSError, ValueError, TypeError):
        return []


def _provenance(results: Path) -> tuple[str, str, str]:
    """The study's title and name, and what was run."""
    try:
        content = json.loads((results / "provenance.json").read_text(encoding="utf-8"))
        title, study = str(content["title"]), str(content["study"])
    except (OSError, ValueError, KeyError, TypeError):
        return results.name, "", ""
    runs, seconds = content.get("replicates_run"), content.get("seconds")
    ran = f"{runs} runs in {seconds:.1f} s" if runs and isinstance(seconds, float) else ""
    return title, study, ran


def _picture(results: Path) -> str:
    """The lightest of a report's figures."""
    found = sorted(results.glob("figures/*.svg"), key=lambda path: (path.stat().st_size, path.name))
    return f"{quote(results.name)}/figures/{quote(found[0].name)}" if found else ""


def _counts(path: Path) -> tuple[CountView, ...]:
    """The number of each verdict in a CSV file of verdicts or claims, in the reports' order."""
    return count([Verdict(word) for word, number in tally(path)[0].items() for _ in range(number)])


def incompatible(path: Path) -> Incompatible | None:
    """How many of the numbers that count in a CSV file of verdicts are incompatible; None without such
    numbers.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("counted") == "yes"]
    except (OSError, csv.Error, UnicodeDecodeError):
        return None
    return Incompatible.of([row.get("compatible") == "yes" for row in rows])


def tally(path: Path) -> tuple[dict[str, int], dict[str, list[str]]]:
    """The number of each verdict in a CSV file of verdicts or claims, and the claims of each verdict.

    Both are empty if there is no such file.
    """
    numbers = {verdict.value: 0 for verdict in Verdict}
    claims: dict[str, list[str]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                word = row.get("verdict", "")
                if word in numbers:
                    numbers[word] += 1
                    claims.setdefault(word, []).append(row.get("claim", ""))
    except (OSError, csv.Error, UnicodeDecodeError):
        return {}, {}
    return {word: number for word, number in numbers.items() if number}, claims
