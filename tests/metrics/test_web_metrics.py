"""Metrics of pages, files and links, on records small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cwndlab import metrics
from cwndlab.metrics import _rows
from cwndlab.records.window import RunView

S = 1_000_000_000
NEVER = np.nan


class Run:
    """A run with two web clients (entries 0 and 1) and one file transfer (entry 2)."""

    scenario: Mapping[str, Any] = {"duration_ns": 100 * S, "windows": {"measured": (4 * S, 100 * S)}}

    def __init__(self, **tables: Mapping[str, Any]) -> None:
        self.tables = tables

    def table(self, name: str) -> pa.Table:
        return pa.table(dict(self.tables[name]))

    def columns(self, table: str) -> Mapping[str, Any]:
        return self.tables[table]

    def traffic(self, name: str | None = None) -> list[int]:
        return {None: [0, 1, 2], "web": [0, 1], "ftp": [2]}.get(name, [])

    def link(self, name: str | None = None) -> int:
        return 1


def objects(rows: Sequence[tuple[int, str, float, float | None, int]]) -> dict[str, Any]:
    """Rows of (traffic, kind, start s, end s or None, bytes)."""
    return {
        "traffic": np.array([r[0] for r in rows], dtype=np.uint32),
        "kind": np.array([r[1] for r in rows], dtype=object),
        "start_ns": np.array([r[2] * S for r in rows]),
        "end_ns": np.array([NEVER if r[3] is None else r[3] * S for r in rows]),
        "bytes": np.array([r[4] for r in rows], dtype=np.uint64),
        "finished": np.array([r[3] is not None for r in rows]),
        "connections": np.ones(len(rows)),
        "retransmits": np.zeros(len(rows)),
        "timeouts": np.zeros(len(rows)),
    }


PAGES = objects(
    [
        (0, "page", 1.0, 2.0, 10),
        (0, "page", 5.0, 8.0, 20),
        (1, "page", 1.0, 1.5, 30),
        (1, "page", 90.0, None, 5),
        (0, "object", 1.0, 1.2, 3),
        (2, "file", 0.0, 8.0, 1_000_000),
        (2, "file", 8.0, 20.0, 1_000_000),
        (2, "file", 20.0, None, 0),
    ]
)


def measure(name: str, run: Run, start_s: int = 0, **options: Any) -> Any:
    found = metrics.get(name).measure(RunView(run, start_s * S, 100 * S), **options)
    return found.tolist() if isinstance(found, np.ndarray) else found


def test_an_unfinished_page_counts_as_longer_than_every_finished_one() -> None:
    assert measure("median_delay", Run(objects=PAGES), traffic="web") == pytest.approx(2.0)  # 0.5 1 3 inf


def test_the_median_delay_is_of_one_kind_of_objects() -> None:
    rows = objects([(0, "page", 0.0, 1.0, 1), (0, "file", 0.0, 4.0, 1), (0, "file", 1.0, 7.0, 1)])
    assert measure("median_delay", Run(objects=rows)) == pytest.approx(1.0)
    assert measure("median_delay", Run(objects=rows), kind="file") == pytest.approx(5.0)


def test_the_median_is_missing_when_it_lies_among_unfinished_pages() -> None:
    rows = objects([(0, "page", 1.0, 2.0, 1), (0, "page", 2.0, None, 1), (1, "page", 3.0, None, 1)])
    assert math.isnan(measure("median_delay", Run(objects=rows), traffic="web"))


def test_per_client_medians_weigh_every_client_alike() -> None:
    rows = objects([(0, "page", 0.0, d, 1) for d in (1.0, 2.0, 3.0)] + [(1, "page", 0.0, 10.0, 1)])
    assert measure("median_delay", Run(objects=rows), pool="client") == pytest.approx(6.0)
    assert measure("median_delay", Run(objects=rows), pool="all") == pytest.approx(2.5)
    assert math.isnan(measure("median_delay", Run(objects=objects([])), pool="client"))


def test_pages_that_began_in_the_warm_up_are_left_out() -> None:
    run = Run(objects=PAGES)
    assert measure("objects_finished", run, start_s=4, traffic="web") == 1.0
    assert measure("unfinished_pages", run, start_s=91, traffic="web") == 0.0


def test_traffic_that_is_not_in_the_cell_is_not_measurable() -> None:
    run = Run(objects=PAGES, connections=CONNECTIONS)
    assert math.isnan(measure("median_delay", run, traffic="nobody"))
    assert math.isnan(measure("transferred", run, traffic="nobody"))
    assert math.isnan(measure("network_power", run, traffic="nobody"))


CONNECTIONS = {
    "traffic": np.array([0, 1, 2, 2], dtype=np.uint32),
    "start_ns": np.zeros(4, dtype=np.uint64),
    "bytes_up": np.array([1, 2, 80, 80], dtype=np.uint64),
    "bytes_down": np.array([10, 20, 1_000_000, 400_000], dtype=np.uint64),
    "failed": np.array([False, True, False, False]),
}


def test_transferred_counts_partial_files_only_when_what_was_delivered_is_asked_for() -> None:
    run = Run(objects=PAGES, connections=CONNECTIONS)
    assert measure("transferred", run, traffic="ftp", direction="down") == 1_400_000
    assert measure("transferred", run, traffic="ftp", count="completed") == 2_000_000
    assert measure("transferred", run, direction="up") == 163


def test_network_power_is_megabytes_of_the_run_over_the_median_delay() -> None:
    run = Run(objects=PAGES, connections=CONNECTIONS)
    # Files: 8 s, 12 s, unfinished: median 12 s; 1.4 MB delivered.
    assert measure("network_power", run, kind="file", traffic="ftp") == pytest.approx(1.4 / 12)


LINKS = {
    "link": np.array([0, 1], dtype=np.uint32),
    "arrivals": np.array([5, 200], dtype=np.uint64),
    "busy_ns": np.array([1, 34 * S], dtype=np.uint64),
    "drops_full": np.array([5, 3], dtype=np.uint64),
    "drops_aqm": np.array([0, 2], dtype=np.uint64),
    "drops_loss": np.array([0, 1], dtype=np.uint64),
}


def test_utilization_is_busy_time_over_the_run() -> None:
    assert measure("link_utilization", Run(links=LINKS), link="n1>n0") == pytest.approx(0.34)


def test_the_drop_rate_is_dropped_over_offered_and_tells_causes_apart() -> None:
    run = Run(links=LINKS)
    assert measure("drop_rate", run, link="n1>n0") == pytest.approx(6 / 200)
    assert measure("drop_rate", run, causes="aqm") == pytest.approx(2 / 200)


def test_unfinished_and_failed_are_counted() -> None:
    run = Run(objects=PAGES, connections=CONNECTIONS)
    assert measure("unfinished_pages", run, traffic="web") == 1
    assert measure("unfinished_pages", run, traffic="web", share=True) == pytest.approx(0.25)
    assert measure("connections", run) == 4
    assert measure("connections", run, failed=True) == 1


def test_quantiles_of_delays_put_unfinished_ones_last() -> None:
    quantiles = measure("delay_quantiles", Run(objects=PAGES), traffic="web")
    assert len(quantiles) == 100
    assert quantiles[0] == pytest.approx(0.5) and quantiles[74] == pytest.approx(3.0)
    assert math.isnan(quantiles[99])
    assert measure("delay_quantiles", Run(objects=PAGES), traffic="nobody") == []


def test_delays_of_single_objects_are_told_in_the_order_of_the_records() -> None:
    assert measure("completion_time", Run(objects=PAGES), kind="page", traffic="web") == pytest.approx(
        [1.0, 3.0, 0.5]
    )


def test_connections_are_chosen_by_what_they_sent_again_and_only_ended_ones_last() -> None:
    table = {
        "traffic": np.array([0, 0, 1, 1, 2], dtype=np.uint32),
        "start_ns": np.array([1, 1, 1, 1, 1]) * S,
        "end_ns": np.array([2 * S, 4 * S, 9 * S, -1, 3 * S]),  # -1: under way when the run ended
        "established_ns": np.array([1.1, 1.1, 7.1, 1.1, 1.1]) * S,  # the third lost its SYN-ACK
        "retransmits": np.array([0, 1, 2, 3, 5]),
        "drops": np.array([0, 1, 1, 2, 3]),
        "bytes_down": np.array([0, 2000, 4000, 50, 6000]),
    }
    run = Run(connections=table)
    assert measure("connection_durations", run, drops_at_least=1, down_at_most=4000) == [3.0, 8.0]
    assert measure("connection_durations", run, drops_at_least=2) == [2.0]
    assert measure("connection_durations", run, drops_at_most=0) == [1.0]
    assert measure("connection_durations", run, down_at_most=0) == [1.0]
    assert measure("connection_durations", run, traffic="web") == [1.0, 3.0, 8.0]
    assert measure("connection_durations", run, traffic="web", retransmits_at_least=2) == [8.0]
    assert measure("connection_durations", run, retransmits_at_least=2, handshake_at_most=1.0) == [2.0]
    one = measure("connection_durations", run, retransmits_at_least=1, retransmits_at_most=1)
    assert one == [3.0]


def test_limits_of_chosen_connections_include_their_own_values() -> None:
    table = {
        "traffic": np.zeros(4, dtype=np.uint32),
        "start_ns": np.array([1, 1, 1, 1]) * S,
        "end_ns": np.array([3 * S, 4 * S, 5 * S, S]),  # the last is reset at once
        "established_ns": np.array([2 * S, 2 * S + 1, -1, S]),
        "retransmits": np.array([0, 1, 2, 3]),
        "drops": np.array([3, 2, 1, 0]),
        "bytes_down": np.array([0, 1, 2, 3]),
    }
    run = Run(connections=table)
    assert measure("connection_durations", run) == [2.0, 3.0, 4.0, 0.0]
    # to the nanosecond; one that was never established has no handshake
    assert measure("connection_durations", run, handshake_at_most=1.0) == [2.0, 0.0]
    assert measure("connection_durations", run, handshake_at_most=0.0) == [0.0]
    assert measure("connection_durations", run, retransmits_at_least=1, drops_at_least=1) == [3.0, 4.0]
    assert measure("connection_durations", run, down_at_most=2, retransmits_at_most=1) == [2.0, 3.0]


def test_sizes_are_those_of_finished_objects() -> None:
    assert measure("object_bytes", Run(objects=PAGES), kind="page", traffic="web") == [10, 20, 30]
    assert measure("object_bytes", Run(objects=PAGES)) == [3]


def test_metrics_of_one_window_share_what_they_select() -> None:
    windows = [RunView(Run(objects=PAGES), start, 100 * S) for start in (0, 4 * S)]
    whole, late = (_rows.objects(window, "page", "web") for window in windows)
    assert _rows.objects(windows[0], "page", "web") is whole
    assert (len(whole.delay_s), len(late.delay_s)) == (4, 2)
