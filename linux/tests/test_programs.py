"""Unmodified programs as applications, on a kernel in virtual time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from program_runs import MEASURES, NETWORK, entry, goodput, needs, run, study

import cwndlab
from cwndlab.base.errors import StudyError
from cwndlab.base.writing import write_atomic
from cwndlab.results import execution
from cwndlab.runs.run_options import RunOptions
from cwndlab_linux.virtual import backend, program_files, terminal
from cwndlab_linux.virtual.backend import VirtualKernel

IPERF3 = 'kind = "program", client = "iperf3 -c {server} -t 5", server = "iperf3 -s -1"'


@pytest.mark.usefixtures("virtual")
def test_iperf3_runs_twice_with_the_same_bytes_and_reports_what_the_packets_show(tmp_path: Path) -> None:
    needs("iperf3")
    kept = []
    for name in ("first", "second"):
        result, (server, client) = run(tmp_path / name, entry(IPERF3))
        kept.append({path.name: path.read_bytes() for path in (tmp_path / name).glob("store/records/*/*")})
        assert (server["end"], client["end"], server["exit_code"], client["exit_code"]) == (
            "server",
            "client",
            0,
            0,
        )
        assert server["start_ns"] < client["start_ns"] < 10_000_000
        assert "iperf Done." in client["stdout"]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 1
    received = next(line for line in client["stdout"].splitlines() if line.endswith("receiver"))
    assert goodput(result) == pytest.approx(float(received.split()[6]) * 1e6, rel=0.04)
    assert (tmp_path / "first" / "kernel" / "programs").is_dir()


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(
    ("options", "connections", "down"),
    [("-P 4", 5, False), ("-R", 2, True), ("-u -b 4M", 2, False), ("-C bbr", 2, False)],
)
def test_iperf3_with_several_streams_in_reverse_with_datagrams_and_with_another_law(
    tmp_path: Path, options: str, connections: int, down: bool
) -> None:
    needs("iperf3")
    app = f'kind = "program", client = "iperf3 -c {{server}} -t 5 {options}", server = "iperf3 -s -1"'
    result, (_, client) = run(tmp_path, entry(app + (', from = "server"' if down else "")))
    table = result.records["connections"].to_pylist()
    assert len(table) == connections
    assert {row["flow"] for row in table} == {"x"}
    most = max(table, key=lambda row: row["bytes_up"] + row["bytes_down"])
    assert (most["bytes_down"] > most["bytes_up"]) == down
    if "-u" in options:
        assert "0% " in client["stdout"].splitlines()[-3] or "(0%)" in client["stdout"]
        assert most["bytes_up"] == pytest.approx(5 * 4e6 / 8, rel=0.02)
    else:
        assert sum(row["bytes_up"] + row["bytes_down"] for row in table) > 5e6


@pytest.mark.usefixtures("virtual")
def test_the_qlog_that_programs_write_is_kept_next_to_their_outputs(tmp_path: Path) -> None:
    client = "sh -c 'echo one > a.qlog; mkdir deeper; echo two > deeper/b.sqlog; echo three > other'"
    app = f'kind = "program", client = "{client}"'
    text = NETWORK + entry(app) + entry('kind = "bulk"', "bulk") + MEASURES.replace('"x"', '"bulk"')
    cwndlab.run(cwndlab.Study.from_toml(text), out=tmp_path / "out", backend="linux-virtual", replicates=2)
    (cell,) = (tmp_path / "out/kernel/programs").iterdir()
    assert {path.name: path.read_text() for path in (cell / "x-client").iterdir()} == {
        "a.qlog": "one\n",
        "b.sqlog": "two\n",
    }


@pytest.mark.usefixtures("virtual")
def test_programs_share_hosts_with_each_other_and_with_the_simulators_applications(tmp_path: Path) -> None:
    needs("ping", "ss", "curl", "python3")
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "page").write_bytes(b"x" * 1_000_000)
    text = NETWORK + "".join(
        [
            entry('kind = "bulk"', "bulk"),
            entry('kind = "program", client = "ping -n -c 3 -i 1 {server}"', "ping", 'start = "1s"'),
            entry(
                'kind = "program", client = "sh -c \'curl -sS http://{server}:8000/page | wc -c\'", '
                'server = "python3 -m http.server 8000", folder = "www", from = "server"',
                "x",
                'start = "2s"',
            ),
            entry('kind = "program", client = "ss -tin"', "sockets", 'start = "3s"'),
        ]
    )
    (tmp_path / "study.toml").write_text(text + MEASURES)
    result = cwndlab.run(
        tmp_path / "study.toml", out=tmp_path / "out", backend="linux-virtual", stack="linux-laws"
    )
    assert result.failures == []
    said = {(row["flow"], row["end"]): row for row in result.records["programs"].to_pylist()}
    ping = said["ping", "client"]
    assert "3 packets transmitted, 3 received, 0% packet loss" in ping["stdout"]
    assert said["x", "client"]["stdout"].strip() == "1000000"
    assert said["x", "server"]["exit_code"] is None, "it was ended with the run, which is no error"
    assert '"GET /page HTTP/1.1" 200' in said["x", "server"]["stderr"]
    assert "cubic" in said["sockets", "client"]["stdout"]
    assert "cwnd:" in said["sockets", "client"]["stdout"]
    connections = result.records["connections"].to_pylist()
    bytes_of = {row["flow"]: row["bytes_up"] + row["bytes_down"] for row in connections}
    assert bytes_of["bulk"] > 2e6
    assert bytes_of["x"] > 1e6


@pytest.mark.usefixtures("virtual")
def test_hosts_may_differ_in_sysctls_and_queueing_disciplines(tmp_path: Path) -> None:
    needs("tc", "ss")
    stack = tmp_path / "two.toml"
    stack.write_text(
        'based_on = "linux-laws"\n[hosts.b]\nqdisc = "fq_codel limit 77"\n'
        'sysctls = { tcp_sack = false, tcp_congestion_control = "reno" }\n'
    )
    look = "tc qdisc show dev cw0; cat /proc/sys/net/ipv4/tcp_sack; sleep 1; ss -tin"
    app = f'kind = "program", client = "sh -c \'{look}\'", server = "sh -c \'{look}\'"'
    made = study(entry('kind = "bulk"'), entry(app, "look"))
    result = cwndlab.run(made, out=tmp_path / "out", backend="linux-virtual", stack=str(stack))
    assert result.failures == []
    said = {row["node"]: row["stdout"] for row in result.records["programs"].to_pylist()}
    assert "qdisc pfifo_fast" in said["a"] and "limit 77p" in said["b"]
    assert said["a"].splitlines()[1] == "1" and said["b"].splitlines()[1] == "0"
    assert "cubic" in said["a"] and "reno" in said["b"]
    page = (tmp_path / "out" / "report.md").read_text().replace("\\", "")
    assert "at b: tcp_sack = 0, tcp_congestion_control = reno, qdisc fq_codel limit 77" in page


@pytest.mark.usefixtures("virtual")
def test_environment_working_folder_and_what_can_be_written(tmp_path: Path) -> None:
    script = (
        "echo $TO $FROM; pwd; echo kept > file; cat file; touch /etc/cwndlab-test; mount -t tmpfs x /mnt; "
        "echo {{}} $((6*7)); id -u"
    )
    app = f'kind = "program", client = "sh -c \'{script}\'"'
    _, (row,) = run(tmp_path, entry(app + ', environment = { TO = "{server}", FROM = "{client}" }'))
    lines = row["stdout"].splitlines()
    assert lines[0] == "10.93.2.1 10.93.0.1"
    assert lines[1].startswith("/dev/cwndlab/")
    assert lines[2:] == ["kept", "{} 42", "0"]
    assert "Read-only file system" in row["stderr"]
    assert "permission denied" in row["stderr"].lower() or "not permitted" in row["stderr"].lower()
    assert not Path("/etc/cwndlab-test").exists()


OWN_NETWORK = """
unshare -n sleep 1000 & far=$!
sleep 0.1
ip link add s0 type veth peer name f0
ip link set f0 netns $far
ip addr add 10.0.0.1/24 dev s0
ip link set s0 up
nsenter -t $far -n ip addr add 10.0.0.2/24 dev f0
nsenter -t $far -n ip link set f0 up
nsenter -t $far -n tc qdisc add dev f0 root netem delay 70ms
sleep 1
ping -n -q -c 2 -i 0.5 10.0.0.2
"""


@pytest.mark.usefixtures("virtual")
def test_a_program_may_build_a_network_of_its_own(tmp_path: Path) -> None:
    needs("unshare", "nsenter", "ip", "tc", "ping")
    script = tmp_path / "network.sh"
    script.write_text(OWN_NETWORK)
    _, (row,) = run(tmp_path / "out", entry(f'kind = "program", client = "unshare -Urn sh {script}"'))
    assert "2 packets transmitted, 2 received" in row["stdout"]
    # the first ping waits for ARP, too
    least = float(row["stdout"].splitlines()[-1].split()[3].split("/")[0])
    assert least == pytest.approx(70, abs=1)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "curl -sS http://{server}:81/",
            r'`curl -sS http://10.93.2.1:81/` \(client of traffic "x"\) ended with 7 after',
        ),
        ("sh -c 'echo one; echo two >&2; exit 3'", "ended with 3 after .* two"),
        ("sh -c 'kill -SEGV $$'", "was ended by SIGSEGV after"),
    ],
)
def test_a_program_that_fails_fails_the_run_with_its_last_lines(tmp_path: Path, line: str, said: str) -> None:
    needs("curl")
    result = cwndlab.run(study(entry(f'kind = "program", client = "{line}"')), backend="linux-virtual")
    (failure,) = result.failures
    assert re.search(said, failure.reason), failure.reason


def stamp(out: Path) -> dict[str, Any]:
    (made,) = json.loads((out / "provenance.json").read_text())["kernel_runs"]
    return dict(made)


def script(folder: Path, text: str) -> str:
    """An app that runs a Python script."""
    (folder / "script.py").write_text(text)
    return f'kind = "program", client = "python3 {folder / "script.py"}"'


SPINS = """
import select, time
end = time.monotonic() + 1
calls = 0
while time.monotonic() < end:
    select.select([], [], [], 0)
    calls += 1
