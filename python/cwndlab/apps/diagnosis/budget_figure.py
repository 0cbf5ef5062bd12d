"""Figures of time budgets: for each cell a stacked bar of where the time of pages or connections went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np

from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import Columns
from cwndlab.records.critical_path import PARTS
from cwndlab.report.canvas import (
    INK,
    Row,
    Spec,
    field,
    look_by_name,
    make_legend,
    mark,
    mark_chart,
    named_axis,
    panel_of_size,
    stack,
)
from cwndlab.report.looks import name_series
from cwndlab.stats import series
from cwndlab.stats.results import Results
from cwndlab.study.outputs import Figure, Scalar
from cwndlab.study.schema import Quantity

#: A part counts as changed if it changes by this share of the object's time.
CHANGED = 0.05
#: Parts with less than this share of every bar are drawn together as "other".
SMALL = 0.01
OTHER = "other"
#: The colours of parts, the same in all figures: hosts grey, the path blue, windows green, timers red.
#: Neighbours also differ in lightness, so that they are distinguishable in grey.
COLOURS = {
    "client": "#c3c6ca",
    "handshake": "#a884cd",
    "rto-handshake": "#7d1f3a",
    "request": "#d8c9ea",
    "server": "#8a8f98",
    "slow-start": "#1f7553",
    "cwnd": "#8fcf9f",
    "max-window": "#b8860b",
    "receive-window": "#e2c044",
    "pacing": "#d7e3a8",
    "small-segment": "#5f6b2d",
    "send-buffer": "#bfe6bd",
    "delayed-ack": "#139fa8",
    "recovery": "#f39537",
    "probe": "#f4bf8a",
    "reordering": "#f9e2c8",
    "rto": "#d6455d",
    "rto-repeated": "#731725",
    "serialization": "#205a9e",
    "queueing": "#458cd5",
    "delivery": "#a2c7ef",
    "closing": "#e8e8e8",
    OTHER: "#555a61",
}
#: Words for the parts whose names in the records are abbreviations.
WORDS = {
    "rto": "timeout",
    "rto-handshake": "timeout of the handshake",
    "rto-repeated": "repeated timeout",
    "cwnd": "congestion window",
    "max-window": "largest window",
    "delayed-ack": "delayed ACK",
}

#: The kind of object that a metric without an option `kind` measures.
_MEASURED = {"median_delay": "page", "transaction_rate": "transaction"}


MeanTimes: TypeAlias = Mapping[str, float]
"""The mean time of objects in each part, in seconds."""


class BudgetKey(NamedTuple):
    """The objects, in a cell's first replicate, whose mean time may explain a number."""

    cell: str
    kind: str
    traffic: str = ""
    """The traffic entry of the objects; empty for all entries."""


def bars(spec: Figure, results: Results) -> tuple[Spec, dict[str, list[Row]], str]:
    """The chart of a budget figure, its data by name, and a description in words."""
    assert spec.x is not None  # the schema demands it
    kind = spec.of or "page"
    found: dict[Scalar | None, dict[Scalar | None, dict[str, dict[str, float]]]] = {}
    for panel, _, cell in series.figure_cells(spec, results):
        place, panels = cell.axes.get(spec.x), found.setdefault(panel, {})
        if place in panels:
            problem, right = f"several cells at {spec.x} = {place}", "fix their axes in `where`"
            raise StudyError(problem, key=f"figures.{spec.id}", right=right)
        panels[place] = mean_times(_records(spec, results, cell.id), spec.traffic)
    means = [mean for panel in found.values() for bars in panel.values() for mean in bars.values()]
    shown: list[str] = [
        part for part in PARTS if any(m.get(part, 0) >= SMALL * sum(m.values()) > 0 for m in means)
    ]
    if not shown:
        raise StudyError(f"there is no {kind} that was finished", key=f"figures.{spec.id}.of")
    names = [*shown, OTHER]
    rows: dict[str, list[Row]] = {}
    charts = []
    for number, (panel, places) in enumerate(found.items()):
        bars_by_label = [
            (" ".join(filter(None, ("" if x is None else results.labels.value_title(spec.x, x), name))), mean)
            for x, bars in places.items()
            for name, mean in zip(short_names(list(bars)), bars.values(), strict=True)
        ]
        rows[f"panel{number}"] = [
            {"x": label, "y": spent, "part": in_words(name), "order": names.index(name)}
            for label, mean in bars_by_label
            for name, spent in _fold_small_parts(mean, shown).items()
        ]
        labels = [label for label, _ in bars_by_label]
        chart = _chart(spec, results, f"panel{number}", labels, names, kind, len(found))
        charts.append(panel_of_size(chart, series.panel_title(spec, results, panel), spec))
    present = [
        n for n in map(in_words, names) if any(row["part"] == n for panel in rows.values() for row in panel)
    ]
    return stack(charts, spec), rows, f"mean time of a {kind} by part: {', '.join(present)}"


