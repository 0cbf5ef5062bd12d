"""The key `cc` of a TCP group: a window law by its usual name, with the knobs that it requires.

A congestion control sets its own slow start, as in Linux, where only the CUBIC module has HyStart; DCTCP sets
its ECN. Knobs of the same group take precedence. The module also finds where a study names and varies window
laws.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cwndlab.base.errors import KeyPath, StudyError, nearest, problem_at, similar
from cwndlab.base.laws import OF_YOUR_OWN, LawCode, built_in, from_file, name_versions

from .document import Document
from .knobs import alternative_name
from .study_spec import StudySpec

KEY = "cc"
#: The keys whose value is a window law.
KNOBS = ("window_law", KEY)
#: The former name of the key `cc`, for an error message.
_FORMER_KEY = "congestion_control"
_STANDARD = {"slow_start": "standard"}
#: Other common names of the engine's window laws.
NAMES: Mapping[str, str] = {"newreno": "reno", "new-reno": "reno", "ledbat++": "ledbat-plus-plus"}
_WITH: Mapping[str, Mapping[str, Any]] = {
    "dctcp": {**_STANDARD, "ecn": "dctcp"},
    "prague": {**_STANDARD, "ecn": "accecn-ect1"},
    "ledbat-plus-plus": {**_STANDARD, "initial_window": 2},
    "ledbat": {**_STANDARD, "initial_window": 2},
}


def default_ecn(law: str) -> str | None:
    """The value to which `cc` sets the knob `ecn` for a window law; None if it does not set the knob."""
    form = _WITH.get(law, {}).get("ecn")
    return None if form is None else str(form)


def congestion_control(given: str) -> tuple[str, LawCode | None]:
    """The name and the code of the congestion control that `--cc` selects; no code for the engine's own laws.

    It is a window law of the engine, a class (`[NAME=]FILE.py[:CLASS]`), a trained policy
    (`[NAME=]FILE.onnx`) or a crate with a law in Rust (`[NAME=]FOLDER`); anything else raises StudyError.
    """
    is_folder = given not in built_in() and Path(given.partition("=")[2] or given).is_dir()
    if is_folder or re.search(r"\.(py(:|\Z)|onnx\Z)", given):
        law = from_file(given)
        return law.name, law
    name = NAMES.get(given, given)
    if name not in built_in():
        own = "one of your own is FILE.py:CLASS, FILE.onnx or a crate's folder"
        right = f"{name_versions(given) or nearest(given, built_in())}; {own}"
        raise StudyError(f"there is no congestion control {given!r}", key="--cc", right=right)
    return name, None


def is_unknown(given: Mapping[str, Any], own_laws: Collection[str]) -> bool:
    """Whether a group names a window law that neither the engine nor `own_laws` has."""
    named = [NAMES.get(name, name) for key in KNOBS if isinstance(name := given.get(key), str)]
    return any(name not in built_in() and name not in own_laws for name in named)


class UnknownLawError(StudyError):
    """A congestion control whose name resembles no known name: `--cc` may still define it."""


def spell_out(
    given: Mapping[str, Any],
    profile: Mapping[str, Any],
    path: KeyPath,
    own_laws: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """The knobs of a group, with `cc` replaced by the knobs of its congestion control.

    `own_laws` has the names of laws that the engine lacks, each with the knobs that it sets.
    """
    at = (*path, KEY)
    if _FORMER_KEY in given:
        right = f"write {KEY} = {given[_FORMER_KEY]!r}"
        raise problem_at((*path, _FORMER_KEY), f"there is no key {_FORMER_KEY!r} any more", right)
    if KEY not in given:
        return dict(given)
    if "window_law" in given:
        raise problem_at(at, "`window_law` says this already", "leave out one of them")
    name = given[KEY]
    law = NAMES.get(name, name) if isinstance(name, str) else name
    laws = tuple(dict.fromkeys((*built_in(), *own_laws)))
    if law not in laws:
        kind = UnknownLawError if similar(str(name), laws) is None else StudyError
        right = f"{name_versions(str(name)) or nearest(str(name), laws)}; {OF_YOUR_OWN}"
        raise kind(f"there is no congestion control {name!r}", right=right, path=at)
    own: Mapping[str, Any] = _WITH.get(law) or {**_STANDARD, **own_laws.get(law, {})}
    if law == "cubic" and alternative_name(profile["window_law"]).startswith("cubic"):
        own = {}  # use the profile's own CUBIC, with its slow start
    else:
        own = {"window_law": law, **own}
    return {**own, **{key: value for key, value in given.items() if key != KEY}}


def name_laws(study: StudySpec, laws: Iterable[str]) -> Document:
    """The study's document, changed so that it uses each of these laws.

    Laws that the study uses already change nothing. Any other law becomes a further value of the axis that
    varies the window law, with the other settings of the axis's first value. StudyError without such an axis.
    """
    used = set(_used(study.raw))
    new = [name for name in laws if name not in used]
    if not new:
        return study.document
    axes = [name for name in study.outline.axes if _varies(study.raw, name)]
    if not axes and (document := _add_to_only_law(study.document, new)) is not None:
        return document
    if len(axes) != 1:
        varied = f"{len(axes)} axes vary it ({', '.join(axes)})" if axes else "no axis varies it"
        raise StudyError(
            f'the study does not use the window law "{new[0]}", and {varied}',
            key=f"--cc {new[0]}",
            right=f'write window_law = "{new[0]}" in the study, or --set tcp.window_law={new[0]}',
        )
    values = study.raw["axes"][axes[0]]["values"]
    return study.document.change(
        {f"axes.{axes[0]}.values": [*values, *(_value(values[0], name) for name in new)]}
    )


def _add_to_only_law(document: Document, new: Iterable[str]) -> Document | None:
    """The document in which the only flow with a congestion control also runs with the laws `new`.

    None if no flow of a short form, or more than one, has a congestion control.
    """
    for section in document.networks:
        flows = [dict(flow) for flow in document.tables[section].get("flows", ())]
        named = [flow for flow in flows if isinstance(flow.get(KEY), str)]
        if len(named) == 1 and f"{section}.flows" not in document.changes:
            named[0].setdefault("name", named[0][KEY])
            named[0][KEY] = [named[0][KEY], *new]
            return document.change({f"{section}.flows": flows})
    return None


def _used(value: Any, key: str = "") -> Iterator[str]:
    """Yields every window law that the study names, including the values of its axes."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _used(item, name)
        axes = {**value.get("axes", {}), **value.get("sensitivity", {})} if not key else {}
        for name, axis in axes.items():
            if _varies(value, name):
                values = axis["values"]
                yield from (str(v["name"] if isinstance(v, dict) else v) for v in values)
    elif isinstance(value, list):
        for item in value:
            yield from _used(item, "[]")
    elif isinstance(value, str) and key.split(".")[-1] in KNOBS:
        yield value


def _varies(raw: Mapping[str, Any], name: str) -> bool:
    """Whether an axis varies the window law: by setting the knob, or by a reference to the axis."""
    axis = {**raw.get("axes", {}), **raw.get("sensitivity", {})}[name]
    sets = axis.get("sets", [])
    keys = [sets] if isinstance(sets, str) else list(sets)
    keys += [key for value in axis["values"] if isinstance(value, dict) for key in value.get("set", {})]
    return any(key.split(".")[-1] in KNOBS for key in keys) or f"${name}" in _used(raw.get("tcp", {}), "tcp")


def _value(first: Any, name: str) -> Any:
    """A new value for an axis: the settings of its first value, but with this window law."""
    if not isinstance(first, dict):
        return name
    settings = {
        key: name if key.split(".")[-1] in KNOBS else value for key, value in first.get("set", {}).items()
    }
    return {"name": name, "set": settings}
