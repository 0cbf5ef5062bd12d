"""What a fit says: parameters with their intervals, warnings, the course over time, and its options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cwndlab.apps.fit.command import _buffer, _stated
from cwndlab.apps.fit.compared_numbers import DELAYED, VARIATION
from cwndlab.apps.fit.drawing import DrawnPaths
from cwndlab.apps.fit.fit_result import Compared, Fitted, Parameter
from cwndlab.apps.fit.fitted_parameters import path_parameters, sender_parameters
from cwndlab.apps.fit.fitted_study import PathParameters, Rival
from cwndlab.apps.fit.full_queue import QueueEstimates
from cwndlab.apps.fit.path_estimates import PathEstimates
from cwndlab.apps.fit.random_loss import RandomLoss
from cwndlab.apps.fit.sender_estimates import SenderEstimates
from cwndlab.apps.fit.stated_parameters import NOTHING_STATED, StatedParameters
from cwndlab.apps.fit.time_courses import PARTS, TimeCourse
from cwndlab.base.errors import StudyError
from made_packets import flow

QUEUE = QueueEstimates(40e3, 41e3, 2, 500, 7, 5)
ESTIMATES = PathEstimates(8e6, 0.04, QUEUE, 0.0, 5, 0.0, 0.1)
DRAWS = [PathParameters(rate, base, room, 0.0, cross) for rate, base, room, cross in (
    (7e6, 0.03, 38e3, 0.1), (8e6, 0.04, 40e3, 0.2), (10e6, 0.05, 43e3, 0.4))]  # fmt: skip
LOSS = RandomLoss(2, 500)
SENDER = SenderEstimates(1448, 10, 2.0, False, 0.71, 3, "cubic")


def path(
    kinds: list[list[PathParameters]], stated: StatedParameters = NOTHING_STATED, **changes: Any
) -> dict[str, Parameter]:
    losses = [LOSS, RandomLoss(4, 500)]
    drawn = [DrawnPaths(draws, [], [], losses[k]) for k, draws in enumerate(kinds)]
    found = path_parameters(replace(ESTIMATES, **changes), drawn, stated, 1500)
    return {one.name: one for one in found}


def numbers(one: Parameter) -> list[Any]:
    return [one.unit, one.value, one.low, one.high, one.hosts]


def test_a_parameter_has_the_range_of_the_draws_and_what_hosts_add() -> None:
    found = path([DRAWS])
    assert list(found) == ["rate", "rtt", "buffer", "loss", "cross traffic"]
    assert numbers(found["rate"]) == ["Mbit/s", 8.0, pytest.approx(6.999), pytest.approx(10.001), 0.001]
    assert numbers(found["rtt"]) == pytest.approx(["ms", 40.0, 29.95, 50.05, 0.05])
    assert numbers(found["buffer"]) == ["kB", 40.0, 38.0, 43.0, 0.0]
    assert (found["buffer"].resolution, found["buffer"].resolution_of) == (1.5, "a packet")
    assert found["buffer"].how == "round trips before losses at a full queue (5 of 7 episodes)"
    assert found["rtt"].how == "shortest round trip, less the time to send the segment"
    assert found["rate"].how.startswith("spacing of acknowledgments")
    assert numbers(found["cross traffic"])[:2] == ["% of the rate", 0.0]


def test_a_stated_parameter_has_no_interval() -> None:
    found = path([DRAWS], StatedParameters(rtt_s=0.035, buffer_bytes=40e3))
    assert (found["rtt"].text, found["rtt"].interval) == ("35 ms", "stated")
    assert (found["buffer"].text, found["buffer"].interval, found["buffer"].besides) == (
        "40 kB",
        "stated",
        "",
    )


def test_random_loss_is_the_mean_over_kinds_with_the_wider_interval() -> None:
    one = path([DRAWS])["loss"]
    low, high = LOSS.interval()
    assert numbers(one) == ["%", pytest.approx(0.4), pytest.approx(100 * low), pytest.approx(100 * high), 0.0]
    assert one.how == "2 losses of 500 segments sent while the queue was not full"
    both = path([DRAWS, DRAWS])["loss"]
    highest = RandomLoss(4, 500).interval()[1]
    assert numbers(both)[1:4] == pytest.approx([0.6, 100 * low, 100 * highest])


@pytest.mark.parametrize(("segments", "known"), [(200, True), (199, False)])
def test_few_segments_show_no_random_loss(segments: int, known: bool) -> None:
    one = path([DRAWS], queue=replace(QUEUE, other_segments=segments))["loss"]
    assert (one.value is not None) is known
    if not known:
        why = "only 199 segments were sent while the queue was not nearly full"
        assert (one.text, one.interval) == ("–", f"not identifiable: {why}")


def test_cross_traffic_is_of_datagrams_of_tcp_flows_or_of_both() -> None:
    laws = ("reno", "cubic", "reno")
    rivals = [replace(DRAWS[k], rival=Rival(law, 1, 0.0, 1.0)) for k, law in enumerate(laws)]
    datagrams = path([DRAWS], cross=0.2)
    assert numbers(datagrams["cross traffic"]) == pytest.approx(["% of the rate", 20.0, 10.0, 40.0, 0.0])
    assert datagrams["response of cross traffic"].value == "none"
    assert datagrams["burstiness of cross traffic"].not_identifiable.startswith("one flow's packets")
    tcp = path([rivals], cross=0.2)
    assert "cross traffic" not in tcp and tcp["response of cross traffic"].value == "as TCP"
    words = tcp["congestion control of cross traffic"].not_identifiable
    assert words == "of 3 draws cubic in 1, reno in 2"
    assert "cross traffic" not in path([rivals]), "whatever the estimate"
    both = path([DRAWS, rivals], cross=0.2)
    assert numbers(both["cross traffic"])[1] == pytest.approx(20.0)
    assert both["response of cross traffic"].not_identifiable.startswith("datagrams and TCP flows both")
    assert "congestion control of cross traffic" not in both


def sender(
    captured: bool = True, stated: StatedParameters = NOTHING_STATED, **changes: Any
) -> list[tuple[str, str, str]]:
    found = sender_parameters(replace(SENDER, **changes), stated, captured=captured)
    return [(one.name, one.text, one.interval) for one in found]


def test_the_parameters_of_a_sender_are_in_words() -> None:
    assert sender() == [
        ("cc", "cubic", "as captured"),
        ("mss", "1448 B", "as captured"),
        ("initial window", "10 segments", "as captured"),
        ("pacing", "no", "as captured"),
        ("segments per ACK", "2", "as captured"),
    ]
    unknown = sender(captured=False, paced=None, stated=StatedParameters(cc="reno"))
    assert unknown[0] == ("cc", "reno", "stated")
    assert unknown[2] == ("initial window", "–", "not identifiable: the handshake was not captured")
    assert unknown[3][2] == "not identifiable: acknowledgments and segments are too close together"
    assert sender(paced=True)[3][1] == "yes"
    bbr = replace(SENDER, law="bbr1")
    how = [next(sender_parameters(one, NOTHING_STATED, captured=True)).how for one in (SENDER, bbr)]
    assert how == [
        "3 reductions leave 0.71 of the flight",
        "pacing, and a flight of four segments now and then",
    ]


@pytest.mark.parametrize(
    ("changes", "text", "interval", "besides"),
    [
        ({"value": 8.0001234, "unit": "Mbit/s"}, "8.0001 Mbit/s", "as captured", ""),
        ({"value": "cubic"}, "cubic", "as captured", ""),
        ({}, "–", "as captured", ""),
        ({"value": 1.0, "low": 1.0}, "1", "as captured", ""),
        ({"value": 1.0, "high": 1.0}, "1", "as captured", ""),
        ({"value": 1.0, "low": 0.5, "high": 1.5}, "1", "0.5 to 1.5", ""),
        ({"value": 1.0, "low": 1.23456, "high": 1.23457}, "1", "1.23456 to 1.23457", ""),
        ({"value": 1.0, "low": 0.1234567891, "high": 0.1234567892}, "1", "0.1234567891 to 0.1234567892", ""),
        ({"value": 1.0, "low": 0.1, "high": 0.1}, "1", "0.10000000000000001 to 0.10000000000000001", ""),
        ({"value": 1, "resolution": 1.54, "resolution_of": "a bit"}, "1", "as captured", "± 1.5, a bit"),
        ({"value": 1.0, "stated": True, "low": 0.5, "high": 1.5}, "1", "stated", ""),
        ({"not_identifiable": "why"}, "–", "not identifiable: why", ""),
    ],
)  # fmt: skip
def test_a_parameter_is_written_to_the_digits_that_tell_its_ends_apart(
    changes: dict[str, Any], text: str, interval: str, besides: str
) -> None:
    one = Parameter(name="rate", **changes)
    assert (one.text, one.interval, one.besides) == (text, interval, besides)


def compared(name: str, capture: float) -> Compared:
    return Compared(name=name, capture=capture, low=10.0, median=12.0, high=14.0)


def fitted(*numbers: Compared, **values: str) -> Fitted:
    parameters = [Parameter(name=name, value=value) for name, value in values.items()]
    return Fitted(capture="c", flow="a > b", seconds=1.0, parameters=parameters, compared=list(numbers))


def test_warnings_name_the_numbers_that_replays_do_not_show() -> None:
    far = fitted(
        compared("one", 99.0), compared(VARIATION, 99.0), compared("two", 99.0), compared("three", 12.0)
    )
    assert far.warnings[0] == "the replays do not show the capture's one, two"
    assert far.warnings[1].startswith("other traffic is neither like datagrams") and len(far.warnings) == 2
    assert len(fitted(compared(DELAYED, 99.0)).warnings) == 1
    assert fitted(compared("one", 16.0)).warnings == []


def test_tables_have_a_line_for_each_number() -> None:
    made = fitted(compared("one", 12.3456), cc="cubic")
    assert [line.split() for line in made.table().splitlines()] == [
        ["parameter", "value", "95", "%", "interval", "besides"], ["cc", "cubic", "as", "captured"]
    ]  # fmt: skip
    assert [line.split() for line in made.comparison().splitlines()] == [
        ["capture", "39", "replays"], ["one", "12.35", "12", "(10", "to", "14)"]
    ]  # fmt: skip


def test_a_finding_has_the_path_and_its_sender() -> None:
    made = fitted(cc="cubic", rate="8 Mbit/s", rtt="40 ms", buffer="9 kB", loss="1 %")
    named = made.model_copy(
        update={"parameters": [*made.parameters, Parameter(name="cross traffic", value="5 %")]}
    )
    words = "CUBIC over 8 Mbit/s with a base round trip of 40 ms and a buffer of 9 kB; random loss 1 %, "
    assert named.finding == f"{words}cross traffic 5 %."
    response = Parameter(name="response of cross traffic", value="as TCP")
    assert (
        made.model_copy(update={"parameters": [*made.parameters, response]}).finding
        == f"{words}cross traffic as TCP."
    )
    assert made.text_of("nothing") == ""


def test_a_course_over_time_is_that_by_hand() -> None:
    """Of 1 s, in hundredths: two segments, one of which is sent again, and one at the very end."""
    sent = [(0.0, 0), (0.003, 1), (0.105, 2), (0.5, 2), (1.0, 3)]
    acks = [(0.04, 1), (0.053, 2), (0.6, 3), (1.02, 4)]
    found = TimeCourse.of_packets(flow(sent, acks), 1.0)
    assert np.flatnonzero(found.throughput_mbps).tolist() == [3, 5, 59]
    assert found.throughput_mbps[3] == pytest.approx(1000 * 8e-6 * PARTS)
    assert found.round_trip_ms[0] == pytest.approx(45.0) and found.round_trip_ms[99] == pytest.approx(20.0)
    assert np.isnan(found.round_trip_ms).sum() == PARTS - 2
    assert found.in_flight_kb[[0, 2, 3, 5, 10, 58, 60, 98, 99]].tolist() == [2, 2, 1, 0, 1, 1, 0, 0, 1]
    assert found.retransmitted[[48, 49, 99]].tolist() == [0, 1, 1]
    names = [(name, title) for name, title, _ in found.items()]
    assert names[0] == ("throughput", "throughput (Mbit/s)") and len(names) == 4
    longer = TimeCourse.of_packets(flow(sent, acks), 2.0)
    assert longer.throughput_mbps[29] == pytest.approx(1000 * 8e-6 * PARTS / 2)
    assert np.isnan(longer.round_trip_ms[49]) and longer.round_trip_ms[50] == pytest.approx(20.0)


def test_a_course_without_acknowledgments_has_no_throughput() -> None:
    found = TimeCourse.of_packets(flow([(0.0, 0)], []), 1.0)
    assert found.throughput_mbps.tolist() == [0.0] * PARTS and found.in_flight_kb.tolist() == [1.0] * PARTS
    assert TimeCourse.of_packets(flow([], []), 1.0).in_flight_kb.tolist() == [0.0] * PARTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.5BDP", (1.5, None)), ("64KiB", (None, 65536)), ("1kB", (None, 1000)), ("100pkt", (None, 150_000))],
)
def test_a_buffer_is_stated_in_bdps_bytes_or_packets_of_1500_bytes(
    text: str, expected: tuple[Any, Any]
) -> None:
    assert _buffer(text) == expected


@pytest.mark.parametrize("text", ["40ms", "8Mbps", "1%"])
def test_a_buffer_in_other_units_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size: write 1BDP, 64KiB or 100pkt"):
        _buffer(text)


def test_options_are_stated_parameters() -> None:
    assert _stated(None, None, None) == NOTHING_STATED
    assert _stated("cubic", "40ms", "1BDP") == StatedParameters("cubic", 0.04, 1.0, None)
    assert _stated(None, None, "3kB") == StatedParameters(buffer_bytes=3000)
    with pytest.raises(StudyError, match="buffer: '40ms' is not a size"):
        _stated(None, None, "40ms")
    with pytest.raises(StudyError, match="rtt"):
        _stated(None, "40kB", None)
