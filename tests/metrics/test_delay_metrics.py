"""Metrics of delay, on records small enough to check by hand."""

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
    """A run of 10 s with a warm-up of 2 s; entry 0 is "first", 1 is "second"; link 1 has 10 Mb/s."""

    scenario: Mapping[str, Any] = {
        "links": [{"rate_bps": 10**9}, {"rate_bps": 10**7}],
        "duration_ns": 10 * S,
        "windows": {"measured": (2 * S, 10 * S)},
    }

    def __init__(self, **tables: Mapping[str, Any]) -> None:
        self.tables = tables

    def table(self, name: str) -> pa.Table:
        return pa.table(dict(self.tables[name]))

    def columns(self, table: str) -> Mapping[str, Any]:
        return self.tables[table]

    def traffic(self, name: str | None = None) -> list[int]:
        return {None: [0, 1], "first": [0], "second": [1]}.get(name, [])

    def link(self, name: str | None = None) -> int:
        return 1


def late(**tables: Mapping[str, Any]) -> RunView:
    """The run after its warm-up."""
    return RunView(Run(**tables), 2 * S, 10 * S)


BEFORE = {
    "time_ns": np.array([2 * S, 2 * S]),
    "connection": np.array([0, 1]),
    "traffic": np.array([0, 1]),
    "bytes_up": np.array([0, 0]),
    "bytes_down": np.array([1_000_000, 0]),
}
CONNECTIONS = {
    "connection": np.array([0, 1]),
    "traffic": np.array([0, 1]),
    "start_ns": np.array([0, 0]),
    "end_ns": np.array([-1, -1]),
    "bytes_up": np.array([0, 0]),
    "bytes_down": np.array([5_000_000, 900_000]),
}


def test_the_queue_is_what_waits_over_the_rate_after_the_warm_up() -> None:
    queues = {
        "time_ns": np.array([S, 3 * S, 3 * S, 5 * S]),
        "link": np.array([1, 1, 0, 1]),
        "bytes": np.array([99_000, 12_500, 77_000, 25_000]),
    }
    delays = metrics.get("queue_delay").measure(late(queues=queues), link="r1>r2")
    assert delays == pytest.approx([0.01, 0.02])


def test_the_round_trip_is_the_mean_over_time_of_what_the_sender_measures() -> None:
    windows = {
        "time_ns": np.array([0, 1 * S, 4 * S, 5 * S, 5 * S, 8 * S]),
        "connection": np.array([0, 0, 0, 0, 1, 0]),
        # the server's end sends the data; the client's estimate is none of it
        "from_client": np.array([False, False, False, True, False, False]),
        "srtt_ns": np.array([-1, 40_000_000, 60_000_000, 1, 90_000_000, 30_000_000]),
    }
    run = late(connections=CONNECTIONS, connection_snapshots=BEFORE, cwnd=windows)
    measure = metrics.get("round_trip").measure
    # 40 ms from 2 to 4 s, 60 ms until 8 s, 30 ms until 10 s
    assert measure(run, traffic="first") == pytest.approx((2 * 0.04 + 4 * 0.06 + 2 * 0.03) / 8)
    assert measure(run, traffic="second") == pytest.approx(0.09)
    assert math.isnan(measure(run, traffic="none"))


@pytest.mark.parametrize("unmeasured", [-1, 0])
def test_a_sender_that_has_not_measured_a_round_trip_yet_adds_nothing_to_the_mean(unmeasured: int) -> None:
    windows = {
        "time_ns": np.array([3 * S, 4 * S, 6 * S, 5 * S]),
        "connection": np.array([0, 0, 0, 1]),
        "from_client": np.full(4, False),
        "srtt_ns": np.array([unmeasured, 40_000_000, 60_000_000, unmeasured]),
    }
    run = late(connections=CONNECTIONS, connection_snapshots=BEFORE, cwnd=windows)
    measure = metrics.get("round_trip").measure
    # 40 ms from 4 to 6 s, 60 ms until 10 s
    assert measure(run, traffic="first") == pytest.approx((2 * 0.04 + 4 * 0.06) / 6)
    assert math.isnan(measure(run, traffic="second"))


def test_goodput_is_of_the_window() -> None:
    run = late(connections=CONNECTIONS, connection_snapshots=BEFORE)
    measure = metrics.get("goodput").measure
    assert measure(run, traffic="first") == pytest.approx(4_000_000 * 8 / 8)
    whole = RunView(Run(connections=CONNECTIONS), 0, 10 * S)
    assert measure(whole, traffic="first") == pytest.approx(5_000_000 * 8 / 10)
    assert math.isnan(measure(run, traffic="none"))
