"""What can be moved on a page: the study's axes, its parameters, and knobs of its bottleneck and its TCP.

Each is an axis of a study that is derived here, so that every setting of the page is a cell of that study:
the compiler alone says what it means, and the page can hand it on as a study file.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cwndlab import _core
from cwndlab.errors import StudyError
from cwndlab.plan.check import rebuild
from cwndlab.plan.plan import Cell, make_plan
from cwndlab.spec import schema
from cwndlab.spec.document import Document, is_short
from cwndlab.spec.expand import SHORT
from cwndlab.spec.study import StudySpec
from cwndlab.spec.values import label, same_value, text

from . import offers
from .table import SettingCompiler, SettingTable, State

#: Sections that a study of single cells has no use for.
DROPPED = ("grids", "cells", "tables", "figures", "marks", "sensitivity", "combinations")


@dataclass(frozen=True)
class Stop:
    """A position of a control."""

    value: schema.Scalar | None
    """None: as the study has it."""
    title: str


@dataclass(frozen=True)
class Control:
    """An axis of the derived study."""

    name: str
    title: str
    unit: str
    group: str
    """`study`, `network`, `tcp` or `parameter`."""
    stops: tuple[Stop, ...]
    base: int
    """The stop from which the page starts."""
    ordered: bool
    """Whether the stops are quantities in ascending order: a slider, not a list."""


@dataclass(frozen=True)
class Explored:
    """A study all of whose controls are axes."""

    study: StudySpec
    axes: Mapping[str, schema.Scalar]
    """The axes of the cell from which the page starts."""
    controls: tuple[Control, ...]
    left_out: tuple[str, ...] = ()
    """Controls that are not offered, and why."""

    @property
    def base(self) -> State:
        """Position of each control at the start."""
        return tuple(control.base for control in self.controls)

    def cell(self, state: Sequence[int]) -> Cell:
        """The cell of a setting."""
        axes = dict(self.axes)
        for control, position in zip(self.controls, state, strict=True):
            value = control.stops[position].value
            axes.pop(control.name, None)
            if value is not None:
                axes[control.name] = value
        ordered = {name: axes[name] for name in self.study.outline.axes if name in axes}
        return Cell("", ordered, self.study)

    def scenario(self, state: Sequence[int]) -> Any | str:
        """The scenario of a setting, or why it has none."""
        try:
            return self.cell(state).compiled.scenario
        except StudyError as error:
            return error.problem

    def tables(self) -> tuple[Explored, list[SettingTable]]:
        """The scenarios of all settings as tables; without the controls that would make them too large."""
        settings = SettingCompiler(
            [len(control.stops) for control in self.controls], self.base, self.scenario
        )
        tables = settings.tables()
        kept = [k for k in range(len(self.controls)) if k not in settings.frozen]
        found = self
        for k in sorted(settings.frozen):
            found = found._without(
                self.controls[k], f"{self.controls[k].title}: too many combinations with others"
            )
        place = {k: position for position, k in enumerate(kept)}
        return found, [replace(table, controls=tuple(place[k] for k in table.controls)) for table in tables]

    def _without(self, control: Control, why: str) -> Explored:
        kept = tuple(one for one in self.controls if one is not control)
        return replace(self, controls=kept, left_out=(*self.left_out, why))

    def effective(self) -> Explored:
        """The same with the positions that compile by themselves, and the controls that change something."""
        found = self
        base = self.scenario(self.base)
        for k, control in enumerate(self.controls):
            kept, changes, own = [control.stops[control.base]], False, control.stops[control.base]
            for position, stop in enumerate(control.stops):
                if position == control.base:
                    kept = [*(one for one in kept if one is not own), own]
                    continue
                scenario = self._sound((*self.base[:k], position, *self.base[k + 1 :]))
                if scenario == base and own.value is None:  # the study's own value, in its place
                    kept.remove(own)
                    own = replace(own, title=f"{stop.title}, as in the study")
                    kept.append(own)
                elif scenario is not None:
                    kept.append(stop)
                    changes = changes or scenario != base
            if not changes:
                found = found._without(control, f"{control.title}: no effect at the start")
                continue
            fewer = replace(control, stops=tuple(kept), base=kept.index(own))
            found = replace(found, controls=tuple(fewer if one is control else one for one in found.controls))
        return found

    def _sound(self, state: State) -> Any:
        """The scenario of a setting that the engine accepts, else None."""
        cell = self.cell(state)
        try:
            cell.check()
        except StudyError:
            return None
        return cell.compiled.scenario


def derive_study(study: StudySpec) -> Explored:
    """The derived study of a study, around its first cell.

    Raises:
        StudyError: its congestion controls are in Python, which no page runs.

    """
    if study.laws:
        raise StudyError(
            "congestion controls in Python do not run on a page",
            key="--cc",
            right="explore a study of the engine's own",
        )
    start = make_plan(study).cells[0]
    start.check()
    raw, groups = _derive(study, start)
    derived = rebuild(study, Document(study.name, raw, file=study.file))
    axes = dict(start.axes)
    if any(name in raw for name in SHORT):  # a list in a short form is an axis of every cell
        axes = {name: axes.get(name, axis.names[0]) for name, axis in derived.outline.axes.items()}
        new = [name for name in derived.outline.axes if name not in start.axes]
        groups = {name: "tcp" if name.endswith("cc") else "network" for name in new}
    found = Explored(derived, axes, ())
    controls = [
        _control(name, axis, start.axes, axes, groups.get(name, "study"))
        for name, axis in derived.outline.axes.items()
    ]
    return replace(found, controls=tuple(controls)).effective()


def _derive(study: StudySpec, start: Cell) -> tuple[dict[str, Any], dict[str, str]]:
    """The tables of the derived study, and the groups of the axes that are new."""
    document = study.document
    raw: dict[str, Any] = copy.deepcopy(
        dict(document.written if all(map(is_short, document.changes)) else study.raw)
    )
    for key in DROPPED:
        raw.pop(key, None)
    groups: dict[str, str] = {}
    for name in SHORT:
        if name in raw:
            offers.short(raw[name])
            raw["axes"] = {**raw.get("axes", {})}
            return raw, groups
    new = {
        "network": offers.network(study, start),
        "tcp": offers.tcp(study),
        "parameter": offers.parameters(study, start),
    }
    axes = raw.setdefault("axes", {})
    # an axis of other cells alone may set such a key, too: what the page adds comes later
    taken = {key for name, axis in axes.items() if name in start.axes for key in offers.targets(axis)}
    for group, found in new.items():
        for name, axis in found.items():
            if group != "parameter" and taken & set(offers.targets(axis)):
                continue
            while name in axes or (group != "parameter" and name in raw.get("parameters", {})):
                name += "_set"
            axes[name] = axis
            groups[name] = group
    raw["grids"] = [{"cells": [dict(start.axes)]}]
    return raw, groups


def _control(
    name: str,
    axis: schema.Axis,
    chosen: Mapping[str, schema.Scalar],
    axes: Mapping[str, schema.Scalar],
    group: str,
) -> Control:
    titles = {label(v.name): v.title for v in axis.values if isinstance(v, schema.AxisValue) and v.title}
    stops = [Stop(value, titles.get(label(value), text(value))) for value in axis.names]
    ordered = all(_quantity(stop.value) is not None for stop in stops)
    if ordered:
        stops.sort(key=lambda stop: _quantity(stop.value) or 0.0)
    if name in axes:
        base = next(k for k, stop in enumerate(stops) if same_value(stop.value, axes[name]))
    else:
        stops.insert(0, Stop(None, "as in the study"))
        base = 0
    return Control(name, axis.title or name, axis.unit or "", group, tuple(stops), base, ordered)


def _quantity(value: object) -> float | None:
    """What a value is sorted by; None if it is not a quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(_core.parse_quantity(value)[1]) if isinstance(value, str) else None
    except ValueError:
        return None
