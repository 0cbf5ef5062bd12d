"""Connections that fail are named with their reason wherever a number rests on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.cli import app
from cwndlab.records.failures import FailedConnections, failed_connections, failures_text

#: noq closes a connection whose peer leaves too many gaps in a stream.
QUIC = """\
title = "A QUIC connection that fails"
measure = ["goodput"]
[dumbbell]
rate = "50Mbps"
rtt = "200ms"
buffer = 1
jitter = "0ms"
flows = [{ name = "flow", stack = "noq", cc = "cubic", start = "0s", tcp = { stream_window = "64MB" } }]
[probes]
segments_at = "flow_sender"
[run]
duration = "5s"
"""
#: Of two cells, one in which nothing arrives.
TCP = """\
title = "No answer"
[dumbbell]
rate = "1Mbps"
rtt = "20ms"
flows = [{ name = "flow", cc = "reno" }]
[run]
duration = "200s"
replicates = 3
[[axes.lost.values]]
name = "no"
[[axes.lost.values]]
name = "all"
set = { "topology.links.bottleneck.forward.impairments" = [{ kind = "bernoulli", p = 1 }] }
"""
REASON = "too many gaps in stream buffer"
NO_ANSWER = "the peer did not answer the connection request"


def call(*arguments: object) -> None:
    with pytest.raises(SystemExit):
        app([str(argument) for argument in arguments])


@pytest.fixture
def tcp(tmp_path: Path) -> Path:
    path = tmp_path / "tcp.toml"
    path.write_text(TCP)
    return path


def test_a_stack_s_reason_is_in_report_estimates_summary_and_explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "quic.toml").write_text(QUIC)
    call("run", tmp_path / "quic.toml", "-o", tmp_path / "out", "--json")
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert REASON in said["failed_connections"]["base"]
    assert all(REASON in row["warning"] for row in said["estimates"])
    assert "warning: base: 1 connection of flow failed" in err and REASON in err
    for page in ("report.md", "report.html"):
        text = (tmp_path / "out" / page).read_text()
        assert "Failed connections" in text and text.count(REASON) >= 2, "at the head, and at the numbers"
    call("explain", tmp_path / "quic.toml")
    assert "note: connection 0 failed at 3.5" in (said := capsys.readouterr().out) and REASON in said


def test_only_the_numbers_of_the_cell_in_which_a_connection_failed_say_so(tcp: Path, tmp_path: Path) -> None:
    run = Study.load(tcp).run(tmp_path / "out", threads=1)
    rows = run.estimates.to_pylist()
    assert {row["lost"] for row in rows if NO_ANSWER in row["warning"]} == {"all"}
    assert all(row["lost"] == "no" or NO_ANSWER in row["warning"] for row in rows)
    assert run.results.failed == {"lost=all": f"3 connections of flow failed (3 of 3 runs): {NO_ANSWER}"}
    table = run.sel(lost="all").records("failures")
    assert table["reason"].to_pylist() == [NO_ANSWER] and table["connection"].to_pylist() == [0]
    again = Study.load(tcp).run(tmp_path / "out", threads=1)
    assert again.campaign.performed == 0 and again.results.failed == run.results.failed


def test_reasons_are_listed_with_the_most_frequent_first() -> None:
    runs = [
        {"failed web\treset": 2.0, "x": 1.0},
        {"failed web\treset": 1.0, "failed bulk\ttimed out": 1.0},
        {},
    ]
    found = failed_connections(runs)
    assert found == [
        FailedConnections("web", "reset", 3, 2),
        FailedConnections("bulk", "timed out", 1, 1),
    ]
    said = failures_text(found, len(runs)).split("; ")
    assert said == [
        "3 connections of web failed (2 of 3 runs): reset",
        "1 connection of bulk failed (1 of 3 runs): timed out",
    ]
    assert failures_text([], 3) == ""
