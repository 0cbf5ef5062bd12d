"""Quantities as people write them. The strict parsing itself is the core's (`cwndlab-units`); here are the
types of the schema.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from cwndlab import _core

#: Number and unit of a packet count or of a multiple of the bandwidth-delay product: "25pkt", "1BDP".
_PACKETS = re.compile(r"\s*(\d{1,12})\s*(pkt|pkts|packets|packet|segments|segment)\s*\Z")
_BDP = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*BDP\s*\Z")


def parse_time(value: object) -> int:
    """Nanoseconds of "50ms"; ValueError says what would be right."""
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is not a time; write a number and its unit in quotes, like "50ms"')
    return int(_core.parse_time(value))


def parse_rate(value: object) -> int:
    """Bits per second of "1.5Mbps" (decimal prefixes)."""
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is not a rate; write a number and its unit in quotes, like "1.5Mbps"')
    rate = int(_core.parse_rate(value))
    if rate == 0:
        raise ValueError("a rate must be above 0bps")
    return rate


def parse_bytes(value: object) -> int:
    """Bytes of "64KiB"."""
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is not a size; write a number and its unit in quotes, like "1460B"')
    return int(_core.parse_bytes(value))


def parse_packets(value: str) -> int | None:
    """25 of "25pkt"; None if the text is no packet count."""
    found = _PACKETS.match(value)
    return int(found[1]) if found else None


def parse_bdp(value: str) -> float | None:
    """1.0 of "1BDP"; None if the text is no multiple of the bandwidth-delay product."""
    found = _BDP.match(value)
    return float(found[1]) if found else None


def _written(example: str, what: str) -> Any:
    return WithJsonSchema({"type": "string", "examples": [example], "description": what})


#: A time, held in nanoseconds.
TimeNs = Annotated[int, BeforeValidator(parse_time), _written("50ms", "a time: ns us ms s min h")]
#: A rate, held in bit/s.
RateBps = Annotated[int, BeforeValidator(parse_rate), _written("1.5Mbps", "a rate: bps kbps Mbps Gbps")]
#: A size, held in bytes.
SizeBytes = Annotated[int, BeforeValidator(parse_bytes), _written("1460B", "a size: B kB KiB MB MiB GB GiB")]


def seconds(time: str | float) -> float:
    """A time of a study ("15s"), or a number that is in seconds already."""
    return time if isinstance(time, (int, float)) else parse_time(time) / 1e9
