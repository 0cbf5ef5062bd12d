"""Both ends of several connections in one table: each record counts for its own end of its own connection."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.records.window import RunView

S = 1_000_000_000
#: Connections 0 to 4: the first two of "a", of which one sends up and one sends down; the others of "b".
CONNECTIONS: Mapping[str, Any] = {
    "connection": np.array([0, 1, 2, 3, 4]),
    "traffic": np.array([0, 0, 1, 1, 1]),
    "start_ns": np.array([0, 0, 2 * S, 0, 0]),
    "end_ns": np.array([-1, -1, 8 * S, -1, 3 * S]),
    "bytes_up": np.array([9000, 100, 5000, 0, 700]),
    "bytes_down": np.array([100, 9000, 5000, 800, 0]),
    "retransmits": np.array([4, 9, 1, 0, 16]),
    "drops": np.array([2, 3, 0, 1, 4]),
}


class Run:
    """A whole run of 10 s of these tables."""

    scenario: Mapping[str, Any] = {
        "duration_ns": 10 * S,
        "traffic": [{"app": {"kind": "bulk"}}] * 2,
    }

    def __init__(self, **tables: Mapping[str, Any]) -> None:
        self.tables = {"connections": CONNECTIONS, **tables}

    def columns(self, table: str) -> Mapping[str, Any]:
        return self.tables[table]

    def traffic(self, name: str | None = None) -> list[int]:
        return {None: [0, 1], "a": [0], "b": [1]}.get(name, [])

    def link(self, name: str | None = None) -> int:
        return 0


def measure(name: str, run: Run, **options: Any) -> Any:
    view: Any = RunView(run, 0, 10 * S)  # type: ignore[arg-type]
    found = metrics.get(name).measure(view, **options)
    return found.tolist() if isinstance(found, np.ndarray) else found


def windows(rows: list[tuple[float, int, bool, int, str, float]]) -> dict[str, Any]:
    """Rows of (second, connection, from client, window, state, smoothed round trip in s)."""
    return {
        "time_ns": np.array([round(row[0] * S) for row in rows]),
        "connection": np.array([row[1] for row in rows]),
        "from_client": np.array([row[2] for row in rows]),
        "cwnd_bytes": np.array([row[3] for row in rows]),
        "state": np.array([row[4] for row in rows], dtype=object),
        "srtt_ns": np.array([round(row[5] * S) for row in rows]),
    }


#: Connection k has the window 1000 (k + 1) at the client, and 100 times that at the server.
EACH_END = windows(
    [
        (1.0 + k / 10, k, client, 1000 * (k + 1) * (1 if client else 100), "open", 0.1 * (k + 1 + 5 * client))
        for k in range(5)
        for client in (True, False)
    ]
)


def test_the_largest_window_is_that_of_the_end_that_sends_more() -> None:
    """Of "a", the client of connection 0 and the server of 1; of "b", the clients of 2 and 4, 3's server."""
    run = Run(cwnd=EACH_END)
    assert measure("largest_window", run, traffic="a", segment_bytes=1000) == 200.0
    assert measure("largest_window", run, traffic="b", segment_bytes=1000) == 400.0
    assert measure("largest_window", run, traffic="b", segment_bytes=500) == 800.0
    assert measure("largest_window", run, traffic="b") == pytest.approx(400_000 / 1448)
    assert math.isnan(measure("largest_window", run, traffic="none"))


def test_the_round_trip_is_that_of_the_end_that_sends_more() -> None:
    run = Run(cwnd=EACH_END)
    assert measure("round_trip", run, traffic="a") == pytest.approx((0.6 + 0.2) / 2)
    assert measure("round_trip", run, traffic="b") == pytest.approx((0.8 + 0.4 + 1.0) / 3)


def rising(connection: int, client: bool, peaks: int) -> list[tuple[float, int, bool, int, str, float]]:
    """A window with this number of peaks, a step every 20 ms."""
    sizes = [size for _ in range(peaks) for size in (1000, 2000)] + [1000]
    return [(0.1 + 0.02 * k, connection, client, size, "open", 0.1) for k, size in enumerate(sizes)]


def test_window_halvings_are_those_of_the_end_that_sends_more() -> None:
    rows = [
        row
        for k in range(5)
        for client, peaks in ((True, k + 1), (False, 10 * (k + 1)))
        for row in rising(k, client, peaks)
    ]
    run = Run(cwnd=windows(sorted(rows)))
    assert measure("window_halvings", run, traffic="a") == 1 + 20
    assert measure("window_halvings", run, traffic="b") == 3 + 40 + 5
    # Read every 40 ms, each second step is seen.
    assert measure("window_halvings", run, traffic="a", sampling=0.04) == 0


