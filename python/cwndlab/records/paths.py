"""The least time that packets take between two hosts of a scenario: propagation and transmissions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

#: What the timestamps option adds to a segment (RFC 7323, section 3.2), with two bytes of padding.
_TIMESTAMPS_BYTES = 12


class Paths:
    """Routes of a scenario as the engine takes them: explicit ones, else shortest in hops.

    Ties go to the lower link index. A link whose rate changes counts with `rate_bps`.
    """

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self._links = scenario["links"]
        self._tcp = scenario["tcp"]
        self._traffic = scenario["traffic"]
        self._explicit = {(r["from"], r["to"]): list(r["via"]) for r in reversed(scenario.get("routes", []))}
        self._leaving: dict[int, list[int]] = {}
        for index, link in enumerate(self._links):
            self._leaving.setdefault(link["from"], []).append(index)
        self._found: dict[tuple[int, int], tuple[int, float, float]] = {}
        self._headers: dict[tuple[int, bool], tuple[int, int]] = {}

    def least(
        self, source: int, target: int, traffic: int, from_client: bool, payload: int
    ) -> tuple[int, int]:
        """Propagation and transmission in nanoseconds of a packet of a traffic entry."""
        way = (traffic, from_client)
        if way not in self._headers:
            self._headers[way] = self._header(*way)
        if (source, target) not in self._found:
            self._found[source, target] = self._sums(self.route(source, target))
        propagation, fixed_ns, ns_per_byte = self._found[source, target]
        size = payload + self._headers[way][payload == 0]
        return propagation, int(fixed_ns + size * ns_per_byte)

    def route(self, source: int, target: int) -> list[int]:
        """The links from one node to another, in order; empty if there is no path."""
        if (source, target) in self._explicit:
            return self._explicit[source, target]
        entered: dict[int, int] = {}
        frontier = deque([source])
        while frontier and target not in entered:
            for index in self._leaving.get(frontier.popleft(), ()):
                node = self._links[index]["to"]
                if node != source and node not in entered:
                    entered[node] = index
                    frontier.append(node)
        hops: list[int] = []
        while target in entered and target != source:
            hops.append(entered[target])
            target = self._links[hops[-1]]["from"]
        return hops[::-1]

    def _sums(self, hops: list[int]) -> tuple[int, float, float]:
        links = [self._links[hop] for hop in hops]
        per_byte = [8e9 / link["rate_bps"] if link["rate_bps"] else 0.0 for link in links]
        fixed = sum(link["header_bytes"] * ns for link, ns in zip(links, per_byte, strict=True))
        return sum(int(link["delay_ns"]) for link in links), fixed, sum(per_byte)

    def _header(self, traffic: int, from_client: bool) -> tuple[int, int]:
        """Bytes that a packet of this traffic has next to its payload: with payload, and without."""
        entry = self._traffic[traffic]
        config = self._tcp[entry["tcp_client" if from_client else "tcp_server"]]
        more = _TIMESTAMPS_BYTES if config["timestamps"] else 0
        return config["header_bytes"] + more, config["ack_bytes"] + more
