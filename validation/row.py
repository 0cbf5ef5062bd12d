"""One line of the validation table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """An expected and a measured value, with the tolerance of their difference."""

    group: str
    """The heading of the table."""
    check: str
    """What is compared, with its parameters."""
    source: str
    """The source of the expected value."""
    unit: str
    expected: float
    measured: float
    tolerance: float
    """Relative to the expected value, unless `absolute`."""
    absolute: bool = False
    """Whether the tolerance is in the quantity's unit."""
    known: str = ""
    """What is known about a difference beyond the tolerance; the row fails if the difference is gone."""

    @property
    def off(self) -> float:
        """Measured minus expected value; relative to the expected value unless `absolute`."""
        difference = self.measured - self.expected
        return difference if self.absolute else difference / self.expected

    @property
    def passed(self) -> bool:
        """Whether the measured value is within the tolerance or, if `known`, outside of it."""
        inside = math.isfinite(self.off) and abs(self.off) <= self.tolerance
        return inside != bool(self.known)

    def to_json(self) -> dict[str, Any]:
        """All fields, with `off` and `passed`."""
        return asdict(self) | {"off": self.off, "passed": self.passed}

    def cells(self) -> list[str]:
        """The line as text: check, source, expected, measured, off, tolerance, verdict."""
        if self.absolute:
            off, tolerance = f"{self.off:+.3g} {self.unit}", f"{self.tolerance:g} {self.unit}"
        else:
            off, tolerance = f"{self.off:+.1%}", f"{self.tolerance:.0%}"
        expected, measured = (f"{value:.6g} {self.unit}" for value in (self.expected, self.measured))
        passed = (self.known or "yes") if self.passed else "NO"
        return [self.check, self.source, expected, measured, off, tolerance, passed]


ERRORS = 3.0
"""Tolerated standard errors of the difference of two means, with pooled variances."""


def means_apart(
    group: str,
    check: str,
    unit: str,
    theirs: np.ndarray[Any, Any],
    mine: np.ndarray[Any, Any],
    *,
    errors: float = ERRORS,
    known: str = "",
) -> Row:
    """A row on the mean of the simulator's replicates and that of a peer's seeds; the tolerance is `errors`
    standard errors.
    """
    n, m = len(theirs), len(mine)
    pooled = ((n - 1) * theirs.var(ddof=1) + (m - 1) * mine.var(ddof=1)) / (n + m - 2)
    return Row(
        group=group,
        check=check,
        source=f"mean of {n} seeds; {errors:g} standard errors",
        unit=unit,
        expected=float(theirs.mean()),
        measured=float(mine.mean()),
        tolerance=errors * math.sqrt(pooled * (1 / n + 1 / m)),
        known=known,
        absolute=True,
    )
