"""The router's trace, packet by packet: connections, what became of them, and what one host saw."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc

from cwndlab.backends.protocol import ANSWER_S
from cwndlab.plan.scenario import kernel_snapshot_times

from .testbed import FIRST_PORT, observed_port, shifted

FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128
#: A segment sent within this time after another arrived is taken as its answer, not as a timer's.
ANSWER_NS = round(ANSWER_S * 1e9)


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

    def bytes_at(self, other: Half) -> int:
        """Payload bytes of this end that the other has in order; the SYN and the FIN take a number each."""
        fin = self.fin is not None and other.got >= self.fin
        return max(0, other.got - 1 - fin)


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

    def counts(self) -> dict[str, Any]:
        """What a connection has counted by now."""
        client, server = self.halves
        up, down = client.bytes_at(server), server.bytes_at(client)
        return {
            "connection": self.number,
            "traffic": self.traffic,
            "bytes_up": up,
            "bytes_down": down,
            "segments_sent": self.segments,
            "retransmits": len(self.retransmits),
            "timeouts": len(self.timeouts),
            "fast_retransmits": len(self.recoveries),
            "ecn_reductions": len(self.ecn_reductions),
            "drops": len(self.drops),
            "marks": len(self.marks),
        }


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
        self.snapshots += [{"time_ns": edge, **c.counts()} for c in open_]

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
