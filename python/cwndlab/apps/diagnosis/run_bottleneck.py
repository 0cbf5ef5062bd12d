"""The bottleneck of a flow, from the scenario of its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.plan.routes import shortest_path

from .bottleneck import Bottleneck, size_text


def bottleneck_in(scenario: Mapping[str, Any], traffic: int, sender: int, receiver: int) -> Bottleneck | None:
    """The bottleneck from `sender` to `receiver`; None without a path both ways or with a changing rate."""
    there, back = _path(scenario, sender, receiver), _path(scenario, receiver, sender)
    links = scenario["links"]
    if not there or not back or any(links[k].get("capacity") is not None for k in there):
        return None
    slowest = min(there, key=lambda k: links[k]["rate_bps"])
    queue = links[slowest]["queue"]
    limit, unit = queue.get("limit"), queue.get("unit")
    room = "unlimited" if queue["kind"] == "infinite" else f"{queue['kind']}'s"
    if limit is not None:
        room = size_text(limit) if unit == "bytes" else f"{limit} packets"
    others = sum(
        k != traffic and any(slowest in (_path(scenario, *ends) or ()) for ends in _ways(entry))
        for k, entry in enumerate(scenario["traffic"])
    )
    words = "" if not others else "another flow uses it" if others == 1 else f"{others} other flows use it"
    base = sum(links[k]["delay_ns"] for k in (*there, *back)) / 1e9
    return Bottleneck(float(links[slowest]["rate_bps"]), base, room, words)


def _ways(entry: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[int, int]]:
    return (entry["client"], entry["server"]), (entry["server"], entry["client"])


def _path(scenario: Mapping[str, Any], start: int, goal: int) -> list[int] | None:
    """The link indices of the configured route, or of the shortest path, between two nodes; None if none."""
    route = next((one for one in scenario["routes"] if (one["from"], one["to"]) == (start, goal)), None)
    if route is not None:
        return list(route["via"])
    leaving: list[list[int]] = [[] for _ in scenario["nodes"]]
    for index, link in enumerate(scenario["links"]):
        leaving[link["from"]].append(index)
    return shortest_path(scenario["links"], leaving, start, goal)
