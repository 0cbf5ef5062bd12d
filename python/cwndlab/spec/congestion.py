"""`cc = "cubic"` in a TCP group: a window law by the name that people give it, with what belongs to it.

As in Linux, where HyStart is a part of the CUBIC module and no other, a congestion control brings its own
slow start; DCTCP brings its ECN. Knobs of the same group take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cwndlab.errors import KeyPath, StudyError, nearest, problem_at
from cwndlab.laws import LawCode, built_in, from_file

from .knobs import word

KEY = "cc"
#: What the key was called, too.
_FORMER_KEY = "congestion_control"
_STANDARD = {"slow_start": "standard"}
#: Names that people give to window laws of the engine.
NAMES: Mapping[str, str] = {"newreno": "reno", "new-reno": "reno", "ledbat++": "ledbat-plus-plus"}
_WITH: Mapping[str, Mapping[str, Any]] = {
    "dctcp": {**_STANDARD, "ecn": "dctcp"},
    "prague": {**_STANDARD, "ecn": "accecn-ect1"},
    "ledbat-plus-plus": {**_STANDARD, "initial_window": 2},
    "ledbat": {**_STANDARD, "initial_window": 2},
}


def congestion_control(given: str) -> tuple[str, LawCode | None]:
    """What `--cc` names: a window law of the engine, or `[NAME=]FILE.py[:CLASS]`, a class of the user's own.

    StudyError if it is neither.
    """
    if re.search(r"\.py(:|\Z)", given):
        law = from_file(given)
        return law.name, law
    name = NAMES.get(given, given)
    if name not in built_in():
        right = f"{nearest(given, built_in())}; one of your own is FILE.py:CLASS"
        raise StudyError(f"there is no congestion control {given!r}", key="--cc", right=right)
    return name, None


def spell_out(
    given: Mapping[str, Any],
    profile: Mapping[str, Any],
    path: KeyPath,
    own_laws: Mapping[str, LawCode] = MappingProxyType({}),
) -> dict[str, Any]:
    """The knobs of a group with those of its congestion control in place of `cc`."""
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
    known = (*built_in(), *own_laws)
    if law not in known:
        right = f"{nearest(str(name), known)}; one of your own needs --cc FILE.py:CLASS"
        raise problem_at(at, f"there is no congestion control {name!r}", right)
    own: Mapping[str, Any] = _WITH.get(law, _STANDARD)
    if law == "cubic" and word(profile["window_law"]).startswith("cubic"):
        own = {}  # the profile's own CUBIC, with its slow start
    else:
        own = {"window_law": law, **own}
    return {**own, **{key: value for key, value in given.items() if key != KEY}}
