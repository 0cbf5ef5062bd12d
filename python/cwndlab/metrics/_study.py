"""A study that knows its metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cwndlab.spec.measures import Shape
from cwndlab.spec.schema import Quantity
from cwndlab.spec.study import StudySpec

from . import get
from ._check import check_quantities
from ._shapes import shapes


class MeasuredStudy(StudySpec):
    """The content of a study file, its quantities checked against their metrics."""

    @classmethod
    def metric_shapes(cls) -> Mapping[str, Shape]:
        """What `measure` has to know of each metric."""
        return shapes()

    def check_quantities(self) -> None:
        """StudyError for quantities that do not fit their metrics."""
        check_quantities(self)

    def tables_of(self, quantity: Quantity) -> Collection[str]:
        """The record tables that a quantity's metric reads: their probes are switched on."""
        return () if quantity.metric is None else get(quantity.metric).tables