def short_names(names: Sequence[str]) -> list[str]:
    """Traffic names without a suffix that all share: "ecn" and "plain" for "ecn_web" and "plain_web"."""
    ends = {name.partition("_")[2] for name in names}
    return [name.partition("_")[0] if len(names) > 1 and len(ends) == 1 else name for name in names]


def _chart(
    spec: Figure, results: Results, data: str, places: list[str], names: list[str], kind: str, panels: int
) -> Spec:
    words = [in_words(name) for name in names]
    encoding = {
        "x": field(
            "x:N",
            title=spec.x_title or results.labels.title(spec.x or ""),
            sort=places,
            axis=named_axis(places, spec),
        ),
        "y": field("y:Q", title=spec.y_title or f"mean time of a {kind} (s)"),
        "color": look_by_name(
            "part:N",
            words,
            [COLOURS[name] for name in names],
            legend=make_legend(name_series(words), "square", spec, panels=panels),
        ),
        "order": field("order:Q"),
        "tooltip": [field("part:N"), field("y:Q", title="s")],
    }
    return mark_chart(data, mark("bar", encoding, stroke=INK, strokeWidth=0.4))


def budget_cells(figures: Iterable[Figure], results: Results) -> Iterator[tuple[str, str]]:
    """The cells of the study's budget figures, each with the figure's kind of object ("page", …)."""
    for figure in figures:
        if figure.kind == "budget":
            with suppress(StudyError):  # none of the figure's cells is run
                spec, _ = series.restrict_to_run_cells(figure, results)
                for _, _, cell in series.figure_cells(spec, results):
                    yield cell.id, spec.of or "page"


def _records(spec: Figure, results: Results, cell: str) -> Columns:
    found = results.replays.get((cell, spec.of or "page"), "its time budgets are not known")
    if isinstance(found, str):
        raise StudyError(f"cell {cell}: {found}", key=f"figures.{spec.id}")
    return found


def mean_times(columns: Columns, traffic: Sequence[str]) -> dict[str, dict[str, float]]:
    """Mean seconds per part in a budget table, by traffic entry; without entries, of all objects under ""."""
    found: dict[str, dict[str, float]] = {}
    flows = columns["flow"].tolist()
    groups = {flow: flow.split(".", 1)[0] for flow in dict.fromkeys(flows)}
    group = np.array([groups[flow] for flow in flows], dtype=object)
    for name in traffic or ("",):
        mine = (group == name) | (name == "")
        objects = zip(columns["flow"][mine].tolist(), columns["index"][mine].tolist(), strict=True)
        count, parts = len(set(objects)), columns["part"][mine]
        spent = columns["spent_ns"][mine].astype(np.float64) / 1e9
        found[name] = {
            part: float(spent[parts == part].sum()) / count for part in dict.fromkeys(parts.tolist())
        }
    return found


def changes(before: MeanTimes, after: MeanTimes) -> str:
    """The parts that differ by more than `CHANGED` between two means, in ms; the largest growth first."""
    whole = max(sum(before.values()), sum(after.values()))
    parts = [(part, before.get(part, 0.0), after.get(part, 0.0)) for part in {**before, **after}]
    parts = sorted((p for p in parts if abs(p[2] - p[1]) > CHANGED * whole), key=lambda p: p[1] - p[2])
    changed = ", ".join(f"{in_words(part)} {1e3 * a:.0f} → {1e3 * b:.0f}" for part, a, b in parts)
    return changed or f"no part differs by {100 * CHANGED:.0f} % of it"


def in_words(part: str) -> str:
    """A part's name as shown in figures."""
    return WORDS.get(part, part.replace("-", " "))


def _fold_small_parts(mean: dict[str, float], shown: list[str]) -> dict[str, float]:
    """The parts in `shown`, and the sum of all others as `OTHER` if it is not 0."""
    other = sum(spent for part, spent in mean.items() if part not in shown)
    kept = {part: mean[part] for part in shown if part in mean}
    return kept | ({OTHER: other} if other else {})


def objects_of(quantity: Quantity) -> tuple[str, str]:
    """The kind of object whose time a quantity measures, and its traffic entry; "" for what is unknown."""
    kind, traffic = quantity.options.get("kind"), quantity.options.get("traffic")
    found = kind if isinstance(kind, str) else _MEASURED.get(quantity.metric or "", "")
    return found, traffic if isinstance(traffic, str) else ""
