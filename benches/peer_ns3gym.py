#!/usr/bin/env python3
"""Steps of ns3-gym's example `rl-tcp` per second of CPU time, next to `benches/gym_steps.py`.

    python benches/peer_ns3gym.py [--runs 4]

It is run in ns3-gym's folder, with the example built there as `rl-tcp` (benches/README.md says how), by a
Python that has pyzmq, gym, numpy and protobuf. The agent keeps a window of 30 segments. The CPU time is that
of both processes, and the fastest run counts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

WINDOW = 30
#: Where an observation has the size of a segment.
SEGMENT_BYTES = 6
PORT = 5600
ROWS = (("TcpRl", 60), ("TcpRlTimeBased", 120))


def one_run(protocol: str, duration_s: int, port: int) -> tuple[int, float, float]:
    """Steps, CPU seconds of both processes and real seconds of an episode."""
    from ns3gym import ns3env  # in the folder where this runs

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [
        f"--openGymPort={port}",
        f"--transport_prot={protocol}",
        f"--duration={duration_s}",
        "--simSeed=1",
    ]
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
        subprocess.Popen(["./rl-tcp", *words], stdout=nothing, stderr=nothing) as simulator,
    ):
        with contextlib.redirect_stdout(nothing):
            env = ns3env.Ns3Env(port=port, stepTime=0.1, startSim=0, simSeed=1, simArgs={}, debug=False)
            observation = env.reset()
        began, own, steps, over = time.monotonic(), time.process_time(), 0, False
        while not over:
            size = WINDOW * observation[SEGMENT_BYTES]
            observation, _, over, _ = env.step([size, size])
            steps += 1
        own, real = time.process_time() - own, time.monotonic() - began
        env.close()
        simulator.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return steps, own + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, real


def main() -> None:
    """Prints a line for each of the two rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4, help="of which the fastest counts")
    runs = parser.parse_args().runs
    sys.path[:0] = ["model/ns3gym", "model/ns3gym/ns3gym"]
    for row, (protocol, duration_s) in enumerate(ROWS):
        found = [one_run(protocol, duration_s, PORT + row * runs + k) for k in range(runs)]
        cpu, real = (max(one[0] / one[place] for one in found) for place in (1, 2))
        print(
            f"{protocol}, {duration_s} s: {cpu:,.0f} steps per second of CPU time, {real:,.0f} of real time"
        )


if __name__ == "__main__":
    main()