def reductions(*events: tuple[float, int, bool, str]) -> Run:
    """Each end begins in the state "open" at time 0."""
    ends = [(0.0, k, client, "open") for k in range(5) for client in (True, False)]
    return Run(cwnd=windows([(*row[:3], 1000, row[3], 0.1) for row in [*ends, *events]]))


@pytest.mark.parametrize(
    ("events", "share"),
    [
        # Both ends of connection 1 count once; connections 0, 1 and 3 are open at 9 s.
        ([(9.0, 1, True, "cwr"), (9.0, 1, False, "loss")], 1 / 3),
        ([(9.0, 1, True, "cwr"), (9.0, 0, False, "recovery")], 2 / 3),
        # From 2 s to 3 s, all five are open.
        ([(2.5, 3, True, "loss"), (2.55, 4, False, "cwr"), (2.6, 2, True, "cwr")], 3 / 5),
        ([(2.5, 3, True, "loss"), (2.61, 4, False, "cwr")], 1 / 5),
        # From one reduced state into another is no further reduction; from "disorder" it is one.
        ([(4.0, 0, True, "cwr"), (5.0, 0, True, "recovery"), (6.0, 1, True, "disorder")], 1 / 4),
        ([(4.0, 0, True, "disorder"), (5.0, 0, True, "recovery")], 1 / 4),
        # A reduction when the last one has just ended and one that follows in the same event.
        ([(8.0, 0, True, "cwr"), (8.0, 2, True, "cwr"), (9.5, 3, True, "cwr")], (2 / 4 + 1 / 3) / 2),
    ],
)
def test_connections_that_reduce_at_either_end_within_the_span_are_one_event(
    events: list[tuple[float, int, bool, str]], share: float
) -> None:
    assert measure("synchronization", reductions(*events), span=0.1) == pytest.approx(share)


def test_without_a_reduction_among_two_open_connections_there_is_no_synchronization() -> None:
    assert math.isnan(measure("synchronization", reductions(), span=0.1))
    alone = reductions((9.5, 3, True, "cwr"))
    assert math.isnan(measure("synchronization", alone, traffic=["b"], span=0.1))
    assert measure("synchronization", alone, traffic=["a", "b"], span=0.1) == pytest.approx(1 / 3)


def naive_delays(table: Mapping[str, Any], connections: list[int]) -> dict[tuple[int, bool], list[float]]:
    found: dict[tuple[int, bool], list[float]] = {}
    for k in range(len(table["len"])):
        if table["len"][k] > 0 and table["connection"][k] in connections:
            at = int(table["connection"][k]), bool(table["from_client"][k])
            found.setdefault(at, []).append(table["delay_ns"][k] / 1e9)
    return found


def test_delays_vary_within_one_direction_of_one_connection() -> None:
    rng = np.random.default_rng(4)
    table = {
        "connection": rng.integers(0, 5, 200),
        "from_client": rng.random(200) < 0.5,
        "len": rng.choice([0, 1, 1448], 200),
        "delay_ns": rng.integers(1, 10**9, 200),
        "time_ns": np.sort(rng.integers(0, 10 * S, 200)),
    }
    run = Run(delays=table)
    for traffic, connections in (("a", [0, 1]), ("b", [2, 3, 4]), (None, [0, 1, 2, 3, 4])):
        by_flow = naive_delays(table, connections)
        every = sorted(delay for delays in by_flow.values() for delay in delays)
        assert sorted(measure("one_way_delay", run, traffic=traffic)) == pytest.approx(every)
        pdv = sorted(d - min(delays) for delays in by_flow.values() for d in delays)
        assert sorted(measure("delay_variation", run, traffic=traffic)) == pytest.approx(pdv)
        ipdv = sorted(abs(b - a) for delays in by_flow.values() for a, b in itertools.pairwise(delays))
        found = measure("delay_variation", run, traffic=traffic, form="ipdv")
        assert sorted(found) == pytest.approx(ipdv)
    assert measure("one_way_delay", run, traffic="none") == []


def acks(rows: list[tuple[int, bool, int, int]]) -> dict[str, Any]:
    """Rows of (connection, from client, acknowledged, payload), all of them duplicates."""
    return {
        "time_ns": np.arange(len(rows)),
        "connection": np.array([row[0] for row in rows]),
        "from_client": np.array([row[1] for row in rows]),
        "event": np.array(["dupack"] * len(rows), dtype=object),
        "ack": np.array([row[2] for row in rows]),
        "len": np.array([row[3] for row in rows]),
    }


