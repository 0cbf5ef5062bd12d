"""The impairment `aggregate`: ACKs that leave in bursts of limited size limit the rate of their flow."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError

STUDY = """\
title = "ACKs in bursts"

[run]
duration = "6s"
warmup = "2s"

[topology]
nodes = ["a", "r", "b"]

[[topology.links]]
between = ["a", "r"]
rate = "100Mbps"
delay = "1ms"

[[topology.links]]
between = ["r", "b"]
rate = "20Mbps"
delay = "15ms"
queue = { kind = "drop-tail", limit = "100pkt" }
reverse = { impairments = [{ kind = "aggregate", hold = "8ms", burst_packets = 4 }] }

[[traffic]]
name = "transfer"
client = "a"
server = "b"
app = { kind = "bulk" }

[tcp]
profile = "linux-6"
cc = "cubic"

[[quantities]]
name = "goodput"
title = "goodput"
metric = "goodput"
unit = "Mbit/s"

[[tables]]
id = "goodput"
title = "Goodput"
rows = []
columns = [{ heading = "goodput", quantity = "goodput" }]
"""


def test_four_acks_every_8_ms_clock_eight_segments() -> None:
    (row,) = Study.from_toml(STUDY).run().values.to_pylist()
    assert row["value"] == pytest.approx(8 * 1448 * 8 / 8e-3 / 1e6, rel=0.01)  # an ACK covers two segments


def test_a_burst_has_room_for_a_packet() -> None:
    with pytest.raises(StudyError, match="a burst has at least one packet"):
        Study.from_toml(STUDY.replace("burst_packets = 4", "burst_packets = 0")).plan().cells[0].check()
