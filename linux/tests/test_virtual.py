"""The kernel in virtual time: the same seed gives the same bytes. A run of 20 s takes about a second."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab.apps.evaluate import evaluation, pack, subjects
from cwndlab.apps.export.export import export, export_qlog
from cwndlab.base.errors import OutputError, RunError
from cwndlab.runs.executors.protocol import Job
from cwndlab.runs.run_options import RunOptions
from cwndlab_linux import netns
from cwndlab_linux.router_program import find_router
from cwndlab_linux.virtual import boot, images, packetdrill
from cwndlab_linux.virtual.backend import seed_of


def run(folder: Path, *windows: int, **options: Any) -> Path:
    changes = {"grid": "minute", "variant": "tahoe", "size": "as-traced", "run.duration": "20s"}
    changes |= {"iw": list(windows or (1, 4))}
    result = cwndlab.run("rfc2416", changes=changes, out=folder, backend="linux-virtual", **options)
    assert result.failures == []
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """What the kernel gave: records, packets, stamps, numbers."""
    kept = [*folder.glob("store/records/*/*"), *folder.glob("kernel/*"), folder / "agreement.csv"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def first_run(virtual: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with seed 1, which tests compare with others and must not change."""
    return run(tmp_path_factory.mktemp("first"), seed=1)


def test_a_kernels_run_is_exported_as_parquet_but_has_no_qlog(first_run: Path, tmp_path: Path) -> None:
    assert "connections.parquet" in {file.name for file in export(first_run, tmp_path / "tables")}
    with pytest.raises(OutputError, match="a kernel's run has no qlog"):
        export_qlog(first_run, tmp_path / "qlog", "0.3")
    assert not (tmp_path / "qlog").exists()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_sequence_numbers(
    first_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = contents(first_run), contents(run(tmp_path / "c", 4, seed=2))
    # the guest's Python has more to do before it starts
    nothing = [str(tmp_path / f"nothing{k}") for k in range(20)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*nothing, os.environ.get("PYTHONPATH", "")]))
    second = contents(run(tmp_path / "b", seed=1))
    assert len([name for name in first if name.endswith(".pcapng")]) == 2
    assert any(name.endswith(".arrows") for name in first)
    assert first == second
    packets = [name for name in other if name.endswith(".pcapng")]
    assert packets and all(first[name] != other[name] for name in packets)


def memo_s(row: dict[str, str]) -> float:
    """The printed time; 6.111 is a misprint, the interval of 0.833 s gives 6.611 (published/SOURCE.md)."""
    misprint = "misprint: "
    return float(row["note"].removeprefix(misprint) if row["note"].startswith(misprint) else row["time_s"])


