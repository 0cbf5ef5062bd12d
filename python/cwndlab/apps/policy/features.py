"""The features that a policy can observe, computed from a step of its flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cwndlab.base.errors import StudyError, nearest


@dataclass(slots=True)
class FlowStep:
    """What a flow observed since its policy last acted. The first step begins with the connection."""

    start_s: float = 0.0
    #: The time of the ACK that ends the step.
    now_s: float = 0.0
    #: Payload bytes of a full segment.
    mss: int = 1
    #: The congestion window before the policy acts.
    cwnd_bytes: float = 0.0
    #: The pacing rate; None if the policy has set none.
    pacing_rate_bps: float | None = None
    #: Bytes newly reported as delivered by ACKs of this step.
    delivered_bytes: int = 0
    lost_bytes: int = 0
    #: Delivered bytes that were marked CE.
    ce_bytes: int = 0
    #: Number of expired retransmission timers.
    timeouts: int = 0
    #: Bytes in flight at the end of the step, and at the end of the previous step.
    in_flight_bytes: int = 0
    former_in_flight_bytes: int = 0
    #: Sum and number of the round-trip times measured in the step.
    rtt_sum_s: float = 0.0
    rtts: int = 0
    srtt_s: float = 0.0
    #: Mean round-trip time of the previous step; 0 in the first step.
    former_rtt_s: float = 0.0
    #: The last ACK's delivery rate sample, and the largest such sample at the end of any step so far.
    rate_bps: float = 0.0
    max_rate_bps: float = 0.0
    #: The least round-trip time of the connection; 0 before the first.
    min_rtt_s: float = 0.0

    def next(self) -> FlowStep:
        """The next step, without observations."""
        return FlowStep(
            start_s=self.now_s,
            now_s=self.now_s,
            mss=self.mss,
            in_flight_bytes=self.in_flight_bytes,
            former_in_flight_bytes=self.in_flight_bytes,
            srtt_s=self.srtt_s,
            former_rtt_s=self.rtt_s,
            rate_bps=self.rate_bps,
            max_rate_bps=self.max_rate_bps,
            min_rtt_s=self.min_rtt_s,
        )

    @property
    def interval_s(self) -> float:
        """Length of the step."""
        return self.now_s - self.start_s

    @property
    def rtt_s(self) -> float:
        """Mean round-trip time of the step; the smoothed RTT if the step has none."""
        return self.rtt_sum_s / self.rtts if self.rtts else self.srtt_s

    @property
    def throughput_bps(self) -> float:
        """Delivered bits per second of the step; the delivery rate sample if the step has no duration."""
        return self.delivered_bytes * 8 / self.interval_s if self.interval_s > 0 else self.rate_bps

    @property
    def sent_bytes(self) -> int:
        """Bytes sent in the step, retransmissions included."""
        sent = self.in_flight_bytes - self.former_in_flight_bytes + self.delivered_bytes + self.lost_bytes
        return max(sent, 0)

    @property
    def loss_share(self) -> float:
        """Share of lost bytes among those delivered or lost."""
        return _ratio(self.lost_bytes, self.lost_bytes + self.delivered_bytes, 0.0)

    @property
    def rtt_gradient(self) -> float:
        """Change of the mean round-trip time since the previous step, per second."""
        if not (self.former_rtt_s and self.rtts and self.interval_s > 0):
            return 0.0
        return (self.rtt_s - self.former_rtt_s) / self.interval_s


class Feature(NamedTuple):
    """A number that a policy can observe, limited to a range."""

    meaning: str
    low: float
    high: float
    value: Callable[[FlowStep], float]


def _ratio(of: float, by: float, otherwise: float) -> float:
    return of / by if by > 0 else otherwise


def check_features(names: Iterable[str], key: str) -> None:
    """StudyError, at `key`, for an unknown feature."""
    for name in names:
        if name not in FEATURES:
            raise StudyError(f"there is no feature {name!r}", key=key, right=nearest(name, FEATURES))


#: All features by name.
FEATURES: Mapping[str, Feature] = {
    "throughput_mbps": Feature(
        "delivered bits of the step per second, in Mb/s", 0, 1e6, lambda s: s.throughput_bps / 1e6
    ),
    "rate_mbps": Feature("delivery rate sample of the last ACK, in Mb/s", 0, 1e6, lambda s: s.rate_bps / 1e6),
    "rate_ratio": Feature(
        "throughput relative to the largest delivery rate so far",
        0,
        10,
        lambda s: _ratio(s.throughput_bps, s.max_rate_bps, 0.0),
    ),
    "rtt_ms": Feature("mean round-trip time of the step, in ms", 0, 1e6, lambda s: s.rtt_s * 1e3),
    "min_rtt_ms": Feature("smallest round-trip time so far, in ms", 0, 1e6, lambda s: s.min_rtt_s * 1e3),
    "rtt_ratio": Feature(
        "mean round-trip time relative to the smallest", 1, 100, lambda s: _ratio(s.rtt_s, s.min_rtt_s, 1.0)
    ),
    "rtt_gradient": Feature(
        "change of the mean round-trip time since the step before, per second",
        -10,
        10,
        lambda s: s.rtt_gradient,
    ),
    "send_ratio": Feature(
        "bytes sent per byte delivered", 0, 100, lambda s: _ratio(s.sent_bytes, s.delivered_bytes, 1.0)
    ),
    "loss_share": Feature("lost bytes among those delivered or lost", 0, 1, lambda s: s.loss_share),
    "ce_share": Feature(
        "bytes marked CE among those delivered", 0, 1, lambda s: _ratio(s.ce_bytes, s.delivered_bytes, 0.0)
    ),
    "timeouts": Feature("retransmission timeouts in the step", 0, 100, lambda s: s.timeouts),
    "cwnd_segments": Feature("congestion window, in segments", 0, 1e6, lambda s: s.cwnd_bytes / s.mss),
    "cwnd_ratio": Feature(
        "congestion window relative to the largest delivery rate times the smallest round-trip time",
        0,
        100,
        lambda s: _ratio(s.cwnd_bytes * 8, s.max_rate_bps * s.min_rtt_s, 1.0),
    ),
    "in_flight_segments": Feature(
        "bytes in the network, in segments", 0, 1e6, lambda s: s.in_flight_bytes / s.mss
    ),
    "pacing_mbps": Feature(
        "pacing rate that the policy has set, in Mb/s; 0 if none",
        0,
        1e6,
        lambda s: (s.pacing_rate_bps or 0.0) / 1e6,
    ),
    "interval_ms": Feature("length of the step, in ms", 0, 1e6, lambda s: s.interval_s * 1e3),
}
