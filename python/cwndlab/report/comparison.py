"""Two runs on one page: which numbers moved, and the figures of the first with both in each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from cwndlab.errors import StudyError
from cwndlab.spec.outputs import Figure
from cwndlab.stats.difference import DatasetComparison
from cwndlab.stats.results import CellInfo, Results, Value

from . import render
from .figures import Drawing, draw

#: The figures that have room for a second run; those of packets show one run each.
OVERLAID = ("line", "bar", "cdf")
#: The axis that distinguishes the runs, unless the study has one of that name.
AXIS = "run"


def overlay(a: Results, b: Results, names: tuple[str, str]) -> Results:
    """The results of both runs as those of one study, with an axis more that names the run."""
    axis = AXIS
    while axis in a.axes or axis in b.axes:
        axis += "_"
    cells: list[CellInfo] = []
    data: dict[tuple[str, str], Sequence[Value]] = {}
    deterministic: set[str] = set()
    for name, results in zip(names, (a, b), strict=True):
        for cell in results.cells:
            made = CellInfo(f"{axis}={name},{cell.id}", {**cell.axes, axis: name})
            cells.append(made)
            deterministic |= {made.id} if cell.id in results.deterministic else set()
            data |= {(made.id, q): values for (id_, q), values in results.data.items() if id_ == cell.id}

    return replace(
        a,
        cells=tuple(cells),
        data=data,
        units={**b.units, **a.units},
        ranges={**b.ranges, **a.ranges},
        deterministic=deterministic,
        study_axes=(*a.study_axes, axis),
    )


def draw_both(figures: Sequence[Figure], both: Results) -> list[Drawing]:
    """The figures that show both runs; one whose cells neither has is left out."""
    axis = list(both.study_axes)[-1]
    found = []
    for spec in figures:
        if spec.kind in OVERLAID:
            with suppress(StudyError):
                found.append(draw(spec.model_copy(update={"series": [*spec.series, axis]}), both))
    return found


def page(title: str, names: tuple[str, str], found: DatasetComparison, drawings: Sequence[Drawing]) -> str:
    """The comparison as one self-contained page."""
    return render.comparison(title, names, found, drawings)
