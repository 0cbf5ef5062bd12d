"""The controls of a page: the study's axes, its parameters, and knobs of its bottleneck and TCP.

Each control is an axis of a derived study, so that every setting of the page is a cell of that study: the
compiler defines its meaning, and the page can export it as a study file.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cwndlab import _core
from cwndlab.base.errors import StudyError
from cwndlab.plan.plan import Cell, make_plan, rebuild
from cwndlab.records.run_view import bottleneck
from cwndlab.study import schema
from cwndlab.study.document import Document, is_short
from cwndlab.study.resolve import references
from cwndlab.study.shorthand import NETWORKS
from cwndlab.study.study_spec import StudySpec, assignments
from cwndlab.study.values import label, same_value, text

from .table import SettingCompiler, SettingTable, State

#: The title of the study's own value if that value has no name.
UNKNOWN = "as in the study"
#: Sections of a study that do not matter for single cells.
DROPPED = ("grids", "cells", "tables", "figures", "marks", "sensitivity", "combinations")


@dataclass(frozen=True)
class Stop:
    """A position of a control."""

    value: schema.Scalar | None
    """None: the study's own value."""
    title: str


@dataclass(frozen=True)
class Control:
    """A slider or a list on the page, for one axis of the derived study."""

    name: str
    title: str
    unit: str
    group: str
    """`study`, `network`, `tcp` or `parameter`."""
    stops: tuple[Stop, ...]
    base: int
    """The stop from which the page starts."""
    ordered: bool
    """Whether the stops are quantities in ascending order: the control is then a slider, else a list."""

    def has_stop(self, value: schema.Scalar) -> bool:
        """Whether a stop has this value."""
        return any(stop.value == value for stop in self.stops)


@dataclass(frozen=True)
class Explored:
    """The derived study of a page, whose controls are all axes."""

    study: StudySpec
    axes: Mapping[str, schema.Scalar]
    """The axis values of the cell from which the page starts."""
    controls: tuple[Control, ...]
    left_out: tuple[str, ...] = ()
    """The controls that the page does not offer, with the reasons."""

    @property
    def base(self) -> State:
        """The position of each control at the start."""
        return tuple(control.base for control in self.controls)

    def cell(self, state: Sequence[int]) -> Cell:
        """The cell for a setting of the controls."""
        axes = dict(self.axes)
        for control, position in zip(self.controls, state, strict=True):
            value = control.stops[position].value
            axes.pop(control.name, None)
            if value is not None:
                axes[control.name] = value
        ordered = {name: axes[name] for name in self.study.outline.axes if name in axes}
        return Cell("", ordered, self.study)

    def scenario(self, state: Sequence[int]) -> Any | str:
        """The scenario of a setting, or an error message."""
        try:
            return self.cell(state).compiled.scenario
        except StudyError as error:
            return error.problem

    def tables(self) -> tuple[Explored, list[SettingTable]]:
        """The page without the controls that make its tables too large, and the tables of all scenarios."""
        settings = SettingCompiler(
            [len(control.stops) for control in self.controls], self.base, self.scenario
        )
        tables = settings.tables()
        kept = [k for k in range(len(self.controls)) if k not in settings.frozen]
        found = self
        for k in sorted(settings.frozen):
            found = found._leave_out(
                self.controls[k], f"{self.controls[k].title}: too many combinations with others"
            )
        place = {k: position for position, k in enumerate(kept)}
        return found, [replace(table, controls=tuple(place[k] for k in table.controls)) for table in tables]

    def _leave_out(self, control: Control, why: str) -> Explored:
        kept = tuple(other for other in self.controls if other is not control)
        return replace(self, controls=kept, left_out=(*self.left_out, why))

    def keep_effective(self) -> Explored:
        """The page without positions that do not compile alone, and without controls that change nothing."""
        found = self
        base = self.scenario(self.base)
        for k, control in enumerate(self.controls):
            kept, changes, own = [control.stops[control.base]], False, control.stops[control.base]
            for position, stop in enumerate(control.stops):
                if position == control.base:
                    kept = [*(other for other in kept if other is not own), own]
                    continue
                scenario = self._accepted_scenario((*self.base[:k], position, *self.base[k + 1 :]))
                if scenario == base and own.value is None:  # this stop has the study's own value
                    kept.remove(own)
                    own = replace(own, title=stop.title)
                    kept.append(own)
                elif scenario is not None:
                    kept.append(stop)
                    changes = changes or scenario != base
            if not changes:
                found = found._leave_out(control, f"{control.title}: no effect at the start")
                continue
            fewer = replace(control, stops=tuple(kept), base=kept.index(own))
            found = replace(found, controls=tuple(fewer if one is control else one for one in found.controls))
        return found

    def _accepted_scenario(self, state: State) -> Any:
        """The scenario of a setting if the engine accepts it, else None."""
        cell = self.cell(state)
        try:
            cell.check()
        except StudyError:
            return None
        return cell.compiled.scenario


