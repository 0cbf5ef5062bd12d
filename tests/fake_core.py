"""A core that needs no engine: its runs are quick and depend on scenario, seed and replicate only."""

from __future__ import annotations

import hashlib
import json
import random
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from cwndlab import _core
from cwndlab.plan.compile import _read_profile
from cwndlab.runs.work import WORTH_KEEPING, _engine_scenario

#: What a fake may replace.
_REAL = {
    name: getattr(_core, name)
    for name in ("version", "engine_digest", "complete_scenario", "Scenario", "run", "tcp_profile")
}


def replace_core(other: object) -> None:
    """Puts the functions of another core in the place of the engine's; None: the engine's again."""
    for name, real in _REAL.items():
        fake = hasattr(other, name)
        setattr(_core, name, partial(_call, other, name) if fake else real)
    for known in (_engine_scenario, _read_profile):
        known.cache_clear()


def _call(other: object, name: str, *args: Any, **options: Any) -> Any:
    return getattr(other, name)(*args, **options)


class FakeRecords:
    """Tables made by the fake."""

    def __init__(self, tables: dict[str, pa.Table], packets: int) -> None:
        self._tables = tables
        self.names = list(tables)
        self.packets = packets
        self.digest = "0" * 64

    def table(self, name: str) -> Any:
        return self._tables[name]


class FakeCore:
    """Draws a goodput around the bottleneck's rate; `broken` seeds a failure, `sleep_s` makes a run take its
    time.
    """

    def __init__(self, *, broken: str | None = None, sleep_s: float = 0.0, version: str = "fake-1") -> None:
        self.broken = broken
        self.packets = WORTH_KEEPING
        self.sleep_s = sleep_s
        self._version = version
        self.runs = 0
        self.scenarios_read = 0

    def version(self) -> str:
        return self._version

    def engine_digest(self) -> str:
        return f"digest of {self._version}"

    def complete_scenario(self, scenario: str) -> str:
        return _REAL["complete_scenario"](scenario)

    def Scenario(self, scenario: str) -> SimpleNamespace:  # noqa: N802 - as in the core
        self.scenarios_read += 1
        return SimpleNamespace(run=partial(self.run, scenario))

    def run(self, scenario: str, seed: int, replicate: int, **budget: Any) -> FakeRecords:
        self.runs += 1
        if self.sleep_s:
            time.sleep(self.sleep_s)
        if self.broken is not None and self.broken in scenario:
            raise RuntimeError("the engine panicked")
        world = json.loads(scenario)
        # Common random numbers: the draw depends on the replicate, the cell only moves it.
        shared = random.Random(f"{seed}/{replicate}").gauss(0, 1)
        own = random.Random(hashlib.sha256(f"{scenario}/{seed}/{replicate}".encode()).hexdigest()).gauss(0, 1)
        slowest = min(link["rate_bps"] for link in world["links"])
        sent = int(slowest / 8 * world["duration_ns"] / 1e9 * (0.5 + 0.02 * shared + 0.002 * own))
        count = len(world["traffic"])
        connections = pa.table(
            {
                "connection": pa.array(range(count), pa.uint32()),
                "traffic": pa.array(range(count), pa.uint32()),
                "bytes_up": pa.array([sent // max(count, 1)] * count, pa.uint64()),
                "bytes_down": pa.array([0] * count, pa.uint64()),
                "retransmits": pa.array([1] * count, pa.uint32()),
                "timeouts": pa.array([0] * count, pa.uint32()),
            }
        )
        events = ["send", "send", "ack", "ack", "drop", "retransmit"]
        segments = pa.table(
            {
                "time_ns": pa.array(
                    [0, 10, 1_222_293_000, 2_000_000_000, 2_500_000_000, 3_000_000_000], pa.uint64()
                ),
                "event": pa.array(events).dictionary_encode(),
                "connection": pa.array([0] * 6, pa.uint32()),
                "segment": pa.array([1, 2, 1, 2, 4, 4], pa.int64()),
                "len": pa.array([1000, 1000, 0, 0, 1000, 1000], pa.uint32()),
            }
        )
        failures = pa.table({"traffic": pa.array([], pa.uint32()), "reason": pa.array([], pa.string())})
        tables = {"connections": connections, "segments": segments, "failures": failures}
        return FakeRecords(tables, self.packets)
