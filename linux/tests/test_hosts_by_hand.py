"""Addresses, routes, sockets and ports of a scenario's hosts, and the shell of a guest, without a kernel."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab import _core
from cwndlab_linux import hosts
from cwndlab_linux.hosts import Hosts, SetupError
from cwndlab_linux.stack import STACKS


def tcp(**changes: Any) -> dict[str, Any]:
    return {**json.loads(_core.tcp_profile("linux-6")), **changes}


def entry(client: int, server: int, pair: tuple[int, int], kind: str = "bulk", **app: Any) -> dict[str, Any]:
    ends = {"client": client, "server": server, "tcp_client": pair[0], "tcp_server": pair[1]}
    return ends | {"app": {"kind": kind, **app}}


def scenario(**changes: Any) -> dict[str, Any]:
    """Two transfers share a pair of settings, the third has another; then come a program and datagrams."""
    traffic = [
        entry(2, 0, (0, 1)),
        entry(2, 0, (0, 1), "rr"),
        entry(0, 2, (1, 1), "bulk", **{"from": "server"}),
        entry(2, 0, (0, 0), "program"),
        entry(2, 0, (1, 0), "poisson"),
    ]
    settings = [
        tcp(),
        tcp(mss=1000, window_law="reno", ecn="rfc3168", initial_window={"segments": 7}, nagle=False),
    ]
    return {"nodes": ["a", "r", "b"], "links": [], "traffic": traffic, "tcp": settings} | changes


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    return prepared(monkeypatch)


def prepared(
    monkeypatch: pytest.MonkeyPatch, stack: Any = None, device: str | None = None, **changes: Any
) -> Hosts:
    monkeypatch.setattr(hosts, "can_open_tun", lambda: True)
    used = stack or STACKS["linux-laws"].as_dict()
    found = Hosts({"scenario": scenario(**changes), "stack": used, "more_laws": "try {}", "device": device})
    for node in found.of_node:
        found.namespaces[node] = SimpleNamespace(path=f"/ns/{node}", enter=lambda: None)  # type: ignore[assignment]
    return found


def test_a_host_has_an_address_for_each_pair_of_settings_and_each_program(made: Hosts) -> None:
    assert made.addresses == {
        (2, 0, 1): "10.93.2.1",
        (0, 0, 1): "10.93.0.1",
        (0, 1, 1): "10.93.0.2",
        (2, 1, 1): "10.93.2.2",
        (2, 1, 0): "10.93.2.4",
        (0, 1, 0): "10.93.0.4",
    }
    assert made.program_addresses == {(3, 2): "10.93.2.3", (3, 0): "10.93.0.3"}
    assert (
        made.program_address(3, "client") == "10.93.2.3" and made.program_address(3, "server") == "10.93.0.3"
    )
    assert made.of_node[2] == ["10.93.2.1", "10.93.2.2", "10.93.2.3", "10.93.2.4"]
    assert {node: sorted(configs) for node, configs in made.configs.items()} == {2: [0, 1], 0: [0, 1]}
    assert (made.version, made.headers, made.packet, made.missing) == (4, 40, False, [])


def test_a_device_is_a_veth_pair_if_asked_for_or_without_tun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared(monkeypatch, device="packet").packet
    monkeypatch.setattr(hosts, "can_open_tun", lambda: False)
    assert Hosts({"scenario": scenario(), "stack": STACKS["linux-laws"].as_dict(), "more_laws": ""}).packet


def test_settings_of_a_host_that_the_study_lacks_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = STACKS["linux-laws"].as_dict() | {"hosts": {"c": {}}}
    with pytest.raises(SetupError, match='the stack has settings of a host "c", which the study lacks'):
        prepared(monkeypatch, stack=wrong)


def test_routes_carry_the_settings_of_connections(made: Hosts) -> None:
    routes = made._routes(2)
    assert list(routes) == ["10.93.0.1", "10.93.0.2", "10.93.0.3", "10.93.0.4"]
    # The smaller MTU of 1040 bytes, and segments without options of 1000.
    assert routes["10.93.0.1"] == {"metrics": {"mtu": 1040, "advmss": 1000, "initcwnd": 10, "quickack": 0}}
    other = {"mtu": 1040, "advmss": 1000, "initcwnd": 7, "quickack": 0, "features": 1}
    assert routes["10.93.0.2"] == {"metrics": other} == made._routes(0)["10.93.2.2"]
    program = {"mtu": 1500, "advmss": 1460, "initcwnd": 10, "quickack": 0, "cc_algo": "cubic"}
    assert routes["10.93.0.3"] == {"metrics": program, "prefsrc": "10.93.2.3"}
    assert made._routes(1) == {}


def test_a_largest_window_is_that_of_the_route(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [tcp(max_window={"segments": 4}), tcp(ack_policy="every")]
    one = prepared(monkeypatch, traffic=[entry(2, 0, (0, 1))], tcp=settings)
    assert "window" not in one._routes(2)["10.93.0.1"]["metrics"]
    there = one._routes(0)["10.93.2.1"]["metrics"]
    assert (there["window"], there["quickack"]) == (4 * 1460, 1)


def test_hosts_of_ipv6_have_routes_and_prefixes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, made: Hosts
) -> None:
    six = prepared(monkeypatch, network="ipv6")
    assert (six.version, six.headers) == (6, 60) and six.addresses[2, 0, 1] == "fd93::3:1"
    assert six._prefix == {"prefixlen": 128, "family": socket.AF_INET6, "flags": 2} and made._prefix == {
        "prefixlen": 32
    }
    assert six._route_to("fd93::1:1") == {"dst": "fd93::1:1/128", "family": socket.AF_INET6}
    assert made._route_to("10.93.0.1") == {"dst": "10.93.0.1/32", "scope": "link"}
    assert six.datagrams() == [{"traffic": 4, "client": "[fd93::3:4]:49156", "server": "[fd93::1:4]:5005"}]
    assert made.datagrams() == [{"traffic": 4, "client": "10.93.2.4:49156", "server": "10.93.0.4:5005"}]


def test_ports_of_the_router_have_the_addresses_and_those_with_ect1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of the first entry is for L4S, and the server of the second, which is the same host."""
    traffic = [entry(2, 0, (0, 1)), entry(0, 2, (1, 0), "program"), entry(2, 0, (0, 1))]
    one = prepared(monkeypatch, traffic=traffic, tcp=[tcp(ecn="l4s"), tcp(ecn="rfc3168")])
    both = ["10.93.2.1", "10.93.2.2"]
    device = {"kind": "tun", "name": "cw0"}
    assert one.ports() == [
        {"node": 2, "addresses": both, "ect1": both, "netns": "/ns/2", "device": device},
        {"node": 0, "addresses": ["10.93.0.1", "10.93.0.2"], "ect1": [], "netns": "/ns/0", "device": device},
    ]
    served = prepared(monkeypatch, traffic=traffic, tcp=[tcp(ecn="rfc3168"), tcp(ecn="l4s")])
    assert [served.ect1(node) for node in (2, 0)] == [[], ["10.93.0.1", "10.93.0.2"]]


