"""A replicate's values as one line of text: key, checksum, JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from cwndlab.base.core import Value


def _checksum(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2s(key + b" " + body, digest_size=8).hexdigest().encode()


def line_of(key: str, values: Mapping[str, Value]) -> bytes:
    """A replicate's values as they are kept."""
    body = json.dumps(_no_nan(values), separators=(",", ":"), allow_nan=False).encode()
    return b"%s %s %s\n" % (key.encode(), _checksum(key.encode(), body), body)


def line_key(line: bytes) -> str | None:
    """The key of a line that fits its checksum."""
    parts = line.rstrip(b"\n").split(b" ", 2)
    if not line.endswith(b"\n") or len(parts) != 3 or _checksum(parts[0], parts[2]) != parts[1]:
        return None
    return parts[0].decode("ascii", "replace")


def line_values(line: bytes) -> Mapping[str, Value]:
    """What `line_of` made a line of."""
    raw: dict[str, Any] = json.loads(line.split(b" ", 2)[2])
    if not isinstance(raw, dict):
        raise ValueError("a line of values holds no object")
    return {
        # Most are numbers: a call for each would take longer than reading them.
        name: [item if item.__class__ is float else _number(item) for item in value]
        if isinstance(value, list)
        else _number(value)
        for name, value in raw.items()
    }


#: JSON has no NaN and no infinity.
_WORDS: dict[str | None, float] = {None: math.nan, "inf": math.inf, "-inf": -math.inf}


def _number(value: Any) -> float:
    if value is None or isinstance(value, str):
        if value not in _WORDS:
            raise ValueError(f"{value!r} is not a number")
        return _WORDS[value]
    return value if isinstance(value, float) else float(value)


def _no_nan(values: Mapping[str, Value]) -> dict[str, Any]:
    def word(value: float) -> Any:
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"

    def words(items: list[float]) -> list[Any]:
        return items if all(map(math.isfinite, items)) else [word(item) for item in items]

    return {k: words(v) if isinstance(v, list) else word(v) for k, v in values.items()}
