"""Which estimates moved between two result folders, and whether significantly."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path
from typing import Literal

from cwndlab.apps.overlay.overlay import OVERLAID, overlay
from cwndlab.apps.packets.trace_difference import (
    Difference,
    Event,
    events_of_columns,
    first_difference,
    first_difference_of_stacks,
)
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.report import render
from cwndlab.report.figures import draw
from cwndlab.results.result_folder import open_folder
from cwndlab.stats.difference import DatasetComparison, compare_datasets


def compare(a: Path, b: Path) -> DatasetComparison:
    """Compares every number of every cell that both folders have.

    With equal seeds, replicate k of both runs saw the same random numbers, so the difference is paired over
    the replicates that both have. Otherwise Welch's difference is used.
    """
    with open_folder(a) as (left, _):
        if a.resolve() == b.resolve():
            return compare_datasets(left.results(), left.results())
        with open_folder(b) as (right, _):
            return compare_datasets(left.results(), right.results())


def compare_page(a: Path, b: Path) -> str:
    """The comparison as an HTML page: the numbers that moved, and the figures of A with both runs in each."""
    found = compare(a, b)
    names = (a.name, b.name) if a.name != b.name else (str(a), str(b))
    with open_folder(a) as (left, _), open_folder(b) as (right, _):
        both = overlay(left.results(), right.results(), names)
        study = left.plan.study
    axis = list(both.labels.axes)[-1]
    drawings = []
    for spec in study.outline.figures:
        if spec.kind in OVERLAID:
            with suppress(StudyError):  # neither run has the figure's cells
                drawings.append(draw(spec.model_copy(update={"series": [*spec.series, axis]}), both))
    return render.page(
        "comparison.html", drawings=drawings, title=study.title, names=names, found=found
    ).decode()


def compare_traces(a: Path, b: Path, tolerance_s: float) -> dict[str, Difference]:
    """The first difference of each cell's traces; with a simulator and a kernel, from the first data on."""
    (left, of_kernel), (right, other) = _events(a), _events(b)
    shared = [(cell, events, right[cell]) for cell, events in left.items() if cell in right]
    if not shared:
        raise OutputError(f"{a} and {b} have no cell in common")
    if of_kernel == other:
        return {cell: first_difference(x, y, tolerance_s) for cell, x, y in shared}
    side: Literal["a", "b"] = "a" if of_kernel else "b"
    return {cell: first_difference_of_stacks(x, y, tolerance_s, side) for cell, x, y in shared}


def _events(path: Path) -> tuple[dict[str, list[Event]], bool]:
    """The events of each cell of a folder, or of a CSV trace (cell ""), and whether a kernel ran them."""
    if path.is_dir():
        with open_folder(path) as (campaign, _):
            try:
                found = {cell: campaign.records(cell, "segments") for cell in campaign.cells}
                return {cell: events_of_columns(one) for cell, one in found.items()}, bool(campaign.backend)
            except KeyError:
                raise OutputError(f"{path}: holds no segments; probes.segments_at names a node") from None
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        return {"": [Event(float(r["time_s"]), r["event"], int(r["segment"])) for r in rows]}, False
    except (OSError, KeyError, ValueError, TypeError, csv.Error) as error:
        raise OutputError(f"{path}: is no trace of `cwndlab trace --format csv`: {error}") from None
