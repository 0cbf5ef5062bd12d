"""What can be seen of a connection of a QUIC stack, from records that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cwndlab.apps.diagnosis.from_outside import OutsideSummary, diagnose_outside

MS = 1_000_000
SCENARIO = {
    "nodes": ["a", "r", "b"],
    "traffic": [
        {"name": "web", "client": 2, "server": 0, "stack": {"stack": "noq"}, "app": {"kind": "bulk"}},
        {"name": "bulk", "client": 0, "server": 2, "stack": {"stack": "quinn"}, "app": {"kind": "bulk"}},
    ],
}


def tables(**segments: Any) -> dict[str, dict[str, np.ndarray[Any, Any]]]:
    connections: dict[str, list[Any]] = {
        "connection": [4, 5], "traffic": [0, 1], "client": [2, 0], "bytes_up": [7, 10_000],
        "bytes_down": [8, 9],
        "retransmits": [0, 1], "drops": [0, 2], "timeouts": [0, 3], "ecn_reductions": [0, 4],
    }  # fmt: skip
    sent: dict[str, list[Any]] = {
        "connection": [5, 5, 5, 5, 5, 4],
        "from_client": [True, True, True, False, True, True],
        "sent": [True, True, True, False, False, True],
        "len": [1000, 1200, 1000, 9000, 9000, 9000],
        "time_ns": [10 * MS, 20 * MS, 60 * MS, 70 * MS, 80 * MS, 90 * MS],
        "event": ["send"] * 6,
        "seq": [0] * 6,
        "segment": [1, 2, 3, 1, 2, 1],
        "sack": [0] * 6,
        **segments,
    }
    windows: dict[str, list[Any]] = {
        "connection": [5, 5, 5, 4],
        "from_client": [True, True, True, True],
        "time_ns": [0, 10 * MS, 40 * MS, 0],
        "cwnd_bytes": [10_000, 20_000, 5000, 1],
        "in_flight_bytes": [8800, 18_801, 3800, 1],
        "srtt_ns": [np.nan, 20 * MS, 30 * MS, MS],
        "state": ["open"] * 4,
    }
    timeouts: dict[str, list[Any]] = {name: [] for name in ("connection", "from_client", "time_ns", "timer")}
    made = {"connections": connections, "segments": sent, "cwnd": windows, "timeouts": timeouts}
    return {name: {key: np.array(column) for key, column in table.items()} for name, table in made.items()}


def summary(traffic: int = 1, node: int = 0, **segments: Any) -> OutsideSummary:
    found = diagnose_outside(tables(**segments).__getitem__, SCENARIO, traffic, node)
    assert found.waits_known is bool(found.summaries[0].segments)
    [one] = found.summaries
    assert isinstance(one, OutsideSummary)
    return one


def test_a_sender_is_summed_up_from_its_own_packets_and_windows() -> None:
    one = summary()
    assert one.conversation == "bulk, connection 5, a > b"
    assert (one.seconds, one.segments, one.acknowledged_bytes, one.retransmitted) == (0.05, 3, 10_000, 1)
    assert (one.dropped, one.probe_timeouts, one.ecn_reductions, one.waited_s) == (
        2,
        3,
        4,
        {"handshake": 0.05},
    )
    assert one.pause_s == (0.04, 0.02) and one.rtt_s == (0.02, 0.025)
    assert one.mean_window_bytes == pytest.approx((10 * 10_000 + 30 * 20_000) / 40)
    assert one.full_window_share == pytest.approx(1 / 3), (
        "1200 bytes more fit into the first and the last window"
    )


def test_the_summary_in_words() -> None:
    assert str(summary()) == (
        "bulk, connection 5, a > b: 1.6 Mb/s for 50 ms, 33 % of 3 packets declared lost "
        "(2 dropped by links), 3 probe timeouts of both ends, 4 reductions by ECN marks, smoothed "
        "round trip at least 20 ms, median 25 ms. "
        "The window was 17.5 kB on average, and full at 33 % of its changes. "
        "The longest pause, 40 ms, began at 20 ms. Waited 50 ms (the handshake was not finished)."
    )


def test_the_server_of_a_connection_may_be_the_sender() -> None:
    one = summary(traffic=0, node=0)
    assert one.conversation == "web, connection 4, a > b"
    assert (one.acknowledged_bytes, one.segments, one.seconds, one.pause_s) == (8, 0, 0.0, None)
    assert str(one) == "web, connection 4, a > b: sent no data"


def test_one_packet_has_no_pause_and_no_rate_and_one_window_no_mean() -> None:
    one = summary(traffic=0, node=2)
    assert one.conversation == "web, connection 4, b > a"
    assert (one.segments, one.seconds, one.pause_s, one.acknowledged_bytes) == (1, 0.0, None, 7)
    assert (one.mean_window_bytes, one.full_window_share, one.rtt_s) == (None, None, None)
    assert str(one).startswith("web, connection 4, b > a: 0 Mb/s for ") and "window" not in str(one)


def test_what_the_stack_does_not_report_is_noted() -> None:
    plain, at = (diagnose_outside(tables().__getitem__, SCENARIO, 1, 0, at_s) for at_s in (None, 1.5))
    note = "quinn does not name what keeps it from sending; causes follow from its window and packets"
    assert plain.notes == (note,) and at.notes == (note, "at 1.5 s no sender waited between two packets")
