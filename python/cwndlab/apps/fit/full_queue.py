"""The full queue behind a flow's losses, and the losses that no full queue explains."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import Floats, Truths, Whole

#: How far from a full queue's wait the wait before a loss may be, as a share.
_TOP_SHARE = 0.06
#: Packets of a burst, of which only the last is measured: in a small buffer, and otherwise.
_BURSTS = 2.5, 4.5
#: Share of round trips that may exceed that of a full queue, because of late acknowledgments.
_ABOVE = 0.005
#: The quantile of waits before losses at a full queue that is used; before some losses the queue had space.
_USUAL = 0.75
#: Packets that the full queue holds beyond the wait of the last packet that was queued.
_PART = 1.5
#: Losses in a full queue are accepted if their probability by chance is below this.
_CHANCE = 0.01
#: Losses in one episode that show a full queue.
_BURST = 3
#: A loss within this many packet times of another belongs to the same episode.
_EPISODE = 16
#: Active queue management is assumed if losses' waits rank this many standard errors above the middle, and
#: their median is below this share of the longest wait.
_SKEW, _BELOW_FULL = 3.5, 0.6
#: A segment met the same queue as the one measured before it if that was sent at most this many packet times,
#: plus seconds, before.
_STALE_PACKETS, _STALE_S = 6, 2e-3


@dataclass(frozen=True)
class QueueEstimates:
    """A drop-tail queue according to a flow's losses; NaN for what the losses do not show."""

    #: Bytes that the full queue holds.
    buffer_bytes: float
    #: The most bytes that waited: a lower bound of the buffer.
    longest_bytes: float
    #: Losses that no full queue explains, and segments sent while the queue was not full.
    other_losses: int
    other_segments: int
    #: Loss episodes, and those at a full queue.
    episodes: int
    full_episodes: int
    #: Standard errors by which waits before losses at a queue that was not full rank above all waits. Random
    #: losses do not depend on the wait; those of active queue management do.
    skew: float = 0.0
    #: The median wait before these losses, as a share of the longest wait.
    loss_level: float = math.nan

    @property
    def managed(self) -> bool:
        """Whether the queue drops packets before it is full: active queue management."""
        return self.skew > _SKEW and self.loss_level < _BELOW_FULL

    @property
    def loss(self) -> float:
        """The share of packets lost at random."""
        return self.other_losses / max(self.other_segments, 1)


def queue_of(of: Deliveries, base: float, rate: float, stated_bytes: float | None = None) -> QueueEstimates:
    """The estimates for a path with this base round trip (s), rate (bit/s) and buffer, if that is stated."""
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
    # The last packet that was queued waited for those before it; a partial packet holds none.
    part = _PART * of.packets.wire_bytes
    ordered = np.sort(waits)
    shown = losses.full_level(ordered, packet)
    # A stated buffer does not change whether losses depend on the wait.
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
    """The rank of waits before losses among all waits (`ordered`), in standard errors above the middle, and
    their median as a share of the longest wait.
    """
    known = before_losses[~np.isnan(before_losses)]
    if not len(known) or not len(ordered):
        return 0.0, math.nan
    ranks = np.searchsorted(ordered, known, side="left") + np.searchsorted(ordered, known, side="right")
    skew = (float(np.mean(ranks)) / (2 * len(ordered)) - 0.5) * math.sqrt(12 * len(known))
    return skew, float(np.median(known)) / max(float(ordered[-1]), 1e-9)


def _met(sent: Floats, at: Floats, waits: Floats, within: float) -> Floats:
    """The wait of each segment, as measured just before it was sent; NaN if nothing was measured then."""
    place = np.searchsorted(at, sent, side="right") - 1
    known = (place >= 0) & (sent - at[np.maximum(place, 0)] <= within)
    recent = np.maximum(waits[np.maximum(place, 0)], waits[np.maximum(place - 1, 0)])
    return np.where(known, recent, np.nan)


@dataclass(frozen=True)
class _Losses:
    """The loss episodes of a flow: the wait of the first loss, and the segments lost and sent in each."""

    waits: Floats
    lost: Whole
    sent: Whole
    #: Lost and sent segments of the whole flow.
    total: tuple[int, int]

    @classmethod
    def of_episodes(cls, lost: Truths, met: Floats, episodes: list[Whole]) -> _Losses:
        return cls(
            np.array([float(met[episode[0]]) for episode in episodes]),
            np.array([len(episode) for episode in episodes], dtype=np.int64),
            np.array([int(episode[-1] - episode[0]) + 1 for episode in episodes], dtype=np.int64),
            (int(lost.sum()), len(lost)),
        )

    def full_level(self, waits: Floats, packet: float) -> float:
        """The wait behind a full queue; NaN if no wait stands out by its losses.

        Candidates are waits that hardly any packet exceeds and at which losses are too frequent for chance;
        the one with the most episodes is taken.
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
        """The probability of the losses near a wait if no queue was full there.

        It is small for several episodes, relative to the share of packets that waited as long, and for
        several losses in one episode.
        """
        from scipy.stats import binom, poisson

        chances = [1.0]
        known = int(np.sum(~np.isnan(self.waits)))
        for width in (slack, min(slack, packet)):
            count = int(np.sum(np.abs(self.waits - level) <= width))
            # Loss ends the growth of a queue, so the longest waits precede losses in any case; random losses
            # would occur at all waits.
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
    """How far from a full queue's wait (`level`) the wait before a loss may be, in seconds."""
    return max(_BURSTS[0] * packet, min(_BURSTS[1] * packet, level / 4), _TOP_SHARE * level)
