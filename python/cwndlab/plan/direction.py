"""One direction of a link: keys that the study gives for the direction, otherwise those of the link."""

from pathlib import Path
from typing import Any, NamedTuple

from cwndlab.base.errors import KeyPath
from cwndlab.study import knobs, schema
from cwndlab.study.changes import DelayTrace, RateTrace, capacity, propagation


class DirectionParts(NamedTuple):
    """Rate, delay and impairments of one direction, and where in the study they were written."""

    rate_bps: int
    #: The changes of the rate over time, as the engine takes them; None if it does not change.
    capacity: dict[str, Any] | None
    #: The smallest delay. If the delay changes, an impairment adds the rest.
    delay_ns: int
    first_delay_ns: int
    impairments: list[dict[str, Any]]
    #: For a part of the scenario's link ("capacity", "impairments.0") its path in the study.
    origins: dict[str, KeyPath]


def traces(link: schema.Link) -> list[tuple[KeyPath, str]]:
    """The files that a link's rates and delays name, each with the keys that lead to it in the link."""
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
    """Compiles one direction of a link; StudyError for a value that is wrong."""

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
