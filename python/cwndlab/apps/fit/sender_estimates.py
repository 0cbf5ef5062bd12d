"""Estimates of a sender: segment size, initial window, pacing, ACK ratio and congestion control."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, Truths

#: The share of the flight that remains after a reduction: Reno's (RFC 5681, section 3.1) and CUBIC's (RFC
#: 9438, section 4.6).
RENO_LEFT, CUBIC_LEFT = 0.5, 0.7
#: A flow is taken for Reno or CUBIC if the median share that remains after reductions is this near to it.
_NEAR = 0.07
#: The least number of reductions that distinguishes Reno from CUBIC.
FEWEST_REDUCTIONS = 2
#: Seconds in which a host answers an acknowledgment.
_ANSWER_S = 3e-5
#: The least number of bursts that shows pacing, and the shares of answers between which it is unclear.
FEWEST_BURSTS = 20
_UNCLEAR = 0.45, 0.7
#: Most segments in flight in PROBE_RTT of BBR version 1: four, and one that was just acknowledged.
_PROBE_SEGMENTS = 5


@dataclass(frozen=True)
class SenderEstimates:
    """The behaviour of a sender; None or NaN for what the packets do not show."""

    mss: int
    #: Segments sent before the first acknowledgment of data.
    initial_window: int
    #: Median number of segments that an acknowledgment covers.
    ack_ratio: float
    paced: bool | None
    #: The median share of the flight that remains after reductions, and the number of reductions measured.
    left: float
    reductions: int
    #: "cubic", "reno" or "bbr1"; "" if it cannot be identified.
    law: str
    #: Why the congestion control cannot be identified.
    why: str = ""


def estimate_sender(of: Deliveries, rate_bps: float, base_s: float) -> SenderEstimates:
    """The estimates for a path with this rate and base round trip."""
    covered = of.covered[of.clean]
    ratio = float(np.median(covered)) if len(covered) else math.nan
    first = float(of.ack_s[0]) if len(of.ack_s) else math.inf
    paced = _paced(of, rate_bps)
    left = _reductions(of, base_s)
    middle = float(np.median(left)) if len(left) else math.nan
    law, why = _law(of, paced, left, base_s)
    window = int(np.searchsorted(of.sent_s, first))
    return SenderEstimates(of.packets.mss, window, ratio, paced, middle, len(left), law, why)


def _paced(of: Deliveries, rate_bps: float) -> bool | None:
    """Whether bursts leave between acknowledgments, and not right after one; None if unclear."""
    if math.isnan(rate_bps) or len(of.sent_s) < 2 or not len(of.packets.ack_s):
        return None
    after = max(0.2 * of.packets.wire_bytes * 8 / rate_bps, _ANSWER_S)
    starts = of.sent_s[1:][np.diff(of.sent_s) > after]
    place = np.searchsorted(of.packets.ack_s, starts, side="right") - 1
    starts, place = starts[place >= 0], place[place >= 0]
    if len(starts) < FEWEST_BURSTS:
        return None
    answers = float(np.mean(starts - of.packets.ack_s[place] <= after))
    return None if _UNCLEAR[0] < answers < _UNCLEAR[1] else answers <= _UNCLEAR[0]


def _flight(of: Deliveries, times: Floats) -> Floats:
    """Segments in flight at these times: sent, but not yet cumulatively acknowledged."""
    sent = np.searchsorted(of.sent_s, times, side="right")
    acked = np.searchsorted(of.ack_s, times, side="right")
    return np.asarray(sent - np.concatenate([[-1], of.last])[acked] - 1, dtype=float)


def _reductions(of: Deliveries, base_s: float) -> Floats:
    """The share of the flight that remained after each loss episode.

    The flight before is that at the first retransmission; the flight after is that at the acknowledgment of
    all data sent until then.
    """
    found = []
    again, done = of.retransmitted_s, -math.inf
    for start in again.tolist():
        if start <= done:
            continue
        sent = int(np.searchsorted(of.sent_s, start, side="right"))
        back = np.flatnonzero(of.last >= sent - 1)
        if not len(back):
            break
        done = float(of.ack_s[back[0]])
        before = float(_flight(of, np.array([start - 1e-6]))[0])
        after = float(_flight(of, np.array([done + 1e-6]))[0])
        if before >= 10 and done - start < 3 * max(base_s, 1e-3) + before * 1e-3:
            found.append(after / before)
    return np.array(found)


def _under_way(of: Deliveries, times: Floats, flight: Floats) -> Truths:
    """Which times are after slow start, when every flight is small, and before the last segment."""
    grown = np.maximum.accumulate(flight) > np.median(flight)
    return np.asarray(grown & (times < of.sent_s[-1]))


def _law(of: Deliveries, paced: bool | None, left: Floats, base_s: float) -> tuple[str, str]:
    """The congestion control, or why it cannot be identified; the other one is ""."""
    if paced:
        times = np.arange(0.0, of.packets.seconds, 0.02)
        flight = _flight(of, times)
        low = (flight <= _PROBE_SEGMENTS) & _under_way(of, times, flight)
        held = np.convolve(low, np.ones(5), mode="valid") if len(low) >= 5 else np.array([0.0])
        if held.max() >= 5 and float(np.median(flight)) > 2 * _PROBE_SEGMENTS:
            return "bbr1", ""
        return (
            "",
            "segments leave between acknowledgments, so the sender paces or its host is slow, and its flight "
            "never fell to four segments, as that of BBR version 1 does every 10 s",
        )
    if paced is None:
        return "", "it is not clear whether the sender paces"
    if len(left) < FEWEST_REDUCTIONS:
        return "", f"{len(left)} reductions of the flight were measured; {FEWEST_REDUCTIONS} are needed"
    middle = float(np.median(left))
    if abs(middle - RENO_LEFT) <= _NEAR:
        return "reno", ""
    if abs(middle - CUBIC_LEFT) <= _NEAR:
        return "cubic", ""
    return "", f"losses leave {middle:.2f} of the flight, neither Reno's half nor CUBIC's 0.7"
