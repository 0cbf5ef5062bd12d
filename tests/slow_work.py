"""Work that takes its time; other processes import it from here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from cwndlab.runs.executors.protocol import Job, Outcome, Stopped, never_stop


class Slow:
    """Work that is a quarter done, then half done, and takes its time."""

    memory_bytes = 1 << 28

    def check(self) -> None:
        pass

    def perform(self, jobs: Sequence[Job], stopped: Stopped = never_stop) -> Iterator[Outcome]:
        for job in jobs:
            for share in (0.25, 0.5):
                stopped(share)
                time.sleep(0.6)
            yield Outcome(job, {}, 0)

    def measure(self, job: Job, records: object) -> dict[str, float | list[float]]:
        return {}
