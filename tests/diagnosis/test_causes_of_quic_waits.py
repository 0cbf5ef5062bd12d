"""The cause of a QUIC wait by what the stack says and what its packets show, and when the two disagree."""

from __future__ import annotations

import pytest

from cwndlab.apps.diagnosis.quic.quic_log import Sent
from cwndlab.apps.diagnosis.quic.quic_waits import QuicWait, Replayed


def wait(stated: str, shown: str) -> QuicWait:
    return QuicWait(3, 10, stated, shown, None, None, [], Sent(10, None, 1, True))


@pytest.mark.parametrize(
    ("stated", "shown", "cause", "disputed", "certain"),
    [
        ("cwnd", "cwnd", "cwnd", False, True),
        ("cwnd", "", "cwnd", False, True),
        ("", "cwnd", "cwnd", False, False),
        ("", "", "unknown", False, False),
        # All three are a full window to the packets.
        ("recovery", "cwnd", "recovery", False, True),
        ("persistent-congestion", "recovery", "persistent-congestion", False, True),
        ("flow-stream", "flow-connection", "flow-stream", False, True),
        ("cwnd", "flow-stream", "cwnd", True, False),
        ("application", "cwnd", "application", True, False),
        ("flow-connection", "application", "flow-connection", True, False),
        # A timer is what packets show best, unless the stack names a limit.
        ("cwnd", "pto", "pto", False, False),
        ("recovery", "pto", "pto", False, False),
        ("persistent-congestion", "pto", "pto", False, False),
        ("application", "pto", "pto", False, False),
        ("", "pto", "pto", False, False),
        ("flow-stream", "pto", "flow-stream", False, True),
        ("pto", "cwnd", "pto", False, True),
        # What has no family is never in dispute.
        ("pacing", "cwnd", "pacing", False, True),
        ("pacing", "pto", "pacing", False, True),
    ],
)
def test_the_stack_names_the_cause_unless_a_timer_or_the_packets_show_another(
    stated: str, shown: str, cause: str, disputed: bool, certain: bool
) -> None:
    found = wait(stated, shown)
    assert (found.cause, found.disputed, found.certain) == (cause, disputed, certain)
    assert found.duration_ns == 7


def test_nothing_is_known_of_a_log_without_events() -> None:
    empty = Replayed()
    counts = ("packets", "lost", "acknowledged", "sent_bytes", "received_bytes", "probes")
    more = ("early_frames", "peer_blocked", "statements", "contradicted")
    assert {getattr(empty, name) for name in (*counts, *more)} == {0}
    assert (empty.waits, empty.rtts_ns, empty.collapses, empty.ended, empty.span_ns) == ([], [], [], "", None)
    assert empty.shortest_rtt_ns is None


def test_the_shortest_round_trip_is_what_the_stack_says_or_that_of_the_packets() -> None:
    assert Replayed(rtts_ns=[5, 3, 4]).shortest_rtt_ns == 3
    assert Replayed(rtts_ns=[5, 3], min_rtt_ns=7).shortest_rtt_ns == 7
