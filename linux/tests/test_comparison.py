"""Where two runs differ: packets without a counterpart, times, order, completion."""

from __future__ import annotations

import math
from dataclasses import replace

from cwndlab_linux.differ.differing import Row, listing, page
from cwndlab_linux.differ.packets_at_server import ServerPacket, compare, packets_of
from cwndlab_linux.differ.random_scenario import Scenario, Transfer
from cwndlab_linux.differ.sides import simulate

MS = 1_000_000


def sent(at_ms: float, number: int, transfer: int = 0) -> ServerPacket:
    return ServerPacket(round(at_ms * MS), transfer, True, 1000 * number, 1000, 0, 16, 65535, ())


def acked(at_ms: float, number: int, transfer: int = 0) -> ServerPacket:
    return ServerPacket(round(at_ms * MS), transfer, False, 0, 0, 1000 * number, 16, 65535, ())


def test_equal_runs_are_the_same() -> None:
    run = [sent(1, 0), acked(11, 1), sent(11, 1), acked(21, 2)]
    shifted = [packet._replace(time_ns=packet.time_ns + 90_000) for packet in run]
    found = compare(run, shifted)
    assert found.is_same and found.in_order and found.kind == "same" and found.completion < 0.01


def test_what_comes_later_than_the_tolerance_is_at_another_time() -> None:
    run = [sent(1, 0), acked(11, 1), sent(12, 1)]
    late = [*run[:2], run[2]._replace(time_ns=run[2].time_ns + 110_000)]
    found = compare(run, late)
    assert (found.kind, found.agree, found.in_order) == ("the same sent at another time", 2, True)


def test_one_more_acknowledgment_of_a_side_is_named() -> None:
    ours = [sent(1, 0), sent(1, 1), acked(11, 2)]
    theirs = [sent(1, 0), sent(1, 1), acked(10, 1), acked(11, 2)]
    assert compare(ours, theirs).kind == "an ACK of the kernel's receiver only"
    assert compare(theirs, ours).kind == "an ACK of the simulator's receiver only"
    assert compare(ours, theirs).in_order


def test_a_retransmission_is_told_from_new_data() -> None:
    run = [sent(1, 0), sent(1, 1)]
    assert compare([*run, sent(300, 0)], [*run, sent(305, 0)]).kind == "the same sent at another time"
    assert compare([*run, sent(300, 0)], run).kind == "the simulator retransmits first"
    assert compare(run, [*run, sent(300, 2)]).kind == "the kernel sends first"


def test_connections_may_change_places_but_segments_of_one_may_not() -> None:
    ours = [sent(1, 0, 0), sent(1, 0, 1)]
    assert compare(ours, [ours[1], ours[0]]).is_same
    assert not compare([sent(1, 0), sent(1, 1)], [sent(1, 1), sent(1, 0)]).in_order


def test_a_transfer_that_completes_on_one_side_only_is_infinitely_far() -> None:
    ours, theirs = [sent(0, 0), acked(10, 1)], [sent(0, 0)]
    assert compare(ours, theirs).completion == math.inf


def test_the_simulator_agrees_with_itself_and_not_with_a_longer_delay() -> None:
    scenario = Scenario(10.0, 40.0, 1.0, "drop-tail", False, 0.01, ((Transfer(0, 90_000, "cubic"),),), 7)
    runs = [simulate(one.compile(), 7) for one in (scenario, scenario, replace(scenario, rtt_ms=41.0))]
    assert compare(runs[0], runs[1]).is_same
    assert max(packet.ack for packet in runs[0] if not packet.sent) >= 90_000
    assert compare(runs[0], runs[2]).kind == "the same sent at another time"


def test_a_fin_acknowledged_with_the_receivers_own_counts_once() -> None:
    import pyarrow as pa

    def table(flags: list[int]) -> pa.Table:
        rows = len(flags)
        return pa.table(
            {
                "time_ns": range(rows),
                "event": ["ack"] * rows,
                "connection": [0] * rows,
                "sent": [False] * rows,
                "seq": [0] * rows,
                "len": [0] * rows,
                "ack": [1001] * rows,
                "flags": flags,
                "window_bytes": [1] * rows,
                "sack": [[]] * rows,
            }
        )

    connections = pa.table({"connection": [0], "traffic": [0]})
    assert [p.key for p in packets_of(table([16, 17]), connections)] == [
        p.key for p in packets_of(table([17]), connections)
    ]


def test_the_page_counts_what_agrees_and_names_what_does_not() -> None:
    rows = [
        Row(0, "A", "same", None, 10, 10, True, 0.0),
        Row(1, "B", "the kernel sends first", 0.25, 5, 10, False, 0.02),
        Row(2, "C", "failed", None, 0, 0, False, 0.0, "no guest"),
    ]
    text = page(rows, ("the simulator", "Linux 6.12"))
    assert "| 1 of 2 | the same packets" in text and "| 1 | failed |" in text
    assert "| 1 | B | the kernel sends first | 0.250 s | 5 of 10 |" in text
    assert "A" not in text.partition("first difference")[2]


def test_a_listing_shows_both_sides_from_the_difference_on() -> None:
    ours, theirs = [sent(1, 0), acked(11, 1)], [sent(1, 0), acked(10, 1)]
    lines = listing(compare(ours, theirs), ("the simulator", "Linux")).splitlines()
    assert lines[1:] == [
        "0.001000 > . 0:1000(1000) ack 0 win 65535",
        "# the simulator:",
        "0.011000 < . 0:0(0) ack 1000 win 65535",
        "# Linux:",
        "0.010000 < . 0:0(0) ack 1000 win 65535",
    ]
