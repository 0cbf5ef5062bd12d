"""The units, ranges and titles of a study's quantities and axes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cwndlab import metrics
from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import ANY, Range
from cwndlab.base.writing import with_unit

from .schema import AxisValue
from .values import label, text

if TYPE_CHECKING:
    from .outputs import Margin, Scalar
    from .schema import Outline


class QuantityInfo(NamedTuple):
    """The properties of a quantity that results and reports use."""

    unit: str = ""
    title: str = ""
    range: Range = ANY
    """The range of possible values."""
    statistic: str = "mean"
    """The statistic over replicates: `mean` or `median`."""
    controls: Sequence[str] = ()
    """The names of the quantities with expectation 0 that are its control variates."""
    centred: bool = False
    """Whether the quantity's expectation is 0."""
    many: bool = False
    """Whether the quantity is a list of numbers for each run."""
    margin: Margin | None = None
    """The distance from a published value that counts as close; None if the study states none."""


class AxisInfo(NamedTuple):
    """The properties of an axis that results and reports use."""

    title: str = ""
    unit: str = ""
    values: Mapping[str, str] = {}
    """The titles of the axis's values, by their labels."""


@dataclass(frozen=True)
class Labels:
    """The quantities and axes of a study, with their titles."""

    quantities: Mapping[str, QuantityInfo] = field(default_factory=dict)
    axes: Mapping[str, AxisInfo] = field(default_factory=dict)
    """All axes of the study, including those that no cell of a restricted run has."""
    cells: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    """The axis values of each cell that [cells] names."""
    flows: Sequence[str] = ()
    """The names of the traffic entries; each has one colour in a report."""
    source_paired: bool = False
    """Whether the paper's cells shared their random numbers, run by run."""

    @classmethod
    def from_outline(cls, outline: Outline, flows: Sequence[str] = ()) -> Labels:
        """The labels of a study; `flows` are the names of its traffic entries."""
        specs = {quantity.name: quantity for quantity in outline.quantities}
        quantities = {
            name: QuantityInfo(
                metrics.find_unit(spec, specs),
                spec.title or "",
                metrics.find_range(spec, specs),
                spec.statistic,
                spec.adjust_for,
                metrics.is_centred(spec),
                metrics.is_list(spec, specs),
                spec.margin,
            )
            for name, spec in specs.items()
        }
        axes = {
            name: AxisInfo(
                axis.title or "",
                axis.unit or "",
                {
                    label(value.name): value.title
                    for value in axis.values
                    if isinstance(value, AxisValue) and value.title
                },
            )
            for name, axis in outline.axes.items()
        }
        paired = outline.source is not None and outline.source.paired_runs
        return cls(quantities, axes, outline.cells, flows, paired)

    def unit(self, quantity: str) -> str:
        """The unit of a quantity; StudyError if the study has no such quantity."""
        if quantity not in self.quantities:
            raise StudyError(f"no quantity {quantity!r}", right=nearest(quantity, self.quantities))
        return self.quantities[quantity].unit

    def axis_unit(self, axis: str) -> str:
        """The axis's unit; "" if it has none."""
        return self.axes[axis].unit if axis in self.axes else ""

    def title(self, name: str) -> str:
        """The title of an axis, with its unit, or of a quantity."""
        return with_unit(self.plain_title(name), self.axis_unit(name))

    def plain_title(self, name: str) -> str:
        """The title of an axis or a quantity, without the unit."""
        labels = self.axes.get(name) or self.quantities.get(name)
        return (labels and labels.title) or name.replace("_", " ")

    def value_title(self, axis: str, value: Scalar) -> str:
        """The title of a value of an axis, without its unit."""
        return self.axes.get(axis, AxisInfo()).values.get(label(value)) or text(value)

    def setting(self, axis: str, *values: Scalar) -> str:
        """An axis with some of its values: "round trip: 10 ms", "initial window: 1 and 2 packets"."""
        *before, title = (self.value_title(axis, value) for value in values)
        unit = self.axis_unit(axis)
        if before:
            title = f"{', '.join(before)} and {title}"
        elif title == "1":
            unit = re.sub(r"^([a-z]{3,})s$", r"\1", unit)
        return f"{self.plain_title(axis)}: {title} {unit}".rstrip()

    def settings(self, axes: Mapping[str, Scalar]) -> str:
        """Axes with one value each, in words."""
        return ", ".join(self.setting(axis, value) for axis, value in axes.items())
