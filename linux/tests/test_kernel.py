"""Runs on this machine's kernel. They take real time: a few seconds each."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from users import User

import cwndlab
from cwndlab.api import Study
from cwndlab.base.arrow_tables import decode_tables
from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.work import MeasuredRuns
from cwndlab_linux import netns, stack_file
from cwndlab_linux.real_kernel import Kernel, capture_name

pytestmark = pytest.mark.usefixtures("kernel")


def small(*apps: Mapping[str, Any], seconds: float = 2.0) -> str:
    """Two hosts and a link of 5 Mbit/s and 10 ms each way, with these applications."""
    scenario = dict(Study.load("rfc2415").plan().cells[0].compiled.scenario)
    link = {"rate_bps": 5_000_000, "delay_ns": 10_000_000, "queue": {"kind": "drop-tail", "limit": 25}}
    scenario |= {
        "duration_ns": int(seconds * 1e9),
        "nodes": ["a", "b"],
        "links": [{"name": "a>b", "from": 0, "to": 1, **link}, {"name": "b>a", "from": 1, "to": 0, **link}],
        "traffic": [
            {
                "name": f"app{k}",
                "client": 0,
                "server": 1,
                "tcp_client": 0,
                "tcp_server": 0,
                "start_ns": 0,
                "app": app,
            }
            for k, app in enumerate(apps)
        ],
        "probes": {"segments_at": 1, "connections": True, "cwnd": True},
    }
    return json.dumps(scenario)


def perform(scenario: str, **options: Any) -> Outcome:
    """One run, its tables kept."""
    outcomes: list[Outcome] = []
    job = Job("key", "cell", scenario, 1, 0, keep_records=True)
    kernel = Kernel(stack_file.load(options.pop("stack", "linux-1998")), **options)
    kernel.execute([job], MeasuredRuns(()), outcomes.append)
    return outcomes[0]


def rows(outcome: Outcome, table: str) -> list[dict[str, Any]]:
    if outcome.error is not None and outcome.error.startswith("invalid"):
        pytest.skip(f"the machine is too busy: {outcome.error}")
    assert outcome.error is None and outcome.records is not None, outcome.error
    found: list[dict[str, Any]] = decode_tables(outcome.records, "key")[table].to_pylist()
    return found


def fixed(value: float) -> dict[str, Any]:
    return {"kind": "fixed", "value": value}


WEB = {
    "kind": "web",
    "object_bytes": fixed(5000),
    "request_bytes": fixed(300),
    "inline_objects": 2,
    "think_s": fixed(0.1),
    "clock": "request",
    "inline_trigger": "first-packet",
    "record_objects": True,
}
APPS = [
    WEB | {"protocol": "http/1.0"},
    WEB | {"protocol": "http/1.1", "inline_trigger": "whole-primary", "server_closes": "after-response"},
    {"kind": "ftp", "file_bytes": fixed(20_000), "pause_s": fixed(0.1)},
    {"kind": "crr", "request_bytes": fixed(300), "response_bytes": fixed(5000)},
    {"kind": "bulk", "bytes": 100_000, "from": "client"},
    {"kind": "bulk", "from": "server"},
]


@pytest.mark.parametrize("device", ["tun", "packet"])
def test_every_workload_runs_and_its_bytes_arrive(device: str) -> None:
    if device == "tun" and not netns.can_open_tun():
        pytest.skip("/dev/net/tun is closed to this user")
    outcome = perform(small(*APPS), device=device)
    objects = rows(outcome, "objects")
    for traffic, kind, size in (
        (0, "page", 15_000),
        (1, "page", 15_000),
        (2, "file", 20_000),
        (3, "transaction", 5000),
    ):
        done = [o for o in objects if o["traffic"] == traffic and o["kind"] == kind and o["finished"]]
        assert done and all(o["bytes"] == size for o in done), (traffic, kind)
        # at least two crossings of the link for a request and its answer
        assert all(0.02e9 < o["end_ns"] - o["start_ns"] < 2e9 for o in done)
    assert {
        o["connections"] for o in objects if o["traffic"] == 0 and o["finished"] and o["kind"] == "page"
    } == {3}
    assert {
        o["connections"] for o in objects if o["traffic"] == 1 and o["finished"] and o["kind"] == "page"
    } == {1}
    connections = rows(outcome, "connections")
    whole = [c for c in connections if c["traffic"] == 3 and c["end_ns"] is not None]
    assert whole and all((c["bytes_up"], c["bytes_down"]) == (300, 5000) for c in whole)
    bulk = next(c for c in connections if c["traffic"] == 4)
    endless = next(c for c in connections if c["traffic"] == 5)
    assert bulk["bytes_up"] == 100_000 and endless["bytes_down"] > 50_000 and endless["end_ns"] is None
    assert not any(c["failed"] for c in connections)
    windows = [w for w in rows(outcome, "cwnd") if w["connection"] == endless["connection"]]
    assert windows and {w["state"] for w in windows} <= {"open", "disorder", "cwr", "recovery", "loss"}
    assert all(w["cwnd_bytes"] % 1460 == 0 and 0.02e9 <= (w["srtt_ns"] or 1e9) for w in windows)
    assert sum(c["drops"] for c in connections) == sum(link["drops_full"] for link in rows(outcome, "links"))


def test_rfc2416_on_the_kernel_ends_in_a_report_beside_the_simulator(tmp_path: Path) -> None:
    changes = {"grid": "minute", "variant": "tahoe", "iw": [1, 4], "run.duration": "9s"}
    result = cwndlab.run("rfc2416", changes=changes, out=tmp_path / "out", backend="linux")
    if any("invalid" in failure.reason for failure in result.failures):
        pytest.skip(f"the machine is too busy: {result.failures[0].reason}")
    assert result.failures == [] and result.report is not None and result.report.is_file()
    for iw, packets, times in ((1, [1, 2, 3], [1.222, 2.444, 3.278]), (4, [1, 2, 3], [1.222, 2.055, 2.889])):
        acks = result.sel(iw=iw, size="as-traced").records["segments"].to_pylist()
        seen = [(r["segment"], r["time_ns"] / 1e9) for r in acks if r["event"] == "ack"]
        assert [n for n, _ in seen[:3]] == packets
        assert all(abs(at - memo) <= 0.002 for (_, at), memo in zip(seen, times, strict=False)), seen
    content = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert content["backend"] == "linux" and len(content["kernel_runs"]) == 4
    assert (tmp_path / "out" / "agreement.csv").read_text().count("\n") > 4
    kernel = tmp_path / "out" / "kernel"
    for run in content["kernel_runs"]:
        sysctls = json.loads((kernel / run["sysctls"]).read_text())
        assert sysctls["0"]["ipv4.tcp_sack"] == "0" and "core.rmem_max" in sysctls["3"]
        assert run["version"].startswith("Linux version") and run["machine"]["processors"] >= 1
        assert run["offloads"]["0"]["tcp_segmentation"] is False
    for cell in result.plan.cells:
        assert (kernel / capture_name(cell.id)).stat().st_size > 1000


def test_a_kernels_trace_is_a_capture_of_true_headers_with_what_became_of_packets(tmp_path: Path) -> None:
    path = tmp_path / "kernel.pcapng"
    words = [sys.executable, "-m", "cwndlab", "trace", "rfc2416", "--backend", "linux", "-o", str(path)]
    sets = ["--set", "grid=minute,variant=tahoe,iw=4,size=as-traced,run.duration=9s"]
    made = subprocess.run([*words, *sets, "--format", "pcapng"], capture_output=True, text=True, check=False)
    if "invalid" in made.stderr:
        pytest.skip(f"the machine is too busy: {made.stderr}")
    assert made.returncode == 0, made.stderr
    packets = capture(path)
    data = [(at, head) for at, head, _ in packets if len(head) == 96]
    assert [at for at, _ in data[:4]] == pytest.approx([0, 0, 0, 0], abs=0.002)
    assert all(at < 0 for at, _, _ in packets[:3])  # the handshake is before the study's time
    for _, head, _ in packets:
        assert head[8:10] == bytes([64, 6]) and checksum(head[:20]) == 0  # TTL, TCP
        if len(head) == 40:  # a pure ACK is whole: its pseudo-header is addresses, protocol, length
            assert checksum(head[12:20] + bytes([0, 6, 0, len(head) - 20]) + head[20:]) == 0
    # RFC 2416: the fourth packet finds three buffers full
    assert [b"dropped (queue full) at r2>receiver" in comment for at, _, comment in packets[3:7]] == [
        False, False, False, True,
    ]  # fmt: skip
    refused = subprocess.run([*words, *sets, "--format", "ns"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "pcapng" in refused.stderr


def capture(path: Path) -> list[tuple[float, bytes, bytes]]:
    """Time, captured bytes and options of each packet of a pcapng file."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, kept = struct.unpack_from("<III", data, at + 12)
            time_s = ((high << 32 | low) - 10**18) / 1e9
            found.append((time_s, data[at + 28 : at + 28 + kept], data[at + 28 + kept : at + length - 4]))
        at += length
    return found


