"""Graphs of packets, windows and queues: a few records written by hand, and each number that is drawn."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cwndlab.apps.packets import graphs
from cwndlab.apps.packets.sequence import decimate, time_sequence_rows
from cwndlab.base.errors import StudyError
from cwndlab.study.outputs import Figure

MS = 1_000_000
ALL = (0.0, float("inf"))


def figure(kind: str, **keys: Any) -> Figure:
    return Figure.model_validate({"id": "f", "title": "F", "kind": kind, **keys})


def segments(*rows: dict[str, Any]) -> dict[str, Any]:
    """Columns of the segments table, from rows with what differs from a packet that a client sends."""
    usual = {
        "time_ns": 0,
        "event": "send",
        "segment": 1,
        "connection": 0,
        "from_client": True,
        "len": 0,
        "flags": 16,
        "ack": 0,
        "window_bytes": 0,
        "timeout": False,
        "sack": None,
    }
    columns = {name: [row.get(name, value) for row in rows] for name, value in usual.items()}
    sack = np.empty(len(rows), dtype=object)
    sack[:] = columns.pop("sack")
    return {name: np.array(values) for name, values in columns.items()} | {"sack": sack}


def drawn(columns: dict[str, Any], window: tuple[float, float] = ALL, connection: int = 0) -> list[Any]:
    rows = time_sequence_rows(columns, window, connection, 100, 100)
    return [(row["time"], row["event"], row["segment"], *filter(None, [row.get("from")])) for row in rows]


def test_each_packet_has_its_event_and_acknowledgments_the_window_and_blocks_too() -> None:
    reply = {"from_client": False, "event": "ack"}
    columns = segments(
        {"time_ns": 1 * MS, "segment": 1, "len": 1000},
        {"time_ns": 2 * MS + 1499, "segment": 2, "len": 1000},
        {**reply, "time_ns": 3 * MS, "segment": 2, "ack": 1000, "window_bytes": 4500},
        {
            **reply,
            "time_ns": 4 * MS,
            "event": "dupack",
            "segment": 2,
            "ack": 1000,
            "window_bytes": 3000,
            "sack": [2000, 4000, 5000, 5500],
        },
        {"time_ns": 5 * MS, "event": "retransmit", "segment": 2, "len": 1000},
        {"time_ns": 6 * MS, "event": "retransmit", "segment": 2, "len": 1000, "timeout": True},
        {"time_ns": 7 * MS, "event": "drop", "segment": 2, "len": 1000},
        {"time_ns": 8 * MS, "event": "ack", "segment": 9},  # of the sender, so of the other direction
        {"time_ns": 9 * MS, "event": "receive", "segment": 2},
    )
    assert drawn(columns) == [
        (0.001, "send", 1),
        (0.002001, "send", 2),
        (0.003, "ack", 2),
        (0.003, "window", 5),
        (0.004, "dupack", 2),
        (0.004, "window", 4),
        (0.004, "SACK", 4, 3),
        (0.004, "SACK", 6, 6),
        (0.005, "retransmit", 2),
        (0.006, "timeout", 2),
        (0.007, "drop", 2),
    ]


def test_both_ends_of_a_window_and_one_connection_are_drawn() -> None:
    columns = segments(*({"time_ns": ms * MS, "segment": ms, "connection": ms % 2} for ms in range(1, 9)))
    assert [row[2] for row in drawn(columns, (0.002, 0.006))] == [2, 4, 6]
    assert [row[2] for row in drawn(columns, (0.002, 0.006), 1)] == [3, 5]
    assert drawn(columns, (0.1, 0.2)) == []


def test_echoes_and_reductions_are_of_packets_that_passed_and_of_no_handshake() -> None:
    columns = segments(
        {"time_ns": 1 * MS, "flags": 2 | 64 | 128},
        {"time_ns": 2 * MS, "segment": 2, "len": 500, "flags": 16 | 128},
        {"time_ns": 3 * MS, "segment": 3, "len": 500, "flags": 16 | 128, "event": "drop"},
        {"time_ns": 4 * MS, "segment": 3, "len": 500, "flags": 16 | 64, "event": "mark"},
        {"time_ns": 5 * MS, "event": "ack", "from_client": False, "segment": 2, "flags": 16 | 64},
    )
    marks = [row for row in drawn(columns) if row[1] in ("ECE", "CWR")]
    assert marks == [(0.002, "CWR", 2), (0.005, "ECE", 2)]


def test_records_without_lengths_draw_their_events_alone() -> None:
    columns = segments({"time_ns": MS, "segment": 7}, {"time_ns": 2 * MS, "event": "ack", "segment": 7})
    few = {name: columns[name] for name in ("time_ns", "event", "segment", "connection")}
    assert drawn(few) == [(0.001, "send", 7), (0.002, "ack", 7)]


def _crowd(*more: dict[str, Any]) -> dict[str, Any]:
    """2001 packets in the second from 3 to 4 s: by turns packet 5 and packet 15."""
    sent = [{"time_ns": 3000 * MS + k * MS // 2, "segment": (5, 15)[k % 2], "len": 1000} for k in range(2001)]
    return segments(*sorted([*sent, *more], key=lambda row: row["time_ns"]))


def test_more_than_2000_events_are_one_for_each_kind_and_half_of_a_pixel() -> None:
    rows = time_sequence_rows(_crowd(), ALL, 0, 2, 1)  # four steps of time, two of numbers
    low, high = ([round(3 + k / 4 + after, 6) for k in range(4)] for after in (0, 0.0005))
    assert [(row["time"], row["segment"]) for row in rows] == [
        *(pair for a, b in zip(low, high, strict=True) for pair in ((a, 5), (b, 15))),
        (4.0, 5),
    ]
    few = {name: column[:-1] for name, column in _crowd().items()}
    assert len(time_sequence_rows(few, ALL, 0, 2, 1)) == 2000


def test_events_of_one_pixel_are_told_apart_by_kind_and_by_where_a_block_begins() -> None:
    reply = {"time_ns": 3000 * MS, "event": "dupack", "from_client": False, "segment": 5}
    blocks = [[4000, 9000], [4000, 9200], [13_900, 15_000], [4000, 5000]]
    acks = ({**reply, "ack": 5000, "window_bytes": edge, "sack": b} for edge, b in enumerate(blocks, 15_000))
    rows = time_sequence_rows(_crowd(*acks), ALL, 0, 2, 1)
    at_first = [
        (row["event"], row["segment"], *filter(None, [row.get("from")])) for row in rows if row["time"] == 3
    ]
    # 9 and 10 are in different halves of the range from 5 to 15; what is outside of it is at its ends.
    assert at_first == [
        ("send", 5),
        ("dupack", 5),
        ("window", 20),
        ("SACK", 9, 5),
        ("SACK", 10, 5),
        ("SACK", 15, 14),
    ]


def test_events_of_one_packet_number_need_no_range(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = _crowd()
    columns["segment"][:] = 7
    assert [row["time"] for row in time_sequence_rows(columns, ALL, 0, 2, 1)] == [3, 3.25, 3.5, 3.75, 4]


def test_a_curve_keeps_the_first_lowest_highest_and_last_of_each_pixel() -> None:
    time = np.arange(17.0)
    values = np.array([5.0, 1, 9, 3, 4, 2, 6, 6, 7, 0, 8, 8, 1, 2, 3, 3, 4])
    at, kept = decimate(time, values, ALL, 2)
    # The first pixel has the times before 8, the second those from 8 on, and the last time has its own.
    assert at.tolist() == [0, 1, 2, 7, 8, 9, 10, 15, 16]
    assert kept.tolist() == [5, 1, 9, 6, 7, 0, 8, 3, 4]
    few, rising = decimate(time[:8], time[:8], ALL, 2)
    assert few.tolist() == rising.tolist() == time[:8].tolist()


def test_a_curve_has_both_ends_of_the_window_and_nothing_where_no_value_is() -> None:
    at, kept = decimate(np.arange(5.0), np.array([0.0, 1.0, np.nan, 3.0, 4.0]), (1.0, 3.0), 100)
    assert (at.tolist(), kept.tolist()) == ([1, 3], [1, 3])


LINKS: Any = SimpleNamespace(
    records=SimpleNamespace(
        links=lambda _: {"left": None, "middle": None, "right": None},
        average_unit=lambda _, link: "bytes" if link == 1 else "packets",
    )
)


@pytest.mark.parametrize(
    ("link", "recorded", "found"),
    [(None, [2, 0, 1], 2), (None, [], 0), (1, [2, 0], 1), (0, [2, 1], 0), ("middle", [0], 1)],
)
def test_a_queue_is_of_the_link_named_or_of_the_first_that_was_recorded(
    link: str | int | None, recorded: list[int], found: int
) -> None:
    assert graphs._link(figure("queue", link=link), LINKS, "cell", np.array(recorded)) == found


def test_a_link_that_is_not_there_says_which_is_near() -> None:
    with pytest.raises(StudyError, match=re.escape("figures.f.link: no link 'midle'; ")) as caught:
        graphs._link(figure("queue", link="midle"), LINKS, "cell", np.array([0]))
    assert "middle" in str(caught.value)


@pytest.mark.parametrize(
    ("server", "client", "is_client"),
    [([1, 1, 1], [1, 2, 3], True), ([1, 2, 3], [1, 1, 1], False), ([1, 2], [3, 4], True)],
)
def test_the_window_drawn_is_of_the_end_whose_window_changes_more(
    server: list[int], client: list[int], is_client: bool
) -> None:
    columns = {
        "cwnd_bytes": np.array([*server, *client, 7, 8, 9, 10]),
        "from_client": np.array([False] * len(server) + [True] * len(client) + [False] * 4),
    }
    mine = np.arange(len(columns["cwnd_bytes"])) < len(server) + len(client)
    assert graphs.busy_side(columns, mine) == is_client


def _drawn(
    monkeypatch: pytest.MonkeyPatch, draw: Any, spec: Figure, *panels: dict[str, Any]
) -> tuple[dict[str, list[Any]], str]:
    recorded = [(f"cell{n}", f"panel {n}", columns) for n, columns in enumerate(panels)]
    monkeypatch.setattr(graphs, "_records", lambda *_: recorded)
    _, rows, words = draw(spec, LINKS)
    return {name: [(r["time"], r["series"], r["y"]) for r in panel] for name, panel in rows.items()}, words


def test_windows_are_drawn_in_kb_and_thresholds_only_where_they_were_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {
        "time_ns": np.array([1, 2, 3, 4, 5]) * 500 * MS,
        "connection": np.array([0, 1, 0, 0, 0]),
        "from_client": np.array([True, True, False, True, True]),
        "cwnd_bytes": np.array([4000, 9000, 1000, 6000, 3000]),
        "ssthresh_bytes": np.array([-1, 5000, 5000, 24_000, 24_001]),
    }
    rows, words = _drawn(monkeypatch, graphs.draw_windows, figure("cwnd"), columns)
    assert rows == {
        "panel0": [
            (0.5, "cwnd", 4.0),
            (2.0, "cwnd", 6.0),
            (2.5, "cwnd", 3.0),
            (2.0, "ssthresh", 24.0),
        ]
    }
    assert words == "window (kB) against time: cwnd, ssthresh"
    other, _ = _drawn(monkeypatch, graphs.draw_windows, figure("cwnd", connection=1), columns)
    assert other == {"panel0": [(1.0, "cwnd", 9.0), (1.0, "ssthresh", 5.0)]}


def test_queues_have_the_unit_of_their_average_and_no_average_that_is_always_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {
        "time_ns": np.array([1, 2, 3]) * 1000 * MS,
        "link": np.array([0, 1, 1]),
        "packets": np.array([3, 5, 6]),
        "bytes": np.array([4500, 7500, 9000]),
        "average": np.array([0.0, 2500.0, np.nan]),
    }
    rows, words = _drawn(monkeypatch, graphs.draw_queues, figure("queue", link="middle"), columns)
    assert rows == {"panel0": [(2.0, "queue", 7.5), (3.0, "queue", 9.0), (2.0, "average", 2.5)]}
    assert words == "queue (kB) against time: queue, average"
    rows, words = _drawn(monkeypatch, graphs.draw_queues, figure("queue"), columns)
    assert rows == {"panel0": [(1.0, "queue", 3.0)]}
    assert words == "queue (packets) against time: queue"
    columns["average"] = np.array([0.5, 2.0, 2.5])
    rows, words = _drawn(monkeypatch, graphs.draw_queues, figure("queue"), columns)
    assert rows == {"panel0": [(1.0, "queue", 3.0), (1.0, "average", 0.5)]}


def test_panels_share_the_time_of_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    def queue(*seconds: float) -> dict[str, Any]:
        n = len(seconds)
        time_ns = np.array(seconds) * 1e9
        return {"time_ns": time_ns, "link": np.zeros(n, int), "packets": np.arange(n), "bytes": np.arange(n)}

    def scale(**window: str) -> list[float]:
        recorded = [(f"c{n}", f"panel {n}", q) for n, q in enumerate([queue(1, 2), queue(1, 4), queue()])]
        monkeypatch.setattr(graphs, "_records", lambda *_: recorded)
        spec, _, _ = graphs.draw_queues(figure("queue", **window), LINKS)
        found = re.search(r"'domain': \[([\d.]+), ([\d.]+)\], 'nice': False", str(spec))
        assert found
        return [float(end) for end in found.groups()]

    assert scale() == [0.0, 4.0]
    assert scale(start="1s", until="3s") == [1.0, 3.0]
    assert scale(until="9s") == [0.0, 4.0]


def _sequence(
    monkeypatch: pytest.MonkeyPatch, *panels: list[tuple[float, str, int]], **keys: Any
) -> tuple[dict[str, list[Any]], str, str]:
    """The rows, the scales and the words of a time-sequence graph with these events in its panels."""
    recorded = [(f"cell{n}", f"panel {n}", events) for n, events in enumerate(panels)]
    monkeypatch.setattr(graphs, "_records", lambda *_: recorded)
    names = ("time", "event", "segment")
    monkeypatch.setattr(
        graphs, "time_sequence_rows", lambda events, *_: [dict(zip(names, e, strict=True)) for e in events]
    )
    spec, rows, words = graphs.draw_sequence(figure("time-sequence", **keys), LINKS)
    found = {name: [tuple(row[key] for key in names) for row in panel] for name, panel in rows.items()}
    scales = re.findall(r"'domain': (\[[\d., ]+\]), 'nice': False", str(spec))
    return found, " ".join(dict.fromkeys(scales)), words


def test_a_windows_edge_is_drawn_where_it_is_near_the_packets_of_any_panel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = [(0.1, "send", 2), (0.3, "window", 8), (0.2, "window", 12)]
    far = [(0.1, "send", 7), (0.2, "ack", 3), (0.2, "window", 9), (0.3, "window", 20)]
    rows, scales, words = _sequence(monkeypatch, near, far)
    assert [row for row in rows["panel0"] if row[1] == "window"] == [(0.3, "window", 8), (0.2, "window", 12)]
    assert [row[1] for row in rows["panel1"]] == ["ack", "send"]  # in drawing order
    assert scales == "[0.0, 0.3] [1, 8]"
    assert words == "time-sequence graph: packet number against time for window, ack, send"
    alone = _sequence(monkeypatch, [(0.1, "window", 1)])
    assert alone[:2] == ({"panel0": [(0.1, "window", 1)]}, "[0.0, 0.1] [0, 1]")


def test_a_time_sequence_graph_has_the_times_that_are_given_and_no_packet_below_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = [(1.5, "retransmit", 0), (2.5, "drop", 4)]
    assert _sequence(monkeypatch, events, until="4s")[1] == "[0.0, 4.0] [0, 5]"
    assert _sequence(monkeypatch, events, start="1s")[1] == "[1.0, 2.5] [0, 5]"
    with pytest.raises(StudyError, match="no packets of connection 0 from 1 to 4 s were recorded"):
        _sequence(monkeypatch, [], start="1s", until="4s")
    with pytest.raises(StudyError, match="no packets of connection 3 from 0 to inf s"):
        _sequence(monkeypatch, [], connection=3)
