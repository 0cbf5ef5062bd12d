"""Work of which some jobs end their process; the workers of a cluster import it from here."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from cwndlab.runs.executors.protocol import Job, Outcome, Stopped, never_stop

#: In a job's scenario: end the process.
DEADLY = "deadly"


class Deadly:
    """Performs a job in `seconds` and notes it in a file; a job with the scenario DEADLY ends the process."""

    memory_bytes = 1 << 28

    def __init__(self, log: Path, seconds: float = 0.01) -> None:
        self.log = log
        self.seconds = seconds

    def check(self) -> None:
        pass

    def perform(self, jobs: Sequence[Job], stopped: Stopped = never_stop) -> Iterator[Outcome]:
        for job in jobs:
            with self.log.open("a") as log:
                log.write(f"{job.key}\n")
            if job.scenario == DEADLY:
                os._exit(1)
            time.sleep(self.seconds)
            yield Outcome(job, {"q": float(job.replicate)}, 1)

    def measure(self, job: Job, records: object) -> dict[str, float | list[float]]:
        return {}
