"""Random scenarios of one or two flows through a bottleneck, as studies, and their simplification."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cwndlab.api import Study
from cwndlab.study.toml import dumps

CONTROLS = ("cubic", "reno", "bbr1", "dctcp")
QUEUES = ("drop-tail", "codel", "fq-codel", "pie")
LOSSES = (0.0, 0.001, 0.01)
#: All transfers begin before this time.
STARTS_MS = 3000
#: Limits of a flow's data: seconds at the bottleneck's rate, most bytes, fewest bytes.
MOST_S, MOST_BYTES, FEWEST_BYTES = 3.0, 5_000_000, 20_000
DURATION_S = 30.0
PACKET_BYTES = 1500
JITTER = "0.1ms"
#: The kernel's configuration, its ticks per second, and the buffer of a simple receiver.
STACK, HZ, RECEIVE_BYTES = "linux-laws", 1000, 6_291_456
#: The kernel's maximum send buffer, `tcp_wmem[2]`.
SEND_BYTES = 4_194_304
#: Simulator and kernel hash flows differently (names, ports); with this many queues, flows hardly ever
#: collide.
FAIR_QUEUES = 65_536
#: The slack of delayed ACKs (compressed SACKs). At the stock value of 0.1 ms, the other host's timer in the
#: same guest may send them; at 0, an ACK would be due exactly when the next segment arrives at 12 Mb/s.
SLACK_NS = 1000
#: A queue holds at least this many packets, even if the buffer is a small fraction of the BDP.
LEAST_PACKETS = 2


@dataclass(frozen=True)
class Transfer:
    """A connection on which the server sends `bytes`."""

    start_ms: int
    bytes: int
    cc: str


@dataclass(frozen=True)
class Alignment:
    """Random properties of a kernel's run that the simulator must reproduce."""

    #: The time of each transfer's SYN: the guest's applications sleep for whole ticks.
    starts_ns: tuple[int, ...]
    #: How far the clock that counts the kernel's ticks is ahead of the run's clock.
    tick_phase_ns: int
    #: For each transfer, a number that selects its random numbers.
    draws: tuple[int, ...]


