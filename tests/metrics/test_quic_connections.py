"""What only TCP has, such as fast retransmits, is not measured where every connection is of a QUIC stack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.metrics import _rows
from cwndlab.records.window import RunView

S = 1_000_000_000
NAMES = ["quic", "tcp", "unused", "quic too"]


class Run:
    """Connections of two QUIC entries and one of TCP, which retransmits three times; one entry opens none."""

    scenario: Mapping[str, Any] = {
        "duration_ns": 10 * S,
        "windows": {},
        "traffic": [{"stack": {"stack": "quinn"}}, {}, {}, {"stack": {"stack": "noq"}}],
    }

    def columns(self, table: str) -> Mapping[str, Any]:
        assert table == "connections"
        traffic = np.array([0, 1, 3])
        return {
            "connection": np.arange(3),
            "traffic": traffic,
            "start_ns": np.zeros(3),
            "fast_retransmits": np.array([0, 3, 0]),
        }

    def traffic(self, name: str | None = None) -> list[int]:
        return list(range(4)) if name is None else [NAMES.index(name)]


@pytest.fixture
def view() -> RunView:
    return RunView(Run(), 0, 10 * S)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("traffic", "expected"),
    [("quic", True), ("quic too", True), ("tcp", False), ("unused", False), (None, False)],
)
def test_all_use_quic_only_where_there_are_connections_and_all_are_of_stacks(
    view: RunView, traffic: str | None, expected: bool
) -> None:
    assert _rows.all_use_quic(view, traffic) == expected
    found = metrics.get("fast_retransmits").measure(view, traffic=traffic)
    assert math.isnan(found) if expected else found == (0 if traffic == "unused" else 3)


def test_the_connections_of_a_window_are_selected_once(view: RunView) -> None:
    for select in (_rows.select_connections, _rows.connections_opened):
        assert select(view, "tcp") is select(view, "tcp")
        assert select(view, "tcp") is not select(view, "quic")
    assert _rows.rows_of_traffic(view, "connections", "tcp") is _rows.rows_of_traffic(
        view, "connections", "tcp"
    )


def test_every_metric_can_be_a_key() -> None:
    assert len({metrics.get(name): name for name in metrics.names()}) == len(metrics.names())
