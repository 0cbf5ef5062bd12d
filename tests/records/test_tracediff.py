"""Where two traces differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.apps.packets.trace_difference import Event, first_difference

TOLERANCE_S = 0.002


def dense(count: int, gap_s: float = 0.0005, start_s: float = 0.14) -> list[Event]:
    """Segments and their acknowledgments, each less than the tolerance after the one before."""
    words = ("send", "ack")
    return [Event(start_s + gap_s * k, words[k % 2], 1 + k // 2) for k in range(count)]


def test_in_a_dense_trace_the_events_before_the_difference_agree() -> None:
    same = dense(10)
    a = [*same, Event(0.145, "send", 6), Event(0.1455, "ack", 3)]
    b = [*same, Event(0.145, "retransmit", 1), Event(0.1455, "ack", 3)]
    found = first_difference(a, b, TOLERANCE_S)
    assert found.agree == 10
    assert (found.a, found.b) == (a[10], b[10])
    assert str(found).startswith("after 10 events that agree (at the same times)")
    later = [Event(event.time_s + 0.0004, event.event, event.segment) for event in same]
    assert (
        str(first_difference(same, later, TOLERANCE_S)) == "all 10 events agree, their times within 0.400 ms"
    )


def test_an_event_is_not_paired_with_one_many_seconds_away() -> None:
    a = [*dense(6), Event(16.68, "ack", 9)]
    b = [*dense(6), Event(0.143, "ack", 9), Event(16.68, "ack", 9)]
    found = first_difference(a, b, TOLERANCE_S)
    assert (found.agree, found.b) == (6, b[6])
    assert str(found).endswith("nothing until 16.680000 s ack 9 | 0.143000 s ack 9")


def test_a_chain_of_close_events_is_not_one_instant() -> None:
    """1.8 ms apart each, an event moves by twelve places in one trace: 21.6 ms, not within 2 ms."""
    a = dense(20, gap_s=0.0018)
    moved = Event(a[12].time_s, a[0].event, a[0].segment)
    found = first_difference(a, [*a[1:], moved], TOLERANCE_S)
    assert (found.agree, found.a, found.b) == (0, a[0], a[1])


def test_within_the_tolerance_the_order_is_free() -> None:
    a = [Event(1.0, "ack", 3), Event(1.0015, "send", 7)]
    b = [Event(1.0001, "send", 7), Event(1.0012, "dupack", 3)]
    found = first_difference(a, b, TOLERANCE_S)
    assert (found.agree, found.a, found.b) == (2, None, None)
    assert found.apart_s == pytest.approx(0.0014)


def test_the_same_event_again_needs_a_counterpart_of_its_own() -> None:
    once = [Event(1.0, "dupack", 5), Event(1.0005, "dupack", 5)]
    found = first_difference(once, [*once, Event(1.001, "dupack", 5)], TOLERANCE_S)
    assert (found.agree, found.a, found.b) == (2, None, Event(1.001, "dupack", 5))
    assert "no more events | 1.001000 s dupack 5" in str(found)


def test_an_event_later_than_the_tolerance_is_a_difference_with_both_times() -> None:
    a, b = [Event(1.0, "send", 1)], [Event(1.005, "send", 1)]
    found = first_difference(a, b, TOLERANCE_S)
    assert (found.agree, found.a, found.b) == (0, a[0], b[0])


@given(
    st.lists(
        st.tuples(st.integers(0, 4000), st.sampled_from(["send", "ack"]), st.integers(1, 3)), max_size=60
    ),
    st.data(),
)
def test_noise_within_the_tolerance_is_no_difference_and_a_lost_event_is_the_first_one(
    rows: list[tuple[int, str, int]], data: st.DataObject
) -> None:
    a = [Event(ms / 1e3, event, segment) for ms, event, segment in rows]
    shift = st.floats(-0.0009, 0.0009)
    b = [Event(e.time_s + data.draw(shift), e.event, e.segment) for e in a]
    assert first_difference(a, b, TOLERANCE_S).agree == len(a)
    if a:
        lost = data.draw(st.integers(0, len(a) - 1))
        found = first_difference(a, b[:lost] + b[lost + 1 :], TOLERANCE_S)
        there = [event.time_s for event in (found.a, found.b) if event is not None]
        assert found.agree < len(a) and min(there) >= a[lost].time_s - TOLERANCE_S
