"""Expands the names in `measure`, such as "share", into quantities, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cwndlab.base.errors import KeyPath, nearest, problem_at
from cwndlab.base.writing import with_unit

if TYPE_CHECKING:
    from cwndlab.metrics import Metric

Raw = dict[str, Any]
Scope = Literal["flows", "bottleneck", "run"]

#: The most columns of one table; wider results get a table for each measure.
WIDEST_TABLE = 9
#: Times are shown in ms instead of s if no round trip is longer than this (ns), as in a data centre.
SHORT_ROUND_TRIP = 10_000_000
#: The most lines of a figure; with more, each quantity gets a panel.
MOST_LINES = 5
#: An x axis is logarithmic if its largest value is more than this many times the smallest.
LOG_FACTOR = 8


class Part(NamedTuple):
    """One number of a measure: its heading, and how a metric's list is reduced to it, if it is a list."""

    heading: str = ""
    within: str | None = None


class Measure(NamedTuple):
    """An entry of `measure`: a metric, what it is measured for, and the numbers shown."""

    title: str
    unit: str
    metric: str
    scope: Scope
    options: Mapping[str, Any] = MappingProxyType({})
    parts: tuple[Part, ...] = (Part(),)
    #: Whether only flows whose transfers end have this measure.
    ends: bool = False
    #: The title for a link with a queue for each flow; "" for the same title.
    of_several: str = ""


_DELAYS = (Part("mean", "mean"), Part("p95", "p95"), Part("p99", "p99"))
MEASURES = {
    "goodput": Measure("goodput", "Mbit/s", "goodput", "flows"),
    "share": Measure("share of the goodput", "%", "share", "flows"),
    "loss_rate": Measure("loss rate", "%", "loss_rate", "flows"),
    "datagram_loss": Measure("datagrams lost", "%", "datagram_loss", "flows"),
    "queue_delay": Measure(
        "queueing delay", "ms", "queue_delay", "bottleneck", parts=_DELAYS, of_several="backlog over rate"
    ),
    "completion_time": Measure(
        "completion time",
        "s",
        "completion_time",
        "flows",
        parts=(Part("median", "median"), *_DELAYS),
        ends=True,
    ),
    "round_trip": Measure("round-trip time", "ms", "round_trip", "flows"),
    "utilization": Measure("utilization", "%", "link_utilization", "bottleneck"),
    "drop_rate": Measure("packets dropped", "%", "drop_rate", "bottleneck"),
    "one_way_delay": Measure("one-way delay", "ms", "one_way_delay", "flows", parts=_DELAYS),
    "delay_variation": Measure("delay variation", "ms", "delay_variation", "flows", parts=_DELAYS),
    "jain_index": Measure("Jain's index", "1", "jain_index", "run"),
}
"""Measures with their own title, unit and numbers; `measure` accepts the names of all other metrics, too."""

DEFAULT = ("goodput", "share", "loss_rate", "queue_delay", "utilization")
"""The measures of a short-form network that states no `measure`."""


#: Common names of metrics, and the names used here: for error messages and the manual.
ALIASES = {
    "bandwidth": "goodput",
    "throughput": "goodput",
    "queueing_delay": "queue_delay",
    "queuing_delay": "queue_delay",
    "loss": "loss_rate",
    **dict.fromkeys(("fct", "flow_completion_time", "transfer_time", "download_time"), "completion_time"),
    **dict.fromkeys(("page_time", "page_load_time", "plt", "response_time"), "completion_time"),
    "fairness": "jain_index",
    "jain": "jain_index",
    "rtt": "round_trip",
    "utilization": "link_utilization",
    "utilisation": "link_utilization",
    "retransmissions": "retransmits",
    "smoothness": "largest_rate_cut",
    "aggressiveness": "largest_rate_rise",
    "responsiveness": "halving_time",
    "time_to_fair": "convergence_time",
    "loss_synchronization": "synchronization",
}


#: Names of metrics until version 0.2, and the remedy for each.
FORMER = {
    "object_delays": 'write "completion_time", with kind = "page" where no kind is given',
    "median_page_delay": 'write "median_delay"',
    "median_file_delay": 'write "median_delay" with options = { kind = "file" }',
}


def nearest_metric(name: str, names: Sequence[str]) -> str:
    """The remedy for an unknown name of a metric."""
    return f'write "{ALIASES[name]}"' if name in ALIASES else FORMER.get(name) or nearest(name, names)


class Flows(NamedTuple):
    """The flows and links of a study that its measures can refer to."""

    #: For each group of flows, the kind of object that it completes; None for a group that never ends.
    completed: Mapping[str, str | None]
    #: The directions of the bottleneck links, such as "r1>r2".
    bottlenecks: Sequence[str]
    #: Whether a link has a queue for each flow.
    several_lines: bool = False
    #: The longest round trip without queueing (ns); None if unknown.
    round_trip: int | None = None

    def choose_unit(self, measure: Measure) -> str:
        """The unit in which a measure is shown."""
        short = self.round_trip is not None and self.round_trip <= SHORT_ROUND_TRIP
        return "ms" if measure.unit == "s" and short else measure.unit


class Measured(NamedTuple):
    """A measure with its quantities, and their headings as columns."""

    name: str
    title: str
    unit: str
    quantities: list[Raw]
    headings: list[str]


