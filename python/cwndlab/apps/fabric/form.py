"""Expansion of `[leaf_spine]` into hosts, leaves, spines, and the flows between hosts.

The round-trip time is that between hosts of two leaves; each of the eight links of the round trip has an
eighth of it. Every output of a switch has the queue. Connections spread over the spines (`topology.ecmp`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.base.errors import KeyPath, problem_at
from cwndlab.study.network_form import Expanded, NetworkForm, Side
from cwndlab.study.short_values import check_round_trip, longest_round_trip
from cwndlab.study.shorthand import FabricFlow, LeafSpine
from cwndlab.study.units import rate_text, time_text

Raw = dict[str, Any]
#: Links of the round trip between hosts of two leaves; all have the same delay.
LINKS = 8
#: Keys of a dumbbell, and of its flows, that a fabric does not support.
_NOT_HERE = ("preset", "down", "trace", "reverse", "tests")
_NOT_OF_FLOWS = ("rtt", "down", "direction")
_IN_FULL = "leave it out; `cwndlab expand` writes the fabric out, to continue with there"


class FabricForm(NetworkForm):
    """Expands one fabric."""

    def __init__(self, network: LeafSpine, section: str, full: Expanded) -> None:
        super().__init__(network, section, full)
        self.fabric = network
        #: The links with queues, each with the directions that have a queue.
        self.queued: dict[str, tuple[str, ...]] = {}
        self.hosts = [f"host{k}" for k in range(1, network.leaves * network.hosts + 1)]

    def write(self) -> None:
        """Adds the nodes, links and traffic of the fabric."""
        fabric = self.fabric
        for key in _NOT_HERE:
            if key in fabric.model_fields_set:
                raise problem_at((self.section, key), f"a fabric has no `{key}`", _IN_FULL)
        check_round_trip(fabric.rtt, (self.section, "rtt"))
        leaves = [f"leaf{k}" for k in range(1, fabric.leaves + 1)]
        spines = [f"spine{k}" for k in range(1, fabric.spines + 1)]
        self.nodes += [*spines, *leaves, *self.hosts]
        ends = {host: leaves[k // fabric.hosts] for k, host in enumerate(self.hosts)}
        self.queued |= {f"{host}_link": ("reverse",) for host in ends}
        self.queued |= {f"{leaf}_{spine}": ("forward", "reverse") for leaf in leaves for spine in spines}
        self._links(ends, leaves, spines)
        for index, flow in enumerate(fabric.flows):
            self._between_hosts(flow, ("flows", index))
        self.full.round_trip = longest_round_trip([fabric.rtt])
        self._finish({"rtt": self._rtt(), "ecmp": True})

    def _bottleneck_paths(self, key: str, side: Side | None) -> list[str]:
        return [f"topology.links.{link}.{way}.{key}" for link, ways in self.queued.items() for way in ways]

    def _links(self, ends: Mapping[str, str], leaves: Sequence[str], spines: Sequence[str]) -> None:
        """Adds the links of hosts, and those between leaves and spines."""
        fabric, side = self.fabric, Side()
        switch = {"queue": self._queue(fabric, side), **self._impairments(fabric, side)}
        rate = self._constant_rate("rate", fabric.rate)
        uplink = (
            rate if fabric.uplink_rate is None else self._constant_rate("uplink_rate", fabric.uplink_rate)
        )
        delay = self._delay()
        between = [(f"{name}_link", [name, leaf], rate, self.sending) for name, leaf in ends.items()]
        between += [(f"{leaf}_{spine}", [leaf, spine], uplink, switch) for leaf in leaves for spine in spines]
        for name, nodes, speed, forward in between:
            at: KeyPath = ("topology", "links", len(self.links))
            self.origin(at, ())
            for way in self.queued[name]:
                self.origin((*at, way, "queue"), ("queue",))
                self.origin((*at, way, "queue", "limit"), ("buffer",))
            link: Raw = {"name": name, "between": nodes, "rate": speed, "delay": delay}
            ways = {"forward": copy.deepcopy(forward), "reverse": copy.deepcopy(switch)}
            self.links.append(link | {way: keys for way, keys in ways.items() if keys})

    def _constant_rate(self, key: str, rate: int | Raw | Sequence[int | Raw]) -> str:
        """A rate as text, or a reference to the axis of several rates."""
        if isinstance(rate, int):
            return rate_text(rate)
        plain = [] if isinstance(rate, dict) else [value for value in rate if isinstance(value, int)]
        if isinstance(rate, dict) or len(plain) < len(rate):
            raise problem_at((self.section, key), "links of a fabric do not change", _IN_FULL)
        self._numbers(key, [value / 1e6 for value in plain], (key,), key.replace("_", " "), "Mbit/s")
        return f"{{{key}}}Mbps"

    def _delay(self) -> str:
        """The delay of each link: its share of the round trip."""
        rtt = self.fabric.rtt
        if isinstance(rtt, int):
            return time_text(rtt // LINKS)
        plain = [] if isinstance(rtt, dict) else [value for value in rtt if isinstance(value, int)]
        if isinstance(rtt, dict) or len(plain) < len(rtt):
            raise problem_at((self.section, "rtt"), "links of a fabric do not change", _IN_FULL)
        self._numbers("rtt", [value / 1e6 for value in plain], ("rtt",), "base round-trip time", "ms")
        self.raw.setdefault("parameters", {})["link_delay"] = f"= rtt / {LINKS}"
        return "{link_delay}ms"

    def _between_hosts(self, flow: FabricFlow, at: KeyPath) -> None:
        """Adds a group of flows: `count` for each pair of hosts."""
        for key in _NOT_OF_FLOWS:
            if key in flow.model_fields_set:
                raise problem_at(
                    (self.section, *at, key), f"flows of a fabric have no `{key}`", "leave it out"
                )
        if not isinstance(flow.count, int):
            problem = "a fabric multiplies it by the number of pairs"
            raise problem_at((self.section, *at, "count"), problem, "write a whole number")
        name = self._name(flow)
        senders, receivers = self._pairs(flow)
        start, app = self._settings(flow, at, name)
        self._entry(flow, at, (name, name), len(senders) * flow.count, start, app, (senders, receivers))

    def _pairs(self, flow: FabricFlow) -> tuple[list[str], list[str]]:
        """The senders and the receivers of a group of flows, pairwise."""
        hosts, shift = self.hosts, self.fabric.hosts
        if flow.pattern == "permutation":
            return hosts, [*hosts[shift:], *hosts[:shift]]
        if flow.pattern == "incast":
            return hosts[1:], [hosts[0]] * (len(hosts) - 1)
        pairs = [(a, b) for a in hosts for b in hosts if a != b]
        return [a for a, _ in pairs], [b for _, b in pairs]
