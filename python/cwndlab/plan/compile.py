"""Compiles a cell's model to the engine's scenario: names to indices, values to integers in base units."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from cwndlab import _core
from cwndlab._core import parse_quantity
from cwndlab.base.engine_kinds import BYTE_QUEUES, CAKE_PACKET_MEMORY, PACKET_QUEUES, is_unresponsive
from cwndlab.base.errors import Findings, KeyPath, nearest, problem_at
from cwndlab.base.laws import built_in, kernel_knob
from cwndlab.study import congestion, knobs, schema, stacks
from cwndlab.study.base import Drawn
from cwndlab.study.study_spec import Catalogue
from cwndlab.study.windows import resolve_windows

from . import red
from .direction import direction
from .distribution import distribution
from .probes import switch_on
from .routes import shortest_path
from .scenario import Compiled, not_finite, origin

#: The packet size, in bytes, for converting a queue's limit between bytes and packets.
PACKET_BYTES = 1500
#: The largest number of traffic entries of a scenario, where each instance is an entry.
MAX_INSTANCES = 200_000
#: The largest number of links of a scenario, where each direction is a link.
MAX_LINKS = 100_000


def compile_model(
    model: schema.Model,
    folder: Path | None,
    quantities: Sequence[schema.Quantity],
    catalogue: Catalogue,
) -> Compiled:
    """The scenario of a model, with the windows and the probes that the quantities need.

    `catalogue` has the window laws that the engine lacks. StudyError with all errors in the model.
    """
    compiled = _Compiler(model, folder, catalogue).compile(resolve_windows(model, quantities))
    switch_on(compiled.scenario, model, quantities)
    if not compiled.is_finite:
        place = origin(compiled, not_finite(compiled.scenario))
        raise problem_at(place, "this number is not finite", "write a plain number")
    return compiled


@lru_cache(maxsize=64)
def _read_profile(name: str) -> tuple[Mapping[str, Any], knobs.Choices]:
    """A profile's configuration and the choices of its knobs, shared by all cells: not to be changed."""
    return json.loads(_core.tcp_profile(name)), knobs.Choices(**json.loads(_core.tcp_choices(name)))


