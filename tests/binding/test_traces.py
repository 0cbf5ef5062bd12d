"""Packet traces of real runs, judged by the tools that people read traces with."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dpkt
import pyarrow as pa
import pytest

from cwndlab import _core
from cwndlab.api import Study

Make = Callable[..., dict[str, Any]]
Rows = list[dict[str, Any]]


@pytest.fixture(params=["rfc5681", "linux-6"])
def traced(request: pytest.FixtureRequest, scenario: Make, tmp_path: Path) -> tuple[Path, Rows]:
    """A run with losses: its trace, and its segments seen at the source."""
    records = _core.run(json.dumps(scenario(request.param)), 1, 0)
    records.write_trace(tmp_path / "source.pcapng", "pcapng")
    rows = pa.table(records["segments"]).to_pylist()
    seen = [row for row in rows if row["event"] not in ("drop", "mark")]
    assert any(row["event"] == "retransmit" for row in seen), "a trace without losses would judge nothing"
    return tmp_path / "source.pcapng", seen


def tool(name: str, *args: str | Path) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run([name, *args], check=True, capture_output=True, text=True).stdout


def packets(path: Path) -> Iterator[tuple[int, dpkt.ip.IP]]:
    with path.open("rb") as file:
        for time_s, data in dpkt.pcapng.Reader(file):
            yield round((float(time_s) - 1e9) * 1e6), dpkt.ip.IP(data)


def repeated_with_nothing_outstanding(rows: Rows) -> int:
    """Acknowledgments that come again after everything was acknowledged, FIN included."""
    highest, last, repeats = 0, None, 0
    for row in rows:
        if row["from_client"]:
            highest = max(highest, row["seq"] + row["len"] + row["flags"] % 2)
        elif row["len"] == 0 and row["flags"] == 16:
            repeats += last == (row["ack"], row["window_bytes"]) and row["ack"] >= highest
        if not row["from_client"]:
            last = (row["ack"], row["window_bytes"])
    return repeats


def test_headers_are_as_long_as_the_packets_on_the_wire(traced: tuple[Path, Rows]) -> None:
    path, rows = traced
    lengths = [ip.len for _, ip in packets(path)]
    assert lengths == [row["wire_bytes"] for row in rows]


def test_times_flags_and_numbers_are_those_of_the_run(traced: tuple[Path, Rows]) -> None:
    path, rows = traced
    for (time_us, ip), row in zip(packets(path), rows, strict=True):
        assert abs(time_us - row["time_ns"] / 1000) <= 1
        assert (ip.data.flags, ip.data.sport > 9999, ip.df) == (row["flags"], row["from_client"], 1)
        syn = bool(row["flags"] & 2)
        assert ip.data.seq == (0 if syn else row["seq"] + 1)


def test_tshark_counts_what_the_run_did(traced: tuple[Path, Rows]) -> None:
    path, rows = traced

    def count(display_filter: str) -> int:
        return len(
            tool(
                "tshark", "-n", "-r", path, "-Y", display_filter, "-T", "fields", "-e", "frame.number"
            ).split()
        )

    assert count("tcp") == len(rows)
    # tshark calls the same thing by three names
    again = "tcp.analysis.retransmission or tcp.analysis.fast_retransmission or tcp.analysis.out_of_order"
    assert count(again) == sum(row["event"] == "retransmit" for row in rows)
    assert count("tcp.analysis.lost_segment") == 0
    # RFC 5681, section 2 asks for data outstanding; tshark does not
    dupacks = sum(row["event"] == "dupack" for row in rows)
    assert count("tcp.analysis.duplicate_ack") == dupacks + repeated_with_nothing_outstanding(rows)
    assert count("tcp.options.sack_le") == sum(bool(row["sack"]) for row in rows)
    assert count("frame.comment contains dropped") > 0


def test_tcptrace_counts_what_the_run_did(traced: tuple[Path, Rows]) -> None:
    path, rows = traced
    text = tool("tcptrace", "-n", "-l", path).split("a->b:")[1]

    def client(label: str) -> int:
        [line] = [line for line in text.splitlines() if line.strip().startswith(label)]
        return int(line.split(":")[1].split()[0])

    sent = [row for row in rows if row["from_client"]]
    assert client("total packets:") == len(sent)
    assert client("actual data bytes:") == sum(row["len"] for row in sent)
    assert client("unique bytes sent:") == 300_000
    again = [row for row in sent if row["event"] == "retransmit" and row["len"]]
    assert client("rexmt data pkts:") == len(again)
    assert client("rexmt data bytes:") == sum(row["len"] for row in again)
    assert text.count("sack pkts sent") > 0


def test_tshark_reads_what_accecn_reports(tmp_path: Path) -> None:
    """Prague behind DualPI2: ACE field and option are those of the records, and count the marks."""
    raw = {
        "title": "marks",
        "measure": ["goodput"],
        "dumbbell": {
            "rate": "20Mbps",
            "rtt": "20ms",
            "buffer": 2,
            "queue": {"kind": "dualpi2"},
            "flows": [{"name": "flow", "cc": "prague"}],
        },
        "run": {"duration": "1s", "warmup": "0s", "seed": 1},
        "probes": {"segments_at": "flow_sender"},
    }
    [cell] = Study.from_dict(raw, name="marks").plan().cells
    records = _core.run(cell.scenario, 1, 0)
    records.write_trace(tmp_path / "flow.pcapng", "pcapng")
    rows = [r for r in pa.table(records["segments"]).to_pylist() if r["event"] not in ("drop", "mark")]
    fields = ["ip.len", "tcp.flags", "acc_ecn.ee1b", "acc_ecn.eceb", "acc_ecn.ee0b"]
    names = [f"tcp.options.{field}" if "acc" in field else field for field in fields]
    found = tool(
        "tshark", "-n", "-r", tmp_path / "flow.pcapng", "-T", "fields", "-E", "separator=,",
        *(word for name in names for word in ("-e", name)),
    ).splitlines()  # fmt: skip
    assert len(found) == len(rows)
    for line, row in zip(found, rows, strict=True):
        length, flags, *counters = line.split(",")
        bits = row["flags"] & ~32 | (256 if row["flags"] & 32 else 0)
        assert (int(length), int(flags, 16)) == (row["wire_bytes"], bits)
        assert [int(counter) for counter in counters if counter] == row["accecn"]
    last = [row for row in rows if not row["sent"]][-1]
    ect1, marked, ect0 = last["accecn"]
    assert marked > 5 * 1436 and marked % 1436 == 0 and (ect1 > marked, ect0) == (True, 1)
    ace = (last["flags"] >> 6) & 1 | (last["flags"] >> 7) << 1 | (last["flags"] >> 5 & 1) << 2
    assert (ace - 5 - marked // 1436) % 8 == 0, "each of the marked packets counts one"


def test_a_run_that_observed_nothing_has_no_trace(scenario: Make, tmp_path: Path) -> None:
    blind = scenario()
    blind["probes"] = {}
    with pytest.raises(ValueError, match=r"observed no segments: .* segments_at"):
        _core.run(json.dumps(blind), 1, 0).write_trace(tmp_path / "trace", "pcapng")


def test_a_file_that_cannot_be_written_is_an_oserror_with_its_name(scenario: Make, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        _core.run(json.dumps(scenario()), 1, 0).write_trace(tmp_path / "nowhere" / "trace", "ns")
