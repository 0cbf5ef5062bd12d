"""Values of axes: how they are written, and which are the same."""

from __future__ import annotations


def text(value: object) -> str:
    """An axis value as the study writes it; true and false as TOML has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label(value: object) -> str:
    """An axis value as it is compared: 1, 1.0 and "1" are one label, and so are true and "true"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else text(value)


def same_value(a: object, b: object) -> bool:
    """Whether two axis values are the same: the one notion of it, in selections, grids, `set` and results."""
    return label(a) == label(b)
