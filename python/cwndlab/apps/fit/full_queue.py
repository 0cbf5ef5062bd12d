"""The full queue behind a flow's losses, and the losses that it does not explain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, Truths, Whole

#: How far from a full queue the wait before a loss may be, as a share.
_TOP_SHARE = 0.06
#: Segments leave in bursts, of which only the last is measured: packets of a burst, in a small buffer and
#: otherwise.
_BURSTS = 2.5, 4.5
#: Of round trips, how many may lie above a full queue: late acknowledgments.
_ABOVE = 0.005
#: The quantile of the waits before losses at a full queue that is taken: before some, the queue had room.
_USUAL = 0.75
#: Packets that the full queue holds beyond the wait of the last one with room.
_PART = 1.5
#: The chance below which losses in a full queue are no coincidence.
_CHANCE = 0.01
#: Losses of one episode that show a full queue.
_BURST = 3
#: A loss so many packets' times after another belongs to the same episode.
_EPISODE = 16
#: Losses whose waits rank so many standard errors above the middle are not random, and those at a wait below
#: this share of the longest are not at a full queue.
_SKEW, _BELOW_FULL = 3.5, 0.6
#: A segment met the queue of the one that was measured before it, if that was sent at most so many packets'
#: times, and seconds, before.
_STALE_PACKETS, _STALE_S = 6, 2e-3


@dataclass(frozen=True)
class QueueEstimates:
    """A drop-tail queue as a flow's losses show it; NaN for what they do not show."""

    #: Bytes that wait in the full queue.
    buffer_bytes: float
    #: Bytes that waited at most: the buffer is at least as large.
    longest_bytes: float
    #: Losses that no full queue explains, and segments sent while the queue was not full.
    other_losses: int
    other_segments: int
    #: Loss episodes, and those at the full queue.
    episodes: int
    full_episodes: int
    #: By how many standard errors segments that were lost while the queue was not full waited longer than
    #: others. Random losses do not depend on the wait; those of active queue management do.
    skew: float = 0.0
    #: The wait before these losses, at the median, as a share of the longest wait.
    loss_level: float = math.nan

    @property
    def managed(self) -> bool:
        """Whether the queue drops packets before it is full: active queue management."""
        return self.skew > _SKEW and self.loss_level < _BELOW_FULL

    @property
    def loss(self) -> float:
        """Share of packets lost at random."""
        return self.other_losses / max(self.other_segments, 1)


def queue_of(of: Deliveries, base: float, rate: float, stated_bytes: float | None = None) -> QueueEstimates:
    """The estimates on a path of this base round trip (s), rate (bit/s) and, if stated, buffer."""
    at, trips = of.trips(prompt=True)
    segments, lost = len(of.sent_s), int(of.lost.sum())
    if math.isnan(rate) or not len(at):
        return QueueEstimates(math.nan, math.nan, lost, segments, 0, 0)
    packet = of.packets.wire_bytes * 8 / rate
    waits = np.maximum(trips - base - packet, 0.0)
    met = _met(of.sent_s, at, waits, _STALE_PACKETS * packet + _STALE_S)
    episodes = of.episodes(_EPISODE * packet)
    longest = float(np.quantile(waits, 1 - _ABOVE)) * rate / 8
    losses = _Losses.of_episodes(of.lost, met, episodes)
    # The last packet with room waited for those before it; a part of a packet holds none.
    part = _PART * of.packets.wire_bytes
    ordered = np.sort(waits)
    shown = losses.full_level(ordered, packet)
    # A buffer that is stated does not change whether losses depend on the wait.
    top = math.inf if math.isnan(shown) else shown - _slack(shown, packet)
    skew = _skew(losses.waits[losses.waits < top], ordered[ordered < top])
    if stated_bytes is None:
        level, room = shown, shown * rate / 8 + part
    else:
        level, room = max(0.0, stated_bytes - part) * 8 / rate, stated_bytes
    if math.isnan(level):
        return QueueEstimates(math.nan, longest, lost, segments, len(episodes), 0, *skew)
    free = met < level - _slack(level, packet)
    full = int(np.sum(losses.waits >= level - _slack(level, packet)))
    others = int(np.sum(free & of.lost))
    return QueueEstimates(room, max(longest, room), others, int(np.sum(free)), len(episodes), full, *skew)


