"""A run's record tables (docs/guide/records.md) from the router's trace and the testbed's result.

The trace is read in Rust, into the simulator's own tables. Here is what only the study knows: when snapshots
were taken, where segments were observed, and which tables were asked for.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cwndlab._core import read_kernel_run
from cwndlab.backends.protocol import ANSWER_S
from cwndlab.plan.scenario import kernel_snapshot_times
from cwndlab.tables import FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS

from .testbed import observed_port, shifted


def tables(
    scenario: Mapping[str, Any], result: Mapping[str, Any], trace: Path, watch: int | None = None
) -> tuple[dict[str, pa.Table], int]:
    """All record tables of a run, and their time 0 on the router's clock.

    Times count from the workload's start; for one bulk transfer of a TCP without handshake from its first
    data packet. A run that observes no segments has those of the host `watch` at its beginning, in a table
    of their own.
    """
    nodes = [node for node, _ in result["ports"]]
    observed = observed_port(scenario, nodes)
    begins_only = observed is None
    if begins_only and watch is not None:
        observed = nodes.index(watch)
    read, zero = read_kernel_run(
        json.dumps(scenario),
        json.dumps(result),
        trace,
        snapshots_ns=kernel_snapshot_times(scenario),
        observed_port=observed,
        from_first_data=shifted(scenario),
        answer_ns=round(ANSWER_S * 1e9),
    )
    made = {name: pa.table(table) for name, table in read.items()}
    if begins_only:
        segments = made.pop("segments")
        if observed is not None:
            made[FIRST_SEGMENTS] = segments.slice(0, FIRST_SEGMENTS_ROWS)
    return made, zero


def set_zero(capture: Path, zero_ns: int) -> None:
    """Makes the times of a pcapng file of the router's count from `zero_ns`, as those of the tables do."""
    data = bytearray(capture.read_bytes())
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an Enhanced Packet Block; its time follows the interface's number
            high, low = struct.unpack_from("<II", data, at + 12)
            struct.pack_into("<II", data, at + 12, *divmod((high << 32 | low) - zero_ns, 1 << 32))
        at += length
    capture.write_bytes(data)