@dataclass(frozen=True)
class Scenario:
    """A random scenario."""

    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    queue: str
    ecn: bool
    loss: float
    #: For each flow its transfers: one for a bulk flow, several for a web-like flow.
    flows: tuple[tuple[Transfer, ...], ...]
    #: The seed of the random losses.
    seed: int
    #: Whether every segment is acknowledged, receive buffers are large, and Nagle's algorithm is off.
    simple_receiver: bool = False
    #: Whether senders pass trains of segments to their device.
    trains: bool = False

    @property
    def kind(self) -> str:
        """The class of the scenario, always "bottleneck"."""
        return "bottleneck"

    @property
    def sysctls(self) -> dict[str, str]:
        """Sysctls of both hosts' kernels, in addition to those of all scenarios."""
        return {}

    @property
    def transfers(self) -> list[Transfer]:
        """The transfers of all flows, in the order of their starts."""
        return sorted((t for flow in self.flows for t in flow), key=lambda transfer: transfer.start_ms)

    @property
    def buffer_packets(self) -> int:
        """The limit of the bottleneck's queue in packets."""
        bdp = self.rate_mbps * 1e6 * self.rtt_ms / 1e3 / (8 * PACKET_BYTES)
        return max(LEAST_PACKETS, round(self.buffer_bdp * bdp))

    def __str__(self) -> str:
        flows = " + ".join(
            f"{flow[0].cc} {len(flow)} × {round(sum(t.bytes for t in flow) / len(flow) / 1e3)} kB"
            for flow in self.flows
        )
        queue = self.queue + (" ECN" if self.ecn else "")
        loss = f", loss {100 * self.loss:g} %" if self.loss else ""
        return f"{self.rate_mbps:g} Mb/s, {self.rtt_ms:g} ms, {self.buffer_bdp:g} BDP {queue}{loss}: {flows}"

    def study(self, alignment: Alignment | None = None) -> dict[str, Any]:
        """The tables of the study file; an `alignment` to a kernel's run is for the simulator."""
        knobs = host_knobs(trains=self.trains)
        if self.simple_receiver:
            tuning = {"linux": {"initial_bytes": RECEIVE_BYTES, "most_bytes": RECEIVE_BYTES}}
            knobs |= {"ack_policy": "every", "nagle": False, "receive_tuning": tuning}
        starts = [f"{transfer.start_ms}ms" for transfer in self.transfers]
        names = [f"transfer-{k}" for k in range(len(starts))]
        if alignment is not None:
            knobs["rto"] = {"timer_hz": HZ, "tick_phase": f"{alignment.tick_phase_ns}ns"}
            starts = [f"{at}ns" for at in alignment.starts_ns]
            names = [
                name + (f"-{draw}" if draw else "") for name, draw in zip(names, alignment.draws, strict=True)
            ]
        return {
            "title": str(self),
            "topology": {"nodes": ["server", "router", "client"], "links": self._links()},
            "traffic": [
                {
                    "name": name,
                    "client": "client",
                    "server": "server",
                    "start": start,
                    "tcp": one.cc,
                    "app": {"kind": "bulk", "from": "server", "bytes": one.bytes},
                }
                for name, start, one in zip(names, starts, self.transfers, strict=True)
            ],
            "tcp": {
                "profile": "linux-6",
                **knobs,
                "groups": law_groups(self.laws, ecn=self.ecn, trains=self.trains),
            },
            "run": {"duration": f"{DURATION_S:g}s", "seed": self.seed, "stack": STACK},
            "probes": {"segments_at": "server"},
        }

    def _links(self) -> list[dict[str, Any]]:
        queue: dict[str, Any] = {"kind": self.queue, "limit": f"{self.buffer_packets}pkt"}
        if self.ecn and self.queue != "drop-tail":
            queue["ecn"] = True
        if self.queue == "fq-codel":
            queue["flows"] = FAIR_QUEUES
        drops = [{"kind": "bernoulli", "p": self.loss}] if self.loss else []
        # Because of ACK clocking, packets arrive in the very nanosecond in which others leave, and a kernel
        # is never exact to the nanosecond. Without jitter, such ties would decide which packets are lost.
        jitter = {"kind": "jitter", "max": JITTER, "keep_order": True}
        plain = {"kind": "drop-tail", "limit": "10000pkt"}
        return [
            {
                "name": "access",
                "between": ["server", "router"],
                "rate": "1Gbps",
                "delay": "0ms",
                "queue": plain,
                "forward": {"impairments": [jitter]},
            },
            {
                "name": "bottleneck",
                "between": ["router", "client"],
                "rate": f"{self.rate_mbps:g}Mbps",
                "delay": f"{self.rtt_ms / 2:g}ms",
                "forward": {"queue": queue, "impairments": drops},
                "reverse": {"queue": plain},
            },
        ]

    def to_toml(self, alignment: Alignment | None = None) -> str:
        """The study file."""
        return dumps(self.study(alignment))

    @property
    def laws(self) -> list[str]:
        """The congestion control of each transfer."""
        return [transfer.cc for transfer in self.transfers]

    def compile(self, alignment: Alignment | None = None) -> str:
        """The scenario as JSON for the engine."""
        (cell,) = Study.from_toml(self.to_toml(alignment)).plan().cells
        return cell.scenario

    def simplify(self) -> Iterator[Scenario]:
        """Scenarios that are simpler by one step, the largest steps first."""
        if len(self.flows) > 1:
            for flow in self.flows:
                yield replace(self, flows=(flow,))
        for k, flow in enumerate(self.flows):
            if len(flow) > 1:
                for kept in (flow[: len(flow) // 2], flow[len(flow) // 2 :], flow[:-1], flow[1:]):
                    yield self._with_flow(k, kept)
        if self.loss:
            yield replace(self, loss=0.0)
        if self.ecn and all(transfer.cc != "dctcp" for transfer in self.transfers):
            yield replace(self, ecn=False)
        if self.queue != "drop-tail":
            yield replace(self, queue="drop-tail")
        first = self.transfers[0].start_ms
        if first:
            yield replace(
                self,
                flows=tuple(
                    tuple(replace(one, start_ms=one.start_ms - first) for one in flow) for flow in self.flows
                ),
            )
        for k, flow in enumerate(self.flows):
            for j, one in enumerate(flow):
                for size in (one.bytes // 4, one.bytes // 2, 3 * one.bytes // 4):
                    if size >= FEWEST_BYTES:
                        size = int(_rounded(size, 2))
                        yield self._with_flow(k, (*flow[:j], replace(one, bytes=size), *flow[j + 1 :]))
        rounder = (
            replace(self, rate_mbps=_rounded(self.rate_mbps, 1)),
            replace(self, rtt_ms=_rounded(self.rtt_ms, 1)),
            replace(self, buffer_bdp=_rounded(self.buffer_bdp, 1)),
        )
        yield from (other for other in rounder if other != self)

    def _with_flow(self, k: int, flow: tuple[Transfer, ...]) -> Scenario:
        return replace(self, flows=(*self.flows[:k], flow, *self.flows[k + 1 :]))


def host_knobs(*, trains: bool) -> dict[str, Any]:
    """The knobs that make all connections of the simulator behave like the kernel's."""
    knobs: dict[str, Any] = {
        "send_tuning": {"linux": {"most_bytes": SEND_BYTES}},
        "withheld_ack_slack": f"{SLACK_NS}ns",
    }
    return knobs | ({"trains": "linux"} if trains else {})


def law_groups(laws: Iterable[str], *, ecn: bool, trains: bool) -> dict[str, dict[str, Any]]:
    """A group of TCP settings for each congestion control."""
    groups: dict[str, dict[str, Any]] = {}
    for law in laws:
        marks = {"ecn": "rfc3168"} if ecn and law != "dctcp" else {}  # DCTCP has its own form of ECN
        groups[law] = {"cc": law, **marks, **_law_knobs(law, trains=trains)}
    return groups


def _law_knobs(cc: str, *, trains: bool) -> dict[str, Any]:
    """The knobs that make a connection with this congestion control behave like the kernel's."""
    if cc == "dctcp":
        return {"handshake": {"ecn_capable": True}}  # Linux sets ECT on the socket (INET_ECN_xmit)
    if cc == "bbr1" and not trains:
        return {"max_train_segments": 1}  # the guest's device does not split segments
    return {}


def draw(seed: int, index: int, *, simple_receiver: bool = False, trains: bool = False) -> Scenario:
    """The scenario at position `index` of a seed's sequence, independent of other positions."""
    rng = np.random.default_rng([seed, index])

    def between(low: float, high: float) -> float:
        return _rounded(math.exp(rng.uniform(math.log(low), math.log(high))), 2)

    rate = between(1, 200)
    count = int(rng.integers(1, 3))
    flows = tuple(_flow(rng, rate, str(rng.choice(CONTROLS)), first=k == 0) for k in range(count))
    return Scenario(
        rate_mbps=rate,
        rtt_ms=between(5, 200),
        buffer_bdp=between(0.1, 4),
        queue=str(rng.choice(QUEUES)),
        # A kernel enables ECN by route: for all connections between two hosts, or for none.
        ecn=bool(rng.integers(2)) or any(transfer.cc == "dctcp" for flow in flows for transfer in flow),
        loss=float(rng.choice(LOSSES)),
        flows=flows,
        seed=int(rng.integers(1, 1 << 31)),
        simple_receiver=simple_receiver,
        trains=trains,
    )


def _flow(rng: np.random.Generator, rate_mbps: float, cc: str, *, first: bool) -> tuple[Transfer, ...]:
    """One transfer, or several short ones at random times; the first flow starts at 0."""
    most = max(2.0 * FEWEST_BYTES, min(rate_mbps * 1e6 / 8 * MOST_S, MOST_BYTES))
    begins = 0 if first else int(rng.integers(0, STARTS_MS))
    if rng.integers(2):
        size = math.exp(rng.uniform(math.log(FEWEST_BYTES), math.log(most)))
        return (Transfer(begins, int(_rounded(size, 2)), cc),)
    count = int(rng.integers(3, 9))
    starts = sorted(int(rng.integers(begins, STARTS_MS + 1)) for _ in range(count))
    starts[0] = begins
    # Median 30 kB with a heavy tail, like web objects.
    sizes = np.clip(np.exp(rng.normal(math.log(30_000), 1.2, count)), 1000, most)
    return tuple(
        Transfer(at, int(_rounded(float(size), 2)), cc) for at, size in zip(starts, sizes, strict=True)
    )


def _rounded(value: float, digits: int) -> float:
    """The value rounded to this many significant digits."""
    return round(value, digits - 1 - math.floor(math.log10(value)))
