"""Converts values of the short forms to values of the full form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from cwndlab.base.errors import KeyPath, problem_at

from .base import Drawn
from .units import parse_time, parse_zero_rate, time_text
from .values import text

N = TypeVar("N", int, float)
Raw: TypeAlias = dict[str, Any]


#: The longest round trip (ns) that TCP can measure: half the range of 32-bit timestamps in microseconds.
MAX_RTT = (1 << 31) * 1000


def check_round_trip(rtt: int | Raw | Sequence[int | Raw], at: KeyPath) -> None:
    """StudyError if a round trip (ns) is longer than TCP can measure."""
    values = [rtt] if isinstance(rtt, int | dict) else rtt
    longest = max((value for value in values if isinstance(value, int)), default=0)
    if longest > MAX_RTT:
        problem = f"a round trip of {longest / 60e9:g} min is longer than TCP can measure"
        raise problem_at(at, problem, "at most 35 min")


def longest_round_trip(rtts: Sequence[int | Raw | Sequence[int | Raw]]) -> int | None:
    """The longest of these round trips (ns); None if a round trip changes during the run."""
    values = [value for rtt in rtts for value in (rtt if isinstance(rtt, list) else [rtt])]
    fixed = [value for value in values if isinstance(value, int)]
    return max(fixed) if len(fixed) == len(values) else None


def round_trip_steps(rtt: Raw, at: KeyPath) -> Mapping[str, str]:
    """The steps of a round trip that changes: time -> round-trip time; StudyError if they are invalid."""
    steps = rtt.get("at")
    if not isinstance(steps, dict) or "0s" not in steps:
        right = 'write rtt = { at = { "0s" = "40ms", "20s" = "80ms" } }'
        raise problem_at(at, "the times from which each value holds are missing", right)
    for time, value in steps.items():
        try:
            parse_time(value)
        except ValueError as error:
            raise problem_at((*at, "at", time), str(error)) from None
    return steps


def halve_round_trip(rtt: int | Raw, at: KeyPath) -> str | Raw:
    """Half of a round-trip time, as text; for one that changes, its table with every value halved."""
    if isinstance(rtt, int):
        return time_text(rtt // 2)
    if "trace" in rtt:
        factor = rtt.get("factor", 1)
        number = isinstance(factor, int | float) and not isinstance(factor, bool)
        return {**rtt, "factor": factor / 2 if number else factor}
    steps = round_trip_steps(rtt, at).items()
    return {**rtt, "at": {time: time_text(parse_time(value) // 2) for time, value in steps}}


def own_name(flows: str) -> str:
    """The name of a group of flows as part of an axis's or parameter's name, which has no - or +."""
    return flows.replace("-", "_").replace("+", "_")


def quantity_text(value: N | Raw, write: Callable[[N], str]) -> str | Raw:
    """A quantity as text; a quantity that changes over time stays a table."""
    return value if isinstance(value, dict) else write(value)


def interval_texts(down: Sequence[Sequence[int]]) -> list[list[str]]:
    """The start and the end of each interval (ns), as texts with a unit."""
    return [[time_text(edge) for edge in interval] for interval in down]


def value_labels(values: Sequence[str | Raw]) -> list[str]:
    """Names for an axis's values; values of the same kind are distinguished by other keys: "codel ecn"."""
    kinds = [_value_label(value) for value in values]
    labels = kinds.copy()
    for k, value in enumerate(values):
        if kinds.count(kinds[k]) > 1 and isinstance(value, dict):
            own = {key: v for key, v in value.items() if key not in ("kind", "limit", "at", "queue", "trace")}
            words = [key if v is True else f"{key} {v}" for key, v in own.items() if not isinstance(v, dict)]
            labels[k] = " ".join([labels[k], *words])
    return [label if labels.count(label) == 1 else f"{label} {k + 1}" for k, label in enumerate(labels)]


def _value_label(value: str | Raw) -> str:
    """The name of one value; for a value that changes, such as "100Mbps to 10Mbps every 200ms"."""
    if isinstance(value, str):
        return value
    steps = value.get("at")
    if not isinstance(steps, dict):
        return str(value.get("queue", value).get("kind", value.get("trace", "changing")))
    every = f" every {value['repeat']}" if "repeat" in value else ""
    return " to ".join(map(str, steps.values())) + every


def highest_rate(rate: int | Raw) -> int:
    """The highest rate (bit/s) of a value that may change over time; 0 for a trace."""
    if isinstance(rate, int):
        return rate
    steps = rate.get("at", {})
    rates = [value for value in steps.values() if isinstance(value, str)] if isinstance(steps, dict) else []
    try:
        return max(map(parse_zero_rate, rates), default=0)
    except ValueError:
        return 0  # the check of the full form reports the error


def tidy(value: float) -> int | float:
    """A number without the rounding errors of a change of unit; an int if it is whole."""
    rounded = round(value, 9)
    return int(rounded) if float(rounded).is_integer() else rounded


def limit_text(buffer: float | str) -> str:
    """A buffer as the limit of a queue: a number is in BDP."""
    return buffer if isinstance(buffer, str) else f"{text(tidy(buffer))}BDP"


def with_shaper(shaper: Raw | None, queue: Raw) -> Raw:
    """The table of a queue, put behind a shaper unless that is None; the shaper's FIFO replaces drop-tail."""
    if shaper is None:
        return queue
    fifo = queue.keys() == {"kind", "limit"} and queue["kind"] == "drop-tail"
    return {**shaper, **({"limit": queue["limit"]} if fifo else {"queue": queue})}


def queue_table(
    queue: str | Mapping[str, Any] | None, limit: str, mark_above: str | None = None, given: str | None = None
) -> Raw:
    """The table of a queue from its kind, its table, or the length above which it marks packets.

    RED with equal thresholds on the current queue length is DCTCP's marking (RFC 8257, section 3.1). CAKE and
    kernel queues have their own limits; for CAKE, a buffer that is `given` takes precedence.
    """
    if mark_above is not None:
        step = {"min_th": mark_above, "max_th": mark_above, "w_q": 1.0, "ecn": True, "hard_drop": False}
        return {"kind": "red", "limit": limit, **step}
    table = {"kind": queue or "drop-tail"} if queue is None or isinstance(queue, str) else dict(queue)
    kind = table.pop("kind", "drop-tail")
    room = None if kind == "kernel" else given if kind == "cake" else limit
    return {"kind": kind, **({} if room is None else {"limit": room}), **table}


def start_text(start: int | Drawn) -> str | Raw:
    """The start of flows in the full form: a time, or the interval from which it is drawn."""
    return {"uniform": list(start.uniform)} if isinstance(start, Drawn) else time_text(start)


def host_names(name: str) -> tuple[str, str]:
    """The names of the sending and the receiving host of a group of flows."""
    return f"{name}_sender", f"{name}_receiver"


def owner_text(name: str, suffix: str) -> str:
    """The end of an axis's title that names the axis's flows; "" for an axis of the whole network."""
    return f" of {name.removesuffix(suffix)}" if name.endswith(suffix) else ""
