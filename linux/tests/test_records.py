"""A router's trace as records: the same tables as the simulator's."""

from __future__ import annotations

import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.plan.scenario import kernel_run, kernel_snapshot_times, watched_host
from cwndlab_linux import run_records as records

HEADER = (
    "time_ns,event,place,packet,source,destination,source_port,destination_port,"
    "flags,seq,ack,window,payload_bytes,wire_bytes,ecn,options\n"
)
S, R = "10.93.0.1", "10.93.3.1"
ISS = 0xFFFF_FF00  # wraps within the first packet


def scenario() -> dict[str, Any]:
    cell = Study.load("rfc2416").set({"variant": "tahoe", "iw": 1, "size": "as-traced"}).plan().cells[0]
    return dict(cell.compiled.scenario)


def line(ms: float, event: str, place: int, source: str, flags: int, seq: int, ack: int, length: int) -> str:
    """A line of a trace; the receiver opened from port 4000."""
    there, ports = (R, "5001,4000") if source == S else (S, "4000,5001")
    seq, ack = seq & 0xFFFF_FFFF, ack & 0xFFFF_FFFF
    options = "020403c0" if flags & 2 else ""
    return (
        f"{round(ms * 1e6)},{event},{place},0,{source},{there},{ports},{flags},{seq},{ack},"
        f"19200,{length},{length + 40},0,{options}\n"
    )


def data(ms: float, event: str, place: int, number: int) -> str:
    return line(ms, event, place, S, 16, ISS + 1 + 960 * (number - 1), 8, 960)


def ack(ms: float, covers: int) -> str:
    return line(ms - 1, "in", 1, R, 16, 8, ISS + 1 + 960 * covers, 0) + line(
        ms, "out", 0, R, 16, 8, ISS + 1 + 960 * covers, 0
    )


def made(
    tmp_path: Path,
    text: str,
    watch: int | None = None,
    at_end: int | None = None,
    programs: tuple[tuple[str, int], ...] = (),
    **changes: Any,
) -> dict[str, pa.Table]:
    """The tables of a trace; `at_end` is the time for which each link was busy up to the scenario's end."""
    trace = tmp_path / "trace.csv"
    trace.write_text(HEADER + text)
    Path(f"{trace}.queues.csv").write_text("time_ns,link,packets,bytes,average\n1000000,4,1,1000,\n")
    link = {
        "name": "", "arrivals": 1, "accepted": 1, "bytes": 1,
        "drops_full": 0, "drops_aqm": 0, "drops_loss": 0, "marks": 0,
        "busy_ns": 1, "sojourn_ns": 5, "max_queue_packets": 1, "red_ns": None,
    }  # fmt: skip
    snapshots = [[link] * 6] * len(kernel_snapshot_times(scenario() | changes))
    if at_end is not None:
        snapshots = [*snapshots, [link | {"busy_ns": at_end}] * 6]
    result = {
        "programs": programs,
        "zero_ns": 0, "router_start_ns": 0, "ports": [[0, [S]], [3, [R]]], "objects": [],
        "windows": [],
        "summary": {"links": [link] * 6, "link_snapshots": snapshots, "wall_ns": 10},
    }  # fmt: skip
    return records.tables(scenario() | changes, result, trace, watch)[0]


HANDSHAKE = (
    line(0, "in", 1, R, 2, 7, 0, 0)
    + line(10, "out", 0, R, 2, 7, 0, 0)
    + line(11, "in", 0, S, 18, ISS, 8, 0)
    + line(20, "out", 1, S, 18, ISS, 8, 0)
    + line(21, "in", 1, R, 16, 8, ISS + 1, 0)
    + line(30, "out", 0, R, 16, 8, ISS + 1, 0)
)


