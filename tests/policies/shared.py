"""What the tests of policies share."""

from __future__ import annotations

from cwndlab import Study

TEXT = """
title = "An agent next to CUBIC"
measure = ["goodput", "share", "queue_delay", "loss_rate"]

[dumbbell]
rate = "8Mbps"
rtt = "30ms"
buffer = [0.5, 2]
flows = [{ name = "tested", cc = "agent" }, { name = "other", cc = "cubic" }]

[run]
duration = "4s"
replicates = 2
"""


def study(others: str = "cubic") -> Study:
    return Study.from_toml(TEXT.replace("cubic", others))
