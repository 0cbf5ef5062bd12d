"""Links that change during a run: rates, delays and losses at stated times, packet-delivery traces."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from cwndlab.base.errors import KeyPath, StudyError, problem_at

from .base import Strict
from .files import read_text, resolve_inside
from .units import (
    AS_PERCENTAGE,
    RateBps,
    TimeNs,
    parse_share,
    parse_time,
    parse_zero_rate,
    text_schema,
)

#: Bytes that one delivery opportunity of a trace can carry.
OPPORTUNITY_BYTES = 1500
#: Matches a delay in a trace, in ms.
_DELAY = re.compile(r"\d{1,7}(\.\d{1,6})?\Z", re.ASCII)
Span = tuple[int, int]


def parse_loss(value: object) -> float:
    """The share of packets in a percentage: 0.01 for "1%"."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f'{value!r} is not a percentage of packets; write "{100 * value:.12g}%"')
    share = parse_share(value)
    if share > 1:
        raise ValueError(f"{value!r} is more than all packets; write at most 100%")
    return share


class Steps(Strict):
    """Values over time: each applies from its time until the next one."""

    at: dict[str, str | float] = Field(
        min_length=1,
        examples=[{"0s": "100Mbps", "20s": "10Mbps"}],
        description="values by the time from which they hold",
    )
    repeat: TimeNs | None = Field(None, description="the steps begin again after this time")
    #: The function that converts a value from its text to the engine's unit.
    parse: ClassVar[Any]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        times = [parse_time(time) for time in self.at]
        if times[0] != 0:
            raise ValueError('the first time must be "0s"')
        if times != sorted(set(times)):
            raise ValueError("the times must rise")
        if self.repeat is not None and self.repeat <= times[-1]:
            raise ValueError("`repeat` must be later than the last time")
        _ = self.values
        return self

    @property
    def times(self) -> list[int]:
        """The times in ns, in ascending order."""
        return [parse_time(time) for time in self.at]

    @property
    def values(self) -> list[Any]:
        """The values in the engine's unit."""
        return [self.parse(value) for value in self.at.values()]


class RateSteps(Steps):
    """A rate for each time; at "0bps" nothing is sent."""

    parse = staticmethod(parse_zero_rate)


class DelaySteps(Steps):
    """A propagation delay for each time."""

    keep_order: bool = Field(False, description="whether packets wait for those before them where it falls")
    parse = staticmethod(parse_time)


class LossSteps(Steps):
    """A share of packets lost at random, for each time."""

    parse = staticmethod(parse_loss)

    def impairment(self) -> dict[str, Any]:
        """The steps as the scenario's impairment `loss-steps`."""
        return _schedule("loss-steps", self.times, self.repeat, p=self.values)


class RateTrace(Strict):
    """A packet-delivery trace in Mahimahi's format."""

    trace: str = Field(description="file in the study's folder: a time in ms on each line")


class DelayTrace(Strict):
    """A propagation delay for each interval, in LeoReplayer's format."""

    trace: str = Field(description="file in the study's folder: a delay in ms on each line")
    interval: TimeNs = Field(gt=0, description="how long each delay holds; the trace repeats after its last")
    factor: float = Field(
        1.0, gt=0, le=1000, description="multiplies each delay: 0.5 where the file has round-trip times"
    )
    keep_order: bool = Field(False, description="whether packets wait for those before them where it falls")


def _form(value: object) -> str:
    """The variant of a value, which selects its model in a union: "steps", "file" or "plain"."""
    if isinstance(value, Steps) or (isinstance(value, dict) and not value.keys() & {"trace", "interval"}):
        return "steps"
    return "file" if isinstance(value, RateTrace | DelayTrace | dict) else "plain"


#: A share of packets between 0 and 1, written as a percentage.
Loss = Annotated[float, BeforeValidator(parse_loss), AS_PERCENTAGE, text_schema("1%", "a percentage")]
Plain = Tag("plain")
AnyRate = Annotated[
    Annotated[RateBps, Plain] | Annotated[RateSteps, Tag("steps")] | Annotated[RateTrace, Tag("file")],
    Discriminator(_form),
]
AnyDelay = Annotated[
    Annotated[TimeNs, Plain] | Annotated[DelaySteps, Tag("steps")] | Annotated[DelayTrace, Tag("file")],
    Discriminator(_form),
]
AnyLoss = Annotated[Annotated[Loss, Plain] | Annotated[LossSteps, Tag("steps")], Discriminator(_form)]


def capacity(
    rate: int | RateSteps | RateTrace,
    down: Sequence[Span],
    folder: Path | None,
    at: KeyPath,
    down_at: KeyPath,
) -> tuple[int, dict[str, Any] | None]:
    """A link's rate (bit/s) at the start of the run (the mean of a trace), and its table of changes, or None.

    `at` is the path of the table that has the rate, `down_at` that of the pauses.
    """
    if isinstance(rate, RateTrace):
        if down:
            raise problem_at(down_at, "a trace has its pauses in it", "leave out `down`")
        chances = _trace(folder, rate.trace, (*at, "rate", "trace"), _times)
        mean = round(len(chances) * OPPORTUNITY_BYTES * 8_000 / chances[-1])
        return max(mean, 8), {"kind": "deliveries", "at_ms": list(chances)}
    if isinstance(rate, int):
        if not down:
            return rate, None
        rate = RateSteps(at={"0s": f"{rate}bps"})
    times, rates, repeat = rate.times, rate.values, rate.repeat
    if repeat is not None and down:
        right = 'write the pauses as "0bps" in `at`'
        raise problem_at(down_at, "these times would have to repeat, too", right)
    first = next((value for value in rates if value > 0), None)
    if first is None:
        raise problem_at((*at, "rate", "at"), "all rates are 0", 'one must be above "0bps"')
    times, rates = _pause_rates(times, rates, down, down_at)
    return first, _schedule("steps", times, repeat, rates_bps=rates)


