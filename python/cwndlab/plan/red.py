"""The thresholds of RED: converts them to the unit of the queue's limit, and adds missing ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cwndlab.base.errors import KeyPath, problem_at
from cwndlab.study import knobs

#: The kinds of queues that have thresholds, and the thresholds' keys.
KINDS = ("red", "linux-red")
LEVELS = ("min_th", "max_th")
#: The packet size in bytes for computing a burst: the engine's default of `mean_packet`.
MEAN_PACKET = 1000


def thresholds(
    queue: Mapping[str, Any], levels: Mapping[str, Any], unit: object, at: KeyPath
) -> dict[str, Any]:
    """The keys of the thresholds `levels`, in the unit of the queue's limit; StudyError if units differ.

    If the limit is in BDPs and all thresholds are in packets, the limit's unit becomes packets. Equal
    thresholds mean a step: the lower one becomes the next smaller number. `unit` is the study's key `unit`.
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
    """Adds missing thresholds to a queue with a known limit, as Linux's tc does.

    max_th is 3 min_th, or a quarter of the limit without min_th; min_th is a third of max_th; the burst
    follows from both (iproute2, tc/q_red.c, after Floyd's advice on the parameters of RED).
    """
    if queue["kind"] != "red" or all(key in queue for key in LEVELS):
        return
    low = queue.get("min_th")
    high = queue.setdefault("max_th", queue["limit"] / 4 if low is None else 3 * low)
    low = queue.setdefault("min_th", high / 3)
    if not {"w_q", "burst"} & queue.keys():
        size = queue.get("mean_packet", MEAN_PACKET) if queue.get("unit") == "bytes" else 1
        queue["burst"] = max(1, math.ceil((2 * low + high) / (3 * size)))
