"""Round trips, spacing of deliveries and losses of a flow, from its segments and their acknowledgments.

`Deliveries.ends`, `sent_s` and `lost` have an element per first transmission; `ack_s`, `last`, `clean` and
`covered` have one per acknowledgment of new data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .flow_packets import Floats, FlowPackets, Truths, Whole

#: Margin for delays in hosts: a packet counts as queued behind another only if it arrived this much earlier.
_MARGIN_S = 2e-4


@dataclass(frozen=True)
class Deliveries:
    """The first transmissions of a flow's segments, and the acknowledgments of new data."""

    packets: FlowPackets

    @cached_property
    def _new(self) -> Truths:
        """Which transmissions are first transmissions."""
        ends = self.packets.seq + self.packets.size
        highest = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
        return np.asarray(self.packets.seq >= highest)

    @cached_property
    def sent_s(self) -> Floats:
        """When each segment was first sent, in seconds."""
        return self.packets.sent_s[self._new]

    @cached_property
    def ends(self) -> Whole:
        """The sequence number after the last byte of each segment."""
        return (self.packets.seq + self.packets.size)[self._new]

    @cached_property
    def retransmitted_s(self) -> Floats:
        """When segments were retransmitted, in seconds."""
        return self.packets.sent_s[~self._new]

    @cached_property
    def lost(self) -> Truths:
        """Which segments were retransmitted; these count as lost."""
        again = np.searchsorted(self.ends, self.packets.seq[~self._new], side="right")
        found = np.zeros(len(self.ends), dtype=bool)
        found[again[again < len(found)]] = True
        return found

    @cached_property
    def _moves(self) -> Whole:
        """Indices in `packets.ack` of the acknowledgments of new data."""
        ack = self.packets.ack
        if not len(ack):
            return np.array([], dtype=np.int64)
        before = np.concatenate([[0], np.maximum.accumulate(ack)[:-1]])
        return np.flatnonzero(ack > before)

    @cached_property
    def ack_s(self) -> Floats:
        """When new data was acknowledged, in seconds."""
        return self.packets.ack_s[self._moves]

    @cached_property
    def _first(self) -> Whole:
        """For each acknowledgment, the index of the first segment that it newly acknowledges."""
        return np.concatenate([[0], self.last[:-1] + 1]).astype(np.int64)

    @cached_property
    def last(self) -> Whole:
        """For each acknowledgment, the index of the last segment that it acknowledges completely."""
        return np.searchsorted(self.ends, self.packets.ack[self._moves], side="right").astype(np.int64) - 1

    @cached_property
    def _once(self) -> Truths:
        """Which acknowledgments newly acknowledge whole segments, none of which was retransmitted."""
        count = np.concatenate([[0], np.cumsum(self.lost)])
        whole = (self.last >= self._first) & (self._first < len(self.ends))
        none_lost = count[np.maximum(self.last, 0) + 1] == count[np.minimum(self._first, len(self.ends))]
        return np.asarray(whole & none_lost)

    @cached_property
    def clean(self) -> Truths:
        """Which acknowledgments satisfy `_once` and carry no SACK block."""
        return np.asarray(self._once & (self.packets.sacked[self._moves] == 0))

    @cached_property
    def covered(self) -> Whole:
        """The number of segments that each acknowledgment newly acknowledges."""
        return self.last - self._first + 1

    @cached_property
    def _arrived(self) -> tuple[Whole, Floats]:
        """Indices of segments sent once whose arrival SACK blocks reported, and when the reports came."""
        edge = self.packets.sacked
        if not len(edge):
            return np.array([], dtype=np.int64), np.array([])
        highest = np.maximum.accumulate(np.maximum(edge, self.packets.ack))
        news = np.flatnonzero(edge > np.concatenate([[0], highest[:-1]]))
        place = np.minimum(np.searchsorted(self.ends, edge[news]), len(self.ends) - 1)
        good = (self.ends[place] == edge[news]) & ~self.lost[place]
        return place[good].astype(np.int64), self.packets.ack_s[news][good]

    def trips(self, *, prompt: bool) -> tuple[Floats, Floats]:
        """The send times of segments, ascending, and their round trips, both in seconds.

        Args:
            prompt: whether to omit round trips that may include a delayed-ACK timer: acknowledgments of one
                segment between acknowledgments of several.

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
        """Rate samples of the bottleneck: wire bytes, seconds in which they were acknowledged, and time of
        the ACK.

        A sample takes two consecutive acknowledgments of segments that queued: the later segment was sent at
        least the base round trip before the earlier acknowledgment arrived, so it had reached the bottleneck
        by then.
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
        """Indices of the lost segments, split where two of them were sent more than `gap_s` apart."""
        lost = np.flatnonzero(self.lost)
        if not len(lost):
            return []
        return np.split(lost, np.flatnonzero(np.diff(self.sent_s[lost]) > gap_s) + 1)
