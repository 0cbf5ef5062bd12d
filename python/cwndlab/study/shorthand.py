"""The short forms as models: `[dumbbell]`, `[parking_lot]`, `[leaf_spine]` and `measure`.

A list in place of a single value becomes an axis: `buffer = [0.5, 1, 2]` runs the study with each value.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, PrivateAttr, StringConstraints, model_validator

from cwndlab._core import CongestionControl
from cwndlab.base.engine_kinds import is_unresponsive
from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.laws import misspelt

from .base import Drawn, Label, Strict
from .units import RateBps, Share, SizeBytes, TimeNs

T = TypeVar("T")

#: The sections that describe a network in short form.
NETWORKS = ("dumbbell", "parking_lot", "leaf_spine")
_PRESETS = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))
#: For each preset, the keys of a network that it sets.
PRESETS: Mapping[str, Mapping[str, Any]] = _PRESETS["networks"]
#: For each of Flent's tests, its flows.
TESTS: Mapping[str, list[dict[str, Any]]] = {
    name: [*test["flows"], *([_PRESETS["ping"]] if test["pings"] else [])]
    for name, test in _PRESETS["tests"].items()
}


Buffer = Annotated[float, Field(gt=0)] | str
Values = Annotated[list[T], Field(min_length=1)]
QueueKind = str | dict[str, Any]
#: A table of values that change at stated times, as a link's key may have.
Change = Annotated[dict[str, Any], Field(examples=[{"at": {"0s": "100Mbps", "20s": "10Mbps"}}])]


#: A reference to a parameter or an axis of the study: "$name".
Reference = Annotated[str, StringConstraints(pattern=r"^\$[A-Za-z_]\w*$")]


Intervals = Values[Annotated[list[TimeNs], Field(min_length=2, max_length=2)]]


class Flow(Strict):
    """A group of flows with the same sender and receiver."""

    positional = ("cc",)
    #: The classes of the user's own congestion controls, by name.
    _laws: dict[str, type[CongestionControl]] = PrivateAttr(default_factory=dict)

    if TYPE_CHECKING:

        def __init__(
            self,
            cc: str | type[CongestionControl] | Sequence[str | type[CongestionControl]] | None = None,
            *,
            name: str | None = None,
            stack: str | None = None,
            count: int | str | Sequence[int] = 1,
            rtt: str | int | Sequence[str | int] | None = None,
            start: str | int | Drawn | Mapping[str, object] | Sequence[str | int] = ...,
            down: Sequence[Sequence[str | int]] | None = None,
            bytes: str | int | Sequence[str | int] | None = None,
            direction: Literal["forward", "reverse", "both"] = "forward",
            app: Mapping[str, object] | None = None,
            tcp: Mapping[str, object] = ...,
        ) -> None: ...

    @classmethod
    def name_laws(cls, keys: Mapping[str, object]) -> tuple[dict[str, object], Mapping[str, type]]:
        """The keys with each class of a congestion control replaced by its name, and the classes by name."""
        given = keys.get("cc")
        several = given if isinstance(given, list | tuple) else [given]
        for name in several if keys.get("stack") is None else ():
            if isinstance(name, str) and (right := misspelt(name)) is not None:
                problem = f'there is no congestion control "{name}"'
                raise StudyError(problem, key="Flow.cc", right=f'did you mean "{right}"?')
        laws = {law.__name__.lower(): law for law in several if isinstance(law, type)}
        if not laws:
            return dict(keys), {}
        names = [law.__name__.lower() if isinstance(law, type) else law for law in several]
        return {**keys, "cc": names if isinstance(given, list | tuple) else names[0]}, laws

    name: Label | None = Field(None, description="default: its congestion control, or kind of datagrams")
    cc: str | Values[str] | None = Field(None, description='congestion control: "cubic", "reno", …')
    stack: str | None = Field(None, description='a QUIC stack in place of TCP: "quinn" or "noq"')
    count: Annotated[int, Field(ge=0)] | Reference | Values[Annotated[int, Field(ge=0)]] = Field(
        1, description='flows of this group, or "$NAME" of a parameter'
    )
    rtt: TimeNs | Values[TimeNs] | None = Field(
        None, description="base round-trip time; default: the network's"
    )
    start: TimeNs | Drawn | Reference | Values[TimeNs] = Field(
        Drawn.model_construct(uniform=["0s", "1s"]),
        description='when each starts, { uniform = ["0s", "1s"] }, or "$NAME" of a parameter',
    )
    down: Intervals | None = Field(
        None, description="intervals in which the link of its senders carries nothing, each way"
    )
    bytes: SizeBytes | Reference | Values[SizeBytes] | None = Field(
        None, description='size of the transfer, or "$NAME" of a parameter; without it, it has no end'
    )
    direction: Literal["forward", "reverse", "both"] = Field(
        "forward", description="to which side they send; `both` is a group for each, NAME and NAME_reverse"
    )
    app: dict[str, object] | None = Field(None, description="another application than a bulk transfer")
    tcp: dict[str, object] = Field({}, description="further knobs of its TCP, or options of its stack")

    @model_validator(mode="after")
    def _one_application(self) -> Self:
        if self.app is not None and self.bytes is not None:
            raise ValueError("flows have either `bytes` or `app`")
        if is_unresponsive(self.app) and self.stack is None and (self.cc is not None or self.tcp):
            right = 'leave out `cc` and `tcp`, or send them over QUIC: stack = "quinn"'
            raise ValueError(f"datagrams over UDP have no congestion control; {right}")
        if self.stack is not None and "profile" in self.tcp:
            raise ValueError("`stack` takes the place of a profile; leave out one of them")
        return self


def _complete(schema: dict[str, Any]) -> None:
    """Adjusts the schema for editors: a preset replaces rate and round-trip time, a trace the rate."""
    schema["required"] = [key for key in schema["required"] if key not in ("rate", "rtt", "flows")]
    complete = (["preset"], ["rate", "rtt"], ["trace", "rtt"])
    schema["anyOf"] = [{"required": [*keys, flows]} for keys in complete for flows in ("flows", "tests")]


class Policer(Strict):
    """A token bucket that drops packets for which it has too few tokens."""

    rate: RateBps | Values[RateBps] = Field(description="of the tokens")
    burst: SizeBytes | Values[SizeBytes] = Field(description="size of the bucket")


class Shaper(Policer):
    """A token bucket that delays packets for which it has too few tokens (queue `tbf`)."""


class Way(Strict):
    """The treatment of packets at a bottleneck in one direction."""

    buffer: Buffer | Values[Buffer] | None = Field(
        None, description='in multiples of the BDP, or "100pkt", "64KiB"; default: 1'
    )
    queue: QueueKind | Values[QueueKind] | None = Field(
        None, description="a kind of queue, or its table; default: drop-tail"
    )
    mark_above: str | Values[str] | None = Field(
        None,
        description="packets that meet a queue of at least this are marked, or dropped without ECN: "
        "what DCTCP asks of switches",
        examples=["20pkt"],
    )
    loss: Share | Change | Values[Share | Change] | None = Field(
        None, description="of packets at random, before the queue"
    )
    policer: Policer | None = Field(
        None, description="in front of the queue", examples=[{"rate": "12Mbps", "burst": "90kB"}]
    )
    shaper: Shaper | None = Field(
        None,
        description="sends the packets of the queue at a rate below the link's; a burst leaves at the link's",
        examples=[{"rate": "20Mbps", "burst": "15kB"}],
    )
    impairments: list[dict[str, Any]] | None = Field(
        None, description="further losses, delays, reordering, …: `cwndlab impairments` lists them"
    )

    @property
    def has_queue(self) -> bool:
        """Whether any key of the direction's queue is given."""
        return any(key is not None for key in (self.buffer, self.queue, self.mark_above, self.shaper))


