"""Paths: delays from a file, losses that do not depend on the congestion control, IPv6's sizes, presets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError

LINK = """\
title = "a path"

[topology]
nodes = ["a", "b"]

[[topology.links]]
name = "link"
between = ["a", "b"]
rate = "10Mbps"
delay = "10ms"

[[traffic]]
name = "flow"
client = "a"
server = "b"
start = "0s"
app = { kind = "bulk" }

[tcp]
profile = "linux-6"

[run]
duration = "5s"
replicates = 1
"""
DUMBBELL = """\
title = "a dumbbell"
measure = ["goodput"]

[dumbbell]
rate = "20Mbps"
rtt = "20ms"
buffer = "1000pkt"
loss = "1%"
flows = [{ name = "tested", cc = ["reno", "bbr1"] }]

[probes]
segments_at = "tested_sender"

[run]
duration = "5s"
replicates = 1
"""


def test_a_datagrams_delay_is_the_traces_when_it_leaves(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("40\n30\n20\n10\n")
    text = LINK.replace('delay = "10ms"', 'delay = { trace = "d", interval = "1s" }')
    text = text.replace('kind = "bulk"', 'kind = "cbr", rate = "1Mbps"')
    text = text[: text.index("[tcp]")] + text[text.index("[run]") :]
    for second in range(5):
        text += f"""
[[quantities]]
name = "second_{second}"
metric = "one_way_delay"
options = {{ traffic = "flow" }}
within = "mean"
unit = "ms"
window = ["{second}.1s", "{second}.9s"]
"""
    (tmp_path / "study.toml").write_text(text)
    run = Study.load(tmp_path / "study.toml").run(tmp_path / "out")
    found = [run.estimate(f"second_{second}").value for second in range(5)]
    # A packet of 1500 bytes takes 1.2 ms at 10 Mb/s.
    assert found == pytest.approx([41.2, 31.2, 21.2, 11.2, 41.2], rel=1e-3)
    assert (tmp_path / "out" / "d").read_text() == "40\n30\n20\n10\n"


def test_the_same_packets_are_lost_whatever_the_congestion_control() -> None:
    run = Study.from_toml(DUMBBELL).run()
    lost, sent = {}, {}
    for law in ("reno", "bbr1"):
        rows = run.sel(cc=law).records["segments"].to_pylist()
        lost[law] = [row["ip_id"] for row in rows if row["event"] == "drop"]
        sent[law] = max(row["ip_id"] for row in rows if row["sent"])
    assert sent["reno"] < sent["bbr1"]
    assert len(lost["reno"]) > 10
    assert lost["reno"] == [packet for packet in lost["bbr1"] if packet <= sent["reno"]]


def test_a_longer_header_on_the_links_is_a_longer_header_of_ip() -> None:
    def segments(link: str, tcp: str) -> list[dict[str, Any]]:
        text = LINK.replace("[tcp]\n", f"[tcp]\nmss = 1440\n{tcp}\n").replace(
            'delay = "10ms"\n', f'delay = "10ms"\n{link}\n'
        )
        run = Study.from_toml(text + '\n[probes]\nsegments_at = "b"\n').run()
        columns = ["time_ns", "event", "seq", "len", "ack", "flags"]
        rows: list[dict[str, Any]] = run.records["segments"].select(columns).to_pylist()
        return rows

    on_links, in_tcp = segments('header = "20B"', ""), segments("", 'header = "60B"\nack = "60B"')
    assert len(on_links) > 1000
    assert on_links == in_tcp
    assert on_links != segments("", "")


def test_a_preset_fills_in_what_a_network_does_not_state() -> None:
    text = DUMBBELL.replace(
        'rate = "20Mbps"\nrtt = "20ms"\nbuffer = "1000pkt"\nloss = "1%"', 'preset = "leo"\nloss = "0.5%"'
    )
    first, *_ = json.loads(Study.from_toml(text).plan().cells[0].scenario)["links"]
    assert first["capacity"]["repeat_ns"] == 105 * 10**9
    assert first["capacity"]["at_ns"][:3] == [0, 59_000_000, 15 * 10**9]
    assert first["capacity"]["rates_bps"][:3] == [0, 58_000_000, 0]
    assert first["queue"]["limit"] == 500
    assert first["impairments"] == [{"kind": "bernoulli", "p": 0.005}]
    with pytest.raises(StudyError, match="dumbbell: there is no preset 'loe'; did you mean \"leo\""):
        Study.from_toml(text.replace('"leo"', '"loe"'))
