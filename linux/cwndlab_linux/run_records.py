"""A run's record tables (docs/reference/records.md), from the router's trace and the testbed's result.

The trace is read in Rust, into the simulator's tables. This module adds what depends on the study: the times
of snapshots, the point of observation, and the requested tables.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cwndlab._core import read_kernel_run
from cwndlab.base.arrow_tables import FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS, read_table
from cwndlab.plan.scenario import kernel_snapshot_times
from cwndlab.runs.executors.protocol import ANSWER_S

from . import senders, stack
from .testbed import observed_port, starts_with_data

#: In virtual time a host answers within this time: a kernel call takes 16 µs.
VIRTUAL_ANSWER_S = 0.0005
#: The table of the kernels' counters of connection ends, with the names of <linux/tcp.h>.
TCP_INFO = "tcp_info"
TCP_INFO_SCHEMA = pa.schema(
    [
        pa.field("connection", pa.uint32(), nullable=False),
        pa.field("from_client", pa.bool_(), nullable=False),
        pa.field("busy_ns", pa.uint64(), nullable=False),
        pa.field("rwnd_limited_ns", pa.uint64(), nullable=False),
        pa.field("sndbuf_limited_ns", pa.uint64(), nullable=False),
        pa.field("delivery_rate_app_limited", pa.bool_(), nullable=False),
        pa.field("total_rto", pa.uint16()),
        pa.field("total_rto_recoveries", pa.uint16()),
        pa.field("total_rto_time_ns", pa.uint64()),
    ]
)
#: The table of programs. Times count from the run's start. A program without end and code ran until the end.
PROGRAMS = "programs"
PROGRAMS_SCHEMA = pa.schema(
    [
        pa.field("traffic", pa.uint32(), nullable=False),
        pa.field("end", pa.string(), nullable=False),
        pa.field("node", pa.string(), nullable=False),
        pa.field("command", pa.string(), nullable=False),
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64()),
        pa.field("exit_code", pa.int32()),
        pa.field("stdout", pa.string(), nullable=False),
        pa.field("stderr", pa.string(), nullable=False),
    ]
)
#: The table of log files that programs wrote; only in runs made for `cwndlab explain`.
LOGS = "logs"
LOGS_SCHEMA = pa.schema(
    [
        pa.field("traffic", pa.uint32(), nullable=False),
        pa.field("end", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("content", pa.binary(), nullable=False),
    ]
)


def logs(folder: Path, traffic: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The table `LOGS` from a folder with the outputs of a run."""
    rows = []
    for path in sorted(folder.glob("programs/*/*/*.*qlog")):
        name, _, end = path.parent.name.rpartition("-")
        index = next(k for k, entry in enumerate(traffic) if entry["name"] == name)
        rows.append({"traffic": index, "end": end, "name": path.name, "content": path.read_bytes()})
    return pa.Table.from_pylist(rows, schema=LOGS_SCHEMA)


def tables(
    scenario: Mapping[str, Any], result: Mapping[str, Any], trace: Path, watch: int | None = None
) -> tuple[dict[str, pa.Table], int]:
    """All record tables of a run, and their time 0 on the router's clock.

    Times count from the workload's start or, for one bulk transfer of a TCP without handshake, from its first
    data packet. `watch` is a host, for a cell's first run: it adds the tables of time budgets and, if no
    segments are observed, a table of this host's first segments.
    """
    nodes = [node for node, _ in result["ports"]]
    observed = observed_port(scenario, nodes)
    begins_only = observed is None
    if begins_only and watch is not None:
        observed = nodes.index(watch)
    made, zero = _read(scenario, result, trace, observed=observed)
    if begins_only:
        segments = made.pop("segments")
        if observed is not None:
            made[FIRST_SEGMENTS] = segments.slice(0, FIRST_SEGMENTS_ROWS)
    probes = scenario.get("probes", {})
    if watch is not None or probes.get("limits") or probes.get("states"):
        made |= _of_senders(scenario, result, trace, made, zero)
    if result.get("tcp_info"):
        made[TCP_INFO] = _kernel_counts(result["tcp_info"], made["connections"])
    if result.get("processes"):
        made[PROGRAMS] = pa.Table.from_pylist(result["processes"], schema=PROGRAMS_SCHEMA)
    return made, zero


