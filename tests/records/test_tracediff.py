"""Where two traces differ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.apps.packets import traces
from cwndlab.apps.packets.trace_difference import (
    DEFAULT_TOLERANCE_S,
    Event,
    events_of_columns,
    first_difference,
    first_difference_of_stacks,
)

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


@pytest.mark.parametrize("kernel", ["a", "b"])
@pytest.mark.parametrize("later_s", [-0.5, 0.5])
def test_the_start_of_a_kernels_connection_is_left_out_and_said(
    kernel: Literal["a", "b"], later_s: float
) -> None:
    a = [Event(0.1, "ack", 0), Event(1.0, "send", 1), Event(1.1, "ack", 1)]
    b = [Event(1.0 + later_s, "send", 1), Event(1.1 + later_s, "ack", 1), Event(1.2 + later_s, "send", 2)]
    found = first_difference_of_stacks(a, b, TOLERANCE_S, kernel)
    assert (found.agree, found.a) == (2, None)
    assert found.b is not None and found.b.time_s == pytest.approx(1.2)
    word = "later" if (later_s > 0) == (kernel == "b") else "earlier"
    assert found.start == f"the kernel's start 500.000 ms {word} left out"


@pytest.mark.parametrize(
    ("b", "agree"),
    [
        ([Event(1.002, "send", 1), Event(1.102, "send", 2)], 2),  # no later than the tolerance
        ([Event(1.5, "send", 2), Event(1.6, "send", 1)], 0),  # begins with another packet
        ([Event(1.5, "ack", 0), Event(1.5, "dupack", 0)], 0),  # has no data
    ],
)
def test_starts_that_are_near_or_of_other_packets_stay(b: list[Event], agree: int) -> None:
    a = [Event(0.9, "dupack", 0), Event(1.0, "send", 1), Event(1.1, "send", 2)]
    found = first_difference_of_stacks(a, b, 0.0021, "b")
    assert (found.agree, found.start) == (agree, "")


def test_events_of_a_table_are_those_that_trace_shows_in_seconds() -> None:
    columns = {
        "time_ns": np.array([1_234_567_891, 2_000_000_000]),
        "event": np.array(["send", "receive"]),
        "segment": np.array([3, 3]),
        "connection": np.array([2, 2]),
    }
    (event,) = events_of_columns(columns)
    assert event == Event(1.234567891, "send", 3, 2) and str(event) == "1.234568 s send 3 (connection 2)"
    assert str(Event(1.0, "ack", 2)) == "1.000000 s ack 2"
    assert DEFAULT_TOLERANCE_S == 0.002


@pytest.mark.parametrize(
    ("time_ns", "written"),
    [
        (0, "0.000000"),
        (499, "0.000000"),
        (500, "0.000001"),
        (1_000_000_499, "1.000000"),
        (61_000_001_500, "61.000002"),
        (999_999_500, "1.000000"),
    ],
)
def test_times_are_rounded_half_up_to_the_microsecond(time_ns: int, written: str) -> None:
    assert traces.seconds(time_ns) == written


def test_a_text_names_connections_only_if_it_has_several() -> None:
    rows = [(1_500_000_000, "send", 1, 0), (1_600_000_000, "receive", 1, 1), (12_000_000_000, "dupack", 1, 0)]

    def view(rows: list[tuple[int, str, int, int]]) -> Any:
        columns = zip(("time_ns", "event", "segment", "connection"), zip(*rows, strict=True), strict=True)
        table = {name: np.array(values) for name, values in columns}
        return SimpleNamespace(columns=lambda name: {"segments": table}[name])

    assert traces.TEXTS["text"](view(rows)) == (
        "      1.500000  packet 1 is sent\n     12.000000  a duplicate ack arrives covering packet 1\n"
    )
    several = traces.TEXTS["text"](view([*rows, (13_000_000_000, "drop", 7, 4)])).splitlines()
    assert [line[14:] for line in several] == [
        "  packet 1 is sent  (connection 0)",
        "  a duplicate ack arrives covering packet 1  (connection 0)",
        "  packet 7 is dropped  (connection 4)",
    ]
    assert traces.TEXTS["csv"](view(rows)) == "time_s,event,segment\n1.500000,send,1\n12.000000,dupack,1\n"
