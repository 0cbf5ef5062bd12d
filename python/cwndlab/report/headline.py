"""What the lines of a figure show, as a sentence that says no more than its intervals do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cwndlab.errors import StudyError
from cwndlab.spec.outputs import Figure
from cwndlab.spec.schema import Quantity
from cwndlab.stats.field import INDEX
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results, is_name
from cwndlab.stats.tables import JudgedTable
from cwndlab.writing import join_words

from .digits import estimate_text


@dataclass(frozen=True)
class Axes:
    """How a sentence calls what is along x and y."""

    x: str
    x_unit: str
    y: str
    y_unit: str

    def describe_places(self, places: Sequence[str], again: bool = False) -> str:
        """Places along x in words: "buffer = 0.5 and 1 BDP", and `again` "0.5 and 1 BDP" if that is clear."""
        short = f"{join_words(places)} {self.x_unit}".rstrip()
        return short if again and self.x_unit else f"{self.x}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{short}"


Line = Mapping[str, Interval]
"""The numbers of one line of a figure by their places along x, in order."""


class Headline(NamedTuple):
    """What the runs show, and in a sentence of its own what they leave open; either may be empty."""

    shown: str = ""
    undecided: str = ""


def headline(spec: Figure, results: Results) -> Headline:
    """Of a line or bar figure of one panel; empty for other figures, or if too little is known."""
    if spec.kind not in ("line", "bar") or spec.panels or spec.compare or spec.x in (None, INDEX):
        return Headline()
    assert spec.x is not None
    from cwndlab.stats import series  # only figures need it

    try:
        found = series.points(spec, results)
    except StudyError:  # the figure itself reports it
        return Headline()
    lines: dict[str, dict[str, Interval]] = {}
    for point in found:
        lines.setdefault(point.series, {})[results.value_title(spec.x, point.x)] = point.interval
    y = spec.y_title or results.title(spec.drawn_quantities[0])
    x_unit = results.axis_units.get(spec.x, "")
    axes = Axes(
        _without_unit(results.title(spec.x)),
        x_unit,
        *_counted(_without_unit(y), series.unit_of(spec, results)),
    )
    if not lines:
        return Headline()
    if len(lines) > 1:
        return compared_lines(lines, axes)
    one = named_values if any(is_name(point.x) for point in found) else one_line
    return Headline(one(next(iter(lines.values())), axes))


def of_one_statistic(spec: Figure, known: Mapping[str, Quantity]) -> Figure:
    """The figure with one statistic of the measure that it draws: a mean and a p95 are no rivals."""
    drawn = [known[name] for name in spec.quantities if name in known]
    if len({quantity.within for quantity in drawn}) < 2:
        return spec
    first = drawn[0].within
    kept = [quantity.name for quantity in drawn if quantity.within == first]
    update: dict[str, object] = {"quantities": kept}
    if len(kept) == 1:
        update = {"quantities": [], "quantity": kept[0]}
    if first and spec.y_title:
        update["y_title"] = f"{first} {spec.y_title}"
    return spec.model_copy(update=update)


def headline_of_row(table: JudgedTable) -> Headline:
    """Of a study with one cell, whose table has one row: what its first group of columns compares."""
    columns = [column for column in table.spec.columns if column.group == table.spec.columns[0].group]
    if len(table.cells) != 1 or len(columns) < 2 or not columns[0].group:
        return Headline()
    found = [cell.estimate for cell in table.cells[0][: len(columns)]]
    known = [one for one in found if one is not None]
    if len(known) < len(columns) or len({one.unit for one in known}) > 1:
        return Headline()
    line = {column.heading: one.interval for column, one in zip(columns, known, strict=True)}
    axes = Axes("", "", *_counted(_without_unit(columns[0].group), known[0].unit))
    if shown := named_values(line, axes):
        return Headline(shown)
    if not _known(*line.values()):
        return Headline()
    larger = "larger" if len(line) == 2 else "largest"
    numbers = ", ".join(f"{name} {estimate_text(one)} {axes.y_unit}".rstrip() for name, one in line.items())
    undecided = (
        f"The runs do not tell which has the {larger} {axes.y}: the 95 % intervals overlap ({numbers})."
    )
    return Headline(undecided=undecided)


def _without_unit(title: str) -> str:
    """A title without the unit in parentheses at its end."""
    return re.sub(r" \([^()]*\)$", "", title)


def _counted(title: str, unit: str) -> tuple[str, str]:
    """A title and its unit in a sentence: of timeouts, which are counted, the number is larger."""
    if unit not in title.split():
        return title, unit
    return title if "number of " in title else f"number of {title}", ""


def compared_lines(lines: Mapping[str, Line], axes: Axes) -> Headline:
    """Which of two or more lines is the highest, and where the runs do not tell."""
    places = [place for place in next(iter(lines.values())) if all(place in line for line in lines.values())]
    leads: dict[str, list[str]] = {}
    open_: list[str] = []
    for place in places:
        name = max(lines, key=lambda one: lines[one][place].value)
        others = [line[place] for one, line in lines.items() if one != name]
        if all(_is_below(other, lines[name][place]) for other in others):
            leads.setdefault(name, []).append(place)
        elif _known(lines[name][place], *others):
            open_.append(place)
    two = len(lines) == 2
    larger, against = ("larger", "against") if two else ("largest", "against at most")
    which = "the" if two else "the highest"
    if not leads:
        if not open_:
            return Headline()
        unknown = f"The runs do not tell which has the {larger} {axes.y}"
        at = axes.describe_places(open_)
        return Headline(undecided=f"{unknown}: at {at}, {which} 95 % intervals overlap.")
    parts: list[str] = []
    for name, where in leads.items():
        rest = {place: _highest(lines, name, place) for place in where}
        rival = _range(rest, where) if two else estimate_text(max(rest.values(), key=_value))
        numbers = f"{_range(lines[name], where)} {against} {rival} {axes.y_unit}".rstrip()
        what = "" if parts else f" the {larger} {axes.y}"
        parts.append(f"{axes.describe_places(where, again=bool(parts))}, {name} has{what} ({numbers})")
    unclear = ""
    if open_:
        unclear = (
            f"At {axes.describe_places(open_, again=True)}, {which} 95 % intervals overlap: "
            "the runs do not tell."
        )
    return Headline(f"At {'; at '.join(parts)}.", unclear)


def _highest(lines: Mapping[str, Line], apart_from: str, place: str) -> Interval:
    """The highest number at a place but for one line's."""
    return max((line[place] for name, line in lines.items() if name != apart_from), key=_value)


