"""Round trips, losses and spacing of a flow's segments, and the rate of its bottleneck, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cwndlab.apps.captures import link_rate
from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import FlowPackets, of_conversation, of_segments
from cwndlab.apps.captures.link_rate import (
    FEWEST_PAIRS,
    bottleneck_of,
    finite_min,
    gap_rates,
    measure_base_and_rate,
    measure_rate,
)
from cwndlab.apps.diagnosis.conversation import ACK, FIN, SYN, Conversation, Packet
from dataclass_kinds import kinds
from made_packets import deliveries, flow

MS = 1_000_000


def test_what_is_captured_is_the_flow_as_its_sender_saw_it() -> None:
    def packet(ms: float, out: bool, seq: int = 0, length: int = 0, ack: int = 0, **more: Any) -> Packet:
        return Packet(round(ms * MS), out, seq, length, ack, 500, more.pop("flags", ACK), **more)

    packets = [
        packet(5, True, flags=SYN),
        packet(35, False, flags=SYN | ACK),
        packet(36, True, 0, 2500, ts_val=7),  # of segmentation offload
        packet(37, True, 2500, 1000, ts_val=7),
        packet(38, True, 3500, 1000),
        packet(39, True, 4500, 1000, unseen=True),
        packet(40, True, 4499, 1, probe="keep-alive"),
        packet(66, False, ack=1000, sack=((2000, 2500), (9, 9))),
        packet(67, False, ack=2500),
        packet(68, False, flags=0, ack=9),
    ]
    found = of_conversation(Conversation("c", packets, 1000, "sender"))
    assert found.sent_s.tolist() == pytest.approx([0.031, 0.031, 0.031, 0.032, 0.033])
    assert found.seq.tolist() == [0, 1000, 2000, 2500, 3500] and found.size.tolist() == [
        1000,
        1000,
        500,
        1000,
        1000,
    ]
    assert found.ack_s.tolist() == pytest.approx([0.061, 0.062]) and found.ack.tolist() == [1000, 2500]
    assert found.sacked.tolist() == [2500, 0] and found.allowed.tolist() == [1500, 3000]
    assert (found.mss, found.header, found.wire_bytes) == (1000, 52, 1052)
    assert (found.handshake_s, found.seconds) == pytest.approx((0.03, 0.063))
    packets[3].ts_val = None
    assert of_conversation(Conversation("c", packets, 1000, "sender")).header == 40, "one in three is stamped"
    assert of_conversation(Conversation("c", packets[2:4], 1000, "sender")).header == 40, "one of two"
    nothing = of_conversation(Conversation("c", [], 1000, "sender"))
    assert (nothing.seconds, len(nothing.sent_s)) == (0.0, 0) and math.isnan(nothing.handshake_s)


NAMES = ("time_ns", "from_client", "sent", "seq", "len", "ack", "window_bytes", "flags", "wire_bytes")


def segments(*rows: tuple[Any, ...]) -> pa.Table:
    """Of connection 3: the columns of `NAMES` (times in ms), and SACK blocks."""
    columns: dict[str, Any] = {name: [row[k] for row in rows] for k, name in enumerate(NAMES)}
    columns["time_ns"] = [round(at * MS) for at in columns["time_ns"]]
    columns["connection"] = [3] * len(rows)
    made = pa.table(columns | {"sack": pa.array([row[len(NAMES)] for row in rows], pa.list_(pa.int64()))})
    return pa.concat_tables(
        [
            made,
            made.set_column(made.column_names.index("connection"), "connection", pa.array([4] * len(rows))),
        ]
    )


def test_what_is_recorded_is_the_flow_as_its_sender_saw_it() -> None:
    found = of_segments(
        segments(
            (5, True, True, 0, 0, 0, 9, SYN, 40, []),
            (35, False, False, 0, 0, 0, 500, SYN | ACK, 40, []),
            (36, True, True, 0, 1000, 0, 9, ACK, 1052, []),
            (37, True, True, 1000, 800, 0, 9, ACK, 852, []),
            (37, True, True, 1800, 0, 0, 9, ACK | FIN, 52, []),
            (50, False, True, 0, 0, 1000, 9, ACK, 40, []),  # as sent by the receiver
            (66, False, False, 0, 0, 1000, 500, ACK, 52, [1400, 1800, 1, 2]),
            (67, False, False, 0, 0, 1800, 700, ACK, 52, [5]),
            (68, False, False, 0, 0, 1800, 700, FIN, 52, [5]),
        ),
        3,
    )
    assert found.sent_s.tolist() == pytest.approx([0.031, 0.032])
    assert (found.seq.tolist(), found.size.tolist()) == ([0, 1000], [1000, 800])
    assert found.ack_s.tolist() == pytest.approx([0.061, 0.062]) and found.ack.tolist() == [1000, 1800]
    assert (found.sacked.tolist(), found.allowed.tolist()) == ([1800, 0], [1500, 2500])
    assert (found.mss, found.header) == (1000, 52)
    assert (found.handshake_s, found.seconds) == pytest.approx((0.03, 0.063))


def test_records_without_data_have_no_segment_size() -> None:
    found = of_segments(segments((5, True, True, 0, 0, 0, 9, SYN, 40, [])), 3)
    assert (found.mss, found.header, found.seconds, len(found.sent_s)) == (0, 40, 0.0, 0)
    assert math.isnan(found.handshake_s)
    none = of_segments(segments((5, True, True, 0, 0, 0, 9, SYN, 40, [])), 9)
    assert none.seconds == 0.0


def test_first_transmissions_losses_and_acknowledgments_of_new_data_are_told_apart() -> None:
    of = deliveries(
        [(0.0, 0), (0.1, 1), (0.2, 2), (0.3, 1), (0.4, 3), (0.5, 2)],
        [(0.05, 1), (0.06, 1), (0.35, 2), (0.36, 1), (0.55, 4)],
    )
    assert (of.sent_s.tolist(), of.retransmitted_s.tolist()) == ([0.0, 0.1, 0.2, 0.4], [0.3, 0.5])
    assert of.ends.tolist() == [1000, 2000, 3000, 4000]
    assert of.lost.tolist() == [False, True, True, False]
    assert (of.ack_s.tolist(), of.last.tolist()) == ([0.05, 0.35, 0.55], [0, 1, 3])
    assert of.covered.tolist() == [1, 1, 2] and of.clean.tolist() == [True, False, False]
    at, trips = of.trips(prompt=False)
    assert (at.tolist(), trips.tolist()) == ([0.0], pytest.approx([0.05]))


def test_a_flow_without_packets_has_no_deliveries() -> None:
    of = deliveries([], [])
    assert [
        len(part) for part in (of.sent_s, of.lost, of.ack_s, *of.trips(prompt=True), *of.spacing(0.1))
    ] == [0] * 8
    assert of.episodes(1.0) == []
    one = deliveries([(0.0, 0), (1.0, 1)], [(0.5, 1)])
    assert [len(part) for part in one.spacing(0.1)] == [0, 0, 0]


def test_an_acknowledgment_with_a_sack_block_has_no_round_trip_of_its_own_but_the_blocks_segment_has() -> (
    None
):
    sent = [(0.0, 0), (0.1, 1), (0.2, 2), (0.3, 3)]
    of = deliveries(sent, [(0.05, 1), (0.27, 1), (0.38, 1), (0.5, 4)], sacked=[0, 3000, 4000, 0])
    at, trips = of.trips(prompt=False)
    assert at.tolist() == [0.0, 0.2, 0.3, 0.3] and trips.tolist() == pytest.approx([0.05, 0.07, 0.2, 0.08])
    assert not deliveries(sent, [(0.05, 1), (0.3, 2)], sacked=[0, 4000]).clean[1]
    # A block that ends within a segment, or was reported before, tells nothing.
    other = deliveries(sent, [(0.27, 0), (0.28, 0), (0.29, 0)], sacked=[3000, 3000, 2500])
    assert other.trips(prompt=False)[0].tolist() == [0.2]
    lost = deliveries([*sent, (0.4, 2)], [(0.47, 0)], sacked=[3000])
    assert len(lost.trips(prompt=False)[0]) == 0


def test_an_acknowledgment_of_one_segment_between_those_of_several_may_be_late() -> None:
    sent = [(0.01 * k, k) for k in range(9)]
    of = deliveries(sent, [(0.1, 2), (0.2, 3), (0.3, 5), (0.4, 6), (0.5, 7), (0.6, 9)])
    assert of.covered.tolist() == [2, 1, 2, 1, 1, 2]
    every, prompt = (of.trips(prompt=prompt)[0].tolist() for prompt in (False, True))
    assert every == pytest.approx([0.01, 0.02, 0.04, 0.05, 0.06, 0.08])
    assert prompt == pytest.approx([0.01, 0.04, 0.05, 0.06, 0.08])
    first = deliveries(sent, [(0.1, 1), (0.2, 3), (0.3, 4)])
    assert first.trips(prompt=True)[0].tolist() == pytest.approx([0.02]), "at both ends"


def test_pairs_of_acknowledgments_of_queued_segments_show_the_bottleneck() -> None:
    """The second segment must have been sent a base round trip and 0.2 ms before the first acknowledgment."""
    sent = [(0.0, 0), (0.01, 1), (0.015, 2), (0.0201, 3), (0.03, 4), (0.031, 5)]
    acks = [(0.05, 1), (0.06, 2), (0.07, 4), (0.071, 4), (0.08, 5), (0.08, 6)]
    size, gap, times = deliveries(sent, acks).spacing(0.0396)
    assert size.tolist() == [1040, 2080]
    assert gap.tolist() == pytest.approx([0.01, 0.01]) and times.tolist() == pytest.approx([0.06, 0.07])
    assert len(deliveries(sent, acks).spacing(0.0399)[0]) == 0, "0.0101 s are less than a round trip"
    blocked = deliveries(sent, acks, sacked=[0, 0, 9000, 0, 0, 0]).spacing(0.0396)
    assert blocked[0].tolist() == [1040]


def test_losses_that_are_sent_apart_are_episodes() -> None:
    of = deliveries([*((0.1 * k, k) for k in range(6)), (0.7, 0), (0.7, 1), (0.7, 4)], [])
    assert [one.tolist() for one in of.episodes(0.15)] == [[0, 1], [4]]
    assert [one.tolist() for one in of.episodes(0.31)] == [[0, 1, 4]]
    assert [one.tolist() for one in of.episodes(0.05)] == [[0], [1], [4]]


def samples(*parts: tuple[int, float], size: float = 1000.0) -> tuple[Any, Any, Any]:
    """So many pairs with each of these gaps, one after another without pauses."""
    gap = np.concatenate([np.full(count, each) for count, each in parts])
    return np.full(len(gap), size), gap, np.cumsum(gap)


def test_the_rate_is_that_of_the_pairs_near_the_peak() -> None:
    found = measure_rate(*samples((40, 0.001)))
    assert found == pytest.approx((8e6, 0.0, 0.0, 0.0), abs=1e-6)
    few = measure_rate(*samples((FEWEST_PAIRS - 1, 0.001)))
    assert math.isnan(few.rate_bps) and few[1:] == (0.0, 0.0, 0.0)
    assert not math.isnan(measure_rate(*samples((FEWEST_PAIRS, 0.001))).rate_bps)


def test_other_flows_packets_are_the_share_of_the_rate_that_pairs_lack() -> None:
    """Every fourth pair has a packet of another flow in between: five gaps' time for four packets."""
    size, gap = np.full(80, 1000.0), np.array([0.001, 0.001, 0.001, 0.002] * 20)
    found = measure_rate(size, gap, np.cumsum(gap))
    assert found.rate_bps == pytest.approx(8e6, rel=1e-3)
    assert found.cross == pytest.approx(0.2, abs=1e-3) == found.not_used and found.faster == 0.0