class _Compiler:
    def __init__(self, model: schema.Model, folder: Path | None, catalogue: Catalogue) -> None:
        self.model = model
        self.laws, self.kernel_laws = catalogue.laws, catalogue.kernel_laws
        self.folder = folder
        self.nodes = {name: index for index, name in enumerate(model.topology.nodes)}
        self.links: list[dict[str, Any]] = []
        self.first_delay: list[int] = []  # delay of each direction at the start of the run, in ns
        self.directions: dict[str, int] = {}
        self.leaving: list[list[int]] = [[] for _ in model.topology.nodes]
        self.limits: list[tuple[int, float]] = []  # index and multiple of links whose limit is in BDPs
        self.origins: dict[str, KeyPath] = {
            "duration_ns": ("run", "duration"),
            "probes": ("probes",),
            "probes.queue_interval_ns": ("probes", "queue_interval"),
        }
        self.tcp_groups: list[dict[str, Any]] = []
        #: The engine's table of each TCP group that uses a QUIC stack.
        self.stacks: dict[str, dict[str, Any]] = {}
        self.reach: dict[tuple[int, int], list[int] | None] = {}
        self.wrong = Findings()
        #: Whether every link compiled. If not, paths are not checked: missing ones would be false errors.
        self.joined = True

    def compile(self, windows: Mapping[str, list[int]]) -> Compiled:
        topology = self.model.topology
        if len(self.nodes) < len(topology.nodes):
            twice = next(name for i, name in enumerate(topology.nodes) if self.nodes[name] != i)
            raise problem_at(("topology", "nodes"), f'node "{twice}" stands twice')
        for index, link in enumerate(topology.links):
            with self.wrong:
                self._link(link, ("topology", "links", index))
        self.joined = not self.wrong.errors
        groups: dict[str, int] = {}
        with self.wrong:
            groups = self._tcp()
        traffic = self._traffic(groups)
        routes, probes, distributions = [], {}, {}
        for index, route in enumerate(topology.routes if self.joined else ()):
            with self.wrong:
                routes.append(self._route(route, ("topology", "routes", index)))
        if self.joined:
            with self.wrong:
                probes = self._probes()
        for name, given in self.model.distributions.items():
            with self.wrong:
                self.origins[f"distributions.{name}"] = ("distributions", name)
                distributions[name] = distribution(given, self.folder, ("distributions", name))
        self.wrong.report()
        for index, multiple in self.limits:
            self._bdp(index, multiple, traffic)
        for table in self.links:
            red.complete(table["queue"])
        scenario: dict[str, Any] = {
            "duration_ns": self.model.run.duration,
            "windows": windows,
            "nodes": list(topology.nodes),
            "links": self.links,
            "routes": routes,
            "tcp": self.tcp_groups,
            "traffic": traffic,
            "probes": probes,
        }
        if topology.ecmp:
            scenario["ecmp"] = True
        if self.model.run.network == "ipv6":
            scenario["network"] = "ipv6"
        if distributions:
            scenario["distributions"] = distributions
        return Compiled(scenario, self.origins)

    def _node(self, name: str, at: KeyPath) -> int:
        if name not in self.nodes:
            raise problem_at(at, f'there is no node "{name}"', nearest(name, self.nodes))
        return self.nodes[name]

    # ── links ─────────────────────────────────────────────────────────────────────────────────────────────

    def _link(self, link: schema.Link, at: KeyPath) -> None:
        ends = [[end] if isinstance(end, str) else list(end) for end in link.between]
        for position, end in enumerate(ends):
            for name in end:
                self._node(name, (*at, "between", position))
        if len(self.links) + 2 * len(ends[0]) * len(ends[1]) > MAX_LINKS:
            raise problem_at((*at, "between"), "these are too many links", f"at most {MAX_LINKS // 2}")
        for a in ends[0]:
            for b in ends[1]:
                if a == b:
                    raise problem_at((*at, "between"), f'the link joins "{a}" with itself', "name two nodes")
                self._direction(link, link.forward, a, b, at, "forward")
                self._direction(link, link.reverse, b, a, at, "reverse")

    def _direction(
        self, link: schema.Link, own: schema.Direction, a: str, b: str, at: KeyPath, which: str
    ) -> None:
        name = f"{a}>{b}"
        if name in self.directions:
            raise problem_at((*at, "between"), f"there is a second link {name}", "two nodes are joined once")
        part = direction(link, own, self.folder, at, which)
        queue, queue_at = (
            (own.queue, (*at, which, "queue")) if own.queue is not None else (link.queue, (*at, "queue"))
        )
        index = len(self.links)
        self.directions[name] = index
        self.leaving[self.nodes[a]].append(index)
        self.origins[f"links.{index}"] = at
        self.origins[f"links.{index}.queue"] = queue_at
        self.origins |= {f"links.{index}.{key}": path for key, path in part.origins.items()}
        self.first_delay.append(part.first_delay_ns)
        self.links.append(
            {
                "name": name,
                "from": self.nodes[a],
                "to": self.nodes[b],
                "rate_bps": part.rate_bps,
                **({} if part.capacity is None else {"capacity": part.capacity}),
                "delay_ns": part.delay_ns,
                "header_bytes": own.header if own.header is not None else link.header,
                "queue": self._queue(queue, index, queue_at),
                "impairments": part.impairments,
            }
        )

    def _queue(self, queue: schema.Queue, index: int, at: KeyPath) -> dict[str, Any]:
        given = dict(queue.knobs())
        levels = {key: given.pop(key) for key in red.LEVELS if queue.kind in red.KINDS and key in given}
        table: dict[str, Any] = {"kind": queue.kind, **knobs.convert_to_base_units(given, at)}
        if queue.limit is not None:
            table |= self._room(queue.kind, queue.limit, index, (*at, "limit"))
        if queue.queue is not None:
            table["queue"] = self._queue(queue.queue, index, (*at, "queue"))
        return table | red.thresholds(table, levels, given.get("unit"), at)

    def _room(self, kind: str, limit: str, index: int, at: KeyPath) -> dict[str, Any]:
        """The keys of a queue's limit, in bytes or packets. A multiple of the BDP is entered as 0, which
        `_bdp` replaces.
        """
        try:
            counts, value = parse_quantity(limit)
            if counts not in ("packets", "size", "bdp"):
                raise ValueError
        except ValueError:
            right = 'write packets "25pkt", bytes "64KiB" or a multiple of the bandwidth-delay product "1BDP"'
            raise problem_at(at, f"{limit!r} is no queue limit", right) from None
        if counts == "bdp":
            self.limits.append((index, value))
            return self._limit(kind, 0)
        if counts == "packets" and kind in ("tbf", "cake"):
            counts, value = "size", value * PACKET_BYTES
        if counts == "size":
            limits = self._limit(kind, int(value))
        elif kind == "linux-red":
            raise problem_at(at, f"the limit of this queue counts bytes, {limit!r} does not", 'write "60kB"')
        else:
            limits = {"limit": value} | ({"unit": "packets"} if kind == "drop-tail" else {})
        if min(value for value in limits.values() if isinstance(value, int)) < 1:
            raise problem_at(at, "a queue of no room drops every packet", "it must be at least 1")
        return limits

    def _bdp(self, index: int, multiple: float, traffic: Sequence[Mapping[str, Any]]) -> None:
        rtt = self.model.topology.rtt
        if rtt is None:
            rtt = 0
            for client, server in sorted({(entry["client"], entry["server"]) for entry in traffic}):
                there, back = self._path(client, server), self._path(server, client)
                if there is not None and back is not None and index in (*there, *back):
                    rtt = max(rtt, sum(self.first_delay[link] for link in (*there, *back)))
        queue = self.links[index]["queue"]
        rate = min(self.links[index]["rate_bps"], queue.get("rate_bps", math.inf))
        limit = round(multiple * rate * rtt / 8e9)
        if limit < 1:
            at = self.origins[f"links.{index}.queue"]
            right = 'give [topology] rtt = "100ms" (say)'
            raise problem_at((*at, "limit"), "the bandwidth-delay product of this link is 0", right)
        queue = queue.get("queue", queue)
        in_packets = queue.get("unit") == "packets"
        queue |= {"limit": -(-limit // PACKET_BYTES)} if in_packets else self._limit(queue["kind"], limit)

    @staticmethod
    def _limit(kind: str, size: int) -> dict[str, Any]:
        """The keys of a limit of `size` bytes; rounded up to packets for queues that count only packets."""
        if kind in PACKET_QUEUES:
            return {"limit": -(-size // PACKET_BYTES)}
        if kind == "cake":
            return {"memory_bytes": -(-size // PACKET_BYTES) * CAKE_PACKET_MEMORY}
        return {"limit": size} if kind in BYTE_QUEUES else {"limit": size, "unit": "bytes"}

    def _path(self, start: int, goal: int) -> list[int] | None:
        return shortest_path(self.links, self.leaving, start, goal)

    def _route(self, route: schema.Route, at: KeyPath) -> dict[str, Any]:
        nodes = [self._node(name, (*at, "path", i)) for i, name in enumerate(route.path)]
        via: list[int] = []
        for a, b in itertools.pairwise(nodes):
            names = self.model.topology.nodes
            direction = self.directions.get(f"{names[a]}>{names[b]}")
            if direction is None:
                right = "a route passes only joined nodes"
                raise problem_at((*at, "path"), f'no link joins "{names[a]}" and "{names[b]}"', right)
            via.append(direction)
        return {"from": nodes[0], "to": nodes[-1], "via": via}

    # ── endpoints and traffic ─────────────────────────────────────────────────────────────────────────────

    def _profile(self, name: str, at: KeyPath) -> tuple[dict[str, Any], knobs.Choices]:
        """A copy of the profile's configuration, and the choices of its knobs."""
        if name in stacks.names():
            right = f'write [tcp.groups.NAME] with profile = "{name}", and tcp = "NAME" in the traffic'
            raise problem_at((*at, "profile"), f"{name} is a QUIC stack, not a profile of TCP", right)
        try:
            read, choices = _read_profile(name)
            profile = dict(read)
            if self.model.run.network == "ipv6" and profile["header_bytes"] > 0:
                for key, more in (("header_bytes", 20), ("ack_bytes", 20), ("mss", -20)):
                    profile[key] += more
            return profile, choices
        except ValueError:
            right = nearest(name, [*_core.tcp_profiles(), *stacks.names()])
            raise problem_at((*at, "profile"), f'there is no profile "{name}"', right) from None

    def _tcp(self) -> dict[str, int]:
        """Compiles the TCP groups. Returns the index of each group's configuration, by the group's name."""
        default = self.model.tcp
        profile, choices = self._profile(default.profile, ("tcp",))
        base, sound = profile, False
        with self.wrong:  # after an error, the groups' own knobs are still checked
            base, sound = self._configured(profile, default.knobs(), ("tcp",), choices), True
        groups = {"default": self._group(base, ("tcp",))}
        inheriting = [base]
        for name, group in default.groups.items():
            at: KeyPath = ("tcp", "groups", name)
            groups[name] = 0
            with self.wrong:
                if group.profile in stacks.names():
                    self.stacks[name] = stacks.table(group.profile, group.knobs(), at)
                    continue
                start, words = (base, choices) if group.profile is None else self._profile(group.profile, at)
                config = self._configured(start, group.knobs(), at, words)
                self._check_effect([config], group.knobs(), at)
                groups[name] = self._group(config, at)
                if group.profile is None:
                    inheriting.append(config)
        if sound:
            self._check_effect(inheriting, default.knobs(), ("tcp",))
        return groups

    def _configured(
        self, start: Mapping[str, Any], given: Mapping[str, Any], at: KeyPath, choices: knobs.Choices
    ) -> dict[str, Any]:
        """The configuration `start` with a group's knobs, including its congestion control."""
        own = {name: law.knob for name, law in self.laws.items()}
        if congestion.is_unknown(given, own):
            own = {name: kernel_knob(name) for name in self.kernel_laws()} | own
        choices = choices.with_words("window_law", [name for name in own if name not in built_in()])
        brought = {name: self.laws[name].brings if name in self.laws else {} for name in own}
        config = knobs.tcp(start, congestion.spell_out(given, start, at, brought), at, choices)
        law = knobs.alternative_name(config["window_law"])
        return {**config, "window_law": own[law]} if law in own and law not in built_in() else config

    def _check_effect(
        self, configs: Sequence[Mapping[str, Any]], given: Mapping[str, Any], at: KeyPath
    ) -> None:
        """StudyError if a knob that the study sets has no effect in any of these configurations.

        Knobs that the profile sets may have no effect.
        """
        try:
            idle = [dict(_core.tcp_without_effect(json.dumps(config))) for config in configs]
        except ValueError:
            return  # the engine rejects this configuration later, and its error names the key
        for knob, needs in idle[0].items():
            *table, name = knob.split(".")
            inside: Any = given
            for step in table:
                inside = inside.get(step) if isinstance(inside, Mapping) else None
            if not isinstance(inside, Mapping) or not all(knob in other for other in idle):
                continue
            for key in inside:
                if knobs.plain_name(key) == knobs.plain_name(name):
                    raise problem_at((*at, *table, key), f"{knob} has no effect here", f"it needs {needs}")

    def _group(self, config: dict[str, Any], at: KeyPath) -> int:
        if config not in self.tcp_groups:
            self.origins[f"tcp.{len(self.tcp_groups)}"] = at
            self.tcp_groups.append(config)
        return self.tcp_groups.index(config)

    def _traffic(self, groups: Mapping[str, int]) -> list[dict[str, Any]]:
        traffic: list[dict[str, Any]] = []
        names = [entry.name for entry in self.model.traffic]
        total = sum(entry.count for entry in self.model.traffic)
        if total > MAX_INSTANCES:
            raise problem_at(("traffic",), f"{total} applications are too many", f"at most {MAX_INSTANCES}")
        for index, entry in enumerate(self.model.traffic):
            with self.wrong:
                self._entry(entry, index, names, groups, traffic)
        return traffic

    def _entry(
        self,
        entry: schema.Traffic,
        index: int,
        names: Sequence[str],
        groups: Mapping[str, int],
        traffic: list[dict[str, Any]],
    ) -> None:
        """Checks a traffic entry, and adds its instances to `traffic`."""
        at: KeyPath = ("traffic", index)
        if names.index(entry.name) != index:
            raise problem_at(
                (*at, "name"), f'traffic "{entry.name}" stands twice', "give each a name of its own"
            )
        ends: dict[str, Any] = {}
        for side, own in (("tcp_client", entry.tcp_client), ("tcp_server", entry.tcp_server)):
            group = own if own is not None else entry.tcp
            if groups and group not in groups:
                key = side if own is not None else "tcp"
                raise problem_at((*at, key), f'there is no TCP group "{group}"', nearest(group, groups))
            ends[side] = groups.get(group, 0)
            if group in self.stacks:
                if entry.tcp_client != entry.tcp_server:
                    right = f'write tcp = "{group}"'
                    raise problem_at((*at, side), "both ends of a connection use the same QUIC stack", right)
                ends["stack"] = self.stacks[group]
        given = entry.app.knobs()
        program = entry.app.kind == "program"
        app = {"kind": entry.app.kind, **(given if program else knobs.app(given, (*at, "app")))}
        groups_named = {"tcp", "tcp_client", "tcp_server"} & entry.model_fields_set
        if is_unresponsive(app) and groups_named and "stack" not in ends:
            right = "leave it out, or name the group of a QUIC stack"
            raise problem_at((*at, min(groups_named)), "datagrams have no TCP", right)
        start = entry.start
        if isinstance(start, Drawn):
            if program:
                raise problem_at(
                    (*at, "start"), "a program starts at a fixed time", 'write for instance "1s"'
                )
            if "first_s" in app:
                right = "leave out one of them"
                raise problem_at((*at, "start"), "app.first_s draws the start already", right)
            low, high = start.seconds
            app["first_s"] = {"kind": "uniform", "low": low, "high": high}
            start = 0
        self._instances(entry, at, {**ends, "start_ns": start, "app": app}, traffic)

    def _instances(
        self, entry: schema.Traffic, at: KeyPath, shared: Mapping[str, Any], traffic: list[dict[str, Any]]
    ) -> None:
        """Adds an entry's instances to `traffic`: each has the `shared` keys and its name, ends and start."""
        clients, servers = (
            [self._node(name, (*at, key)) for name in ([end] if isinstance(end, str) else end)]
            for key, end in (("client", entry.client), ("server", entry.server))
        )
        if not clients or not servers:
            raise problem_at(at, "it has no node at one end", "name at least one client and one server")
        for instance in range(entry.count):
            client, server = clients[instance % len(clients)], servers[instance % len(servers)]
            if client == server:
                name = self.model.topology.nodes[client]
                raise problem_at((*at, "server"), f'client and server are both "{name}"', "name two nodes")
            for pair in ((client, server), (server, client)) if self.joined else ():
                if pair not in self.reach:
                    self.reach[pair] = self._path(*pair)
                if self.reach[pair] is None:
                    self._unreachable(pair, at)
            self.origins[f"traffic.{len(traffic)}"] = at
            if "stack" in shared:
                self.origins[f"traffic.{len(traffic)}.stack"] = (
                    "tcp",
                    "groups",
                    entry.tcp_client or entry.tcp,
                )
            traffic.append(
                {
                    "name": entry.name if entry.count == 1 else f"{entry.name}.{instance}",
                    "client": client,
                    "server": server,
                    **shared,
                    "start_ns": shared["start_ns"] + instance * entry.stagger,
                }
            )

    def _unreachable(self, pair: tuple[int, int], at: KeyPath) -> None:
        names = self.model.topology.nodes
        reached = [
            name for i, name in enumerate(names) if i != pair[0] and self._path(pair[0], i) is not None
        ]
        shown = (
            f"{names[pair[0]]} reaches only {', '.join(reached)}"
            if reached
            else f"no link leaves {names[pair[0]]}"
        )
        raise problem_at(
            (*at, "server"),
            f'node "{names[pair[1]]}" cannot be reached from "{names[pair[0]]}" ({shown})',
            "join them by [[topology.links]]",
        )

    # ── the rest ──────────────────────────────────────────────────────────────────────────────────────────

    def _probes(self) -> dict[str, Any]:
        probes = self.model.probes
        links = self.directions
        queues: list[int] = []
        for position, name in enumerate(probes.queues):
            if name not in links:
                at: KeyPath = ("probes", "queues", position)
                raise problem_at(at, f'there is no direction "{name}"', nearest(name, links))
            queues.append(links[name])
        if probes.queue_interval == 0:
            raise problem_at(
                ("probes", "queue_interval"), "an interval of no time", 'write for instance "10ms"'
            )
        segments_at = None
        if probes.segments_at is not None:
            segments_at = self._node(probes.segments_at, ("probes", "segments_at"))
        return {
            "segments_at": segments_at,
            "queues": queues,
            "queue_interval_ns": probes.queue_interval,
            "connections": probes.connections,
            "cwnd": probes.cwnd,
            "limits": probes.limits,
            "states": probes.states,
            "accecn": probes.accecn,
            "delays": probes.delays,
        }