def _value(number: Interval) -> float:
    return number.value


def one_line(line: Line, axes: Axes) -> str:
    """Whether the line ends higher or lower than it begins."""
    if len(line) < 2:
        return ""
    (start, a), *_, (end, b) = line.items()
    if not (_is_below(a, b) or _is_below(b, a)):
        return ""
    verb = "rises" if _is_below(a, b) else "falls"
    numbers = f"from {estimate_text(a)} to {estimate_text(b)} {axes.y_unit}".rstrip()
    along = f"from {axes.describe_places([start])} to {axes.describe_places([end])}"
    return f"{axes.y[0].upper()}{axes.y[1:]} {verb} {numbers}, {along}."


def named_values(line: Line, axes: Axes) -> str:
    """Which of several names, which have no order, has the highest and which the lowest number."""
    order = sorted(line, key=lambda name: line[name].value)
    if len(order) < 2 or not all(_known(one) for one in line.values()):
        return ""
    low, high = order[0], order[-1]
    if not _is_below(line[low], line[high]):
        return ""
    most, least = (f"{estimate_text(line[name])} {axes.y_unit}".rstrip() for name in (high, low))
    if len(order) == 2:
        return f"{high} has the larger {axes.y} ({estimate_text(line[high])} against {least})."
    if _is_below(line[order[-2]], line[high]) and _is_below(line[low], line[order[1]]):
        return f"{high} has the highest {axes.y} ({most}), {low} the lowest ({least})."
    return f"{axes.y[0].upper()}{axes.y[1:]} is higher with {high} ({most}) than with {low} ({least})."


def _known(*intervals: Interval) -> bool:
    return not any(math.isnan(end) for one in intervals for end in (one.low, one.high))


def _is_below(a: Interval, b: Interval) -> bool:
    """Whether one interval lies below the other."""
    return _known(a, b) and a.high < b.low


def _range(line: Line, places: Iterable[str]) -> str:
    """The line's numbers at these places, from the least to the greatest."""
    chosen = sorted((line[place] for place in places), key=_value)
    ends = dict.fromkeys(estimate_text(one) for one in (chosen[0], chosen[-1]))
    return " to ".join(ends)