print(calls)
"""


@pytest.mark.usefixtures("virtual")
def test_calls_that_never_wait_are_charged_and_the_stamp_says_so(tmp_path: Path) -> None:
    needs("python3")
    _, (row,) = run(tmp_path / "spins", entry(script(tmp_path, SPINS)))
    calls = int(row["stdout"])
    assert 16_384 < calls < 200_000
    charge = stamp(tmp_path / "spins")["charge"]
    assert charge["first"] == "python3"
    assert charge["calls"] >= calls - 256
    assert charge["ns"] == pytest.approx(1e9, rel=0.2)
    run(tmp_path / "waits", entry('kind = "program", client = "sleep 1"'))
    assert stamp(tmp_path / "waits")["charge"] == {"calls": 0, "ns": 0, "first": ""}


@pytest.mark.usefixtures("virtual")
def test_a_long_run_is_not_taken_for_one_whose_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "STILL_S", 1.5)
    waits = entry('kind = "program", client = "sleep 59"', "waits")
    text = NETWORK.replace('"6s"', '"60s"') + entry('kind = "bulk"') + waits + MEASURES
    began = time.monotonic()
    result = cwndlab.run(cwndlab.Study.from_toml(text), backend="linux-virtual")
    assert time.monotonic() - began > backend.STILL_S, "the run was too short to tell"
    assert result.failures == []


@pytest.mark.usefixtures("virtual")
def test_a_program_that_stops_the_clock_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "STILL_S", 5.0)
    spins = entry('kind = "program", client = "sh -c \'while :; do :; done\'"')
    result = cwndlab.run(study(spins), backend="linux-virtual")
    (failure,) = result.failures
    assert failure.reason.startswith("no virtual time has passed for 5 s: a program computes")
    assert "`sh -c while :; do :; done` (client of traffic" in failure.reason


READS_COUNTER = """
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>
int main(void)
{
	unsigned int core;
	unsigned long long a = __rdtsc(), b;
	nanosleep(&(struct timespec){0, 1000000}, NULL);
	b = __rdtscp(&core);
	printf("%llu %llu %u\\n", a, b - a, core);
	return 0;
}
"""


@pytest.mark.usefixtures("virtual")
def test_the_time_stamp_counter_is_virtual(tmp_path: Path) -> None:
    needs("gcc")
    (tmp_path / "counter.c").write_text(READS_COUNTER)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "counter", tmp_path / "counter.c"], check=True)
    app = f'kind = "program", client = "{tmp_path / "counter"}"'
    said = [run(tmp_path / name, entry(app))[1][0]["stdout"] for name in ("one", "two")]
    assert said[0] == said[1]
    _, passed, core = said[0].split()
    assert 1_000_000 <= int(passed) < 1_010_000
    assert core == "0"


@pytest.mark.usefixtures("virtual")
def test_a_second_run_that_differs_is_reported(tmp_path: Path) -> None:
    needs("cat")
    changing = tmp_path / "changing"
    changing.write_text("0")
    ended = threading.Event()

    def change() -> None:
        while not ended.wait(0.01):
            write_atomic(changing, str(time.time_ns()).encode())

    threading.Thread(target=change).start()
    apps = [
        entry(f'kind = "program", client = "cat {name}"', name[-1])
        for name in (str(changing), "/etc/hostname")
    ]
    try:
        text = NETWORK + "".join(apps) + MEASURES.replace('"x"', '"g"')
        cwndlab.run(cwndlab.Study.from_toml(text), out=tmp_path / "out", backend="linux-virtual", verify=True)
    finally:
        ended.set()
    assert stamp(tmp_path / "out")["second_run_differs"] == [f"`cat {changing}` at a"]
    with pytest.raises(StudyError, match="verify applies only"):
        cwndlab.run("rfc2416", verify=True)


@pytest.mark.usefixtures("virtual")
def test_the_network_stands_still_while_a_shell_waits_for_a_line() -> None:
    needs("ss")
    needs("nstat")
    made = study(entry('kind = "bulk"'))
    options = RunOptions(backend="linux-virtual", stack="linux-laws")
    kernel = execution.find_kernel_executor(options, made.plan())
    assert isinstance(kernel, VirtualKernel)
    lines = iter(
        [
            "x=5; nstat -n",
            "ss -tin state established",
            "sleep 0.5",
            "echo $x $?; ss -tin state established; nstat",
            "exit",
        ]
    )
    prompts, shown = [], []

    def ask(prompt: str) -> str:
        prompts.append(float(prompt.split()[1]))
        time.sleep(0.3)
        return next(lines)

    (cell,) = made.plan().cells
    terminal.talk(kernel, cell, 1, "a", 2_000_000_000, ask, shown.append)
    assert prompts == pytest.approx([2, 2, 2, 2.5, 2.5], abs=0.001)
    first, second = (int(found) for found in re.findall(r"bytes_acked:(\d+)", "".join(shown)))
    assert second - first == pytest.approx(0.5 * 10e6 / 8, rel=0.1)
    assert "\n5 0\n" in "".join(shown)
    counted = re.search(r"TcpOutSegs +(\d+) ", "".join(shown))  # since the first call
    assert counted and int(counted[1]) == pytest.approx((second - first) / 1460, rel=0.3)
    with pytest.raises(StudyError, match='there is no host "r"'):
        terminal.talk(kernel, cell, 1, "r", 0, ask, shown.append)


@pytest.mark.parametrize("other", ["simulator", "linux"])
def test_other_backends_say_which_one_runs_programs(other: str) -> None:
    with pytest.raises(StudyError, match="runs no programs") as raised:
        cwndlab.run(study(entry(IPERF3)), backend=other)
    assert raised.value.right == "run the study with --backend linux-virtual"


@pytest.mark.parametrize(
    ("app", "more", "problem"),
    [
        ('kind = "program"', "", "no command line"),
        ('kind = "program", client = "iperf3 -c {serve}"', "", '"serve" is neither a parameter nor an axis'),
        ('kind = "program", client = "ping {server}", colour = 1', "", "colour"),
        (IPERF3, 'start = { uniform = ["0s", "1s"] }', "a program starts at a fixed time"),
    ],
)
def test_what_is_wrong_with_a_program_is_said_with_its_key(app: str, more: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        study(entry(app, more=more)).plan().check()


def test_braces_name_parameters_and_the_hosts_addresses() -> None:
    app = 'kind = "program", client = "iperf3 -c {server} -t {length} {odd} {{x}}"'
    text = NETWORK + entry(app) + MEASURES + '[parameters]\nlength = 7\nodd = "a{{b"\n'
    made = cwndlab.Study.from_toml(text)
    (cell,) = made.plan().cells
    assert cell.compiled.scenario["traffic"][0]["app"]["client"] == "iperf3 -c {server} -t 7 a{{b {{x}}"


def test_a_missing_program_is_an_error_before_the_run(tmp_path: Path) -> None:
    scenario = {"traffic": [{"app": {"kind": "program", "client": "no-such-program -x"}}]}
    with pytest.raises(StudyError, match='there is no program "no-such-program"'):
        program_files.commands(scenario, tmp_path)
    scenario["traffic"][0]["app"] = {"kind": "program", "client": "sh -c 'a"}
    with pytest.raises(StudyError, match="no command line: No closing quotation"):
        program_files.commands(scenario, tmp_path)


def test_digests_cover_the_program_its_libraries_and_the_files_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    page = tmp_path / "site" / "page"
    page.write_text("one")
    script = tmp_path / "site" / "serve.py"
    script.write_text("#!/usr/bin/env python3\n")
    script.chmod(0o755)
    app = {"kind": "program", "client": "sh -c 'ls | wc -l'", "server": "./serve.py", "folder": "site"}
    scenario = {"traffic": [{"app": app}]}
    first = program_files.digests(program_files.commands(scenario, tmp_path))
    names = {Path(path).name for path in first}
    assert {"sh", "ls", "wc", "page", "serve.py", "python3"} <= names
    assert any(name.startswith("libc.so") for name in names)
    page.write_text("two")
    second = program_files.digests(program_files.commands(scenario, tmp_path))
    assert {path for path in first if first[path] != second[path]} == {str(page)}


def test_ldd_agrees() -> None:
    shell = shutil.which("sh")
    assert shell is not None
    said = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
    found = program_files.digests(
        program_files.commands({"traffic": [{"app": {"kind": "program", "client": "sh"}}]}, None)
    )
    assert said.count("=> /") <= len(found) - 1
