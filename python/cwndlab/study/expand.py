"""Writes the short forms of a study file out in full: `[dumbbell]`, `[parking_lot]` and `measure`.

Everything that follows knows only the full form. `Expanded.origins` leads from its keys back to those that
were written, for messages.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cwndlab.base import engine_kinds
from cwndlab.base.errors import Findings, KeyPath, StudyError, problem_at

from . import kernels, measures
from .added_axes import listed_parameters, vary_parameters
from .base import Drawn
from .short_values import (
    check_round_trip,
    highest_rate,
    interval_texts,
    limit_text,
    quantity_text,
    queue_table,
    tidy,
    value_label,
)
from .shorthand import NETWORKS, Flow, Network, ParkingLot, Short
from .units import parse_time, rate_text, share_text, size_text, time_text
from .validate import leave_out, validate

Raw = dict[str, Any]

SHORT = tuple(Short.model_fields)
"""The keys of the short form."""
#: The sections of a full study: what is simulated, varied, asked and shown.
ORDER = (
    *("title", "source", "about", "finding", "key_figure", "parameters", "topology", "traffic"),
    *("distributions", "tcp", "run"),
    *("probes", "limits", "phases", "axes", "grids", "cells", "sensitivity", "combinations"),
    *("quantities", "tables", "figures", "marks"),
)
#: Hosts' links are this many times as fast as the bottleneck, at least `HOST_RATE` and at most `MAX_RATE`.
FASTER = 10
HOST_RATE = 1_000_000_000
#: The fastest link that the engine takes.
MAX_RATE = 400_000_000_000
#: Between samples of the bottleneck's queue.
QUEUE_INTERVAL = "10ms"


@dataclass(eq=False, repr=False)
class Expanded:
    """A study in full, and where each part of it was written."""

    raw: Raw
    #: What does not fit in the short forms, and was left out.
    wrong: Findings = field(default_factory=Findings)
    origins: dict[KeyPath, KeyPath] = field(default_factory=dict)
    #: Names of the flow groups, and which of them are transfers without end.
    flows: dict[str, bool] = field(default_factory=dict)
    #: Directions of the bottlenecks.
    bottlenecks: list[str] = field(default_factory=list)


def expand(raw: Mapping[str, Any], metrics: measures.Shapes) -> Expanded:
    """The study in full; a StudyError carries a path of the study as it was written."""
    several, listed = kernels.listed_kernels(raw), listed_parameters(raw)
    if not several and not listed and not any(key in raw for key in SHORT):
        return Expanded(dict(raw))
    _check_kinds(raw)
    made = Expanded(copy.deepcopy({key: value for key, value in raw.items() if key not in SHORT}))
    if listed:
        vary_parameters(made.raw, listed)
        made.origins |= {("axes", name): ("parameters", name) for name in listed}
    if several:
        kernels.add_axis(made.raw, several)
        made.origins["axes", kernels.AXIS] = ("run", "kernel")
    short = _read_short_forms({key: raw[key] for key in SHORT if key in raw}, made.wrong)
    networks = [name for name in NETWORKS if name in raw]
    if len(networks) > 1:
        raise problem_at((networks[1],), f"this study has a [{networks[0]}] already", "keep one of them")
    for name in networks:
        for section in ("topology", "traffic"):
            if section in raw:
                right = f"leave one out; `cwndlab expand` writes [{name}] out, to continue with there"
                raise problem_at((section,), f"[{name}] already makes the {section}", right)
        network = short.dumbbell or short.parking_lot
        if network is None:  # it is not a table, so there is nothing to expand
            made.wrong.report()
        else:
            _Network(network, name, made).write()
    asked = short.measure
    if asked is None and networks and not raw.get("quantities"):
        asked = list(measures.DEFAULT)
    _measure(made, asked, metrics)
    if several:
        kernels.show(made.raw, several)
    made.raw = {key: made.raw[key] for key in sorted(made.raw, key=_position)}
    return made


def _read_short_forms(given: dict[str, Any], wrong: Findings) -> Short:
    """The short forms. What does not fit is noted and left out, so that the rest can be checked as well."""
    with wrong:
        return validate(Short, given)
    given = copy.deepcopy(given)
    for one in wrong.errors:
        leave_out(given, one.path or ())
    try:
        return validate(Short, given)
    except StudyError:
        wrong.report()
        raise


def _check_kinds(raw: Mapping[str, Any]) -> None:
    """StudyError for a section to which something is added and that is no table, or no list of tables."""
    groups = raw["tcp"].get("groups", {}) if isinstance(raw.get("tcp"), dict) else {}
    tables = [
        *(((key,), raw.get(key, {})) for key in ("axes", "parameters", "tcp")),
        (("tcp", "groups"), groups),
    ]
    for path, value in tables:
        if not isinstance(value, dict):
            raise problem_at(path, f"{value!r} does not fit", "it must be a table { … }")
    for key in ("traffic", "quantities"):
        if not isinstance(raw.get(key, []), list):
            raise problem_at((key,), f"{raw[key]!r} does not fit", "it must be a list [ … ]")


def _position(key: str) -> int:
    """Where a reader looks for a section."""
    return ORDER.index(key) if key in ORDER else len(ORDER)


def _names_several_lines(part: object) -> bool:
    """Whether a part of a study names a queue with several lines."""
    if isinstance(part, dict | list):
        return any(map(_names_several_lines, part.values() if isinstance(part, dict) else part))
    return isinstance(part, str) and part in engine_kinds.SEVERAL_LINES


def _measure(made: Expanded, asked: Sequence[str] | None, metrics: measures.Shapes) -> None:
    """Quantities, tables and figures of what is to be measured."""
    raw = made.raw
    if not made.flows:
        entries = [entry for entry in raw.get("traffic", []) if isinstance(entry, dict)]
        made.flows = {str(entry.get("name")): engine_kinds.is_endless(entry.get("app")) for entry in entries}
    flows = measures.Flows(
        dict(made.flows),
        made.bottlenecks,
        any(map(_names_several_lines, (raw.get("topology"), raw.get("axes")))),
    )
    known = [
        str(quantity.get("name")) for quantity in raw.get("quantities", []) if isinstance(quantity, dict)
    ]
    groups: dict[str, measures.Measured] = {}
    for position, name in enumerate(asked or []):
        at: KeyPath = ("measure", position)
        with made.wrong:
            group = measures.quantities_of(name, flows, metrics, at)
            if group.name in groups:
                raise problem_at(at, f'"{group.name}" is listed already', "leave one of them out")
            groups[group.name] = group
            for quantity in group.quantities:
                made.origins["quantities", len(known)] = at
                if quantity["name"] not in known:
                    raw.setdefault("quantities", []).append(quantity)
                    known.append(quantity["name"])
    if not groups or raw.get("grids"):
        return  # which axes the cells of a grid have is for the study to say
    axes = {
        name: [value.get("name") if isinstance(value, dict) else value for value in axis.get("values", [])]
        for name, axis in raw.get("axes", {}).items()
        if isinstance(axis, dict) and isinstance(axis.get("values"), list)
    }
    titles = {name: raw["axes"][name].get("title") or name.replace("_", " ") for name in axes}
    for section, shown in (
        ("tables", measures.tables(list(groups.values()), axes)),
        ("figures", measures.figures(list(groups.values()), axes, titles)),
    ):
        if section not in raw and shown:
            raw[section] = shown


class _Network:
    """Writes one network in full."""

    def __init__(self, network: Network, section: str, made: Expanded) -> None:
        self.network = network
        self.section = section
        self.made = made
        self.raw = made.raw
        self.nodes: list[str] = []
        self.links: list[Raw] = []
        self.traffic: list[Raw] = []
        #: For each axis with round-trip times that change: what its values set.
        self.changing: dict[str, list[Raw]] = {}
        tcp = self.raw.setdefault("tcp", {})
        if isinstance(tcp, dict):
            tcp.setdefault("profile", "linux-6")
            tcp.setdefault("groups", {})
        self.groups: Raw = tcp["groups"]

    def write(self) -> None:
        hops = self.network.hops if isinstance(self.network, ParkingLot) else 1
        routers = ["left", "right"] if hops == 1 else [f"r{k}" for k in range(hops + 1)]
        self.nodes += routers
        self.made.bottlenecks += [f"{a}>{b}" for a, b in itertools.pairwise(routers)]
        self._bottlenecks(routers)
        for index, flow in enumerate(self.network.flows):
            self._flow(flow, ("flows", index), self._name(flow), routers[0], routers[-1])
        for index, flow in enumerate(self.network.cross if isinstance(self.network, ParkingLot) else []):
            name = self._name(flow)
            for hop in range(hops):
                ends = (routers[hop], routers[hop + 1])
                self._flow(flow, ("cross", index), f"{name}_{hop + 1}", *ends)
        rtt = self._rtt()
        base = {} if rtt is None else {"rtt": rtt}
        self.raw["topology"] = {"nodes": self.nodes, **base, "links": self.links}
        self.raw["traffic"] = self.traffic
        self.origin(("topology",), ())
        self.origin(("topology", "rtt"), ("rtt",))
        if not self.raw.get("probes"):
            self.raw["probes"] = {"queue_interval": QUEUE_INTERVAL}

    def origin(self, path: KeyPath, written: KeyPath) -> None:
        self.made.origins[path] = (self.section, *written)

    def _axis(self, name: str, values: Sequence[Any], at: KeyPath, **more: Any) -> None:
        axes = self.raw.setdefault("axes", {})
        if name in axes:
            right = f"leave out [axes.{name}], or write one value here"
            raise problem_at((self.section, *at), f'an axis "{name}" is defined already', right)
        axes[name] = {**more, "values": list(values)}
        self.origin(("axes", name), at)

    def _choices(self, name: str, labels: Sequence[str], at: KeyPath, title: str) -> list[Raw]:
        """An axis of values with names; for each the table of keys that it sets."""
        names = [label if labels.count(label) == 1 else f"{label} {k + 1}" for k, label in enumerate(labels)]
        chosen: list[Raw] = [{"name": label, "set": {}} for label in names]
        self._axis(name, chosen, at, title=title)
        return [value["set"] for value in chosen]

    def _name(self, flow: Flow) -> str:
        """The name of a group of flows: its own, or that of its congestion control."""
        named = engine_kinds.is_unresponsive(flow.app) or engine_kinds.is_program(flow.app)
        kind = str(flow.app["kind"]) if flow.app is not None and named else "flow"
        law = flow.cc if isinstance(flow.cc, str) and flow.cc.isidentifier() else None
        wanted = flow.name or "_".join(part for part in (flow.stack, law) if part) or kind
        taken = {*self.made.flows, *(name.rsplit("_", 1)[0] for name in self.made.flows)}
        if wanted not in taken:
            return wanted
        return next(name for k in range(2, 10_000) if (name := f"{wanted}{k}") not in taken)

    # ── fields that may be axes ───────────────────────────────────────────────────────────────────────────

    def _numbers(self, name: str, values: Sequence[Any], at: KeyPath, title: str, unit: str) -> None:
        """An axis of plain numbers in this unit."""
        self._axis(name, [tidy(value) for value in values], at, title=title, unit=unit)

    def _choose(self, name: str, values: Sequence[Any], title: str, key: str) -> Any:
        """An axis whose values set a key of the bottlenecks' links; its first value."""
        labels = [value_label(value) for value in values]
        for table, value in zip(self._choices(name, labels, (name,), title), values, strict=True):
            table |= {f"topology.links.{link}.{key}": value for link in self._bottleneck_names()}
        return values[0]

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
        """The round-trip time that makes a BDP; None if a value is read from a file, which the plan does."""
        rtt = self.network.rtt
        if isinstance(rtt, list) and all(isinstance(value, int) for value in rtt):
            return "{rtt}ms"
        starts = [self._base(value) for value in (rtt if isinstance(rtt, list) else [rtt])]
        return None if None in starts else starts[0]

    def _base(self, rtt: int | Raw) -> str | None:
        """The round-trip time at the start of the run; None of a file."""
        if isinstance(rtt, int):
            return time_text(rtt)
        return None if "trace" in rtt else str(self._round_trips(rtt)["0s"])

    def _round_trips(self, rtt: Raw) -> Mapping[str, str]:
        """The round-trip times of a change; StudyError if it has none."""
        steps = rtt.get("at")
        if not isinstance(steps, dict) or "0s" not in steps:
            right = 'write rtt = { at = { "0s" = "40ms", "20s" = "80ms" } }'
            raise problem_at(
                (self.section, "rtt"), "the times from which each value holds are missing", right
            )
        for time, value in steps.items():
            try:
                parse_time(value)
            except ValueError as error:
                raise problem_at((self.section, "rtt", "at", time), str(error)) from None
        return steps

    def _halve(self, rtt: int | Raw) -> str | Raw:
        if isinstance(rtt, int):
            return time_text(rtt // 2)
        if "trace" in rtt:
            factor = rtt.get("factor", 1)
            number = isinstance(factor, int | float) and not isinstance(factor, bool)
            return {**rtt, "factor": factor / 2 if number else factor}
        steps = self._round_trips(rtt).items()
        return {**rtt, "at": {time: time_text(parse_time(value) // 2) for time, value in steps}}

    def _host_delay(
        self, rtt: int | Raw | Sequence[int | Raw], name: str, at: KeyPath, link: str | None = None
    ) -> str | Raw:
        """Half of a round-trip time: what the link of a sender delays, each way."""
        if isinstance(rtt, int | dict):
            return self._halve(rtt)
        plain = [value for value in rtt if isinstance(value, int)]
        if len(plain) < len(rtt):
            if name not in self.changing:
                labels = [value_label(quantity_text(value, time_text)) for value in rtt]
                self.changing[name] = self._choices(name, labels, at, "base round-trip time")
            for table, value in zip(self.changing[name], rtt, strict=True):
                if (base := self._base(value)) is not None:
                    table["topology.rtt"] = base
                if link is not None:
                    table[f"topology.links.{link}.delay"] = self._halve(value)
            return self._halve(rtt[0])
        parameters = self.raw.setdefault("parameters", {})
        if f"half_{name}" not in parameters:
            title = f"base round-trip time{_owner_text(name, '_rtt')}"
            self._numbers(name, [value / 1e6 for value in plain], at, title, "ms")
            parameters[f"half_{name}"] = f"= {name} / 2"
        return f"{{half_{name}}}ms"

    def _queue(self) -> Raw:
        limit, queue = self._buffer(), self.network.queue
        if not isinstance(queue, list):
            return queue_table(queue, limit)
        tables = [queue_table(kind, limit) for kind in queue]
        first: Raw = self._choose("queue", tables, "queue", "forward.queue")
        return first

    def _buffer(self) -> str:
        """The limit of the bottleneck's queue."""
        buffer = self.network.buffer
        if not isinstance(buffer, list):
            return limit_text(buffer)
        if not any(isinstance(value, str) for value in buffer):
            self._numbers("buffer", buffer, ("buffer",), "buffer", "BDP")
            return "{buffer}BDP"
        self._axis("buffer", [limit_text(value) for value in buffer], ("buffer",), title="buffer")
        return "$buffer"

    def _loss(self) -> Raw:
        """The bottleneck's key for what it loses at random."""
        loss = self.network.loss
        if loss is None or isinstance(loss, dict):
            return {} if loss is None else {"loss": loss}
        if isinstance(loss, float):
            return {"impairments": [{"kind": "bernoulli", "p": loss}]}
        plain = [value for value in loss if isinstance(value, float)]
        if len(plain) < len(loss):
            written = [quantity_text(value, share_text) for value in loss]
            return {"loss": self._choose("loss", written, "random loss", "forward.loss")}
        self._numbers("loss", [100 * value for value in plain], ("loss",), "random loss", "%")
        return {"impairments": [{"kind": "bernoulli", "p": "= loss / 100"}]}

    def _fastest(self) -> int:
        """The highest rate of the bottleneck; 0 of a trace."""
        rate = self.network.rate
        return max(map(highest_rate, rate if isinstance(rate, list) else [rate]))

    # ── the parts ─────────────────────────────────────────────────────────────────────────────────────────

    def _bottleneck_names(self) -> list[str]:
        count = len(self.made.bottlenecks)
        return ["bottleneck"] if count == 1 else [f"bottleneck{k + 1}" for k in range(count)]

    def _bottlenecks(self, routers: Sequence[str]) -> None:
        rate, queue, loss = self._rate(), self._queue(), self._loss()
        self._host_delay(self.network.rtt, "rtt", ("rtt",))
        for k, name in enumerate(self._bottleneck_names()):
            forward: Raw = {"queue": copy.deepcopy(queue), **copy.deepcopy(loss)}
            ends = [routers[k], routers[k + 1]]
            at: KeyPath = ("topology", "links", len(self.links))
            self.origin((*at, "rate"), ("rate",))
            self.origin((*at, "forward", "queue"), ("queue",))
            self.origin((*at, "forward", "queue", "limit"), ("buffer",))
            self.origin((*at, "forward", "impairments"), ("loss",))
            self.origin((*at, "forward", "loss"), ("loss",))
            self.origin((*at, "down"), ("down",))
            down = {} if self.network.down is None else {"down": interval_texts(self.network.down)}
            self.links.append({"name": name, "between": ends, "rate": rate, **down, "forward": forward})

    def _flow(self, flow: Flow, at: KeyPath, name: str, first: str, last: str) -> None:
        own = name.replace("-", "_").replace("+", "_")
        sender, receiver = f"{name}_sender", f"{name}_receiver"
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
        if self.network.jitter > 0:
            jitter = {"kind": "jitter", "max": time_text(self.network.jitter), "keep_order": True}
            host["forward"] = {"impairments": [jitter]}
        for link in (host, {"name": f"{name}_exit", "between": [last, receiver], "rate": rate}):
            where: KeyPath = ("topology", "links", len(self.links))
            self.origin(where, at)
            self.origin((*where, "down"), (*at, "down"))
            if flow.rtt is None and link is host:
                self.origin((*where, "delay"), ("rtt",))
            self.links.append(link)
        self._tcp(flow, at, name, own)
        self._application(flow, at, name, own)

    def _tcp(self, flow: Flow, at: KeyPath, name: str, own: str) -> None:
        if engine_kinds.is_unresponsive(flow.app) and flow.stack is None:
            return
        group: Raw = {**({} if flow.stack is None else {"profile": flow.stack}), **flow.tcp}
        if isinstance(flow.cc, str):
            group = {"cc": flow.cc, **group}
        elif flow.cc is not None:
            axis = "cc" if at[0] == "flows" and self._varies_alone("cc") else f"{own}_cc"
            title = "congestion control" + (f" of {name}" if len(self._all_flows()) > 1 else "")
            self._axis(axis, flow.cc, (*at, "cc"), title=title)
            group = {"cc": f"${axis}", **group}
        if name in self.groups:
            raise problem_at((self.section, *at), f'there is a TCP group "{name}" already', "name the flows")
        self.groups[name] = group
        self.origin(("tcp", "groups", name), (*at, "tcp"))
        self.origin(("tcp", "groups", name, "cc"), (*at, "cc"))
        self.origin(("tcp", "groups", name, "profile"), (*at, "stack" if flow.stack is not None else "tcp"))

    def _application(self, flow: Flow, at: KeyPath, name: str, own: str) -> None:
        count: int | str
        if isinstance(flow.count, int):
            count = flow.count
        else:
            axis = "count" if at[0] == "flows" and self._varies_alone("count") else f"{own}_count"
            title = "flows" if axis == "count" else f"flows of {name}"
            self._axis(axis, flow.count, (*at, "count"), title=title)
            count = f"${axis}"
        app: Raw = {"kind": "bulk"} if flow.app is None else copy.deepcopy(flow.app)
        if flow.bytes is not None:
            app["bytes"] = size_text(flow.bytes)
        if app.get("kind") in ("bulk", "short-flows") and "from" in app:
            raise problem_at(
                (self.section, *at, "app", "from"),
                "here all flows send to the right, so `from` would only say who opens the connection",
                "for traffic in both directions, `cwndlab expand` writes the study out: swap `client` and "
                "`server` of an entry there",
            )
        ends = (f"{name}_sender", f"{name}_receiver")
        client, server = ends if engine_kinds.sends_from_client(app) else ends[::-1]
        entry: Raw = {"name": name, "client": client, "server": server, "count": count}
        if not engine_kinds.is_unresponsive(app) or flow.stack is not None:
            entry["tcp"] = name
        if engine_kinds.is_program(app) and "start" not in flow.model_fields_set:
            entry["start"] = "0s"
        elif "start" in flow.model_fields_set or not {"first", "first_s"} & app.keys():
            start = flow.start
            entry["start"] = (
                {"uniform": list(start.uniform)} if isinstance(start, Drawn) else time_text(start)
            )
        where: KeyPath = ("traffic", len(self.traffic))
        self.origin(where, at)
        self.traffic.append({**entry, "app": app})
        self.made.flows[name] = engine_kinds.is_endless(app)

    def _varies_alone(self, key: str) -> bool:
        """Whether only one group of flows has several values for this key."""
        return sum(isinstance(getattr(flow, key), list) for flow in self._all_flows()) == 1

    def _all_flows(self) -> list[Flow]:
        """The groups of flows, and those of cross traffic."""
        return [*self.network.flows, *(getattr(self.network, "cross", []))]


def _owner_text(name: str, suffix: str) -> str:
    return f" of {name.removesuffix(suffix)}" if name.endswith(suffix) else ""
