"""A dumbbell in its short form, written out in full, and where each part of it was written."""

from __future__ import annotations

import pytest

from written_out import WrittenOut

SHORT = """\
rate = "50Mbps"
rtt = "40ms"
buffer = 2
queue = "codel"
loss = "1%"
jitter = "1ms"
down = [["10s", "12s"]]
policer = { rate = "40Mbps", burst = "64KiB" }
reverse = { rate = "5Mbps", buffer = "50pkt", loss = ["0%", "2%"], delay = "7ms" }
flows = [
    { cc = ["cubic", "reno"], count = 2, start = "1s" },
    { name = "web", bytes = ["10kB", "100kB"], rtt = ["20ms", "60ms"], direction = "both", \
stack = "freebsd-14", down = [["1s", "2s"]] },
    { app = { kind = "cbr", rate = "1Mbps" } },
]
"""

FULL = """\
[axes]
reverse_loss = { title = "random loss, reverse", unit = "%", values = [0, 2] }
cc = { title = "congestion control of flow", values = ["cubic", "reno"] }
bytes = { title = "transfer", values = ["10kB", "100kB"] }
web_rtt = { title = "base round-trip time of web", unit = "ms", values = [20, 60] }

[parameters]
half_web_rtt = "= web_rtt / 2"

[probes]
queue_interval = "10ms"

[tcp]
profile = "linux-6"
groups = { flow = { cc = "$cc" }, web = { profile = "freebsd-14" } }

[topology]
nodes = ["left", "right", "flow_sender", "flow_receiver", "web_sender", "web_receiver", \
"web_reverse_sender", "web_reverse_receiver", "cbr_sender", "cbr_receiver"]
rtt = "40ms"

[[topology.links]]
name = "bottleneck"
between = ["left", "right"]
rate = "50Mbps"
down = [["10s", "12s"]]

[topology.links.forward]
queue = { kind = "codel", limit = "2BDP" }
impairments = [{ kind = "policer", rate = "40Mbps", burst = "65536B" }, { kind = "bernoulli", p = 0.01 }]

[topology.links.reverse]
rate = "5Mbps"
delay = "7ms"
queue = { kind = "drop-tail", limit = "50pkt" }
impairments = [{ kind = "bernoulli", p = "= reverse_loss / 100" }]

[[topology.links]]
name = "flow_access"
between = ["flow_sender", "left"]
rate = "1000Mbps"
delay = "20ms"
forward = { impairments = [{ kind = "jitter", max = "1ms", keep_order = true }] }

[[topology.links]]
name = "flow_exit"
between = ["right", "flow_receiver"]
rate = "1000Mbps"

[[topology.links]]
name = "web_access"
between = ["web_sender", "left"]
rate = "1000Mbps"
delay = "{half_web_rtt}ms"
down = [["1s", "2s"]]
forward = { impairments = [{ kind = "jitter", max = "1ms", keep_order = true }] }

[[topology.links]]
name = "web_exit"
between = ["right", "web_receiver"]
rate = "1000Mbps"

[[topology.links]]
name = "web_reverse_access"
between = ["web_reverse_sender", "right"]
rate = "1000Mbps"
delay = "{half_web_rtt}ms"
down = [["1s", "2s"]]
forward = { impairments = [{ kind = "jitter", max = "1ms", keep_order = true }] }

[[topology.links]]
name = "web_reverse_exit"
between = ["left", "web_reverse_receiver"]
rate = "1000Mbps"

[[topology.links]]
name = "cbr_access"
between = ["cbr_sender", "left"]
rate = "1000Mbps"
delay = "20ms"
forward = { impairments = [{ kind = "jitter", max = "1ms", keep_order = true }] }

[[topology.links]]
name = "cbr_exit"
between = ["right", "cbr_receiver"]
rate = "1000Mbps"

[[traffic]]
name = "flow"
client = "flow_sender"
server = "flow_receiver"
count = 2
tcp = "flow"
start = "1s"
app = { kind = "bulk" }

[[traffic]]
name = "web"
client = "web_sender"
server = "web_receiver"
count = 1
tcp = "web"
start = { uniform = ["0s", "1s"] }
app = { kind = "bulk", bytes = "$bytes" }

[[traffic]]
name = "web_reverse"
client = "web_reverse_sender"
server = "web_reverse_receiver"
count = 1
tcp = "web"
start = { uniform = ["0s", "1s"] }
app = { kind = "bulk", bytes = "$bytes" }

[[traffic]]
name = "cbr"
client = "cbr_sender"
server = "cbr_receiver"
count = 1
start = { uniform = ["0s", "1s"] }
app = { kind = "cbr", rate = "1Mbps" }
"""

#: The path of each part of the full form, and that of the key from which it comes; "-" is the whole table.
ORIGINS = """\
axes.reverse_loss < reverse.loss
topology.links.0.rate < rate
topology.links.0.down < down
topology.links.0.forward.rate < rate
topology.links.0.forward.delay < delay
topology.links.0.forward.queue < queue
topology.links.0.forward.impairments < impairments
topology.links.0.forward.loss < loss
topology.links.0.forward.queue.limit < buffer
topology.links.0.reverse.rate < reverse.rate
topology.links.0.reverse.delay < reverse.delay
topology.links.0.reverse.queue < reverse.queue
topology.links.0.reverse.impairments < reverse.impairments
topology.links.0.reverse.loss < reverse.loss
topology.links.0.reverse.queue.limit < reverse.buffer
axes.cc < flows.0.cc
tcp.groups.flow < flows.0.tcp
tcp.groups.flow.cc < flows.0.cc
tcp.groups.flow.profile < flows.0.tcp
topology.links.1 < flows.0
topology.links.1.down < flows.0.down
topology.links.1.delay < rtt
topology.links.2 < flows.0
topology.links.2.down < flows.0.down
traffic.0 < flows.0
tcp.groups.web < flows.1.tcp
tcp.groups.web.cc < flows.1.cc
tcp.groups.web.profile < flows.1.stack
axes.bytes < flows.1.bytes
axes.web_rtt < flows.1.rtt
topology.links.3 < flows.1
topology.links.3.down < flows.1.down
topology.links.4 < flows.1
topology.links.4.down < flows.1.down
traffic.1 < flows.1
topology.links.5 < flows.1
topology.links.5.down < flows.1.down
topology.links.6 < flows.1
topology.links.6.down < flows.1.down
traffic.2 < flows.1
topology.links.7 < flows.2
topology.links.7.down < flows.2.down
topology.links.7.delay < rtt
topology.links.8 < flows.2
topology.links.8.down < flows.2.down
traffic.3 < flows.2
topology < -
topology.rtt < rtt
"""


@pytest.fixture(scope="module")
def full() -> WrittenOut:
    return WrittenOut.from_short("dumbbell", SHORT)


def test_a_dumbbell_is_written_out_with_all_its_keys(full: WrittenOut) -> None:
    assert full.text == FULL


def test_each_part_of_a_dumbbell_leads_back_to_the_key_that_made_it(full: WrittenOut) -> None:
    assert full.origins == ORIGINS.splitlines()


def test_a_dumbbell_knows_its_flows_bottlenecks_and_longest_round_trip(full: WrittenOut) -> None:
    assert full.expanded.flows == {"flow": None, "web": "file", "web_reverse": "file", "cbr": None}
    assert full.expanded.bottlenecks == ["left>right", "right>left"]
    assert full.expanded.round_trip == 60_000_000