def checksum(data: bytes) -> int:
    """Of the Internet (RFC 1071): 0 over data that carries its own."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def test_the_studys_largest_window_is_kept() -> None:
    scenario = json.loads(small({"kind": "bulk", "from": "client"}))
    assert scenario["tcp"][0]["max_window"] == {"segments": 11}
    found = rows(perform(json.dumps(scenario)), "segments")
    assert max(r["window_bytes"] for r in found if not r["from_client"]) <= 11 * 1460


def test_ecn_is_negotiated_by_those_who_have_it_and_no_others() -> None:
    scenario = json.loads(small(*[{"kind": "bulk", "from": "server"}] * 2, seconds=3.0))
    off = scenario["tcp"][0] | {"max_window": {"segments": 64}}
    scenario["tcp"] = [off, off | {"ecn": "rfc3168"}]
    scenario["traffic"][1] |= {"tcp_client": 1, "tcp_server": 1}
    red = {"kind": "red", "limit": 50, "min_th": 5.0, "max_th": 15.0, "max_p": 0.1, "w_q": 0.02, "ecn": True}
    scenario["links"][1] |= {"queue": red}
    scenario["windows"] = {"measured": [1_000_000_000, scenario["duration_ns"]]}
    outcome = perform(json.dumps(scenario))
    plain, capable = rows(outcome, "connections")
    assert plain["marks"] == plain["ecn_reductions"] == 0 and plain["drops"] > 0
    assert 0 < capable["ecn_reductions"] <= capable["marks"]
    link = rows(outcome, "links")[1]
    assert link["marks"] == capable["marks"] and link["red_between_ns"] > 0
    before, there = (
        rows(outcome, "link_snapshots")[1],
        [row for row in rows(outcome, "connection_snapshots") if row["time_ns"] == 10**9],
    )
    assert 0 < before["arrivals"] < link["arrivals"] and before["marks"] <= link["marks"]
    assert [row["traffic"] for row in there] == [0, 1]
    assert all(
        0 < row["bytes_down"] < end["bytes_down"] for row, end in zip(there, (plain, capable), strict=True)
    )


def routers(parent: int) -> list[int]:
    """Routers whose parent's parent is this process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            grand = Path(f"/proc/{rest.split()[1]}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if name.startswith("cwndlab-router") and int(grand) == parent:
            found.append(int(path.parent.name))
    return found