def _skew(before_losses: Floats, ordered: Floats) -> tuple[float, float]:
    """How many standard errors the mean rank of waits before losses among all waits, in order, is above the
    middle, and their median as a share of the longest.
    """
    known = before_losses[~np.isnan(before_losses)]
    if not len(known) or not len(ordered):
        return 0.0, math.nan
    ranks = np.searchsorted(ordered, known, side="left") + np.searchsorted(ordered, known, side="right")
    skew = (float(np.mean(ranks)) / (2 * len(ordered)) - 0.5) * math.sqrt(12 * len(known))
    return skew, float(np.median(known)) / max(float(ordered[-1]), 1e-9)


def _met(sent: Floats, at: Floats, waits: Floats, within: float) -> Floats:
    """The wait that each segment met, as measured just before it; NaN if nothing was."""
    place = np.searchsorted(at, sent, side="right") - 1
    known = (place >= 0) & (sent - at[np.maximum(place, 0)] <= within)
    recent = np.maximum(waits[np.maximum(place, 0)], waits[np.maximum(place - 1, 0)])
    return np.where(known, recent, np.nan)


@dataclass(frozen=True)
class _Losses:
    """The loss episodes of a flow: the wait that the first loss met, the segments lost, and those sent."""

    waits: Floats
    lost: Whole
    sent: Whole
    #: Lost and sent segments of the whole flow.
    total: tuple[int, int]

    @classmethod
    def of_episodes(cls, lost: Truths, met: Floats, episodes: list[Whole]) -> _Losses:
        return cls(
            np.array([float(met[one[0]]) for one in episodes]),
            np.array([len(one) for one in episodes], dtype=np.int64),
            np.array([int(one[-1] - one[0]) + 1 for one in episodes], dtype=np.int64),
            (int(lost.sum()), len(lost)),
        )

    def full_level(self, waits: Floats, packet: float) -> float:
        """The wait behind a full queue; NaN if no wait stands out by its losses.

        Of the waits that hardly any packet exceeds, and at which losses are no coincidence, it is the one
        with most episodes.
        """
        best, most = math.nan, 0
        for tried, level in enumerate(np.unique(self.waits[~np.isnan(self.waits)])[::-1], 1):
            slack = _slack(float(level), packet)
            above = len(waits) - int(np.searchsorted(waits, level + slack, side="right"))
            if level <= 0 or above > _ABOVE * len(waits):
                break
            near = np.abs(self.waits - level) <= slack
            if near.sum() > most and tried * self._chance(waits, float(level), slack, packet) < _CHANCE:
                best, most = float(np.quantile(self.waits[near], _USUAL)), int(near.sum())
        return best

    def _chance(self, waits: Floats, level: float, slack: float, packet: float) -> float:
        """The chance of the losses near a wait if no queue was full there.

        It is small if there are several episodes, compared with the share of packets that waited as long, or
        several losses in one episode.
        """
        from scipy.stats import binom, poisson

        chances = [1.0]
        known = int(np.sum(~np.isnan(self.waits)))
        for width in (slack, min(slack, packet)):
            count = int(np.sum(np.abs(self.waits - level) <= width))
            # A loss ends the growth of the queue, so that the longest waits are before losses anyway: chance
            # would spread them over all waits.
            share = 1.0 - float(np.searchsorted(waits, level - width)) / len(waits)
            share = max(share, width / max(level, width))
            if count >= 2:
                chances.append(2 * float(binom.sf(count - 1, known, min(share, 1.0))))
        near = np.abs(self.waits - level) <= slack
        count, lost, sent = int(near.sum()), int(self.lost[near].sum()), int(self.sent[near].sum())
        if lost >= _BURST + count - 1:
            elsewhere = (self.total[0] - lost + 1) / max(self.total[1] - sent, 1)
            chances.append(float(poisson.sf(lost - count - 1, elsewhere * sent)))
        return min(chances)


def _slack(level: float, packet: float) -> float:
    """How far from a full queue's wait the wait before a loss may be."""
    return max(_BURSTS[0] * packet, min(_BURSTS[1] * packet, level / 4), _TOP_SHARE * level)
