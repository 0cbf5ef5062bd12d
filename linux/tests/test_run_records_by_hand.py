"""Tables of a kernel's run that are made of its result, and the times of its capture, by hand."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cwndlab import _core
from cwndlab_linux import run_records
from cwndlab_linux.senders import ReadingRules

CONNECTIONS = pa.table({"connection": [4, 7, 9], "traffic": [0, 1, 0]})


def test_the_connections_of_an_entry_are_in_the_order_of_opening() -> None:
    assert run_records._serials(CONNECTIONS) == {0: [4, 9], 1: [7]}


def test_counters_of_the_kernel_are_of_the_connections_that_the_trace_has() -> None:
    schema = run_records.TCP_INFO_SCHEMA
    counters = [5] * (len(schema) - 2)
    for k, field in enumerate(list(schema)[2:]):
        if pa.types.is_boolean(field.type):
            counters[k] = True
    rows = [
        [0, 1, False, *counters],
        [1, 0, True, *counters],
        [1, 1, True, *counters],
        [2, 0, True, *counters],
    ]
    found = run_records._kernel_counts(rows, CONNECTIONS)
    assert [tuple(row.values())[:2] for row in found.to_pylist()] == [(7, True), (9, False)]
    assert found.schema == schema


def tcp(**changes: Any) -> dict[str, Any]:
    return {**json.loads(_core.tcp_profile("linux-6")), **changes}


def test_rules_of_an_end_follow_from_the_study_and_the_kernels_sysctls() -> None:
    entry = {"client": 2, "server": 0, "tcp_client": 0, "tcp_server": 1}
    settings = [
        tcp(max_window={"segments": 4}, receive_buffer_bytes=50_000),
        tcp(receive_buffer_bytes=50_000),
    ]
    sysctls = {"2": {"ipv4.tcp_early_retrans": "0"}, "0": {"ipv4.tcp_early_retrans": "4"}}
    found = run_records._settings({"traffic": [entry], "tcp": settings}, {"sysctls": sysctls})
    assert found == {
        (0, True): ReadingRules(max_window=True, probes=False),
        (0, False): ReadingRules(max_window=False, probes=True),
    }
    plain = run_records._settings({"traffic": [entry], "tcp": [tcp(), tcp()]}, {})
    assert set(plain.values()) == {ReadingRules(max_window=False, probes=True)}


def test_digests_are_of_the_packets_and_of_each_program(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_bytes(b"packets")
    process = {"command": "iperf3 -s", "node": "b", "exit_code": 0}
    one = run_records.digests(trace, [process])
    assert list(one) == ["its packets", "`iperf3 -s` at b"] and len(set(one.values())) == 2
    other = run_records.digests(trace, [process | {"exit_code": 1}])
    assert other["its packets"] == one["its packets"] and other["`iperf3 -s` at b"] != one["`iperf3 -s` at b"]


def test_logs_are_those_of_programs_by_their_traffic_and_end(tmp_path: Path) -> None:
    for name in ("a-b-client/x.qlog", "a-b-server/y.sqlog", "c-client/other.txt"):
        path = tmp_path / "programs/cell" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(name.encode())
    found = run_records.logs(tmp_path, [{"name": "c"}, {"name": "a-b"}])
    assert [(row["traffic"], row["end"], row["name"]) for row in found.to_pylist()] == [
        (1, "client", "x.qlog"),
        (1, "server", "y.sqlog"),
    ]
    assert found.schema == run_records.LOGS_SCHEMA and found.to_pylist()[0]["content"] == b"a-b-client/x.qlog"


def block(kind: int, *words: int) -> bytes:
    length = 12 + 4 * len(words)
    return struct.pack(f"<II{len(words)}II", kind, length, *words, length)


def test_the_times_of_packets_count_from_zero_and_other_blocks_stay(tmp_path: Path) -> None:
    """Times are two words, the higher one first, behind the number of the interface."""
    capture = tmp_path / "c.pcapng"
    other = block(1, 9, 9, 9, 9)
    capture.write_bytes(other + block(6, 0, 2, 5, 77) + other + block(6, 3, 1, 7, 88))
    run_records.set_zero(capture, (1 << 32) + 6)
    assert capture.read_bytes() == other + block(6, 0, 0, (1 << 32) - 1, 77) + other + block(6, 3, 0, 1, 88)


@pytest.mark.parametrize(
    ("observed", "watch", "port", "segments", "first"),
    [
        (1, None, 1, True, False),
        (1, 0, 1, True, False),
        (None, None, None, False, False),
        (None, 2, 0, False, True),
    ],
)
def test_segments_are_those_observed_or_the_first_of_the_watched_host(
    monkeypatch: pytest.MonkeyPatch,
    observed: int | None,
    watch: int | None,
    port: int | None,
    segments: bool,
    first: bool,
) -> None:
    asked: list[int | None] = []
    rows = run_records.FIRST_SEGMENTS_ROWS + 5

    def read(scenario: Any, result: Any, trace: Path, *, observed: int | None) -> Any:
        asked.append(observed)
        return {"segments": pa.table({"k": list(range(rows))}), "connections": CONNECTIONS}, 7

    monkeypatch.setattr(run_records, "observed_port", lambda scenario, nodes: observed)
    monkeypatch.setattr(run_records, "_read", read)
    monkeypatch.setattr(run_records, "_of_senders", lambda *words: {"delays": None})
    result = {"ports": [[2, []], [0, []]]}
    made, zero = run_records.tables({}, result, Path(), watch)
    assert (asked, zero, "segments" in made, run_records.FIRST_SEGMENTS in made) == (
        [port],
        7,
        segments,
        first,
    )
    assert ("delays" in made) is (watch is not None)
    if first:
        assert len(made[run_records.FIRST_SEGMENTS]) == run_records.FIRST_SEGMENTS_ROWS
    for probes in ({"limits": True}, {"states": True}):
        assert "delays" in run_records.tables({"probes": probes}, result, Path())[0]
    assert {run_records.TCP_INFO, run_records.PROGRAMS}.isdisjoint(made)
    process = {field.name: None if field.nullable else 0 for field in run_records.PROGRAMS_SCHEMA}
    process |= {
        "traffic": 0,
        "end": "client",
        "node": "b",
        "command": "x",
        "start_ns": 1,
        "stdout": "",
        "stderr": "",
    }
    more = run_records.tables({}, {**result, "processes": [process]}, Path())[0]
    assert len(more[run_records.PROGRAMS]) == 1


def test_writes_are_those_of_connections_on_the_clock_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def infer(segments: Any, connections: Any, writes: Any, *more: Any) -> dict[str, Any]:
        asked.update(writes=writes, end_ns=more[1], answer_ns=more[2])
        return {"limits": "l"}

    monkeypatch.setattr(run_records, "_read", lambda *words, **keys: ({"segments": 1, "delays": "d"}, 0))
    monkeypatch.setattr(run_records.senders, "infer", infer)
    monkeypatch.setattr(run_records, "_settings", lambda scenario, result: {})
    empty = pa.table({"x": [1]})
    made = {"connections": CONNECTIONS, **dict.fromkeys(run_records.senders.TABLES, empty)}
    writes = [
        [0, 1, True, 150, 10],
        [0, 1, True, 90, 20],
        [0, 2, True, 150, 30],
        [5, 0, True, 150, 40],
        [1, 0, False, 107, 50],
    ]
    result = {"router_start_ns": 100, "writes": writes}
    for virtual, answer_s in ((True, run_records.VIRTUAL_ANSWER_S), (False, run_records.ANSWER_S)):
        found = run_records._of_senders({"duration_ns": 9}, result | {"virtual": virtual}, Path(), made, 7)
        assert found == {"delays": "d", "limits": "l"}
        assert asked == {
            "writes": {(9, True): [(43, 10), (0, 20)], (7, False): [(0, 50)]},
            "end_ns": 9,
            "answer_ns": round(answer_s * 1e9),
        }