class Propagation(NamedTuple):
    """A link's propagation delay at the start of the run, and its smallest, in ns."""

    first_ns: int
    least_ns: int
    #: The impairment that adds the excess over the smallest delay; None for a constant delay.
    impairment: dict[str, Any] | None


def propagation(delay: int | DelaySteps | DelayTrace, folder: Path | None, at: KeyPath) -> Propagation:
    """A link's delay and its changes. `at` is the path of the table that contains the delay."""
    if isinstance(delay, int):
        return Propagation(delay, delay, None)
    if isinstance(delay, DelaySteps):
        times, delays, repeat = delay.times, delay.values, delay.repeat
    else:
        read = _trace(folder, delay.trace, (*at, "delay", "trace"), _delays)
        kept = [k for k, value in enumerate(read) if k == 0 or value != read[k - 1]]
        times = [k * delay.interval for k in kept]
        delays = [round(read[k] * delay.factor) for k in kept]
        repeat = len(read) * delay.interval
    least = min(delays)
    schedule = _schedule("delay-steps", times, repeat, extra_ns=[value - least for value in delays])
    return Propagation(delays[0], least, {**schedule, "keep_order": delay.keep_order})


def _schedule(kind: str, times: list[int], repeat: int | None, **values: list[Any]) -> dict[str, Any]:
    """A scenario's table of values, each of which applies from its time."""
    schedule = {"kind": kind, "at_ns": times, **values}
    return schedule if repeat is None else {**schedule, "repeat_ns": repeat}


def _pause_rates(
    times: list[int], rates: list[int], down: Sequence[Span], at: KeyPath
) -> tuple[list[int], list[int]]:
    """The times and rates with a rate of 0 added for the intervals in `down`."""
    if any(start >= end for start, end in down):
        raise problem_at(at, "an interval ends before it begins", 'write for instance [["10s", "12s"]]')
    starts, ends = sorted(start for start, _ in down), sorted(end for _, end in down)
    steps: list[tuple[int, int]] = []
    for edge in sorted({*times, *starts, *ends}):
        is_down = bisect_right(starts, edge) > bisect_right(ends, edge)
        rate = 0 if is_down else rates[bisect_right(times, edge) - 1]
        if not steps or steps[-1][1] != rate:
            steps.append((edge, rate))
    return [edge for edge, _ in steps], [rate for _, rate in steps]


#: A function that reads a trace; cached for all cells until the file's time or size changes.
_Reader = Callable[[Path, Path, tuple[int, int]], tuple[int, ...]]


def _trace(folder: Path | None, name: str, at: KeyPath, read: _Reader) -> tuple[int, ...]:
    try:
        path = resolve_inside(folder, name)
        assert folder is not None
        state = path.stat() if path.is_file() else None
        return read(folder.resolve(), path, (state.st_mtime_ns, state.st_size) if state else (0, 0))
    except StudyError as error:
        line = "" if error.line is None else f"line {error.line}: "
        raise problem_at(at, f"{name}: {line}{error.problem}", error.right) from None


@lru_cache(maxsize=8)
def _times(root: Path, path: Path, version: tuple[int, int]) -> tuple[int, ...]:
    """The times of a packet-delivery trace, in ms."""
    times: list[int] = []
    right = "a trace has a whole number of milliseconds on each line, never falling"
    text = read_text(path, what="a packet-delivery trace", root=root)
    for number, line in enumerate(text.splitlines(), start=1):
        if not (line.isascii() and line.isdigit()) or len(line) > 12:
            raise StudyError(f"{line[:20]!r} is no time", file=path, line=number, right=right)
        times.append(int(line))
        if len(times) > 1 and times[-1] < times[-2]:
            raise StudyError(f"{line} comes after {times[-2]}", file=path, line=number, right=right)
    if not times or times[-1] == 0:
        raise StudyError("the trace lasts for no time", file=path, right=right)
    return tuple(times)


@lru_cache(maxsize=8)
def _delays(root: Path, path: Path, version: tuple[int, int]) -> tuple[int, ...]:
    """The delays of a delay trace, in ns."""
    right = "a delay trace has a delay in milliseconds on each line, such as 12 or 12.5"
    delays: list[int] = []
    text = read_text(path, what="a delay trace", root=root)
    for number, line in enumerate(text.splitlines(), start=1):
        if not _DELAY.match(line):
            raise StudyError(f"{line[:20]!r} is no delay", file=path, line=number, right=right)
        delays.append(round(float(line) * 1e6))
    if not delays:
        raise StudyError("the trace has no delays", file=path, right=right)
    return tuple(delays)
