"""The numbers that a figure shows: points with intervals, distributions, ellipses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import Floats, median
from cwndlab.study.cells import CellInfo, is_name
from cwndlab.study.outputs import PANEL_QUANTITY, Scalar
from cwndlab.study.values import as_list, same_value

from . import intervals
from .field import INDEX
from .results import Results
from .sample import Number, relate
from .tables import derived_unit, measure, reference

if TYPE_CHECKING:
    from cwndlab.study.outputs import Figure

    from .intervals import Interval

CONTOUR_POINTS = 73
"""The number of points of a contour: one every five degrees, the first and last equal."""

CDF_POINTS = 400
"""The largest number of points of a CDF: more than a figure has pixels."""


class Point(NamedTuple):
    """One point of a line or one bar."""

    panel: Scalar | None
    series: str
    x: Scalar
    interval: Interval


class Curve(NamedTuple):
    """One empirical distribution: `share[k]` of the samples are at most `value[k]`."""

    panel: Scalar | None
    series: str
    value: Floats
    share: Floats


class Ellipse(NamedTuple):
    """The scatter of a cell's runs in two quantities: their median and a contour."""

    panel: Scalar | None
    series: str
    #: The median of the runs in each quantity.
    centre: tuple[float, float]
    #: The 1-sigma contour, closed; empty with fewer than three runs, or if all are equal.
    x: Floats
    y: Floats


def restrict_to_run_cells(spec: Figure, results: Results) -> tuple[Figure, str]:
    """The figure restricted to the cells that were run, and in words the axis values that replace its own.

    The text is "" if no value is replaced. Values are replaced if the run was restricted to other cells.
    """
    where, instead = dict(spec.where), []
    for axis, wanted in spec.where.items():
        run = results.axes.get(axis, [])
        left = [value for value in as_list(wanted) if any(same_value(value, present) for present in run)]
        if run and not left:
            if spec.compare is not None and same_value(spec.compare.to.get(axis), run[0]):
                raise StudyError(
                    f"it compares with {results.labels.setting(axis, run[0])}, and no other was run",
                    key=f"figures.{spec.id}",
                )
            where[axis] = run[0]
            instead.append(results.labels.setting(axis, run[0]))
        elif run:
            where[axis] = left if isinstance(wanted, list) else left[0]
    return spec.model_copy(update={"where": where}), ", ".join(instead)


def figure_cells(spec: Figure, results: Results) -> Iterator[tuple[Scalar | None, str, CellInfo]]:
    """The cells of a figure, each with its panel and the name of its series."""
    try:
        cells = results.select(spec.where)
        for axis in (*spec.series, *((spec.panel_axis,) if spec.panel_axis else ())):
            results.values_on(axis)
        for quantity in spec.drawn_quantities:
            results.labels.unit(quantity)
    except StudyError as error:
        raise error.with_place(file=None, line=None, key=f"figures.{spec.id}") from None
    for cell in cells:
        panel = cell.axes.get(spec.panel_axis) if spec.panel_axis else None
        name = ", ".join(_legend_text(results, a, cell.axes[a]) for a in spec.series if a in cell.axes)
        yield panel, name, cell


def panel_title(spec: Figure, results: Results, panel: Scalar | None) -> str:
    """The title of a panel: the value of its axis, or its quantity; empty without panels."""
    if panel is None or spec.panels is None:
        return ""
    return results.labels.setting(spec.panel_axis, panel) if spec.panel_axis else str(panel)


def _legend_text(results: Results, axis: str, value: Scalar) -> str:
    """A value in a legend: a word as it is, a number with the name of its axis."""
    return results.labels.value_title(axis, value) if is_name(value) else results.labels.setting(axis, value)


def points(spec: Figure, results: Results) -> list[Point]:
    """The points of a line or bar figure; StudyError if two cells fall on the same point."""
    if spec.quantities:
        apart = spec.panels == PANEL_QUANTITY
        return [
            point._replace(panel=label)
            if apart
            else point._replace(series=", ".join(filter(None, (label, point.series))))
            for quantity, label in zip(spec.quantities, labels(spec.quantities, results), strict=True)
            for point in points(spec.model_copy(update={"quantity": quantity, "quantities": []}), results)
        ]
    assert spec.quantity is not None and spec.x is not None  # the schema requires both
    if results.is_list(spec.quantity) != (spec.x == INDEX):
        wrong = "a list" if spec.x != INDEX else "one number per run, no list"
        raise StudyError(
            f"{spec.quantity!r} is {wrong}",
            key=f"figures.{spec.id}.quantity",
            right='x = "index" draws a list; a quantity with `within` is one number',
        )
    drawn: list[Point] = []
    taken: dict[tuple[Scalar | None, str, Scalar], str] = {}
    for panel, series, cell in figure_cells(spec, results):
        if spec.x == INDEX:
            drawn += _list_points(spec, results, panel, series, cell)
            continue
        if spec.x in results.axes and spec.x not in cell.axes:
            continue  # a cell of a grid without this axis
        if spec.x not in cell.axes:
            raise StudyError(
                f"no axis {spec.x!r}",
                key=f"figures.{spec.id}.x",
                right=nearest(spec.x, [*results.axes, INDEX]),
            )
        place = (panel, series, cell.axes[spec.x])
        if place in taken:
            raise StudyError(
                f"cells {taken[place]} and {cell.id} fall on the same point",
                key=f"figures.{spec.id}",
                right="name the axes that tell them apart in `series`, `panels` or `where`",
            )
        taken[place] = cell.id
        interval = measure(results, cell, spec.quantity, spec.compare)
        if not np.isnan(interval.value):
            drawn.append(Point(*place, interval))
    return drawn


