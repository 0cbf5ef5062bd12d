"""Metrics of flows that compete, on records small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cwndlab import metrics
from cwndlab.records.window import RunView

S = 1_000_000_000


class Run:
    """A run of 120 s with a warm-up of 20 s; entries 0 and 1 are "background", 2 is "ecn", 3 is "plain"."""

    scenario: Mapping[str, Any] = {
        "duration_ns": 120 * S,
        "windows": {"measured": (20 * S, 120 * S)},
        "traffic": [{"app": {"kind": "bulk"}}] * 4,
    }

    def __init__(self, **tables: Mapping[str, Any]) -> None:
        self.tables = tables

    def table(self, name: str) -> pa.Table:
        return pa.table(dict(self.tables[name]))

    def columns(self, table: str) -> Mapping[str, Any]:
        return self.tables[table]

    def traffic(self, name: str | None = None) -> list[int]:
        return {None: [0, 1, 2, 3], "background": [0, 1], "ecn": [2], "plain": [3]}.get(name, [])

    def link(self, name: str | None = None) -> int:
        return 1


#: Connection 1 ended within the warm-up; 0 and 2 were under way when it was over, 3 and 4 were opened later.
CONNECTIONS = {
    "connection": np.array([1, 0, 2, 3, 4]),
    "traffic": np.array([0, 0, 1, 2, 3]),
    "start_ns": np.array([0, 0, 0, 20 * S, 20 * S]),
    "end_ns": np.array([10 * S, -1, -1, 110 * S, -1]),
    "bytes_up": np.array([0, 0, 0, 0, 0]),
    "bytes_down": np.array([999, 500, 400, 200, 400]),
    "marks": np.array([9, 0, 0, 7, 0]),
    "drops": np.array([9, 6, 5, 1, 4]),
    "segments_sent": np.array([90, 60, 50, 10, 40]),
}
BEFORE = {
    "time_ns": np.array([20 * S, 20 * S]),
    "connection": np.array([0, 2]),
    "traffic": np.array([0, 1]),
    "bytes_up": np.array([0, 0]),
    "bytes_down": np.array([100, 0]),
    "marks": np.array([0, 0]),
    "drops": np.array([2, 5]),
    "segments_sent": np.array([10, 50]),
}


def run(start_s: int = 20, **tables: Mapping[str, Any]) -> RunView:
    full = Run(connections=CONNECTIONS, connection_snapshots=BEFORE, **tables)
    return RunView(full, start_s * S, 120 * S)


def measure(name: str, view: RunView, **options: Any) -> Any:
    found = metrics.get(name).measure(view, **options)
    return found.tolist() if isinstance(found, np.ndarray) else found


def test_the_index_is_of_what_was_delivered_after_the_warm_up() -> None:
    """400, 400, 200, 400: (1400)^2 / (4 * 520000)."""
    assert measure("jain_index", run()) == pytest.approx(1400**2 / (4 * 520_000))
    assert measure("jain_index", run(), traffic=["background", "plain"]) == pytest.approx(1.0)


def test_the_index_without_a_warm_up_is_of_the_whole_run() -> None:
    view = run(start_s=0)
    x = CONNECTIONS["bytes_down"].astype(float)
    assert measure("jain_index", view) == pytest.approx(x.sum() ** 2 / (5 * (x**2).sum()))


def test_signals_of_the_warm_up_are_left_out() -> None:
    assert measure("congestion_signals", run(), traffic=["background"], signal="drops") == 4
    assert measure("congestion_signals", run(), traffic=["ecn", "plain"]) == 7 + 1 + 4
    assert measure("congestion_signals", run(), traffic=["plain"], per_megabyte=True) == 4 / 400e-6
    assert math.isnan(measure("congestion_signals", run(), traffic=["nobody"]))


def test_the_share_is_of_what_all_delivered_in_the_window() -> None:
    assert measure("share", run(), traffic="background") == pytest.approx(800 / 1400)
    assert measure("share", run(), traffic="plain") == pytest.approx(400 / 1400)
    assert math.isnan(measure("share", run(), traffic="nobody"))


def test_the_loss_rate_is_drops_per_segment_sent_in_the_window() -> None:
    assert measure("loss_rate", run(), traffic="background") == pytest.approx(4 / 50)
    assert measure("loss_rate", run()) == pytest.approx((4 + 0 + 1 + 4) / (50 + 0 + 10 + 40))
    assert math.isnan(measure("loss_rate", run(), traffic="nobody"))


FILES = {
    "traffic": np.array([2, 3]),
    "kind": np.array(["file", "file"], dtype=object),
    "start_ns": np.array([20 * S, 20 * S]),
    "end_ns": np.array([100.0 * S, np.nan]),
    "bytes": np.array([200, 0]),
    "finished": np.array([True, False]),
    "connections": np.ones(2),
    "retransmits": np.zeros(2),
    "timeouts": np.zeros(2),
}


def test_a_transfer_that_the_end_cuts_short_counts_with_what_it_delivered() -> None:
    view = run(objects=FILES)
    assert measure("flow_throughput", view, traffic="ecn") == pytest.approx(8 * 200 / 80)
    assert measure("flow_throughput", view, traffic="plain") == pytest.approx(8 * 400 / 100)
    assert math.isnan(measure("flow_throughput", view, traffic="nobody"))


def test_a_flow_that_was_under_way_when_the_window_began_counts_from_then_on() -> None:
    # From 20 s, not from 0: connection 0 delivered 400 bytes in 100 s, connection 2 the same in 60 s.
    rows = {**CONNECTIONS, "end_ns": np.array([10 * S, -1, 80 * S, 110 * S, -1])}
    before = {**BEFORE, "bytes_down": np.array([100, 0])}
    view = RunView(Run(connections=rows, connection_snapshots=before, objects=FILES), 20 * S, 120 * S)
    wanted = (8 * 400 / 100 + 8 * 400 / 60) / 2
    assert measure("flow_throughput", view, traffic="background") == pytest.approx(wanted)


def test_the_retransmission_rate_is_segments_sent_again_per_segment_sent() -> None:
    rows = {**CONNECTIONS, "retransmits": np.array([9, 6, 4, 1, 2])}
    before = {**BEFORE, "retransmits": np.array([1, 4])}
    view = RunView(Run(connections=rows, connection_snapshots=before), 20 * S, 120 * S)
    assert measure("retransmission_rate", view, traffic="background") == pytest.approx(5 / 50)
    assert measure("retransmission_rate", view) == pytest.approx((5 + 0 + 1 + 2) / (50 + 0 + 10 + 40))


class Steps(Run):
    """Two connections of "background" from 0 s on, counted every 10 s; the second ends at 35 s."""

    scenario: Mapping[str, Any] = {
        "duration_ns": 50 * S,
        "windows": {"measured": (10 * S, 50 * S), "a": (10 * S, 20 * S), "b": (30 * S, 40 * S)},
    }


def steps() -> RunView:
    # Bytes at 10, 20, 30, 40, 50 s: 100, 300, 400, 400, 600 and 0, 50, 75.
    ends = {"connection": np.array([0, 1]), "traffic": np.array([0, 1]), "start_ns": np.array([0, 0])}
    ends |= {"end_ns": np.array([-1, 35 * S]), "bytes_up": np.array([600, 90]), "bytes_down": np.zeros(2)}
    ends |= {"established_ns": np.array([1, 1]), "failed": np.array([False, False])}
    at = [(10, 0, 100), (10, 1, 0), (20, 0, 300), (20, 1, 50), (30, 0, 400), (30, 1, 75), (40, 0, 400)]
    kept = {"time_ns": np.array([t * S for t, _, _ in at]), "connection": np.array([c for _, c, _ in at])}
    kept |= {"traffic": kept["connection"], "bytes_up": np.array([b for _, _, b in at])}
    kept |= {"bytes_down": np.zeros(len(at))}
    return RunView(Steps(connections=ends, connection_snapshots=kept), 10 * S, 50 * S)


def test_rates_over_intervals_give_their_variation_the_largest_cut_and_a_series() -> None:
    """200, 100, 0, 200 bytes in intervals of 10 s, and 50, 25 of the connection that ended in the third."""
    first, second = np.array([200, 100, 0, 200]), np.array([50, 25])
    wanted = (np.std(first) / np.mean(first) + np.std(second) / np.mean(second)) / 2
    options = {"traffic": "background", "interval": 10.0}
    assert wanted == pytest.approx((math.sqrt(6875) / 125 + 12.5 / 37.5) / 2)
    assert measure("rate_variation", steps(), **options) == pytest.approx(wanted)
    assert measure("largest_rate_cut", steps(), **options) == pytest.approx((1.0 + 0.5) / 2)
    series = measure("goodput_series", steps(), **options)
    assert series == pytest.approx([8 * 25, 8 * 12.5, 8 * 1.5, 8 * 20])
    assert math.isnan(measure("rate_variation", steps(), traffic="ecn", interval=10.0))


def test_the_largest_rise_and_the_variation_at_longer_scales_are_of_the_same_rates() -> None:
    options = {"traffic": "background", "interval": 10.0}
    assert measure("largest_rate_rise", steps(), **options) == pytest.approx((8 * 20 + 0) / 2)
    # Twice as long: 150 and 100 bytes in 10 s; the second connection has one interval of that length.
    scales = measure("rate_variation_scales", steps(), **options)
    assert scales == pytest.approx([measure("rate_variation", steps(), **options), 25 / 125])
    assert measure("rate_variation_scales", steps(), traffic="ecn", interval=10.0) == []


def test_the_halving_time_ends_with_the_first_interval_at_half_the_rate_before() -> None:
    """Together 250, 125, 15, 200 bytes in 10 s from 10 s on."""
    options = {"traffic": "background", "interval": 10.0}
    assert measure("halving_time", steps(), since=20.0, **options) == pytest.approx(10)  # 125 of 250
    assert measure("halving_time", steps(), since=30.0, **options) == pytest.approx(10)  # 15 of 187.5
    assert math.isnan(measure("halving_time", steps(), since=40.0, **options))  # 200 of 130
    assert math.isnan(measure("halving_time", steps(), since=10.0, **options))  # nothing before


def test_connections_have_converged_when_each_has_nearly_its_share() -> None:
    """200 and 50, then 100 and 25: 80 % and 20 % of what both deliver, from 10 s on."""
    options = {"traffic": ["background"], "interval": 10.0}
    assert measure("convergence_time", steps(), delta=0.61, **options) == pytest.approx(10)
    assert math.isnan(measure("convergence_time", steps(), delta=0.59, **options))
    assert math.isnan(measure("convergence_time", steps(), traffic=["ecn"], interval=10.0))


def windows(*rows: tuple[float, int, str]) -> RunView:
    cwnd = {"time_ns": np.array([round(t * S) for t, _, _ in rows])}
    cwnd |= {"connection": np.array([c for _, c, _ in rows]), "from_client": np.full(len(rows), True)}
    cwnd |= {"state": np.array([state for _, _, state in rows], dtype=object)}
    ends = {
        "connection": np.arange(4),
        "traffic": np.array([0, 1, 2, 3]),
        "start_ns": np.array([0, 0, 0, 50 * S]),
    }
    ends |= {"end_ns": np.array([-1, -1, 40 * S, -1])}
    return RunView(Run(connections=ends, cwnd=cwnd), 0, 120 * S)


def test_synchronization_is_the_share_of_open_connections_that_reduce_together() -> None:
    """Two of three reduce at 10 s, all three at 30 s, one of three at 60 s, when another has ended."""
    view = windows(
        *((0.0, c, "open") for c in range(3)),
        *((10.0, 0, "recovery"), (10.05, 0, "recovery"), (10.08, 1, "recovery"), (10.5, 0, "open")),
        *((11.0, 1, "open"), (30.0, 2, "cwr"), (30.01, 0, "loss"), (30.02, 1, "disorder")),
        *((30.03, 1, "recovery"), (31.0, 0, "open"), (31.0, 1, "open"), (50.0, 3, "open"), (60.0, 3, "loss")),
    )
    assert measure("synchronization", view, span=0.1) == pytest.approx((2 / 3 + 1 + 1 / 3) / 3)
    assert measure("synchronization", view, span=0.05) == pytest.approx((1 / 3 + 1 / 3 + 1 + 1 / 3) / 4)
    assert math.isnan(measure("synchronization", view, traffic=["plain"], span=0.1))


def test_a_connection_whose_first_state_is_reduced_has_not_entered_a_reduction() -> None:
    """Its sender was in recovery when the window began; the state of another sender comes before its own."""
    view = windows(
        *((0.0, 0, "open"), (5.0, 1, "recovery"), (9.0, 1, "open")),
        *((10.0, 0, "cwr"), (10.01, 1, "cwr"), (11.0, 0, "open"), (11.0, 1, "open")),
    )
    assert measure("synchronization", view, span=0.1) == pytest.approx(2 / 3)


def test_completion_times_are_of_finished_transfers_of_one_class_of_sizes() -> None:
    sizes = {**FILES, "traffic": np.array([2, 2, 3, 3]), "kind": np.array(["file"] * 4, dtype=object)}
    sizes |= {"start_ns": np.full(4, 20 * S), "end_ns": np.array([21.0, 22.0, 23.0, np.nan]) * S}
    sizes |= {"bytes": np.array([100, 200, 300, 0]), "finished": np.array([True, True, True, False])}
    sizes |= {name: np.zeros(4) for name in ("connections", "retransmits", "timeouts")}
    view = run(objects=sizes)
    assert measure("completion_time", view) == [1.0, 2.0, 3.0]
    assert measure("completion_time", view, below=200) == [1.0]
    assert measure("completion_time", view, at_least=200) == [2.0, 3.0]
    assert measure("completion_time", view, traffic="ecn", at_least=150) == [2.0]
    empty = run(objects={**sizes, "bytes": np.array([0, 1, 2, 0])})
    assert measure("completion_time", empty) == [1.0, 2.0, 3.0]
    assert measure("completion_time", empty, at_least=1) == [2.0, 3.0]
    assert measure("completion_time", empty, below=1) == [1.0]
    assert measure("completion_time", empty, below=0) == []


TRANSACTIONS = {
    **FILES,
    "kind": np.array(["transaction"] * 4, dtype=object),
    "traffic": np.array([2, 2, 2, 3]),
    "start_ns": np.array([10.0, 30.0, 50.0, 60.0]) * S,
    "end_ns": np.array([30.0, 50.0, np.nan, 61.0]) * S,
    "bytes": np.array([5, 5, 0, 5]),
    "finished": np.array([True, True, False, True]),
    "connections": np.ones(4),
    "retransmits": np.array([9, 1, 0, 0]),
    "timeouts": np.array([9, 1, 0, 0]),
}


def test_transactions_of_the_window_count_once_they_are_complete() -> None:
    view = run(objects=TRANSACTIONS)
    assert measure("transaction_rate", view, traffic="ecn") == pytest.approx(1 / 100)
    assert measure("timeout_share", view, traffic="ecn") == pytest.approx(0.5)
    assert measure("timeout_share", view, traffic="plain") == 0.0
    assert measure("timeout_share", view, traffic="ecn", of="resent") == 1.0
    assert math.isnan(measure("timeout_share", view, traffic="plain", of="resent"))
    assert math.isnan(measure("transaction_rate", view, traffic="nobody"))


def red(below: int, between: int, above: int) -> dict[str, Any]:
    return {
        "time_ns": np.array([20 * S, 20 * S]),
        "link": np.array([0, 1]),
        "red_below_ns": np.array([-1, below]),
        "red_between_ns": np.array([-1, between]),
        "red_above_ns": np.array([-1, above]),
    }


def test_the_red_region_is_a_share_of_the_window() -> None:
    view = run(links=red(30, 80, 10), link_snapshots=red(20, 0, 0))
    assert measure("red_region", view) == pytest.approx(0.8)
    assert measure("red_region", view, region="below") == pytest.approx(0.1)


def test_a_queue_without_an_average_has_no_region() -> None:
    assert math.isnan(measure("red_region", run(links=red(-1, -1, -1), link_snapshots=red(-1, -1, -1))))


def test_an_ack_number_repeated_three_times_counts_once_as_tcptrace_counts_it() -> None:
    """ACK 100 comes 6 times, 200 thrice, 300 four times, once with data; another connection repeats 100."""
    acks = [100] * 6 + [200] * 3 + [300] * 4 + [100] * 3
    repeats = ["ack", *["dupack"] * 5, "ack", *["dupack"] * 2, "ack", *["dupack"] * 3, "ack", *["dupack"] * 2]
    segments = {
        "time_ns": np.arange(16) + 30 * S,
        "connection": np.array([3] * 13 + [4] * 3),
        "from_client": np.ones(16, dtype=bool),
        "event": np.array(repeats),
        "ack": np.array(acks),
        "len": np.array([0] * 12 + [10] + [0] * 3),
    }
    view = run(segments=segments)
    assert measure("triple_duplicate_acks", view, traffic="ecn") == 1
    assert measure("triple_duplicate_acks", view) == 1
    # a kernel records no segments without an observation point
    assert math.isnan(measure("triple_duplicate_acks", run(), traffic="nobody"))


#: Seconds, event and offset; of "ack" and "dupack" what they acknowledge. The first loss is of 100; 300 and
#: 500 are dropped before an acknowledgment covers it, 300 twice. 700 is dropped after it.
DROPS = [
    (30.0, "drop", 100),
    (30.1, "drop", 300),
    (30.2, "dupack", 100),
    (30.3, "drop", 500),
    (30.5, "drop", 300),
    (31.0, "ack", 300),
    (31.1, "drop", 300),
    (31.5, "ack", 700),
    (40.0, "drop", 700),
    (41.0, "ack", 800),
]


def packets(rows: list[tuple[float, str, int]], connection: int) -> dict[str, Any]:
    acks = np.array([event in ("ack", "dupack") for _, event, _ in rows])
    at = np.array([number for *_, number in rows])
    return {
        "time_ns": np.array([round(time * S) for time, *_ in rows]),
        "connection": np.full(len(rows), connection),
        "from_client": acks,
        "event": np.array([event for _, event, _ in rows]),
        "seq": np.where(acks, 0, at),
        "ack": np.where(acks, at, 0),
        "len": np.where(acks, 0, 100),
    }


def test_drops_are_of_one_window_until_the_first_of_them_is_acknowledged() -> None:
    """Windows of three, one and one packets: one dropped again counts once, or begins the next window."""
    view = run(segments=packets(DROPS, 4))
    found = {n: measure("windows_with_drops", view, traffic="plain", at_least=n) for n in (1, 2, 3, 4)}
    assert found == {1: 3, 2: 1, 3: 1, 4: 0}
    assert measure("windows_with_drops", view, traffic="plain", at_least=2, share=True) == pytest.approx(
        1 / 3
    )


def test_windows_are_those_of_connections_that_the_observation_point_sees() -> None:
    unseen = [row for row in DROPS if row[1] == "drop"]
    view = run(segments=packets(unseen, 4))
    assert measure("windows_with_drops", view, traffic="plain") == 0
    assert math.isnan(measure("windows_with_drops", view, traffic="plain", share=True))
    assert measure("windows_with_drops", run(segments=packets(DROPS, 4)), traffic="ecn") == 0
    assert math.isnan(measure("windows_with_drops", run(), traffic="nobody"))


def test_a_timer_that_expired_ran_since_the_last_ack_or_retransmission() -> None:
    """The first timeout is that of 33 s, 2 s after an ACK; the second doubles, from the retransmission on."""
    rows = [
        (30.5, "ack", 1),
        (31.0, "ack", 2),
        (31.5, "dupack", 2),
        (33.0, "retransmit", 3),
        (37.0, "retransmit", 3),
    ]
    segments = {
        "time_ns": np.array([round(time * S) for time, *_ in rows]),
        "connection": np.zeros(5, dtype=np.int64),
        "event": np.array([event for _, event, _ in rows]),
        "segment": np.array([number for *_, number in rows]),
        "len": np.array([0, 0, 0, 100, 100]),
        "timeout": np.array([False, False, False, True, True]),
    }
    view = run(segments=segments)
    assert [measure("timeout_wait", view, nth=n) for n in (1, 2)] == pytest.approx([2.0, 4.0])
    assert math.isnan(measure("timeout_wait", view, nth=3))


def test_a_queues_length_and_reds_average_are_its_samples() -> None:
    queues = {
        "time_ns": np.array([30, 30, 40, 50]) * S,
        "link": np.array([1, 0, 1, 1]),
        "packets": np.array([3, 99, 5, 7]),
        "average": np.array([2.5, math.nan, 3.5, 4.5]),
    }
    assert measure("queue_length", run(queues=queues)) == [3, 5, 7]
    assert measure("queue_length", run(queues=queues), of="average") == [2.5, 3.5, 4.5]


def test_the_indicator_of_retransmissions_is_one_or_zero() -> None:
    connections = {**CONNECTIONS, "retransmits": np.array([0, 0, 4, 0, 2])}
    before = {**BEFORE, "retransmits": np.array([0, 4])}
    view = RunView(Run(connections=connections, connection_snapshots=before), 20 * S, 120 * S)
    found = [
        measure("retransmits", view, traffic=name, indicator=True) for name in ("background", "ecn", "plain")
    ]
    assert found == [0, 0, 1]
    assert measure("retransmits", view, traffic="plain") == 2


def test_a_retransmission_is_found_by_its_number_packet_and_connection() -> None:
    rows = [(30, "retransmit", 3, 0), (31, "send", 4, 0), (32, "retransmit", 5, 0)]
    rows += [(33, "retransmit", 3, 0), (34, "retransmit", 3, 1)]
    segments = {
        "time_ns": np.array([time * S for time, *_ in rows]),
        "event": np.array([event for _, event, *_ in rows]),
        "segment": np.array([packet for *_, packet, _ in rows]),
        "connection": np.array([connection for *_, connection in rows]),
        "len": np.full(5, 100),
        "timeout": np.zeros(5, dtype=bool),
    }
    view = run(segments=segments)
    assert [measure("retransmission_time", view, nth=n) for n in (1, 2, 3)] == pytest.approx([30, 32, 33])
    assert [measure("retransmission_time", view, nth=n, packet=3) for n in (1, 2)] == pytest.approx([30, 33])
    assert measure("retransmission_time", view, connection=1) == pytest.approx(34)
    assert math.isnan(measure("retransmission_time", view, nth=4))
    assert math.isnan(measure("retransmission_time", view, nth=2, connection=1))
    assert measure("retransmission_times", view) == pytest.approx([30, 32, 33])


def test_connections_are_counted_from_the_start_of_the_window_and_failed_ones_apart() -> None:
    connections = {**CONNECTIONS, "failed": np.array([True, True, False, False, True])}
    view = RunView(Run(connections=connections, connection_snapshots=BEFORE), 20 * S, 120 * S)
    opened = {name: measure("connections", view, traffic=name) for name in (None, "background", "ecn")}
    assert opened == {None: 2, "background": 0, "ecn": 1}
    failed = [measure("connections", view, traffic=name, failed=True) for name in (None, "ecn", "plain")]
    assert failed == [1, 0, 1]