class Sock:
    """A socket that notes its options."""

    def __init__(self, family: int, kind: int) -> None:
        assert (family, kind) == (socket.AF_INET, socket.SOCK_STREAM)
        self.options: dict[tuple[int, int], Any] = {}
        self.blocks = True

    def setblocking(self, blocks: bool) -> None:
        self.blocks = blocks

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        self.options[level, option] = value


@pytest.mark.parametrize(
    ("own", "theirs", "options"),
    [
        (tcp(), tcp(), {(socket.IPPROTO_TCP, socket.TCP_CONGESTION): b"cubic"}),
        (
            tcp(window_law="bbr1", nagle=False),
            tcp(),
            {
                (socket.IPPROTO_TCP, socket.TCP_CONGESTION): b"bbr",
                (socket.IPPROTO_TCP, socket.TCP_NODELAY): 1,
            },
        ),
        (
            tcp(pacing={"kind": "linux"}),
            tcp(max_window={"bytes": 9000}),
            {
                (socket.IPPROTO_TCP, socket.TCP_CONGESTION): b"cubic",
                (socket.SOL_SOCKET, socket.SO_RCVBUF): 9000 - 1460,
                (socket.SOL_SOCKET, 47): struct.pack("=Q", 1 << 40),
            },
        ),
        (
            tcp(),
            tcp(max_window={"bytes": 3000}),
            {
                (socket.IPPROTO_TCP, socket.TCP_CONGESTION): b"cubic",
                (socket.SOL_SOCKET, socket.SO_RCVBUF): 2048,
            },
        ),
    ],
)
def test_a_socket_has_the_settings_of_its_end(
    monkeypatch: pytest.MonkeyPatch,
    own: dict[str, Any],
    theirs: dict[str, Any],
    options: dict[tuple[int, int], Any],
) -> None:
    one = prepared(monkeypatch, traffic=[entry(2, 0, (0, 1))], tcp=[own | {"pacing": own["pacing"]}, theirs])
    monkeypatch.setattr(hosts.socket, "socket", Sock)
    sock: Any = one.socket_at(2, 0, 1)()
    assert {key: value for key, value in sock.options.items()} == options and not sock.blocks


