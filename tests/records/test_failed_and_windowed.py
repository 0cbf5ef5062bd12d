"""Failed connections in words, and connections in a window of a run, on records small enough to check."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cwndlab.records.failures import FailedConnections, failed_connections, failures_text, is_failure
from cwndlab.records.window import RunView, interval_edges

S = 1_000_000_000


def test_failures_are_summed_by_flow_and_reason_the_largest_number_first() -> None:
    runs: list[dict[str, Any]] = [
        {"failed a\treset": 2.0, "goodput": 5.0, "failed b\trefused": 1.0},
        {"failed a\treset": 1.0, "failed a\trefused": 3.0, "goodput": 7.0},
        {"goodput": 1.0, "sizes": [1.0, 2.0]},
    ]
    assert failed_connections(runs) == [
        FailedConnections("a", "refused", 3, 1),
        FailedConnections("a", "reset", 3, 2),
        FailedConnections("b", "refused", 1, 1),
    ]
    assert is_failure("failed a\treset") and not is_failure("goodput")
    assert failed_connections([{"goodput": 1.0}]) == []


@pytest.mark.parametrize(
    ("counts", "runs", "text"),
    [
        ([], 3, ""),
        ([1], 1, "1 connection of f0 failed: r"),
        ([2], 2, "2 connections of f0 failed (1 of 2 runs): r"),
        (
            [3, 2, 1],
            1,
            "3 connections of f0 failed: r; 2 connections of f1 failed: r; 1 connection of f2 failed: r",
        ),
        ([4, 3, 2, 1], 1, None),
        ([5, 4, 3, 2, 1], 1, None),
    ],
)
def test_three_kinds_of_failures_are_named_and_further_ones_counted(
    counts: list[int], runs: int, text: str | None
) -> None:
    said = failures_text([FailedConnections(f"f{k}", "r", n, 1) for k, n in enumerate(counts)], runs)
    if text is not None:
        assert said == text
    else:
        rest = sum(counts[3:])
        assert said.endswith(f"; {rest} connection{'s' if rest > 1 else ''} more failed")
        assert said.count(" of f") == 3


class Run:
    """A run of 10 s with counters at 2 and 6 s."""

    scenario = {"duration_ns": 10 * S, "windows": {"middle": [2 * S, 6 * S]}}
    tables: dict[str, dict[str, Any]] = {
        # 0: over before the window, 1: through it, 2: begins in it, 3: its handshake ends after it,
        # 4: begins as it ends, 5: fails in it, 6: fails after it, 7: over as it begins
        "connections": {
            "connection": np.arange(8),
            "traffic": np.zeros(8, dtype=np.int64),
            "start_ns": np.array([0, 0, 3, 5, 6, 3, 4, 0]) * S,
            "established_ns": np.array([S, S, 4 * S, 7 * S, 7 * S, -1, -1, S]),
            "end_ns": np.array([S, 9 * S, -1, 9 * S, -1, 5 * S, 8 * S, 2 * S]),
            "failed": np.array([0, 0, 0, 0, 0, 1, 1, 0], dtype=bool),
            "bytes_up": np.array([5, 90, 70, 30, 40, 3, 4, 50]),
        },
        "connection_snapshots": {
            "time_ns": np.array([2, 2, 6, 6, 6, 6, 6]) * S,
            "connection": np.array([1, 7, 1, 2, 3, 4, 6]),
            "traffic": np.zeros(7, dtype=np.int64),
            "bytes_up": np.array([10, 50, 60, 35, 0, 0, 2]),
        },
    }

    def columns(self, table: str) -> dict[str, Any]:
        return self.tables[table]


def connections(start_s: int, end_s: int) -> dict[int, tuple[float, float, bool, int]]:
    """By connection: when it was established, its end (or -1), whether it failed, bytes in the window."""
    run: Any = Run()
    table = RunView(run, start_s * S, end_s * S).columns("connections")
    names = ("connection", "established_ns", "end_ns", "failed", "bytes_up")
    rows = zip(*(np.asarray(table[name]).tolist() for name in names), strict=True)

    def seconds(at_ns: int) -> float:
        return at_ns if at_ns < 0 else at_ns / S

    return {row[0]: (seconds(row[1]), seconds(row[2]), *row[3:]) for row in rows}


def test_connections_of_a_window_are_those_that_were_open_in_it_as_they_were_at_its_end() -> None:
    assert connections(2, 6) == {
        1: (1.0, -1, False, 50),
        2: (4.0, -1, False, 35),
        3: (-1, -1, False, 0),
        5: (-1, 5.0, True, 3),
        6: (-1, -1, False, 2),
        7: (1.0, 2.0, False, 0),
    }
    whole = connections(0, 10)
    assert len(whole) == 8 and whole[1] == (1.0, 9.0, False, 90) and whole[3] == (7.0, 9.0, False, 30)


@pytest.mark.parametrize(
    ("start", "end", "interval_s", "edges"),
    [
        (0, 10, 2e-9, [0, 2, 4, 6, 8, 10]),
        (1, 10, 3e-9, [1, 4, 7, 10]),
        (0, 10, 4e-9, [0, 4, 8]),
        (0, 10, 20e-9, [0]),
    ],
)
def test_intervals_are_the_whole_ones_from_the_start_on(
    start: int, end: int, interval_s: float, edges: list[int]
) -> None:
    assert interval_edges(start, end, interval_s) == edges
    assert math.isclose(len(interval_edges(0, 10_000 * S, 1.0)), 10_001)
    with pytest.raises(Exception, match="too many intervals of 1 s"):
        interval_edges(0, 10_001 * S, 1.0)