def test_a_pause_is_no_packet_of_another_flow_but_time_not_used() -> None:
    size, gap = np.full(40, 1000.0), np.array([0.001] * 39 + [0.0205])
    found = measure_rate(size, gap, np.cumsum(gap))
    assert (found.rate_bps, found.cross) == (pytest.approx(8e6), 0.0)
    assert found.not_used == pytest.approx(1 - 0.040 / 0.0595)
    shorter = measure_rate(size, np.array([0.001] * 39 + [0.0195]), np.cumsum(gap))
    assert shorter.cross > 0.3, "up to twenty packets of another flow come between two"


def test_what_arrives_faster_than_the_peak_was_not_paced_by_it() -> None:
    size, gap, times = samples((2, 0.0005), (58, 0.001))
    found = measure_rate(size, gap, times)
    assert found.faster == pytest.approx(2 / 60)
    slight = measure_rate(*samples((2, 0.001 * math.exp(-0.029)), (58, 0.001)))
    assert slight.faster == 0.0


def test_the_highest_peak_that_has_a_tenth_of_the_weight_is_the_bottleneck() -> None:
    for count, rate in ((8, 8e6), (14, 16e6)):
        found = gap_rates(*samples((90, 0.001), (count, 0.0005))[:2])[1]
        assert math.exp(found) == pytest.approx(rate)
    none = gap_rates(*samples((29, 0.001))[:2])
    assert len(none[0]) == 0 and math.isnan(none[1])


