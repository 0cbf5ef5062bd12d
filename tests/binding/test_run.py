"""Runs from Python: the same bytes whatever the threads, tables without a copy, refusals as Python errors."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cwndlab import _core
from cwndlab.api import Study

Make = Callable[..., dict[str, Any]]


def tables(records: _core.Records) -> dict[str, pa.Table]:
    return {name: pa.table(records[name]) for name in records.names}


def test_a_transfer_leaves_every_table_behind(scenario: Make) -> None:
    records = _core.run(json.dumps(scenario()), 1, 0)
    found = tables(records)
    unasked = ["connection_snapshots", "object_snapshots", "link_snapshots"]
    unasked += ["limits", "states", "timeouts", "delays", "accecn", "failures"]
    assert list(found) == ["segments", "connections", "objects", "links", "queues", "cwnd", *unasked]
    assert all(table.num_rows > 0 for name, table in found.items() if name not in ("objects", *unasked))
    assert not any(found[name].num_rows for name in unasked)
    [connection] = found["connections"].to_pylist()
    assert connection["bytes_up"] == 300_000 and not connection["failed"]
    assert (connection["client"], connection["server"]) == (0, 2)
    assert found["links"]["arrivals"].to_pylist()[0] == found["links"]["arrivals"].to_pylist()[1]
    total = records.summary
    assert total["injected"] == total["delivered"] + total["dropped"] + total["in_flight"]
    assert records.packets == total["hops"] > 600


def test_a_snapshot_has_what_a_run_has_that_ends_just_before_it(scenario: Make) -> None:
    made = scenario()
    made["traffic"][0]["app"]["bytes"] = None
    made["links"][1]["queue"] = {
        "kind": "red",
        "limit": 30,
        "min_th": 3,
        "max_th": 9,
        "max_p": 0.1,
        "w_q": 0.02,
    }
    long, warm, short = (
        tables(_core.run(json.dumps(made | times), 1, 0))
        for times in (
            {"duration_ns": 30_000_000_000},
            {"duration_ns": 30_000_000_000, "windows": {"late": [10_000_000_000, 20_000_000_000]}},
            {"duration_ns": 10_000_000_000 - 1},
        )
    )
    for name in ("connections", "links"):
        both = warm[f"{name[:-1]}_snapshots"]
        assert set(both["time_ns"].to_pylist()) == {10_000_000_000, 20_000_000_000}
        before = both.filter(pc.equal(both["time_ns"], 10_000_000_000)).drop_columns("time_ns").to_pylist()
        there = short[name].to_pylist()
        assert len(before) == len(there) > 0
        for snapshot, end in zip(before, there, strict=True):
            # the last nanosecond counts only in the time that a link was busy or its average somewhere
            for key, value in snapshot.items():
                assert value == end[key] or value == pytest.approx(end[key], rel=1e-9), key
        assert warm[name] == long[name], "a window must not change the run"
    assert warm["link_snapshots"]["red_between_ns"][1].as_py() > 0


def test_segments_tell_what_the_connection_counted(scenario: Make) -> None:
    found = tables(_core.run(json.dumps(scenario()), 1, 0))
    [connection] = found["connections"].to_pylist()
    rows = found["segments"].to_pylist()
    count = {event: sum(row["event"] == event for row in rows) for event in ("retransmit", "drop", "dupack")}
    assert count["retransmit"] == connection["retransmits"] > 0
    assert count["drop"] == sum(found["links"]["drops_full"].to_pylist()) > 0
    assert count["dupack"] >= 3 * connection["fast_retransmits"] > 0
    assert max(row["seq"] + row["len"] for row in rows if row["sent"] and row["len"]) == 300_000
    assert max(row["segment"] for row in rows if row["len"]) == -(-300_000 // 1460)


def test_the_same_seed_gives_the_same_bytes_on_two_threads(scenario: Make) -> None:
    lossy = scenario()
    lossy["links"][1]["impairments"] = [{"kind": "bernoulli", "p": 0.02}]
    ready = _core.Scenario(json.dumps(lossy))
    alone = [tables(ready.run(7, k)) for k in range(4)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda k: tables(ready.run(7, k)), reversed(range(4))))
    assert alone == together[::-1]
    assert alone[0]["segments"] != alone[1]["segments"], "replicates must differ"


def test_tables_are_shared_with_arrow_not_copied(scenario: Make) -> None:
    records = _core.run(json.dumps(scenario()), 1, 0)
    first, second = (pa.table(records["segments"])["seq"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second


def test_duckdb_takes_a_table_as_it_is(scenario: Make) -> None:
    segments = _core.run(json.dumps(scenario()), 1, 0)["segments"]
    assert len(segments) > 0  # DuckDB finds the table by its Python name
    [(count,)] = duckdb.sql("select count(*) from segments where event = 'send'").fetchall()
    assert count >= -(-300_000 // 1460)


def test_a_run_does_not_hold_the_gil(scenario: Make) -> None:
    long = scenario()
    long["traffic"][0]["app"]["bytes"] = None
    long["duration_ns"] = 1_000_000_000_000
    long["probes"] = {}
    run = threading.Thread(target=_core.run, args=(json.dumps(long), 1, 0))
    run.start()
    ticks = 0
    while run.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 5


def test_nodes_that_are_not_connected_are_refused(scenario: Make) -> None:
    broken = scenario()
    del broken["links"][1]
    broken["probes"]["queues"] = []
    with pytest.raises(ValueError, match="receiver"):
        _core.run(json.dumps(broken), 1, 0)


def test_a_table_that_is_not_there_is_refused_with_the_names_there_are(scenario: Make) -> None:
    with pytest.raises(KeyError, match=r"there is no table .*; there are segments, connections"):
        _core.run(json.dumps(scenario()), 1, 0)["packets"]


def test_the_counters_of_accecn_are_what_the_queue_marked_and_what_was_delivered() -> None:
    def last(ecn: str) -> tuple[dict[str, Any], dict[str, Any]]:
        raw = {
            "title": "marks",
            "measure": ["goodput"],
            "dumbbell": {
                "rate": "20Mbps",
                "rtt": "20ms",
                "buffer": 2,
                "queue": {"kind": "dualpi2"},
                "flows": [{"name": "flow", "cc": "prague", "tcp": {"ecn": ecn}}],
            },
            "run": {"duration": "3s", "warmup": "0s", "seed": 1},
            "probes": {"accecn": True},
        }
        [cell] = Study.from_dict(raw, name="marks").plan().cells
        records = _core.run(cell.scenario, 1, 0)
        rows, [connection] = (pa.table(records[name]).to_pylist() for name in ("accecn", "connections"))
        return rows[-1], connection

    counters, connection = last("accecn-ect1")
    assert counters["ce_packets"] > 100 and abs(counters["ce_packets"] - connection["marks"]) <= 2
    assert counters["ce_bytes"] == 1436 * counters["ce_packets"] and counters["ect0_bytes"] == 0
    delivered = counters["ce_bytes"] + counters["ect1_bytes"]
    assert 0 <= connection["bytes_up"] - delivered < 60_000, "but for what is under way"
    counters, _ = last("accecn-flags")
    assert counters["ce_packets"] > 0 and counters["ce_bytes"] is None, "without the option"
