"""A study's TCP in a kernel's terms at each bound, and the words, limits and facts of runs, by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cwndlab import _core
from cwndlab.study.schema import Limits
from cwndlab_linux import stack, stack_file, validity
from cwndlab_linux.hosts import address
from cwndlab_linux.stack import LAWS, STACKS, Stack


def tcp(profile: str = "linux-6", **changes: Any) -> dict[str, Any]:
    return {**json.loads(_core.tcp_profile(profile)), **changes}


def test_the_profiles_are_those_of_the_documentation() -> None:
    off = "sack dsack timestamps window_scaling recovery early_retrans frto ecn autocorking moderate_rcvbuf"
    common = {"tcp_no_metrics_save": "1"}
    old, stock, laws = (STACKS[name] for name in ("linux-1998", "linux-stock", "linux-laws"))
    assert old.sysctls == {
        **common,
        "tcp_congestion_control": "reno",
        **{f"tcp_{key}": "0" for key in off.split()},
    }
    assert stock.sysctls == laws.sysctls == {**common, "tcp_congestion_control": "cubic"}
    assert [(one.quick_ack, one.sack_of_study, one.segments, one.opener) for one in (old, stock, laws)] == [
        (None, True, "single", "receiver"),
        (False, False, "trains", "receiver"),
        (None, False, "trains", "receiver"),
    ]
    assert [one.laws for one in (old, stock, laws)] == [{}, {}, LAWS]
    assert (LAWS["bbr1"], LAWS["bbr3"], LAWS["cubic-linux"], LAWS["reno-packets"]) == (
        "bbr",
        "bbr3",
        "cubic",
        "reno",
    )
    assert [stack.default_for(name) for name in ("linux-6", "rfc5681", "ns2-1998")] == [
        "linux-laws",
        *["linux-1998"] * 2,
    ]


def test_a_configuration_names_only_what_it_sets() -> None:
    assert STACKS["linux-stock"].as_dict() == {
        "name": "linux-stock",
        "sysctls": {"tcp_no_metrics_save": "1", "tcp_congestion_control": "cubic"},
        "quick_ack": False,
        "opener": "receiver",
        "sack_of_study": False,
        "laws": {},
        "segments": "trains",
    }
    full = replace(
        STACKS["linux-stock"], answer_carries_ack=True, qdisc="fq", hosts={"a": {"qdisc": "x"}}, own=("k",)
    )
    more = {"answer_carries_ack": True, "qdisc": "fq", "hosts": {"a": {"qdisc": "x"}}, "own": ["k"]}
    assert full.as_dict() == STACKS["linux-stock"].as_dict() | more


@pytest.mark.parametrize(
    ("window", "mss", "segments"),
    [
        ("rfc3390", 536, 4),  # RFC 3390: at most four segments, and 4380 bytes
        ("rfc3390", 1095, 4),
        ("rfc3390", 1460, 3),
        ("rfc3390", 2190, 2),
        ("rfc3390", 9000, 2),  # two in any case
        ("rfc6928", 536, 10),  # RFC 6928: at most ten segments, and 14,600 bytes
        ("rfc6928", 1460, 10),
        ("rfc6928", 2000, 7),
        ("rfc6928", 9000, 2),
        ({"segments": 7}, 1460, 7),
        ({"bytes": 2919}, 1460, 1),
        ({"bytes": 2920}, 1460, 2),
        ({"bytes": 1}, 1460, 1),
    ],
)
def test_the_initial_window_is_in_segments(window: Any, mss: int, segments: int) -> None:
    assert stack.initial_window(tcp(initial_window=window, mss=mss)) == segments


@pytest.mark.parametrize(
    ("largest", "buffer", "headers", "limit"),
    [
        (None, (1 << 20) - 1, 40, (1 << 20) - 1),
        (None, 1 << 20, 40, None),  # as large as the kernel's own
        ({"segments": 10}, 1 << 20, 40, 14_600),
        ({"segments": 10}, 1 << 20, 60, 14_400),
        ({"bytes": 5000}, 1 << 20, 40, 5000),
        ({"bytes": 5000}, 4000, 40, 4000),
    ],
)
def test_a_window_is_limited_by_the_sender_and_the_receivers_buffer(
    largest: Any, buffer: int, headers: int, limit: int | None
) -> None:
    sender, receiver = tcp(max_window=largest, mss=1460, header_bytes=40), tcp(receive_buffer_bytes=buffer)
    assert stack.mtu(sender) == 1500
    assert stack.window_bytes(sender, receiver, headers) == limit


def test_ip_has_headers_of_40_or_60_bytes_with_tcps() -> None:
    assert [stack.header_bytes({"network": name}) for name in ("ipv4", "ipv6")] == [40, 60]
    assert (stack.ip_version({}), stack.ip_version({"network": "ipv6"})) == (4, 6)


@pytest.mark.parametrize(
    ("node", "index", "version", "expected"),
    [
        (0, 0, 4, "10.93.0.1"),
        (249, 3, 4, "10.93.249.4"),
        (250, 0, 4, "10.94.0.1"),
        (0, 0, 6, "fd93::1:1"),
        (15, 9, 6, "fd93::10:a"),
    ],
)
def test_hosts_have_addresses_by_their_numbers(node: int, index: int, version: int, expected: str) -> None:
    assert address(node, index, version) == expected
    assert address(1, 2) == "10.93.1.3"


@pytest.mark.parametrize(
    ("ecn", "asks", "ect1"),
    [
        ("off", False, False),
        ("accept", False, False),
        ("rfc3168", True, False),
        ("l4s", True, True),
        ("rfc3168-ect1", True, True),
        ("dctcp", True, False),
    ],
)
def test_ecn_is_asked_for_by_all_but_those_who_only_accept_it(ecn: str, asks: bool, ect1: bool) -> None:
    assert (stack.asks_for_ecn(tcp(ecn=ecn)), stack.sends_ect1(tcp(ecn=ecn))) == (asks, ect1)


def test_acknowledgments_at_once_are_the_stacks_own_or_the_studys() -> None:
    every, delayed = tcp(ack_policy="every"), tcp()
    for own, expected in ((None, (True, False)), (True, (True, True)), (False, (False, False))):
        made = replace(STACKS["linux-stock"], quick_ack=own)
        assert (stack.quick_ack(made, every), stack.quick_ack(made, delayed)) == expected
        assert (stack.quick_ack(made.as_dict(), every), stack.quick_ack(made.as_dict(), delayed)) == expected


def test_a_host_has_the_settings_of_its_name() -> None:
    made = replace(
        STACKS["linux-laws"],
        qdisc="fq",
        hosts={
            "a": {"sysctls": {"tcp_sack": "0"}},
            "b": {"sysctls": {"tcp_congestion_control": "reno"}, "qdisc": "x"},
        },
    ).as_dict()
    assert stack.settings_at(made, "c") is made
    a, b = stack.settings_at(made, "a"), stack.settings_at(made, "b")
    assert a["sysctls"] == {**made["sysctls"], "tcp_sack": "0"} and (a["laws"], a["qdisc"]) == (LAWS, "fq")
    assert b["sysctls"]["tcp_congestion_control"] == "reno" and (b["laws"], b["qdisc"]) == ({}, "x")
    assert stack.congestion_control(b, tcp(window_law="bbr1")) == "reno"
    assert stack.congestion_control(a, tcp(window_law="bbr1")) == "bbr"
    assert stack.congestion_control({"laws": {}, "sysctls": {}}, tcp(window_law="bbr1")) is None
    assert stack.describe_settings(made) == [
        "tcp_no_metrics_save = 1, tcp_congestion_control = cubic, qdisc fq",
        "at a: tcp_sack = 0",
        "at b: tcp_congestion_control = reno, qdisc x",
    ]


def test_sysctls_follow_the_studys_sack_and_acceptance_of_ecn_on_the_stack_of_1998() -> None:
    old = STACKS["linux-1998"].as_dict()
    assert stack.sysctls(old, [tcp(ecn="accept", sack=True)])["tcp_ecn"] == "2"
    assert stack.sysctls(old, [tcp(ecn="off", sack=False)])["tcp_ecn"] == "0"
    assert stack.sysctls(old, [tcp(ecn="off", sack=False)])["tcp_sack"] == "0"
    assert stack.sysctls(old, []) == old["sysctls"]


def with_sysctls(name: str, **values: str) -> Stack:
    return replace(STACKS[name], sysctls={**STACKS[name].sysctls, **values})


@pytest.mark.parametrize(
    ("made", "studys", "sack", "kernels"),
    [
        (STACKS["linux-stock"], "rack", True, "rack"),
        (STACKS["linux-stock"], "sack", True, "RACK-TLP with PRR"),
        (with_sysctls("linux-stock", tcp_recovery="0"), "sack", True, "sack"),
        (with_sysctls("linux-stock", tcp_recovery="0"), "prr", True, "prr"),
        (with_sysctls("linux-stock", tcp_recovery="0"), "rack", True, "SACK with PRR"),
        (with_sysctls("linux-stock", tcp_sack="0"), "rack", True, "NewReno with PRR"),
        (with_sysctls("linux-stock", tcp_sack="0"), "new-reno", True, "new-reno"),
        (STACKS["linux-1998"], "sack", True, "sack"),
        (STACKS["linux-1998"], "new-reno", False, "new-reno"),
        (STACKS["linux-1998"], "reno", False, "NewReno with PRR"),
    ],
)
def test_the_kernels_recovery_has_the_studys_name_if_both_are_the_same(
    made: Stack, studys: str, sack: bool, kernels: str
) -> None:
    one = tcp(recovery=studys, sack=sack)
    assert stack._recovery(made, one) == kernels
    replaced = f"{studys} in the study, {kernels} on the kernel"
    assert stack.other_recovery(made, [one, one]) == ("" if studys == kernels else replaced)


NAMED = STACKS["linux-laws"]
BASE = "delayed ACKs are the kernel's own"
OPENS = 'the receiver of a bulk transfer opens its connection (opener = "client": the study\'s client)'


@pytest.mark.parametrize(
    ("made", "changes", "expected"),
    [
        (NAMED, {}, [BASE, OPENS]),
        (replace(NAMED, opener="client"), {}, [BASE]),
        (replace(NAMED, opener="client"), {"ack_policy": "every"}, []),
        (
            replace(NAMED, opener="client", quick_ack=True),
            {},
            ["the study delays ACKs; the kernel acknowledges every segment (quick_ack)"],
        ),
        (NAMED, {"sack": False}, [BASE, "the kernel has SACK, the study's TCP not", OPENS]),
        (with_sysctls("linux-laws", tcp_timestamps="0"), {}, [BASE, "the kernel has no timestamps", OPENS]),
        (
            with_sysctls("linux-laws", tcp_window_scaling="0"),
            {},
            [BASE, "the kernel has no window scaling", OPENS],
        ),
        (
            NAMED,
            {"limited_transmit": False},
            [BASE, "the kernel always has Limited Transmit (RFC 3042)", OPENS],
        ),
        (
            NAMED,
            {"handshake": None},
            [BASE, "the kernel opens with a handshake; the clock starts with the first data packet"],
        ),
        (
            NAMED,
            {"initial_ssthresh_segments": 5},
            [BASE, "the first slow-start threshold is the kernel's (infinite)", OPENS],
        ),
        (NAMED, {"window_law": "reno", "slow_start": "standard"}, [BASE, OPENS]),
        (
            STACKS["linux-stock"],
            {"window_law": "bbr1"},
            [BASE, OPENS, "the study's window law is bbr1; the kernel's congestion control is cubic"],
        ),
    ],
)
def test_differences_from_the_study_are_in_words(
    made: Stack, changes: dict[str, Any], expected: list[str]
) -> None:
    assert stack.differences(made, [tcp(**changes)]) == expected


@pytest.mark.parametrize(
    ("changes", "own"),
    [({}, False), ({"initial_ns": 10**9 + 1}, True), ({"tick_ns": 1}, True), ({"min_ns": 200_000_001}, True)],
)
def test_the_retransmission_timer_is_the_kernels(changes: dict[str, int], own: bool) -> None:
    one = tcp()
    found = stack.differences(STACKS["linux-laws"], [tcp(rto=one["rto"] | changes)])
    words = "the retransmission timer is the kernel's: 1 s at first, at least 0.2 s, no coarse clock"
    assert (words in found) is own and len(found) == 2 + own


def result(**changes: Any) -> dict[str, Any]:
    """A valid run of the kernel."""
    port = {"device": "cw0", "unroutable": 0, "kernel_drops": 0, "write_errors": 0, "oversized": 0}
    late = {f"lateness_{name}_ns": 1 for name in ("p50", "p99", "p999", "max")}
    summary = {
        "invalid_because": [],
        "valid": True,
        "ports": [port, port | {"device": "queue1"}],
        "kernel": "6.12",
    }
    summary |= {"packets": 9, "cpu_share": 0.5, "real_time": True, **late}
    summary["links"] = [{"bytes": 1000, "busy_ns": 4000}, {"bytes": 0, "busy_ns": 0}]
    application = {"lateness_p99_s": 0.0, "lateness_max_s": 0.0, "real_time": False}
    made = {"summary": summary, "application": application, "machine": {"steal": 0.0}, "failures": []}
    made |= {"version": "Linux", "device": "tun", "offloads": {}, "user_namespace": True, "zero_ns": 7}
    return made | {"sysctls_missing": ["k"]} | changes


LIMITS = Limits()


def test_a_run_is_valid_within_all_limits() -> None:
    most = {
        "lateness_p99_s": LIMITS.application_p99 / 1e9,
        "lateness_max_s": LIMITS.application_max / 1e9,
        "real_time": True,
    }
    assert validity.judge(result(application=most, machine={"steal": LIMITS.steal}), LIMITS) == []


def test_each_reason_against_a_run_has_its_number_and_its_limit() -> None:
    late = {"lateness_p99_s": 0.5, "lateness_max_s": 1.2345, "real_time": True}
    found = validity.judge(result(application=late, machine={"steal": 0.25}, failures=["why"]), LIMITS)
    p99, most = LIMITS.application_p99 / 1e6, LIMITS.application_max / 1e6
    assert found == [
        f"application-p99: applications got the CPU 500.0 ms late; the limit is {p99:g} ms",
        f"application-max: applications got the CPU 1234.5 ms late; the limit is {most:g} ms",
        f"steal: the hypervisor took 25% of the CPU; the limit is {LIMITS.steal:.0%}",
        "an application ended early: why",
    ]
    made = result()
    made["summary"]["ports"] = [one | {"unroutable": 3} for one in made["summary"]["ports"]]
    assert validity.judge(made, LIMITS) == [
        "3 packets from cw0 had no way through the scenario",
        "3 packets from queue1 left a kernel's queue after later ones of their flow, or after 10 s",
    ]
    made = result()
    made["summary"]["valid"] = False
    assert validity.judge(made, LIMITS) == ["the router calls it invalid"]
    made["summary"]["invalid_because"] = ["lateness-max: why"]
    assert validity.judge(made, LIMITS) == ["lateness-max: why"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("lateness-max: why", "--limit lateness-max=… accepts more"),
        ("application-p99: why", "--limit application-p99=… accepts more"),
        ("steal: why", "other guests of the hypervisor"),
        ("hidden-drops: why", "lower the rates or windows"),
        ("cpu-share: why", "more packets than the router can carry"),
    ],
)
def test_advice_is_for_the_first_reason_that_has_any(reason: str, words: str) -> None:
    assert words in validity.advice(["3 packets had no way", reason, "steal: x"])
    assert validity.advice(["3 packets had no way"]) == "" == validity.advice([])


def test_the_facts_of_a_run_are_kept() -> None:
    made = result()
    for port, drops in zip(made["summary"]["ports"], (1, 2), strict=True):
        port |= {"kernel_drops": drops, "write_errors": 10 * drops, "oversized": 100 * drops}
    scenario = {"links": [{"name": "a>b", "rate_bps": 5}, {"name": "b>a", "rate_bps": 6}]}
    found = validity.stamp(made, scenario)
    assert found["achieved"] == [
        {"link": "a>b", "asked_bps": 5, "achieved_bps": 2e9},
        {"link": "b>a", "asked_bps": 6, "achieved_bps": None},
    ]
    assert (found["hidden_drops"], found["oversized"], found["clock_zero_ns"]) == (33, 300, 7)
    assert found["lateness_ns"] == {"p50": 1, "p99": 1, "p999": 1, "max": 1}
    assert found["real_time"] == {"router": True, "applications": False}
    assert {"queues", "programs", "charge"}.isdisjoint(found)
    process = {"traffic": 0, "stdout": "o", "stderr": "e", "exit_code": 0}
    more = validity.stamp(made | {"queues": {"a>b": "x"}, "processes": [process], "charge": 5}, scenario)
    assert (more["queues"], more["charge"]) == ({"a>b": "x"}, 5)
    assert more["programs"] == [{"traffic": 0, "exit_code": 0}]


def test_the_router_has_limits_by_its_own_names() -> None:
    assert validity.router_limits(LIMITS) == {
        "lateness_p99_ns": LIMITS.p99_lateness,
        "lateness_p999_ns": LIMITS.p999_lateness,
        "lateness_max_ns": LIMITS.max_lateness,
        "hidden_drops": LIMITS.hidden_drops,
        "cpu_share": LIMITS.cpu_share,
    }


@pytest.mark.parametrize(
    ("value", "text"), [(True, "1"), (False, "0"), (7, "7"), ([4096, 16, "x"], "4096 16 x"), ("on", "on")]
)
def test_a_sysctl_is_written_as_the_kernels_text(value: Any, text: str) -> None:
    assert stack_file._sysctl(value) == text
    with pytest.raises(ValueError, match="this is a table"):
        stack_file._sysctl({"a": 1})


def test_keys_are_tcp_sysctls_with_or_without_their_prefix() -> None:
    assert stack_file._tcp_keys({"net.ipv4.tcp_sack": "1", "tcp_ecn": "2"}) == {
        "tcp_sack": "1",
        "tcp_ecn": "2",
    }
    for key in ("sack", "tcp_../x", "net.core.wmem"):
        with pytest.raises(ValueError, match="is no TCP sysctl; write keys like tcp_sack"):
            stack_file._tcp_keys({key: "1"})