def _read(
    scenario: Mapping[str, Any],
    result: Mapping[str, Any],
    trace: Path,
    *,
    observed: int | None = None,
    everywhere: bool = False,
) -> tuple[dict[str, pa.Table], int]:
    """The tables of the trace, with the segments of one port or of all ports, and time 0."""
    read, zero = read_kernel_run(
        json.dumps(scenario),
        json.dumps(result),
        trace,
        snapshots_ns=kernel_snapshot_times(scenario),
        observed_port=observed,
        everywhere=everywhere,
        from_first_data=starts_with_data(scenario),
        answer_ns=round(ANSWER_S * 1e9),
    )
    return {name: read_table(table) for name, table in read.items()}, zero


def _of_senders(
    scenario: Mapping[str, Any],
    result: Mapping[str, Any],
    trace: Path,
    made: Mapping[str, pa.Table],
    zero: int,
) -> dict[str, pa.Table]:
    """The inputs of time budgets apart from cwnd: the packets' delays, and the senders' inferred tables."""
    probes = {**scenario.get("probes", {}), "delays": True}
    read, _ = _read({**scenario, "probes": probes}, result, trace, everywhere=True)
    serials = _serials(made["connections"])
    clock = int(result["router_start_ns"]) + zero
    writes: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    for traffic, number, client, at, count in result.get("writes", ()):
        if number < len(serials.get(traffic, ())):
            writes.setdefault((serials[traffic][number], client), []).append((max(at - clock, 0), count))
    found = senders.infer(
        read["segments"],
        made["connections"],
        writes,
        _settings(scenario, result),
        int(scenario["duration_ns"]),
        round((VIRTUAL_ANSWER_S if result.get("virtual") else ANSWER_S) * 1e9),
        {name: made[name].schema for name in senders.TABLES},
    )
    return {"delays": read["delays"], **found}


def _serials(connections: pa.Table) -> dict[int, list[int]]:
    """The connections of each traffic entry, in the order of opening."""
    found: dict[int, list[int]] = {}
    for serial, traffic in zip(
        connections.column("connection").to_pylist(), connections.column("traffic").to_pylist(), strict=True
    ):
        found.setdefault(traffic, []).append(serial)
    return found


def _settings(
    scenario: Mapping[str, Any], result: Mapping[str, Any]
) -> dict[tuple[int, bool], senders.ReadingRules]:
    """The rules for the client and the server of each traffic entry, by (entry, is client)."""
    found = {}
    for index, entry in enumerate(scenario["traffic"]):
        ends = {True: "client", False: "server"}
        for client, end in ends.items():
            own = scenario["tcp"][entry[f"tcp_{end}"]]
            peer = scenario["tcp"][entry[f"tcp_{ends[not client]}"]]
            offered = stack.window_bytes(own, peer, stack.header_bytes(scenario))
            sysctls = result.get("sysctls", {}).get(str(entry[end]), {})
            found[index, client] = senders.ReadingRules(
                max_window=offered is not None and offered < int(peer["receive_buffer_bytes"]),
                probes=sysctls.get("ipv4.tcp_early_retrans", "3") in ("3", "4"),
            )
    return found


def _kernel_counts(rows: Sequence[Sequence[Any]], connections: pa.Table) -> pa.Table:
    """The table `TCP_INFO` from rows of traffic, ordinal, client and counters."""
    serials = _serials(connections)
    kept = [
        (serials[traffic][number], client, *counters)
        for traffic, number, client, *counters in rows
        if number < len(serials.get(traffic, ()))
    ]
    return senders.table_of(sorted(kept), TCP_INFO_SCHEMA)


def digests(trace: Path, processes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Digests of a run's output: its packets, and the outcome of each program."""
    found = {"its packets": trace.read_bytes()}
    for process in processes:
        name = f"`{process['command']}` at {process['node']}"
        found[name] = json.dumps(process, sort_keys=True).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


def set_zero(capture: Path, zero_ns: int) -> None:
    """Shifts the times of the router's pcapng file so that `zero_ns` becomes 0, as in the tables."""
    data = bytearray(capture.read_bytes())
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an Enhanced Packet Block; its time follows the interface's number
            high, low = struct.unpack_from("<II", data, at + 12)
            struct.pack_into("<II", data, at + 12, *divmod((high << 32 | low) - zero_ns, 1 << 32))
        at += length
    capture.write_bytes(data)
