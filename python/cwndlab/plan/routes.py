"""Shortest paths through a scenario's links."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

Links = Sequence[Mapping[str, Any]]


def shortest_path(links: Links, leaving: Sequence[Sequence[int]], start: int, goal: int) -> list[int] | None:
    """Indices of the links on the path with the fewest hops, as the engine routes; None if there is no path.

    Ties are broken by the lower link index.

    Args:
        links: the scenario's links.
        leaving: for each node the indices of the links that leave it.
        start: the index of the first node.
        goal: the index of the last node.

    """
    came: dict[int, int | None] = {start: None}
    todo = deque([start])
    while todo:
        here = todo.popleft()
        for index in leaving[here]:
            there = links[index]["to"]
            if there not in came:
                came[there] = index
                todo.append(there)
    if goal not in came:
        return None
    path: list[int] = []
    link_index = came[goal]
    while link_index is not None:
        path.append(link_index)
        link_index = came[links[link_index]["from"]]
    return path[::-1]
