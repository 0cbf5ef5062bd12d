"""Axes that a page adds to those of a study: parameters, and knobs of its bottleneck and its TCP.

Each is the raw table of an axis; whether its values compile, and change anything, is found out afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab import _core
from cwndlab.plan.plan import Cell
from cwndlab.plan.scenario import bottleneck
from cwndlab.spec import schema
from cwndlab.spec.resolve import references
from cwndlab.spec.study import StudySpec, assignments
from cwndlab.spec.values import text

Axis = dict[str, Any]

#: A slider's values relative to that of the study.
FACTORS = (0.2, 0.5, 1, 2, 5)
#: Where there is no value to start from.
COUNTS = (0, 1, 2, 4, 8)
TIMES = ("0s", "0.5s", "1s", "2s", "5s", "10s")
LOSSES = ("0.01%", "0.1%", "1%", "2%", "5%")
WINDOWS = (1, 2, 3, 4, 6, 10, 16, 32)
LAWS = ("reno", "cubic", "dctcp", "prague", "bbr1", "bbr3")
QUEUES = ("drop-tail", "codel", "pie", "fq-codel", "dualpi2")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-zµ/%]+)\Z")


def values_around(value: object) -> list[schema.Scalar]:
    """Values around one, including itself; empty if it is not a quantity."""
    if isinstance(value, bool):
        return [False, True]
    if isinstance(value, int):
        if value <= 0:
            return [*COUNTS] if value == 0 else []
        return sorted({*(max(1, round(value * factor)) for factor in FACTORS), value})
    if isinstance(value, float):
        return [_tidy(value * factor) for factor in FACTORS] if value > 0 else []
    found = _QUANTITY.match(value) if isinstance(value, str) else None
    if found is None:
        return []
    number, unit = float(found[1]), found[2]
    if number == 0:
        return [*TIMES] if unit in ("s", "ms") else []
    whole = unit in ("pkt", "B")
    made = [_tidy(max(1, round(number * f)) if whole else number * f) for f in FACTORS]
    return [f"{text(one)}{unit}" if one != number else str(value) for one in dict.fromkeys(made)]


def _tidy(value: float) -> int | float:
    """The value with three digits, without a needless point."""
    if value == 0:
        return 0
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    return int(rounded) if float(rounded).is_integer() else rounded


def short(table: dict[str, Any]) -> None:
    """Writes lists into a `[dumbbell]` or `[parking_lot]` where it has one value: each becomes an axis."""
    for key in ("rate", "rtt", "buffer"):
        value = table.get(key, 1.0 if key == "buffer" else None)
        if values := values_around(value):
            table[key] = [value, *(other for other in values if other != value)]
    queue = table.get("queue", "drop-tail")
    if isinstance(queue, str | dict):
        kind = queue if isinstance(queue, str) else queue.get("kind", "drop-tail")
        table["queue"] = [queue, *(other for other in QUEUES if other != kind)]
    loss = table.get("loss", "0%")
    if isinstance(loss, str):
        table["loss"] = [loss, *(other for other in LOSSES if other != loss)]
    for flow in table.get("flows", []):
        law = flow.get("cc", "cubic")
        if isinstance(law, str) and "window_law" not in flow.get("tcp", {}) and "app" not in flow:
            flow["name"] = flow.get("name", law)
            flow["cc"] = [law, *(other for other in LAWS if other != law)]


def network(study: StudySpec, start: Cell) -> dict[str, Axis]:
    """Rate, delay, loss and queue of the slowest link."""
    scenario = start.compiled.scenario
    index = bottleneck(scenario["links"])
    place = start.compiled.origins[f"links.{index}"]
    links = study.raw["topology"]["links"]
    link = links[place[2]] if len(place) > 2 and isinstance(place[2], int) else links[0]
    position = links.index(link)
    key = f"topology.links.{link.get('name', position + 1)}"
    ends = (link["between"][0], link["between"][1])
    first = scenario["nodes"][scenario["links"][index]["from"]]
    way = "forward" if first == ends[0] or first in ends[0] else "reverse"
    made: dict[str, Axis] = {}
    for name, title in (("rate", "bottleneck rate"), ("delay", "bottleneck delay, one way")):
        own = link.get(way, {}).get(name)
        if values := values_around(link.get(name, "0ms") if own is None else own):
            made[name] = {
                "title": title,
                "values": values,
                "sets": f"{key}.{name}" if own is None else f"{key}.{way}.{name}",
            }
    if "loss" not in link and "loss" not in link.get(way, {}):
        made["loss"] = {"title": "random loss", "values": [*LOSSES], "sets": f"{key}.{way}.loss"}
    at = f"{key}.{way}.queue" if "queue" in link.get(way, {}) else f"{key}.queue"
    queue = link.get(way, {}).get("queue", link.get("queue", {}))
    limit = queue.get("limit") if isinstance(queue, dict) else None
    if limit is not None:
        kinds = [kind for kind in QUEUES if kind != queue.get("kind", "drop-tail")]
        made["queue"] = {
            "title": "queue",
            "values": [{"name": kind, "set": {at: {"kind": kind, "limit": limit}}} for kind in kinds],
        }
        if values := values_around(limit):
            made["buffer"] = {"title": "buffer", "values": values, "sets": f"{at}.limit"}
    return made


def tcp(study: StudySpec) -> dict[str, Axis]:
    """Profile, initial window and congestion control."""
    given = study.raw.get("tcp", {})
    made: dict[str, Axis] = {
        "profile": {"title": "TCP profile", "values": [*_core.tcp_profiles()], "sets": "tcp.profile"},
        "iw": {
            "title": "initial window",
            "unit": "segments",
            "values": [*WINDOWS],
            "sets": "tcp.initial_window",
        },
    }
    if not {"cc", "window_law"} & given.keys():
        made["cc"] = {"title": "congestion control", "values": [*LAWS], "sets": "tcp.cc"}
    return made


def parameters(study: StudySpec, start: Cell) -> dict[str, Axis]:
    """The parameters that are plain values, around those that they have in the cell."""
    raw = dict(study.raw.get("parameters", {}))
    for name, axis in study.outline.axes.items():
        if name in start.axes:
            for key, value in assignments(axis, start.axes[name]):
                section, _, inner = key.partition(".")
                if section == "parameters":
                    raw[inner] = value
    groups = study.raw.get("tcp", {}).get("groups", {})
    made: dict[str, Axis] = {}
    for name, value in raw.items():
        if references(value):
            continue
        values: Sequence[schema.Scalar] = [*groups] if value in groups else values_around(value)
        if values:
            made[name] = {
                "title": name.replace("_", " "),
                "values": list(values),
                "sets": f"parameters.{name}",
            }
    return made


def targets(axis: Mapping[str, Any]) -> list[str]:
    """The dotted keys that the raw table of an axis sets."""
    sets = axis.get("sets", [])
    found = [sets] if isinstance(sets, str) else list(sets)
    for value in axis.get("values", []):
        if isinstance(value, Mapping):
            found += value.get("set", {})
    return found