def make_quantities(name: str, flows: Flows, at: KeyPath) -> Measured:
    """The quantities of one entry of `measure`; StudyError if there is no such measure or metric."""
    measure = MEASURES.get(name) or next((other for other in MEASURES.values() if other.metric == name), None)
    if measure is None:
        from cwndlab import metrics  # not needed to list the names of measures

        if name not in metrics.names():
            names = sorted({*MEASURES, *metrics.names()})
            raise problem_at(at, f'there is no measure or metric "{name}"', nearest_metric(name, names))
        measure = _measure_metric(metrics.get(name))
    unit = flows.choose_unit(measure)
    title = measure.of_several if flows.several_lines and measure.of_several else measure.title
    targets = _targets(measure, flows, at)
    quantities: list[Raw] = []
    headings: list[str] = []
    for target, options in targets:
        for part in measure.parts:
            shown = [target] if len(targets) > 1 or measure.scope == "flows" else []
            words = [*shown, part.heading] if len(measure.parts) > 1 else shown
            headings.append(", ".join(words))
            suffixes = ([target] if len(targets) > 1 else []) + (
                [part.heading] if len(measure.parts) > 1 else []
            )
            quantity: Raw = {
                "name": re.sub(r"\W", "_", "_".join([name, *suffixes])),
                "title": ", ".join([title, *words]),
                "metric": measure.metric,
                "options": {**measure.options, **options},
            }
            if not quantity["options"]:
                del quantity["options"]
            if part.within is not None:
                quantity["within"] = part.within
            if unit != "1":
                quantity["unit"] = unit
            quantities.append(quantity)
    return Measured(name, title, unit, quantities, headings)


def _measure_metric(metric: Metric) -> Measure:
    """The `Measure` of a metric that `MEASURES` lacks; the metric's options determine the scope."""
    scope: Scope = (
        "flows" if "traffic" in metric.options else "bottleneck" if "link" in metric.options else "run"
    )
    parts = (Part("mean", "mean"),) if metric.many else (Part(),)
    return Measure(metric.name.replace("_", " "), metric.unit, metric.name, scope, parts=parts)


def _targets(measure: Measure, flows: Flows, at: KeyPath) -> list[tuple[str, Raw]]:
    """The flows, links or run to measure, each as a name and the metric's options that select it."""
    if measure.scope == "run":
        return [("", {})]
    if measure.scope == "bottleneck":
        return [(link, {"link": link}) for link in flows.bottlenecks] or [("", {})]
    groups = {name: kind for name, kind in flows.completed.items() if kind is not None or not measure.ends}
    if not groups:
        right = 'give flows a size, bytes = "1MB", or an app'
        raise problem_at(at, f"the flows have no end, so they have no {measure.title}", right)
    return [
        (name, {"traffic": name} | ({"kind": kind} if measure.ends and kind != "file" else {}))
        for name, kind in groups.items()
    ]


def tables(groups: Sequence[Measured], axes: Mapping[str, Sequence[Any]]) -> list[Raw]:
    """One table with a row for each cell; if it would be too wide, one table for each measure."""
    columns = {}
    for group in groups:
        title = with_unit(group.title, group.unit)
        columns[group.name] = [
            {"heading": heading, "group": title, "quantity": quantity["name"]}
            if heading
            else {"heading": title, "quantity": quantity["name"]}
            for heading, quantity in zip(group.headings, group.quantities, strict=True)
        ]
    rows = list(axes)
    if sum(map(len, columns.values())) <= WIDEST_TABLE:
        every = [column for part in columns.values() for column in part]
        return [{"id": "results", "title": "Results", "rows": rows, "columns": every}]
    titles = {group.name: group.title for group in groups}
    return [
        {"id": name.replace("_", "-"), "title": _capital(titles[name]), "rows": rows, "columns": part}
        for name, part in columns.items()
    ]


def figures(
    groups: Sequence[Measured], axes: Mapping[str, Sequence[Any]], titles: Mapping[str, str]
) -> list[Raw]:
    """Figures of each measure along the first numeric axis, with lines by quantity and by the next axis.

    A third axis makes panels. Of further axes only the first value is shown, and the title states it.
    """
    varied = {name: values for name, values in axes.items() if len(values) > 1}
    if not varied:
        return []
    numeric = [name for name, values in varied.items() if all(map(_is_number, values))]
    x = numeric[0] if numeric else max(varied, key=lambda name: len(varied[name]))
    others = [name for name in varied if name != x]
    fixed = {name: varied[name][0] for name in others[2:]}
    shape: Raw = {"kind": "line" if numeric else "bar", "x": x}
    if others:
        shape["series"] = others[:1]
    if others[1:]:
        shape["panels"] = others[1]
    if fixed:
        shape["where"] = fixed
    if numeric and min(varied[x]) > 0 and max(varied[x]) / min(varied[x]) > LOG_FACTOR:
        shape["log_x"] = True
    end = "".join(f", {titles[name]} = {value}" for name, value in fixed.items())
    drawn = []
    for group in groups:
        shown = list(zip(group.headings, [quantity["name"] for quantity in group.quantities], strict=True))
        if group.name == "share" and len(shown) == 2 and others:  # the other share is the complement
            shown = shown[:1]
        crowded = bool(others) and len(shown) > 1 and len(shown) * len(varied[others[0]]) > MOST_LINES
        split = crowded and "panels" in shape  # the panels are already those of an axis
        own: Raw = {"panels": "quantity"} if crowded and not split else {}
        for part in [[quantity] for quantity in shown] if split else [shown]:
            names = [name for _, name in part]
            start = names[0] if split else group.name
            of_part = f": {part[0][0]}" if len(part) < len(group.quantities) else ""
            figure: Raw = {
                "id": f"{start}-by-{x}".replace("_", "-"),
                "title": f"{_capital(group.title)} by {titles[x]}{of_part}{end}",
                "y_title": with_unit(group.title, group.unit),
                **({"quantity": names[0]} if len(names) == 1 else {"quantities": names}),
            }
            drawn.append(figure | shape | own)
    return drawn


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]
