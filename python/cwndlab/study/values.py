"""Values of axes: their text, their equality, and their selection."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from cwndlab._core import unit_factor
from cwndlab.base.errors import StudyError

T = TypeVar("T")


def text(value: object) -> str:
    """An axis value as text in a study file; booleans as in TOML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label(value: object) -> str:
    """An axis value as text for comparisons: 1, 1.0 and "1" have one label, and so have true and "true"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else text(value)


def same_value(a: object, b: object) -> bool:
    """Whether two axis values are equal; selections, grids, `set` and results all use this rule."""
    return label(a) == label(b)


def is_among(value: object, values: Iterable[object]) -> bool:
    """Whether an axis value equals one of these."""
    return any(same_value(value, other) for other in values)


def as_list(value: Any) -> list[Any]:
    """The values of a collection or array as a list; a single value, text or mapping as a list of one."""
    if hasattr(value, "__array__"):  # an array of numpy, pandas or xarray
        value = value.__array__().tolist()
    single = isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)
    return [value] if single else list(value)


def select_values(wanted: Any, choices: Iterable[object], unit: str | None) -> list[Any]:
    """The values that a selection names: one, several, or a slice of `choices`, both ends included."""
    if not isinstance(wanted, slice):
        return as_list(wanted)
    inf = float("inf")
    ends = ((wanted.start, -inf), (wanted.stop, inf))
    low, high = (bound if end is None else parse(end, unit)[1] for end, bound in ends)
    if wanted.step is not None or not isinstance(low, int | float) or not isinstance(high, int | float):
        raise StudyError(f"{wanted} selects nothing", right="a slice has numbers as its ends, and no step")
    return [value for value in choices if isinstance(value, int | float) and low <= value <= high]


def find_value(item: object, choices: Collection[T], unit: str | None) -> T | None:
    """The choice that a selection names as 10, "10", "10.0" or "10Mbps"; None if there is no such choice."""
    written, value = parse(item, unit)
    return next((v for v in choices if same_value(v, written) or same_value(v, value)), None)


def parse(item: object, unit: str | None) -> tuple[str, Any]:
    """An axis value as text ("41ms" is converted to the axis's unit), and the value of that text."""
    written = text(item).strip()
    match = re.fullmatch(r"([-+.\deE]+)\s*([^\d\s.]+)", written)
    if match is not None and unit is not None:
        try:
            written = f"{float(match[1]) * unit_factor(match[2], unit):.12g}"
        except ValueError:
            pass
    return written, toml_value(written)


def toml_value(value: Any) -> Any:
    """The value of a text that is a valid TOML value; anything else is returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"] if "\n" not in value else value
    except (tomllib.TOMLDecodeError, RecursionError, KeyError):
        return value
