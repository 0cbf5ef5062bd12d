"""The index page of the reports of studies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple
from urllib.parse import quote

from cwndlab.base.errors import OutputError
from cwndlab.base.plain_files import read_inside
from cwndlab.base.writing import count_text, save
from cwndlab.report import render
from cwndlab.report.model import Counts
from cwndlab.report.verdict_files import count_verdicts, read_rows, read_summary
from cwndlab.stats.verdict import Verdict

#: The folder of lessons (`cwndlab explore -o DIR/lessons`), and its list of file, title, topic, picture and
#: text.
LESSONS, LIST = "lessons", "lessons.json"
#: The text by which a report with an embedded simulator is recognized (templates/simulator.html.j2).
LIVE = b'id="live-engine"'


class IndexEntry(NamedTuple):
    """One study on the index page."""

    title: str
    source: str
    claimed: str
    """The claim of the source."""
    found: str
    """The finding, in the report's words."""
    causes: Mapping[str, Sequence[str]]
    """The failed claims by cause; "" for claims without a cause."""
    href: str
    """Path of the report, relative to the index."""
    counts: Counts
    claim_counts: Counts
    ran: str
    """The number of runs and their duration."""
    picture: str
    """Path of one figure, relative to the index; empty if there is none."""
    live: bool
    """Whether the report contains the simulator."""


def write_index(folder: Path) -> Path:
    """Writes `index.html` into a folder whose sub-folders are results of studies; returns its path."""
    entries = [_entry(report) for report in sorted(folder.glob("*/report.html"))]
    if not entries:
        raise OutputError(f"{folder}: holds no reports; `cwndlab run STUDY -o {folder}/STUDY` makes one")
    live = {entry.live for entry in entries}
    how_many = "some" if len(live) > 1 else "all" if live == {True} else "none"
    page = folder / "index.html"
    lessons = _lessons(folder / LESSONS)
    save(page, render.page("index.html", entries=entries, live=how_many, lessons=lessons))
    return page


def _entry(report: Path) -> IndexEntry:
    results = report.parent
    title, source, ran = _provenance(results)
    summary = read_summary(results)
    found = (str(summary.get(key) or "") for key in ("finding", "undecided"))
    return IndexEntry(
        title,
        source,
        str(summary.get("claimed") or ""),
        " ".join(filter(None, found)),
        _causes_of_failures(results / "claims.csv"),
        f"{quote(results.name)}/report.html",
        count_verdicts(results / "verdicts.csv")[0],
        count_verdicts(results / "claims.csv")[0],
        ran,
        _picture(results),
        LIVE in read_inside(results, "report.html"),
    )


def _lessons(folder: Path) -> list[tuple[str, str, str, str, str]]:
    """The address, title, topic, picture and its text, for each lesson of a folder; empty if it has none."""
    try:
        found = json.loads(read_inside(folder, LIST))
        return [
            (f"{quote(folder.name)}/{quote(file)}", title, topic, picture, shows)
            for file, title, topic, picture, shows in found
        ]
    except (OSError, ValueError, TypeError):
        return []


def _provenance(results: Path) -> tuple[str, str, str]:
    """The study's title and name, and a text on how much was run."""
    try:
        content = json.loads(read_inside(results, "provenance.json"))
        title, study = str(content["title"]), str(content["study"])
    except (OSError, ValueError, KeyError, TypeError):
        return results.name, "", ""
    runs, seconds = content.get("replicates_run"), content.get("seconds")
    ran = f"{count_text(runs, 'run')} in {seconds:.1f} s" if runs and isinstance(seconds, float) else ""
    return title, study, ran


def _picture(results: Path) -> str:
    """The path of the smallest figure of a report; empty if there is none."""
    found = ((path.lstat(), path.name) for path in results.glob("figures/*.svg"))
    plain = sorted((about.st_size, name) for about, name in found if S_ISREG(about.st_mode))
    linked = (results / "figures").is_symlink()
    return f"{quote(results.name)}/figures/{quote(plain[0][1])}" if plain and not linked else ""


def _causes_of_failures(path: Path) -> dict[str, list[str]]:
    """The failed sentences in a CSV file of claims, by their cause ("" for those without)."""
    found: dict[str, list[str]] = {}
    for row in read_rows(path):
        if row.get("verdict") == Verdict.FAILS:
            found.setdefault(row.get("cause") or "", []).append(row.get("text", ""))
    return found
