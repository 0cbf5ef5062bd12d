"""Sentences that state what the lines of a figure show, limited to what the runs support.

A figure answers three questions: which flow has more, what another value of a series' axis changes, and what
changes along x. Flows are compared within a cell, settings for the same flow. The largest relative difference
is stated first; in a study of several kernels, the difference between kernels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import join_words
from cwndlab.report.digits import estimate_text
from cwndlab.stats.field import INDEX
from cwndlab.stats.results import Results
from cwndlab.stats.tables import JudgedTable
from cwndlab.stats.verdict import Verdict
from cwndlab.study.added_axes import KERNEL_AXIS
from cwndlab.study.cells import is_name
from cwndlab.study.outputs import Figure, Scalar
from cwndlab.study.schema import Quantity

from .contrast import Line, LineValue, common_places, extremes, is_below, relative, top_group

if TYPE_CHECKING:
    from cwndlab.report.judge import Judged
    from cwndlab.stats.claims import JudgedClaim

MOST_NAMES = 4
"""A sentence names at most this many flows with the same rank."""
MOST_SENTENCES = 2
"""A finding has at most this many sentences about one figure."""


class Axes(NamedTuple):
    """The names and units of the axes in a sentence."""

    x: str
    x_unit: str
    y: str
    y_unit: str

    def describe_places(self, places: Sequence[str], again: bool = False) -> str:
        """Values along x as text: "buffer = 0.5 and 1 BDP", or if `again` and clear "0.5 and 1 BDP"."""
        short = f"{join_words(places)} {self.x_unit}".rstrip()
        return short if again and self.x_unit else f"{self.x}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{short}"

    def describe_range(self, numbers: Sequence[LineValue]) -> str:
        """The range of ascending numbers as text, without the unit."""
        ends = dict.fromkeys(estimate_text(one.interval) for one in (numbers[0], numbers[-1]))
        return " to ".join(ends)


class Headline(NamedTuple):
    """A sentence on what the runs show, and one on what they leave undecided; either may be empty."""

    shown: str = ""
    undecided: str = ""
    by_kernel: float = 0.0
    """The ratio of the largest number of one kernel to that of another; 0 if undecided."""


class Contrast(NamedTuple):
    """The answer to one question, and the ratio of its largest number to the smallest compared with it."""

    relative: float
    shown: str
    undecided: str = ""
    sentences: int = 1
    """The number of sentences in `shown`."""


NOTHING = Contrast(0.0, "")


class DrawnLines(NamedTuple):
    """The lines of a figure, by flow and by setting of the series' axes: the numbers along x."""

    lines: Mapping[tuple[str, tuple[Scalar, ...]], Line]
    axes: Axes
    named: bool
    """Whether the values along x are names, which have no order."""

    @property
    def flows(self) -> list[str]:
        """The flows; one empty name if the figure draws one quantity."""
        return list(dict.fromkeys(flow for flow, _ in self.lines))

    @property
    def settings(self) -> list[tuple[Scalar, ...]]:
        """The values of the series' axes."""
        return list(dict.fromkeys(setting for _, setting in self.lines))

    def lines_at(self, setting: tuple[Scalar, ...]) -> dict[str, Line]:
        """The lines of all flows in one setting."""
        return {flow: line for (flow, at), line in self.lines.items() if at == setting}


def state_finding(judged: Judged, figures: Sequence[Figure]) -> tuple[str, str]:
    """The result of the claims, or else of the first figure or table that shows something, in a sentence; and
    a sentence on what the runs leave undecided. Either may be empty.
    """
    claims = count_claims(judged.claims)
    outputs = judged.outputs
    if figures:
        compared = [keep_one_statistic(figure, outputs.quantities) for figure in figures]
        shown = first_headline(compared, judged.results)
    else:
        shown = headline_of_row(judged.grids[0]) if judged.grids else Headline()
    if claims and (outputs.source or not any(shown)):
        return claims, ""
    return shown.shown, shown.undecided


def count_claims(claims: Sequence[JudgedClaim]) -> str:
    """The verdicts of the claims, and causes of failures, in a sentence; empty if none could be checked."""
    checked = [c for c in claims if c.verdict in (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)]
    if not checked:
        return ""
    failed = [c.claim for c in checked if c.verdict is Verdict.FAILS]
    held = sum(c.verdict is Verdict.HOLDS for c in checked)
    if len(checked) == 1:
        verdict = checked[0].verdict
        return f"The one claim that could be checked {'is ' * (verdict is Verdict.UNDECIDED)}{verdict}."
    if held == len(checked):
        return f"All {held} claims that could be checked hold."
    if len(failed) == len(checked):
        text = f"None of the {len(checked)} claims that could be checked holds"
    else:
        text = f"{held} of the {len(checked)} claims that could be checked hold{'s' * (held == 1)}"
    causes = list(dict.fromkeys(claim.cause for claim in failed if claim.cause))
    if causes:
        why = "; ".join(causes)
        return f"{text}; {len(failed)} fail{'s' * (len(failed) == 1)}: {why}."
    if not failed or len(failed) == len(checked):
        return f"{text}."
    return f"{text}; {', '.join(claim.id for claim in failed)} fail{'s' * (len(failed) == 1)}."