@pytest.mark.parametrize(
    ("index", "opener", "opens"),
    [(0, "receiver", False), (0, "client", True), (1, "receiver", True), (2, "receiver", True)],
)
def test_the_receiver_of_a_bulk_transfer_opens_it(
    monkeypatch: pytest.MonkeyPatch, index: int, opener: str, opens: bool
) -> None:
    stack = STACKS["linux-laws"].as_dict() | {"opener": opener}
    one = prepared(monkeypatch, stack=stack)
    driver = one.driver(index, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
    assert (driver.client_opens, driver.port, driver.answer_carries_ack) == (opens, 5001 + index, False)
    ends = {True: ("10.93.2.1", "10.93.0.2"), False: ("10.93.0.1", "10.93.2.2")}
    assert {client: place.address for client, place in driver.places.items()} == {
        client: addresses[index == 2] for client, addresses in ends.items()
    }
    carries = prepared(monkeypatch, stack=stack | {"answer_carries_ack": True})
    assert carries.driver(1, SimpleNamespace(), SimpleNamespace()).answer_carries_ack  # type: ignore[arg-type]


def test_a_full_segment_is_smaller_if_both_ends_use_timestamps(made: Hosts) -> None:
    assert [made.segment_bytes(k) for k in (0, 3)] == [1000, 1460]
    made.stamping = {2}
    assert made.segment_bytes(3) == 1460
    made.stamping = {0, 2}
    assert [made.segment_bytes(k) for k in (0, 3)] == [988, 1448]


def test_a_kernel_that_lacks_what_the_stack_names_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoSock(Sock):
        def __init__(self) -> None:
            super().__init__(socket.AF_INET, socket.SOCK_STREAM)

        def __enter__(self) -> NoSock:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def setsockopt(self, level: int, option: int, value: Any) -> None:
            if value == b"bbr":
                raise OSError

    monkeypatch.setattr(hosts.socket, "socket", NoSock)
    space: Any = SimpleNamespace(sysctl=lambda key: "reno cubic", sysctls=lambda: {"ipv4.tcp_sack": "1"})
    stack = STACKS["linux-laws"].as_dict() | {"own": ["tcp_sak"]}
    one = prepared(monkeypatch, stack=stack)
    one._check(space, stack, [tcp()])
    one.missing = ["tcp_sak"]
    with pytest.raises(SetupError, match=r"this kernel has no sysctl net\.ipv4\.tcp_sak; .*tcp_sack"):
        one._check(space, stack, [tcp()])
    one.missing = []
    words = 'this kernel has no congestion control "bbr", only reno, cubic; try bbr'
    with pytest.raises(ValueError, match=words) as caught:
        one._check(space, stack, [tcp(window_law="bbr1")])
    assert not isinstance(caught.value, SetupError)
    sysctls = {**stack["sysctls"], "tcp_congestion_control": "bbr"}
    with pytest.raises(SetupError, match=words):
        one._check(space, stack | {"sysctls": sysctls}, [tcp(window_law="bbr1")])


def test_words_that_tc_rejects_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(hosts, "tc", lambda *words: asked.append(words))
    hosts._add_qdisc("fq limit 10")
    assert asked == [("qdisc", "add", "dev", "cw0", "root", "fq", "limit", "10")]

    def fail(*words: str) -> None:
        raise SetupError("what is this?")

    monkeypatch.setattr(hosts, "tc", fail)
    with pytest.raises(SetupError, match=r"^qdisc fq limit 10: what is this\?$"):
        hosts._add_qdisc("fq limit 10")


# ── the shell of a guest ──────────────────────────────────────────────────────────────────────────────


def opened(home: Path, at_ns: int, *lines: str) -> dict[str, Any]:
    """What came of a shell that is given these lines (opened_shell.py)."""
    home.mkdir()
    for k, line in enumerate(lines):
        (home / f"line-{k}").write_text(line)
    command = [sys.executable, str(Path(__file__).with_name("opened_shell.py")), str(home.parent), str(at_ns)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_shell_runs_the_lines_that_it_is_given_until_their_end(tmp_path: Path) -> None:
    home = tmp_path / "shell"
    found = opened(home, 2_500_000_000, "echo $MINE in $PWD\n", "false", "", "never")
    assert found == {
        **{"when": 102.5, "entered": [3], "lines": 3, "is_over": True},
        **{"readers": 0, "has_ended": True},
    }
    assert (home / "output").read_text() == f"yes in {home}\n"
    assert sorted(path.name for path in home.glob("asks-*")) == ["asks-0", "asks-1", "asks-2"]
    assert abs(float((home / "asks-0").read_text()) - (time.monotonic() - 100.0)) < 60


def test_a_shell_that_exits_is_over(tmp_path: Path) -> None:
    found = opened(tmp_path / "shell", 0, "exit")
    assert (found["is_over"], found["lines"], found["when"]) == (True, 1, 100.0)
