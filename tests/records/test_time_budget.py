"""Budgets of time: of runs whose answer is known, and of every study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from budget_accuracy import Budget, budgets, tables_of

from cwndlab import Study, _core
from cwndlab.base.arrow_tables import read_table
from cwndlab.base.core import BUDGET_TABLES, time_budgets
from cwndlab.records.critical_path import PARTS
from cwndlab.study.document import shipped_studies

MS = 1_000_000
DROP: dict[str, Any] = {"kind": "drop-nth"}


def one_file(bytes_: int, link: dict[str, Any] | None = None, **tcp: Any) -> Budget:
    """The budget of one file: 10 Mb/s, 100 ms, every segment acknowledged, an initial window of 1."""
    study = Study.build(
        "a file",
        topology={
            "nodes": ["client", "server"],
            "links": [
                {
                    "name": "wire",
                    "between": ["client", "server"],
                    "rate": "10Mbps",
                    "delay": "50ms",
                    "queue": {"kind": "infinite"},
                    **(link or {}),
                }
            ],
        },
        traffic=[
            {
                "name": "file",
                "client": "client",
                "server": "server",
                "app": {
                    "kind": "ftp",
                    "file_bytes": {"kind": "fixed", "value": bytes_},
                    "request_bytes": {"kind": "fixed", "value": 100.0},
                    "clock": "syn",
                },
            }
        ],
        tcp={"profile": "rfc5681", "mss": "1000B", "initial_window": 1, "ack_policy": "every", **tcp},
        run={"duration": "20s"},
    )
    scenario = json.loads(study.plan().cells[0].scenario)
    return budgets(scenario, tables_of(scenario), "file")[0]


def milliseconds(budget: Budget) -> dict[str, int]:
    """Its parts of at least 1 ms, without transmissions and their queue."""
    assert budget.parts["serialization"] + budget.parts.get("queueing", 0) < 10 * MS
    kept = {part: round(spent / MS) for part, spent in budget.parts.items() if spent >= MS}
    return {part: spent for part, spent in kept.items() if part not in ("serialization", "queueing")}


def test_a_file_of_seven_segments_costs_a_handshake_a_request_and_two_rounds() -> None:
    known = {"handshake": 100, "request": 50, "slow-start": 200, "delivery": 50}
    assert milliseconds(one_file(7000)) == known


def test_a_receive_window_of_one_segment_costs_a_round_for_each_further_one() -> None:
    found = milliseconds(one_file(5000, initial_window=10, receive_buffer="1000B", window_scale=False))
    assert found == {"handshake": 100, "request": 50, "receive-window": 400, "delivery": 50}


def test_a_lost_syn_and_a_lost_request_wait_for_their_timeouts() -> None:
    timer = {"rto": {"initial": "1s", "min": "1s", "tick": "0ms"}}
    syn = milliseconds(one_file(1000, {"forward": {"impairments": [DROP | {"packets": [1]}]}}, **timer))
    assert syn == {"rto-handshake": 1000, "handshake": 100, "request": 50, "delivery": 50}
    # Packets 2 and 3 are the request and the ACK of the SYN-ACK, 4 the request again.
    request = milliseconds(
        one_file(1000, {"forward": {"impairments": [DROP | {"packets": [2, 3, 4]}]}}, **timer)
    )
    assert request == {"rto": 1000, "rto-repeated": 2000, "handshake": 100, "request": 50, "delivery": 50}


@pytest.mark.parametrize("name", shipped_studies())
def test_budgets_of_every_study_add_up_to_the_durations(name: str) -> None:
    cells = Study.load(name).plan().cells
    for cell in cells[:: max(1, len(cells) // 3)][:3]:
        scenario = json.loads(cell.scenario)
        scenario |= {"duration_ns": min(scenario["duration_ns"], 1_000 * MS), "windows": {}}
        for budget in budgets(scenario, tables_of(scenario)):
            assert sum(budget.parts.values()) == budget.end_ns - budget.start_ns
            assert min(budget.parts.values(), default=1) > 0
            assert budget.parts.keys() <= PARTS.keys()
            if budget.kind != "connection":
                assert budget.parts.get("client", 0) < budget.end_ns - budget.start_ns


def test_the_reference_describes_every_part() -> None:
    guide = (Path(__file__).parents[2] / "docs/reference/waits.md").read_text()
    for part, words in PARTS.items():
        assert f"| `{part}` | {words} |" in guide


def test_budgets_do_not_depend_on_how_the_tables_are_cut() -> None:
    study = Study.load(shipped_studies()["rfc2884"])
    scenario = json.loads(study.plan().cells[0].scenario)
    tables = tables_of(scenario)
    whole = time_budgets(tables.__getitem__, scenario, scenario["duration_ns"])

    def cut(name: str) -> pa.Table:
        table = tables[name]
        return pa.concat_tables([table.slice(0, 3), table.slice(3, 6), table.slice(9)])

    assert whole.num_rows > 1 and any(tables[name].num_rows > 20 for name in BUDGET_TABLES)
    assert time_budgets(cut, scenario, scenario["duration_ns"]).equals(whole)


def test_a_table_shares_its_memory_with_numpy_and_arrow() -> None:
    scenario = json.loads(Study.load(shipped_studies()["rfc2416"]).plan().cells[0].scenario)
    table = _core.run(json.dumps(scenario), 1, 0)["links"]
    kind, values, _ = table.column("bytes") or ("", b"", None)
    arrow = read_table(table).column("bytes").chunk(0)
    assert np.frombuffer(values, kind).ctypes.data == arrow.buffers()[1].address