def test_spans_average_twenty_milliseconds_and_twenty_pairs() -> None:
    rates, seconds = link_rate._spans(*samples((50, 0.002)))
    assert seconds.tolist() == pytest.approx([0.04, 0.04, 0.02]) and np.exp(rates).tolist() == pytest.approx(
        [4e6] * 3
    )
    rates, seconds = link_rate._spans(*samples((100, 0.0005)))
    assert seconds.tolist() == pytest.approx([0.02, 0.02, 0.01], abs=6e-4)
    size, gap, times = samples((30, 0.002))
    times[10:] += 1.0  # no pair joins the two
    assert link_rate._spans(size, gap, times)[1].tolist() == pytest.approx([0.02, 0.04])


@pytest.mark.parametrize(
    ("values", "weights", "middle"),
    [
        ([3.0, 1.0, 2.0], [1.0, 1.0, 1.0], 2.0),
        ([3.0, 1.0, 2.0], [5.0, 1.0, 1.0], 3.0),
        ([2.0, 1.0], [1.0, 1.0], 1.0),
    ],
)
def test_a_weighted_median_has_half_of_the_weight_up_to_it(
    values: list[float], weights: list[float], middle: float
) -> None:
    assert link_rate._weighted_median(np.array(values), np.array(weights)) == middle


