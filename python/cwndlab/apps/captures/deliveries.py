"""Pairs what a flow sent with what acknowledged it: round trips, spacing of deliveries, losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .flow_packets import Floats, FlowPackets, Truths, Whole

#: A packet waits behind another only if it was there this much earlier: hosts delay packets a little.
_MARGIN_S = 2e-4


@dataclass(frozen=True)
class Deliveries:
    """The segments of a flow sent for the first time, and the acknowledgments that moved on."""

    packets: FlowPackets

    @cached_property
    def _new(self) -> Truths:
        """Which segments had not been sent before."""
        ends = self.packets.seq + self.packets.size
        highest = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
        return np.asarray(self.packets.seq >= highest)

    @cached_property
    def sent_s(self) -> Floats:
        """When each segment was first sent."""
        return self.packets.sent_s[self._new]

    @cached_property
    def ends(self) -> Whole:
        """The offset behind each segment."""
        return (self.packets.seq + self.packets.size)[self._new]

    @cached_property
    def retransmitted_s(self) -> Floats:
        """When segments were sent again."""
        return self.packets.sent_s[~self._new]

    @cached_property
    def lost(self) -> Truths:
        """Which segments were sent again, and count as lost."""
        again = np.searchsorted(self.ends, self.packets.seq[~self._new], side="right")
        found = np.zeros(len(self.ends), dtype=bool)
        found[again[again < len(found)]] = True
        return found

    @cached_property
    def _moves(self) -> Whole:
        """Indices of the acknowledgments of new data."""
        ack = self.packets.ack
        if not len(ack):
            return np.array([], dtype=np.int64)
        before = np.concatenate([[0], np.maximum.accumulate(ack)[:-1]])
        return np.flatnonzero(ack > before)

    @cached_property
    def ack_s(self) -> Floats:
        """When new data was acknowledged."""
        return self.packets.ack_s[self._moves]

    @cached_property
    def _first(self) -> Whole:
        """For each of these acknowledgments, the first segment that it covers."""
        return np.concatenate([[0], self.last[:-1] + 1]).astype(np.int64)

    @cached_property
    def last(self) -> Whole:
        """For each of these acknowledgments, the last segment that it covers whole."""
        return np.searchsorted(self.ends, self.packets.ack[self._moves], side="right").astype(np.int64) - 1

    @cached_property
    def _once(self) -> Truths:
        """Which of these acknowledgments cover whole segments that were all sent once."""
        count = np.concatenate([[0], np.cumsum(self.lost)])
        whole = (self.last >= self._first) & (self._first < len(self.ends))
        none_lost = count[np.maximum(self.last, 0) + 1] == count[np.minimum(self._first, len(self.ends))]
        return np.asarray(whole & none_lost)

    @cached_property
    def clean(self) -> Truths:
        """Which of these acknowledgments are also of segments that arrived in order."""
        return np.asarray(self._once & (self.packets.sacked[self._moves] == 0))

    @cached_property
    def covered(self) -> Whole:
        """Segments that each of these acknowledgments covers."""
        return self.last - self._first + 1

    @cached_property
    def _arrived(self) -> tuple[Whole, Floats]:
        """Segments, sent once, that a SACK block reported when they arrived, and when it did."""
        edge = self.packets.sacked
        if not len(edge):
            return np.array([], dtype=np.int64), np.array([])
        highest = np.maximum.accumulate(np.maximum(edge, self.packets.ack))
        news = np.flatnonzero(edge > np.concatenate([[0], highest[:-1]]))
        place = np.minimum(np.searchsorted(self.ends, edge[news]), len(self.ends) - 1)
        good = (self.ends[place] == edge[news]) & ~self.lost[place]
        return place[good].astype(np.int64), self.packets.ack_s[news][good]

    def trips(self, *, prompt: bool) -> tuple[Floats, Floats]:
        """When segments were sent, in order, and their round trips.

        Args:
            prompt: without those that may contain the time of a timer for acknowledgments, which are those of
                one segment between others of two.

        """
        good = self.clean
        if prompt and len(good):
            single = np.concatenate([[False], self.covered == 1, [False]])
            good = good & ~(single[1:-1] & ~single[:-2] & ~single[2:])
        place = np.concatenate([self.last[good], self._arrived[0]])
        times = np.concatenate([self.ack_s[good], self._arrived[1]])
        order = np.argsort(place, kind="stable")
        at = self.sent_s[place[order]]
        return at, times[order] - at

    def spacing(self, base_s: float) -> tuple[Floats, Floats, Floats]:
        """Wire bytes and seconds between acknowledgments of segments that waited behind each other, and when
        the second arrived.

        A segment waited if it was sent a base round trip before the previous acknowledgment: it had then
        reached the bottleneck before the one ahead of it left.
        """
        if len(self.ack_s) < 2:
            return np.array([]), np.array([]), np.array([])
        waited = self.sent_s[np.maximum(self.last, 0)][1:] <= self.ack_s[:-1] - base_s - _MARGIN_S
        neighbours = np.diff(self._moves) == 1
        gaps = np.diff(self.ack_s)
        good = waited & neighbours & self.clean[1:] & self.clean[:-1] & (gaps > 0)
        sizes = np.diff(np.concatenate([[0], self.ends])) + self.packets.header
        total = np.concatenate([[0], np.cumsum(sizes)])
        size = total[np.maximum(self.last, 0) + 1] - total[np.minimum(self._first, len(sizes))]
        return size[1:][good].astype(float), gaps[good], self.ack_s[1:][good]

    def episodes(self, gap_s: float) -> list[Whole]:
        """The lost segments, as indices, split where the next one was sent later than this."""
        lost = np.flatnonzero(self.lost)
        if not len(lost):
            return []
        return np.split(lost, np.flatnonzero(np.diff(self.sent_s[lost]) > gap_s) + 1)
