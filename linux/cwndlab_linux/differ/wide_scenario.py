"""Random scenarios by class of path or application behaviour, as studies, and their simplification."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from cwndlab.api import Study
from cwndlab.study.toml import dumps

from .random_scenario import DURATION_S, HZ, JITTER, LEAST_PACKETS, STACK, Alignment, host_knobs, law_groups

#: The congestion controls to draw from; the most common one is repeated.
CONTROLS = ("cubic", "cubic", "cubic", "reno", "bbr1", "dctcp")
#: Limits of a flow's data: seconds at its share of the bottleneck, most bytes, fewest bytes.
MOST_S, MOST_BYTES, FEWEST_BYTES = 2.0, 4_000_000, 30_000
#: All flows begin within this time.
STARTS_MS = 1000
#: Bytes of a full packet, and of its headers.
PACKET_BYTES, HEADER_BYTES = 1500, 40

Table = dict[str, Any]
_T = TypeVar("_T")


class Dice:
    """The random numbers of one scenario."""

    def __init__(self, seed: int, index: int) -> None:
        self.rng = np.random.default_rng([seed, index])

    def draw_between(self, low: float, high: float) -> float:
        """A log-uniform number with two significant digits."""
        value = math.exp(self.rng.uniform(math.log(low), math.log(high)))
        return round(value, 1 - math.floor(math.log10(value)))

    def count(self, low: int, high: int) -> int:
        """A random integer, both limits included."""
        return int(self.rng.integers(low, high + 1))

    def one_of(self, *choices: _T) -> _T:
        """A random choice."""
        return choices[int(self.rng.integers(len(choices)))]


@dataclass
class Draft:
    """A scenario under construction."""

    dice: Dice
    rate_mbps: float = 0.0
    rtt_ms: float = 0.0
    buffer_bdp: float = 0.0
    queue: Table = field(default_factory=dict)
    forward: list[Table] = field(default_factory=list)
    reverse: list[Table] = field(default_factory=list)
    #: Additional keys of the bottleneck, and of [tcp].
    bottleneck: Table = field(default_factory=dict)
    tcp: Table = field(default_factory=dict)
    sysctls: dict[str, str] = field(default_factory=dict)
    #: The applications, each with its law and the extra round-trip time of its client in ms.
    flows: list[tuple[Table, str, float]] = field(default_factory=list)
    ecn: bool = False
    packet_bytes: int = PACKET_BYTES

    def bdp_packets(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.rate_mbps * 1e6 * self.rtt_ms / 1e3 / (8 * self.packet_bytes)

    def add_bulk(self, count: int = 1, **keys: Any) -> None:
        """Adds `count` bulk transfers from the server."""
        for _ in range(count):
            most = min(self.rate_mbps * 1e6 / 8 * MOST_S / count, MOST_BYTES)
            size = int(self.dice.draw_between(max(FEWEST_BYTES, most / 10), max(most, 2 * FEWEST_BYTES)))
            self.add({"kind": "bulk", "from": "server", "bytes": size, **keys})

    def add(self, app: Table, extra_ms: float = 0.0) -> None:
        """Adds an application with a random law."""
        law = self.dice.one_of(*CONTROLS)
        self.ecn |= law == "dctcp"
        self.flows.append((app, law, extra_ms))


def _reordering(d: Draft) -> None:
    late = f"{d.dice.draw_between(0.5, d.rtt_ms):g}ms"
    d.forward.append(
        d.dice.one_of(
            {"kind": "jitter", "max": late, "keep_order": False},
            {
                "kind": "reorder",
                "p": d.dice.draw_between(0.001, 0.1),
                "extra": f"{d.dice.draw_between(0.5, d.rtt_ms):g}ms",
            },
        )
    )
    d.add_bulk()


def _jitter(d: Draft) -> None:
    d.forward.append(
        {"kind": "jitter", "max": f"{d.dice.draw_between(0.5, d.rtt_ms):g}ms", "keep_order": True}
    )
    d.add_bulk(d.dice.count(1, 2))


def _steps(d: Draft) -> None:
    at = f"{d.dice.draw_between(0.1, 1):g}s"
    back = f"{d.dice.draw_between(1.1, 2):g}s"
    other = f"{d.dice.draw_between(0.1, 2) * d.rtt_ms:.3g}ms"
    if d.dice.count(0, 1):
        extra = d.dice.one_of(["0ms", other], [other, "0ms"])
        d.forward.append({"kind": "delay-steps", "at": ["0s", at], "extra": extra})
    else:
        rates = [f"{d.rate_mbps:g}Mbps", f"{d.rate_mbps * d.dice.draw_between(0.1, 4):.3g}Mbps"]
        d.bottleneck["rate"] = {"at": {"0s": rates[0], at: rates[1], back: rates[0]}}
    d.add_bulk(d.dice.count(1, 2))


def _outage(d: Draft) -> None:
    begin, length = d.dice.draw_between(0.1, 1), d.dice.draw_between(0.05, 2)
    at = ["0s", f"{begin:g}s", f"{begin + length:.4g}s"]
    d.bottleneck["loss"] = {"at": dict(zip(at, ("0%", "100%", "0%"), strict=True))}
    d.add_bulk(d.dice.count(1, 2))


def _many_flows(d: Draft) -> None:
    for _ in range(d.dice.count(3, 8)):
        most = max(min(d.rate_mbps * 1e6 / 8 * MOST_S / 5, MOST_BYTES), 2 * FEWEST_BYTES)
        size = int(d.dice.draw_between(FEWEST_BYTES, most))
        d.add({"kind": "bulk", "from": "server", "bytes": size}, extra_ms=d.dice.draw_between(1, 150))


def _both_directions(d: Draft) -> None:
    d.bottleneck["reverse-limit"] = max(LEAST_PACKETS, round(d.dice.draw_between(0.25, 2) * d.bdp_packets()))
    d.add_bulk()
    d.add_bulk()
    d.flows[-1][0]["from"] = "client"


def _request_response(d: Draft) -> None:
    request, response = (f"{d.dice.draw_between(100, most):g}B" for most in (60_000, 200_000))
    app = {"kind": "rr", "request": request, "response": response, "transactions": d.dice.count(3, 20)}
    d.add(app | ({"think": f"{d.dice.draw_between(1, 300):g}ms"} if d.dice.count(0, 1) else {}))


def _pages(d: Draft) -> None:
    d.add(
        {
            "kind": "web",
            "protocol": "http/1.1",
            "object": f"{d.dice.draw_between(2000, 60_000):g}B",
            "request": f"{d.dice.count(100, 1000)}B",
            "inline_objects": d.dice.count(1, 6),
            "pages": d.dice.count(1, 5),
            "think": f"{d.dice.draw_between(10, 1000):g}ms",
            "clock": "syn",
            "inline_trigger": "whole-primary",
        }
    )


def _on_off(d: Draft) -> None:
    app = {"kind": "rr", "request": "100B", "response": f"{d.dice.draw_between(50_000, 500_000):g}B"}
    d.add(app | {"transactions": d.dice.count(3, 8), "think": f"{d.dice.draw_between(200, 2000):g}ms"})


def _slow_reader(d: Draft) -> None:
    d.add_bulk(read_rate=f"{d.rate_mbps * d.dice.draw_between(0.1, 2):.3g}Mbps")


def _buffers_and_options(d: Draft) -> None:
    kind = d.dice.one_of("receive", "send", "sack", "window_scale", "timestamps")
    if kind == "receive":
        size = d.dice.one_of(8192, 16_384, 65_536, 262_144)
        d.tcp["receive_tuning"] = {"linux": {"initial_bytes": size, "most_bytes": size}}
        d.sysctls["tcp_rmem"] = f"4096 {size} {size}"
    elif kind == "send":
        size = d.dice.one_of(65_536, 131_072, 262_144, 524_288)
        d.tcp["send_tuning"] = {"linux": {"most_bytes": size}}
        d.sysctls["tcp_wmem"] = f"4096 16384 {size}"
    else:
        d.tcp[kind] = False
        d.sysctls["tcp_window_scaling" if kind == "window_scale" else f"tcp_{kind}"] = "0"
    d.add_bulk(d.dice.count(1, 2))


def _segment_sizes(d: Draft) -> None:
    mss = d.dice.one_of(536, 960, 1200, 1400, 4312, 8960)
    d.packet_bytes = mss + HEADER_BYTES
    d.tcp["mss"] = f"{mss}B"
    d.add_bulk(d.dice.count(1, 2))


def _wifi(d: Draft) -> None:
    d.forward.append({"kind": "aggregate", "hold": f"{d.dice.draw_between(0.5, 8):g}ms"})
    d.add_bulk(d.dice.count(1, 2))


def _ack_loss(d: Draft) -> None:
    d.reverse.append({"kind": "bernoulli", "p": d.dice.draw_between(0.005, 0.3)})
    d.add_bulk(d.dice.count(1, 2))


def _burst_losses(d: Draft) -> None:
    good_bad, bad_good = d.dice.draw_between(0.001, 0.02), d.dice.draw_between(0.05, 0.5)
    d.forward.append({"kind": "gilbert-elliott", "p_good_bad": good_bad, "p_bad_good": bad_good})
    d.add_bulk(d.dice.count(1, 2))


def _policer(d: Draft) -> None:
    rate, burst = d.rate_mbps * d.dice.draw_between(0.2, 0.9), f"{d.dice.draw_between(5000, 200_000):g}B"
    d.forward.append({"kind": "policer", "rate": f"{rate:.3g}Mbps", "burst": burst})
    d.add_bulk(d.dice.count(1, 2))


def _queues(d: Draft) -> None:
    limit = f"{max(8, 2 * round(d.bdp_packets()))}pkt"
    bdp = max(8.0, d.bdp_packets())
    d.ecn = bool(d.dice.count(0, 1))
    marks = {"ecn": True} if d.ecn else {}
    d.queue = d.dice.one_of(
        {"kind": "red", "limit": limit, "min_th": f"{bdp / 4:.0f}pkt", "max_th": f"{bdp:.0f}pkt", **marks},
        {"kind": "drop-on-full", "limit": limit, "victim": "front"},
        {"kind": "codel", "limit": limit, **marks},
        {"kind": "pie", "limit": limit, **marks},
        {"kind": "fq-pie", "flows": 65_536, **marks},
        {"kind": "fq-codel", "flows": 65_536, "ecn": d.ecn},
        {"kind": "cake", "rate": f"{0.9 * d.rate_mbps:.3g}Mbps"},
        {"kind": "tbf", "rate": f"{0.8 * d.rate_mbps:.3g}Mbps", "burst": "10000B", "limit": limit},
        {"kind": "dualpi2", "form": "linux", "ecn": d.ecn},
    )
    d.add_bulk(d.dice.count(1, 3))


#: The classes in the order in which they take turns.
CLASSES: Mapping[str, Callable[[Draft], None]] = {
    "reordering": _reordering,
    "jitter": _jitter,
    "route and rate steps": _steps,
    "outages": _outage,
    "many flows": _many_flows,
    "both directions": _both_directions,
    "request-response": _request_response,
    "pages": _pages,
    "on-off": _on_off,
    "slow readers": _slow_reader,
    "buffers and options": _buffers_and_options,
    "segment sizes": _segment_sizes,
    "bursts": _wifi,
    "ACK loss": _ack_loss,
    "loss in bursts": _burst_losses,
    "policers": _policer,
    "queues": _queues,
}


@dataclass(frozen=True)
class WideScenario:
    """A random study of one class."""

    kind: str
    tables: Table
    #: Sysctls of both hosts' kernels, in addition to the stack's.
    sysctls: Mapping[str, str]

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return int(self.tables["run"]["seed"])

    @property
    def laws(self) -> list[str]:
        """The congestion control of each traffic entry."""
        return [entry["tcp"] for entry in self.tables["traffic"]]

    def __str__(self) -> str:
        return str(self.tables["title"])

    def to_toml(self, alignment: Alignment | None = None) -> str:
        """The study file; an `alignment` to a kernel's run is for the simulator."""
        if alignment is None:
            return dumps(self.tables)
        tables = copy.deepcopy(self.tables)
        tables["tcp"]["rto"] = {"timer_hz": HZ, "tick_phase": f"{alignment.tick_phase_ns}ns"}
        for entry, at, draw in zip(tables["traffic"], alignment.starts_ns, alignment.draws, strict=True):
            entry["start"] = f"{at}ns"
            entry["name"] += f"-{draw}" if draw else ""
        return dumps(tables)

    def compile(self, alignment: Alignment | None = None) -> str:
        """The scenario as JSON for the engine."""
        (cell,) = Study.from_toml(self.to_toml(alignment)).plan().cells
        return cell.scenario

    def simplify(self) -> Iterator[WideScenario]:
        """Scenarios that are simpler by one step: fewer flows, no impairment, a plain queue, less data."""
        flows, bottleneck = self.tables["traffic"], self._bottleneck(self.tables)
        for k in range(len(flows) if len(flows) > 1 else 0):
            tables = copy.deepcopy(self.tables)
            del tables["traffic"][k]
            yield self._with(tables)
        for way in ("forward", "reverse"):
            for k in range(len(bottleneck[way]["impairments"])):
                tables = copy.deepcopy(self.tables)
                del self._bottleneck(tables)[way]["impairments"][k]
                yield self._with(tables)
        if bottleneck["forward"]["queue"]["kind"] != "drop-tail":
            tables = copy.deepcopy(self.tables)
            self._bottleneck(tables)["forward"]["queue"] = {"kind": "drop-tail", "limit": "100pkt"}
            yield self._with(tables)
        for k, entry in enumerate(flows):
            for key in ("bytes", "transactions", "pages", "inline_objects"):
                if (value := entry["app"].get(key, 1)) > 1:
                    tables = copy.deepcopy(self.tables)
                    tables["traffic"][k]["app"][key] = value // 2
                    yield self._with(tables)

    def _with(self, tables: Table) -> WideScenario:
        """A scenario with these tables, without TCP settings that no flow uses."""
        used = {entry["tcp"] for entry in tables["traffic"]}
        tables["tcp"]["groups"] = {cc: knobs for cc, knobs in tables["tcp"]["groups"].items() if cc in used}
        return WideScenario(self.kind, tables, self.sysctls)

    @staticmethod
    def _bottleneck(tables: Table) -> Table:
        return next(link for link in tables["topology"]["links"] if link["name"] == "bottleneck")


