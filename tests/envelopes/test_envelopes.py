"""Performance envelopes on points whose hulls are known."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import cwndlab
from cwndlab import Study
from cwndlab.apps.envelopes.envelope import conformance, conformances, envelope
from cwndlab.base.errors import StudyError
from cwndlab.cli.registry import command_line


def square(size: float, x: float = 0.0, y: float = 0.0) -> np.ndarray:
    """121 points on a grid from (x, y) to (x + size, y + size)."""
    steps = np.linspace(0.0, size, 11)
    return np.array([(x + a, y + b) for a in steps for b in steps])


def test_the_nearest_95_percent_of_the_points_remain() -> None:
    points = np.vstack([square(1.0), [[50.0, 50.0]] * 6])
    kept = envelope(points)
    assert len(kept.points) == 120 and kept.points.max() == 1.0  # the six far ones are gone, and a corner
    assert kept.mean == pytest.approx(points.mean(axis=0))


def test_a_sender_conforms_to_itself_and_not_to_one_far_away() -> None:
    first, second = envelope(square(1.0)), envelope(square(1.0, x=5.0))
    assert conformance(first, first) == 1.0
    assert conformance(first, second) == 0.0


def test_conformance_is_the_share_of_both_senders_points_in_the_others_hull() -> None:
    outer, inner = envelope(square(2.0)), envelope(square(0.7, x=0.65, y=0.65))
    # All of the inner points, and of the outer ones 0.8, 1.0 and 1.2 each way.
    assert conformance(outer, inner) == conformance(inner, outer) == (114 + 9) / (114 + 114)


def test_points_on_a_line_enclose_nothing() -> None:
    with pytest.raises(StudyError, match="enclose no area"):
        envelope(np.column_stack([np.full(40, 10.0), np.arange(40.0)]))


TEXT = """title = "Two laws next to Reno"
[topology]
nodes = ["a", "b"]
[[topology.links]]
name = "neck"
between = ["a", "b"]
rate = "10Mbps"
delay = "20ms"
queue = { kind = "drop-tail", limit = "1BDP" }
[[traffic]]
name = "stack"
client = "a"
server = "b"
tcp = "tested"
app = { kind = "bulk" }
[[traffic]]
name = "reference"
client = "a"
server = "b"
start = { uniform = ["0s", "1s"] }
app = { kind = "bulk" }
[parameters]
law = "reno"
[tcp]
profile = "linux-6"
[tcp.groups]
tested = { cc = "$law" }
[axes.sender]
values = [
    { name = "reno", set = { "parameters.law" = "reno" } },
    { name = "same", set = { "parameters.law" = "reno" } },
    { name = "bbr", set = { "parameters.law" = "bbr1" } },
]
[run]
duration = "31s"
warmup = "1s"
replicates = 3
[probes]
queue_interval = "10ms"
[[quantities]]
name = "rates"
metric = "goodput_series"
options = { traffic = "stack", interval = 0.5 }
unit = "Mbps"
[[quantities]]
name = "waits"
metric = "queue_delay"
options = { link = "a>b" }
unit = "ms"
[[quantities]]
name = "share"
metric = "goodput"
options = { traffic = "reference" }
unit = "Mbps"
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("envelopes") / "out"
    cwndlab.run(Study.from_toml(TEXT), out=out)
    return out


def test_of_a_run_each_sender_is_compared_with_the_reference(finished: Path) -> None:
    run = cwndlab.open_results(finished)
    same, bbr = conformances(run, "sender", "reno", ["rates"], "waits", [])
    assert (same.sender, bbr.sender) == ("same", "bbr")
    assert same.share.value == 1.0 and same.rate_mbps.value == same.delay_ms.value == 0.0
    assert bbr.share.high < 0.9 and bbr.rate_mbps.low > 0.0
    (only,) = conformances(run, "sender", "bbr", ["rates"], "waits", ["reno"])
    assert only.share.value == pytest.approx(bbr.share.value)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"reference": "renno"}, "sender has no value 'renno'.*reno"),
        ({"rates": ["share"]}, "'share' is no list of numbers of this run"),
        ({"delays": "wait"}, "'wait' is no list of numbers of this run.*waits"),
        ({"delays": "rates", "rates": ["waits"]}, "60 samples of rates do not fit 3001 intervals"),
    ],
)
def test_what_does_not_fit_is_rejected(finished: Path, changed: dict[str, object], problem: str) -> None:
    words = {"axis": "sender", "reference": "reno", "rates": ["rates"], "delays": "waits", "only": []}
    with pytest.raises(StudyError) as raised:
        conformances(cwndlab.open_results(finished), **{**words, **changed})  # type: ignore[arg-type]
    assert re.search(problem, str(raised.value)), raised.value


def test_the_command_prints_a_table(finished: Path) -> None:
    words = ["envelopes", str(finished), "--reference", "reno", "--rates", "rates", "--only", "same"]
    printed = CliRunner().invoke(command_line(words), words)
    assert printed.exit_code == 0
    assert (
        printed.stdout.splitlines()[0] == "| sender | conformance | throughput (Mb/s) | queueing delay (ms) |"
    )
    assert printed.stdout.splitlines()[2].startswith("| same | 1.00")