def test_every_acknowledgment_of_rfc_2416s_listings_comes_within_2_ms(
    first_run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rfc2416"
    shutil.copytree(first_run, out)
    segments = cwndlab.open_results(out).records["segments"].to_pylist()
    with (out / "published" / "listing.csv").open() as file:
        memo = [row for row in csv.DictReader(file) if row["event"] != "start"]
    for iw, again in (("1", 7), ("4", 4)):
        mine = [row for row in segments if f"iw={iw}," in row["cell"]]
        acks = [row["time_ns"] / 1e9 for row in mine if row["event"] in ("ack", "dupack")]
        times = [memo_s(row) for row in memo if row["start_packets"] == iw]
        assert max(abs(a - b) for a, b in zip(acks, times, strict=False)) <= 0.002
        assert len(acks) >= len(times) >= 6
        assert next(row["segment"] for row in mine if row["event"] == "retransmit") == again
    # a new quantity and a new window of the same runs are measured from what was kept
    study = out / "study.toml"
    late = '\n[[quantities]]\nname = "late"\nmetric = "retransmits"\nwindow = ["5s", "15s"]\n'
    study.write_text(study.read_text() + late)
    chosen = {"grid": "minute", "variant": "tahoe", "iw": [1, 4], "size": "as-traced"}
    more = cwndlab.run(study, changes=chosen, out=out, backend="linux-virtual", seed=1)
    assert (more.campaign.performed, more.campaign.measured) == (0, 2)


def router_of(folder: Path, command: str) -> Path:
    """A program in place of the router."""
    folder.mkdir()
    path = folder / "cwndlab-router"
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return path


def test_a_router_inside_the_kernel_and_one_in_a_process_carry_the_same_packets(
    first_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = find_router()
    without_device = f'/bin/rm /dev/cwndlab-router && exec {router.resolve()} "$@"'
    monkeypatch.setenv("CWNDLAB_ROUTER", str(router_of(tmp_path / "bin", without_device)))
    (tmp_path / "bin" / boot.LIBRARY_BUILT).symlink_to(boot.library_of(router))
    outside = run(tmp_path / "process", seed=1)
    one, other = (cwndlab.open_results(out).records["segments"].to_pylist() for out in (first_run, outside))
    times = [[row.pop("time_ns") for row in rows] for rows in (one, other)]
    assert len(one) > 100
    assert one == other
    assert max(abs(a - b) for a, b in zip(*times, strict=True)) < 1_000


@pytest.mark.usefixtures("virtual")
def test_a_library_that_the_kernel_cannot_load_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = router_of(tmp_path / "bin", f'exec {find_router().resolve()} "$@"')
    router.with_name(boot.LIBRARY_BUILT).write_text("no library")
    monkeypatch.setenv("CWNDLAB_ROUTER", str(router))
    result = cwndlab.run(cwndlab.Study.from_toml(ANSWERS), backend="linux-virtual")
    assert "router.so: file too short" in str(result.failures)


def test_a_router_without_its_library_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"libcwndlab_live\.so is not built; `make setup`"):
        boot.library_of(tmp_path / "cwndlab-router")


ANSWERS = """
title = "Answers of one and a half segments, one after another on one connection"
[topology]
nodes = ["a", "b"]
[[topology.links]]
between = ["a", "b"]
rate = "10Mbps"
delay = "20ms"
[[traffic]]
name = "web"
client = "a"
server = "b"
app = { kind = "rr", request = "300B", response = "2000B" }
[tcp]
profile = "linux-6"
[run]
duration = "10s"
[[quantities]]
name = "rate"
metric = "transaction_rate"
"""


@pytest.mark.usefixtures("virtual")
def test_the_end_of_an_answer_waits_for_nothing_as_in_the_simulator() -> None:
    """`tcp_nagle_check`: by RFC 1122's rule it waits for a delayed ACK, and there are 8 answers a second."""
    rates = {}
    for backend in ("simulator", "linux-virtual"):
        results = cwndlab.run(cwndlab.Study.from_toml(ANSWERS), backend=backend).results
        ((rates[backend],),) = results.data.values()
    assert rates["simulator"] == rates["linux-virtual"] == pytest.approx(23.7, abs=0.2)


@pytest.mark.usefixtures("virtual")
def test_small_requests_wait_for_acknowledgments_unless_nagle_is_off_as_in_the_simulator() -> None:
    app = 'app = { kind = "pipeline", request = "100B", response = "2000B", depth = 4 }'
    text = ANSWERS.replace('app = { kind = "rr", request = "300B", response = "2000B" }', app)
    assert app in text
    rates = {}
    for nagle in (True, False):
        knob = f'profile = "linux-6"\nnagle = {str(nagle).lower()}'
        study = cwndlab.Study.from_toml(text.replace('profile = "linux-6"', knob))
        for backend in ("simulator", "linux-virtual"):
            ((rates[nagle, backend],),) = cwndlab.run(study, backend=backend).results.data.values()
    assert rates[True, "simulator"] == rates[True, "linux-virtual"] < 50
    assert rates[False, "simulator"] == rates[False, "linux-virtual"] > 80


NO_ANSWER = """
title = "No answer"
dumbbell = { rate = "1Mbps", rtt = "20ms", flows = [{ name = "flow", cc = "reno" }] }
run = { duration = "200s" }
[[axes.lost.values]]
name = "all"
set = { "topology.links.bottleneck.forward.impairments" = [{ kind = "bernoulli", p = 1 }] }
"""


@pytest.mark.usefixtures("virtual")
def test_a_connection_that_a_kernel_gives_up_fails_with_the_reason_of_the_simulator() -> None:
    """No packet shows it: the kernel tells the application (ETIMEDOUT)."""
    study = cwndlab.Study.from_toml(NO_ANSWER)
    simulated, run = (study.run(backend=backend, replicates=1) for backend in ("simulator", "linux-virtual"))
    assert run.results.failed == simulated.results.failed
    assert "the peer did not answer the connection request" in run.results.failed["lost=all"]
    assert (
        run.records("failures")["reason"].to_pylist() == simulated.records("failures")["reason"].to_pylist()
    )


@pytest.mark.usefixtures("virtual")
def test_a_scorecard_has_the_kernels_numbers_next_to_the_simulators(tmp_path: Path) -> None:
    """The simulator measures Prague and BBRv3, which the kernel lacks, and has no law that it calls bbr."""
    made = evaluation.evaluate(
        [pack.load("rfc9743").with_criteria(["7.4"])],
        [subjects.congestion_control("bbr", on_kernel=True)],
        tmp_path,
        RunOptions(backend="linux-virtual", replicates=2),
        changes={"run.duration": "10s", "run.warmup": "5s"},
    )
    assert not made.failures
    (row,) = made.cards[0].rows
    assert list(row.values) == ["bbr", "reno", "cubic"]
    assert list(row.simulated) == ["reno", "cubic", "bbr3", "prague"]
    assert row.number("bbr3").value == "not measured"
    assert abs(row.values["bbr"].value - row.values["reno"].value) > 5, "another congestion control ran"
    assert row.values["cubic"].value == pytest.approx(row.simulated["cubic"].value, abs=10)
    assert "bbr3 not measured (simulator " in (tmp_path / "scorecard.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("virtual")
def test_a_guest_that_cannot_start_says_why(tmp_path: Path) -> None:
    assert {"reno", "cubic", "bbr", "dctcp", "vegas"} <= set(boot.congestion_controls(images.find()))
    with pytest.raises(RunError, match="ended with 1"):
        boot.congestion_controls(replace(images.find(), path=Path("/bin/false")))


def test_a_guests_random_numbers_depend_on_seed_replicate_and_cell_alone() -> None:
    job = Job("key", "cell", "{}", seed=1, replicate=0, keep_records=False)
    assert seed_of(job) == seed_of(replace(job, key="other", scenario='{"a": 1}', keep_records=True))
    others = [replace(job, **change) for change in ({"seed": 2}, {"replicate": 1}, {"cell": "b"})]
    assert len({seed_of(one) for one in [job, *others]}) == 4


def test_without_a_kernel_the_command_that_makes_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(images.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(RunError, match="cwndlab linux build"):
        cwndlab.run("rfc2416", backend="linux-virtual", changes={"grid": "minute", "variant": "tahoe"})


def guests(parent: int) -> list[int]:
    """User-Mode Linux processes that this process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            started_by = int(path.read_text().rpartition(")")[2].split()[1])
            if started_by == parent and b"time-travel=inf-cpu" in path.with_name("cmdline").read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_guest_outlives_its_run(tmp_path: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "cwndlab", "run", "rfc2416", "--backend", "linux-virtual"]
    command += [
        "--set",
        "grid=minute,variant=tahoe,iw=1,size=as-traced,run.duration=1h",
        "-o",
        str(tmp_path / "out"),
    ]
    process = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (found := guests(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(found) == 1
        traced = [
            int(word) for word in Path(f"/proc/{found[0]}/task/{found[0]}/children").read_text().split()
        ]
        process.send_signal(how)
        process.wait(30)
        while any(Path(f"/proc/{pid}").exists() for pid in found + traced) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(Path(f"/proc/{pid}").exists() for pid in found + traced)
    finally:
        process.kill()
        process.wait()
    netns.sweep(tmp_path)
    assert list(tmp_path.glob(f"{netns.PREFIX}*")) == []


#: Waits for the next tick as packetdrill does, by calls that never wait, and reads next to its script.
SPINNING = f"""#!{os.path.realpath(sys.executable)} -sS
import os, sys
began = os.times().elapsed
while os.times().elapsed == began:
    pass
allowed = open("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read().split()
print(*sys.argv[1:], open("../common").read(), "dctcp" in allowed, open(sys.argv[-1]).read())
"""


@pytest.mark.usefixtures("virtual")
def test_a_packetdrill_that_spins_does_not_stop_the_clock_and_sees_the_folders_of_its_script(
    tmp_path: Path,
) -> None:
    program = tmp_path / "spinning"
    program.write_text(SPINNING)
    program.chmod(0o755)
    script = tmp_path / "scripts" / "a.pkt"
    script.parent.mkdir()
    script.write_text("its text")
    (tmp_path / "common").write_text("a common file")
    (result,) = packetdrill.run(images.find(), program, [packetdrill.ScriptRun(script, ("--some",))])
    assert result.holds and result.output == "--some -v a.pkt a common file True its text\n"
