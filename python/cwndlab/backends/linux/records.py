"""The router's trace and the worker's samples as the record tables of a run (docs/guide/records.md).

Times count from the workload's start; for one bulk transfer of a TCP without handshake from its first data
packet.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc

from cwndlab._core import empty_tables
from cwndlab.plan.scenario import kernel_snapshot_times
from cwndlab.tables import FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS

from .trace import Connection, Reader

#: The simulator's own, so that metrics, tables and figures do not know who ran.
SCHEMAS: dict[str, pa.Schema] = {name: pa.table(table).schema for name, table in empty_tables().items()}
#: By the numbers of <linux/tcp.h>, enum tcp_ca_state.
STATES = ("open", "disorder", "cwr", "recovery", "loss")


def tables(
    scenario: Mapping[str, Any], result: Mapping[str, Any], trace: Path, watch: int | None = None
) -> tuple[dict[str, pa.Table], int]:
    """All record tables of a run, and their time 0 on the router's clock.

    A run that observes no segments has those of the host `watch` at its beginning, in a table of their own.
    """
    reader = Reader(scenario, result, trace, watch)
    reader.read()
    zero, end = reader.began, scenario["duration_ns"]
    reader.zero = zero
    probes = scenario.get("probes", {})
    summary = result["summary"]
    made = {"links": _filled("links", _links(summary["links"], summary["wall_ns"]))}
    made["objects"] = _table("objects", _objects(reader, result, end))
    edges = kernel_snapshot_times(scenario)
    made["object_snapshots"] = _table(
        "object_snapshots",
        [(edge, *row) for edge in edges for row in _objects(reader, result, edge, unfinished=True)],
    )
    made["link_snapshots"] = _filled(
        "link_snapshots",
        [
            {"time_ns": edge, **row}
            for edge, links in zip(edges, summary["link_snapshots"], strict=True)
            for row in _links(links, edge)
        ],
    )
    made["connections"] = _filled("connections", [_connection(c, zero, end) for c in reader.connections])
    made["connection_snapshots"] = _filled("connection_snapshots", reader.snapshots)
    if reader.observed is not None:
        # A handshake before the clock's start is none of the study's TCP.
        rows = [(row[0] - zero, *row[1:]) for row in reader.segments if zero <= row[0] <= zero + end]
        if probes.get("segments_at") is not None:
            made["segments"] = _table("segments", rows)
        else:
            made[FIRST_SEGMENTS] = _table("segments", rows[:FIRST_SEGMENTS_ROWS])
    # What was not asked for is empty, as the simulator's is.
    sampled = probes.get("queue_interval_ns") and probes.get("queues")
    queues = trace.with_name(trace.name + ".queues.csv")
    made["queues"] = _queues(queues, zero, end) if sampled else _table("queues", [])
    made["cwnd"] = _windows(reader, result, end) if probes.get("cwnd") else _table("cwnd", [])
    return made, zero


def set_zero(capture: Path, zero_ns: int) -> None:
    """Makes the times of a pcapng file of the router's count from `zero_ns`, as those of the tables do."""
    data = bytearray(capture.read_bytes())
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an Enhanced Packet Block; its time stands behind the interface's number
            high, low = struct.unpack_from("<II", data, at + 12)
            struct.pack_into("<II", data, at + 12, *divmod((high << 32 | low) - zero_ns, 1 << 32))
        at += length
    capture.write_bytes(data)


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = SCHEMAS[name]
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = []
    for values, kind in zip(columns, schema, strict=True):
        if pa.types.is_dictionary(kind.type):
            arrays.append(pa.array(values, pa.string()).dictionary_encode().cast(kind.type))
        else:
            arrays.append(pa.array(values, kind.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _filled(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A table of rows that have at least its columns."""
    return _table(name, [tuple(row[column] for column in SCHEMAS[name].names) for row in rows])


def _connection(c: Connection, zero: int, end: int) -> dict[str, Any]:
    def at(time: int | None) -> int | None:
        return None if time is None or time > zero + end else max(time - zero, 0)

    return c.counts() | {
        "client": c.client,
        "server": c.server,
        "start_ns": max(c.start - zero, 0),
        "established_ns": at(c.established),
        "end_ns": at(c.end),
        "failed": c.reset and c.end is not None and c.end <= zero + end,
    }


def _objects(
    reader: Reader, result: Mapping[str, Any], end: int, *, unfinished: bool = False
) -> list[tuple[Any, ...]]:
    """Rows of the objects that began before `end`, or of the unfinished of them; what ended later is."""
    start, zero = int(result["router_start_ns"]), reader.zero
    rows = []
    for item in result["objects"]:
        began = item["start_ns"] - start - zero
        finished = item["end_ns"] is not None and item["end_ns"] - start - zero <= end
        ended = item["end_ns"] - start - zero if finished else end
        if began >= end or (unfinished and finished):
            continue
        again = timeouts = 0
        for key in item["client_ends"]:
            for connection in reader.by_client_end.get(tuple(key), []):
                again += sum(began <= time - zero <= ended for time in connection.retransmits)
                timeouts += sum(began <= time - zero <= ended for time in connection.timeouts)
        rows.append(
            (
                item["traffic"], item["kind"], item["index"], max(began, 0), ended if finished else None,
                item["bytes"] if finished else 0, item["connections"], again, timeouts, finished,
            )
        )  # fmt: skip
    return rows


def _links(links: Sequence[Mapping[str, Any]], until_ns: int) -> list[dict[str, Any]]:
    """Rows of what the links had counted until a time of the run."""
    rows = []
    for index, link in enumerate(links):
        below, between, above = link["red_ns"] or (None, None, None)
        rows.append(
            {
                **link,
                "link": index,
                "departures": link["accepted"],
                "mean_queue_packets": link["sojourn_ns"] / max(until_ns, 1),
                "red_below_ns": below,
                "red_between_ns": between,
                "red_above_ns": above,
            }
        )
    return rows


def _queues(path: Path, zero: int, end: int) -> pa.Table:
    table = pc.read_csv(path, convert_options=pc.ConvertOptions(column_types={"average": pa.float64()}))
    rows = [
        (time - zero, *rest)
        for time, *rest in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
        if zero <= time <= zero + end
    ]
    return _table("queues", rows)


def _windows(reader: Reader, result: Mapping[str, Any], end: int) -> pa.Table:
    known: dict[tuple[str, int, str, int], Connection] = {}
    for key, connection in reader.current.items():
        known[key] = connection
    rows = []
    zero = reader.zero + int(result["router_start_ns"])
    for time, source, sport, destination, dport, cwnd, ssthresh, rtt, flight, state in result["windows"]:
        found = known.get((source, sport, destination, dport))
        if found is None or time > zero + end:
            continue
        from_client = (source, sport) == found.client_end
        window = (cwnd, ssthresh, rtt or None, flight, STATES[state])
        rows.append((max(0, time - zero), found.number, from_client, *window))
    return _table("cwnd", rows)
