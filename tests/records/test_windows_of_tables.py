"""A window of each record table of a run, from records that are written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cwndlab.base.errors import NotFoundError, StudyError
from cwndlab.records.run_view import bottleneck, flow_name, snapshot_times
from cwndlab.records.window import (
    MAX_INTERVALS,
    Rows,
    RunView,
    _find,
    equals,
    interval_edges,
    window_edges,
)

S = 1_000_000_000


def ns(*seconds: float) -> np.ndarray[Any, Any]:
    return np.array([round(second * S) for second in seconds], dtype=np.int64)


class Recorded:
    """A run of 10 s with counters at 2 and 6 s."""

    scenario = {"duration_ns": 10 * S, "windows": {"middle": [2 * S, 6 * S], "tail": [6 * S, 10 * S]}}
    tables: dict[str, dict[str, Any]] = {
        # Connections out of order, so that a connection's traffic entry is not found by its index.
        "connections": {"connection": np.array([5, 3]), "traffic": np.array([1, 0])},
        "segments": {
            "time_ns": np.append(ns(0, 2, 3, 6, 10), 2 * S - 1),
            "connection": np.array([3, 5, 3, 5, 3, 5]),
        },
        "cwnd": {
            "time_ns": ns(0, 0, 1, 1.5, 2, 4, 6),
            "connection": np.array([3, 3, 3, 5, 5, 3, 3]),
            "from_client": np.array([1, 0, 1, 1, 1, 1, 0], dtype=bool),
            "cwnd_bytes": np.array([10, 20, 11, 30, 31, 12, 21]),
        },
        "limits": {
            "connection": np.array([3, 3, 3, 3, 3]),
            "from_ns": ns(0, 1, 2, 5, 6),
            "to_ns": ns(2, 3, 4, 7, 10),
        },
        "objects": {
            "traffic": np.array([0, 0, 1, 1, 0]),
            "kind": np.array(["page", "page", "file", "file", "page"], dtype=object),
            "index": np.array([0, 1, 0, 1, 2]),
            "start_ns": ns(1, 2, 3, 5, 6),
            "end_ns": ns(2, 3, 9, 10, 7),
            "bytes": np.array([10, 20, 30, 40, 50]),
        },
        "object_snapshots": {
            "time_ns": ns(6, 6, 2),
            "traffic": np.array([1, 1, 0]),
            "kind": np.array(["file", "file", "page"], dtype=object),
            "index": np.array([0, 1, 0]),
            "start_ns": ns(3, 5, 1),
            "end_ns": np.array([-1, -1, -1]),
            "bytes": np.array([3, 4, 1]),
        },
        "links": {
            "link": np.array([0, 1]),
            "sent_bytes": np.array([100, 1000]),
            "marked": np.array([-1, 9]),
            "mean_queue_packets": np.array([4.0, 1.0]),
            "max_queue_packets": np.array([7, 8]),
        },
        "link_snapshots": {
            "time_ns": ns(2, 2, 6, 6),
            "link": np.array([0, 1, 0, 1]),
            "sent_bytes": np.array([10, 100, 60, 700]),
            "marked": np.array([-1, 2, -1, 5]),
            "mean_queue_packets": np.array([1.0, 0.5, 3.0, 1.5]),
        },
    }

    def columns(self, table: str) -> dict[str, Any]:
        return self.tables[table]


def view(start_s: float = 0, end_s: float = 10) -> RunView:
    run: Any = Recorded()
    return RunView(run, round(start_s * S), round(end_s * S))


def lists(start_s: float, end_s: float, table: str, *names: str) -> list[tuple[Any, ...]]:
    """The rows of a table in a window; times in seconds."""
    columns = view(start_s, end_s).columns(table)
    found = (columns[name] / S if name.endswith("_ns") else columns[name] for name in names)
    return list(zip(*(np.asarray(column).tolist() for column in found), strict=True))


def test_events_are_in_a_window_from_its_start_on_and_at_its_end_only_if_the_run_ends_there() -> None:
    assert lists(2, 6, "segments", "time_ns", "connection") == [(2, 5), (3, 3)]
    assert lists(6, 10, "segments", "time_ns", "connection") == [(6, 5), (10, 3)]
    assert len(lists(0, 10, "segments", "time_ns")) == 6
    assert lists(7, 9, "segments", "time_ns") == []


def test_each_row_has_the_traffic_entry_of_its_connection() -> None:
    assert lists(2, 6, "segments", "connection", "traffic") == [(5, 1), (3, 0)]
    whole = view().columns("segments")
    assert np.asarray(whole["traffic"]).tolist() == [0, 1, 0, 1, 0, 1]
    assert list(whole) == ["time_ns", "connection", "traffic"] and len(whole) == 3
    assert "traffic" not in list(view().columns("links"))
    assert list(view().columns("connections")) == ["connection", "traffic"]


def test_a_window_of_states_begins_with_the_last_before_of_each_sender() -> None:
    names = ("time_ns", "connection", "from_client", "cwnd_bytes")
    assert lists(2, 6, "cwnd", *names) == [
        (2, 3, False, 20),
        (2, 3, True, 11),
        (2, 5, True, 30),
        (2, 5, True, 31),
        (4, 3, True, 12),
    ]
    assert lists(6, 10, "cwnd", *names) == [
        (6, 3, False, 20),
        (6, 5, True, 31),
        (6, 3, True, 12),
        (6, 3, False, 21),
    ]


def test_intervals_are_cut_at_both_ends_of_a_window() -> None:
    assert lists(2, 6, "limits", "from_ns", "to_ns") == [(2, 3), (2, 4), (5, 6)]
    assert lists(3, 5, "limits", "from_ns", "to_ns") == [(3, 4)]
    assert lists(6, 10, "limits", "from_ns", "to_ns") == [(6, 7), (6, 10)]
    assert lists(0, 1, "limits", "from_ns", "to_ns") == [(0, 1)]


def test_objects_are_those_that_began_in_a_window_unfinished_if_they_ended_later() -> None:
    names = ("kind", "index", "start_ns", "bytes")
    columns = view(2, 6).columns("objects")
    assert lists(2, 6, "objects", *names) == [("page", 1, 2, 20), ("file", 0, 3, 3), ("file", 1, 5, 4)]
    assert columns["end_ns"].tolist() == [3 * S, -1, -1] and columns["end_ns"].dtype == np.int64
    assert lists(6, 10, "objects", *names) == [("page", 2, 6, 50)]
    assert lists(0, 2, "objects", *names) == [("page", 0, 1, 1)]


def test_counters_of_links_count_within_a_window() -> None:
    assert lists(2, 6, "links", "link", "sent_bytes", "marked") == [(0, 50, -1), (1, 600, 3)]
    assert lists(6, 10, "links", "link", "sent_bytes", "marked") == [(0, 40, -1), (1, 300, 4)]
    assert lists(0, 2, "links", "link", "sent_bytes", "marked") == [(0, 10, -1), (1, 100, 2)]
    # (3 · 6 − 1 · 2) / 4, (4 · 10 − 3 · 6) / 4
    assert view(2, 6).columns("links")["mean_queue_packets"].tolist() == [4.0, 2.0]
    assert view(6, 10).columns("links")["mean_queue_packets"].tolist() == [5.5, 0.25]
    assert view(0, 2).columns("links")["mean_queue_packets"].tolist() == [1.0, 0.5]
    # The longest queue of the run may lie outside the window.
    assert "max_queue_packets" in view().columns("links")
    assert "max_queue_packets" not in view(2, 6).columns("links")


def test_a_window_needs_counters_at_its_edges() -> None:
    with pytest.raises(NotFoundError, match=r"the run kept no counters at 2.5 s"):
        view(2.5, 6).columns("links")["sent_bytes"]
    with pytest.raises(NotFoundError, match="there is no table 'failures'"):
        view(2, 6).columns("failures")


def test_a_view_knows_its_window_and_computes_each_table_once() -> None:
    middle = view(2, 6)
    assert (middle.start_s, middle.end_s, middle.seconds) == (2.0, 6.0, 4.0)
    assert middle.columns("links") is middle.columns("links")
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return "made"

    assert [middle.once("key", make), middle.once("key", make), middle.once("other", make)] == ["made"] * 3
    assert len(made) == 2
    assert [(part.start_s, part.end_s) for part in middle.parts(1.5)] == [(2.0, 3.5), (3.5, 5.0)]
    # Its history begins with the run.
    assert np.asarray(middle.history("segments")["time_ns"]).tolist() == [0, 2 * S, 3 * S, 2 * S - 1]


def test_edges_of_windows_are_those_of_the_scenario() -> None:
    assert window_edges(Recorded.scenario, None) == (0, 10 * S)
    assert window_edges(Recorded.scenario, "middle") == (2 * S, 6 * S)
    assert snapshot_times(Recorded.scenario) == [2 * S, 6 * S]
    assert snapshot_times({"duration_ns": 10}) == []
    assert snapshot_times({"duration_ns": 10, "windows": {"all": [0, 10], "a": [1, 9]}}) == [1, 9]


def test_the_intervals_of_a_window_are_limited() -> None:
    assert len(interval_edges(0, MAX_INTERVALS * S, 1.0)) == MAX_INTERVALS + 1 == 10_001
    with pytest.raises(StudyError) as error:
        interval_edges(5, MAX_INTERVALS * S + 6, 1.0, ("options", "interval"))
    assert error.value.problem == "the window has too many intervals of 1 s"
    assert error.value.right == "at most 10,000 intervals; make them longer"
    assert error.value.path == ("options", "interval")
    # An interval below a nanosecond is one.
    assert interval_edges(0, 3, 4e-10) == [0, 1, 2, 3]


def test_each_connection_is_found_in_the_counters() -> None:
    assert _find(np.array([7, 3]), np.array([3, 5, 7])).tolist() == [2, 0]
    assert _find(np.array([], dtype=int), np.array([], dtype=int)).tolist() == []
    for wanted in ([4], [8], [2]):
        with pytest.raises(RuntimeError, match="a connection that was open is missing in a snapshot"):
            _find(np.array(wanted), np.array([3, 5, 7]))


def test_words_are_compared_with_what_replaced_them() -> None:
    full = {"kind": np.array(["a", "b", "a"], dtype=object), "n": np.array([1, 2, 3])}
    rows = Rows(full, np.array([0, 2]), {"n": np.array([8, 9])})
    assert rows["n"].tolist() == [8, 9] and rows["kind"].tolist() == ["a", "a"]
    assert equals(rows, "kind", "a").tolist() == [True, True] and len(rows) == 2
    changed = Rows(full, np.array([0, 2]), {"kind": np.array(["b", "a"], dtype=object)})
    assert equals(changed, "kind", "b").tolist() == [True, False]


def test_the_bottleneck_is_the_first_of_the_slowest_links() -> None:
    rates = [{"rate_bps": rate} for rate in (10, 5, 5, 20)]
    assert bottleneck(rates) == 1 and bottleneck(rates[:1]) == 0
    assert [flow_name(name) for name in ("web", "web.1", "web.1.2")] == ["web"] * 3
