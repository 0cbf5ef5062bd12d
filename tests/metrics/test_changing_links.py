"""Links that change during a run: what one flow gets in each phase, calculated by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.metrics.queue import drain_seconds

STUDY = """\
title = "a window of 20 packets over a link that changes"

[topology]
nodes = ["a", "b"]

[[topology.links]]
between = ["a", "b"]
rate = "10Mbps"
delay = "20ms"
queue = { kind = "drop-tail", limit = "100pkt" }
forward = { rate = { at = { "0s" = "10Mbps", "5s" = "2Mbps", "10s" = "10Mbps" } } }
reverse = { queue = { kind = "infinite" } }

[[traffic]]
name = "flow"
client = "a"
server = "b"
app = { kind = "bulk" }

[tcp]
profile = "ns2-1998"
mss = "1500B"
header = "0B"
ack = "40B"
initial_window = 20
max_window = 20

[run]
duration = "15s"

[probes]
queue_interval = "7ms"

[phases]
fast = ["1s", "5s"]
slow = ["6s", "10s"]
last = ["11s", "15s"]
"""


def measured(text: str, *asked: str) -> dict[str, float]:
    """Quantities as `metric phase`."""
    quantities = "".join(
        f'[[quantities]]\nname = "{metric}_{phase}"\nmetric = "{metric}"\nwindow = "{phase}"\n'
        + ('within = "mean"\n' if metric == "queue_delay" else "")
        for metric, phase in (one.split() for one in asked)
    )
    study = Study.from_toml(text + quantities)
    found = study.run()
    return {quantity.name: found.estimate(quantity.name).value for quantity in study.outline.quantities}


def test_a_window_of_20_packets_fills_what_each_phase_has() -> None:
    metric, phases = "link_utilization", ("fast", "slow", "last")
    values = measured(
        STUDY, *(f"{metric} {phase}" for phase in phases), *(f"queue_delay {p}" for p in phases)
    )
    # the round trip: 40 ms, an ACK of 40 bytes (0.032 ms), and a packet's own 1.2 ms at 10 Mb/s
    fast = 20 * 1.2 / (40 + 0.032 + 1.2)
    assert values[f"{metric}_fast"] == pytest.approx(fast, rel=0.003)
    assert values[f"{metric}_last"] == pytest.approx(fast, rel=0.003)
    assert values[f"{metric}_slow"] == 1.0
    # 20 packets of 6 ms are 120 ms, of which 40.032 ms are not spent in the link; by Little's
    # law what is in it takes as long as a packet stays
    assert values["queue_delay_slow"] == pytest.approx((120 - 40.032) / 1e3, rel=0.01)


@pytest.mark.parametrize(
    "link",
    [
        {"capacity": {"kind": "steps", "at_ns": [0, 10**9, 2 * 10**9], "rates_bps": [1000, 0, 500]}},
        {
            "capacity": {
                "kind": "steps",
                "at_ns": [0, 10**9, 2 * 10**9],
                "rates_bps": [1000, 0, 500],
                "repeat_ns": 4 * 10**9,
            }
        },
    ],
)
def test_the_time_to_drain_is_that_of_the_schedule(link: dict[str, Any]) -> None:
    rates, repeats = [1000, 0, 500, 500], "repeat_ns" in link["capacity"]
    rng = np.random.default_rng(1)
    times, bits = rng.uniform(0, 9, 50), rng.uniform(0, 5000, 50)
    fine = 1e-3
    for time, wanted, found in zip(times, bits, drain_seconds(link, times, bits), strict=True):
        sent, now = 0.0, time
        while sent < wanted:
            step = int(now) % 4 if repeats else min(int(now), 3)
            sent += rates[step] * fine
            now += fine
        assert found == pytest.approx(now - time, abs=3 * fine)


def test_opportunities_of_a_trace_drain_1500_bytes_each() -> None:
    link = {"capacity": {"kind": "deliveries", "at_ms": [10, 20, 50]}}
    times = np.array([0.0, 0.0, 0.010, 0.045, 0.045])
    bits = np.array([0.0, 12_000.0, 12_001.0, 24_000.0, 36_000.0])
    # one at an arrival's own instant has passed; the trace begins again at 50 ms
    assert drain_seconds(link, times, bits) == pytest.approx([0, 0.010, 0.040, 0.015, 0.025])


@pytest.mark.parametrize("at_ms", [[7], [10, 20, 50], [1, 2, 2, 9], [0, 0, 3]])
def test_a_trace_repeats_for_as_long_as_there_is_something_to_send(at_ms: list[int]) -> None:
    link = {"capacity": {"kind": "deliveries", "at_ms": at_ms}}
    rng = np.random.default_rng(2)
    times = rng.integers(0, 400, 40) / 1e3 + 0.0004
    packets = rng.integers(1, 60, 40)
    drained = drain_seconds(link, times, packets * 12_000.0)
    opportunities = np.array([turn * at_ms[-1] + at for turn in range(400) for at in at_ms]) / 1e3
    ends = [
        opportunities[opportunities > time][count - 1] for time, count in zip(times, packets, strict=True)
    ]
    assert drained == pytest.approx(ends - times)


def test_a_pause_holds_packets_back_and_loses_none() -> None:
    text = STUDY.replace('{ at = { "0s" = "10Mbps", "5s" = "2Mbps", "10s" = "10Mbps" } }', '"10Mbps"')
    down = text.replace('delay = "20ms"', 'delay = "20ms"\ndown = [["5s", "5.1s"]]')
    links = json.loads(Study.from_toml(down).plan().cells[0].scenario)["links"]
    expected = {"kind": "steps", "at_ns": [0, 5_000_000_000, 5_100_000_000], "rates_bps": [10**7, 0, 10**7]}
    assert [link["capacity"] for link in links] == [expected, expected]
    phases = '[phases]\nwhole = ["1s", "15s"]\n'
    text, down = (one.split("[phases]")[0] + phases for one in (text, down))
    before, after = (measured(one, "goodput whole", "drop_rate whole") for one in (text, down))
    assert after["drop_rate_whole"] == 0
    # 20 packets are under way, so what is not sent in 0.1 s of 14 s is lost to the flow
    assert after["goodput_whole"] / before["goodput_whole"] == pytest.approx(1 - 0.1 / 14, abs=0.002)


def test_delay_and_loss_change_with_their_steps() -> None:
    text = STUDY.replace(
        'delay = "20ms"',
        'delay = { at = { "0s" = "20ms", "5s" = "50ms" }, keep_order = true }\n'
        'loss = { at = { "0s" = "0%", "10s" = "2%" }, repeat = "15s" }',
    )
    link = json.loads(Study.from_toml(text).plan().cells[0].scenario)["links"][0]
    assert link["delay_ns"] == 20_000_000
    assert link["impairments"] == [
        {"kind": "loss-steps", "at_ns": [0, 10**10], "p": [0.0, 0.02], "repeat_ns": 15 * 10**9},
        {"kind": "delay-steps", "at_ns": [0, 5 * 10**9], "extra_ns": [0, 30_000_000], "keep_order": True},
    ]


def test_a_trace_is_read_from_the_studys_folder(tmp_path: Path) -> None:
    text = STUDY.replace('{ at = { "0s" = "10Mbps", "5s" = "2Mbps", "10s" = "10Mbps" } }', '{ trace = "t" }')
    file, trace = tmp_path / "study.toml", tmp_path / "t"
    file.write_text(text)
    trace.write_text("1\n2\n2\n4\n")
    link = json.loads(Study.load(file).plan().cells[0].scenario)["links"][0]
    assert link["capacity"] == {"kind": "deliveries", "at_ms": [1, 2, 2, 4]}
    assert link["rate_bps"] == 12_000_000
    for content, wrong in (
        ("1\n\n2\n", "study.toml:11:22: topology.links.1.forward.rate.trace: t: line 2: '' is no time"),
        ("5\n4\n", "t: line 2: 4 comes after 5; a trace has a whole number of milliseconds on each line"),
        ("0\n", "t: the trace lasts for no time"),
    ):
        trace.write_text(content)
        with pytest.raises(StudyError) as caught:
            Study.load(file).plan().check()
        assert wrong in str(caught.value)
    trace.unlink()
    with pytest.raises(StudyError, match="there is no such file"):
        Study.load(file).plan().check()


def test_a_delay_trace_holds_each_delay_for_the_interval_and_repeats(tmp_path: Path) -> None:
    text = STUDY.replace('delay = "20ms"', 'delay = { trace = "d", interval = "100ms" }')
    file, trace = tmp_path / "study.toml", tmp_path / "d"
    file.write_text(text)
    trace.write_text("20\n20\n12.5\n")
    link = json.loads(Study.load(file).plan().cells[0].scenario)["links"][0]
    assert link["delay_ns"] == 12_500_000
    steps = {"at_ns": [0, 200_000_000], "extra_ns": [7_500_000, 0], "repeat_ns": 300_000_000}
    assert link["impairments"] == [{"kind": "delay-steps", **steps, "keep_order": False}]
    for content, wrong in (
        ("20\n\n", "study.toml:9:11: topology.links.1.delay.trace: d: line 2: '' is no delay"),
        ("20\n-1\n", "d: line 2: '-1' is no delay; a delay trace has a delay in milliseconds on each line"),
        ("", "d: the trace has no delays"),
    ):
        trace.write_text(content)
        with pytest.raises(StudyError) as caught:
            Study.load(file).plan().check()
        assert wrong in str(caught.value)
    trace.unlink()
    with pytest.raises(StudyError, match="there is no such file"):
        Study.load(file).plan().check()
    file.write_text(text.replace(', interval = "100ms"', ""))
    with pytest.raises(StudyError, match="interval"):
        Study.load(file)
