"""BBR version 3 as an endpoint's law: alone, with another one, next to CUBIC, and with random loss."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun

STUDY = """\
title = "BBR version 3"

[topology]
nodes = ["s", "r1", "r2", "c"]

[[topology.links]]
name = "servers"
between = ["s", "r1"]
rate = "1Gbps"
delay = "1ms"

[[topology.links]]
name = "bottleneck"
between = ["r1", "r2"]
rate = "20Mbps"
delay = "14ms"
queue = { kind = "drop-tail", limit = "2BDP" }
forward = { impairments = [] }

[[topology.links]]
name = "clients"
between = ["r2", "c"]
rate = "1Gbps"

[[traffic]]
name = "first"
client = "c"
server = "s"
app = { kind = "bulk", from = "server" }

[[traffic]]
name = "second"
client = "c"
server = "s"
count = 0
start = "1s"
tcp = "other"
app = { kind = "bulk", from = "server" }

[tcp]
profile = "linux-6"
window_law = "bbr3"

[tcp.groups.other]

[run]
duration = "20s"
warmup = "5s"
seed = 1

[[quantities]]
name = "first"
metric = "goodput"
options = { traffic = "first" }
unit = "Mbit/s"

[[quantities]]
name = "second"
metric = "goodput"
options = { traffic = "second" }
unit = "Mbit/s"

[[quantities]]
name = "wait"
metric = "queue_delay"
options = { link = "r1>r2" }
within = "mean"
unit = "ms"

[probes]
queue_interval = "10ms"
"""

RULES = pytest.mark.parametrize("rules", ["draft", "google-v3"])
LOSS = "topology.links.bottleneck.forward.impairments"


def measured(settings: dict[str, Any], seed: int = 1) -> dict[str, Any]:
    study = Study.from_toml(STUDY).set(settings)
    (one,) = study.plan().cells
    view = WholeRun(_core.run(one.scenario, seed, 0), one.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


@RULES
def test_alone_it_uses_the_line_and_leaves_the_queue_short(rules: str) -> None:
    values = measured({"tcp.window_law": {"bbr3": {"rules": rules}}})
    assert values["first"] > 18 and values["wait"] < 15  # of 20 Mb/s, and of 60 ms of buffer


@RULES
def test_two_of_them_share_the_line(rules: str) -> None:
    law = {"bbr3": {"rules": rules}}
    long = {"run.duration": "40s", "run.warmup": "20s"}
    values = measured({"tcp.window_law": law, "traffic.second.count": 1, **long})
    assert values["first"] + values["second"] > 18
    assert 0.5 < values["first"] / values["second"] < 2


@pytest.mark.parametrize("buffer", ["0.5BDP", "2BDP", "8BDP"])
def test_beside_cubic_neither_starves(buffer: str) -> None:
    values = measured(
        {
            "traffic.second.count": 1,
            "tcp.groups.other.window_law": "cubic-linux",
            "topology.links.bottleneck.queue.limit": buffer,
            "run.duration": "40s",
        }
    )
    assert 1 / 3 < values["first"] / values["second"] < 3
    assert values["first"] + values["second"] > 18


def test_a_percent_of_random_loss_takes_little_of_it_and_most_of_cubic() -> None:
    loss = {LOSS: [{"kind": "bernoulli", "p": 0.01}]}
    cubic = measured({**loss, "tcp.window_law": "cubic-linux"})["first"]
    assert measured(loss)["first"] > 14 > 7 > cubic


def test_the_same_seed_gives_the_same_run_and_another_one_other_waits() -> None:
    settings = {"traffic.second.count": 1}
    first, again, other = (measured(settings, seed) for seed in (1, 1, 2))
    assert first == again != other
