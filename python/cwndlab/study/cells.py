"""The cells of a study that were run, and their selection by the values of axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from cwndlab.base.errors import StudyError, nearest

from .labels import Labels
from .outputs import Scalar
from .values import as_list, label, same_value


def is_name(value: Scalar) -> bool:
    """Whether a value is a word, which has no order, and not a number (with or without a unit)."""
    return isinstance(value, str) and not value[:1].isdigit()


class CellInfo(NamedTuple):
    """A cell of the study's grid: one combination of axis values."""

    id: str
    axes: Mapping[str, Scalar]


class NotRunError(StudyError):
    """A requested cell is not among the results."""


def was_not_run(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, is a `NotRunError`."""
    while error is not None and not isinstance(error, NotRunError):
        error = error.__cause__ or error.__context__
    return error is not None


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Cells in order, indexed by the values of their axes, so that selections do not search all cells."""

    cells: tuple[CellInfo, ...]
    labels: Labels = field(default_factory=Labels)

    @cached_property
    def axes(self) -> dict[str, list[Scalar]]:
        """Every axis with its values, in the order of the cells."""
        seen: dict[str, dict[str, Scalar]] = {}
        for cell in self.cells:
            for name, value in cell.axes.items():
                seen.setdefault(name, {}).setdefault(label(value), value)
        return {name: list(values.values()) for name, values in seen.items()}

    def axis_value(self, axis: str, text: str) -> Scalar:
        """The axis's value that equals a text in a published file; the text itself if no cell has it."""
        return next((value for value in self.axes.get(axis, ()) if same_value(value, text)), text)

    def cell_title(self, cell: CellInfo) -> str:
        """A cell in words: its values of the axes that vary; "the only cell" in a study without axes."""
        varied = {axis: at for axis, at in cell.axes.items() if len(self.axes[axis]) > 1}
        return self.labels.settings(varied or cell.axes) or "the only cell"

    def select(self, where: Mapping[str, object]) -> list[CellInfo]:
        """The cells whose axes have the wanted values; a list of values matches any of them.

        StudyError, with a remedy, for an axis or a value that no cell has.
        """
        for axis, wanted in where.items():
            values = self.values_on(axis)
            for value in as_list(wanted):
                if (axis, label(value)) not in self._positions:
                    right = nearest(str(value), [str(v) for v in values])
                    raise NotRunError(f"axis {axis!r} has no value {value!r}", right=right)
        return self.cells_at(where)

    def values_on(self, axis: str) -> Sequence[Scalar]:
        """The values of an axis. NotRunError if no cell with this axis was run; StudyError if the study has
        no such axis.
        """
        if axis not in self.axes:
            error = NotRunError if axis in self.labels.axes else StudyError
            raise error(f"no axis {axis!r}", right=nearest(axis, self.axes))
        return self.axes[axis]

    def cells_at(self, where: Mapping[str, object]) -> list[CellInfo]:
        """The cells that `select` returns, but an empty list if no cell has an axis or a value."""
        labels = {axis: {label(value) for value in as_list(wanted)} for axis, wanted in where.items()}
        if labels.keys() == self.axes.keys() and all(len(chosen) == 1 for chosen in labels.values()):
            key = frozenset((axis, value) for axis, chosen in labels.items() for value in chosen)
            return [self.cells[position] for position in self._at_all_axes.get(key, ())]
        groups = [
            [position for chosen in wanted for position in self._positions.get((axis, chosen), ())]
            for axis, wanted in labels.items()
        ]
        positions = sorted(min(groups, key=len, default=range(len(self.cells))))
        return [
            cell
            for cell in (self.cells[position] for position in positions)
            if all(axis in cell.axes and label(cell.axes[axis]) in chosen for axis, chosen in labels.items())
        ]

    def with_ids(self, names: Iterable[str]) -> list[CellInfo]:
        """The cells with these ids, in the study's order; unknown ids are ignored."""
        return [self.cells[at] for at in sorted({self._by_id[name] for name in names if name in self._by_id})]

    def value_with_label(self, axis: str, written: str) -> Scalar | None:
        """The value of an axis that has this label (`values.label`); None if no cell has it."""
        positions = self._positions.get((axis, written))
        return self.cells[positions[0]].axes[axis] if positions else None

    def find(self, where: Mapping[str, object]) -> CellInfo | None:
        """The single cell at these axis values; None if it was not run.

        If several cells match, the one without other axes; else StudyError, which names the axes to fix.
        """
        cells = self.cells_at(where)
        if len(cells) < 2:
            return cells[0] if cells else None
        exact = [cell for cell in cells if cell.axes.keys() == where.keys()]
        if len(exact) == 1:
            return exact[0]
        more = dict.fromkeys(axis for cell in cells for axis in cell.axes if axis not in where)
        chosen = ", ".join(f"{k}={v}" for k, v in where.items()) or "no axis fixed"
        right = f"fix {' and '.join(more)} too" if more else "fix each axis to one value"
        raise StudyError(f"{len(cells)} cells match ({chosen})", right=right)

    def only_cell(self, where: Mapping[str, object]) -> CellInfo:
        """The single cell of a selection; StudyError if there is none or more than one."""
        cell = self.find(where)
        if cell is None:
            self.select(where)  # raises an error for an unknown axis or value
            chosen = ", ".join(f"{k}={v}" for k, v in where.items())
            raise NotRunError(f"the study has no cell {chosen}")
        return cell

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {cell.id: position for position, cell in enumerate(self.cells)}

    @cached_property
    def _positions(self) -> dict[tuple[str, str], list[int]]:
        positions: dict[tuple[str, str], list[int]] = {}
        for position, cell in enumerate(self.cells):
            for axis, value in cell.axes.items():
                positions.setdefault((axis, label(value)), []).append(position)
        return positions

    @cached_property
    def _at_all_axes(self) -> dict[frozenset[tuple[str, str]], list[int]]:
        positions: dict[frozenset[tuple[str, str]], list[int]] = {}
        for position, cell in enumerate(self.cells):
            key = frozenset((axis, label(value)) for axis, value in cell.axes.items())
            positions.setdefault(key, []).append(position)
        return positions
