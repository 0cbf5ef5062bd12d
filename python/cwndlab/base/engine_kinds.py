"""Properties of queues, impairments and applications that reading a study requires.

All other properties of a kind, such as its keys, come from the engine (`_core.kinds`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from cwndlab import _core

#: Queues with several internal queues: packets that arrive together may wait for different times.
SEVERAL_LINES = ("fq-codel", "fq-pie", "cake", "dualpi2", "cbq", "kernel")
#: Queues whose limit is a number of packets, as in Linux.
PACKET_QUEUES = ("drop-on-full", "codel", "fq-codel", "pie", "fq-pie", "dualpi2")
#: Queues whose limit is a number of bytes.
BYTE_QUEUES = ("linux-red", "tbf")
#: Memory (`skb->truesize`) of a packet of 1500 bytes, in bytes: CAKE limits memory, not packets.
CAKE_PACKET_MEMORY = 2304
#: Queues that draw no random numbers. The inner queue of a shaper (tbf) may still draw some.
DETERMINISTIC_QUEUES = ("infinite", "drop-tail", "codel", "tbf")
#: Impairments that draw no random numbers.
SCRIPTED = ("drop-nth", "drop-every", "drop-seq", "delay-nth", "policer", "delay-steps", "aggregate")
#: The suffix of the engine's name of a key that states the unit, such as "_ns".
UNIT_SUFFIX = re.compile(r"_(ns|bytes|bps|s)\Z")
#: The applications that send datagrams without congestion control, and whether each draws random numbers
#: regardless of its distributions.
UNRESPONSIVE = {"cbr": False, "on-off": False, "poisson": True, "voip": False, "video": True}


class EngineKind(NamedTuple):
    """A kind of queue, impairment or application, as the engine describes it."""

    about: str
    #: The JSON schema of each key, by the engine's name of the key.
    keys: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    #: The schemas that "$ref" in `keys` refers to, by name.
    definitions: Mapping[str, Mapping[str, Any]]


@cache
def engine_kinds(what: str) -> Mapping[str, EngineKind]:
    """All kinds of "app", "queue" or "impairment", by name."""
    schema = json.loads(_core.kinds())[what]
    definitions = schema.get("$defs", {})
    kinds = {}
    for own in schema["oneOf"]:
        shared = definitions.get(own.get("$ref", "").rpartition("/")[2], {})
        keys = {**shared.get("properties", {}), **own["properties"]}
        name = keys.pop("kind")["const"]
        required = (*shared.get("required", ()), *own.get("required", ()))
        about = own.get("description", shared.get("description", ""))
        kinds[name] = EngineKind(about, keys, tuple(key for key in required if key != "kind"), definitions)
    return kinds


def required_keys(kind: str) -> tuple[str, ...]:
    """The engine's names of the keys that a kind of queue, impairment or application requires."""
    catalogues = (engine_kinds(what) for what in ("app", "queue", "impairment"))
    return next((kinds[kind].required for kinds in catalogues if kind in kinds), ())


def is_unresponsive(app: object) -> bool:
    """Whether an application, from a study or a scenario, sends datagrams without congestion control."""
    kind = app.get("kind") if isinstance(app, Mapping) else None
    return isinstance(kind, str) and kind in UNRESPONSIVE


def is_program(app: object) -> bool:
    """Whether an application, from a study or a scenario, is a program, which only a kernel runs."""
    return isinstance(app, Mapping) and app.get("kind") == "program"


def nearest_queue(queue: Mapping[str, Any]) -> str | None:
    """The engine's kind of queue most similar to a kernel's qdisc; None for a queue of the engine."""
    if queue["kind"] != "kernel":
        return None
    name = queue["qdisc"].split()[0].replace("_", "-")
    return name if name in engine_kinds("queue") else "fq-codel" if "fq" in name else "drop-tail"


def completed_objects(app: object) -> str | None:
    """The kind of object in the records that an application completes; None if it never ends."""
    if not isinstance(app, Mapping):
        return "file"
    if is_unresponsive(app) or (app.get("kind") == "bulk" and not {"bytes", "segments"} & app.keys()):
        return None
    if app.get("kind") in ("rr", "pipeline", "crr"):
        return "transaction"
    return "page" if app.get("kind") == "web" else "file"


def sends_from_client(app: Mapping[str, Any]) -> bool:
    """Whether the client sends the data, or most of it."""
    pushes = app.get("kind") in ("bulk", "short-flows", "program") or is_unresponsive(app)
    return pushes and app.get("from", "client") == "client"


def draws(app: Mapping[str, Any]) -> bool:
    """Whether an application may draw random numbers other than those of its distributions."""
    return app["kind"] in ("short-flows", "program") or UNRESPONSIVE.get(str(app["kind"]), False)
