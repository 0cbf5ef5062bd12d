"""Queues of a kernel, namespaces and builds of QUIC stacks, without a kernel."""

from __future__ import annotations

import errno
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab_linux import netns, quic_stacks, router_queues
from cwndlab_linux.netns import Namespace, SetupError
from cwndlab_linux.router_queues import QueueError, RouterQueues

WORDS = "fq_codel limit 10"
LINKS: list[dict[str, Any]] = [
    {"name": "a>b", "queue": {"kind": "drop-tail"}},
    {"name": "b>a", "from": 3, "rate_bps": 8_000_000_000, "header_bytes": 38}
    | {"queue": {"kind": "kernel", "qdisc": WORDS}},
]


def test_a_discipline_is_below_a_shaper_of_the_links_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(router_queues, "tc", lambda *words: asked.append(" ".join(words)) or "")
    RouterQueues._add(1, "queue1", LINKS[1], 1500)
    # A packet with Ethernet's and the study's headers, and what the rate carries in 2 us.
    assert asked == [
        f"qdisc add dev queue1 root handle 1: tbf rate 8000000000bit burst {1500 + 14 + 38 + 2000} "
        "limit 1073741824 overhead 38",
        "qdisc add dev queue1 parent 1:1 handle 2: fq_codel limit 10",
    ]
    asked.clear()
    RouterQueues._add(1, "queue1", LINKS[1] | {"header_bytes": 0, "rate_bps": 1_000_000}, 1500)
    assert asked[0].endswith("burst 1514 limit 1073741824")


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("What is this?", "write the words of `tc qdisc add`, from the name of the discipline on"),
        (
            "qdisc kind is unknown.",
            "`cwndlab linux build --config NET_SCH_FQ_CODEL=y` builds",
        ),
    ],
)
def test_words_that_are_rejected_name_the_link_and_what_is_right(
    monkeypatch: pytest.MonkeyPatch, said: str, right: str
) -> None:
    def tc(*words: str) -> str:
        if "parent" in words:
            raise SetupError(said)
        return ""

    monkeypatch.setattr(router_queues, "tc", tc)
    with pytest.raises(QueueError) as caught:
        RouterQueues._add(1, "queue1", LINKS[1], 1500)
    assert (str(caught.value), caught.value.link) == (f"tc: {said}", 1) and caught.value.right.startswith(
        right
    )


@pytest.mark.parametrize("version", [4, 6])
def test_a_queue_has_a_namespace_that_forwards(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    done: list[Any] = []

    class Space:
        path = "/proc/1/fd/9"

        def enter(self) -> None:
            done.append("enter")

        def set_sysctls(self, values: dict[str, str]) -> None:
            done.append(values)

    class Route:
        def __enter__(self) -> Route:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def link_lookup(self, ifname: str) -> list[int]:
            return [7]

        def link(self, *words: str, **keys: Any) -> None:
            done.append((words, keys))

        def route(self, *words: str, **keys: Any) -> None:
            done.append((words, keys))

    monkeypatch.setattr(router_queues, "can_open_tun", lambda: True)
    monkeypatch.setattr(router_queues.Namespace, "new", Space)
    monkeypatch.setattr(router_queues, "protocol_sysctls", lambda version: {"of": str(version)})
    monkeypatch.setattr(router_queues, "make_tun", done.append)
    monkeypatch.setattr(router_queues, "iproute", Route)
    monkeypatch.setattr(router_queues, "tc", lambda *words: f"tc {' '.join(words)}")
    queues = RouterQueues({"links": LINKS})
    queues.make(1500, version)
    forwarding = {"ipv6.conf.all.forwarding": "1"} if version == 6 else {}
    sysctls = {"ip_forward": "1", "ipv4.conf.all.rp_filter": "0", "of": str(version), **forwarding}
    sysctls |= {f"ipv4.conf.{of}.send_redirects": "0" for of in ("all", "default")}
    routes = {4: {"dst": "0.0.0.0/0", "scope": "link"}, 6: {"dst": "::/0", "family": socket.AF_INET6}}
    assert done == [
        sysctls,
        "queue1",
        (("set",), {"index": 7, "mtu": 1500, "txqlen": 1000, "state": "up"}),
        (("add",), {"oif": 7, **routes[version]}),
    ]
    device = {"kind": "tun", "name": "queue1"}
    assert queues.ports() == [
        {"node": 3, "link": 1, "addresses": [], "netns": "/proc/1/fd/9", "device": device}
    ]
    assert queues.statistics() == {"b>a": "tc -s qdisc show dev queue1"}


def test_a_queue_needs_tun_devices_and_no_queue_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router_queues, "can_open_tun", lambda: False)
    RouterQueues({"links": LINKS[:1]}).make(1500, 4)
    with pytest.raises(SetupError, match="needs /dev/net/tun, or --backend linux-virtual"):
        RouterQueues({"links": LINKS}).make(1500, 4)