def first_headline(figures: Sequence[Figure], results: Results) -> Headline:
    """The headline of the first figure that shows something, with the first undecided question of any figure.

    In a study of several kernels, the figure in which the kernels differ most comes first.
    """
    undecided = ""
    headlines: Iterable[Headline] = (headline(spec, results) for spec in figures)
    if any(KERNEL_AXIS in spec.series for spec in figures):
        headlines = sorted(headlines, key=lambda headline: -headline.by_kernel)
    for found in headlines:
        undecided = undecided or found.undecided
        if found.shown:
            return Headline(found.shown, undecided)
    return Headline("", undecided)


def headline(spec: Figure, results: Results) -> Headline:
    """The headline of a line or bar figure with one panel; empty for others, or if too little is known."""
    if spec.kind not in ("line", "bar") or spec.panel_axis or spec.compare or spec.x in (None, INDEX):
        return Headline()
    try:
        drawn = _drawn(spec, results)
    except StudyError:  # the figure itself reports it
        return Headline()
    if not drawn.lines:
        return Headline()
    changes = dict(zip(spec.series, _compare_settings(spec, results, drawn), strict=True))
    asked = [one] if (one := changes.pop(KERNEL_AXIS, None)) else []
    found = [*asked, _compare_flows(spec, results, drawn), *changes.values(), _along(spec, results, drawn)]
    order = sorted(found, key=lambda one: (one not in asked, -one.relative))
    shown: list[Contrast] = []
    for one in order:
        if one.shown and sum(before.sentences for before in shown) < MOST_SENTENCES:
            shown.append(one)
    undecided = found[0].undecided or (found[1].undecided if len(found) > 2 else "")
    if shown and not asked and found[0].undecided and not found[0].shown:
        undecided = ""  # another question has an answer
    by_kernel = max((candidate.relative for candidate in asked if candidate.shown), default=0.0)
    return Headline(" ".join(one.shown for one in shown), undecided, by_kernel)


def _drawn(spec: Figure, results: Results) -> DrawnLines:
    """The numbers of a figure as lines; StudyError, like `series.points`, if two cells share a place."""
    from cwndlab.stats import series  # only figures need it

    assert spec.x is not None
    series.points(spec, results)  # its checks of the figure
    lines: dict[tuple[str, tuple[Scalar, ...]], dict[str, LineValue]] = {}
    named = False
    quantities = spec.drawn_quantities
    labels = series.labels(quantities, results) if len(quantities) > 1 else [""]
    for quantity, flow in zip(quantities, labels, strict=True):
        one = spec.model_copy(update={"quantity": quantity, "quantities": []})
        for _, _, cell in series.figure_cells(one, results):
            sample = results.sample(cell.id, quantity)
            interval = sample.estimate()
            if spec.x not in cell.axes or math.isnan(interval.value):
                continue
            setting = tuple(cell.axes[axis] for axis in spec.series if axis in cell.axes)
            at = cell.axes[spec.x]
            named = named or is_name(at)
            number = LineValue(interval, sample)
            lines.setdefault((flow, setting), {})[results.labels.value_title(spec.x, at)] = number
    y = spec.y_title or results.labels.title(quantities[0])
    counted = _counted(_without_unit(y), series.axis_unit(spec, results))
    axes = Axes(_without_unit(results.labels.title(spec.x)), results.labels.axis_unit(spec.x), *counted)
    return DrawnLines(lines, axes, named)


def _compare_flows(spec: Figure, results: Results, drawn: DrawnLines) -> Contrast:
    """A comparison of flows: which has the largest number, in each setting separately."""
    if len(drawn.flows) < 2:
        return NOTHING
    found = [(setting, compare_lines(drawn.lines_at(setting), drawn.axes)) for setting in drawn.settings]
    if len(found) == 1:
        return found[0][1]
    told = sorted(((at, one) for at, one in found if one.shown), key=lambda pair: -pair[1].relative)
    if not told:
        return found[0][1]
    texts = []
    for setting, one in told[:MOST_SENTENCES]:
        where = _settings_text(results, spec.series, setting)
        texts.append(f"With {where}: {one.shown[0].lower()}{one.shown[1:]}")
    return Contrast(told[0][1].relative, " ".join(texts), sentences=len(texts))


