"""Smoothness, round trips and halvings of rates and windows that are given, each value worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.metrics import loss, smoothness, square_root

S = 10**9
RUN: Any = SimpleNamespace(once=lambda key, compute: compute())


def of_rates(monkeypatch: pytest.MonkeyPatch, name: str, *rates: list[float]) -> Any:
    series = [np.array(one, dtype=np.float64) for one in rates]
    monkeypatch.setattr(smoothness, "rates_by_connection", lambda run, interval, traffic: series)
    return metrics.get(name).measure(RUN, traffic="flow", interval=1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("largest_rate_rise", 1.0), ("largest_rate_cut", 0.5), ("rate_variation", 0.75)],
)
def test_a_connection_that_was_open_for_one_interval_has_no_change(
    monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    alone: list[list[float]] = [[8.0], []]
    assert math.isnan(of_rates(monkeypatch, name, *alone))
    # A rise by 2, and a stop; variations of 1/2 and 1.
    assert of_rates(monkeypatch, name, *alone, [1.0, 3.0], [5.0, 0.0]) == value


def test_a_connection_that_delivers_nothing_has_no_variation_however_little_others_deliver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing, little = [0.0, 0.0], [0.25, 0.75]
    assert of_rates(monkeypatch, "rate_variation", nothing, little) == 0.5
    assert math.isnan(of_rates(monkeypatch, "rate_variation", nothing))
    assert of_rates(monkeypatch, "rate_variation_scales", nothing, little, [2.0]) == [0.5]
    assert of_rates(monkeypatch, "rate_variation_scales", nothing, [2.0]) == []


def test_longer_scales_average_pairs_of_intervals_until_no_two_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    four, three = [1.0, 3.0, 5.0, 7.0], [2.0, 2.0, 4.0]
    first = (math.sqrt(5) / 4 + math.sqrt(8 / 9) / (8 / 3)) / 2
    assert of_rates(monkeypatch, "rate_variation_scales", four, three) == pytest.approx([first, 2 / 4])


def _senders(monkeypatch: pytest.MonkeyPatch, *rows: tuple[int, int, float]) -> None:
    """One sender with these records: time (ns), window (bytes) and round trip (s)."""
    time, cwnd, srtt = (np.array(column) for column in zip(*rows, strict=True))
    monkeypatch.setattr(
        square_root, "_senders", lambda run, traffic: [SimpleNamespace(time=time, cwnd=cwnd, srtt=srtt)]
    )


def test_windows_are_read_at_whole_multiples_of_the_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    # The window of 9 holds at 2 s exactly; the smaller ones begin just before and just after.
    _senders(monkeypatch, (2 * S - 1, 5, 1.0), (2 * S, 9, 1.0), (2 * S + 1, 4, 1.0), (4 * S, 4, 1.0))
    assert square_root._halvings(RUN, "flow", 0.01).tolist() == [0]
    _senders(monkeypatch, (S, 5, 1.0), (2 * S, 9, 1.0), (2 * S + 1, 4, 1.0), (4 * S, 4, 1.0))
    assert square_root._halvings(RUN, "flow", 0.01).tolist() == [1]


@pytest.mark.parametrize(
    ("start_s", "end_s", "mean_ms"),
    [
        (0.0, 3.0, (100 + 200 + 300) / 3),  # read at 1, 2 and 3 s
        (1.0, 3.9, (200 + 300) / 2),
        (1.5, 3.0, (200 + 300) / 2),
        (3.0, 5.0, 400),  # at 4 and 5 s, the latter while it was unknown
        (4.5, 5.5, math.nan),
    ],
)
def test_round_trips_are_read_each_whole_second_within_the_window_in_whole_milliseconds(
    monkeypatch: pytest.MonkeyPatch, start_s: float, end_s: float, mean_ms: float
) -> None:
    rows = [(S, 100.9), (2 * S, 200.2), (3 * S, 300.5), (3 * S + 1, 400.0), (5 * S, math.nan)]
    _senders(monkeypatch, *((at, 1, ms / 1e3) for at, ms in rows))
    view: Any = SimpleNamespace(start_s=start_s, end_s=end_s)
    assert list(square_root._round_trips(view, "flow")) == [pytest.approx(mean_ms / 1e3, nan_ok=True)]


def test_packets_without_payload_are_not_among_the_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    events = {
        "drop": {"time_s": [1.0, 2.0, 3.0], "len": [1, 0, 1448], "segment": [4, 5, 6]},
        "retransmit": {"time_s": [3.0, 1.0], "len": [1448, 1448], "segment": [4, 6]},
    }
    monkeypatch.setattr(
        loss,
        "segment_events",
        lambda run, event, connection: {name: np.array(v) for name, v in events[event].items()},
    )
    measure = metrics.get("dropped_packets").measure
    assert measure(RUN) == [4.0, 6.0]
    assert measure(RUN, until="first-retransmission") == [4.0]
    events["retransmit"] = {"time_s": [], "len": [], "segment": []}
    assert measure(RUN, until="first-retransmission") == [4.0, 6.0]


def test_the_timer_of_the_first_timeout_of_a_window_may_have_been_restarted_before_it() -> None:
    def table(*rows: tuple[float, str, bool]) -> Any:
        time, event, timeout = zip(*rows, strict=True)
        zeros = np.zeros(len(rows), dtype=int)
        same = {name: zeros for name in ("segment", "connection", "len")}
        return {"time_ns": np.array(time) * S, "event": np.array(event), "timeout": np.array(timeout), **same}

    before = [(0.25, "retransmit", True), (0.5, "ack", False)]
    within = [(1.5, "retransmit", True), (1.75, "send", False), (4.5, "retransmit", True)]
    view: Any = SimpleNamespace(
        start_s=1.0,
        columns=lambda name: table(*within),
        history=lambda name: table(*before, *within),
    )
    waits = [metrics.get("timeout_wait").measure(view, nth=nth) for nth in (1, 2, 3)]
    assert waits == pytest.approx([1.0, 3.0, math.nan], nan_ok=True)
    times = [metrics.get("timeout_time").measure(view, nth=nth) for nth in (1, 2, 3)]
    assert times == pytest.approx([1.5, 4.5, math.nan], nan_ok=True)
