"""Writes tables as TOML: the study file of a study that was changed or built in code."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

#: The longest line for an inline table; longer tables get a heading.
LONGEST_LINE = 110
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def dumps(tables: Mapping[str, Any]) -> str:
    """TOML text that reads back as `tables`."""
    lines: list[str] = []
    _table(tables, [], lines)
    return "\n".join(lines).strip() + "\n"


def _table(table: Mapping[str, Any], at: list[str], lines: list[str]) -> None:
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping) or _is_tables(value)}
    # Either all inner tables are inline or none, because mixing them would change the order of axes.
    inline = bool(at) and all(len(line(*item)) <= LONGEST_LINE for item in tables.items())
    nested: list[tuple[str, Any]] = []
    for key, value in table.items():
        if key in tables and not inline:
            nested.append((key, value))
        else:
            lines.append(line(key, value))
    for key, value in nested:
        path = [*at, _key(key)]
        if isinstance(value, Mapping):
            inner: list[str] = []
            _table(value, path, inner)
            if not inner or inner[0]:  # a table of tables alone needs no heading of its own
                lines += ["", f"[{'.'.join(path)}]"]
            lines += inner
        else:
            for item in value:
                lines += ["", f"[[{'.'.join(path)}]]"]
                _table(item, path, lines)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def line(key: str, value: Any) -> str:
    """A line of TOML with a key and its value."""
    return f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _BARE.match(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }" if value else "{}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return value.isoformat()  # type: ignore[no-any-return]  # dates and times, the only other types of TOML


def _text(value: str) -> str:
    """A TOML string: JSON's escapes are valid in TOML, but DEL must be escaped, too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
