"""The shipped study rfc2884: its cells, and what a short run of each workload shows."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cwndlab
from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.plan.plan import Cell
from cwndlab.records.run_view import WholeRun
from cwndlab.records.window import RunView


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.load("rfc2884")


def cell(study: Study, **axes: Any) -> Cell:
    [found] = [c for c in study.plan().cells if c.axes == axes]
    return found


def measured(study: Study, scenario: Cell, replicate: int = 0) -> dict[str, Any]:
    view = WholeRun(_core.run(scenario.scenario, 2884, replicate), scenario.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


def test_the_memos_transactions_run_for_an_hour_a_cell_and_its_transfers_ten_times(study: Study) -> None:
    plan = study.plan()
    memo = [one for one in plan.cells if one.axes.get("recovery") and one.axes.get("path") == "one-way"]
    for one in memo:
        if one.axes["workload"] == "transactions":
            start_ns, end_ns = one.compiled.scenario["windows"]["measured"]
            assert (end_ns - start_ns) * plan.count_replicates(one) == 3600 * 10**9
        else:
            assert plan.count_replicates(one) == 10
    assert len(memo) == 3 * 18 + 3 * 4 * 18


def test_replicates_asked_for_hold_in_every_cell(study: Study) -> None:
    plan = study.plan(replicates=3)
    assert {plan.count_replicates(one) for one in plan.cells} == {3}


def test_both_transfers_end_within_the_run(study: Study) -> None:
    for flows in (2, 10):
        one = cell(study, workload="bulk", recovery="reno", path="one-way", flows=flows, max_p=0.5)
        view = WholeRun(_core.run(one.scenario, 2884, 0), one.compiled.scenario)
        assert np.asarray(view.columns("objects")["finished"]).tolist() == [True, True]


def test_packets_of_the_ecn_flow_are_marked_and_those_of_the_others_dropped(study: Study) -> None:
    one = cell(study, workload="fairness", background="plain", flows=2, max_p=0.1)
    view = WholeRun(_core.run(one.scenario, 2884, 0), one.compiled.scenario)
    rows = view.columns("connections")
    names = [view.scenario["traffic"][entry]["name"].split(".")[0] for entry in rows["traffic"]]
    for name, marks, drops in zip(names, rows["marks"], rows["drops"], strict=True):
        assert (marks > 50 and drops < 5) if name == "ecn" else (marks == 0 and drops > 50)


def test_red_in_the_class_reports_where_its_average_was(study: Study) -> None:
    found = measured(study, cell(study, workload="fairness", background="plain", flows=2, max_p=0.1))
    assert found["red_between"] > 95 and 0 <= found["red_above"] < 5
    assert found["red_between"] + found["red_above"] <= 100 + 1e-9
    assert 0.9 < found["jain"] < 1


def test_a_window_of_the_non_ecn_transfer_loses_several_packets_now_and_then(study: Study) -> None:
    """The memo does "not notice multiple drops within a single window of data"."""
    found = measured(study, cell(study, workload="bulk", recovery="reno", path="one-way", flows=2, max_p=0.1))
    assert 5 < found["plain_several_drops"] < 20
    assert found["plain_fast_retransmits"] < 0.9 * found["plain_recoveries"]


def test_transactions_of_both_clients_are_counted(study: Study) -> None:
    found = measured(
        study,
        cell(study, workload="transactions", recovery="sack", path="one-way", size=5, flows=5, max_p=0.1),
    )
    assert 0.5 < found["plain_rate"] < 5 and 0.5 < found["ecn_rate"] < 5
    assert found["plain_timeouts"] > found["ecn_timeouts"]
    assert np.isnan(found["ecn_throughput"])


def test_triple_duplicate_acks_are_those_that_tcptrace_counts(study: Study, tmp_path: Path) -> None:
    """The memo's count of fast retransmits: of each connection in a capture at the server."""
    if shutil.which("tcptrace") is None:
        pytest.skip("tcptrace is not installed")
    one = cell(study, workload="traced")
    records = _core.run(one.scenario, 2884, 0)
    records.write_trace(tmp_path / "server.pcapng", "pcapng")
    command = ["tcptrace", "-nlr", str(tmp_path / "server.pcapng")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counted = [int(line.split(":")[-1]) for line in text.splitlines() if "triple dupacks:" in line]
    view = RunView(WholeRun(records, one.compiled.scenario), 0, 60 * 10**9)
    metric = metrics.get("triple_duplicate_acks")
    found = [metric.measure(view, traffic=name) for name in ("background", "ecn", "plain")]
    assert [sum(counted[:5]), *counted[5:]] == found
    assert min(found[0], found[2]) > 10


def test_a_part_of_the_study_ends_in_a_report(tmp_path: Path) -> None:
    """Three runs of two cells; claims about cells that were not asked for are left out, none is an error."""
    part = {"grid": "fairness", "background": ["plain", "ecn"], "flows": 2, "max_p": 0.1}
    cwndlab.run("rfc2884", changes=part, replicates=3, out=tmp_path)
    rows = list(csv.DictReader((tmp_path / "verdicts.csv").read_text().splitlines()))
    judged = [row for row in rows if row["table"] == "fairness" and row["measured"] and row["verdict"]]
    assert [row["published"] for row in judged] == ["0.985403", "0.989726"]
    assert all(0.9 < float(row["measured"]) <= 1 for row in judged)
    claims = {
        row["claim"]: row["verdict"]
        for row in csv.DictReader((tmp_path / "claims.csv").read_text().splitlines())
    }
    assert claims["ignores-multiple-notifications"] == "not checked"


FOLDER = Path(cwndlab.__file__).parent / "studies" / "rfc2884"


@pytest.mark.parametrize(
    ("study", "changes", "holds"),
    [
        ("tuning", {"max_th": 90, "min_th": 5, "w_q": 0.002, "flows": [2, 10], "max_p": [0.02, 0.5]}, 2),
        ("tuning-linux", {"max_th": 30, "min_th": 2, "burst": 20, "flows": 2, "max_p": [0.1, 0.5]}, 1),
        ("section-2", {"flows": 10, "queue": ["drop-tail", "red"]}, 3),
    ],
)
def test_the_studies_in_subfolders_run_and_hold(
    study: str, changes: dict[str, Any], holds: int, tmp_path: Path
) -> None:
    """Few cells, seven runs: no claim fails but that of a link poorly used, and as many hold at least."""
    cwndlab.run(FOLDER / study / "study.toml", changes=changes, replicates=7, out=tmp_path)
    rows = list(csv.DictReader((tmp_path / "claims.csv").read_text().splitlines()))
    assert {row["claim"] for row in rows if row["verdict"] == "fails"} <= {"poor-utilization"}
    assert sum(row["verdict"] == "holds" for row in rows) >= holds


def test_linux_s_red_has_the_parameters_of_its_rule(study: Study) -> None:
    one = cell(study, workload="bulk", tuning="linux", flows=2, max_p=0.1)
    [_, red] = [c for link in one.compiled.scenario["links"] for c in link["queue"].get("classes", [])]
    found = {key: red["queue"][key] for key in ("kind", "min_th", "max_th", "burst", "limit")}
    assert found == {"kind": "linux-red", "min_th": 2000, "max_th": 30000, "burst": 20, "limit": 60000}


def test_the_goodput_that_the_memo_defines_is_the_throughput_of_a_transfer(study: Study) -> None:
    """Packets sent, less those sent again, times their size over the time taken (section 4)."""
    restricted = study.set({"parameters.capture": "server"})
    one = cell(restricted, workload="bulk", recovery="reno", path="one-way", flows=2, max_p=0.5)
    found = measured(restricted, one)
    view = WholeRun(_core.run(one.scenario, 2884, 0), one.compiled.scenario)
    rows, segments = view.columns("connections"), view.columns("segments")
    names = [view.scenario["traffic"][entry]["name"] for entry in rows["traffic"]]
    [place] = [place for place, name in enumerate(names) if name == "plain"]
    data = (np.asarray(segments["connection"]) == rows["connection"][place]) & (
        np.asarray(segments["len"]) > 0
    )
    events = np.asarray(segments["event"])[data]
    packets = np.count_nonzero(events == "send") + np.count_nonzero(events == "retransmit")
    sent_again = float(rows["retransmits"][place])
    assert sent_again > 100
    [transfer] = [
        i for i, name in enumerate(view.columns("objects")["traffic"]) if name == rows["traffic"][place]
    ]
    objects = view.columns("objects")
    taken_s = (float(objects["end_ns"][transfer]) - float(objects["start_ns"][transfer])) / 1e9
    goodput = (packets - sent_again) * 1460 * 8 / taken_s / 1000
    assert goodput == pytest.approx(found["plain_throughput"], rel=1e-3)