def derive_study(study: StudySpec) -> Explored:
    """The page of a study, derived around its first cell."""
    start = make_plan(study).cells[0]
    start.check()
    raw, groups = _derive(study, start)
    derived = rebuild(study, Document(study.name, raw, file=study.file))
    axes = dict(start.axes)
    if any(name in raw for name in NETWORKS):  # a list in a short form is an axis of every cell
        axes = {name: axes.get(name, axis.names[0]) for name, axis in derived.outline.axes.items()}
        new = [name for name in derived.outline.axes if name not in start.axes]
        groups = {name: "tcp" if name.endswith("cc") else "network" for name in new}
    found = Explored(derived, axes, ())
    own = own_titles(study, start)
    controls = [
        _control(name, axis, axes, groups.get(name, "study"), own.get(name.removesuffix("_set")))
        for name, axis in derived.outline.axes.items()
    ]
    found = replace(found, controls=tuple(controls)).keep_effective()
    return replace(found, controls=tuple(_of_profile(control, study) for control in found.controls))


def _of_profile(control: Control, study: StudySpec) -> Control:
    """The control, with a title for its first value that says that the value changes with the profile."""
    key = {"iw": "initial_window", "cc": "cc"}.get(control.name.removesuffix("_set"))
    given = study.raw.get("tcp", {})
    own = control.stops[control.base]
    if control.group != "tcp" or key is None or key in given or own.value is not None:
        return control
    value = "" if own.title == UNKNOWN else f" ({own.title} in {study.base.tcp.profile})"
    stops = [replace(stop, title=f"the profile's{value}") if stop is own else stop for stop in control.stops]
    return replace(control, stops=tuple(stops))


def _derive(study: StudySpec, start: Cell) -> tuple[dict[str, Any], dict[str, str]]:
    """The tables of the derived study, and the group of each new axis."""
    document = study.document
    # Axes changed by laws in Python are lists of the short form here; `vary_short_form` adds the laws.
    kept = all(
        is_short(key, value) or (study.laws and key.startswith("axes."))
        for key, value in document.changes.items()
    )
    raw: dict[str, Any] = copy.deepcopy(dict(document.written_tables if kept else study.raw))
    for key in DROPPED:
        raw.pop(key, None)
    groups: dict[str, str] = {}
    for name in NETWORKS:
        if name in raw:
            vary_short_form(raw[name], tuple(study.laws))
            raw["axes"] = {**raw.get("axes", {})}
            return raw, groups
    new = {
        "network": network_axes(study, start),
        "tcp": tcp_axes(study),
        "parameter": parameter_axes(study, start),
    }
    axes = raw.setdefault("axes", {})
    quantities = {quantity["name"] for quantity in raw.get("quantities", ())}
    # Other cells may also have axes for these keys; the axes that the page adds come later and win.
    taken = {key for name, axis in axes.items() if name in start.axes for key in targets(axis)}
    for group, found in new.items():
        for name, axis in found.items():
            if group != "parameter" and taken & set(targets(axis)):
                continue
            while (
                name in axes
                or name in quantities
                or (group != "parameter" and name in raw.get("parameters", {}))
            ):
                name += "_set"
            axes[name] = axis
            groups[name] = group
    raw["grids"] = [{"cells": [dict(start.axes)]}]
    return raw, groups


def _control(
    name: str, axis: schema.Axis, axes: Mapping[str, schema.Scalar], group: str, own: str | None
) -> Control:
    """The control of an axis. `own` is the study's own value, if known, for an axis that the study lacks."""
    titles = {label(v.name): v.title for v in axis.values if isinstance(v, schema.AxisValue) and v.title}
    stops = [Stop(value, titles.get(label(value), text(value))) for value in axis.names]
    ordered = all(_quantity(stop.value) is not None for stop in stops)
    if ordered:
        stops.sort(key=lambda stop: _quantity(stop.value) or 0.0)
    if name in axes:
        base = next(k for k, stop in enumerate(stops) if same_value(stop.value, axes[name]))
    else:
        quantity = _quantity(own) if ordered and own is not None else None
        lower = [stop for stop in stops if quantity is not None and (_quantity(stop.value) or 0.0) < quantity]
        base = len(lower)
        stops.insert(base, Stop(None, own or UNKNOWN))
    return Control(name, axis.title or name, axis.unit or "", group, tuple(stops), base, ordered)