def draw_wide(seed: int, index: int, *, trains: bool = False) -> WideScenario:
    """The scenario at position `index` of a seed's sequence; the classes take turns."""
    kind, build = list(CLASSES.items())[index % len(CLASSES)]
    dice = Dice(seed, index)
    draft = Draft(dice, dice.draw_between(1, 100), dice.draw_between(5, 200), dice.draw_between(0.25, 4))
    build(draft)
    return _finish(kind, draft, trains=trains)


def _finish(kind: str, d: Draft, *, trains: bool) -> WideScenario:
    knobs: Table = {
        **host_knobs(trains=trains),
        **d.tcp,
        "groups": law_groups((law for _, law, _ in d.flows), ecn=d.ecn, trains=trains),
    }
    tables: Table = {
        "title": f"{kind}: {_describe(d)}",
        "topology": _topology(d),
        "traffic": [
            {
                "name": f"flow-{k}",
                "client": f"client-{k}" if extra else "client",
                "server": "server",
                "start": f"{0 if k == 0 else d.dice.count(0, STARTS_MS)}ms",
                "tcp": law,
                "app": app,
            }
            for k, (app, law, extra) in enumerate(d.flows)
        ],
        "tcp": {"profile": "linux-6", **knobs},
        "run": {"duration": f"{DURATION_S:g}s", "seed": d.dice.count(1, 1 << 31), "stack": STACK},
        "probes": {"segments_at": "server"},
    }
    return WideScenario(kind, tables, d.sysctls)


