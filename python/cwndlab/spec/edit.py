"""The text of a changed study: its own file with the changes written in, comments kept."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from cwndlab.errors import StudyError

from . import toml
from .expand import NETWORKS
from .resolve import steps
from .schema import Scalar
from .study import GRID, SETTABLE, KeyPath, StudySpec
from .values import same_value

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def candidates(study: StudySpec) -> Iterator[str]:
    """Study files that may stand for a changed study, the best one first; the caller checks their cells.

    First its own text with the changes written in, then everything in full, without comments.
    """
    for make in (_edited, _in_full):
        with suppress(StudyError):
            yield make(study)


def _edited(study: StudySpec) -> str:
    """The file (or what would be it) with the changed keys and the chosen values written in."""
    import tomlkit

    written = study.written or study.raw
    document = tomlkit.parse(study.text if study.text is not None else toml.dumps(written))
    sections = [*(name for name in NETWORKS if name in written), *SETTABLE]
    for key, value in study.changed.items():
        if key.split(".")[0] in SETTABLE and not _writable(key, study):
            raise StudyError(f"{key} is made by the short form")
        _put(document, steps(document, key, sections), value)
    for name, values in study.chosen.items():
        if name == GRID and name not in study.outline.axes:
            _keep_grids(document, values)
        else:
            path = study.place.written_path(("axes", name))
            _keep_values(document, path, study.outline.axes[name].names, values)
    return tomlkit.dumps(document)


def _writable(key: str, study: StudySpec) -> bool:
    """Whether a key of the full form can be combined with the short form."""
    return study.written is None or key.split(".")[0] not in ("topology", "traffic")


def _put(document: TOMLDocument, path: KeyPath, value: object) -> None:
    import tomlkit

    here = cast(Any, document)
    for depth, step in enumerate(path[:-1]):
        if isinstance(step, str) and not isinstance(here.get(step), dict | list):
            here[step] = tomlkit.table() if depth == 0 else tomlkit.inline_table()
        here = here[step]
    here[path[-1]] = _item(value)


def _item(value: object) -> object:
    """A value as TOML writes it on one line."""
    import tomlkit

    return tomlkit.parse(toml.line("value", value))["value"]


def _keep_values(
    document: TOMLDocument, path: KeyPath, names: Sequence[Scalar], chosen: Sequence[Scalar]
) -> None:
    """Leaves only the chosen values in the list of an axis, with what is written for them."""
    *above, last = path if path[0] != "axes" else (*path, "values")
    here = cast(Any, document)
    for step in above:
        here = here[step]
    old = here[last]
    kept = []
    for value in chosen:
        index = next(k for k, name in enumerate(names) if same_value(name, value))
        kept.append(old[index].unwrap() if index < len(old) else value)
    here[last] = _item(kept)


def _keep_grids(document: TOMLDocument, chosen: Sequence[Scalar]) -> None:
    grids = cast(Any, document)["grids"]
    for index in reversed(range(len(grids))):
        if grids[index].get("name") not in chosen:
            del grids[index]


def _in_full(study: StudySpec) -> str:
    raw = copy.deepcopy(dict(study.raw))
    for name, values in study.chosen.items():
        if name in study.outline.axes:
            names = study.outline.axes[name].names
            kept = [next(k for k, n in enumerate(names) if same_value(n, v)) for v in values]
            raw["axes"][name]["values"] = [raw["axes"][name]["values"][k] for k in kept]
        else:
            raw["grids"] = [grid for grid in raw["grids"] if grid.get("name") in values]
    return toml.dumps(raw)
