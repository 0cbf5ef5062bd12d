"""Conversations and failures in the record tables of a run, and how its flow is chosen, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cwndlab.apps.diagnosis import explanation, from_records
from cwndlab.apps.diagnosis.conversation import Drop
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.apps.diagnosis.from_records import conversations, with_failures
from cwndlab.base.errors import NotFoundError

MS = 1_000_000
LINK = {"name": "neck", "from": 0, "to": 1, "rate_bps": 8_000_000, "delay_ns": MS, "impairments": []}
SCENARIO: dict[str, Any] = {
    "nodes": ["a", "b"],
    "routes": [],
    "links": [
        LINK | {"queue": {"kind": "drop-tail", "limit": 9}},
        LINK | {"from": 1, "to": 0, "queue": {"kind": "codel"}},
    ],
    "traffic": [
        {"name": "web", "client": 0, "server": 1, "tcp_client": 0, "tcp_server": 1},
        {"name": "bulk", "client": 1, "server": 0, "tcp_client": 0, "tcp_server": 1},
    ],
    "tcp": [{"mss": 1460, "window_law": "cubic"}, {"mss": 1000, "window_law": {"bbr1": {}}}],
}
SEGMENTS = (
    "time_ns",
    "event",
    "connection",
    "from_client",
    "seq",
    "len",
    "ack",
    "window_bytes",
    "flags",
    "sack",
)
MORE = ("ts_val", "ts_ecr", "ip_id", "link", "cause")


def table(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    columns = {}
    for k, name in enumerate(names):
        column = np.empty(len(rows), object)
        column[:] = [row[k] for row in rows]
        plain = all(isinstance(value, int | bool) for value in column) and len(rows) > 0
        columns[name] = np.array(column.tolist()) if plain else column
    return columns


def columns(segments: list[tuple[Any, ...]], **tables: Any) -> Any:
    made = {
        "connections": {
            "connection": np.array([4, 5, 6]),
            "traffic": np.array([0, 0, 1]),
            "client": np.array([0, 0, 1]),
        },
        "segments": table((*SEGMENTS, *MORE), segments),
        "limits": table(("connection", "from_client", "from_ns", "to_ns", "limit"), []),
        **tables,
    }
    return made.__getitem__


ROWS: list[tuple[Any, ...]] = [
    (10, "send", 4, True, 0, 1000, 0, 500, 16, None, 7, None, 1, None, None),
    (11, "drop", 4, True, 0, 1000, 0, 500, 16, None, 7, None, 1, 0, "full"),
    (12, "send", 4, True, 0, 1000, 0, 500, 16, None, 8, None, 2, None, None),
    (13, "mark", 4, True, 0, 1000, 0, 500, 16, None, 8, None, 2, 0, "aqm"),
    (14, "drop", 4, False, 0, 0, 9, 500, 16, None, None, None, 3, 1, "loss"),
    (15, "receive", 4, False, 0, 0, 1000, 600, 16, [1, 2, 5, 6], 3, 8, 4, None, None),
    (16, "send", 5, True, 0, 700, 0, 500, 0, None, None, None, 1, None, None),
]


def test_a_connection_is_read_with_its_drops() -> None:
    one, *others = conversations(columns(ROWS), SCENARIO, 0, 0)
    assert others == [] and one.notes == ["1 connection of datagrams left out"]
    assert (one.name, one.serial, one.mss, one.seen_at) == ("web, connection 4, a > b", 4, 1000, "sender")
    assert [(packet.time_ns, packet.out, packet.len, packet.ack) for packet in one.packets] == [
        (10, True, 1000, 0),
        (12, True, 1000, 0),
        (15, False, 0, 1000),
    ]
    assert one.packets[0].drop == Drop(11, "neck", "the queue was full (9 of 9 packets)")
    assert one.packets[1].drop is None
    last = one.packets[2]
    assert (last.sack, last.window, last.ts_val, last.ts_ecr) == (((1, 2), (5, 6)), 600, 3, 8)
    assert one.drops_known and one.known is None
    assert one.bottleneck is not None and one.bottleneck.buffer == "9 packets"
    from_server = conversations(columns(ROWS), SCENARIO, 0, 1)[0]
    assert from_server.name == "web, connection 4, b > a" and from_server.mss == 1000
    assert [packet.out for packet in from_server.packets] == [False, False, True]


def test_without_data_a_segment_has_the_configured_size() -> None:
    (one,) = conversations(columns(ROWS), SCENARIO, 1, 1)
    assert (one.name, one.packets, one.mss) == ("bulk, connection 6, b > a", [], 1460)


def test_the_state_of_a_simulated_sender_is_known() -> None:
    limits = [
        (4, True, 50, 90, "cwnd"),
        (4, True, 0, 50, "idle"),
        (4, False, 0, 90, "idle"),
        (5, True, 0, 90, "rto"),
    ]
    timeouts = [(4, True, 70, "rto", 20, 1), (4, False, 75, "rto", 20, 1)]
    windows = [(4, True, 5, 9000, -1), (5, True, 6, 1000, -1)]
    tables = {
        "limits": table(("connection", "from_client", "from_ns", "to_ns", "limit"), limits),
        "timeouts": table(("connection", "from_client", "time_ns", "timer", "set_ns", "backoffs"), timeouts),
        "cwnd": table(("connection", "from_client", "time_ns", "cwnd_bytes", "ssthresh_bytes"), windows),
    }
    known = conversations(columns(ROWS, **tables), SCENARIO, 0, 0)[0].known
    assert known is not None and known.limits == [(0, 50, "idle"), (50, 90, "cwnd")]
    assert (known.timers, known.windows, known.law) == ({70: ("rto", 20, 1)}, [(5, 9000, -1)], "cubic")
    served = conversations(columns(ROWS, **tables), SCENARIO, 0, 1)[0].known
    assert served is not None and served.law == "bbr1" and served.timers == {75: ("rto", 20, 1)}
    assert conversations(columns(ROWS, **tables), SCENARIO, 0, 0, simulated=False)[0].known is None


@pytest.mark.parametrize("failed", [0, 1, 4, 5, 7])
def test_up_to_four_failed_connections_are_named(failed: int) -> None:
    rows = [(0, k, "refused", float("nan") if k else 2_500_000_000.0) for k in range(failed)] + [
        (1, 9, "other", 1.0)
    ]
    failures = table(("traffic", "connection", "reason", "end_ns"), rows)
    failures |= {"traffic": np.array([row[0] for row in rows]), "end_ns": np.array([row[3] for row in rows])}
    found = with_failures(Diagnosis({}, (), ("before",)), columns([], failures=failures), 0)
    notes = [
        "connection 0 failed at 2.500000 s: refused",
        *(f"connection {k} failed: refused" for k in (1, 2, 3)),
    ]
    more = [f"{failed - 4} more connections failed"] if failed > 4 else []
    assert found.notes == (*notes[:failed], *more, "before")
    assert from_records.NAMED == 4


def test_a_flow_is_chosen_by_its_name_or_is_the_first_of_tcp() -> None:
    def entry(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "app": {"kind": "bulk"}, "client": 0, "server": 1, **more}

    entries = [
        entry("noise", app={"kind": "poisson"}),
        entry("quic", stack={"stack": "quinn"}),
        entry("web.1"),
        entry("web.2"),
    ]
    assert [explanation._traffic(entries, flow) for flow in (None, "web", "web.2", "quic")] == [2, 2, 3, 1]
    assert explanation._traffic(entries[:2], None) == 1
    for flow in ("noise", "none"):
        with pytest.raises(NotFoundError):
            explanation._traffic(entries, flow)


def test_a_run_is_repeated_with_the_probes_that_its_kind_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    empty = columns(ROWS, failures={"traffic": np.array([])})
    view: Any = SimpleNamespace(columns=empty, scenario="again")
    view.table = lambda name: SimpleNamespace(to_pylist=lambda: [name])

    def view_again(source: Any, cell: str, replicate: int, probes: Any, changes: Any = None) -> Any:
        asked.append((cell, replicate, probes, changes))
        return view

    monkeypatch.setattr(explanation, "view_again", view_again)
    monkeypatch.setattr(
        explanation, "diagnose_outside", lambda *words: Diagnosis({"cwnd": 1.0}, (), ("outside",))
    )
    monkeypatch.setattr(explanation, "diagnose_program", lambda *words: words[1:])
    monkeypatch.setattr(explanation, "is_datagrams", lambda columns, traffic: datagrams)
    monkeypatch.setattr(
        explanation, "diagnose", lambda found, at_s, longest: Diagnosis({}, (), (f"{len(found)} of TCP",))
    )
    monkeypatch.setattr(
        explanation, "conversations", lambda columns, scenario, traffic, node, simulated: [simulated]
    )

    def explained(kind: str, backend: str = "", **more: Any) -> Any:
        traffic = [{"name": "x", "client": 0, "server": 1, "app": {"kind": kind}, **more}]
        source: Any = SimpleNamespace(scenario=lambda cell: {"traffic": traffic}, backend=backend)
        return explanation.explain_run(source, "cell", 3, None, 1.5, 4)

    datagrams = False
    base = {"connections": True, "states": True, "cwnd": True, "segments_at": 0}
    assert explained("bulk").notes == ("1 of TCP",) and asked[-1] == (
        "cell",
        3,
        base | {"limits": True},
        None,
    )
    assert explained("bulk", stack={"stack": "quinn"}).notes == ("outside",) and asked[-1][2] == base
    assert explained("program", backend="linux").notes == ("1 of TCP",)
    assert asked[-1][3]["traffic"][0]["app"]["environment"] == {"QLOGDIR": "."}
    datagrams = True
    assert explained("program", backend="linux") == (["logs"], "again", 0, 0, 1.5, 4)
