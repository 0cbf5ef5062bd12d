"""The study of a fitted path: a bottleneck, the flow, cross traffic, and an axis of draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cwndlab.apps.captures.link_rate import LEAST_CROSS
from cwndlab.apps.diagnosis.conversation import TIMESTAMPS

#: Draws of the parameters. If 39 draws and the true value are exchangeable, the true value lies between the
#: least and the greatest draw with a probability of 38/40 = 95 %.
DRAWS = 39
#: Names: of the axis of draws, the fitted flow, cross traffic of datagrams, and cross traffic of TCP flows.
DRAW, FLOW, CROSS, RIVAL = "draw", "flow", "cross", "rival"
#: The largest relative error of a simulated sender's goodput, compared with Linux.
MODEL_ERROR = 0.005
#: The least limit of a queue, in bytes.
LEAST_BUFFER = 1600.0
#: The congestion control of other TCP flows, where no draw sets it.
RIVAL_CC = "cubic"
#: The measures of a fitted study.
MEASURED = ("goodput", "loss_rate", "queue_delay")
_DELAY = "queue_delay_mean"


@dataclass(frozen=True)
class Rival:
    """Other TCP flows through the bottleneck: one or several endless transfers."""

    cc: str
    count: int
    start_s: float
    #: Base round trip as a multiple of the fitted flow's.
    rtt_ratio: float


@dataclass(frozen=True)
class PathParameters:
    """The parameters of a path."""

    rate_bps: float
    base_s: float
    buffer_bytes: float
    loss: float = 0.0
    #: Share of the rate that cross traffic of datagrams uses.
    cross: float = 0.0
    rival: Rival | None = None
    #: The packet size in bytes if the queue is limited in packets; 0 if it is limited in bytes.
    packet_bytes: int = 0

    def with_changes(self, **values: Any) -> PathParameters:
        """A copy with other values, clamped to the ranges of a study, and with a buffer of whole packets."""
        new = replace(self, **values)
        buffer, packet = max(new.buffer_bytes, LEAST_BUFFER), new.packet_bytes
        return replace(
            new,
            rate_bps=max(new.rate_bps, 1e3),
            base_s=max(new.base_s, 1e-6),
            buffer_bytes=float(max(1, round(buffer / packet)) * packet) if packet else buffer,
            loss=min(max(new.loss, 0.0), 0.9),
            cross=min(max(new.cross, 0.0), 0.95),
        )

    @property
    def as_written(self) -> PathParameters:
        """The path rounded as in a study file: whole bit/s, microseconds one way, and bytes."""
        return replace(
            self,
            rate_bps=float(round(self.rate_bps)),
            base_s=2e-6 * self._half_us,
            buffer_bytes=float(round(self.buffer_bytes)),
            loss=float(f"{self.loss:.4g}"),
        )

    @property
    def rate(self) -> str:
        """The rate as a study writes it."""
        return _in_mbps(round(self.rate_bps))

    @property
    def rtt(self) -> str:
        """The base round-trip time as a study writes it."""
        return f"{2 * self._half_us / 1000:.9g}ms"

    @property
    def half(self) -> str:
        """Half the base round-trip time as a study writes it."""
        return f"{self._half_us / 1000:.9g}ms"

    @property
    def _half_us(self) -> int:
        return max(1, round(self.base_s * 5e5))

    @property
    def buffer(self) -> str:
        """The limit of the queue as a study writes it."""
        return f"{round(self.buffer_bytes)}B"

    @property
    def cross_rate(self) -> str:
        """The mean rate of the cross traffic as a study writes it."""
        return _in_mbps(max(1000, round(self.cross * self.rate_bps)))

    def sets(self, present: Present) -> dict[str, Any]:
        """The keys of the full study that this path sets. Absent cross traffic starts after the run's end."""
        forward: dict[str, Any] = {"queue": {"kind": "drop-tail", "limit": self.buffer}}
        if self.loss > 0:
            forward["impairments"] = [{"kind": "bernoulli", "p": float(f"{self.loss:.4g}")}]
        found: dict[str, Any] = {
            "topology.links.bottleneck.rate": self.rate,
            "topology.links.bottleneck.forward": forward,
            "topology.rtt": self.rtt,
            f"topology.links.{FLOW}_access.delay": self.half,
        }
        if present.datagrams:
            found[f"topology.links.{CROSS}_access.delay"] = self.half
            if self.rival is None:
                found[f"traffic.{CROSS}.app.rate"] = self.cross_rate
            elif present.tcp:
                found[f"traffic.{CROSS}.start"] = present.never
        if present.tcp and self.rival is not None:
            half_ms = self._half_us * self.rival.rtt_ratio / 1000
            found |= {
                f"topology.links.{RIVAL}_access.delay": f"{half_ms:.6g}ms",
                f"traffic.{RIVAL}.count": self.rival.count,
                f"traffic.{RIVAL}.start": f"{1000 * self.rival.start_s:.0f}ms",
                f"tcp.groups.{RIVAL}.cc": self.rival.cc,
            }
        elif present.tcp:
            found |= {
                f"topology.links.{RIVAL}_access.delay": self.half,
                f"traffic.{RIVAL}.start": present.never,
            }
        return found


