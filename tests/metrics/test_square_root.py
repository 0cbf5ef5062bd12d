"""The square-root law: halvings counted and a constant fitted by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.records.run_view import WholeRun
from cwndlab.records.window import RunView

S = 10**9
MS = 10**6


class Run:
    """A run of 10 s; all connections belong to the traffic "flows", whose server sends."""

    scenario: Mapping[str, Any] = {"duration_ns": 10 * S}

    def __init__(self, **tables: Mapping[str, Any]) -> None:
        self._tables = tables

    def columns(self, table: str) -> Mapping[str, Any]:
        return self._tables[table]

    def traffic(self, name: str | None = None) -> list[int]:
        return [0] if name == "flows" else []


def view(windows: dict[int, list[tuple[int, int]]], **counters: list[float]) -> RunView:
    """Windows (time in ms, segments) of each connection, in a run of 10 s, and the connections' counters."""
    rows = sorted((at, c, w) for c, steps in windows.items() for at, w in steps)
    srtt = counters.pop("srtt_ms", [100, 100])
    cwnd = {
        "time_ns": np.array([at * MS for at, _, _ in rows]),
        "connection": np.array([c for _, c, _ in rows]),
        "from_client": np.full(len(rows), False),
        "cwnd_bytes": np.array([w * 1448 for _, _, w in rows]),
        "srtt_ns": np.array([srtt[c] * MS for _, c, _ in rows], dtype=np.float64),
    }
    count = len(counters["bytes_down"])
    ends = {"connection": np.arange(count), "traffic": np.zeros(count, dtype=int)}
    ends |= {"bytes_up": np.zeros(count), **{name: np.array(v) for name, v in counters.items()}}
    return RunView(cast(WholeRun, Run(connections=ends, cwnd=cwnd)), 0, 10 * S)


def measure(name: str, run: RunView, **options: Any) -> float:
    return float(metrics.get(name).measure(run, traffic=options.pop("traffic", "flows"), **options))


SAW = [(0, 10), (100, 11), (200, 12), (205, 6), (300, 7), (400, 8), (410, 7), (420, 4), (500, 5)]


def test_a_halving_is_a_maximum_of_the_sampled_window_and_falls_in_steps_count_once() -> None:
    run = view({0: SAW, 1: [(0, 10), (1, 20)]}, bytes_down=[1, 1])
    assert measure("window_halvings", run) == 2, "12 and 8; the fall from 8 by 7 to 4 is one"


def test_what_happens_between_two_samples_is_not_seen() -> None:
    brief = [(0, 10), (11, 12), (13, 9), (19, 11), (30, 12)]
    run = view({0: brief, 1: []}, bytes_down=[1, 1])
    assert measure("window_halvings", run) == 0, "samples at 10, 20 and 30 ms: 10, 11, 12"
    assert measure("window_halvings", run, sampling=0.001) == 1


def test_the_window_that_lasts_to_the_end_is_no_maximum() -> None:
    assert measure("window_halvings", view({0: [(0, 4), (50, 5)], 1: []}, bytes_down=[1, 1])) == 0
    assert math.isnan(measure("window_halvings", view({0: SAW}, bytes_down=[1]), traffic="none"))


def test_the_constant_is_the_slope_through_the_origin() -> None:
    """100 and 400 segments delivered in 10 s, RTTs of 100 and 50 ms, 4 and 16 sent again and dropped."""
    run = view(
        {0: SAW, 1: [(0, 3), (100, 4), (200, 2)]},
        bytes_down=[100 * 1448, 400 * 1448],
        retransmits=[4, 16],
        drops=[4, 16],
        srtt_ms=[100, 50],
    )
    rate = [10 * 1448 * 8, 40 * 1448 * 8]  # bit/s
    p_loss = [4 / 104, 16 / 416]

    def slope(p: list[float]) -> float:
        x = [1448 * 8 / (rtt * math.sqrt(each)) for rtt, each in zip((0.1, 0.05), p, strict=True)]
        return sum(a * b for a, b in zip(x, rate, strict=True)) / sum(a * a for a in x)

    assert measure("mathis_constant", run, by="losses") == pytest.approx(slope(p_loss))
    assert measure("mathis_constant", run, by="halvings") == pytest.approx(slope([2 / 104, 1 / 416]))
    assert measure("mathis_constant", run, by="drops") == pytest.approx(slope([20 / 520, 20 / 520]))


def test_a_connection_without_an_event_is_left_out_and_round_trips_are_whole_milliseconds() -> None:
    one = {"bytes_down": [144800, 144800], "retransmits": [4, 0], "drops": [4, 0], "srtt_ms": [100.9, 100]}
    alone = 10 * math.sqrt(4 / 104) * 0.1
    assert measure("mathis_constant", view({0: SAW, 1: SAW}, **one), by="losses") == pytest.approx(alone)
    none = view({0: SAW}, bytes_down=[144800], retransmits=[0], drops=[0])
    assert math.isnan(measure("mathis_constant", none, by="losses"))
