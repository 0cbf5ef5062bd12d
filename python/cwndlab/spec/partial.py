"""Short forms of which parts are wrong: the rest is read, so that one message names all that is wrong."""

from __future__ import annotations

import copy
from typing import Any

from .shorthand import Short
from .validate import Collected, Invalid, Path, validate

#: Stand for keys of a network that do not fit and cannot be left out, while the rest is checked.
NEEDED: dict[str, Any] = {"rate": "1Mbps", "rtt": "1ms", "flows": [{}]}


def readable(given: dict[str, Any], wrong: Collected) -> Short:
    """The short forms. What does not fit is noted and left out, so that the rest can be checked as well."""
    with wrong:
        return validate(Short, given)
    given = copy.deepcopy(given)
    for one in wrong.found:
        _leave_out(given, one.path)
    try:
        return validate(Short, given)
    except Invalid:
        wrong.report()
        raise


def _leave_out(given: dict[str, Any], path: Path) -> None:
    """Takes the key at a path out; one that must be there gets a value that fits."""
    network = given.get(str(path[0]))
    if len(path) == 1 or not isinstance(network, dict):
        given.pop(str(path[0]), None)
        return
    key, *further = path[1:]
    groups = network.get(str(key))
    if key in ("flows", "cross") and further and isinstance(groups, list):
        index, *inside = further
        if inside and isinstance(groups[int(index)], dict):
            groups[int(index)].pop(inside[0], None)
        else:
            groups[int(index)] = {}
    elif key in NEEDED:
        network[str(key)] = NEEDED[str(key)]
    else:
        network.pop(str(key), None)