def _quantity(value: object) -> float | None:
    """The number by which a value is sorted; None if it is not a quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(_core.parse_quantity(value)[1]) if isinstance(value, str) else None
    except ValueError:
        return None


Axis = dict[str, Any]

#: A slider's values, relative to the study's value.
FACTORS = (0.2, 0.5, 1, 2, 5)
#: The values if the study's value is 0.
COUNTS = (0, 1, 2, 4, 8)
TIMES = ("0s", "0.5s", "1s", "2s", "5s", "10s")
LOSSES = ("0.01%", "0.1%", "1%", "2%", "5%")
WINDOWS = (1, 2, 3, 4, 6, 10, 16, 32)
LAWS = ("reno", "cubic", "dctcp", "prague", "bbr1", "bbr3")
QUEUES = ("drop-tail", "codel", "pie", "fq-codel", "dualpi2")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-zµ/%]+)\Z")


#: Impairments that lose packets at random, or by the load; with any other, a link's own random loss is 0 %.
LOSING = ("bernoulli", "gilbert-elliott", "loss-steps", "policer")


def values_around(value: object) -> list[schema.Scalar]:
    """Values around `value`, including itself; empty if it is not a quantity."""
    if isinstance(value, bool):
        return [False, True]
    if isinstance(value, int):
        if value <= 0:
            return [*COUNTS] if value == 0 else []
        return sorted({*(max(1, round(value * factor)) for factor in FACTORS), value})
    if isinstance(value, float):
        return [_tidy(value * factor) for factor in FACTORS] if value > 0 else []
    found = _QUANTITY.match(value) if isinstance(value, str) else None
    if found is None:
        return []
    number, unit = float(found[1]), found[2]
    if number == 0:
        return [*TIMES] if unit in ("s", "ms") else []
    whole = unit in ("pkt", "B")
    made = [_tidy(max(1, round(number * f)) if whole else number * f) for f in FACTORS]
    return [f"{text(one)}{unit}" if one != number else str(value) for one in dict.fromkeys(made)]


def _tidy(value: float) -> int | float:
    """The value rounded to three digits, as an integer if it is one."""
    if value == 0:
        return 0
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    return int(rounded) if float(rounded).is_integer() else rounded


def vary_short_form(table: dict[str, Any], own_laws: Sequence[str] = ()) -> None:
    """Replaces single values in a `[dumbbell]` or `[parking_lot]` by lists, each of which becomes an axis.

    `own_laws`, the user's congestion controls, are added to a flow's list of congestion controls.
    """
    for key in ("rate", "rtt", "buffer"):
        value = table.get(key, 1.0 if key == "buffer" else None)
        if values := values_around(value):
            table[key] = [value, *(other for other in values if other != value)]
    queue = table.get("queue", "drop-tail")
    if isinstance(queue, str | dict):
        kind = queue if isinstance(queue, str) else queue.get("kind", "drop-tail")
        table["queue"] = [queue, *(other for other in QUEUES if other != kind)]
    loss = table.get("loss", "0%")
    if isinstance(loss, str):
        table["loss"] = [loss, *(other for other in LOSSES if other != loss)]
    for flow in table.get("flows", []):
        law = flow.get("cc", "cubic")
        if isinstance(law, list):
            flow["cc"] = [*law, *(own for own in own_laws if own not in law)]
        if isinstance(law, str) and "window_law" not in flow.get("tcp", {}) and "app" not in flow:
            flow["name"] = flow.get("name", law)
            flow["cc"] = [law, *(other for other in LAWS if other != law)]


def network_axes(study: StudySpec, start: Cell) -> dict[str, Axis]:
    """Axes for the rate, delay, loss and queue of the slowest link."""
    scenario = start.compiled.scenario
    index = bottleneck(scenario["links"])
    place = start.compiled.origins[f"links.{index}"]
    links = study.raw["topology"]["links"]
    link = links[place[2]] if len(place) > 2 and isinstance(place[2], int) else links[0]
    position = links.index(link)
    key = f"topology.links.{link.get('name', position + 1)}"
    ends = (link["between"][0], link["between"][1])
    first = scenario["nodes"][scenario["links"][index]["from"]]
    way = "forward" if first == ends[0] or first in ends[0] else "reverse"
    made: dict[str, Axis] = {}
    for name, title in (("rate", "bottleneck rate"), ("delay", "bottleneck delay, one way")):
        own = link.get(way, {}).get(name)
        if values := values_around(link.get(name, "0ms") if own is None else own):
            made[name] = {
                "title": title,
                "values": values,
                "sets": f"{key}.{name}" if own is None else f"{key}.{way}.{name}",
            }
    if "loss" not in link and "loss" not in link.get(way, {}):
        made["loss"] = {"title": "random loss", "values": [*LOSSES], "sets": f"{key}.{way}.loss"}
    at = f"{key}.{way}.queue" if "queue" in link.get(way, {}) else f"{key}.queue"
    queue = link.get(way, {}).get("queue", link.get("queue", {}))
    limit = queue.get("limit") if isinstance(queue, dict) else None
    if limit is not None:
        kinds = [kind for kind in QUEUES if kind != queue.get("kind", "drop-tail")]
        made["queue"] = {
            "title": "queue",
            "values": [{"name": kind, "set": {at: {"kind": kind, "limit": limit}}} for kind in kinds],
        }
        if values := values_around(limit):
            made["buffer"] = {"title": "buffer", "values": values, "sets": f"{at}.limit"}
    return made


def own_titles(study: StudySpec, start: Cell) -> dict[str, str]:
    """The study's own values for axes of `network_axes` and `tcp_axes` that lack such a value."""
    scenario = start.compiled.scenario
    link = scenario["links"][bottleneck(scenario["links"])]
    made = {"queue": link["queue"]["kind"]}
    if not any(impairment["kind"] in LOSING for impairment in link["impairments"]):
        made["loss"] = "0%"
    windows = {_segments(tcp["initial_window"], tcp["mss"]) for tcp in scenario["tcp"]}
    if len(windows) == 1:
        made["iw"] = windows.pop()
    return made