class Reverse(Way):
    """The reverse direction of the bottleneck, if it differs. Without a queue, it drops no packets."""

    rate: RateBps | Change | Values[RateBps] | None = Field(None, description="default: as forward")
    delay: TimeNs | Change | None = Field(None, description="in addition to the round-trip time")


class Network(Way):
    """The keys that all short forms of networks have."""

    model_config = ConfigDict(json_schema_extra=_complete)

    preset: str | None = Field(
        None, description=f"a network whose keys these replace: {', '.join(PRESETS)}", examples=[*PRESETS]
    )
    rate: RateBps | Change | Values[RateBps | Change] = Field(description="of the bottleneck, each way")
    rtt: TimeNs | Change | Values[TimeNs | Change] = Field(description="base round-trip time, without queues")
    down: Intervals | None = Field(
        None, description="intervals in which the bottleneck sends nothing, each way"
    )
    trace: str | None = Field(
        None, description="a file of the times at which packets may leave, in place of `rate`"
    )
    reverse: Reverse | None = Field(
        None, description="the other direction, where it differs", examples=[{"rate": "1Mbps"}]
    )
    jitter: TimeNs | Values[TimeNs] = Field(
        100_000, description="largest random delay of a packet at its sending host"
    )
    tests: str | None = Field(
        None,
        description="flows of a test of Flent, in addition to `flows`: download and upload (reverse) that "
        f"start after 5 s, and datagrams as pings: {', '.join(TESTS)}",
        examples=["rrul"],
    )
    flows: Values[Flow] = Field(description="the groups of flows; may be left out with `tests`")

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, keys: object) -> object:
        if not isinstance(keys, dict):
            return keys
        if (trace := keys.get("trace")) is not None:
            if keys.get("rate", {"trace": trace}) != {"trace": trace}:
                raise ValueError("either `rate` or `trace`; leave out one of them")
            keys = {**keys, "rate": {"trace": trace}}
        if (test := keys.get("tests")) is not None:
            if test not in TESTS:
                raise ValueError(f"there is no test {test!r}; {nearest(str(test), TESTS)}")
            own = keys.get("flows", [])
            keys = {**keys, "flows": [*own, *TESTS[test]] if isinstance(own, list) else own}
        if keys.get("preset") is None:
            return keys
        if (name := keys["preset"]) not in PRESETS:
            raise ValueError(f"there is no preset {name!r}; {nearest(str(name), PRESETS)}")
        return {**PRESETS[name], **keys}


