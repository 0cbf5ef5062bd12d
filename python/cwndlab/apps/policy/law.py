"""The congestion control whose window a policy decides."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, SupportsFloat

from cwndlab._core import AckReport, CongestionControl, LossEvent

from .features import FlowStep
from .interface import Interface, Observation


class Policy(CongestionControl):
    """A congestion control whose window is set by a policy, also during recovery.

    A subclass sets `interface` and defines `act`. The engine keeps loss detection, retransmission and timers.
    After a timeout, the window is one segment; otherwise only the policy changes it.
    """

    interface: ClassVar[Interface] = Interface()
    uses_slow_start = False
    owns_recovery = True

    _step: FlowStep
    _past: deque[list[float]]
    _due_s: float
    _interval_s: float | None

    def act(self, observation: Observation) -> SupportsFloat:
        """The action for an observation."""
        raise NotImplementedError(f"{type(self).__name__} has no act(observation)")

    def decide(self, step: FlowStep) -> SupportsFloat:
        """The action after a step."""
        return self.act(self.observe(step))

    def observe(self, step: FlowStep) -> Observation:
        """The observation after a step; must be called once per step."""
        return self.interface.observe(step, self._past)

    @property
    def step(self) -> FlowStep:
        """The current step, with everything observed so far."""
        self._step.cwnd_bytes, self._step.pacing_rate_bps = self.cwnd_bytes, self.pacing_rate_bps
        return self._step

    def on_start(self, now_s: float, mss: int, /) -> None:
        """Begins the first step."""
        self._step = FlowStep(start_s=now_s, now_s=now_s, mss=mss)
        self._past = deque()
        self._interval_s = self.interface.interval_s
        self._due_s = now_s + (self._interval_s or 0.0)

    def on_ack(self, ack: AckReport, /) -> None:
        """Records what the ACK reports; acts if the ACK ends the step."""
        step, delivered = self._step, ack.delivered_bytes
        if not (delivered or self._past):
            return  # an end that has sent nothing does not act
        now_s = step.now_s = ack.now_s
        step.delivered_bytes += delivered
        step.lost_bytes += ack.lost_bytes
        rtt_s = ack.rtt_s
        if rtt_s is not None:
            step.rtt_sum_s += rtt_s
            step.rtts += 1
            if rtt_s < step.min_rtt_s or not step.min_rtt_s:
                step.min_rtt_s = rtt_s
        step.ce_bytes += ack.ce_bytes
        if now_s >= self._due_s:
            self._end_step(step, ack)

    def _end_step(self, step: FlowStep, ack: AckReport) -> None:
        step.mss, step.srtt_s, step.in_flight_bytes = ack.mss, ack.srtt_s, ack.in_flight_bytes
        sample = ack.rate
        if sample is not None and (rate := sample.rate_bps) is not None:
            step.rate_bps = rate
            step.max_rate_bps = max(step.max_rate_bps, rate)
        value = float(self.decide(self.step))
        self.interface.acts.apply(self, step, value)
        self._step = step.next()
        self._due_s = step.now_s + (step.srtt_s if self._interval_s is None else self._interval_s)

    def on_loss(self, event: LossEvent, /) -> None:
        """Does nothing: the policy observes losses, and may act on them."""

    def on_timeout(self, event: LossEvent, /) -> None:
        """Sets the window to one segment (RFC 5681, section 3.1); the next ACK lets the policy observe it."""
        self._step.timeouts += 1
        self.cwnd_bytes = float(event.mss)
