"""Where the cells with some values of axes are, so that finding one takes no longer among more cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from cwndlab.study.values import label


class HasAxes(Protocol):
    """A cell: its name and the values of its axes."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def axes(self) -> Mapping[str, object]:
        """The values of its axes."""


class CellIndex:
    """Positions of cells by their names and by the labels of their values (`spec.values.label`)."""

    def __init__(self, cells: Sequence[HasAxes]) -> None:
        self._cells = cells

    def with_names(self, names: Iterable[str]) -> list[int]:
        """The cells of these names, those that there are, in order."""
        return sorted({self._by_id[name] for name in names if name in self._by_id})

    def with_value(self, axis: str, written: str) -> Sequence[int]:
        """The cells at which an axis has the value with this label."""
        return self._positions.get((axis, written), ())

    def at_all_axes(self, labels: Iterable[tuple[str, str]]) -> Sequence[int]:
        """The cells with these axes and no others, each at the value with this label."""
        return self._at_all_axes.get(frozenset(labels), ())

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {cell.id: position for position, cell in enumerate(self._cells)}

    @cached_property
    def _positions(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for position, cell in enumerate(self._cells):
            for axis, value in cell.axes.items():
                found.setdefault((axis, label(value)), []).append(position)
        return found

    @cached_property
    def _at_all_axes(self) -> dict[frozenset[tuple[str, str]], list[int]]:
        found: dict[frozenset[tuple[str, str]], list[int]] = {}
        for position, cell in enumerate(self._cells):
            key = frozenset((axis, label(value)) for axis, value in cell.axes.items())
            found.setdefault(key, []).append(position)
        return found
