"""Changing links, a policer and datagrams on a kernel in virtual time: the router is the simulator."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from cwndlab import Study

STUDY = """
title = "links that change"

[topology]
nodes = ["a", "b", "c", "d"]
[[topology.links]]
name = "tcp"
between = ["a", "b"]
rate = { at = { "0s" = "8Mbps", "2s" = "2Mbps" } }
delay = "5ms"
queue = { kind = "drop-tail", limit = "30pkt" }
[[topology.links]]
name = "udp"
between = ["c", "d"]
rate = { at = { "0s" = "4Mbps", "1s" = "1Mbps" } }
delay = { at = { "0s" = "10ms", "2s" = "30ms" } }
queue = { kind = "drop-tail", limit = "30pkt" }
impairments = [{ kind = "policer", rate = "1500kbps", burst = "15kB" }]

[[traffic]]
name = "bulk"
client = "a"
server = "b"
app = { kind = "bulk" }
[[traffic]]
name = "cbr"
client = "c"
server = "d"
app = { kind = "cbr", rate = "2Mbps", first = "100ms" }
[[traffic]]
name = "back"
client = "c"
server = "d"
app = { kind = "video", encoded_rate = "500kbps", from = "server" }

[tcp]
profile = "linux-6"

[run]
duration = "4s"
"""
DATAGRAMS = [
    (metric, traffic, within)
    for traffic in ("cbr", "back")
    for metric, within in (
        ("loss_rate", None),
        ("one_way_delay", "min"),
        ("one_way_delay", "mean"),
        ("goodput", None),
    )
]


def study() -> Study:
    quantities: list[dict[str, Any]] = []
    for number, (metric, traffic, within) in enumerate(DATAGRAMS):
        quantity = {"name": f"q{number}", "metric": metric, "options": {"traffic": traffic}}
        quantities.append(quantity if within is None else quantity | {"within": within})
    for name, window in (("fast", ["1s", "2s"]), ("slow", ["2.5s", "4s"])):
        quantities.append(
            {
                "name": name,
                "metric": "goodput",
                "unit": "Mbit/s",
                "options": {"traffic": "bulk"},
                "window": window,
            }
        )
    return Study.from_dict({**tomllib.loads(STUDY), "quantities": quantities})


@pytest.mark.usefixtures("virtual")
def test_schedules_and_policers_act_and_datagrams_are_those_of_the_simulator() -> None:
    kernel = study().run(backend="linux-virtual", replicates=1)
    assert kernel.failures == []
    simulated = study().run(replicates=1)
    for number, what in enumerate(DATAGRAMS):
        found, wanted = (run.estimate(f"q{number}").value for run in (kernel, simulated))
        assert found == pytest.approx(wanted, rel=1e-3), what
    loss, delay = kernel.estimate("q0").value, kernel.estimate("q2").value
    assert 0.2 < loss < 0.6 and 0.03 < delay  # the policer lets 1.5 of 2 Mb/s pass; 1 Mb/s leave from 1 s on
    # 1448 of 1500 bytes are payload; the link's rate falls to a quarter
    for name, rate in (("fast", 8), ("slow", 2)):
        assert kernel.estimate(name).value == pytest.approx(rate * 1448 / 1500, rel=0.05), name
