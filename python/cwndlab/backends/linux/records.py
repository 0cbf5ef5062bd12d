"""The router's trace and the worker's samples as the record tables of a run (docs/guide/records.md).

Times count from the workload's start; for one bulk transfer of a TCP without handshake from its first data
packet.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc

from cwndlab._core import empty_tables
from cwndlab.backends.protocol import ANSWER_S
from cwndlab.plan.scenario import kernel_snapshot_times
from cwndlab.tables import FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS

from .testbed import FIRST_PORT, observed_port, shifted

FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128
#: A segment sent within this time after another arrived is taken as its answer, not as a timer's.
ANSWER_NS = round(ANSWER_S * 1e9)


#: The simulator's own, so that metrics, tables and figures do not know who ran.
SCHEMAS: dict[str, pa.Schema] = {name: pa.table(table).schema for name, table in empty_tables().items()}
#: By the numbers of <linux/tcp.h>, enum tcp_ca_state.
STATES = ("open", "disorder", "cwr", "recovery", "loss")


@dataclass
class Options:
    """TCP options of a segment (RFC 9293, 3.1; RFC 7323; RFC 2018)."""

    mss: int | None = None
    scale: int | None = None
    sack_permitted: bool = False
    ts_val: int | None = None
    ts_ecr: int | None = None
    blocks: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Options:
        """From their bytes in hexadecimal; what is cut short ends them."""
        data, found, at = bytes.fromhex(text), cls(), 0
        while at < len(data) and data[at] != 0:
            if data[at] == 1:
                at += 1
                continue
            if at + 1 >= len(data) or data[at + 1] < 2 or at + data[at + 1] > len(data):
                break
            kind, body = data[at], data[at + 2 : at + data[at + 1]]
            if kind == 2 and len(body) == 2:
                found.mss = int.from_bytes(body, "big")
            elif kind == 3 and len(body) == 1:
                found.scale = body[0]
            elif kind == 4:
                found.sack_permitted = True
            elif kind == 5 and len(body) % 8 == 0:
                found.blocks = struct.unpack(f">{len(body) // 4}I", body)
            elif kind == 8 and len(body) == 8:
                found.ts_val, found.ts_ecr = struct.unpack(">II", body)
            at += data[at + 1]
        return found


@dataclass
class Half:
    """One direction of a connection; positions as in the simulator: SYN 0, first data byte 1."""

    iss: int | None = None
    high: int = 0
    #: Highest acknowledgment it sent as seen at the observation point, and the window then.
    ack: int = 0
    window: int | None = None
    #: Highest acknowledgment it ever sent: bytes it has in order.
    got: int = 0
    scale: int = 0
    offers_scale: bool = False
    #: When something last arrived at this end.
    heard: int = -(1 << 60)
    fin: int | None = None
    fin_acked: int | None = None
    #: Whether an echo of congestion has come since the last CWR, and where that began.
    echoed: bool = False
    reduced_from: int = 0
    #: The highest position sent as the last recovery or timeout began (RFC 6582: recover).
    recover: int = 0


@dataclass
class Connection:
    """A connection in the trace."""

    number: int
    traffic: int
    client: int
    server: int
    start: int
    client_end: tuple[str, int]
    opener_is_client: bool
    established: int | None = None
    end: int | None = None
    reset: bool = False
    segments: int = 0
    retransmits: list[int] = field(default_factory=list)
    timeouts: list[int] = field(default_factory=list)
    #: Recoveries that duplicate ACKs began: the first segment of each that is sent again.
    recoveries: list[int] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    ecn_reductions: list[int] = field(default_factory=list)
    mss: list[int] = field(default_factory=list)
    timestamps: bool = False
    halves: tuple[Half, Half] = field(default_factory=lambda: (Half(), Half()))

    @property
    def payload(self) -> int:
        """Payload bytes of a full segment."""
        return max(1, (min(self.mss) if self.mss else 536) - (12 if self.timestamps else 0))


def _unwrap(value: int, iss: int, near: int) -> int:
    """A 32-bit sequence number as a position, nearest to one that is known."""
    low = (value - iss) & 0xFFFF_FFFF
    position = (near & ~0xFFFF_FFFF) + low
    if position - near > 1 << 31:
        position -= 1 << 32
    elif near - position > 1 << 31:
        position += 1 << 32
    return max(position, 0)


class Reader:
    """Goes through a trace once."""

    def __init__(
        self, scenario: Mapping[str, Any], result: Mapping[str, Any], trace: Path, watch: int | None
    ) -> None:
        self.scenario, self.result, self.trace = scenario, result, trace
        self.node_of: dict[str, int] = {mine: node for node, all_ in result["ports"] for mine in all_}
        self.connections: list[Connection] = []
        self.by_client_end: dict[tuple[str, int], list[Connection]] = {}
        self.current: dict[tuple[str, int, str, int], Connection] = {}
        self.segments: list[tuple[Any, ...]] = []
        self.zero = int(result["zero_ns"]) - int(result["router_start_ns"])
        self.first_data: int | None = None
        #: The edges of windows still to come, and the connections that were open at those before.
        self.edges = kernel_snapshot_times(scenario)
        self.snapshots: list[dict[str, Any]] = []
        nodes = [node for node, _ in result["ports"]]
        self.observed = observed_port(scenario, nodes)
        if self.observed is None and watch is not None:
            self.observed = nodes.index(watch)

    def read(self) -> None:
        """Reads the packets."""
        table = pc.read_csv(
            self.trace,
            convert_options=pc.ConvertOptions(
                column_types={"options": pa.string(), "source": pa.string(), "destination": pa.string()},
                strings_can_be_null=False,
            ),
        )
        columns = [table.column(name).to_pylist() for name in table.column_names]
        for row in zip(*columns, strict=True):
            while self.edges and row[0] >= self.began + self.edges[0]:
                self._snapshot(self.edges.pop(0))
            if row[6] is not None:
                self._packet(row)
        while self.edges:
            self._snapshot(self.edges.pop(0))
        for connection in self.connections:
            self.by_client_end.setdefault(connection.client_end, []).append(connection)

    def _snapshot(self, edge: int) -> None:
        open_ = [c for c in self.connections if c.end is None]
        self.snapshots += [{"time_ns": edge, **_counts(c)} for c in open_]

    @property
    def began(self) -> int:
        """Time 0 of the tables on the router's clock."""
        if self.first_data is not None and shifted(self.scenario):
            return self.first_data
        return self.zero

    def _find(self, row: tuple[Any, ...]) -> tuple[Connection, bool] | None:
        source, destination, sport, dport, flags = row[4:9]
        key = (source, sport, destination, dport)
        if row[1] == "in" and flags & (SYN | ACK) == SYN:
            known = self.current.get(key)
            if known is None or known.end is not None or known.reset:
                return self._open(row, key)
        known = self.current.get(key)
        return None if known is None else (known, (source, sport) == known.client_end)

    def _open(self, row: tuple[Any, ...], key: tuple[str, int, str, int]) -> tuple[Connection, bool]:
        source, sport, destination, dport = key
        traffic = dport - FIRST_PORT
        entry = self.scenario["traffic"][traffic]
        is_client = self.node_of[source] == entry["client"]
        new = Connection(
            len(self.connections),
            traffic,
            entry["client"],
            entry["server"],
            int(row[0]),
            (source, sport) if is_client else (destination, dport),
            is_client,
        )
        self.connections.append(new)
        self.current[key] = self.current[(destination, dport, source, sport)] = new
        return new, is_client

    def _packet(self, row: tuple[Any, ...]) -> None:
        found = self._find(row)
        if found is None:
            return
        connection, from_client = found
        time, event, flags, seq, ack, window, length = (*row[:2], *row[8:13])
        options = Options.parse(row[15]) if row[15] else Options()
        mine, other = connection.halves[not from_client], connection.halves[from_client]
        if flags & SYN:
            if mine.iss is None:
                mine.iss = seq
            mine.offers_scale = options.scale is not None
            mine.scale = options.scale or 0
            connection.timestamps = options.ts_val is not None and (
                other.iss is None or connection.timestamps
            )
            if event == "in" and options.mss is not None:
                connection.mss.append(options.mss)
        if mine.iss is None:
            return
        position = _unwrap(seq, mine.iss, mine.high)
        has_ack = bool(flags & ACK) and other.iss is not None
        acked = _unwrap(ack, other.iss or 0, other.high) if has_ack else 0
        if not flags & SYN and mine.offers_scale and other.offers_scale:
            window <<= mine.scale
        end = position + length + bool(flags & (SYN | FIN))
        again = timeout = False
        if event == "in":
            connection.segments += 1
            again = end > position and end <= mine.high
            if again:
                connection.retransmits.append(time)
                timeout = time - mine.heard > ANSWER_NS
                if timeout:
                    connection.timeouts.append(time)
                elif position >= mine.recover and not flags & SYN:
                    connection.recoveries.append(time)  # up to there all is of the same
                if timeout or position >= mine.recover:
                    mine.recover = mine.high
            if flags & FIN:
                mine.fin = end
            if has_ack:
                mine.got = max(mine.got, acked)
            if length and self.first_data is None:
                self.first_data = time
            if length and flags & CWR and mine.echoed:
                connection.ecn_reductions.append(time)
                mine.echoed, mine.reduced_from = False, position
        elif event != "out":
            (connection.marks if event == "mark" else connection.drops).append(time)
        else:
            other.heard = time
            # What acknowledges nothing behind the last CWR still echoes what that answered (RFC 3168, 6.1.2).
            if flags & (SYN | ECE) == ECE and has_ack and acked > other.reduced_from:
                other.echoed = True
            if flags & SYN and flags & ACK and connection.established is None:
                connection.established = time
            if flags & RST:
                connection.reset = True
                connection.end = connection.end or time
            if has_ack and other.fin is not None and acked >= other.fin:
                other.fin_acked = other.fin_acked or time
                if mine.fin_acked is not None:
                    connection.end = connection.end or time
        if self.observed is not None:
            self._segment(row, connection, from_client, options, (position, acked, window, again, timeout))
        if event == "in":
            mine.high = max(mine.high, end)

    def _segment(
        self,
        row: tuple[Any, ...],
        connection: Connection,
        from_client: bool,
        options: Options,
        told: tuple[Any, ...],
    ) -> None:
        time, event, place, flags, length = row[0], row[1], row[2], row[8], row[12]
        position, acked, window, again, timeout = told
        mine, other = connection.halves[not from_client], connection.halves[from_client]
        if event in ("in", "out") and place != self.observed:
            return
        pure = length == 0 and not flags & (SYN | FIN | RST)
        here = event in ("in", "out")
        link = cause = None
        if here:
            # RFC 5681, section 2, as the simulator's recorder has it
            same = mine.window is None or mine.window == window
            if pure:
                word = "dupack" if acked == mine.ack and same and other.high > acked else "ack"
            else:
                word = ("retransmit" if again else "send") if event == "in" else "recv"
        else:
            link, (word, _, cause) = place, event.partition("-")
            cause = cause or None
        offset, covered = max(position - 1, 0), max(acked - 1, 0)
        unit = connection.payload
        number = -(-covered // unit) if pure else 0 if flags & SYN else offset // unit + 1
        sack = [max(_unwrap(edge, other.iss or 0, other.high) - 1, 0) for edge in options.blocks]
        self.segments.append(
            (
                time, word, connection.number, from_client, event == "in", offset, length, covered, window,
                flags, row[14], timeout, sack, options.ts_val, options.ts_ecr, options.mss, options.scale,
                options.sack_permitted, None, row[13], number, link, cause,
            )
        )  # fmt: skip
        if here and flags & ACK:
            mine.ack = max(mine.ack, acked)
            mine.window = window


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


def _counts(c: Connection) -> dict[str, Any]:
    """What a connection has counted by now."""
    up, down = (max(0, half.got - 1 - (other.fin is not None and half.got >= other.fin))
                for half, other in ((c.halves[1], c.halves[0]), (c.halves[0], c.halves[1])))  # fmt: skip
    return {
        "connection": c.number,
        "traffic": c.traffic,
        "bytes_up": up,
        "bytes_down": down,
        "segments_sent": c.segments,
        "retransmits": len(c.retransmits),
        "timeouts": len(c.timeouts),
        "fast_retransmits": len(c.recoveries),
        "ecn_reductions": len(c.ecn_reductions),
        "drops": len(c.drops),
        "marks": len(c.marks),
    }


def _connection(c: Connection, zero: int, end: int) -> dict[str, Any]:
    def at(time: int | None) -> int | None:
        return None if time is None or time > zero + end else max(time - zero, 0)

    return _counts(c) | {
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
