"""Merging of two sets of results into one, for figures that can show both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cwndlab.stats.results import Results, Value
from cwndlab.study.cells import CellInfo
from cwndlab.study.labels import AxisInfo

#: Kinds of figures that can show two runs; figures of packets show only one.
OVERLAID = ("line", "bar", "cdf")
#: The axis that distinguishes the runs; underscores are appended if the study has an axis of this name.
AXIS = "run"


def overlay(a: Results, b: Results, names: tuple[str, str]) -> Results:
    """Both results as those of one study, with an additional axis for the names of the runs."""
    axis = AXIS
    while axis in a.axes or axis in b.axes:
        axis += "_"
    cells: list[CellInfo] = []
    data: dict[tuple[str, str], Sequence[Value]] = {}
    deterministic: set[str] = set()
    seeds: dict[str, str] = {}
    for name, results in zip(names, (a, b), strict=True):
        ids = {cell.id: f"{axis}={name},{cell.id}" for cell in results.cells}
        cells += [CellInfo(ids[cell.id], {**cell.axes, axis: name}) for cell in results.cells]
        seeds |= {ids[id_]: results.seeds.get(id_, "") for id_ in ids}
        deterministic |= {ids[id_] for id_ in ids if id_ in results.deterministic}
        data |= {(ids[id_], q): values for (id_, q), values in results.data.items() if id_ in ids}
    labels = replace(
        a.labels,
        quantities={**b.labels.quantities, **a.labels.quantities},
        axes={**a.labels.axes, axis: AxisInfo()},
    )
    return replace(a, cells=tuple(cells), labels=labels, data=data, deterministic=deterministic, seeds=seeds)
