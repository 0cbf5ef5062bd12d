"""The text of a changed study: its own file with the changes written in and comments kept."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import tomlkit
from tomlkit import TOMLDocument

from cwndlab.base.errors import KeyPath, StudyError
from cwndlab.plan.plan import make_plan, rebuild
from cwndlab.study import toml
from cwndlab.study.document import document_of_text
from cwndlab.study.resolve import steps
from cwndlab.study.schema import GRID, Scalar
from cwndlab.study.study_spec import SETTABLE, StudySpec
from cwndlab.study.values import same_value


def edited_text(study: StudySpec) -> str:
    """The text of a changed study: its file with the changes written in or, failing that, all of it in full.

    The full text has no comments. StudyError if a restriction to some cells cannot be written in a file.
    """
    for write in (_edited, _in_full):
        with suppress(StudyError):
            text = write(study)
            written = rebuild(study, document_of_text(text, name=study.name, file=study.file))
            if _content(written) == _content(study) and _cells(written) == _cells(study):
                return text
    raise StudyError(
        f"the restriction to {', '.join(study.document.chosen)} cannot be written as a study file",
        right="save the study without it, and run that with the same changes",
    )


def _cells(study: StudySpec) -> list[tuple[str, int | None]]:
    return [(cell.id, cell.own_replicates) for cell in make_plan(study)]


def _content(study: StudySpec) -> Mapping[str, Any]:
    """The keys that decide each cell's scenario: studies in which they are equal have equal cells."""
    raw, chosen = study.raw, study.document.chosen
    axes = copy.deepcopy(dict(raw.get("axes", {})))
    for name, kept in chosen.items():
        if name in axes:
            listed = axes[name]["values"]
            axes[name]["values"] = [listed[k] for k in _positions(study.outline.axes[name].names, kept)]
    asked = [{key: value for key, value in q.items() if key != "title"} for q in raw.get("quantities", [])]
    own = {key: raw[key] for key in (*SETTABLE, "sensitivity", "combinations") if key in raw}
    return {**own, "axes": axes, "quantities": asked}


def _edited(study: StudySpec) -> str:
    """The study's file, or the text it would have, with changed keys and chosen values written in."""
    origin = study.document
    document = tomlkit.parse(origin.text if origin.text is not None else toml.dumps(origin.tables))
    for key, value in origin.changes.items():
        if origin.networks and key.partition(".")[0] in ("topology", "traffic"):
            raise StudyError(f"{key} is made by the short form")
        _put(document, steps(document, key, [key.partition(".")[0]]), value)
    for name, kept in origin.chosen.items():
        if name == GRID and name not in study.outline.axes:
            _keep_grids(document, kept)
        elif name in study.outline.axes:
            path = study.place.written_path(("axes", name))
            _keep_values(document, path, study.outline.axes[name].names, kept)
    return tomlkit.dumps(document)


def _put(document: TOMLDocument, path: KeyPath, value: object) -> None:
    here = cast(Any, document)
    for depth, step in enumerate(path[:-1]):
        if isinstance(step, str) and not isinstance(here.get(step), dict | list):
            here[step] = tomlkit.table() if depth == 0 else tomlkit.inline_table()
        here = here[step]
    here[path[-1]] = _item(value)


def _item(value: object) -> object:
    """A value as an item of tomlkit that is written on one line."""
    return tomlkit.parse(toml.line("value", value))["value"]


def _keep_values(
    document: TOMLDocument, path: KeyPath, names: Sequence[Scalar], chosen: Sequence[Scalar]
) -> None:
    """Removes all but the chosen values from the list of an axis; their own text is kept."""
    *above, last = path if path[0] != "axes" else (*path, "values")
    here = cast(Any, document)
    for step in above:
        here = here[step]
    old = here[last]
    positions = zip(_positions(names, chosen), chosen, strict=True)
    here[last] = _item([old[k].unwrap() if k < len(old) else value for k, value in positions])


def _keep_grids(document: TOMLDocument, chosen: Sequence[Scalar]) -> None:
    grids = cast(Any, document)["grids"]
    for index in reversed(range(len(grids))):
        if grids[index].get("name") not in chosen:
            del grids[index]


def _positions(names: Sequence[Scalar], chosen: Sequence[Scalar]) -> list[int]:
    """The index of each chosen value among the values of an axis."""
    return [next(k for k, name in enumerate(names) if same_value(name, value)) for value in chosen]


def _in_full(study: StudySpec) -> str:
    raw, chosen = dict(study.raw), study.document.chosen
    raw["axes"] = _content(study)["axes"]
    if GRID in chosen and GRID not in study.outline.axes:
        raw["grids"] = [grid for grid in raw["grids"] if grid.get("name") in chosen[GRID]]
    return toml.dumps({key: value for key, value in raw.items() if value or key != "axes"})
