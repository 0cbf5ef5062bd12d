"""How captured connections end, and where they were captured, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cwndlab.apps.captures import vantage
from cwndlab.apps.captures.endings import describe_ending
from cwndlab.apps.captures.vantage import Answers, find_answers, is_at_receiver, make_as_sent
from cwndlab.apps.diagnosis.conversation import ACK, FIN, RST, SYN, Conversation, Missing, Packet
from made_packets import MS, got, sent

OPEN = "Still open at the end of the capture."


@pytest.mark.parametrize(
    ("packets", "words"),
    [
        ([sent(0, flags=SYN)], "No answer to 1 SYN."),
        ([sent(0, flags=SYN), sent(1000, flags=SYN)], "No answer to 2 SYNs."),
        ([sent(0, flags=SYN), got(12.5, flags=RST | ACK)], "Refused: a RST answered the SYN after 12.5 ms."),
        (
            [sent(0, flags=SYN), sent(1000, flags=SYN), got(1003, flags=RST), sent(2000, flags=SYN)],
            "Refused: a RST answered the SYN after 3 ms (3 attempts).",
        ),
        (
            [sent(0, flags=SYN), sent(9, flags=RST)],
            "The connection was given up by a RST of its own end before an answer.",
        ),
        ([sent(0, 0, 9), sent(1, 9, flags=FIN), got(2, 9), got(3, flags=FIN)], ""),
        (
            [sent(0, 0, 9), sent(1, 9, flags=FIN)],
            "At the end of the capture only the sender had closed the connection.",
        ),
        (
            [sent(0, 0, 9), got(1, flags=FIN)],
            "At the end of the capture only the receiver had closed the connection.",
        ),
        (
            [sent(5, 0, 900), got(9, 400), got(1505, 400, flags=RST)],
            "Ended by a RST of the receiver after 1.500 s, while 500 bytes were not acknowledged.",
        ),
        (
            [sent(5, 0, 900), got(9, 400), got(1505, 900, flags=RST)],
            "Ended by a RST of the receiver after 1.500 s.",
        ),
        ([sent(5, 0, 900), got(9, 900), sent(10, flags=RST)], "Ended by a RST of the sender after 0.005 s."),
        (
            [sent(5, 0, 900, unseen=True), got(9, 400), got(10, 400, flags=RST)],
            "Ended by a RST of the receiver after 0.005 s.",
        ),
        (
            [sent(5, 0, 9), sent(6, 9, flags=FIN), sent(10, flags=RST)],
            "Ended by a RST of the sender after 0.005 s, after its own FIN.",
        ),
        (
            [sent(5, 0, 9), sent(6, 9, flags=FIN), got(10, flags=RST)],
            "Ended by a RST of the receiver after 0.005 s, after the other end's FIN.",
        ),
        ([sent(5, 0, 9), sent(6, 9, flags=FIN), got(7, flags=FIN), got(10, flags=RST)], ""),
        (
            [sent(5, 0, 9), got(8, flags=RST), sent(9, 9, flags=FIN)],
            "Ended by a RST of the receiver after 0.003 s, while 9 bytes were not acknowledged.",
        ),
        ([sent(0, 0, 9), got(1, 9)], OPEN),
        ([sent(0, 0, 9), got(1, 9), sent(2, 9, 5), sent(202, 9, 5)], OPEN),
        (
            [sent(0, 0, 9), got(1, 9), sent(2, 9, 5), sent(202, 9, 5), sent(602, 9, 5)],
            "The last 3 segments, over 0.6 s, had no answer.",
        ),
        ([sent(2, 9, 5), sent(202, 9, 5), sent(602, 9, 5), got(700)], OPEN),
        (
            [sent(2, 9, 5), sent(3, 14, 5), sent(202, 9, 5), sent(602, 9, 5), sent(700)],
            "The last 4 segments, over 0.6 s, had no answer.",
        ),
        ([sent(2, 9, 5), sent(202, 9, 5, unseen=True), sent(602, 9, 5)], OPEN),
    ],
)
def test_the_end_of_a_connection_is_in_words(packets: list[Packet], words: str) -> None:
    assert describe_ending(packets) == words


@pytest.mark.parametrize(
    ("sender_ms", "receiver_ms", "tick_ms", "place"),
    [
        (0.1, 40, 0, "sender"),
        (40, 0.1, 0, "receiver"),
        (3, 40, 0, "sender"),  # a host answers within 3 ms
        (3.1, 40, 0, "middle"),
        (5, 95, 0, "sender"),  # or 5 % of the round trip
        (5.1, 94.9, 0, "middle"),
        (19, 100, 10, "sender"),  # or twice the clock's resolution
        (21, 100, 10, "middle"),
        (1, 1, 0, "sender"),
    ],
)
def test_a_capture_is_at_the_end_that_answers_soon(
    sender_ms: float, receiver_ms: float, tick_ms: int, place: str
) -> None:
    assert Answers(round(sender_ms * MS), round(receiver_ms * MS)).place(tick_ms * MS) == place


def test_a_handshake_shows_how_soon_each_end_answers() -> None:
    opens = [sent(0, flags=SYN), sent(1000, flags=SYN), got(1030, flags=SYN | ACK), got(1031), sent(1032)]
    assert find_answers(opens) == Answers(2 * MS, 30 * MS)
    serves = [got(0, flags=SYN), sent(1, flags=SYN | ACK), got(41)]
    assert find_answers(serves) == Answers(1 * MS, 40 * MS)
    for packets in (opens[:3], opens[2:], [*opens[:4]], [sent(0), got(1)], []):
        assert find_answers(packets) is None


def test_timestamps_show_how_soon_each_end_echoes() -> None:
    packets = [
        sent(0, 0, 9, ts_val=1, ts_ecr=0),
        sent(5, 9, 9, ts_val=1, ts_ecr=0),  # the first with a stamp counts
        got(30, 9, ts_val=70, ts_ecr=1),
        sent(32, 18, 9, ts_val=2, ts_ecr=70),
        got(80, 18, ts_val=71, ts_ecr=2),
        got(81, 18, ts_val=72, ts_ecr=2),  # a stamp is echoed once
        sent(81, 27, ts_val=3, ts_ecr=71, flags=RST),
        sent(90, 27, 9, ts_val=3, ts_ecr=71),
    ]
    assert find_answers(packets) == Answers(2 * MS, 30 * MS)
    assert find_answers(packets[:3]) is None, "the sender has echoed nothing"
    both = [
        sent(0, flags=SYN),
        got(20, flags=SYN | ACK),
        sent(25),
        *(replace(one, time_ns=one.time_ns + 30 * MS) for one in packets),
    ]
    assert find_answers(both) == Answers(2 * MS, 20 * MS), "the least of both"


def test_without_either_the_end_is_the_receiver_if_it_answers_sooner() -> None:
    assert is_at_receiver([sent(0, 0, 9), got(1, 9), sent(41, 9, 9)])
    assert not is_at_receiver([sent(0, 0, 9), got(40, 9), sent(41, 9, 9)])
    assert not is_at_receiver([sent(0), got(1), sent(41)]), "nothing of it carries data"
    assert is_at_receiver([got(0, flags=SYN), sent(30, flags=SYN | ACK), got(31)])
    assert not is_at_receiver([]) and not is_at_receiver([sent(0, 0, 9), sent(9, 9, 9)])


def as_sent(
    packets: list[Packet], answers: Answers | None, place: Any = "receiver", **changes: Any
) -> Conversation:
    made = replace(Conversation("c", packets, 1000, "sender"), **changes)
    make_as_sent(made, place, answers)
    return made


def test_at_the_receiver_acknowledgments_come_later_and_holes_are_filled() -> None:
    packets = [sent(50, 0, 1000), got(51, 1000), sent(60, 3500, 1000), got(61, 1000)]
    found = as_sent(packets, Answers(40 * MS, MS))
    # By the sender's answer time less its twentieth, but at most 0.5 ms.
    assert [(one.time_ns / MS, one.out, one.seq, one.len, one.unseen) for one in found.packets] == [
        (50, True, 0, 1000, False),
        (60, True, 1000, 1000, True),
        (60, True, 2000, 1000, True),
        (60, True, 3000, 500, True),
        (60, True, 3500, 1000, False),
        (90.5, False, 0, 0, False),
        (100.5, False, 0, 0, False),
    ]
    assert (found.seen_at, found.notes) == (
        "receiver",
        ["captured at the receiver: what the sender saw is reconstructed"],
    )
    short = as_sent([got(0), sent(9, 0, 9)], Answers(2 * MS, MS))
    assert short.packets[0].time_ns == 2 * MS - 100_000


def test_missing_data_that_was_acknowledged_stays_missing() -> None:
    packets = [sent(50, 0, 1000), sent(60, 3000, 1000), sent(70, 6000, 500)]
    missing = [Missing(1000, 1500, 50 * MS, 60 * MS), Missing(5000, 1000, 60 * MS, 70 * MS)]
    found = as_sent(packets, Answers(0, 0), missing=missing)
    unseen = [(one.seq, one.len) for one in found.packets if one.unseen]
    assert unseen == [(2500, 500), (4000, 1000)]
    assert {(one.ack, one.window) for one in found.packets if one.unseen} == {(0, 0)}
    late = as_sent(
        [sent(40, 99), sent(50, 5000, 1000), sent(60, 7000, 1000)], Answers(0, 0), from_start=False
    )
    assert [(one.seq, one.len) for one in late.packets if one.unseen] == [(6000, 1000)]


def test_in_the_middle_both_ends_answer_late() -> None:
    found = as_sent([got(0), sent(30, 0, 9)], Answers(26 * MS, 14_250_000), "middle")
    assert found.notes == [
        "captured on the path, where the sender answers after 26 ms or more and the receiver after 14.2 ms "
        "or more: what the sender saw is reconstructed"
    ]


def test_a_large_hole_is_filled_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, segments in ((4, 3), (3, 1)):
        monkeypatch.setattr(vantage, "_MOST_SEGMENTS", most)
        found = as_sent([sent(1500, 0, 1000), sent(2500, 3100, 9)], Answers(0, 0))
        assert sum(one.unseen for one in found.packets) == segments
        assert ("2100 bytes before 2.500000 s are not in the capture" in found.notes) is (segments == 1)


def test_the_answer_time_at_the_receiver_is_the_least_beyond_a_burst() -> None:
    packets = [
        got(0),
        sent(2, 0, 9),
        got(10),
        got(20),
        sent(22.5, 9, 9),
        sent(30, 18, 9),
        got(40),
        sent(90, 27, 9),
    ]
    assert vantage._answer_time(packets) == 2_500_000
    assert vantage._answer_time(packets[:2]) == 0 == vantage._answer_time([])
    assert as_sent(packets, None).packets[1].time_ns == 2_375_000