class Dumbbell(Network):
    """Groups of senders and receivers on both sides of one bottleneck."""


class ParkingLot(Network):
    """Several bottlenecks in a row: `flows` pass all of them, each flow in `cross` passes one."""

    hops: Annotated[int, Field(ge=2, le=100)] = Field(3, description="bottlenecks in a row")
    cross: list[Flow] = Field([], description="groups of flows at every hop")


#: Which hosts of a fabric send to which.
Pattern = Literal["permutation", "shuffle", "incast"]


class FabricFlow(Flow):
    """A group of flows between hosts of a fabric."""

    pattern: Pattern = Field(
        "permutation",
        description="permutation: each host sends to one on the next leaf; shuffle: to all others; incast: "
        "all send to the first",
    )


class LeafSpine(Network):
    """Hosts on leaf switches, each with a link to every spine; a hash spreads connections over the spines."""

    leaves: Annotated[int, Field(ge=2, le=1000)] = Field(2, description="switches with hosts")
    spines: Annotated[int, Field(ge=1, le=64)] = Field(2, description="switches that join the leaves")
    hosts: Annotated[int, Field(ge=1, le=1000)] = Field(4, description="hosts of each leaf")
    uplink_rate: RateBps | Values[RateBps] | None = Field(
        None, description="of leaf to spine; default: `rate`, that of hosts"
    )
    # Models are immutable, so the narrower type of items is safe.
    flows: Values[FabricFlow] = Field(description="the groups of flows")  # type: ignore[assignment]


class Short(Strict):
    """The sections of a study file that are expanded before the study is read."""

    dumbbell: Dumbbell | None = Field(
        None, description="groups of senders and receivers around one bottleneck, in short form"
    )
    parking_lot: ParkingLot | None = Field(None, description="several bottlenecks in a row, in short form")
    leaf_spine: LeafSpine | None = Field(None, description="a fabric of leaves and spines, in short form")
    measure: Values[str] | None = Field(
        None, description="what is measured: quantities, tables and figures are made for each"
    )