def test_tables_have_the_simulators_columns_and_types(tmp_path: Path) -> None:
    run = _core.run(json.dumps(scenario()), 1, 0)
    own = made(tmp_path, HANDSHAKE + data(50, "in", 0, 1))
    assert {"segments", "connections", "links", "objects"} <= set(own) <= set(run.names)
    for name, table in own.items():
        assert table.schema == pa.table(run.table(name)).schema, name


def test_a_run_that_observes_nothing_keeps_the_beginning_of_one_host(tmp_path: Path) -> None:
    text = HANDSHAKE + data(50, "in", 0, 1) + ack(150, 1)
    unseen = made(tmp_path, text, probes={}, watch=None)
    assert not {"segments", "first_segments"} & set(unseen)
    kept = made(tmp_path, text, probes={}, watch=watched_host(scenario()))
    assert "segments" not in kept
    rows = kept["first_segments"].to_pylist()
    assert [(r["event"], r["segment"]) for r in rows] == [("send", 1), ("ack", 1)]


def test_the_clock_starts_with_the_first_data_and_acknowledgments_count_packets(tmp_path: Path) -> None:
    text = HANDSHAKE + data(50, "in", 0, 1) + ack(150, 1) + data(150.1, "in", 0, 2) + ack(250, 2)
    rows = made(tmp_path, text)["segments"].to_pylist()
    assert [(r["time_ns"], r["event"], r["segment"], r["from_client"]) for r in rows] == [
        (0, "send", 1, True),
        (100_000_000, "ack", 1, False),
        (100_100_000, "send", 2, True),
        (200_000_000, "ack", 2, False),
    ]


def test_a_duplicate_a_drop_and_both_kinds_of_retransmission_are_told_apart(tmp_path: Path) -> None:
    text = HANDSHAKE + "".join(data(50 + k, "in", 0, k) for k in (1, 2, 3, 4))
    text += data(60, "drop-full", 4, 2) + ack(150, 1) + ack(160, 1) + ack(170, 1)
    text += data(170.1, "in", 0, 2)  # an answer
    text += data(900, "in", 0, 2)  # a timer's
    tables = made(tmp_path, text)
    rows = tables["segments"].to_pylist()
    assert [r["event"] for r in rows][4:] == ["drop", "ack", "dupack", "dupack", "retransmit", "retransmit"]
    drop = rows[4]
    assert (drop["segment"], drop["link"], drop["cause"], drop["sent"]) == (2, 4, "full", False)
    connection = tables["connections"].to_pylist()[0]
    assert (connection["retransmits"], connection["timeouts"], connection["fast_retransmits"]) == (2, 1, 1)
    assert (connection["bytes_up"], connection["bytes_down"], connection["end_ns"]) == (960, 0, None)
    assert (connection["drops"], connection["marks"], connection["ecn_reductions"]) == (1, 0, 0)


def test_a_recovery_counts_once_and_what_follows_a_timeout_not_at_all(tmp_path: Path) -> None:
    text = HANDSHAKE + "".join(data(50 + k, "in", 0, k) for k in range(1, 9))
    text += ack(150, 1) + data(150.1, "in", 0, 2) + ack(160, 3) + data(160.1, "in", 0, 4)  # one recovery
    text += ack(170, 8) + "".join(data(170.1 + k / 10, "in", 0, k) for k in (9, 10, 11))
    text += ack(270, 8) + data(270.1, "in", 0, 9)  # another
    text += data(900, "in", 0, 9) + ack(1000, 9) + data(1000.1, "in", 0, 10)  # a timeout's
    connection = made(tmp_path, text)["connections"].to_pylist()[0]
    assert (connection["retransmits"], connection["timeouts"], connection["fast_retransmits"]) == (5, 1, 2)