def test_tc_fails_with_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    done = SimpleNamespace(returncode=2, stderr="Error:\n  no such\n", stdout="")
    asked: list[Any] = []
    monkeypatch.setattr(router_queues.shutil, "which", lambda name, path: f"{path.split(':')[1]}/{name}")
    monkeypatch.setattr(
        router_queues.subprocess, "run", lambda words, **keys: asked.append((words, keys)) or done
    )
    with pytest.raises(SetupError, match=r"^Error: no such$"):
        router_queues.tc("qdisc", "show")
    assert asked == [(["/sbin/tc", "qdisc", "show"], {"capture_output": True, "text": True, "check": False})]
    done.returncode, done.stdout = 0, "all\n"
    assert router_queues.tc("qdisc") == "all\n"
    monkeypatch.setattr(router_queues.shutil, "which", lambda name, path: None)
    with pytest.raises(SetupError, match="apt-get install iproute2"):
        router_queues.tc("qdisc")


@pytest.mark.parametrize(
    ("mask", "privileged"), [(1 << 12 | 1 << 21, True), (1 << 12, False), (1 << 21, False)]
)
def test_only_both_capabilities_create_networks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mask: int, privileged: bool
) -> None:
    status = tmp_path / "status"
    status.write_text(f"Name:\tx\nCapPrm:\t0\nCapEff:\t{mask:016x}\nCapBnd:\tffff\n")
    monkeypatch.setattr(netns, "Path", lambda path: status if path == "/proc/self/status" else Path(path))
    assert netns.is_privileged() is privileged


def test_what_forbids_namespaces_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        netns, "Path", lambda *parts: tmp_path.joinpath(*(part.lstrip("/") for part in parts))
    )
    monkeypatch.setattr(netns.os, "geteuid", lambda: 0)
    forbidden = OSError(errno.EPERM, "no")
    assert "max_user_namespaces is too low" in netns._why_not(OSError(errno.ENOSPC, "no"))
    assert "this root lacks CAP_SYS_ADMIN" in netns._why_not(forbidden)
    monkeypatch.setattr(netns.os, "geteuid", lambda: 1000)
    assert netns._why_not(forbidden).startswith("it is forbidden here, as in most containers")
    folder = tmp_path / "proc/sys/kernel"
    folder.mkdir(parents=True)
    for name, good in (("apparmor_restrict_unprivileged_userns", "0"), ("unprivileged_userns_clone", "1")):
        (folder / name).write_text(f"{1 - int(good)}\n")
        assert netns._why_not(forbidden).startswith(f"`sysctl kernel.{name}={good}` permits it")
        (folder / name).write_text(f"{good}\n")
        assert netns._why_not(forbidden).startswith("it is forbidden here")


def test_sysctls_are_set_read_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        netns, "Path", lambda *parts: tmp_path.joinpath(*(part.lstrip("/") for part in parts))
    )
    monkeypatch.setattr(Namespace, "enter", lambda self: None)
    folder = tmp_path / "proc/sys/net"
    (folder / "ipv4/conf").mkdir(parents=True)
    (folder / "core").mkdir()
    (folder / "core/wmem_max").write_text("4096\t5\n")
    (folder / "ipv4/tcp_sack").write_text("1\n")
    space = Namespace(3)
    assert space.sysctls() == {"core.wmem_max": "4096 5", "ipv4.tcp_sack": "1"}
    assert (space.sysctl("tcp_sack"), space.sysctl("core.wmem_max"), space.sysctl("tcp_no")) == (
        "1",
        "4096\t5",
        None,
    )
    assert space.set_sysctls({"tcp_no": "1", "tcp_sack": "0", "core.no": "1", "core.wmem_max": "7"}) == [
        "tcp_no",
        "core.no",
    ]
    assert ((folder / "ipv4/tcp_sack").read_text(), (folder / "core/wmem_max").read_text()) == ("0", "7")
    assert space.path.endswith("/fd/3")


