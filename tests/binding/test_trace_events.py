"""One run with everything that a trace can show: tshark and tcptrace count as many as the run itself.

Two transfers share a RED queue that marks: a fast one, of which a link drops two packets once and one twice
(so that its retransmission is lost and the timer must send it), and one whose receiver reads slowly (so that
its window closes).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cwndlab import _core

Rows = list[dict[str, Any]]

SOURCE, RECEIVER = 0, 2
SYN, FIN, ACK, ECE, CWR = 2, 1, 16, 64, 128
CE = 3
RED = {"kind": "red", "limit": 60, "min_th": 3, "max_th": 30, "max_p": 0.2, "w_q": 0.02, "ecn": True}


def run(scenario: Callable[..., dict[str, Any]], node: int, path: Path) -> tuple[Rows, Rows, Rows]:
    """Writes the trace seen at a node; its segments, what links did to packets, and the connections."""
    made = scenario("rfc5681", ecn="rfc3168", recovery="sack", sack=True, timestamps=True)
    made["tcp"].append({**made["tcp"][0], "receive_buffer_bytes": 10 * 1448})
    made["links"][1]["queue"] = RED
    made["links"][1]["impairments"] = [
        {"kind": "drop-seq", "offsets": [250_000, 330_000]},
        {"kind": "drop-seq", "offsets": [450_000], "occurrences": 2},
    ]
    made["traffic"][0]["app"]["bytes"] = 600_000
    slow = {"kind": "bulk", "bytes": 50_000, "from": "client", "read_rate_bps": 60_000}
    made["traffic"].append({**made["traffic"][0], "name": "slow", "tcp_server": 1, "app": slow})
    made["probes"]["segments_at"] = node
    records = _core.run(json.dumps(made), 1, 0)
    records.write_trace(path, "pcapng")
    rows = pa.table(records["segments"]).to_pylist()
    seen = [row for row in rows if row["link"] is None]
    return (
        seen,
        [row for row in rows if row["link"] is not None],
        pa.table(records["connections"]).to_pylist(),
    )


class Trace:
    """A trace file and what the run says of it."""

    def __init__(self, scenario: Callable[..., dict[str, Any]], node: int, folder: Path) -> None:
        self.path = folder / "trace.pcapng"
        self.seen, self.links, self.connections = run(scenario, node, self.path)

    def total(self, column: str) -> int:
        return sum(connection[column] for connection in self.connections)

    def rows(self, **wanted: Any) -> Rows:
        return [row for row in self.seen if all(row[key] == value for key, value in wanted.items())]

    def flagged(self, bit: int) -> int:
        return sum(bool(row["flags"] & bit) for row in self.seen)

    def count(self, display_filter: str) -> int:
        """Packets that tshark finds by a filter."""
        fields = ("-T", "fields", "-e", "frame.number")
        return len(tool("tshark", "-n", "-r", self.path, "-Y", display_filter, *fields).split())

    def tcptrace(self, label: str) -> list[tuple[int, int]]:
        """A line of `tcptrace -l` for each connection: towards the receiver, and back."""
        return [
            (int(words[0]), int(words[len(words) // 2]))
            for line in tcptrace(self.path).splitlines()
            if line.strip().startswith(label) and line.count(f"{label}:") == 2
            for words in [[word for word in line.split() if word.isdigit()]]
        ]


def tool(name: str, *args: str | Path) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run([name, *args], check=True, capture_output=True, text=True).stdout


@cache
def tcptrace(path: Path) -> str:
    return tool("tcptrace", "-n", "-l", path)


@pytest.fixture
def source(scenario: Callable[..., dict[str, Any]], tmp_path: Path) -> Trace:
    """The trace at the senders."""
    return Trace(scenario, SOURCE, tmp_path)


@pytest.fixture
def receiver(scenario: Callable[..., dict[str, Any]], tmp_path: Path) -> Trace:
    """The trace at the receivers."""
    return Trace(scenario, RECEIVER, tmp_path)


def test_the_run_holds_everything_that_a_trace_can_show(source: Trace, receiver: Trace) -> None:
    assert source.total("timeouts") > 0
    assert source.total("retransmits") > source.total("timeouts")
    assert source.total("marks") > 0
    assert source.total("ecn_reductions") > 0
    assert source.flagged(CWR) > 1, "more than the SYN's"
    assert any(row["sack"] for row in source.seen)
    assert source.rows(window_bytes=0, from_client=False)
    assert receiver.rows(ecn=CE)


def test_packets_and_bytes(source: Trace) -> None:
    ways = (True, False)
    sent = [
        tuple(source.rows(connection=connection, from_client=way) for way in ways) for connection in (0, 1)
    ]
    assert source.count("tcp") == len(source.seen)
    assert source.tcptrace("total packets") == [(len(a), len(b)) for a, b in sent]
    payload = [tuple(sum(row["len"] for row in rows) for rows in pair) for pair in sent]
    assert source.tcptrace("actual data bytes") == payload
    assert source.tcptrace("unique bytes sent") == [(c["bytes_up"], 0) for c in source.connections]
    both = sum(row["len"] for row in source.seen)
    lengths = tool("tshark", "-n", "-r", source.path, "-T", "fields", "-e", "tcp.len").split()
    assert sum(map(int, lengths)) == both


def test_retransmissions_are_those_that_the_endpoints_count(source: Trace) -> None:
    again = [connection["retransmits"] for connection in source.connections]
    assert [there for there, _ in source.tcptrace("rexmt data pkts")] == again
    # tshark calls the same thing by three names
    names = ("retransmission", "fast_retransmission", "out_of_order", "spurious_retransmission")
    assert source.count(" or ".join(f"tcp.analysis.{name}" for name in names)) == sum(again)
    assert source.count("tcp.analysis.lost_segment") == 0


def test_what_a_timer_sent_again_says_so(source: Trace) -> None:
    assert source.count('frame.comment contains "retransmission timer"') == source.total("timeouts")


def test_segments_with_sack_blocks(source: Trace) -> None:
    with_blocks = [
        sum(bool(row["sack"]) for row in source.rows(connection=connection)) for connection in (0, 1)
    ]
    assert [back for _, back in source.tcptrace("sack pkts sent")] == with_blocks
    assert source.count("tcp.options.sack_le") == sum(with_blocks)


def test_closed_windows(source: Trace) -> None:
    closed = [
        len(source.rows(connection=connection, from_client=False, window_bytes=0)) for connection in (0, 1)
    ]
    assert [back for _, back in source.tcptrace("zero win adv")] == closed
    assert source.count("tcp.window_size == 0") == sum(closed)
    # tshark's own name for it leaves out what carries SYN, FIN or RST
    assert source.count("tcp.analysis.zero_window") == sum(closed)


def test_marks_are_the_packets_that_arrive_with_ce(receiver: Trace) -> None:
    assert receiver.count("ip.dsfield.ecn == 3") == receiver.total("marks")
    assert receiver.count('frame.comment contains "marked CE"') == receiver.total("marks")


def test_echoes_and_answers_are_those_of_the_endpoints(source: Trace, receiver: Trace) -> None:
    for trace in (source, receiver):
        assert trace.count("tcp.flags.ece == 1") == trace.flagged(ECE)
        assert trace.count("tcp.flags.cwr == 1") == trace.flagged(CWR)
    # CWR answers each reduction on the next new segment (RFC 3168, 6.1.2), and is set in each SYN
    answers = source.count("tcp.flags.cwr == 1 and tcp.flags.syn == 0")
    assert source.total("ecn_reductions") <= answers
    assert source.count("tcp.flags.cwr == 1 and tcp.flags.syn == 1") == len(source.connections)


def test_only_new_data_is_capable(source: Trace) -> None:
    assert source.count("ip.dsfield.ecn == 1") == 0
    capable = source.count("ip.dsfield.ecn == 2")
    assert capable == len([row for row in source.seen if row["event"] == "send" and row["len"]])


def test_drops_are_comments_where_the_packet_was_sent(source: Trace) -> None:
    assert source.count('frame.comment contains "dropped (loss)"') == source.total("drops")
    lost = [row["ip_id"] for row in source.links if row["event"] == "drop"]
    fields = ("-T", "fields", "-e", "ip.id")
    shown = tool("tshark", "-n", "-r", source.path, "-Y", "frame.comment contains dropped", *fields).split()
    assert [int(text, 16) for text in shown] == sorted(lost)


def test_a_segment_sent_again_is_another_packet(source: Trace) -> None:
    fields = ("-T", "fields", "-e", "ip.src", "-e", "ip.id")
    packets = tool("tshark", "-n", "-r", source.path, *fields).splitlines()
    assert len(set(packets)) == len(packets) == len(source.seen)
