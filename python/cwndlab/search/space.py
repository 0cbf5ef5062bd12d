"""A space of parameters, `buffer=0.1..16,rtt=5ms..300ms`, as axes of a study."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cwndlab.errors import StudyError, nearest
from cwndlab.plan.check import rebuild
from cwndlab.study import Study

_NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(rf"(?P<low>{_NUMBER})(?P<unit>[A-Za-z%/]*)\.\.(?P<high>{_NUMBER})(?P<last>[A-Za-z%/]*)\Z")
#: A range whose ends differ by this factor is searched on a logarithmic scale.
LOG_FACTOR = 8.0
#: Digits of a value that count: neighbours so close are one cell.
DIGITS = 3
_KEY = "--over"


@dataclass(frozen=True)
class SearchRange:
    """One direction of the space."""

    #: An axis of the study, or a dotted key.
    key: str
    low: float
    high: float
    unit: str
    whole: bool = False

    @property
    def logarithmic(self) -> bool:
        """Whether the range spans so much that equal steps are equal factors."""
        return self.low > 0 and self.high / self.low >= LOG_FACTOR

    def value_at(self, place: float) -> float:
        """The value at a place from 0 (low) to 1 (high), with the digits that count."""
        if self.logarithmic:
            value = self.low * math.exp(place * math.log(self.high / self.low))
        else:
            value = self.low + (self.high - self.low) * place
        if self.whole:
            return float(round(value))
        if value == 0.0:
            return 0.0
        rounded = round(value, DIGITS - 1 - math.floor(math.log10(abs(value))))
        return min(max(rounded, self.low), self.high)

    def to_text(self, value: float) -> float | int | str:
        """The value as a study file has it."""
        number = _number(value)
        return f"{number}{self.unit}" if self.unit else number


def parse(text: str) -> list[SearchRange]:
    """Ranges as `buffer=0.1..16,rtt=5ms..300ms`; StudyError names the one that is none."""
    found = []
    for piece in text.split(","):
        key, _, given = piece.partition("=")
        match = _RANGE.match(given.strip())
        if not key.strip() or match is None:
            raise StudyError(
                f"{piece!r} is no range", key=_KEY, right="write buffer=0.1..16 or rtt=5ms..300ms"
            )
        low, high = float(match["low"]), float(match["high"])
        unit = match["last"] or match["unit"]
        if match["unit"] not in ("", unit):
            raise StudyError(f"{piece!r} has two units", key=_KEY, right="write both ends in the same unit")
        if not low < high:
            raise StudyError(
                f"{piece!r} ends before it begins", key=_KEY, right=f"{key}={given} the other way"
            )
        found.append(SearchRange(key.strip(), low, high, unit))
    keys = [one.key for one in found]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise StudyError(f"{twice[0]} has two ranges", key=_KEY, right="name each once")
    return found


@dataclass(frozen=True)
class Space:
    """A study in which each range has become an axis."""

    study: Study
    #: By the names of their axes.
    ranges: Mapping[str, SearchRange]

    def point(self, places: Sequence[float]) -> dict[str, float]:
        """The values of the axes at places from 0 to 1."""
        ranges = zip(self.ranges.items(), places, strict=True)
        return {axis: range_.value_at(place) for (axis, range_), place in ranges}

    def with_points(self, points: Sequence[Mapping[str, float]]) -> Study:
        """The study with these points, crossed with all values of its other axes, as its cells."""
        others = [name for name in self.study.outline.axes if name not in self.ranges]
        values = {
            f"axes.{axis}.values": list(dict.fromkeys(_number(point[axis]) for point in points))
            for axis in self.ranges
        }
        grids = [
            {"axes": others, "where": {axis: _number(value) for axis, value in point.items()}}
            for point in points
        ]
        shown: dict[str, object] = {"tables": [], "figures": []}
        return rebuild(self.study, self.study.document.change({**values, "grids": grids, **shown}))

    def study_at(self, point: Mapping[str, float]) -> Study:
        """The study at one point, with its tables and figures."""
        values = {f"axes.{axis}.values": [_number(value)] for axis, value in point.items()}
        return rebuild(self.study, self.study.document.change(values))

    def words(self, point: Mapping[str, float]) -> str:
        """A point as the user writes one."""
        return ", ".join(f"{r.key}={r.to_text(point[axis])}" for axis, r in self.ranges.items())


def space(study: Study, ranges: Sequence[SearchRange]) -> Space:
    """The space that ranges of a study's axes and keys span. StudyError for a key that takes no numbers."""
    if study.outline.grids:
        raise StudyError(
            "a study with [[grids]] has no space of its axes",
            file=study.file,
            key="grids",
            right="leave the grids out: every combination of the other axes is searched",
        )
    named: dict[str, SearchRange] = {}
    for index, range_ in enumerate(ranges):
        study, axis, range_ = _axis(study, range_, index)
        named[axis] = range_
    return Space(study, named)


def _axis(study: Study, range_: SearchRange, index: int) -> tuple[Study, str, SearchRange]:
    """The study with an axis for one range, and the axis's name."""
    key = range_.key
    if key in study.outline.axes:
        return study, key, _of_axis(study, range_)
    section = next(iter(study.document.networks), None)
    if section is not None and "." not in key:
        key = f"{section}.{key}"
    elif "." not in key and key not in study.outline.parameters:
        right = nearest(key, [*study.outline.axes, *study.outline.parameters])
        raise StudyError(
            f'"{key}" is neither an axis nor a parameter nor a dotted key', key=_KEY, right=right
        )
    if section is not None and key.split(".")[0] == section:
        made = study.set({key: [range_.to_text(range_.low), range_.to_text(range_.high)]})
        axis = next(
            (name for name in made.outline.axes if name not in study.outline.axes), key.split(".")[-1]
        )
        if axis not in made.outline.axes:
            raise StudyError(f"{key} takes no list of values", key=_KEY, right="an axis, or a dotted key")
        return made, axis, range_
    return _parameter(study, range_, key, f"search_{index}")


def _of_axis(study: Study, range_: SearchRange) -> SearchRange:
    """The range of an axis, in the axis's own unit."""
    axis = study.outline.axes[range_.key]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values):
        right = "a range needs an axis of plain numbers"
        raise StudyError(f"the axis {range_.key} has values of other kinds", key=_KEY, right=right)
    if range_.unit not in ("", axis.unit):
        right = f"leave the unit out: its values are in {axis.unit}" if axis.unit else "leave the unit out"
        raise StudyError(f"the axis {range_.key} has no values in {range_.unit}", key=_KEY, right=right)
    whole = all(isinstance(value, int) for value in axis.values)
    ends = range_.low == int(range_.low) and range_.high == int(range_.high)
    return SearchRange(
        range_.key, range_.low, range_.high, "", whole=whole and ends and not range_.logarithmic
    )


def _parameter(study: Study, range_: SearchRange, key: str, name: str) -> tuple[Study, str, SearchRange]:
    """The study with a parameter that an axis sets, and to which the key refers."""
    if "." not in key:
        target, made = f"parameters.{key}", study
    else:
        parameter = f"{name}_value"
        target = f"parameters.{parameter}"
        made = rebuild(study, study.document.change({target: range_.low}))
        made = made.set({key: f"{{{parameter}}}{range_.unit}" if range_.unit else f"${parameter}"})
    axis = {"title": key, "sets": target, "values": [range_.low, range_.high]}
    return rebuild(made, made.document.change({f"axes.{name}": axis})), name, range_


def _number(value: float) -> float | int:
    """A whole number without its decimal point."""
    return int(value) if value == int(value) else value
