"""One direction of a link: the direction's own keys take precedence over the link's."""

from pathlib import Path
from typing import Any, NamedTuple

from cwndlab.base.errors import KeyPath
from cwndlab.study import knobs, schema
from cwndlab.study.changes import DelayTrace, RateTrace, capacity, propagation


class DirectionParts(NamedTuple):
    """Rate, delay and impairments of one direction, with their paths in the study."""

    rate_bps: int
    #: The engine's table of changes of the rate; None for a constant rate.
    capacity: dict[str, Any] | None
    #: The smallest delay (ns). If the delay changes, an impairment adds the excess.
    delay_ns: int
    first_delay_ns: int
    impairments: list[dict[str, Any]]
    #: Part of the scenario's link ("capacity", "impairments.0") -> its path in the study.
    origins: dict[str, KeyPath]


def traces(link: schema.Link) -> list[tuple[KeyPath, str]]:
    """The trace files of a link's rates and delays, each with its path inside the link."""
    ways: list[tuple[KeyPath, schema.Link | schema.Direction]] = [
        ((), link),
        (("forward",), link.forward),
        (("reverse",), link.reverse),
    ]
    values = [((*path, key), getattr(way, key)) for path, way in ways for key in ("rate", "delay")]
    return [
        ((*path, "trace"), value.trace) for path, value in values if isinstance(value, RateTrace | DelayTrace)
    ]


def direction(
    link: schema.Link, own: schema.Direction, folder: Path | None, at: KeyPath, which: str
) -> DirectionParts:
    """Compiles one direction of a link, "forward" or "reverse" (`which`); StudyError for an invalid value."""

    def place(key: str) -> KeyPath:
        return at if getattr(own, key) is None else (*at, which)

    rate = link.rate if own.rate is None else own.rate
    delay = link.delay if own.delay is None else own.delay
    loss = link.loss if own.loss is None else own.loss
    down = link.down if own.down is None else own.down
    listed = link.impairments if own.impairments is None else own.impairments
    listed_at = (*place("impairments"), "impairments")
    rate_bps, varying = capacity(
        rate, [(start, end) for start, end in down], folder, place("rate"), (*place("down"), "down")
    )
    impairments = [
        {"kind": item.kind, **knobs.convert_to_base_units(item.knobs(), (*listed_at, i))}
        for i, item in enumerate(listed)
    ]
    origins = {"impairments": listed_at, "capacity": (*place("rate"), "rate")}
    if loss is not None:
        origins[f"impairments.{len(impairments)}"] = (*place("loss"), "loss")
        impairments.append({"kind": "bernoulli", "p": loss} if isinstance(loss, float) else loss.impairment())
    first, least, changing = propagation(delay, folder, place("delay"))
    if changing is not None:
        origins[f"impairments.{len(impairments)}"] = (*place("delay"), "delay")
        impairments.append(changing)
    return DirectionParts(rate_bps, varying, least, first, impairments, origins)
