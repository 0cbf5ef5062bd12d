"""One-way delays of packets and their variation, calculated by hand."""

from __future__ import annotations

import pytest

from cwndlab.api import Study

STUDY = """\
title = "2 Mb/s of datagrams over 1.5 Mb/s"

[topology]
nodes = ["a", "b"]

[[topology.links]]
between = ["a", "b"]
rate = "1.5Mbps"
delay = "20ms"

[[traffic]]
name = "datagrams"
client = "a"
server = "b"
app = { kind = "cbr", rate = "2Mbps", duration = "0.6s" }

[[traffic]]
name = "later"
client = "b"
server = "a"
start = "1s"
app = { kind = "bulk", segments = 1 }

[run]
duration = "3s"
"""


def quantity(name: str, metric: str, options: str = "") -> str:
    return f'[[quantities]]\nname = "{name}"\nmetric = "{metric}"\noptions = {{ {options} }}\nwithin = '


def test_delays_are_the_time_on_the_path_and_variation_is_what_the_queue_adds() -> None:
    own = 'traffic = "datagrams"'
    text = STUDY + "".join(
        (
            quantity("least", "one_way_delay", own) + '"min"\n',
            quantity("most", "one_way_delay", own) + '"max"\n',
            quantity("packets", "one_way_delay", own) + '"count"\n',
            quantity("all", "one_way_delay") + '"count"\n',
            quantity("pdv", "delay_variation", own) + '"max"\n',
            quantity("ipdv", "delay_variation", own + ', form = "ipdv"') + '"mean"\n',
        )
    )
    run = Study.from_toml(text).run()
    values = {name: run.estimate(name).value for name in ("least", "most", "packets", "all", "pdv", "ipdv")}
    # 100 packets of 1500 bytes, one every 6 ms, of 8 ms each: each waits 2 ms longer than the one before.
    # The other traffic has one packet with payload; its handshake and acknowledgments do not count
    assert (values["packets"], values["all"]) == (100, 101)
    assert values["least"] == pytest.approx(0.028, abs=32e-9)
    assert values["most"] == pytest.approx(0.028 + 99 * 0.002, abs=32e-9)
    assert values["pdv"] == pytest.approx(99 * 0.002, abs=64e-9)
    assert values["ipdv"] == pytest.approx(0.002, abs=64e-9)