def _in_mbps(bps: int) -> str:
    """A rate in bit/s as exact text in Mbps."""
    return f"{bps // 10**6}.{bps % 10**6:06}".rstrip("0").rstrip(".") + "Mbps"


class Present(NamedTuple):
    """Which cross traffic occurs in any draw, and a time after the end of the runs."""

    datagrams: bool
    tcp: bool
    never: str


@dataclass(frozen=True)
class FittedFlow:
    """The flow of a fitted study."""

    cc: str
    mss: int
    header: int
    initial_window: int | None
    #: Median number of segments that an acknowledgment covers.
    ack_ratio: float
    seconds: float

    @property
    def wire_bytes(self) -> int:
        """Size of a full segment including headers, in bytes."""
        return self.mss + self.header

    def tcp(self) -> dict[str, Any]:
        """The TCP knobs that differ from those of the profile."""
        stamped = self.header > 40
        knobs: dict[str, Any] = {"mss": f"{self.mss + (TIMESTAMPS if stamped else 0)}B"}
        if not stamped:
            knobs["timestamps"] = False
        if self.initial_window:
            knobs["initial_window"] = self.initial_window
        if self.ack_ratio < 1.5:
            knobs["ack_policy"] = "every"
        return knobs


def _median(quantity: str, digits: int) -> str:
    """The median of a quantity over the draws, as a placeholder in a finding."""
    return f"{{median({quantity}, over={DRAW}):{digits}}}"


def _ends(quantity: str, digits: int, low: str = "", high: str = "") -> str:
    """The least and the greatest value of a quantity, each times a factor, as placeholders in a finding."""
    smallest, largest = f"min({quantity}, over={DRAW})", f"max({quantity}, over={DRAW})"
    return f"{{{low}{smallest}:{digits}}} to {{{high}{largest}:{digits}}}"


def tables(
    title: str, middle: PathParameters, draws: Sequence[PathParameters], flow: FittedFlow, about: str = ""
) -> dict[str, Any]:
    """The tables of a study file with these draws of a path around `middle`."""
    every = [middle, *draws]
    alone = [draw for draw in every if draw.rival is None]
    duration = max(1, round(flow.seconds * 1000))
    present = Present(
        datagrams=max((draw.cross for draw in alone), default=0.0) >= LEAST_CROSS,
        tcp=len(alone) < len(every),
        never=f"{duration + 1000}ms",
    )
    flows: list[dict[str, Any]] = [{"name": FLOW, "cc": "$cc", "start": "0s", "tcp": flow.tcp()}]
    if present.datagrams:
        app = {"kind": "poisson", "rate": middle.cross_rate}
        flows.append({"name": CROSS, "start": "0s", "app": app})
    if present.tcp:
        flows.append({"name": RIVAL, "cc": RIVAL_CC, "start": "0s"})
    network: dict[str, Any] = {"rate": middle.rate, "rtt": middle.rtt, "buffer": middle.buffer}
    if middle.loss > 0:
        network["loss"] = f"{100 * middle.loss:.4g}%"
    goodput, loss = (f"{name}_{FLOW}" if len(flows) > 1 else name for name in ("goodput", "loss_rate"))
    low, high = f"{1 - MODEL_ERROR:g} * ", f"{1 + MODEL_ERROR:g} * "
    finding = (
        f"Over the draws of the path the goodput of the flow is {_median(goodput, 2)} Mbit/s "
        f"(95 %: {_ends(goodput, 2, low, high)}), its loss rate {_median(loss, 2)} % ({_ends(loss, 2)}), and "
        f"the mean queueing delay {_median(_DELAY, 1)} ms ({_ends(_DELAY, 1)})."
    )
    values = [
        {"name": str(k + 1), "set": {**one.sets(present), "run.seed": k + 1}} for k, one in enumerate(draws)
    ]
    return {
        "title": title,
        **({"about": about} if about else {}),
        "finding": finding,
        "measure": list(MEASURED),
        "parameters": {"cc": flow.cc},
        "dumbbell": {**network, "flows": flows},
        "axes": {DRAW: {"title": "draw", "values": values}},
        "run": {"duration": f"{duration}ms", "replicates": 1},
    }
