"""QUIC stacks in place of TCP: `stack = "quinn"` in the short form, `profile = "quinn"` in a group.

The engine defines the stacks and their options (`_core.kinds`), and checks the values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from cwndlab import _core
from cwndlab.base.errors import KeyPath, problem_at

from . import knobs


@cache
def names() -> tuple[str, ...]:
    """The names of the stacks in this build."""
    kinds = json.loads(_core.kinds())["stack"].get("oneOf", [])
    return tuple(kind["properties"]["stack"]["const"] for kind in kinds)


@cache
def congestion_controls(stack: str) -> tuple[str, ...]:
    """The names of a stack's congestion controls."""
    kinds = json.loads(_core.kinds())["stack"]
    (kind,) = (option for option in kinds["oneOf"] if option["properties"]["stack"]["const"] == stack)
    laws = kinds["$defs"][kind["properties"]["cc"]["$ref"].rsplit("/", 1)[1]]
    return tuple(law["const"] for law in laws["oneOf"])


def table(stack: str, given: Mapping[str, Any], at: KeyPath) -> dict[str, Any]:
    """The scenario's table for a TCP group that uses this stack."""
    if "window_law" in given:
        right = f"write cc = {given['window_law']!r}"
        raise problem_at((*at, "window_law"), f"{stack} has no knobs of TCP", right)
    return {"stack": stack, **knobs.convert_to_base_units(given, at)}
