"""Expands `[dumbbell]` and `[parking_lot]` into nodes, links and traffic, and each list into an axis."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

from cwndlab.base import engine_kinds
from cwndlab.base.errors import Findings, KeyPath, problem_at

from .short_values import (
    check_round_trip,
    halve_round_trip,
    highest_rate,
    host_names,
    interval_texts,
    limit_text,
    longest_round_trip,
    own_name,
    owner_text,
    quantity_text,
    queue_table,
    round_trip_steps,
    start_text,
    tidy,
    value_labels,
    with_shaper,
)
from .shorthand import Flow, Network, ParkingLot, Policer, Reverse, Way
from .units import rate_text, share_text, size_text, time_text

Raw = dict[str, Any]
N = TypeVar("N")

#: The rate of hosts' links is this many times the bottleneck's, between `HOST_RATE` and `MAX_RATE` (bit/s).
FASTER = 10
HOST_RATE = 1_000_000_000
#: The highest rate of a link that the engine accepts, in bit/s.
MAX_RATE = 400_000_000_000
#: The interval between samples of the bottleneck's queue.
QUEUE_INTERVAL = "10ms"


@dataclass(eq=False, repr=False)
class Expanded:
    """An expanded study, and the origin of each of its parts in the file."""

    raw: Raw
    #: Errors in the short forms; the keys with errors are left out.
    wrong: Findings = field(default_factory=Findings)
    origins: dict[KeyPath, KeyPath] = field(default_factory=dict)
    #: For each group of flows, the kind of object that it completes; None for a group that never ends.
    flows: dict[str, str | None] = field(default_factory=dict)
    #: The directions of the bottleneck links, such as "left>right".
    bottlenecks: list[str] = field(default_factory=list)
    #: The longest round trip (ns) without queueing; None if a round trip changes during the run.
    round_trip: int | None = None


class Side(NamedTuple):
    """A table with keys of a bottleneck, such as `[dumbbell.reverse]`: the link's directions that it sets,
    the prefix of its axes' names ("reverse_"), and its path within the section.
    """

    ways: tuple[str, ...] = ("forward",)
    prefix: str = ""
    at: KeyPath = ()

    def title(self, text: str) -> str:
        """The title of an axis; "reverse" is added for the table of that direction."""
        return f"{text}, reverse" if self.at[:1] == ("reverse",) else text

    def with_key(self, key: str) -> Side:
        """The same directions, for the table `key` inside this table."""
        return Side(self.ways, f"{self.prefix}{key}_", (*self.at, key))


class NetworkForm:
    """Expands one network: each method writes a part of the full form into `full`."""

    def __init__(self, network: Network, section: str, full: Expanded) -> None:
        self.network = network
        self.section = section
        self.full = full
        self.raw = full.raw
        self.nodes: list[str] = []
        self.links: list[Raw] = []
        self.traffic: list[Raw] = []
        #: Axis of round-trip times that change during the run -> the keys that each of its values sets.
        self.changing: dict[str, list[Raw]] = {}
        tcp = self.raw.setdefault("tcp", {})
        if isinstance(tcp, dict):
            tcp.setdefault("profile", "linux-6")
            tcp.setdefault("groups", {})
        self.groups: Raw = tcp["groups"]
        self.hops = network.hops if isinstance(network, ParkingLot) else 1
        self.two_way = any(flow.direction != "forward" for flow in self._all_flows())

    def write(self) -> None:
        """Writes nodes, links and traffic of the network into the full form."""
        routers = ["left", "right"] if self.hops == 1 else [f"r{k}" for k in range(self.hops + 1)]
        self.nodes += routers
        pairs = list(itertools.pairwise(routers))
        self.full.bottlenecks += [f"{a}>{b}" for a, b in pairs]
        self.full.bottlenecks += [f"{b}>{a}" for a, b in pairs if self.two_way]
        self._bottlenecks(routers)
        for index, flow in enumerate(self.network.flows):
            name = self._name(flow)
            self._flow(flow, ("flows", index), name, {name: (routers[0], routers[-1])})
        for index, flow in enumerate(self.network.cross if isinstance(self.network, ParkingLot) else []):
            name = self._name(flow)
            paths = {f"{name}_{hop}": pair for hop, pair in enumerate(pairs, start=1)}
            self._flow(flow, ("cross", index), name, paths)
        own = [flow.rtt for flow in self._all_flows() if flow.rtt is not None]
        self.full.round_trip = longest_round_trip([self.network.rtt, *own])
        rtt = self._rtt()
        self._finish({} if rtt is None else {"rtt": rtt})

    def _finish(self, base: Raw) -> None:
        """Sets the full form's sections; `base` has further keys of the topology."""
        self.raw["topology"] = {"nodes": self.nodes, **base, "links": self.links}
        self.raw["traffic"] = self.traffic
        self.origin(("topology",), ())
        self.origin(("topology", "rtt"), ("rtt",))
        if not self.raw.get("probes"):
            self.raw["probes"] = {"queue_interval": QUEUE_INTERVAL}

    def origin(self, path: KeyPath, written: KeyPath) -> None:
        """Records the path in the short form from which the part at `path` was made."""
        self.full.origins[path] = (self.section, *written)

    def _axis(self, name: str, values: Sequence[Any], at: KeyPath, **more: Any) -> None:
        axes = self.raw.setdefault("axes", {})
        if name in axes:
            right = f"leave out [axes.{name}], or write one value here"
            raise problem_at((self.section, *at), f'an axis "{name}" is defined already', right)
        axes[name] = {**more, "values": list(values)}
        self.origin(("axes", name), at)

    def _choices(self, name: str, labels: Sequence[str], at: KeyPath, title: str) -> list[Raw]:
        """Adds an axis with these names of values. Returns, for each, the table of keys that it sets."""
        chosen: list[Raw] = [{"name": label, "set": {}} for label in labels]
        self._axis(name, chosen, at, title=title)
        return [value["set"] for value in chosen]

    def _name(self, flow: Flow) -> str:
        """The unique name of a group of flows: its own name, or its stack and congestion control."""
        named = engine_kinds.is_unresponsive(flow.app) or engine_kinds.is_program(flow.app)
        kind = str(flow.app["kind"]) if flow.app is not None and named else "flow"
        law = flow.cc if isinstance(flow.cc, str) and flow.cc.isidentifier() else None
        wanted = flow.name or "_".join(part for part in (flow.stack, law) if part) or kind
        taken = {*self.full.flows, *(name.rsplit("_", 1)[0] for name in self.full.flows)}
        if wanted not in taken:
            return wanted
        return next(name for k in itertools.count(2) if (name := f"{wanted}{k}") not in taken)

    # ── fields that may be axes ───────────────────────────────────────────────────────────────────────────

    def _numbers(self, name: str, values: Sequence[Any], at: KeyPath, title: str, unit: str) -> None:
        """Adds an axis of numbers in a unit."""
        self._axis(name, [tidy(value) for value in values], at, title=title, unit=unit)

    def _choose(
        self, name: str, values: Sequence[Any], title: str, key: str, side: Side | None = None
    ) -> Any:
        """Adds an axis of a key of the bottleneck links, or of directions in `side`; its first value."""
        prefix, at = (side.prefix, (*side.at, name)) if side is not None else ("", (name,))
        title = title if side is None else side.title(title)
        chosen = self._choices(prefix + name, value_labels(values), at, title)
        paths = self._bottleneck_paths(key, side)
        for table, value in zip(chosen, values, strict=True):
            table |= {path: copy.deepcopy(value) for path in paths}
        return values[0]

    def _bottleneck_paths(self, key: str, side: Side | None) -> list[str]:
        """The dotted keys of a key of the bottleneck links, or of its directions in `side`."""
        keys = [key] if side is None else [f"{way}.{key}" for way in side.ways]
        return [f"topology.links.{link}.{key}" for link in self._bottleneck_names() for key in keys]

    def _rate(self) -> str | Raw:
        rate = self.network.rate
        if not isinstance(rate, list):
            return quantity_text(rate, rate_text)
        plain = [value for value in rate if isinstance(value, int)]
        if len(plain) < len(rate):
            written = [quantity_text(value, rate_text) for value in rate]
            chosen: str | Raw = self._choose("rate", written, "bottleneck", "rate")
            return chosen
        self._numbers("rate", [value / 1e6 for value in plain], ("rate",), "bottleneck", "Mbit/s")
        return "{rate}Mbps"

    def _rtt(self) -> str | None:
        """The round-trip time for computing BDPs; None if a file has it, which is read only later."""
        rtt = self.network.rtt
        if isinstance(rtt, list) and all(isinstance(value, int) for value in rtt):
            return "{rtt}ms"
        starts = [self._base(value) for value in (rtt if isinstance(rtt, list) else [rtt])]
        return None if None in starts else starts[0]

    def _base(self, rtt: int | Raw) -> str | None:
        """The round-trip time at the start of the run; None if a file has it."""
        if isinstance(rtt, int):
            return time_text(rtt)
        return None if "trace" in rtt else str(round_trip_steps(rtt, (self.section, "rtt"))["0s"])

    def _host_delay(
        self, rtt: int | Raw | Sequence[int | Raw], name: str, at: KeyPath, link: str | None = None
    ) -> str | Raw:
        """Half of a round-trip time: the delay of a sender's link, in each direction."""
        where = (self.section, "rtt")
        if isinstance(rtt, int | dict):
            return halve_round_trip(rtt, where)
        plain = [value for value in rtt if isinstance(value, int)]
        if len(plain) < len(rtt):
            if name not in self.changing:
                labels = value_labels([quantity_text(value, time_text) for value in rtt])
                self.changing[name] = self._choices(name, labels, at, "base round-trip time")
            for table, value in zip(self.changing[name], rtt, strict=True):
                if (base := self._base(value)) is not None:
                    table["topology.rtt"] = base
                if link is not None:
                    table[f"topology.links.{link}.delay"] = halve_round_trip(value, where)
            return halve_round_trip(rtt[0], where)
        parameters = self.raw.setdefault("parameters", {})
        if f"half_{name}" not in parameters:
            title = f"base round-trip time{owner_text(name, '_rtt')}"
            self._numbers(name, [value / 1e6 for value in plain], at, title, "ms")
            parameters[f"half_{name}"] = f"= {name} / 2"
        return f"{{half_{name}}}ms"

    def _queue(self, way: Way, side: Side) -> Raw:
        """The table of the queue of one direction."""
        limit, queue = self._buffer(way, side), way.queue
        if way.mark_above is not None:
            if queue not in (None, "drop-tail") or way.shaper is not None:
                at = (self.section, *side.at, "mark_above")
                right = "leave out `queue` and `shaper`"
                raise problem_at(at, "a queue that marks so is none of another kind", right)
            mark = self._text("mark_above", way.mark_above, str, side, "marks above")
            return queue_table(None, limit, mark)
        shaper = None if way.shaper is None else self._bucket("tbf", "shaper", way.shaper, side)
        kinds = queue if isinstance(queue, list) else [queue]
        given = None if way.buffer is None else limit
        tables = [with_shaper(shaper, queue_table(kind, limit, given=given)) for kind in kinds]
        if not isinstance(queue, list):
            return tables[0]
        first: Raw = self._choose("queue", tables, "queue", "queue", side)
        return first

    def _text(
        self, name: str, value: N | str | Sequence[N], write: Callable[[N], str], side: Side, title: str
    ) -> str:
        """A value in the full form, as text; for a list, a reference to the axis that it becomes."""
        if isinstance(value, list):
            self._axis(side.prefix + name, list(map(write, value)), (*side.at, name), title=side.title(title))
            return f"${side.prefix}{name}"
        return value if isinstance(value, str) else write(cast(N, value))

    def _buffer(self, way: Way, side: Side) -> str:
        """The limit of the queue of one direction."""
        buffer = 1.0 if way.buffer is None else way.buffer
        if not isinstance(buffer, list):
            return limit_text(buffer)
        name, at = f"{side.prefix}buffer", (*side.at, "buffer")
        if not any(isinstance(value, str) for value in buffer):
            self._numbers(name, buffer, at, side.title("buffer"), "BDP")
            return f"{{{name}}}BDP"
        return self._text("buffer", buffer, limit_text, side, "buffer")

    def _bucket(self, kind: str, key: str, bucket: Policer, side: Side) -> Raw:
        """The table of a token bucket of this kind: a shaper (tbf) or a policer."""
        inside = side.with_key(key)
        rate = self._text("rate", bucket.rate, rate_text, inside, f"{key}'s rate")
        burst = self._text("burst", bucket.burst, size_text, inside, f"{key}'s burst")
        return {"kind": kind, "rate": rate, "burst": burst}

    def _impairments(self, way: Way, side: Side) -> Raw:
        """The keys of one direction for policers, losses and other impairments."""
        keys: Raw = {}
        impairments: list[Raw] = []
        if way.policer is not None:
            impairments.append(self._bucket("policer", "policer", way.policer, side))
        loss = way.loss
        if isinstance(loss, float):
            impairments.append({"kind": "bernoulli", "p": loss})
        elif isinstance(loss, list) and all(isinstance(value, float) for value in loss):
            name, plain = f"{side.prefix}loss", [value for value in loss if isinstance(value, float)]
            self._numbers(
                name, [100 * value for value in plain], (*side.at, "loss"), side.title("random loss"), "%"
            )
            impairments.append({"kind": "bernoulli", "p": f"= {name} / 100"})
        elif isinstance(loss, list):
            written = [quantity_text(value, share_text) for value in loss]
            keys["loss"] = self._choose("loss", written, "random loss", "loss", side)
        elif loss is not None:
            keys["loss"] = loss
        impairments += way.impairments or []
        return keys | ({"impairments": impairments} if impairments else {})

    def _fastest(self) -> int:
        """The highest rate of a bottleneck in either direction, in bit/s; 0 for a trace."""
        reverse = self.network.reverse
        rates = [
            self.network.rate,
            *([reverse.rate] if reverse is not None and reverse.rate is not None else []),
        ]
        return max(
            highest_rate(value) for rate in rates for value in (rate if isinstance(rate, list) else [rate])
        )

    # ── bottlenecks and flows ─────────────────────────────────────────────────────────────────────────────

    def _bottleneck_names(self) -> list[str]:
        return ["bottleneck"] if self.hops == 1 else [f"bottleneck{k + 1}" for k in range(self.hops)]

    def _bottlenecks(self, routers: Sequence[str]) -> None:
        network, reverse = self.network, self.network.reverse
        alike = self.two_way and not (reverse is not None and reverse.has_queue)
        side = Side(("forward", "reverse") if alike else ("forward",))
        rate, queue, lost = self._rate(), self._queue(network, side), self._impairments(network, Side())
        back = self._reverse(reverse) if reverse is not None else {}
        if alike:
            back["queue"] = queue
        self._host_delay(network.rtt, "rtt", ("rtt",))
        for k, name in enumerate(self._bottleneck_names()):
            link: Raw = {"name": name, "between": [routers[k], routers[k + 1]], "rate": rate}
            at: KeyPath = ("topology", "links", len(self.links))
            self.origin((*at, "rate"), ("rate",))
            self.origin((*at, "down"), ("down",))
            for way, part, written in (("forward", network, ()), ("reverse", reverse, ("reverse",))):
                for key in ("rate", "delay", "queue", "impairments", "loss"):
                    self.origin((*at, way, key), (*written, key))
                self.origin((*at, way, "queue", "limit"), (*written, "buffer"))
                for level in ("min_th", "max_th") if part is not None and part.mark_above is not None else ():
                    self.origin((*at, way, "queue", level), (*written, "mark_above"))
            if alike:
                self.origin((*at, "reverse", "queue"), ("queue",))
                self.origin((*at, "reverse", "queue", "limit"), ("buffer",))
            if network.down is not None:
                link["down"] = interval_texts(network.down)
            link["forward"] = copy.deepcopy({"queue": queue, **lost})
            self.links.append(link | ({"reverse": copy.deepcopy(back)} if back else {}))

    def _reverse(self, reverse: Reverse) -> Raw:
        """The keys of the reverse direction that differ from the forward one."""
        side = Side(("reverse",), "reverse_", ("reverse",))
        keys: Raw = {}
        if isinstance(reverse.rate, list):
            rates = [value / 1e6 for value in reverse.rate]
            self._numbers("reverse_rate", rates, ("reverse", "rate"), "reverse", "Mbit/s")
            keys["rate"] = "{reverse_rate}Mbps"
        elif reverse.rate is not None:
            keys["rate"] = quantity_text(reverse.rate, rate_text)
        if reverse.delay is not None:
            keys["delay"] = quantity_text(reverse.delay, time_text)
        if reverse.has_queue:
            keys["queue"] = self._queue(reverse, side)
        return keys | self._impairments(reverse, side)

    def _flow(self, flow: Flow, at: KeyPath, name: str, paths: Mapping[str, tuple[str, str]]) -> None:
        """Adds a group of flows: one TCP group, and a traffic entry (by name) for each of `paths`."""
        own = own_name(name)
        start, app = self._settings(flow, at, name)
        count = self._varied(flow, "count", at, own, "flows", int)
        for entry, (first, last) in paths.items():
            if flow.direction != "reverse":
                self._ends(flow, at, entry, own, first, last)
                self._entry(flow, at, (entry, name), count, start, app, host_names(entry))
            if flow.direction != "forward":
                mine = entry if flow.direction == "reverse" else f"{entry}_reverse"
                self._ends(flow, at, mine, own, last, first)
                self._entry(flow, at, (mine, name), count, start, app, host_names(mine))

    def _settings(self, flow: Flow, at: KeyPath, name: str) -> tuple[str | Raw, Raw]:
        """Adds the TCP group of flows. Returns their start and their application."""
        own = own_name(name)
        self._tcp(flow, at, name, own)
        start: str | Raw = self._varied(flow, "start", at, own, "start", start_text)
        return start, self._application(flow, at, own)

    def _ends(self, flow: Flow, at: KeyPath, name: str, own: str, first: str, last: str) -> None:
        """Adds the two hosts of a traffic entry, and their links to the network."""
        sender, receiver = host_names(name)
        self.nodes += [sender, receiver]
        if not engine_kinds.is_unresponsive(flow.app):
            rtt, key = (self.network.rtt, ("rtt",)) if flow.rtt is None else (flow.rtt, (*at, "rtt"))
            check_round_trip(rtt, (self.section, *key))
        if flow.rtt is None:
            delay = self._host_delay(self.network.rtt, "rtt", ("rtt",), f"{name}_access")
        else:
            delay = self._host_delay(flow.rtt, f"{own}_rtt", (*at, "rtt"))
        rate = f"{min(max(HOST_RATE, FASTER * self._fastest()), MAX_RATE) // 1_000_000}Mbps"
        host: Raw = {"name": f"{name}_access", "between": [sender, first], "rate": rate, "delay": delay}
        if flow.down is not None:
            host["down"] = interval_texts(flow.down)
        if self.sending:
            host["forward"] = copy.deepcopy(self.sending)
        for link in (host, {"name": f"{name}_exit", "between": [last, receiver], "rate": rate}):
            where: KeyPath = ("topology", "links", len(self.links))
            self.origin(where, at)
            self.origin((*where, "down"), (*at, "down"))
            if flow.rtt is None and link is host:
                self.origin((*where, "delay"), ("rtt",))
            self.links.append(link)

    @cached_property
    def sending(self) -> Raw:
        """The keys for jitter of a sending host's link; empty without jitter."""
        if self.network.jitter == 0:
            return {}
        most = self._text("jitter", self.network.jitter, time_text, Side(), "jitter")
        return {"impairments": [{"kind": "jitter", "max": most, "keep_order": True}]}

    def _tcp(self, flow: Flow, at: KeyPath, name: str, own: str) -> None:
        if engine_kinds.is_unresponsive(flow.app) and flow.stack is None:
            return
        group: Raw = {**({} if flow.stack is None else {"profile": flow.stack}), **flow.tcp}
        if isinstance(flow.cc, str):
            group = {"cc": flow.cc, **group}
        elif flow.cc is not None:
            axis = self._own_axis("cc", own)
            title = "congestion control" + (f" of {name}" if len(self._all_flows()) > 1 else "")
            self._axis(axis, flow.cc, (*at, "cc"), title=title)
            group = {"cc": f"${axis}", **group}
        if name in self.groups:
            raise problem_at((self.section, *at), f'there is a TCP group "{name}" already', "name the flows")
        self.groups[name] = group
        self.origin(("tcp", "groups", name), (*at, "tcp"))
        self.origin(("tcp", "groups", name, "cc"), (*at, "cc"))
        self.origin(("tcp", "groups", name, "profile"), (*at, "stack" if flow.stack is not None else "tcp"))

    def _own_axis(self, key: str, own: str) -> str:
        """The name of the axis for a group's list of values: `key`, unless other groups have lists, too."""
        return key if self._varies_alone(key) else f"{own}_{key}"

    def _varied(
        self, flow: Flow, key: str, at: KeyPath, own: str, title: str, write: Callable[[Any], Any]
    ) -> Any:
        """A value of a group of flows in the full form; for a list, a reference to its new axis."""
        value = getattr(flow, key)
        if not isinstance(value, list):
            return value if isinstance(value, str) else write(value)
        axis = self._own_axis(key, own)
        values = [write(each) for each in value]
        self._axis(axis, values, (*at, key), title=title if axis == key else f"{title} of {own}")
        return f"${axis}"

    def _application(self, flow: Flow, at: KeyPath, own: str) -> Raw:
        app: Raw = {"kind": "bulk"} if flow.app is None else copy.deepcopy(flow.app)
        if flow.bytes is not None:
            app["bytes"] = self._varied(flow, "bytes", at, own, "transfer", size_text)
        if app.get("kind") in ("bulk", "short-flows") and "from" in app:
            raise problem_at(
                (self.section, *at, "app", "from"),
                "here it would only say who opens the connection",
                'write direction = "reverse" (or "both") next to `app`',
            )
        return app

    def _entry(
        self,
        flow: Flow,
        at: KeyPath,
        names: tuple[str, str],
        count: int | str,
        start: str | Raw,
        app: Raw,
        ends: tuple[N, N],
    ) -> None:
        """Adds a traffic entry; `names`: its own and its TCP group's; `ends`: the sender and receiver."""
        name, group = names
        client, server = ends if engine_kinds.sends_from_client(app) else ends[::-1]
        entry: Raw = {"name": name, "client": client, "server": server, "count": count}
        if not engine_kinds.is_unresponsive(app) or flow.stack is not None:
            entry["tcp"] = group
        if engine_kinds.is_program(app) and "start" not in flow.model_fields_set:
            entry["start"] = "0s"
        elif "start" in flow.model_fields_set or not {"first", "first_s"} & app.keys():
            entry["start"] = start
        self.origin(("traffic", len(self.traffic)), at)
        self.traffic.append({**entry, "app": copy.deepcopy(app)})
        self.full.flows[name] = engine_kinds.completed_objects(app)

    def _varies_alone(self, key: str) -> bool:
        """Whether only one group of flows has several values for this key."""
        return sum(isinstance(getattr(flow, key), list) for flow in self._all_flows()) == 1

    def _all_flows(self) -> list[Flow]:
        """All groups of flows, including cross traffic."""
        return [*self.network.flows, *(getattr(self.network, "cross", []))]