@pytest.mark.parametrize(
    ("number", "key", "words"),
    [
        (
            errno.EROFS,
            "tcp_sack",
            "net.ipv4.tcp_sack = 1: why; a container with --privileged has it writable",
        ),
        (errno.EINVAL, "core.wmem_max", "net.core.wmem_max = 1: why"),
    ],
)
def test_a_sysctl_that_cannot_be_set_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int, key: str, words: str
) -> None:
    def fail(self: Path, text: str) -> None:
        raise OSError(number, "why")

    monkeypatch.setattr(netns, "_file", lambda key: tmp_path)
    monkeypatch.setattr(Namespace, "enter", lambda self: None)
    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(SetupError) as caught:
        Namespace(3).set_sysctls({key: "1"})
    assert str(caught.value) == f"sysctl {words}"


def test_devices_send_only_the_packets_of_a_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert netns.protocol_sysctls(4) == {f"ipv6.conf.{of}.disable_ipv6": "1" for of in ("all", "default")}
    monkeypatch.setattr(netns, "Path", lambda path: tmp_path)
    zero = ("disable_ipv6", "accept_ra", "dad_transmits", "router_solicitations")
    expected = {f"ipv6.conf.default.{key}": "0" for key in zero} | {"ipv6.conf.default.addr_gen_mode": "1"}
    assert netns.protocol_sysctls(6) == expected
    monkeypatch.setattr(netns, "Path", lambda path: tmp_path / "none")
    with pytest.raises(SetupError, match="this kernel has no IPv6"):
        netns.protocol_sysctls(6)


def test_a_builder_that_is_missing_or_fails_is_named(tmp_path: Path) -> None:
    stack = SimpleNamespace(name="mine", packages=("none-such", "other"))
    with pytest.raises(
        quic_stacks.RunError, match="mine needs no-such-builder, which is not here; install it"
    ):
        quic_stacks._call(stack, tmp_path, ["no-such-builder"])  # type: ignore[arg-type]
    with pytest.raises(quic_stacks.RunError, match=r"^mine: sh -c failed: b \| c \| d \| e \| f$"):
        quic_stacks._call(stack, tmp_path, ["sh", "-c", "printf 'a\\nb\\nc\\nd\\ne\\nf\\n'; exit 3"])  # type: ignore[arg-type]
    with pytest.raises(quic_stacks.RunError, match="failed: on stderr"):
        quic_stacks._call(stack, tmp_path, ["sh", "-c", "echo out; echo on stderr >&2; exit 3"])  # type: ignore[arg-type]
    quic_stacks._call(stack, tmp_path, ["sh", "-c", "pwd > here"])  # type: ignore[arg-type]
    assert (tmp_path / "here").read_text().strip() == str(tmp_path)


def test_each_builder_leaves_its_program_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(quic_stacks, "_call", lambda stack, folder, words: called.append(words))
    stack = SimpleNamespace(name="mine", packages=("one",), folder=Path("/kept"))
    quic_stacks._go(stack, tmp_path)  # type: ignore[arg-type]
    (tmp_path / "target/release").mkdir(parents=True)
    (tmp_path / "target/release/program").write_text("built")
    quic_stacks._cargo(stack, tmp_path)  # type: ignore[arg-type]
    assert (tmp_path / "program").read_text() == "built" and not (tmp_path / "target").exists()
    (tmp_path / "program").write_text("print(1)\n")
    quic_stacks._python(stack, tmp_path)  # type: ignore[arg-type]
    first, *rest = (tmp_path / "program").read_text().splitlines()
    assert first == f"#!{Path(sys.executable).resolve()} -IB"
    assert rest == ["import sys", "sys.path.insert(0, '/kept/packages')", "print(1)"]
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(quic_stacks.subprocess, "run", lambda words, **keys: done)
    quic_stacks._debian(stack, tmp_path)  # type: ignore[arg-type]
    assert (tmp_path / "endless").stat().st_size == 1 << 30
    assert [words[0] for words in called] == ["go", "cargo", sys.executable, "cc"]
    done.returncode = 1
    with pytest.raises(quic_stacks.RunError, match="mine needs Debian's packages: apt install one"):
        quic_stacks._debian(stack, tmp_path)  # type: ignore[arg-type]