def _segments(window: str | Mapping[str, int], mss: int) -> str:
    """The initial window of a scenario in segments, as text."""
    if isinstance(window, Mapping):
        return text(window["segments"])
    # (RFC 3390, section 1; RFC 6928, section 2)
    most, least = (4, 4380) if window == "rfc3390" else (10, 14600)
    return text(_tidy(min(most * mss, max(2 * mss, least)) / mss))


def tcp_axes(study: StudySpec) -> dict[str, Axis]:
    """Axes for profile, initial window and congestion control."""
    given = study.raw.get("tcp", {})
    made: dict[str, Axis] = {
        "profile": {"title": "TCP profile", "values": [*_core.tcp_profiles()], "sets": "tcp.profile"},
        "iw": {
            "title": "initial window",
            "unit": "segments",
            "values": [*WINDOWS],
            "sets": "tcp.initial_window",
        },
    }
    if not {"cc", "window_law"} & given.keys():
        made["cc"] = {"title": "congestion control", "values": [*LAWS], "sets": "tcp.cc"}
    return made


def parameter_axes(study: StudySpec, start: Cell) -> dict[str, Axis]:
    """Axes for the parameters with plain values, around their values in the cell."""
    raw = dict(study.raw.get("parameters", {}))
    for name, axis in study.outline.axes.items():
        if name in start.axes:
            for key, value in assignments(axis, start.axes[name]):
                section, _, inner = key.partition(".")
                if section == "parameters":
                    raw[inner] = value
    groups = study.raw.get("tcp", {}).get("groups", {})
    made: dict[str, Axis] = {}
    for name, value in raw.items():
        if references(value):
            continue
        values: Sequence[schema.Scalar] = [*groups] if value in groups else values_around(value)
        if values:
            made[name] = {
                "title": name.replace("_", " "),
                "values": list(values),
                "sets": f"parameters.{name}",
            }
    return made


def targets(axis: Mapping[str, Any]) -> list[str]:
    """The dotted keys that the raw table of an axis sets."""
    sets = axis.get("sets", [])
    found = [sets] if isinstance(sets, str) else list(sets)
    for value in axis.get("values", []):
        if isinstance(value, Mapping):
            found += value.get("set", {})
    return found
