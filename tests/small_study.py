"""A small study that tests change."""

TEXT = """\
title = "two nodes"

[parameters]
webs = 2

[topology]
nodes = ["a", "b"]

[[topology.links]]
name = "wire"
between = ["a", "b"]
rate = "1Mbps"
delay = "10ms"
queue = { kind = "drop-tail", limit = "25pkt" }
impairments = [{ kind = "bernoulli", p = 0.01 }]

[[traffic]]
name = "bulk"
client = "a"
server = "b"
count = "$webs"
app = { kind = "bulk" }

[tcp]
profile = "rfc5681"
rto = { min = "200ms" }

[run]
duration = "50ms"
replicates = 3
seed = 7

[probes]
segments_at = "a"

[axes.iw]
sets = "tcp.initial_window"
values = [1, 4]

[[quantities]]
name = "goodput"
metric = "goodput"
unit = "kbit/s"
"""


def edited(*changes: tuple[str, str]) -> str:
    """The text with pieces replaced, each of which must be there."""
    text = TEXT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