def test_a_reduction_for_an_echo_is_counted_once_and_one_for_a_loss_is_not(tmp_path: Path) -> None:
    def flagged(ms: float, flags: int, number: int) -> str:
        return line(ms, "in", 0, S, 16 | flags, ISS + 1 + 960 * (number - 1), 8, 960)

    def echo(ms: float, covers: int) -> str:
        return line(ms, "out", 0, R, 16 | 64, 8, ISS + 1 + 960 * covers, 0)

    text = HANDSHAKE + data(50, "in", 0, 1) + data(51, "in", 0, 2) + data(60, "mark", 4, 1)
    text += echo(150, 1) + flagged(151, 128, 3)  # the reduction
    text += echo(160, 2) + flagged(161, 128, 4)  # a late echo of the same mark; CWR for a loss
    connection = made(tmp_path, text)["connections"].to_pylist()[0]
    assert (connection["marks"], connection["ecn_reductions"], connection["drops"]) == (1, 1, 0)
    text += echo(170, 3) + flagged(171, 128, 5)  # acknowledges the CWR: another mark's
    assert made(tmp_path, text)["connections"].to_pylist()[0]["ecn_reductions"] == 2


def test_what_stood_when_the_warm_up_was_over_is_kept(tmp_path: Path) -> None:
    text = HANDSHAKE + data(50, "in", 0, 1) + data(51, "in", 0, 2) + data(60, "mark", 4, 1) + ack(150, 1)
    text += data(160, "in", 0, 3) + data(170, "drop-full", 4, 3) + ack(250, 2)
    # of the time from the first data packet, at 50 ms
    tables = made(tmp_path, text, windows={"measured": [105_000_000, scenario()["duration_ns"]]})
    before, end = (tables[name].to_pylist()[0] for name in ("connection_snapshots", "connections"))
    assert before["time_ns"] == 105_000_000
    assert (before["bytes_up"], before["marks"], before["drops"]) == (960, 1, 0)
    assert (end["bytes_up"], end["marks"], end["drops"]) == (2 * 960, 1, 1)
    assert end["segments_sent"] - before["segments_sent"] == 2
    each_second = [second * 10**9 for second in range(1, 60)]
    times = tables["link_snapshots"]["time_ns"].to_pylist()
    assert times == [at for at in (105_000_000, *each_second) for _ in range(6)]


def test_links_are_counted_to_the_scenarios_end_not_to_the_routers(tmp_path: Path) -> None:
    stopped_early = made(tmp_path, HANDSHAKE)
    assert (stopped_early["links"]["busy_ns"][0].as_py(), stopped_early["links"].num_rows) == (1, 6)
    whole = made(tmp_path, HANDSHAKE, at_end=7)
    assert (whole["links"]["busy_ns"][0].as_py(), whole["links"].num_rows) == (7, 6)
    assert len(whole["link_snapshots"]) == len(stopped_early["link_snapshots"])


def test_what_a_kernels_run_records_anyway_makes_it_no_other_run() -> None:
    first = scenario() | {"probes": {}, "windows": {"measured": [0, 60 * 10**9]}}
    same = first | {"windows": {"late": [5 * 10**9, 15 * 10**9]}, "probes": {"connections": True}}
    between = first | {"windows": {"late": [5_500_000_000, 15 * 10**9]}}
    observed = first | {"probes": {"segments_at": 0}}
    keys = [kernel_run(_core.complete_scenario(json.dumps(one))) for one in (first, same, between, observed)]
    assert keys[0] == keys[1] and len(set(keys)) == 3


def test_bytes_count_without_the_fin_and_a_connection_ends_when_both_are_acknowledged(tmp_path: Path) -> None:
    end = ISS + 1 + 960
    text = HANDSHAKE + data(50, "in", 0, 1) + line(51, "in", 0, S, 17, end, 8, 0)
    text += line(60, "in", 1, R, 17, 8, end + 1, 0) + line(70, "out", 0, R, 17, 8, end + 1, 0)
    text += line(71, "in", 0, S, 16, end + 1, 9, 0) + line(80, "out", 1, S, 16, end + 1, 9, 0)
    row = made(tmp_path, text)["connections"].to_pylist()[0]
    assert (row["bytes_up"], row["end_ns"], row["failed"], row["retransmits"]) == (960, 30_000_000, False, 0)


