#!/usr/bin/env python3
"""Steps of `cwndlab.apps.gym` per second of CPU time, on the dumbbell of ns3-gym's example `rl-tcp`.

    python benches/gym_steps.py [--runs 4]

2 Mb/s, 80 ms, a queue of 50 packets and segments of 340 bytes, with an agent that keeps a window of 30
segments and observes all features: a step for each ACK over 60 s, and each 100 ms over 120 s. The fastest run
counts. How ns3-gym is measured next to it is in benches/README.md.
"""

from __future__ import annotations

import argparse
import math
import time

from cwndlab.api import Study
from cwndlab.apps.gym import StudyEnv
from cwndlab.apps.policy.features import FEATURES

WINDOW = 30
QUESTION = """
title = "The dumbbell of rl-tcp"
measure = ["goodput"]

[dumbbell]
rate = "2Mbps"
rtt = "80ms"
buffer = "50pkt"
flows = [{ cc = "agent", start = "0s", tcp = { mss = 340 } }]

[run]
duration = "DURATION"
replicates = 1
"""


def steps_per_second(every: str, duration: str) -> float:
    """Of one episode: its steps over the CPU time that they took, the agent's included."""
    env = StudyEnv(
        Study.from_toml(QUESTION.replace("DURATION", duration)),
        observation=list(FEATURES),
        action="cwnd_factor",
        every=every,
        split="test",
    )
    place = list(FEATURES).index("cwnd_segments")
    observation, _ = env.reset(seed=0)
    steps, began, over = 0, time.process_time(), False
    while not over:
        wanted = math.log2(WINDOW / max(1.0, float(observation[place])))
        observation, _, terminated, truncated, _ = env.step(min(1.0, max(-1.0, wanted)))
        steps, over = steps + 1, terminated or truncated
    spent = time.process_time() - began
    env.close()
    return steps / spent


def main() -> None:
    """Prints a line for each of the two rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4, help="of which the fastest counts")
    runs = parser.parse_args().runs
    for every, duration in (("ack", "60s"), ("100ms", "120s")):
        best = max(steps_per_second(every, duration) for _ in range(runs))
        print(f"every {every} over {duration}: {best:,.0f} steps per second of CPU time")


if __name__ == "__main__":
    main()
