"""A parking lot in its short form, written out in full, and where each part of it was written."""

from __future__ import annotations

import pytest

from written_out import WrittenOut

SHORT = """\
hops = 2
rate = ["10Mbps", "20Gbps"]
rtt = ["20ms", { at = { "0s" = "10ms", "5s" = "30ms" } }]
queue = ["drop-tail", { kind = "pie", target = "5ms" }]
buffer = ["50pkt", 2]
loss = [ { at = { "0s" = "0%", "1s" = "1%" } }, "2%"]
shaper = { rate = ["5Mbps", "6Mbps"], burst = "10kB" }
jitter = ["0ms", "2ms"]
flows = [
    { cc = "cubic", direction = "reverse" },
    { bytes = "1MB", rtt = "50ms" },
]
cross = [{ stack = "linux-6", cc = "reno", count = [1, 4], start = ["0s", "1s"] }]
"""

FULL = """\
[axes.rate]
title = "bottleneck"
unit = "Mbit/s"
values = [10, 20000]

[axes.buffer]
title = "buffer"
values = ["50pkt", "2BDP"]

[axes.shaper_rate]
title = "shaper's rate"
values = ["5Mbps", "6Mbps"]

[axes.queue]
title = "queue"

[[axes.queue.values]]
name = "tbf"

[axes.queue.values.set."topology.links.bottleneck1.forward.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
limit = "$buffer"

[axes.queue.values.set."topology.links.bottleneck1.reverse.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
limit = "$buffer"

[axes.queue.values.set."topology.links.bottleneck2.forward.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
limit = "$buffer"

[axes.queue.values.set."topology.links.bottleneck2.reverse.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
limit = "$buffer"

[[axes.queue.values]]
name = "pie"

[axes.queue.values.set."topology.links.bottleneck1.forward.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
queue = { kind = "pie", limit = "$buffer", target = "5ms" }

[axes.queue.values.set."topology.links.bottleneck1.reverse.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
queue = { kind = "pie", limit = "$buffer", target = "5ms" }

[axes.queue.values.set."topology.links.bottleneck2.forward.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
queue = { kind = "pie", limit = "$buffer", target = "5ms" }

[axes.queue.values.set."topology.links.bottleneck2.reverse.queue"]
kind = "tbf"
rate = "$shaper_rate"
burst = "10kB"
queue = { kind = "pie", limit = "$buffer", target = "5ms" }

[axes.loss]
title = "random loss"

[[axes.loss.values]]
name = "0% to 1%"

[axes.loss.values.set]
"topology.links.bottleneck1.forward.loss" = { at = { 0s = "0%", 1s = "1%" } }
"topology.links.bottleneck2.forward.loss" = { at = { 0s = "0%", 1s = "1%" } }

[[axes.loss.values]]
name = "2%"
set = { "topology.links.bottleneck1.forward.loss" = "2%", "topology.links.bottleneck2.forward.loss" = "2%" }

[axes.rtt]
title = "base round-trip time"

[[axes.rtt.values]]
name = "20ms"

[axes.rtt.values.set]
"topology.rtt" = "20ms"
"topology.links.cubic_access.delay" = "10ms"
"topology.links.linux-6_reno_1_access.delay" = "10ms"
"topology.links.linux-6_reno_2_access.delay" = "10ms"

[[axes.rtt.values]]
name = "10ms to 30ms"

[axes.rtt.values.set]
"topology.rtt" = "10ms"
"topology.links.cubic_access.delay" = { at = { 0s = "5ms", 5s = "15ms" } }
"topology.links.linux-6_reno_1_access.delay" = { at = { 0s = "5ms", 5s = "15ms" } }
"topology.links.linux-6_reno_2_access.delay" = { at = { 0s = "5ms", 5s = "15ms" } }

[axes.jitter]
title = "jitter"
values = ["0s", "2ms"]

[axes.start]
title = "start"
values = ["0s", "1s"]

[axes.count]
title = "flows"
values = [1, 4]

[probes]
queue_interval = "10ms"

[tcp]
profile = "linux-6"
groups = { cubic = { cc = "cubic" }, flow = {}, linux-6_reno = { cc = "reno", profile = "linux-6" } }

[topology]
nodes = ["r0", "r1", "r2", "cubic_sender", "cubic_receiver", "flow_sender", "flow_receiver", \
"linux-6_reno_1_sender", "linux-6_reno_1_receiver", "linux-6_reno_2_sender", "linux-6_reno_2_receiver"]
rtt = "20ms"

[[topology.links]]
name = "bottleneck1"
between = ["r0", "r1"]
rate = "{rate}Mbps"

[topology.links.forward]
queue = { kind = "tbf", rate = "$shaper_rate", burst = "10kB", limit = "$buffer" }
loss = { at = { 0s = "0%", 1s = "1%" } }

[topology.links.reverse]
queue = { kind = "tbf", rate = "$shaper_rate", burst = "10kB", limit = "$buffer" }

[[topology.links]]
name = "bottleneck2"
between = ["r1", "r2"]
rate = "{rate}Mbps"

[topology.links.forward]
queue = { kind = "tbf", rate = "$shaper_rate", burst = "10kB", limit = "$buffer" }
loss = { at = { 0s = "0%", 1s = "1%" } }

[topology.links.reverse]
queue = { kind = "tbf", rate = "$shaper_rate", burst = "10kB", limit = "$buffer" }

[[topology.links]]
name = "cubic_access"
between = ["cubic_sender", "r2"]
rate = "200000Mbps"
delay = "10ms"
forward = { impairments = [{ kind = "jitter", max = "$jitter", keep_order = true }] }

[[topology.links]]
name = "cubic_exit"
between = ["r0", "cubic_receiver"]
rate = "200000Mbps"

[[topology.links]]
name = "flow_access"
between = ["flow_sender", "r0"]
rate = "200000Mbps"
delay = "25ms"
forward = { impairments = [{ kind = "jitter", max = "$jitter", keep_order = true }] }

[[topology.links]]
name = "flow_exit"
between = ["r2", "flow_receiver"]
rate = "200000Mbps"

[[topology.links]]
name = "linux-6_reno_1_access"
between = ["linux-6_reno_1_sender", "r0"]
rate = "200000Mbps"
delay = "10ms"
forward = { impairments = [{ kind = "jitter", max = "$jitter", keep_order = true }] }

[[topology.links]]
name = "linux-6_reno_1_exit"
between = ["r1", "linux-6_reno_1_receiver"]
rate = "200000Mbps"

[[topology.links]]
name = "linux-6_reno_2_access"
between = ["linux-6_reno_2_sender", "r1"]
rate = "200000Mbps"
delay = "10ms"
forward = { impairments = [{ kind = "jitter", max = "$jitter", keep_order = true }] }

[[topology.links]]
name = "linux-6_reno_2_exit"
between = ["r2", "linux-6_reno_2_receiver"]
rate = "200000Mbps"

[[traffic]]
name = "cubic"
client = "cubic_sender"
server = "cubic_receiver"
count = 1
tcp = "cubic"
start = { uniform = ["0s", "1s"] }
app = { kind = "bulk" }

[[traffic]]
name = "flow"
client = "flow_sender"
server = "flow_receiver"
count = 1
tcp = "flow"
start = { uniform = ["0s", "1s"] }
app = { kind = "bulk", bytes = "1MB" }

[[traffic]]
name = "linux-6_reno_1"
client = "linux-6_reno_1_sender"
server = "linux-6_reno_1_receiver"
count = "$count"
tcp = "linux-6_reno"
start = "$start"
app = { kind = "bulk" }

[[traffic]]
name = "linux-6_reno_2"
client = "linux-6_reno_2_sender"
server = "linux-6_reno_2_receiver"
count = "$count"
tcp = "linux-6_reno"
start = "$start"
app = { kind = "bulk" }
"""

