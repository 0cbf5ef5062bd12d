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
    title: str
    formula: str
    tables: tuple[str, ...]
    measure: Callable[..., Any]

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options: the keyword-only parameters of its function."""
        parameters = inspect.signature(self.measure).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    @property
    def is_list(self) -> bool:
        """Whether it gives a list of numbers per run."""
        returned = str(inspect.signature(self.measure).return_annotation)
        return returned.startswith("list") or returned.endswith("Floats")