def _compare_settings(spec: Figure, results: Results, drawn: DrawnLines) -> list[Contrast]:
    """The effect of each axis of the series, for the flow and the other axes where the effect is largest."""
    found = []
    for k, axis in enumerate(spec.series):
        groups: dict[tuple[str, tuple[Scalar, ...]], dict[Scalar, Line]] = {}
        for (flow, setting), line in drawn.lines.items():
            if len(setting) > k:
                others = (*setting[:k], *setting[k + 1 :])
                groups.setdefault((flow, others), {})[setting[k]] = line
        best = NOTHING
        for (flow, others), lines in groups.items():
            names = {_series_name(results, axis, value): line for value, line in lines.items()}
            of = f" of {flow}" if flow else ""
            one = compare_lines(names, _renamed(drawn.axes, f"{drawn.axes.y}{of}"))
            rest = [name for j, name in enumerate(spec.series) if j != k]
            where = _settings_text(results, rest, others)
            if one.shown and where:
                one = one._replace(shown=f"With {where}: {one.shown[0].lower()}{one.shown[1:]}")
            if one.relative > best.relative or not (best.shown or best.undecided):
                best = one
        found.append(best)
    return found


def _series_name(results: Results, axis: str, value: Scalar) -> str:
    """An axis value as the subject of a sentence: "cubic" if the axis is obvious, else "buffer = 2 BDP"."""
    named = _without_unit(results.labels.title(axis)).partition(" of ")[0]
    if is_name(value) and named in ("congestion control", "queue", axis):
        return results.labels.value_title(axis, value)
    return _setting_text(results, axis, value)


def _setting_text(results: Results, axis: str, value: Scalar) -> str:
    unit = results.labels.axis_unit(axis)
    title, at = _without_unit(results.labels.title(axis)), results.labels.value_title(axis, value)
    return f"{title}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{at} {unit}".rstrip()


def _settings_text(results: Results, axes: Sequence[str], values: Sequence[Scalar]) -> str:
    return ", ".join(_setting_text(results, axis, value) for axis, value in zip(axes, values, strict=False))


def _renamed(axes: Axes, y: str) -> Axes:
    return Axes(axes.x, axes.x_unit, y, axes.y_unit)


def _along(spec: Figure, results: Results, drawn: DrawnLines) -> Contrast:
    """The change along x, for the line that changes most."""
    if drawn.named:
        first, *others = drawn.lines.values()
        return NOTHING if others else Contrast(1.0, named_values(first, drawn.axes))
    found = []
    for (flow, setting), line in drawn.lines.items():
        where = _settings_text(results, spec.series, setting)
        y = drawn.axes.y + (f" of {flow}" if flow else "") + (f" with {where}" if where else "")
        ends = list(line.values())
        if text := one_line(line, _renamed(drawn.axes, y)):
            found.append(Contrast(relative(ends[0], ends[-1]), text))
    return max(found, key=lambda one: one.relative, default=NOTHING)


def keep_one_statistic(spec: Figure, known: Mapping[str, Quantity]) -> Figure:
    """The figure with one statistic of its measure: a mean and a p95 are not to be compared."""
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
    """The headline of a study with one cell, from the first group of columns of its table row."""
    columns = [column for column in table.spec.columns if column.group == table.spec.columns[0].group]
    if len(table.cells) != 1 or len(columns) < 2 or not columns[0].group:
        return Headline()
    found = [cell.estimate for cell in table.cells[0][: len(columns)]]
    known = [one for one in found if one is not None]
    if len(known) < len(columns) or len({one.unit for one in known}) > 1:
        return Headline()
    line = {column.heading: LineValue(one.interval) for column, one in zip(columns, known, strict=True)}
    axes = Axes("", "", *_counted(_without_unit(columns[0].group), known[0].unit))
    if shown := named_values(line, axes):
        return Headline(shown)
    if not all(number.is_known for number in line.values()):
        return Headline()
    larger = "larger" if len(line) == 2 else "largest"
    numbers = ", ".join(
        f"{name} {estimate_text(one.interval)} {axes.y_unit}".rstrip() for name, one in line.items()
    )
    undecided = (
        f"The runs do not tell which has the {larger} {axes.y}: the 95 % intervals overlap ({numbers})."
    )
    return Headline(undecided=undecided)


