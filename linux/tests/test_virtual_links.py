"""Changing links, a policer and datagrams on a kernel in virtual time: the router is the simulator."""

from __future__ import annotations

import tomllib
from pathlib import Path
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


@pytest.mark.usefixtures("virtual")
def test_recorded_rates_and_delays_deliver_at_the_same_times_as_in_the_simulator(tmp_path: Path) -> None:
    (tmp_path / "rate").write_text("".join(f"{time}\n" for time in (1, 2, 2, 3, 5, 8, 8, 9, 13, 20)))
    (tmp_path / "delay").write_text("12\n9.5\n30\n11\n")
    text = """
title = "a recording"

[topology]
nodes = ["a", "b"]

[[topology.links]]
between = ["a", "b"]
rate = { trace = "rate" }
delay = { trace = "delay", interval = "10ms" }
queue = { kind = "drop-tail", limit = "20pkt" }

[[traffic]]
name = "cbr"
client = "a"
server = "b"
app = { kind = "cbr", rate = "7Mbps", first = "100ms" }

[run]
duration = "2s"

[[quantities]]
name = "delay"
metric = "one_way_delay"
options = { traffic = "cbr" }
within = "mean"
"""
    (tmp_path / "study.toml").write_text(text)
    made = Study.load(tmp_path / "study.toml")
    kernel, simulated = (
        run.records["delays"].to_pydict()
        for run in (made.run(backend="linux-virtual", replicates=1), made.run(replicates=1))
    )
    assert len(simulated["delay_ns"]) > 700
    assert max(simulated["delay_ns"]) > 30_000_000 > min(simulated["delay_ns"])
    # The simulator counts delays in units of 16 ns, and the kernel's time 0 is up to 1 ns off.
    for column, tolerance in (("delay_ns", 16), ("time_ns", 1)):
        pairs = zip(kernel[column], simulated[column], strict=True)
        assert max(abs(a - b) for a, b in pairs) <= tolerance, column
