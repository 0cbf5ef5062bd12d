"""A metric, looked up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._range import Range


@dataclass(frozen=True, eq=False, repr=False)
class Metric:
    """A metric: what it measures, and how."""

    name: str
    unit: str
    range: Range
    ranges: Mapping[str, Range]
    formula: str
    tables: tuple[str, ...]
    measure: Callable[..., Any]
    many: bool
    """Whether it gives a list of numbers per run."""

    @property
    def title(self) -> str:
        """What it measures: the first paragraph of its docstring."""
        return " ".join(self.formula.split("\n\n", 1)[0].split()).rstrip(".")

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options: the keyword-only parameters of its function."""
        parameters = inspect.signature(self.measure).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
