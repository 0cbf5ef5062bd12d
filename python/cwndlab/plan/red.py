"""The thresholds of RED: in the unit of the queue's limit, equal ones, and those that a study leaves out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cwndlab.base.errors import KeyPath, problem_at
from cwndlab.study import knobs

#: The kinds of queues that have thresholds, and their keys.
KINDS = ("red", "linux-red")
LEVELS = ("min_th", "max_th")
#: The size of a packet that turns bytes into a burst, as the engine's `mean_packet` is by default.
MEAN_PACKET = 1000


def thresholds(
    queue: Mapping[str, Any], levels: Mapping[str, Any], unit: object, at: KeyPath
) -> dict[str, Any]:
    """What these thresholds add to a queue whose other keys are made; StudyError if their units differ.

    Packets make a limit in BDPs one in packets. Equal thresholds mark or drop from there on: the lower one
    moves by the least that a number can. `unit` is what the study says of it.
    """
    bare = "size" if queue["kind"] == "linux-red" or unit == "bytes" else "packets"
    levels_by_key = {
        key: (isinstance(level, str) and knobs.quantity(level, (*at, key))) or (bare, level)
        for key, level in levels.items()
    }
    waits_for_bdp = queue["kind"] == "red" and queue.get("limit") == 0 and unit is None
    added: dict[str, Any] = {}
    if waits_for_bdp and levels_by_key and all(kind == "packets" for kind, _ in levels_by_key.values()):
        added["unit"] = "packets"
    in_bytes = queue["kind"] == "linux-red" or added.get("unit", queue.get("unit")) == "bytes"
    for key, (kind, value) in levels_by_key.items():
        if kind in ("size", "packets") and (kind == "size") != in_bytes:
            right = 'write limit and thresholds in packets ("15pkt") or all of them in bytes ("22kB")'
            counts = "bytes" if in_bytes else "packets"
            wrong = f"the limit of this queue counts {counts}, {levels[key]!r} does not"
            raise problem_at((*at, key), wrong, right)
        added[key] = value
    if queue["kind"] == "red" and "min_th" in added and added["min_th"] == added.get("max_th"):
        added["min_th"] = math.nextafter(added["max_th"], 0.0)
    return added


def complete(queue: dict[str, Any]) -> None:
    """Adds the thresholds that a study leaves out, once the limit is known, as Linux's tc does.

    A quarter of the limit and a third of that, or three times the lower one, with the burst that fits
    (iproute2, tc/q_red.c, after Floyd's advice on the parameters of RED).
    """
    if queue["kind"] != "red" or all(key in queue for key in LEVELS):
        return
    low = queue.get("min_th")
    high = queue.setdefault("max_th", queue["limit"] / 4 if low is None else 3 * low)
    low = queue.setdefault("min_th", high / 3)
    if not {"w_q", "burst"} & queue.keys():
        size = queue.get("mean_packet", MEAN_PACKET) if queue.get("unit") == "bytes" else 1
        queue["burst"] = max(1, math.ceil((2 * low + high) / (3 * size)))
