"""A cell without randomness next to a random one: its value stands for all replicates, everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab import RunResult, Study
from cwndlab.apps.compare.compare import compare

NETWORK = """
title = "loss"
[topology]
nodes = ["a", "b"]
[[topology.links]]
between = ["a", "b"]
rate = "10Mbps"
delay = "20ms"
queue = {{ kind = "drop-tail", limit = "20pkt" }}
{loss}
[[traffic]]
name = "flow"
client = "a"
server = "b"
app = {{ kind = "bulk" }}
[[quantities]]
name = "goodput"
metric = "goodput"
unit = "Mbit/s"
[run]
duration = "5s"
replicates = 10
"""
TABLE = """
[axes.loss]
values = [{ name = "none" }, { name = "some", set = { "topology.links.a-b.loss" = "1%" } }]
[[tables]]
id = "t"
title = "T"
rows = ["loss"]
columns = [
    { heading = "goodput", quantity = "goodput" },
    { heading = "share of the goodput without loss", quantity = "goodput", compare = "ratio(loss='none')" },
]
"""


@pytest.fixture(scope="module")
def run() -> RunResult:
    return Study.from_toml(NETWORK.format(loss="") + TABLE).run()


def test_a_table_compares_all_runs_with_the_exact_value(run: RunResult) -> None:
    shown = run.verdicts.to_pylist()[-1]
    goodput = run["goodput"]
    found = goodput.compare("ratio", to={"loss": "none"}).estimate()
    mean = goodput.sel(loss="some").estimate().value / goodput.sel(loss="none").estimate().value
    assert (shown["quantity"], shown["replicates"]) == ("ratio(goodput)", 10)
    written = (shown["measured"], shown["ci_low"], shown["ci_high"])
    assert written == pytest.approx((found.value, found.ci_low, found.ci_high), rel=1e-8)
    assert found.value == pytest.approx(mean)
    assert found.ci_low < mean < found.ci_high < 1.0


def test_two_folders_are_compared_by_all_replicates_of_the_random_one(tmp_path: Path) -> None:
    Study.from_toml(NETWORK.format(loss="")).run(tmp_path / "exact")
    Study.from_toml(NETWORK.format(loss='loss = "1%"')).run(tmp_path / "random")
    for a, b in (("exact", "random"), ("random", "exact")):
        [found] = compare(tmp_path / a, tmp_path / b).moved
        assert found.significant and found.method == "difference of means, paired t, 10 replicates"
        assert found.interval.low < found.b - found.a < found.interval.high
