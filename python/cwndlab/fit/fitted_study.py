"""The study of a fitted path: a bottleneck, the flow, cross traffic, and an axis of draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .flow_packets import TIMESTAMPS
from .path_estimates import LEAST_CROSS

#: Draws of the parameters. If 39 values and the true one are exchangeable, the true one lies between the
#: smallest and the largest in 38 of 40 cases: 95 %.
DRAWS = 39
#: The axis of the draws, the flow's name, and that of the cross traffic.
DRAW, FLOW, CROSS = "draw", "flow", "cross"
#: What is measured of a fitted study.
MEASURED = ("goodput", "loss_rate", "queue_delay")


@dataclass(frozen=True)
class PathParameters:
    """A path that a study describes."""

    rate_bps: float
    base_s: float
    buffer_bytes: float
    loss: float = 0.0
    cross: float = 0.0

    def with_changes(self, **values: float) -> PathParameters:
        """The same with other values, kept within what a study accepts."""
        new = replace(self, **values)
        return replace(
            new,
            rate_bps=max(new.rate_bps, 1e3),
            base_s=max(new.base_s, 1e-6),
            buffer_bytes=max(new.buffer_bytes, 1600.0),
            loss=min(max(new.loss, 0.0), 0.9),
            cross=min(max(new.cross, 0.0), 0.95),
        )

    @property
    def rate(self) -> str:
        """As a study writes it."""
        return _in_mbps(round(self.rate_bps))

    @property
    def rtt(self) -> str:
        """The base round-trip time."""
        return f"{2 * self._half_us / 1000:.9g}ms"

    @property
    def half(self) -> str:
        """Half of it."""
        return f"{self._half_us / 1000:.9g}ms"

    @property
    def _half_us(self) -> int:
        return max(1, round(self.base_s * 5e5))

    @property
    def buffer(self) -> str:
        """The limit of the queue."""
        return f"{round(self.buffer_bytes)}B"

    @property
    def cross_rate(self) -> str:
        """The mean rate of the cross traffic."""
        return _in_mbps(max(1000, round(self.cross * self.rate_bps)))

    def sets(self, *, cross: bool) -> dict[str, Any]:
        """The keys of the full study that this path sets."""
        forward: dict[str, Any] = {"queue": {"kind": "drop-tail", "limit": self.buffer}}
        if self.loss > 0:
            forward["impairments"] = [{"kind": "bernoulli", "p": float(f"{self.loss:.4g}")}]
        found: dict[str, Any] = {
            "topology.links.bottleneck.rate": self.rate,
            "topology.links.bottleneck.forward": forward,
            "topology.rtt": self.rtt,
            f"topology.links.{FLOW}_access.delay": self.half,
        }
        if cross:
            found |= {
                f"topology.links.{CROSS}_access.delay": self.half,
                f"traffic.{CROSS}.app.rate": self.cross_rate,
            }
        return found


def _in_mbps(bps: int) -> str:
    """A rate in bit/s as a study writes it, exactly."""
    return f"{bps // 10**6}.{bps % 10**6:06}".rstrip("0").rstrip(".") + "Mbps"


@dataclass(frozen=True)
class FittedFlow:
    """The flow of a fitted study."""

    cc: str
    mss: int
    header: int
    initial_window: int | None
    #: Segments that an acknowledgment covers, at the median.
    ack_ratio: float
    seconds: float

    def tcp(self) -> dict[str, Any]:
        """The knobs that differ from the profile's."""
        stamped = self.header > 40
        knobs: dict[str, Any] = {"mss": f"{self.mss + (TIMESTAMPS if stamped else 0)}B"}
        if not stamped:
            knobs["timestamps"] = False
        if self.initial_window:
            knobs["initial_window"] = self.initial_window
        if self.ack_ratio < 1.5:
            knobs["ack_policy"] = "every"
        return knobs


def tables(
    title: str, middle: PathParameters, draws: Sequence[PathParameters], flow: FittedFlow, about: str = ""
) -> dict[str, Any]:
    """The tables of a study file with these draws of a path around a middle."""
    cross = max([middle.cross, *(one.cross for one in draws)]) >= LEAST_CROSS
    flows: list[dict[str, Any]] = [{"name": FLOW, "cc": "$cc", "start": "0s", "tcp": flow.tcp()}]
    if cross:
        app = {"kind": "poisson", "rate": middle.cross_rate}
        flows.append({"name": CROSS, "start": "0s", "app": app})
    network: dict[str, Any] = {"rate": middle.rate, "rtt": middle.rtt, "buffer": middle.buffer}
    if middle.loss > 0:
        network["loss"] = f"{100 * middle.loss:.4g}%"
    goodput = f"goodput_{FLOW}" if cross else "goodput"
    loss = f"loss_rate_{FLOW}" if cross else "loss_rate"
    finding = (
        f"Over the draws of the path the goodput of the flow is {{median({goodput}):2}} Mbit/s "
        f"(95 %: {{min({goodput}):2}} to {{max({goodput}):2}}), its loss rate {{median({loss}):2}} % "
        f"({{min({loss}):2}} to {{max({loss}):2}})."
    )
    values = [
        {"name": str(k + 1), "set": {**one.sets(cross=cross), "run.seed": k + 1}}
        for k, one in enumerate(draws)
    ]
    return {
        "title": title,
        **({"about": about} if about else {}),
        "finding": finding,
        "measure": list(MEASURED),
        "parameters": {"cc": flow.cc},
        "dumbbell": {**network, "flows": flows},
        "axes": {DRAW: {"title": "draw", "values": values}},
        "run": {"duration": f"{max(1, round(flow.seconds * 1000))}ms", "replicates": 1},
    }