def test_an_overloaded_machine_is_refused() -> None:
    """The router is kept from the CPU for 150 ms: as on a machine with too much to do."""

    def disturb() -> None:
        deadline = time.monotonic() + 20
        while not (found := routers(os.getpid())) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(1.0)
        for pid in found:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.15)
        for pid in found:
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=disturb)
    thread.start()
    outcome = perform(small({"kind": "bulk", "from": "client"}), attempts=1)
    thread.join()
    assert outcome.error is not None and "invalid" in outcome.error and "max-lateness" in outcome.error
    assert outcome.values == {} and outcome.records is None


ONE_RUN = ["run", "rfc2416", "--backend", "linux", "--set", "grid=minute,variant=tahoe,iw=1,size=as-traced"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("who", ["same_user", "ordinary_user"])
def test_nothing_is_left_however_it_ends(
    request: pytest.FixtureRequest, who: str, how: signal.Signals
) -> None:
    user: User = request.getfixturevalue(who)
    before = sorted(path.name for path in Path("/sys/class/net").iterdir())
    process = user.start(*ONE_RUN, "-o", str(user.folder / "out"), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not (found := routers(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(found) == 1
        process.send_signal(how)
        process.wait(20)
    finally:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in found) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)
    netns.sweep(user.folder)  # as the next start does
    assert list(user.folder.glob(f"{netns.PREFIX}*")) == []
    assert sorted(path.name for path in Path("/sys/class/net").iterdir()) == before


def test_an_ordinary_user_runs_in_a_user_namespace(ordinary_user: User) -> None:
    # Without SCHED_FIFO a busy machine is late; what is tested is that the packets flow.
    limits = ["p99-lateness", "p999-lateness", "max-lateness", "application-p99", "application-max"]
    words = [word for limit in limits for word in ("--limit", f"{limit}=1s")]
    out = ordinary_user.folder / "out"
    process = ordinary_user.start(*ONE_RUN, "run.duration=9s", *words, "-o", str(out), stderr=subprocess.PIPE)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    run = json.loads((out / "provenance.json").read_text())["kernel_runs"][0]
    assert run["user_namespace"] is True
    segments = cwndlab.open_results(out).records["segments"].to_pylist()
    acks = [row["time_ns"] / 1e9 for row in segments if row["event"] == "ack"]
    assert acks and 1.222 <= acks[0] < 1.222 + 1.0