def _describe(d: Draft) -> str:
    """The path and its special features, for the table."""
    apps = " + ".join(
        f"{law} {app['kind']} {app.get('bytes', app.get('response', app.get('object')))}"
        for app, law, _ in d.flows
    )
    special = [*d.forward, *d.reverse, *([d.queue] if d.queue else []), d.tcp, d.bottleneck]
    more = "; ".join(
        ", ".join(f"{key} {value}" for key, value in table.items()) for table in special if table
    )
    return f"{d.rate_mbps:g} Mb/s, {d.rtt_ms:g} ms, {d.buffer_bdp:g} BDP: {apps}" + (
        f" ({more})" if more else ""
    )


def _topology(d: Draft) -> Table:
    plain = {"kind": "drop-tail", "limit": "10000pkt"}
    limit = max(LEAST_PACKETS, round(d.buffer_bdp * d.bdp_packets()))
    clients = [(f"client-{k}", extra) for k, (_, _, extra) in enumerate(d.flows) if extra]
    far = "far" if clients else "client"
    own = dict(d.bottleneck)
    back: Table = {"queue": plain, "impairments": d.reverse}
    if reverse_limit := own.pop("reverse-limit", None):
        back["queue"] = {"kind": "drop-tail", "limit": f"{reverse_limit}pkt"}
    forward: Table = {
        "queue": d.queue or {"kind": "drop-tail", "limit": f"{limit}pkt"},
        "impairments": d.forward,
    }
    if loss := own.pop("loss", None):
        forward["loss"] = loss
    links: list[Table] = [
        {
            "name": "access",
            "between": ["server", "router"],
            "rate": "1Gbps",
            "delay": "0ms",
            "queue": plain,
            "forward": {"impairments": [{"kind": "jitter", "max": JITTER, "keep_order": True}]},
        },
        {
            "name": "bottleneck",
            "between": ["router", far],
            "rate": f"{d.rate_mbps:g}Mbps",
            "delay": f"{d.rtt_ms / 2:g}ms",
            "forward": forward,
            "reverse": back,
            **own,
        },
    ]
    links += [
        {
            "name": f"to-{client}",
            "between": [far, client],
            "rate": "1Gbps",
            "delay": f"{extra / 2:g}ms",
            "queue": plain,
        }
        for client, extra in clients
    ]
    nodes = ["server", "router", far, *(client for client, _ in clients)]
    return {"nodes": nodes, "links": links}