def _without_unit(title: str) -> str:
    """A title without its unit in parentheses."""
    return re.sub(r" \([^()]*\)$", "", title)


def _counted(title: str, unit: str) -> tuple[str, str]:
    """A title and its unit for a sentence; for counts, "number of timeouts" without a unit."""
    if unit not in title.split():
        return title, unit
    return title if "number of " in title else f"number of {title}", ""


def compare_lines(lines: Mapping[str, Line], axes: Axes) -> Contrast:
    """A comparison of lines: which is the highest at which x values, and where the runs do not decide."""
    if len(lines) < 2:
        return NOTHING
    places = common_places(lines)
    leads: dict[tuple[str, ...], list[str]] = {}
    open_: list[str] = []
    for place in places:
        numbers = {name: line[place] for name, line in lines.items()}
        group = top_group(numbers)
        if group and len(group) <= MOST_NAMES:
            leads.setdefault(group, []).append(place)
        elif all(number.is_known for number in numbers.values()):
            open_.append(place)
    two = len(lines) == 2
    larger = "larger" if two else "largest"
    which = "the" if two else "the highest"
    if not leads:
        if not open_:
            return NOTHING
        unknown = f"The runs do not tell which has the {larger} {axes.y}"
        at = axes.describe_places(open_)
        return Contrast(0.0, "", f"{unknown}: at {at}, {which} 95 % intervals overlap.")
    parts: list[str] = []
    factor = 0.0
    for group, where in leads.items():
        rest = [name for name in lines if name not in group]
        own, rival = extremes(lines, group, where), extremes(lines, rest, where)
        factor = max(
            factor, *(relative(lines[name][at], lines[r][at]) for name in group for r in rest for at in where)
        )
        against = (
            f"against {axes.describe_range(rival)}"
            if two
            else f"against at most {estimate_text(rival[-1].interval)}"
        )
        numbers_text = f"{axes.describe_range(own)} {against} {axes.y_unit}".rstrip()
        has = "has" if len(group) == 1 else "have"
        what = "" if parts else f" the {larger} {axes.y}"
        at = axes.describe_places(where, again=bool(parts))
        parts.append(f"{at}, {join_words(group)} {has}{what} ({numbers_text})")
    shown = f"At {'; at '.join(parts)}{_lowest(lines, places, axes) if not two else ''}."
    unclear = ""
    if open_:
        unclear = (
            f"At {axes.describe_places(open_, again=True)}, {which} 95 % intervals overlap: "
            "the runs do not tell."
        )
    return Contrast(factor, shown, unclear)


def _lowest(lines: Mapping[str, Line], places: Sequence[str], axes: Axes) -> str:
    """The end of a sentence that names the line that is the lowest everywhere; empty if none is."""
    lowest = {top_group({name: line[at] for name, line in lines.items()}, lowest=True) for at in places}
    if len(lowest) != 1 or len(group := lowest.pop()) != 1:
        return ""
    numbers = f"{axes.describe_range(extremes(lines, group, places))} {axes.y_unit}".rstrip()
    return f"; {group[0]} always has the smallest ({numbers})"


def one_line(line: Line, axes: Axes) -> str:
    """A sentence on whether the line ends higher or lower than it begins; empty if undecided."""
    if len(line) < 2:
        return ""
    (start, a), *_, (end, b) = line.items()
    if not (is_below(a, b) or is_below(b, a)):
        return ""
    verb = "rises" if is_below(a, b) else "falls"
    numbers = f"from {estimate_text(a.interval)} to {estimate_text(b.interval)} {axes.y_unit}".rstrip()
    along = f"from {axes.describe_places([start])} to {axes.describe_places([end])}"
    return f"{axes.y[0].upper()}{axes.y[1:]} {verb} {numbers}, {along}."


def named_values(line: Line, axes: Axes) -> str:
    """A sentence on which of several unordered names has the highest and the lowest number."""
    order = sorted(line, key=lambda name: line[name].value)
    if len(order) < 2 or not all(value.is_known for value in line.values()):
        return ""
    low, high = order[0], order[-1]
    if not is_below(line[low], line[high]):
        return ""
    most, least = (f"{estimate_text(line[name].interval)} {axes.y_unit}".rstrip() for name in (high, low))
    if len(order) == 2:
        return f"{high} has the larger {axes.y} ({estimate_text(line[high].interval)} against {least})."
    if is_below(line[order[-2]], line[high]) and is_below(line[low], line[order[1]]):
        return f"{high} has the highest {axes.y} ({most}), {low} the lowest ({least})."
    return f"{axes.y[0].upper()}{axes.y[1:]} is higher with {high} ({most}) than with {low} ({least})."