def test_duplicates_of_one_number_are_those_of_one_end_of_one_connection() -> None:
    thrice = [(k, client, 100, 0) for k in range(4) for client in (True, False) for _ in range(3)]
    run = Run(segments=acks(thrice))
    assert measure("triple_duplicate_acks", run) == 8
    assert measure("triple_duplicate_acks", run, traffic="a") == 4
    spread = [(k, client, 100, 0) for k in range(4) for client in (True, False) for _ in range(2)]
    assert measure("triple_duplicate_acks", Run(segments=acks(spread))) == 0
    more = [(2, True, 100, 0)] * 4 + [(2, True, 200, 0)] * 3 + [(2, True, 300, 10)] * 3
    assert measure("triple_duplicate_acks", Run(segments=acks(more))) == 2


def drops(connection: int, client: bool, rows: list[tuple[float, str, int]]) -> list[tuple[Any, ...]]:
    """Rows of (second, "drop", "pure" or "ack", offset); acknowledgments come from the other end."""
    return [
        (at, connection, client if event != "ack" else not client, event, offset)
        for at, event, offset in rows
    ]


def segments(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    rows = sorted(rows, key=lambda row: row[0])
    acked = np.array([row[3] == "ack" for row in rows])
    offset = np.array([row[4] for row in rows])
    return {
        "time_ns": np.array([round(row[0] * S) for row in rows]),
        "connection": np.array([row[1] for row in rows]),
        "from_client": np.array([row[2] for row in rows]),
        "event": np.array(["drop" if row[3] == "pure" else row[3] for row in rows], dtype=object),
        "seq": np.where(acked, 0, offset),
        "ack": np.where(acked, offset, 0),
        "len": np.array([100 if row[3] == "drop" else 0 for row in rows]),
    }


def test_each_window_has_its_own_drops() -> None:
    first = [(1.0, "drop", 100), (2.0, "ack", 200)]  # one packet, covered by the acknowledgment of 200
    second = [
        (3.0, "drop", 300),
        (3.1, "drop", 400),
        (3.2, "pure", 500),
        (4.0, "ack", 300),
        (5.0, "ack", 900),
    ]
    third = [(6.0, "drop", 900), (6.1, "drop", 1000), (6.2, "drop", 1100), (6.3, "drop", 1000)]
    for client in (True, False):
        run = Run(segments=segments(drops(1, client, first + second + third)))
        found = [measure("windows_with_drops", run, traffic="a", at_least=n) for n in (1, 2, 3, 4)]
        assert found == [3, 2, 1, 0]
        assert measure("windows_with_drops", run, traffic="a") == 3
        assert measure("windows_with_drops", run, traffic="a", at_least=2, share=True) == pytest.approx(2 / 3)


def test_a_window_lasts_until_the_dropped_packet_itself_is_acknowledged() -> None:
    """An acknowledgment of everything before it does not end the window, nor one of another connection."""
    rows = [(1.0, "drop", 100), (1.5, "ack", 100), (2.0, "drop", 200), (2.5, "ack", 101), (2.5, "drop", 300)]
    both = drops(0, True, rows) + drops(1, True, [(1.2, "ack", 900)])
    run = Run(segments=segments(both))
    assert [measure("windows_with_drops", run, at_least=n) for n in (1, 2)] == [2, 1]


def test_mathis_constant_is_fitted_over_connections_by_each_kind_of_event() -> None:
    """C = sum x y / sum x^2, x = 8 s / (r sqrt p), for the connections that had an event."""
    rows = [(0.5, k, client, 1000, "open", 0.1 * (k + 1)) for k in (2, 3, 4) for client in (True, False)]
    run = Run(cwnd=windows(rows))
    payload = np.array([10_000.0, 800.0, 700.0])
    again = np.array([1.0, 0.0, 16.0])
    trips = np.array([0.3, 0.4, 0.5])
    sent = payload / 100 + again

    def fitted(events: np.ndarray) -> float:
        some = events > 0
        x = 8 * 100 / (trips[some] * np.sqrt(events[some] / sent[some]))
        return float(np.sum(x * 8 * payload[some] / 10) / np.sum(x**2))

    options = {"traffic": "b", "segment_bytes": 100}
    assert measure("mathis_constant", run, by="losses", **options) == pytest.approx(fitted(again))
    shared = sent * 5 / sent.sum()
    assert measure("mathis_constant", run, by="drops", **options) == pytest.approx(fitted(shared))
    assert math.isnan(measure("mathis_constant", run, by="halvings", **options))
    assert math.isnan(measure("mathis_constant", run, traffic="none", by="losses"))
