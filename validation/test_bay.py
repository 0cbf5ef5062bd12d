"""A connection of RFC 2415's study behaves like one of the authors' TCP, event by event."""

from __future__ import annotations

import pytest

from .bay import Event, ours, parting, theirs


@pytest.mark.parametrize("iw", [1, 2, 3, 4])
def test_without_losses_every_event_is_the_authors(iw: int) -> None:
    """Checks 41 data packets and their acknowledgments, which come singly at first, then every second."""
    golden = theirs(f"iw{iw}")
    assert len(golden) == 70
    assert parting(ours(iw), golden) is None


def test_after_a_loss_they_part_where_the_authors_leave_recovery_with_two_packets_more() -> None:
    """BayFullTcp leaves recovery with a window of the outstanding packets plus two (tcp-full-bay.cc, recv).
    The reconstruction leaves with ssthresh, sends nothing, and waits for its timer.
    """
    golden, mine = theirs("iw3-limit4"), ours(3, buffer=4)
    place = parting(mine, golden)
    assert place == 51
    assert golden[place - 1].event == "ack" and golden[place].event == golden[place + 1].event == "send"
    outstanding = (39_420 - golden[place - 1].offset) / 1460
    assert outstanding > 5 and mine[place].offset == golden[place - 1].offset  # retransmitted by the timer


def test_a_difference_is_found() -> None:
    """Differences in order, in time and at the end are found."""
    one = [Event(0.0, "send", 0, 10), Event(0.1, "ack", 10, 0)]
    assert parting(one, one) is None
    assert parting(one, one[:1]) == 1
    assert parting(one, [one[0], Event(0.2, "ack", 10, 0)]) == 1
    assert parting(one, [one[0], Event(0.1, "ack", 11, 0)]) == 1