def labels(quantities: Sequence[str], results: Results) -> list[str]:
    """The titles of quantities in one figure, without the part up to the first comma if all share it."""
    titles = [results.labels.title(name) for name in quantities]
    first = titles[0].split(", ")[0] + ", "
    return [
        title.removeprefix(first) if all(t.startswith(first) for t in titles) else title for title in titles
    ]


def _list_points(
    spec: Figure, results: Results, panel: Scalar | None, series: str, cell: CellInfo
) -> list[Point]:
    assert spec.quantity is not None
    numbers: Iterable[Number] = results.positions(cell.id, spec.quantity).values()
    if spec.compare is not None:
        others = results.positions(reference(results, cell, spec.compare).id, spec.quantity).values()
        numbers = [relate(spec.compare.kind, *pair) for pair in zip(numbers, others, strict=False)]
    drawn = [Point(panel, series, i, number.estimate()) for i, number in enumerate(numbers, start=1)]
    return [point for point in drawn if not np.isnan(point.interval.value)]


def curves(spec: Figure, results: Results) -> list[Curve]:
    """The distributions of a CDF figure; the samples of all replicates are pooled."""
    assert spec.quantity is not None
    drawn = []
    for panel, series, cell in figure_cells(spec, results):
        samples = results.samples(cell.id, spec.quantity)
        pooled = np.concatenate(samples) if samples else np.empty(0)
        pooled = np.sort(pooled[np.isfinite(pooled)])
        if len(pooled) == 0:
            continue
        share = np.arange(1, len(pooled) + 1) / len(pooled)
        if len(pooled) > CDF_POINTS:
            at = np.unique(np.linspace(0, len(pooled) - 1, CDF_POINTS).round().astype(np.int64))
            pooled, share = pooled[at], share[at]
        drawn.append(Curve(panel, series, pooled, share))
    return drawn


def ellipses(spec: Figure, results: Results) -> list[Ellipse]:
    """The ellipses of a figure, one for each cell.

    The contour is that of the two-dimensional Gaussian distribution fitted to the runs by maximum likelihood,
    at one standard deviation (RFC 7928, section 2.7).
    """
    assert spec.quantity is not None and spec.x is not None  # the schema requires both
    for name in spec.drawn_quantities:
        if results.is_list(name):
            right = "reduce it to one number per run with `within`"
            raise StudyError(f"{name!r} is a list", key=f"figures.{spec.id}", right=right)
    drawn = []
    for panel, series, cell in figure_cells(spec, results):
        points = np.array([results.values(cell.id, name) for name in (spec.x, spec.quantity)])
        points = points[:, np.isfinite(points).all(axis=0)]
        if points.shape[1] == 0:
            continue
        middle = median(points.T)
        contour = np.empty((2, 0))
        if points.shape[1] >= intervals.FEWEST:
            # The maximum-likelihood estimate divides by n.
            sizes, axes = np.linalg.eigh(np.cov(points, bias=True))
            if sizes[-1] > 0:
                angle = np.linspace(0, 2 * np.pi, CONTOUR_POINTS)
                circle = np.array([np.cos(angle), np.sin(angle)])
                radii = np.sqrt(np.clip(sizes, 0, None))
                contour = points.mean(axis=1)[:, None] + axes @ (radii[:, None] * circle)
        drawn.append(Ellipse(panel, series, (float(middle[0]), float(middle[1])), contour[0], contour[1]))
    return drawn


def axis_unit(spec: Figure, results: Results) -> str:
    """The unit of the axis with the quantity: y for lines and bars, x for CDFs."""
    return (
        derived_unit(spec.compare, results.labels.unit(spec.drawn_quantities[0]))
        if spec.drawn_quantities
        else ""
    )
