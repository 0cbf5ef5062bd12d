"""What the quantities of a study are: each metric's description and formula, with its options."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from cwndlab import metrics
from cwndlab.spec.values import text

from .formula import plain

if TYPE_CHECKING:
    from cwndlab.spec.schema import Quantity
    from cwndlab.stats.results import CellInfo, Results, Value


class Definition(NamedTuple):
    """A metric, and the quantities that were measured by it."""

    metric: str
    text: tuple[str, ...]
    quantities: tuple[str, ...]


#: By cell and quantity, the part of the run that its metric measured: from and to, in seconds.
Windows: TypeAlias = Mapping[tuple[str, str], tuple[float, float]]


def definitions(quantities: Iterable[Quantity], results: Results, windows: Windows) -> list[Definition]:
    """The metrics behind these quantities, in the study's order, and the window that each measured."""
    by_metric: dict[str, list[Quantity]] = {}
    known = {quantity.name: quantity for quantity in quantities}
    for quantity in known.values():
        if quantity.metric is not None:
            by_metric.setdefault(quantity.metric, []).append(quantity)
    found = [
        Definition(
            name,
            _paragraphs(metrics.get(name).formula),
            tuple(_words(q, known, results, windows) for q in asked),
        )
        for name, asked in by_metric.items()
    ]
    derived = tuple(
        f"{q.title or q.name}: {q.derived}, run by run" for q in known.values() if q.derived is not None
    )
    if derived:
        found.append(Definition("derived", ("Computed from two quantities of the same run.",), derived))
    return found


def _words(quantity: Quantity, known: Mapping[str, Quantity], results: Results, windows: Windows) -> str:
    details = [f"{name} = {value}" for name, value in quantity.options.items()]
    if quantity.within is not None:
        details.append(f"{quantity.within} of each run")
    if window := _window(quantity.name, results, windows):
        details.append(f"measured {window}")
    words = f"{quantity.title or quantity.name.replace('_', ' ')} ({metrics.unit_of(quantity, known)})"
    if details:
        words += f": {', '.join(details)}"
    return f"{words}. {quantity.about}" if quantity.about else words


def _window(quantity: str, results: Results, windows: Windows) -> str:
    """The part of the run that was measured, and in which cells if it differs between them."""
    found = {cell.id: windows.get((cell.id, quantity)) for cell in results.cells}
    if len(set(found.values())) > 1:  # that of cells without a number says nothing
        data = results.data
        found = {c: w for c, w in found.items() if any(_is_number(v) for v in data.get((c, quantity), ()))}
    cells: dict[tuple[float, float] | None, list[CellInfo]] = {}
    for cell in results.cells:
        if cell.id in found:
            cells.setdefault(found[cell.id], []).append(cell)
    words = {window: f"from {window[0]:g} s to {window[1]:g} s" for window in cells if window is not None}
    if len(words) < 2:
        return "".join(words.values())
    for axis in results.axes:
        values = {w: list(dict.fromkeys(text(c.axes.get(axis, "")) for c in cells[w])) for w in words}
        every = [value for those in values.values() for value in those]
        if len(every) == len(set(every)) and "" not in every:
            return ", ".join(f"{words[w]} ({axis} = {', '.join(those)})" for w, those in values.items())
    return ", ".join(f"{words[w]} (cells: {len(cells[w])})" for w in words)


def _is_number(value: Value) -> bool:
    return math.isfinite(value) if isinstance(value, float) else bool(np.isfinite(value).any())


def _paragraphs(doc: str) -> tuple[str, ...]:
    """A metric's docstring as plain paragraphs, its formula in a line of text."""
    return tuple(_plain(" ".join(part.split())) for part in doc.split("\n\n") if part.strip())


def _plain(text: str) -> str:
    return plain(text).replace("`", "").strip()
