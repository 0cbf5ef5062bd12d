"""Types of the schema for quantities with units. The Rust crate `cwndlab-units` parses their texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from cwndlab import _core
from cwndlab.base.errors import StudyError, nearest


def _parse(value: object, parse: Callable[[str], int], kind: str, example: str) -> int:
    """The integer that `parse` reads from a text; ValueError with an example, or the nearest unit."""
    if not isinstance(value, str):
        raise ValueError(
            f'{value!r} is not a {kind}; write a number and its unit in quotes, like "{example}"'
        )
    try:
        return int(parse(value))
    except ValueError as error:
        message = str(error)
        given = re.search(r"[A-Za-zµ/]+\s*\Z", value)
        units = re.search(r"one of (.*?), like", message)
        if given and units and "unit is unknown" in message:
            unit = nearest(given[0].strip(), units[1].split())
            if unit.startswith("did you mean"):
                raise ValueError(f"{message.split(';')[0]}; {unit}") from None
        raise


def parse_time(value: object) -> int:
    """The nanoseconds in a text like "50ms"; ValueError with the remedy."""
    return _parse(value, _core.parse_time, "time", "50ms")


def parse_rate(value: object) -> int:
    """The bits per second in a text like "1.5Mbps" (decimal prefixes); ValueError for 0."""
    if (rate := _parse(value, _core.parse_rate, "rate", "1.5Mbps")) == 0:
        raise ValueError("a rate must be above 0bps")
    return rate


def parse_zero_rate(value: object) -> int:
    """The bits per second in a text, which may be 0."""
    return 0 if isinstance(value, str) and re.fullmatch(r"0+\s*[A-Za-z/]+", value) else parse_rate(value)


def parse_bytes(value: object) -> int:
    """The bytes in a text like "64KiB"."""
    return _parse(value, _core.parse_bytes, "size", "1460B")


def parse_share(value: object) -> float:
    """The share in a text like "2%": 0.02."""
    try:
        kind, share = _core.parse_quantity(value) if isinstance(value, str) else ("", 0.0)
    except ValueError:
        kind, share = "", 0.0
    if kind != "share":
        raise ValueError(f'{value!r} is not a valid percentage; write it in quotes, like "2%"')
    return share


def text_schema(example: str, what: str) -> Any:
    """The JSON schema of a value that is written as text."""
    return WithJsonSchema({"type": "string", "examples": [example], "description": what})


def _writer(digits: int, zero: str, **units: int) -> Callable[[int], str]:
    """Returns a function that writes an integer as text, in the largest of these units for which it has at
    most `digits` digits after the point; 0 is written as `zero`.
    """

    def write(value: int) -> str:
        fit = (unit for unit, size in units.items() if size <= value and value * 10**digits % size == 0)
        unit = next(fit, "")
        return f"{Decimal(value) / units[unit]:f}{unit}" if value else zero

    return write


def share_text(share: float) -> str:
    """A share as text: "2%" for 0.02."""
    return f"{100 * share:.12g}%"


time_text = _writer(3, "0s", s=1_000_000_000, ms=1_000_000, us=1000, ns=1)
rate_text = _writer(3, "0bps", Gbps=1_000_000_000, Mbps=1_000_000, kbps=1000, bps=1)
size_text = _writer(0, "0B", MB=1_000_000, kB=1000, B=1)
AS_PERCENTAGE = PlainSerializer(share_text, return_type=str)
#: A share between 0 and 1, written as a percentage.
Share = Annotated[float, BeforeValidator(parse_share), AS_PERCENTAGE, text_schema("2%", "a percentage")]
TimeNs = Annotated[
    int,
    BeforeValidator(parse_time),
    PlainSerializer(time_text, return_type=str),
    text_schema("50ms", "a time: ns us ms s min h"),
]
RateBps = Annotated[
    int,
    BeforeValidator(parse_rate),
    PlainSerializer(rate_text, return_type=str),
    text_schema("1.5Mbps", "a rate: bps kbps Mbps Gbps, or Mbit/s"),
]
SizeBytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    PlainSerializer(size_text, return_type=str),
    text_schema("1460B", "a size: B kB KiB MB MiB GB GiB"),
]


def parse_seconds(value: object) -> float:
    """The seconds in a text like "15s"; a number is in seconds already."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < float("inf"):
            raise ValueError(f'{value!r} is not a time of the run; write for instance "15s"')
        return float(value)
    return parse_time(value) / 1e9


def seconds(name: str, value: object) -> float:
    """The seconds of an argument, which a StudyError names if its value is invalid."""
    try:
        return parse_seconds(value)
    except ValueError as error:
        raise StudyError(str(error), key=name) from None


#: A number of seconds, written as a time with a unit.
Seconds = Annotated[float, BeforeValidator(parse_seconds), text_schema("15s", "a time: ns us ms s min h")]
