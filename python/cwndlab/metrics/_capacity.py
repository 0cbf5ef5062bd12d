"""What a link can send, at a constant rate or as its capacity changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._select import Floats

#: Bits of a delivery opportunity of a trace.
_OPPORTUNITY_BITS = 12_000.0


def drain_seconds(link: Mapping[str, Any], time_s: Floats, bits: Floats) -> Floats:
    """How long a link of the scenario takes for so many bits from these times on."""
    capacity = link.get("capacity")
    if capacity is None:
        return np.asarray(bits / link["rate_bps"])
    if len(time_s) == 0:
        return np.zeros(0)
    if capacity["kind"] == "steps":
        times, sent = _steps(capacity, float(time_s.max()), float(bits.max()))
        begun = np.interp(time_s, times, sent)
        # where the last bit is sent just before a pause, the curve is flat from there on: take its beginning
        ends = np.interp(begun + bits - 1e-6, sent, times)
        return np.where(bits > 0, np.maximum(ends - time_s, 0.0), 0.0)
    times, sent = _deliveries(capacity, float(time_s.max()), float(bits.max()))
    begun = sent[np.searchsorted(times, time_s, side="right")]
    ends = times[np.searchsorted(sent, begun + bits, side="left") - 1]
    return np.where(bits > 0, np.maximum(ends - time_s, 0.0), 0.0)


def _steps(capacity: Mapping[str, Any], until: float, more: float) -> tuple[Floats, Floats]:
    """Times, and the bits that could be sent by then: to `more` bits beyond a time."""
    begins = [at / 1e9 for at in capacity["at_ns"]]
    rates = capacity["rates_bps"]
    repeat = capacity.get("repeat_ns")
    times, sent, base, k = [0.0], [0.0], 0.0, 0
    passed = None
    while True:
        last = k + 1 == len(begins)
        end = base + (begins[k + 1] if not last else repeat / 1e9 if repeat else np.inf)
        if passed is None and end > until:
            passed = sent[-1] + rates[k] * (until - times[-1]) + more
        if passed is not None and rates[k] > 0 and sent[-1] + rates[k] * (end - times[-1]) >= passed:
            end = times[-1] + (passed - sent[-1]) / rates[k] + 1.0
            return np.array([*times, end]), np.array([*sent, sent[-1] + rates[k] * (end - times[-1])])
        sent.append(sent[-1] + rates[k] * (end - times[-1]))
        times.append(end)
        k += 1
        if last:
            base, k = end, 0


def _deliveries(capacity: Mapping[str, Any], until: float, more: float) -> tuple[Floats, Floats]:
    """Times of opportunities, and the bits that they could send before each."""
    once = np.asarray(capacity["at_ms"], dtype=np.float64) / 1e3
    rounds = int(np.ceil((until / once[-1]) + more / _OPPORTUNITY_BITS / len(once))) + 2
    times = np.asarray((once[None, :] + once[-1] * np.arange(rounds)[:, None]).ravel())
    return times, np.asarray(_OPPORTUNITY_BITS * np.arange(len(times) + 1))
