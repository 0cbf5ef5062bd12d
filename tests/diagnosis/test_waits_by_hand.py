"""The cause of each wait of a TCP sender, from a few packets that are written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.apps.diagnosis.conversation import (
    ACK,
    ECE,
    FIN,
    RST,
    SYN,
    Conversation,
    Drop,
    Known,
    Missing,
    Packet,
)
from cwndlab.apps.diagnosis.waits import find_all_waits, find_waits, round_trips, shortest_rtt
from made_packets import MS, got


def sent(ms: float, seq: int = 0, length: int = 1000, flags: int = ACK, **more: Any) -> Packet:
    return Packet(round(ms * MS), True, seq, length, 0, 0, flags, **more)


#: A segment, which is acknowledged after 20 ms.
FIRST = [sent(0), got(20, 1000)]


def waits(
    *packets: Packet, first: list[Packet] = FIRST, **changes: Any
) -> list[tuple[float, float, str, bool]]:
    made = Conversation("c", sorted([*first, *packets], key=lambda one: one.time_ns), 1000, "sender")
    for name, value in changes.items():
        setattr(made, name, value)
    return [(one.start_ns / MS, one.end_ns / MS, one.cause, one.certain) for one in find_waits(made)]


def last(*packets: Packet, **changes: Any) -> tuple[str, bool]:
    return waits(*packets, **changes)[-1][2:]


@pytest.mark.parametrize(
    ("first", "packets", "cause"),
    [
        (FIRST, [sent(20.5, 1000)], ("cwnd", False)),
        (FIRST, [sent(22.9, 1000)], ("cwnd", False)),  # an answer comes within 3 ms
        (FIRST, [sent(23.1, 1000)], ("application", True)),
        ([sent(0), got(20, 1000, 1999)], [sent(20.5, 1000)], ("receive-window", True)),
        ([sent(0), got(20, 1000, 2000)], [sent(20.5, 1000)], ("cwnd", False)),
        ([sent(0), got(20, 1000, 999)], [sent(20.5, 1000)], ("zero-window", True)),
        ([sent(0), got(20, 1000, 999)], [sent(20.5, 1000, 500)], ("receive-window", True)),
        (FIRST, [got(99, 1000, length=30), sent(99.5, 1000)], ("application", True)),
        (
            FIRST,
            [sent(20.5, 1000), sent(30, 2000)],
            ("cwnd", False),
        ),  # within a round trip, without an arrival
        (FIRST, [sent(20.5, 1000), sent(60, 2000)], ("application", False)),
        (FIRST, [sent(20.5, 1000, 9000), sent(60, 10_000)], ("receive-window", False)),
        (FIRST, [sent(20.5, 1000, 8999), sent(60, 9_999)], ("application", False)),
        (FIRST, [got(60, 1000), sent(70, 999, 1, probe="keep-alive")], ("application", True)),
        (FIRST, [got(60, 1000), sent(70, 999, 1, probe="window")], ("zero-window", True)),
    ],
)
def test_new_data_waited_for_what_released_it(
    first: list[Packet], packets: list[Packet], cause: tuple[str, bool]
) -> None:
    assert last(*packets, first=first) == cause


def test_a_small_segment_waits_for_the_acknowledgment_of_all_data() -> None:
    first = [sent(0), sent(0.5, 1000, 500)]
    assert last(got(20, 1500), sent(20.2, 1500, 300), first=first) == ("nagle", False)
    assert last(got(39.9, 1500), sent(40.4, 1500, 300), first=first) == ("nagle", False)
    trip = [got(20, 1000)]
    assert last(*trip, got(40.4, 1500), sent(40.6, 1500, 300), first=first) == ("nagle-delayed-ack", False)
    assert last(got(20, 1000), sent(20.2, 1500, 300), first=first)[0] == "cwnd", "not all is acknowledged"
    assert last(got(20, 1500), sent(20.2, 1500, 501), first=first)[0] == "cwnd", "more than two segments"


def test_a_segment_that_fills_a_small_window_waited_for_it() -> None:
    assert last(sent(20.5, 1000), sent(60, 2000, 8000)) == ("application", False)
    small = [sent(0), got(20, 1000, 1300), sent(20.5, 1000)]
    assert last(sent(60, 2000, 300), first=small) == ("small-window", True)
    assert last(sent(60, 2000, 299), first=small) == ("application", False)
    assert last(sent(60, 2000, 300), first=small, scale_known=False) == ("application", False)


AGAIN = [sent(20.5, 1000), sent(20.6, 2000), sent(20.7, 3000), sent(20.8, 4000)]


@pytest.mark.parametrize(
    ("packets", "cause"),
    [
        ([*(got(41 + k / 10, 1000) for k in range(3)), sent(41.3, 1000)], ("recovery", False)),
        ([sent(300, 1000), got(320, 5000)], ("rto-few-dupacks", False)),
        ([got(41, 1000), got(42, 1000), sent(300, 1000), got(320, 5000)], ("rto-few-dupacks", False)),
        ([got(41, 1000), got(42, 1000), got(43, 1000), sent(300, 1000), got(320, 5000)], ("rto", False)),
        ([sent(300, 1000), got(314, 5000)], ("spurious-rto", True)),  # within three quarters of a round trip
        ([sent(300, 1000), got(341, 5000)], ("rto-few-dupacks", False)),
        (
            [sent(300, 1000), got(339, 1000, sack=((1000, 2000),)), got(340, 5000, sack=((1000, 2000),))],
            ("spurious-rto", True),
        ),
        ([sent(300, 1000), got(340, 5000, sack=((900, 1000),))], ("rto-few-dupacks", False)),
        ([sent(300, 1000, ts_val=9), got(340, 5000, ts_ecr=8)], ("spurious-rto", True)),
        ([sent(300, 1000, ts_val=9), got(314, 5000, ts_ecr=10)], ("rto-few-dupacks", False)),
        ([sent(300, 1000, ts_val=9), got(314, 5000, ts_ecr=9)], ("spurious-rto", True)),
        ([sent(300, 1000)], ("rto-few-dupacks", False)),
        ([sent(300, 1000), sent(900, 1000), got(920, 5000)], ("lost-retransmission", True)),
        (
            [got(41, 1000, sack=((2000, 3000),)), sent(60, 1000), got(80, 5000)],
            ("recovery", False),
        ),  # RACK's timer
        ([got(41, 1000, sack=((2000, 3000),)), sent(62, 1000), got(82, 5000)], ("rto-few-dupacks", False)),
        ([sent(300, 5000, 0, ACK | FIN)], ("application", False)),
    ],
)
def test_a_repeated_segment_waited_for_reports_or_a_timer(
    packets: list[Packet], cause: tuple[str, bool]
) -> None:
    found = waits(*AGAIN, *packets)
    assert next(one[2:] for one in found[::-1] if one[1] <= 1000) == cause


@pytest.mark.parametrize(
    ("third", "cause"),
    [
        (got(43, 1000), "rto"),
        (got(43, 1000, flags=ACK | FIN), "rto-few-dupacks"),
        (got(43, 1000, flags=ACK | SYN), "rto-few-dupacks"),
        (got(43, 1000, length=9), "rto-few-dupacks"),
        (got(43, 1000, 8000), "rto-few-dupacks"),  # it moves the window
        (got(43, 1000, 8000, sack=((2000, 3000),)), "rto"),
        (got(43, 1000, probe="keep-alive"), "rto-few-dupacks"),
        (got(43, 999), "rto-few-dupacks"),
    ],
)
def test_only_pure_acknowledgments_of_the_same_are_duplicates(third: Packet, cause: str) -> None:
    packets = [got(41, 1000), got(42, 1000), third, sent(300, 1000), got(320, 5000)]
    assert next(one[2] for one in waits(*AGAIN, *packets) if one[1] == 300) == cause


def test_a_segment_without_data_before_a_closed_window_is_a_probe() -> None:
    closed = [sent(0), got(20, 1000, 0)]
    assert waits(sent(300, 999, 0), first=closed) == [(0, 300, "zero-window", True)]
    assert waits(sent(300, 1000, 0), first=closed) == []
    assert waits(sent(300, 999, 0), first=[sent(0), got(20, 1000, 1)]) == []


def test_what_a_policer_dropped_is_its_fault_if_drops_are_known() -> None:
    dropped = sent(20.5, 1000, drop=Drop(21 * MS, "x", "y", by_policer=True))
    lost = sent(20.5, 1000, drop=Drop(21 * MS, "x", "y"))
    late, later = [sent(300, 1000)], [got(320, 2000), sent(320.5, 2000)]
    assert last(dropped, *late, drops_known=True) == ("policer", False)
    assert last(lost, *late, drops_known=True) == ("rto-few-dupacks", False)
    assert last(sent(20.5, 1000), *late, drops_known=True) == ("spurious-rto", True)
    answered = [got(41, 1000), sent(41.5, 1000)]
    assert last(dropped, *answered, drops_known=True) == ("policer", False)
    assert last(lost, *answered, drops_known=True) == ("recovery", False)
    assert last(dropped, *late, *later, drops_known=True)[0] == "cwnd", "it is repaired"


def test_an_echo_of_ecn_leaves_one_segment_to_the_timer() -> None:
    echo = [sent(0), got(20, 1000, flags=ACK | ECE), sent(20.5, 1000)]
    assert last(sent(300, 2000), first=echo) == ("ecn-one-segment", False)
    two = [*echo, sent(20.6, 2000)]
    assert last(sent(300, 3000), first=two) == ("rto", False)


def test_a_window_that_opens_late_was_closed() -> None:
    full = [sent(0), got(20, 1000, 9000), sent(20.5, 1000, 3000), got(41, 1000, 3000)]
    assert last(got(300, 1000, 9000), sent(300.5, 4000), first=full) == ("zero-window", True)
    assert last(got(44, 1000, 9000), sent(44.5, 4000), first=full)[0] != "zero-window", "at once"
    half = [sent(0), got(20, 1000, 6000), sent(20.5, 1000, 3000), got(41, 1000, 3000)]
    assert last(got(300, 1000, 6000), sent(300.5, 4000), first=half)[0] != "zero-window", "half is enough"


@pytest.mark.parametrize(
    ("packets", "expected"),
    [
        (
            [sent(0, 0, 0, SYN), sent(1000, 0, 0, SYN), got(1020, 0, flags=SYN | ACK)],
            [(0, 1000, "lost-syn", True)],
        ),
        ([sent(0, 0, 0, SYN), got(5, flags=RST), sent(1000, 0, 0, SYN)], [(0, 1000, "refused", True)]),
        ([sent(0, 0, 0, SYN), got(30, flags=SYN | ACK), sent(60, 0)], [(0, 60, "handshake", True)]),
        ([sent(0, 0, 0, SYN), got(30, flags=SYN | ACK), sent(61, 0)], [(0, 61, "application", True)]),
        ([got(5, 1000), sent(40, 1000)], [(5, 40, "application", True)]),  # the capture begins later
    ],
)
def test_the_first_data_waits_for_the_handshake_or_the_application(
    packets: list[Packet], expected: list[tuple[float, float, str, bool]]
) -> None:
    assert waits(*packets, first=[]) == expected


def test_times_of_missing_packets_and_steps_of_the_clock_are_unknown() -> None:
    after = [sent(100, 1000), got(120, 2000), sent(200, 2000)]
    assert [one[2] for one in waits(*after)] == ["application"] * 2
    for changes in ({"missing": [Missing(5, 9, 50 * MS, 60 * MS)]}, {"steps": [99 * MS]}):
        assert [one[2] for one in waits(*after, **changes)] == ["unknown", "application"]
    assert [one[2] for one in waits(*after, missing=[Missing(5, 9, 100 * MS, 101 * MS)])] == [
        "application",
        "unknown",
    ]


LIMITS = {
    "handshake": "handshake", "cwnd": "cwnd", "max-window": "max-window", "receive-window": "receive-window",
    "recovery": "recovery", "pacing": "pacing", "small-segment": "nagle-delayed-ack",
    "send-buffer": "send-buffer",
    "application": "application", "idle": "application", "closed": "application", "probe": "probe",
    "reordering": "recovery", "rto": "rto",
}  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
def test_a_recorded_limit_is_the_cause(limit: str) -> None:
    known = Known(
        [(0, 50 * MS, "pacing" if limit != "pacing" else "cwnd"), (50 * MS, 999 * MS, limit)], {}, []
    )
    assert last(sent(120, 1000), known=known) == (LIMITS[limit], True)


@pytest.mark.parametrize(
    ("timer", "again", "cause"),
    [
        ("rto", True, "rto-few-dupacks"),
        ("rto", False, "rto"),
        ("persist", False, "rto"),
        ("probe", False, "probe"),
        ("reordering", True, "recovery"),
    ],
)
def test_a_recorded_timer_is_the_cause(timer: str, again: bool, cause: str) -> None:
    known = Known([(0, 999 * MS, "cwnd")], {300 * MS: (timer, 0, 1)}, [])
    packets = [sent(20.5, 1000), sent(300, 1000 if again else 2000)]
    assert last(*packets, known=known) == (cause, True)


def test_short_waits_are_listed_on_request_and_summed_if_their_causes_come_from_outside() -> None:
    """Waits under a tenth of the round trip of 20 ms; the receive window has no room."""
    packets = [sent(0), got(20, 1000, 1000)]
    for k in range(1, 40):
        packets += [sent(20 + k, 1000 * k), got(20.9 + k, 1000 * (k + 1), 1000)]
    made = Conversation("c", packets, 1000, "sender")
    assert shortest_rtt(made) == 900_000
    slow = Conversation(
        "c", [sent(0), got(20, 1000), *(sent(20 + 1.9 * k, 1000 * k) for k in range(1, 9))], 1000, "sender"
    )
    listed, sums = find_all_waits(slow)
    assert [one.duration_ns / MS for one in listed] == [pytest.approx(21.9)] and sums == {}
    assert len(find_waits(slow, short=True)) == 8
    known = Known([(0, 999 * MS, "send-buffer")], {}, [])
    slow.known = known
    assert find_all_waits(slow)[1] == {"send-buffer": round(7 * 1.9 * MS)}
    slow.tick_ns = 1
    assert find_all_waits(slow)[1] == {}, "a coarse clock does not show them"
    slow.tick_ns, slow.one_way = 0, "data"
    assert find_all_waits(slow) == ([], {})
    assert find_all_waits(Conversation("c", [], 1000, "sender")) == ([], {})


@pytest.mark.parametrize(
    ("packets", "trips"),
    [
        (FIRST, [20]),
        ([sent(0), sent(5), got(20, 1000)], []),  # sent again
        ([sent(0), sent(5, 1000), got(20, 2000)], [15]),
        ([sent(0), sent(5, 1000), got(20, 1500)], []),
        ([sent(0), got(20, 1000), got(30, 1000)], [20]),
        ([sent(0, unseen=True), got(20, 1000)], []),
        ([sent(0, probe="window"), got(20, 1000)], []),
        ([sent(0), got(20, 1000, flags=RST | ACK)], []),
        ([sent(3, 0, 0, SYN), got(33, flags=SYN | ACK), sent(40), got(65, 1000)], [30, 25]),
        ([sent(3, 0, 0, SYN), sent(9, 0, 0, SYN), got(33, flags=SYN | ACK)], []),
        ([sent(0, 0, 0), got(20, 0)], []),
    ],
)
def test_round_trips_are_of_what_was_sent_once_and_acknowledged_alone(
    packets: list[Packet], trips: list[float]
) -> None:
    made = Conversation("c", packets, 1000, "sender")
    assert [trip / MS for trip in round_trips(made)] == trips
    assert shortest_rtt(made) == (min(trips) * MS if trips else MS)


def test_a_step_of_the_clock_ends_what_is_measured() -> None:
    packets = [sent(1), got(20, 1000), sent(30, 1000), got(50, 2000), sent(60, 2000), got(90, 3000)]
    for steps, trips in (([], [19, 20, 30]), ([40 * MS], [19, 30]), ([40 * MS, 70 * MS], [19])):
        made = Conversation("c", packets, 1000, "sender", steps=steps)
        assert [trip / MS for trip in round_trips(made)] == trips


def test_elsewhere_than_at_the_sender_answers_come_within_a_round_trip() -> None:
    packets = [sent(20.5, 1000), got(40.5, 2000), sent(60, 2000)]
    assert last(*packets, seen_at="receiver")[0] == "cwnd" and last(*packets)[0] == "application"
