"""Budgets of runs on a kernel: of traces of Linux 6.12, and of simulated runs, whose answer is known."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from budget_accuracy import budgets, inferred, modern, scenario_of, tables_of

from cwndlab.records.critical_path import PARTS, PROBES
from cwndlab_linux import run_records as records

HERE = Path(__file__).parent
SENDERS = ("limits", "states", "timeouts", "delays")


def tables_on_a_kernel(tmp_path: Path, kept: dict[str, Any], scenario: dict[str, Any]) -> dict[str, pa.Table]:
    trace = tmp_path / "trace.csv"
    trace.write_text(kept["trace"])
    return records.tables(scenario, kept["result"], trace, kept.get("watch"))[0]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Six seconds of pages and files on Linux, with the applications' writes and TCP_INFO."""
    kept = json.loads(lzma.decompress((HERE / "kept" / "modern-pages.json.xz").read_bytes()))
    scenario = dict(modern().set({"run.duration": "6s"}).plan().cells[0].compiled.scenario)
    scenario["probes"] = {**scenario["probes"], **PROBES}
    return scenario, tables_on_a_kernel(tmp_path_factory.mktemp("pages"), kept, scenario)


def check(scenario: dict[str, Any], tables: dict[str, pa.Table]) -> Counter[str]:
    """Budgets add up; the seconds by part."""
    seconds: Counter[str] = Counter()
    found = list(budgets(scenario, tables))
    assert sum(budget.kind == "connection" for budget in found) > 0.9 * tables["connections"].num_rows
    for budget in found:
        assert sum(budget.parts.values()) == budget.end_ns - budget.start_ns
        assert min(budget.parts.values(), default=1) > 0
        assert budget.parts.keys() <= PARTS.keys()
        if budget.kind == "page":
            seconds.update({part: spent / 1e9 for part, spent in budget.parts.items()})
    return seconds


KEPT = sorted((HERE.parents[1] / "linux/tests/kept").glob("*.json.xz"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name.partition(".")[0])
def test_budgets_of_a_kernels_traces_add_up_even_if_nothing_is_known_of_the_applications(
    tmp_path: Path, path: Path
) -> None:
    kept = json.loads(lzma.decompress(path.read_bytes()))
    known = scenario_of("rfc2415", {"webs": 8, "ftps": 0, "iw": 3})["tcp"][0]
    kept["scenario"]["tcp"] = [known] * len(kept["scenario"]["tcp"])
    check(kept["scenario"], tables_on_a_kernel(tmp_path, kept, kept["scenario"]))


def test_a_kernels_pages_spend_their_time_where_they_must(
    pages: tuple[dict[str, Any], dict[str, pa.Table]],
) -> None:
    seconds = check(*pages)
    assert seconds["handshake"] > 0 and seconds["queueing"] > 0 and seconds["recovery"] > 0
    # The ends follow one another without a gap, as in the simulator.
    for name in ("limits", "states"):
        last: dict[tuple[int, bool], int] = {}
        for row in pages[1][name].to_pylist():
            key = (row["connection"], row["from_client"])
            assert last.get(key, row["from_ns"]) == row["from_ns"] < row["to_ns"]
            last[key] = row["to_ns"]


def test_the_inference_agrees_with_what_the_kernel_counted(
    pages: tuple[dict[str, Any], dict[str, pa.Table]],
) -> None:
    tables = pages[1]
    counted = tables["tcp_info"].to_pylist()
    expired = sum(row["timer"] == "rto" for row in tables["timeouts"].to_pylist())
    assert expired == sum(row["total_rto"] for row in counted)
    limited = [row for row in tables["limits"].to_pylist() if row["limit"] == "receive-window"]
    assert sum(row["to_ns"] - row["from_ns"] for row in limited) == pytest.approx(
        sum(row["rwnd_limited_ns"] for row in counted), rel=0.3
    )
    assert sum(row["rwnd_limited_ns"] for row in counted) > 1e9


def test_a_simulated_run_whose_senders_are_inferred_has_nearly_its_true_budget() -> None:
    scenario = scenario_of("rfc2415", {"webs": 8, "ftps": 1, "iw": 3, "model": "reconstructed"}, 15)
    known = tables_of(scenario)
    truth, found = budgets(scenario, known), budgets(scenario, inferred(scenario, known))
    total = sum(budget.end_ns - budget.start_ns for budget in truth)
    apart: Counter[str] = Counter()
    for a, b in zip(truth, found, strict=True):
        assert (a.kind, a.index, a.start_ns, a.end_ns) == (b.kind, b.index, b.start_ns, b.end_ns)
        for part in PARTS:
            apart[part] += abs(a.parts.get(part, 0) - b.parts.get(part, 0))
    exact = ("handshake", "rto-handshake", "delivery", "rto-repeated", "closing")
    assert all(apart[part] == 0 for part in exact)
    assert all(
        apart[part] < 0.01 * total for part in ("request", "server", "queueing", "serialization", "rto")
    )
    assert sum(apart.values()) < 0.1 * total
