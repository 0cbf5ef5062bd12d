"""The metric `datagram_loss`, on records small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.records.window import RunView

S = 1_000_000_000
CBR = {"kind": "cbr", "rate_bps": 1000}
TABLES: Mapping[str, Mapping[str, Any]] = {
    "connections": {
        "connection": np.array([0, 1, 2]),
        "traffic": np.array([0, 1, 2]),
        "drops": np.array([3, 5, 1]),
        "segments_sent": np.array([60, 90, 100]),
    },
    # Entry 1 has sent four datagrams, of which one is lost. Entry 3 is a page; its objects are no datagrams.
    "objects": {
        "traffic": np.array([1, 1, 1, 1, 3]),
        "kind": np.array(["object"] * 5, dtype=object),
        "start_ns": np.array([1, 2, 3, 4, 5]) * S,
        "end_ns": np.array([1.1 * S, np.nan, 3.1 * S, 4.1 * S, np.nan]),
        "finished": np.array([True, False, True, True, False]),
    },
}


class Run:
    """Entry 0 sends datagrams over UDP, 1 over QUIC; 2 is TCP, and 3 a page over QUIC."""

    scenario: Mapping[str, Any] = {
        "duration_ns": 10 * S,
        "windows": {},
        "traffic": [
            {"app": CBR},
            {"app": CBR, "stack": {"stack": "quinn"}},
            {"app": {"kind": "bulk"}},
            {"app": {"kind": "web"}, "stack": {"stack": "quinn"}},
        ],
    }

    def columns(self, table: str) -> Mapping[str, Any]:
        return TABLES[table]

    def traffic(self, name: str | None = None) -> list[int]:
        names = ["udp", "quic", "tcp", "page"]
        return [names.index(name)] if name is not None else list(range(4))


def loss(traffic: str | None = None) -> float:
    found: float = metrics.get("datagram_loss").measure(RunView(Run(), 0, 10 * S), traffic=traffic)  # type: ignore[arg-type]
    return found


def test_over_udp_it_is_drops_and_over_quic_datagrams_that_did_not_arrive() -> None:
    assert loss("udp") == pytest.approx(3 / 60)
    assert loss("quic") == pytest.approx(1 / 4)
    assert loss() == pytest.approx(4 / 64)


def test_without_datagrams_there_is_none() -> None:
    assert math.isnan(loss("tcp"))
    assert math.isnan(loss("page"))