#: What later readers add (tests/records/test_kernel_budget.py).
INFERRED = ("limits", "states", "timeouts", "delays")
KEPT = sorted(Path(__file__).with_name("kept").glob("*.json.xz"))


def digest(table: pa.Table) -> str:
    """Of all columns but the AccECN option, younger than the digests, and the mean queue, whose last digit
    depends on the order of a division. The earlier reader gave unfinished objects no bytes.
    """
    columns = [name for name in table.column_names if name not in ("accecn", "mean_queue_packets")]
    values = table.select(columns).to_pydict()
    if "finished" in values:
        pairs = zip(values["bytes"], values["finished"], strict=True)
        values["bytes"] = [size if finished else 0 for size, finished in pairs]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name.partition(".")[0])
def test_traces_of_a_kernel_give_the_tables_they_always_gave(tmp_path: Path, path: Path) -> None:
    """Traces of Linux 6.12 in virtual time: SACK's recovery, web pages on many connections, and ECN.

    The digests are of the tables that an earlier reader, in Python, made of them.
    """
    kept = json.loads(lzma.decompress(path.read_bytes()))
    trace = tmp_path / "trace.csv"
    trace.write_text(kept["trace"])
    if kept["queues"] is not None:
        Path(f"{trace}.queues.csv").write_text(kept["queues"])
    # The endpoints' knobs do not matter to the reader, and their names change.
    shaking = Study.load("rfc2415").plan().cells[0].compiled.scenario["tcp"][0]
    kept["scenario"]["tcp"] = [
        shaking if tcp["handshake"] else scenario()["tcp"][0] for tcp in kept["scenario"]["tcp"]
    ]
    tables, zero = records.tables(kept["scenario"], kept["result"], trace, kept["watch"])
    tables = {name: table for name, table in tables.items() if name not in INFERRED}
    known = {name: table for name, table in sorted(tables.items()) if name in kept["digests"]}
    assert {name: digest(table) for name, table in known.items()} == kept["digests"]
    # what only the simulator records
    assert sum(table.num_rows for name, table in tables.items() if name not in known) == 0
    assert zero == kept["zero_ns"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,in,0,0,10.93.0.1\n", "line 2 .*too few columns"),
        ("1,lost,0,0,10.93.0.1,10.93.3.1,,,,,,,,40,0,\n", "line 2 .*event"),
        (line(0, "in", 1, R, 2, 7, 0, 0).replace("020403c0", "0204x"), "line 2 .*hexadecimal"),
        (line(0, "in", 1, R, 2, 7, 0, 0).replace("5001", "80"), "line 2 .*10.93.3.1:4000 and 10.93.0.1:80"),
    ],
)
def test_a_broken_trace_is_an_error_that_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(tmp_path, text)


def test_what_a_program_sends_is_known_by_its_addresses_whatever_the_ports_are(tmp_path: Path) -> None:
    entry = {**scenario()["traffic"][0], "app": {"kind": "program", "client": "iperf3", "server": "iperf3"}}
    tcp = (HANDSHAKE + data(50, "in", 0, 1)).replace("5001", "80")
    udp = "".join(
        f"{time}000000,{event},{place},9,{S},{R},80,4000,0,0,0,0,500,528,0,\n"
        for time, event, place in ((60, "in", 0), (70, "out", 1))
    )
    text = tcp + udp
    own = made(tmp_path, text, programs=((S, 0), (R, 0)), traffic=[entry])["connections"].to_pylist()
    assert [(row["traffic"], row["established_ns"] is None) for row in own] == [(0, False), (0, True)]
    assert own[1]["segments_sent"] == 1
    assert own[1]["bytes_up"] + own[1]["bytes_down"] == 500
    with pytest.raises(ValueError, match="no traffic of the study is between"):
        made(tmp_path, text, traffic=[entry])
