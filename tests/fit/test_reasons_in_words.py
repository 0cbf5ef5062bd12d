"""Why there is no fit: each reason at its bound, with its words, and what would help."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import of_conversation
from cwndlab.apps.diagnosis.conversation import ACK, Conversation, Missing, Packet
from cwndlab.apps.fit import refusals
from cwndlab.apps.fit.full_queue import QueueEstimates
from cwndlab.apps.fit.path_estimates import PathEstimates
from cwndlab.apps.fit.refusals import of_capture, of_faults, of_path, of_sender
from cwndlab.apps.fit.sender_estimates import SenderEstimates
from cwndlab.apps.fit.stated_parameters import StatedParameters
from made_packets import deliveries

QUEUE = QueueEstimates(40e3, 41e3, 1, 500, 3, 2)
PATH = PathEstimates(8e6, 0.04, QUEUE, 0.0, 5, 0.0, 0.1)
MS = 1_000_000


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, []),
        ({"rate_bps": math.nan, "base_shown": False}, ["rate"]),
        ({"faster": 0.05, "not_used": 0.95}, []),
        ({"faster": 0.051, "base_shown": False}, ["rate"]),
        ({"not_used": 0.951}, ["rate"]),
        ({"cross": 0.2, "touches": 2}, []),
        ({"cross": 0.2, "touches": 1}, ["rtt"]),
        ({"cross": 0.0, "touches": 1}, []),
        ({"base_shown": False}, ["rtt"]),
        ({"queue": replace(QUEUE, buffer_bytes=math.nan)}, ["buffer"]),
        ({"queue": replace(QUEUE, buffer_bytes=math.nan, skew=4.0, loss_level=0.5)}, ["queue"]),
        ({"base_shown": False, "queue": replace(QUEUE, buffer_bytes=math.nan)}, ["rtt", "buffer"]),
    ],
)
def test_a_path_is_refused_for_what_its_packets_do_not_show(
    changes: dict[str, Any], reasons: list[str]
) -> None:
    assert [one.reason for one in of_path(replace(PATH, **changes))] == reasons


@pytest.mark.parametrize(
    ("changes", "words", "right"),
    [
        ({"rate_bps": math.nan}, "fewer than 30 pairs of segments waited", "a transfer that fills the path"),
        (
            {"faster": 0.07, "not_used": 0.3},
            "8 Mbit/s, 30 % would not have been used while segments waited, and 7 % of the data came faster",
            "receive offload switched off",
        ),
        ({"cross": 0.2, "touches": 0}, "not identifiable: at most 40 ms", "--rtt 40ms; or capture while"),
        ({"base_shown": False}, "that the base round trip is not identifiable: at most 40 ms", "--rtt 40ms"),
        (
            {"queue": replace(QUEUE, skew=4.56, loss_level=0.25)},
            "half of the losses met at most 25 % of the longest wait, so it was not full, and the waits "
            "before them were longer than others by 4.6 standard errors",
            "behind a drop-tail queue",
        ),
        (
            {"queue": replace(QUEUE, buffer_bytes=math.nan, episodes=0, longest_bytes=12_345.0)},
            "nothing was lost, so the queue was never full; its queue held 12.3 kB",
            "--buffer 1BDP; or capture until the queue is full",
        ),
        (
            {"queue": replace(QUEUE, buffer_bytes=math.nan)},
            "the losses do not agree on a longest round trip",
            "state it: --buffer 1BDP",
        ),
    ],
)  # fmt: skip
def test_the_words_have_the_numbers_and_what_helps(changes: dict[str, Any], words: str, right: str) -> None:
    (refusal,) = of_path(replace(PATH, **changes))
    assert words in refusal.why and right in refusal.right


def test_a_law_that_is_not_known_is_to_be_stated() -> None:
    known = SenderEstimates(1000, 10, 2.0, False, 0.7, 3, "cubic")
    assert list(of_sender(known)) == []
    (refusal,) = of_sender(replace(known, law="", why="a reason"))
    assert refusal == ("cc", "a reason", "state it: --cc cubic")


def conversation(**changes: Any) -> Conversation:
    packets = [Packet(k * MS, True, 1000 * k, 1000, 0, 0, ACK) for k in range(10)]
    return replace(Conversation("a > b", packets, 1000, "sender"), **changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"one_way": "data", "tick_ns": MS}, [("one-direction", "it has only the sender's packets")]),
        ({"one_way": "acks"}, [("one-direction", "it has only the receiver's packets")]),
        ({"tick_ns": 10 * MS}, [("clock", "its times are multiples of 10 ms")]),
        ({"steps": [5]}, [("clock", "its clock was set while it was made")]),
        ({"tick_ns": 1, "steps": [5]}, [("clock", "multiples of 1e-06 ms"), ("clock", "its clock was set")]),
        ({"missing": [Missing(0, 50, 0, 1)]}, []),  # 0.5 % of 10 kB
        ({"missing": [Missing(0, 50, 0, 1), Missing(90, 1, 0, 1)]}, [("missing", "it lacks 0.51 % of")]),
        ({"missing": [Missing(0, 40_000, 0, 1)]}, [("missing", "it lacks 1e+02 % of")]),
        ({"packets": [], "missing": [Missing(0, 2, 0, 1)]}, [("missing", "it lacks 1e+02 % of")]),
    ],
)
def test_a_fault_of_the_capture_is_a_reason(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    found = list(of_faults(conversation(**changes)))
    assert [one.reason for one in found] == [reason for reason, _ in expected]
    assert all(words in one.why for one, (_, words) in zip(found, expected, strict=True))


def test_without_waits_only_the_fault_is_reported() -> None:
    made = conversation(tick_ns=100 * MS)
    assert [one.reason for one in of_capture(made, Deliveries(of_conversation(made)))] == ["clock"]


@pytest.mark.parametrize(
    ("place", "words"),
    [("receiver", "at the receiver"), ("middle", "on the path, between the ends")],
)
def test_a_capture_elsewhere_is_refused(place: str, words: str) -> None:
    made = conversation(seen_at=place)
    (refusal,) = of_capture(made, Deliveries(of_conversation(made)))
    assert refusal == ("place", f"it was captured {words}", "capture at the sender of the data")


def transfer(windows: list[int], segments: int = 400) -> Conversation:
    """A segment each 2 ms, acknowledged after 20 ms, with these windows in turn."""
    packets = [Packet(2 * k * MS, True, 1000 * k, 1000, 0, 0, ACK) for k in range(segments)]
    for k in range(segments):
        window = windows[k % len(windows)]
        packets.append(Packet((2 * k + 20) * MS, False, 0, 0, 1000 * (k + 1), window, ACK))
    return Conversation("a > b", sorted(packets, key=lambda one: one.time_ns), 1000, "sender")


def reasons(made: Conversation) -> list[tuple[str, str]]:
    return [(one.reason, one.why) for one in of_capture(made, Deliveries(of_conversation(made)))]


def test_a_capture_that_is_too_short_says_how_short() -> None:
    ((reason, words),) = reasons(transfer([10**6], segments=199))
    assert (reason, words) == ("too-short", "it is too short: 199 segments in 0.416 s")
    assert reasons(transfer([10**6])) == []


def test_a_window_that_is_full_after_half_of_the_acknowledgments_holds_the_sender_back() -> None:
    """After an acknowledgment, nine or ten segments are under way."""
    ((reason, words),) = reasons(transfer([9_500]))
    assert reason == "held-back"
    assert words == "for 98 % of the time not the path held the sender back: the receive window was full"
    assert "held-back" not in [reason for reason, _ in reasons(replace(transfer([9_500]), scale_known=False))]


def test_a_window_below_half_of_its_largest_shows_a_slow_reader() -> None:
    often = [100_000] * 49 + [49_999]
    ((reason, words),) = reasons(transfer(often))
    assert reason == "held-back" and "after 2.0 % of the acknowledgments" in words
    assert reasons(transfer([100_000] * 49 + [50_000])) == []
    assert reasons(transfer([100_000] * 99 + [49_999])) == [], "1 % may be"


@pytest.mark.parametrize(("pause_ms", "words"), [(68, ""), (73, "for 16 % of the"), (400, "for 50 % of the")])
def test_an_application_that_pauses_holds_the_sender_back(pause_ms: int, words: str) -> None:
    """Twice by so much, of 818 ms and twice as much; 2 ms more lie between any two segments."""
    made = transfer([10**6])
    for packet in made.packets:
        number = packet.seq // 1000 if packet.out else packet.ack // 1000 - 1
        packet.time_ns += ((number >= 100) + (number >= 300)) * pause_ms * MS
    found = reasons(made)
    assert [reason for reason, _ in found] == (["held-back"] if words else [])
    assert not words or (words in found[0][1] and "the application had nothing to send" in found[0][1])


def test_the_share_of_full_windows_is_of_acknowledgments_after_which_no_segment_fits() -> None:
    """Two segments are under way until the next acknowledgment, and a third may fit in."""
    sent = [(0.0, 0), (0.1, 1), (0.3, 2), (0.4, 3)]
    for windows, share in (
        ((3000, 3000), 0.0),
        ((2999, 3000), 0.5),
        ((2999, 2999), 1.0),
        ((3000, 2999), 0.5),
    ):
        of = deliveries(sent, [(0.2, 1), (0.35, 2)], window=windows)  # type: ignore[arg-type]
        assert refusals._window_share(of) == share
    assert refusals._window_share(deliveries([(0.0, 0)], [])) == 0.0
    assert refusals._slow_reader(deliveries([(0.0, 0)], [])) == 0.0


def test_a_stated_parameter_takes_the_place_of_the_one_that_is_missing() -> None:
    nothing, every = StatedParameters(), StatedParameters("cubic", 0.04, 1.5)
    for reason, allowed in (("cc", True), ("rtt", True), ("buffer", True), ("queue", False), ("rate", False)):
        assert every.allows(reason) is allowed and not nothing.allows(reason)
    assert StatedParameters(buffer_bytes=9e3).allows("buffer")
    assert not StatedParameters(cc="cubic").allows("buffer")


def test_a_stated_buffer_is_in_bytes_or_a_multiple_of_the_bdp() -> None:
    assert StatedParameters(buffer_bdp=1.5).buffer_of(8e6, 0.04) == 60_000
    assert StatedParameters(buffer_bytes=9e3).buffer_of(8e6, 0.04) == 9_000
    assert StatedParameters().buffer_of(8e6, 0.04) is None


def test_what_is_stated_of_a_capture_is_stated_of_a_replay_with_the_values_of_its_path() -> None:
    assert StatedParameters("reno", 0.04, 1.5).as_on(0.05, 7e3) == StatedParameters("reno", 0.05, None, 7e3)
    assert StatedParameters(buffer_bytes=9e3).as_on(0.05, 7e3) == StatedParameters(buffer_bytes=7e3)
    assert StatedParameters("reno").as_on(0.05, 7e3) == StatedParameters("reno")