@pytest.mark.parametrize(
    ("values", "least"),
    [((3.0, 1.0), 1.0), ((math.nan, 2.0), 2.0), ((2.0, math.nan), 2.0), ((math.nan, math.nan), math.nan)],
)
def test_the_least_is_of_the_numbers_that_are_known(values: tuple[float, ...], least: float) -> None:
    assert finite_min(*values) == pytest.approx(least, nan_ok=True)


def queued(handshake_s: float = math.nan) -> FlowPackets:
    """A segment is acknowledged each ms; round trips grow from 20 ms to 100 ms within 160 segments."""
    times = [0.02 + 1e-3 * k for k in range(400)]
    trips = [0.02 + 5e-4 * min(k, 160) for k in range(400)]
    sent = [(time - trip, k) for k, (time, trip) in enumerate(zip(times, trips, strict=True))]
    return flow(sent, [(time, k + 1) for k, time in enumerate(times)], handshake_s=handshake_s)


@pytest.mark.parametrize(
    ("handshake_s", "stated_s", "base_s"),
    [(math.nan, None, 0.019), (0.0185, None, 0.0185), (0.5, None, 0.019), (0.01, 0.02, 0.02)],
)
def test_the_base_round_trip_is_the_least_without_the_time_of_a_packet_or_that_of_the_handshake(
    handshake_s: float, stated_s: float | None, base_s: float
) -> None:
    base, found = measure_base_and_rate(Deliveries(queued(handshake_s)), stated_s)
    assert (base, found.rate_bps) == (pytest.approx(base_s), pytest.approx(8.32e6))


def test_without_a_rate_the_base_round_trip_is_the_shortest() -> None:
    base, found = measure_base_and_rate(deliveries([(0.0, 0), (0.1, 1)], [(0.05, 1), (0.14, 2)]))
    assert base == pytest.approx(0.04) and math.isnan(found.rate_bps)


def conversation(**changes: Any) -> Conversation:
    packets = [Packet(0, True, 0, 0, 0, 0, SYN), Packet(19 * MS, False, 0, 0, 0, 60_000, SYN | ACK)]
    of = queued()
    start = 30 * MS
    packets += [
        Packet(start + round(at * 1e9), True, int(seq), 1000, 0, 0, ACK)
        for at, seq in zip(of.sent_s, of.seq, strict=True)
    ]
    packets += [
        Packet(start + round(at * 1e9), False, 0, 0, int(ack), 60_000, ACK)
        for at, ack in zip(of.ack_s, of.ack, strict=True)
    ]
    packets.sort(key=lambda packet: packet.time_ns)
    made = Conversation("c", packets, 1000, "sender")
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_a_capture_at_the_sender_shows_its_bottleneck() -> None:
    found = bottleneck_of(conversation())
    assert found is not None and found.estimated
    assert (found.rate_bps, found.base_s) == (pytest.approx(8.32e6), pytest.approx(0.019))
    # The longest wait of 80 ms, and a packet: 81 packets of 1040 bytes.
    assert found.buffer.startswith("at least") and "84" in found.buffer and found.others == ""
    for changes in ({"seen_at": "receiver"}, {"steps": [1]}, {"tick_ns": MS}, {"one_way": "data"}):
        assert bottleneck_of(conversation(**changes)) is None, changes


@pytest.mark.parametrize(
    ("cross", "faster", "not_used", "others"),
    [
        (0.204, 0.05, 0.95, "other traffic took 20 % of it"),
        (0.015, 0.0, 0.0, ""),
        (0.0, 0.051, 0.0, None),
        (0.0, 0.0, 0.951, None),
    ],
)
def test_other_traffic_is_stated_and_a_rate_that_does_not_explain_the_packets_is_none(
    monkeypatch: pytest.MonkeyPatch, cross: float, faster: float, not_used: float, others: str | None
) -> None:
    rate = link_rate.BottleneckRate(8.32e6, cross, faster, not_used)
    monkeypatch.setattr(link_rate, "measure_base_and_rate", lambda of: (0.019, rate))
    found = bottleneck_of(conversation())
    assert (None if found is None else found.others) == others


def test_objects_of_captures_cannot_be_changed() -> None:
    assert kinds("apps.captures") == {"Deliveries": "equals shows", "FlowPackets": "equals shows"}