#: The path of each part of the full form, and that of the key from which it comes; "-" is the whole table.
ORIGINS = """\
axes.rate < rate
axes.buffer < buffer
axes.shaper_rate < shaper.rate
axes.queue < queue
axes.loss < loss
axes.rtt < rtt
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
topology.links.0.reverse.queue < queue
topology.links.0.reverse.impairments < reverse.impairments
topology.links.0.reverse.loss < reverse.loss
topology.links.0.reverse.queue.limit < buffer
topology.links.1.rate < rate
topology.links.1.down < down
topology.links.1.forward.rate < rate
topology.links.1.forward.delay < delay
topology.links.1.forward.queue < queue
topology.links.1.forward.impairments < impairments
topology.links.1.forward.loss < loss
topology.links.1.forward.queue.limit < buffer
topology.links.1.reverse.rate < reverse.rate
topology.links.1.reverse.delay < reverse.delay
topology.links.1.reverse.queue < queue
topology.links.1.reverse.impairments < reverse.impairments
topology.links.1.reverse.loss < reverse.loss
topology.links.1.reverse.queue.limit < buffer
tcp.groups.cubic < flows.0.tcp
tcp.groups.cubic.cc < flows.0.cc
tcp.groups.cubic.profile < flows.0.tcp
axes.jitter < jitter
topology.links.2 < flows.0
topology.links.2.down < flows.0.down
topology.links.2.delay < rtt
topology.links.3 < flows.0
topology.links.3.down < flows.0.down
traffic.0 < flows.0
tcp.groups.flow < flows.1.tcp
tcp.groups.flow.cc < flows.1.cc
tcp.groups.flow.profile < flows.1.tcp
topology.links.4 < flows.1
topology.links.4.down < flows.1.down
topology.links.5 < flows.1
topology.links.5.down < flows.1.down
traffic.1 < flows.1
tcp.groups.linux-6_reno < cross.0.tcp
tcp.groups.linux-6_reno.cc < cross.0.cc
tcp.groups.linux-6_reno.profile < cross.0.stack
axes.start < cross.0.start
axes.count < cross.0.count
topology.links.6 < cross.0
topology.links.6.down < cross.0.down
topology.links.6.delay < rtt
topology.links.7 < cross.0
topology.links.7.down < cross.0.down
traffic.2 < cross.0
topology.links.8 < cross.0
topology.links.8.down < cross.0.down
topology.links.8.delay < rtt
topology.links.9 < cross.0
topology.links.9.down < cross.0.down
traffic.3 < cross.0
topology < -
topology.rtt < rtt
"""


@pytest.fixture(scope="module")
def full() -> WrittenOut:
    return WrittenOut.from_short("parking_lot", SHORT)


def test_a_parking_lot_is_written_out_with_all_its_keys(full: WrittenOut) -> None:
    assert full.text == FULL


def test_each_part_of_a_parking_lot_leads_back_to_the_key_that_made_it(full: WrittenOut) -> None:
    assert full.origins == ORIGINS.splitlines()


def test_a_parking_lot_knows_its_flows_bottlenecks_and_longest_round_trip(full: WrittenOut) -> None:
    assert full.expanded.flows == {
        "cubic": None,
        "flow": "file",
        "linux-6_reno_1": None,
        "linux-6_reno_2": None,
    }
    assert full.expanded.bottlenecks == ["r0>r1", "r1>r2", "r1>r0", "r2>r1"]
    assert full.expanded.round_trip is None  # one of them changes
