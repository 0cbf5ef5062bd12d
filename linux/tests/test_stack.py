"""A study's TCP as settings of a kernel; limits of validity; folders that killed runs leave."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.apps.check.estimate import real_seconds
from cwndlab.base.errors import StudyError
from cwndlab.runs.executors.protocol import is_repeatable
from cwndlab.runs.run_options import RunOptions
from cwndlab.study.schema import Limits
from cwndlab_linux import netns, stack, stack_file, validity


def tcp(profile: str = "ns2-1998", **changes: Any) -> dict[str, Any]:
    return {**json.loads(_core.tcp_profile(profile)), **changes}


def test_a_study_of_todays_tcp_runs_with_the_congestion_controls_that_it_names() -> None:
    laws = ("cubic-linux", "reno", "dctcp")
    for profile, controls, sack in (
        ("linux-6", ["cubic", "reno", "dctcp"], None),
        ("rfc5681", ["reno"] * 3, "0"),
    ):
        own = stack_file.load(stack.default_for(profile)).as_dict()
        endpoints = [tcp(profile, window_law=law) for law in laws]
        assert [stack.congestion_control(own, one) for one in endpoints] == controls
        assert stack.sysctls(own, endpoints).get("tcp_sack") == sack


def test_a_data_packet_fills_the_mtu_and_windows_are_segments() -> None:
    assert stack.mtu(tcp(mss=1000)) == 1000 and stack.mtu(tcp("linux-6")) == 1500
    assert [
        stack.initial_window(tcp("linux-6", initial_window=w))
        for w in ("rfc3390", "rfc6928", {"segments": 4}, {"bytes": 5000}, {"bytes": 100})
    ] == [3, 10, 4, 3, 1]
    assert stack.window_bytes(tcp(mss=1000, max_window={"segments": 20}), tcp()) == 20 * 960
    assert stack.window_bytes(tcp("linux-6"), tcp("linux-6")) is None


def test_sack_follows_the_study_on_the_stack_of_1998_only() -> None:
    own, other = tcp("linux-6"), tcp()
    of_1998, stock = (stack_file.load(name).as_dict() for name in ("linux-1998", "linux-stock"))
    assert (
        stack.sysctls(of_1998, [own])["tcp_sack"] == "1"
        and stack.sysctls(of_1998, [other])["tcp_sack"] == "0"
    )
    assert "tcp_sack" not in stack.sysctls(stock, [own, other])
    with pytest.raises(ValueError, match="one setting for all"):
        stack.sysctls(of_1998, [own, other])


def test_each_connection_has_the_congestion_control_of_its_window_law_where_the_stack_says_so() -> None:
    laws, of_1998 = (stack_file.load(name).as_dict() for name in ("linux-laws", "linux-1998"))
    endpoints = [tcp("linux-6", window_law=law) for law in ("cubic-linux", "reno", "dctcp")]
    assert [stack.congestion_control(laws, one) for one in endpoints] == ["cubic", "reno", "dctcp"]
    assert {stack.congestion_control(of_1998, one) for one in endpoints} == {"reno"}


def test_an_own_stack_names_the_congestion_control_of_a_window_law(tmp_path: Path) -> None:
    path = tmp_path / "bbr.toml"
    path.write_text('based_on = "linux-laws"\n[laws]\nreno = "bbr"\n')
    own = stack_file.load(str(path)).as_dict()
    assert stack.congestion_control(own, tcp("linux-6", window_law="reno")) == "bbr"
    assert stack.congestion_control(own, tcp("linux-6")) == "cubic"
    path.write_text('[laws]\nrenno = "bbr"')
    with pytest.raises(StudyError, match="reno"):
        stack_file.load(str(path))


def test_packets_of_l4s_enter_with_ect_1_and_that_is_said() -> None:
    scalable = tcp("linux-6", window_law="dctcp", ecn="l4s")
    assert stack.asks_for_ecn(scalable) and stack.sends_ect1(scalable)
    assert not stack.sends_ect1(tcp("linux-6", ecn="dctcp"))
    assert any("ECT(1)" in note for note in stack.differences(stack_file.load("linux-laws"), [scalable]))


def test_what_the_kernel_does_otherwise_is_said() -> None:
    said = stack.differences(stack_file.load("linux-1998"), [tcp()])
    assert any("tahoe" in note and "NewReno" in note for note in said)
    assert any("Limited Transmit" in note for note in said)
    modern = tcp("linux-6")
    assert stack.differences(stack_file.load("linux-stock"), [modern]) == [
        "delayed ACKs are the kernel's own",
        'the receiver of a bulk transfer opens its connection (opener = "client": the study\'s client)',
    ]
    said = stack.differences(stack_file.load("linux-1998"), [modern])
    assert "the kernel has no timestamps" in said and any("cubic-linux" in n and "reno" in n for n in said)
    said = stack.differences(stack_file.load("linux-stock"), [tcp()])
    assert "the kernel has SACK, the study's TCP not" in said and any("RACK-TLP" in n for n in said)


def test_knobs_that_no_kernel_follows_are_named() -> None:
    def own(**knobs: Any) -> list[str]:
        notes = stack.differences(stack_file.load("linux-laws"), [tcp("linux-6", **knobs)])
        return [note for note in notes if "its own" in note]

    assert own(nagle=False, mss=536, initial_window={"segments": 2}, trains="linux") == []
    assert own(max_train_segments=1) == [
        "the kernel has its own max_train_segments; the study sets it otherwise"
    ]
    assert own(dsack=False, fin="never") == [
        "the kernel has its own dsack, fin; the study sets them otherwise"
    ]
    # HyStart is part of CUBIC; BBR's start replaces it
    assert own(slow_start="standard") == ["the kernel has its own slow_start; the study sets it otherwise"]
    assert own(window_law="reno", slow_start="standard") == own(window_law="bbr1") == []


def test_a_recovery_that_no_kernel_has_is_named_with_the_kernels_own() -> None:
    old, modern = stack_file.load("linux-1998"), stack_file.load("linux-stock")
    assert (
        stack.other_recovery(old, [tcp(recovery="tahoe")])
        == "tahoe in the study, NewReno with PRR on the kernel"
    )
    assert "SACK with PRR on the kernel" in stack.other_recovery(old, [tcp(recovery="fack", sack=True)])
    assert stack.other_recovery(old, [tcp(recovery="new-reno")]) == ""
    assert stack.other_recovery(modern, [tcp(recovery="rack", sack=True)]) == ""


def test_cells_without_randomness_are_exact_in_virtual_time_only() -> None:
    def key(backend: str) -> str:
        return json.dumps([backend, "6.12", stack_file.load("linux-1998").as_dict(), {}])

    assert is_repeatable("") and is_repeatable(key("linux-virtual")) and not is_repeatable(key("linux"))
    assert stack.stack_of_key(key("linux")).sysctls == stack_file.load("linux-1998").sysctls


def test_own_stacks_are_read_and_mistakes_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('based_on = "linux-1998"\nopener = "client"\n[sysctls]\ntcp_sack = 1\n')
    own = stack_file.load(str(path))
    assert (own.sysctls["tcp_sack"], own.opener, own.sack_of_study) == ("1", "client", False)
    assert own.text == path.read_text() and stack_file.load("linux-1998").text is None
    for text, says in (
        ('opener = "both"', "receiver"),
        ("sysctl = 1", "sysctls"),
        ('[sysctls]\n"../kernel/x" = 1', "no TCP sysctl"),
        ('based_on = "linux-1988"', "linux-1998"),
        ('quick_ack = "yes"', "true or false"),
        ('sysctls = "tcp_sack"', "a table"),
    ):
        path.write_text(text)
        with pytest.raises(StudyError, match=says):
            stack_file.load(str(path))
    path.write_text('based_on = "linux-1998"\n[sysctls]\ntcp_sack = false\n"net.ipv4.tcp_rmem" = [1, 2, 3]\n')
    own = stack_file.load(str(path))
    assert own.sysctls["tcp_sack"] == "0" and own.sysctls["tcp_rmem"] == "1 2 3"
    assert (
        own.as_dict()["own"] == ["tcp_sack", "tcp_rmem"] and "own" not in stack.STACKS["linux-1998"].as_dict()
    )
    with pytest.raises(StudyError, match="linux-stock"):
        stack_file.load("linux-stok")


def result(**changes: Any) -> dict[str, Any]:
    port = {"device": "cw0", "unroutable": 0, "kernel_drops": 0, "write_errors": 0, "oversized": 0}
    return {
        "summary": {"valid": True, "invalid_because": [], "ports": [port]},
        "application": {"lateness_p99_s": 0.0, "lateness_max_s": 0.0},
        "machine": {"steal": 0.0},
        "failures": [],
    } | changes


def test_each_limit_makes_a_run_invalid_and_says_so() -> None:
    limits = Limits()
    assert validity.judge(result(), limits) == []
    late = {"lateness_p99_s": 0.02, "lateness_max_s": 0.02}
    found = validity.judge(result(application=late), limits)
    assert found == ["application-p99: applications got the CPU 20.0 ms late; the limit is 5 ms"]
    assert "hypervisor" in validity.judge(result(machine={"steal": 0.5}), limits)[0]
    assert "ended early" in validity.judge(result(failures=["OSError: x"]), limits)[0]
    assert "--limit application-p99=" in validity.advice(found)
    assert "another time" in validity.advice(["x", "steal: y"]) and validity.advice(["x"]) == ""
    refused = {"valid": False, "invalid_because": ["a packet was late"], "ports": []}
    assert validity.judge(result(summary=refused), limits) == ["a packet was late"]


def test_only_folders_of_dead_processes_are_swept(tmp_path: Path) -> None:
    mine = netns.make_folder(tmp_path)
    born = netns.start_ticks(os.getpid())
    assert born is not None
    dead = tmp_path / f"{netns.PREFIX}{2**22 + 1}-5-x"
    reused = tmp_path / f"{netns.PREFIX}{os.getpid()}-{born - 1}-x"
    foreign = tmp_path / f"{netns.PREFIX}notes"
    for path in (dead, reused, foreign):
        path.mkdir()
    assert netns.sweep(tmp_path) == sorted([dead, reused])
    assert mine.is_dir() and foreign.is_dir()


def test_limits_are_a_studys_own_and_mistakes_are_named() -> None:
    base = Study.load("rfc2416")
    assert base.base.limits.max_lateness == 50_000_000
    own = base.set({"limits.max_lateness": "20ms", "limits.steal": "5%"}).base.limits
    assert validity.router_limits(own)["lateness_max_ns"] == 20_000_000 and own.steal == 0.05
    for key, value, says in (
        ("limits.max_latenes", "20ms", "max_lateness"),
        ("limits.max_lateness", "20", "ms"),
        ("limits.steal", 5, "percentage"),
    ):
        with pytest.raises(StudyError, match=says):
            base.set({key: value}).plan().check()


def test_what_is_of_a_kernel_is_refused_for_the_simulator_and_the_other_way_round(tmp_path: Path) -> None:
    for options, says in (
        ({"stack": "linux-stock"}, "backend linux"),
        ({"backend": "linux", "store": tmp_path}, "not shared"),
        ({"backend": "linux", "cluster": "tcp://a:1"}, "stay on this machine"),
    ):
        with pytest.raises(StudyError, match=says):
            RunOptions(**options)


def test_real_time_is_that_of_the_runs_side_by_side() -> None:
    study = Study.load("rfc2416").set(
        {"grid": "minute", "variant": "tahoe", "iw": [1, 4], "size": "as-traced"}
    )
    assert real_seconds(study.plan(), 24) == 60 and real_seconds(study.plan(replicates=3), 2) == 180


def test_hosts_have_sysctls_and_queueing_disciplines_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(
        'based_on = "linux-laws"\nqdisc = "fq"\n[sysctls]\ntcp_sack = true\n'
        '[hosts.b]\nqdisc = "fq_codel limit 100"\n'
        '[hosts.b.sysctls]\ntcp_sack = false\ntcp_congestion_control = "reno"\n'
    )
    own = stack_file.load(str(path))
    made = own.as_dict()
    assert stack.stack_of_key(json.dumps(["linux-virtual", "6.12", made])).as_dict() == made
    a, b = stack.settings_at(made, "a"), stack.settings_at(made, "b")
    assert a["sysctls"]["tcp_sack"] == "1" and b["sysctls"]["tcp_sack"] == "0"
    assert (a["qdisc"], b["qdisc"]) == ("fq", "fq_codel limit 100")
    endpoint = tcp("linux-6")
    assert (stack.congestion_control(a, endpoint), stack.congestion_control(b, endpoint)) == ("cubic", "reno")
    assert stack.describe_settings(made) == [
        "tcp_no_metrics_save = 1, tcp_congestion_control = cubic, tcp_sack = 1, qdisc fq",
        "at b: tcp_sack = 0, tcp_congestion_control = reno, qdisc fq_codel limit 100",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hosts = 1", "mine.toml:1:1: hosts: 1 does not fit; it must be a table"),
        ("[hosts.b]\nqdics = 1", 'mine.toml:2:1: hosts.b.qdics: unknown key .* did you mean "qdisc"'),
        ("qdisc = 1", "qdisc: 1 does not fit; it must be text in quotes"),
        ("[hosts.b.sysctls]\nsack = 1", '"sack" is no TCP sysctl'),
    ],
)
def test_what_is_wrong_with_a_host_of_a_stack_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(StudyError, match=problem):
        stack_file.load(str(path))
