"""Checks a study's quantities before anything is run: metrics, options, names and units."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

from pydantic import create_model

from cwndlab.errors import nearest
from cwndlab.plan.plan import make_plan
from cwndlab.spec.base import Strict
from cwndlab.spec.findings import Findings
from cwndlab.spec.schema import Model, Quantity
from cwndlab.spec.study import StudySpec
from cwndlab.spec.validate import Invalid, validate

from . import ALIASES, built_in, get, names, scale_of


def check_quantities(study: StudySpec) -> None:
    """StudyError for all quantities whose metric, options or unit do not fit."""
    quantities = {quantity.name: quantity for quantity in study.outline.quantities}
    findings = Findings()
    for index, quantity in enumerate(quantities.values()):
        with findings:
            _check_metric(study, index, quantity)
    findings.report()
    _check_names(study)
    for index, quantity in enumerate(quantities.values()):
        try:
            scale_of(quantity, quantities)
        except ValueError as error:
            key = "of" if quantity.unit is None else "unit"
            findings.note(study.place.error(("quantities", index, key), str(error)))
    findings.report()


def _check_metric(study: StudySpec, index: int, quantity: Quantity) -> None:
    if quantity.metric is None:
        return
    if quantity.metric not in {*built_in(), *ALIASES} and quantity.metric not in names():
        known = [*names(), *ALIASES]
        problem = f'there is no metric "{quantity.metric}"'
        raise study.place.error(("quantities", index, "metric"), problem, nearest(quantity.metric, known))
    try:
        validate(_options(get(quantity.metric).measure), quantity.options)
    except Invalid as error:
        findings = Findings()
        for one in (error, *error.others):
            # A missing option has no line of its own: the quantity has.
            missing = one.path and one.path[0] not in quantity.options
            path = () if missing else ("options", *one.path)
            problem = f"metric {quantity.metric}: {one.problem}"
            problem += f": options.{one.path[0]}" if missing else ""
            findings.note(study.place.error(("quantities", index, *path), problem, one.right))
        raise findings.error() from None


@cache
def _options(measure: Callable[..., Any]) -> type[Strict]:
    """A metric's options as a model: the keyword-only parameters of its function."""
    hints = get_type_hints(measure, include_extras=True)
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default)
        for p in inspect.signature(measure).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    return create_model("Options", __base__=Strict, **fields)


def _check_names(study: StudySpec) -> None:
    """StudyError for the first traffic or link among the options that no cell has."""
    known = _names_in(study.base)
    everywhere = False
    for index, quantity in enumerate(study.outline.quantities):
        for option in known.keys() & quantity.options.keys():
            asked = quantity.options[option]
            for name in asked if isinstance(asked, list) else [asked]:
                if name not in known[option] and not everywhere:
                    everywhere = True  # an axis may rename what the first cell has
                    for cell in make_plan(study).cells:
                        for kind, more in _names_in(study.model(cell.axes)).items():
                            known[kind] |= more
                if name not in known[option]:
                    what = "traffic" if option == "traffic" else "direction of a link"
                    raise study.place.error(
                        ("quantities", index, "options", option),
                        f'there is no {what} "{name}"',
                        nearest(str(name), sorted(known[option])),
                    )


def _names_in(model: Model) -> dict[str, set[str]]:
    """What the options `traffic` and `link` can name in a cell."""
    ends = [[[end] if isinstance(end, str) else end for end in link.between] for link in model.topology.links]
    pairs = [(a, b) for one, other in ends for a in one for b in other]
    return {
        "traffic": {entry.name for entry in model.traffic},
        "link": {name for a, b in pairs for name in (f"{a}>{b}", f"{b}>{a}")},
    }
