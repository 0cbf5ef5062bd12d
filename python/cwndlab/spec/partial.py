"""Reads short forms that are wrong in part, so that one message names everything that is wrong."""

from __future__ import annotations

import copy
from typing import Any

from cwndlab.errors import KeyPath, StudyError

from .findings import Findings
from .shorthand import Short
from .validate import validate

#: Stand for keys that do not fit and cannot be left out, while the rest is checked.
STAND_INS: dict[str | int, Any] = {
    "duration": "1h",
    "rate": "1Mbps",
    "delay": "1ms",
    "rtt": "1ms",
    "flows": [{}],
}


def read_short_forms(given: dict[str, Any], wrong: Findings) -> Short:
    """The short forms. What does not fit is noted and left out, so that the rest can be checked as well."""
    with wrong:
        return validate(Short, given)
    given = copy.deepcopy(given)
    for one in wrong.errors:
        leave_out(given, one.path or ())
    try:
        return validate(Short, given)
    except StudyError:
        wrong.report()
        raise


def leave_out(given: dict[str, Any], path: KeyPath) -> None:
    """Takes the key at a path out; one that must be there gets a value that fits."""
    if not path:
        return
    key, *further = path
    inside = given.get(str(key))
    index = further[0] if further else None
    entry = None
    if isinstance(inside, list) and isinstance(index, int) and index < len(inside):  # or left out
        entry = inside[index]
    if isinstance(entry, dict):
        if len(further) > 1:
            leave_out(entry, tuple(further[1:]))
        else:
            entry.clear()
    elif further and isinstance(inside, dict):
        leave_out(inside, tuple(further))
    elif key in STAND_INS:
        given[str(key)] = copy.deepcopy(STAND_INS[key])
    else:
        given.pop(str(key), None)
