"""The end hosts of a scenario on the kernel: namespaces with devices, addresses, routes and sockets."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cwndlab._core import Application
from cwndlab.base.engine_kinds import is_program, is_unresponsive
from cwndlab.base.errors import nearest

from . import stack as stacks
from .applications import Bed, Driver, SocketEnd
from .netns import FAMILIES, Namespace, SetupError, can_open_tun, iproute, make_tun, protocol_sysctls
from .router_queues import RouterQueues, tc

DEVICE = "cw0"
CONTROL = "tcp_congestion_control"
#: From <asm-generic/socket.h>; the option is in bytes per second.
SO_MAX_PACING_RATE = 47
#: Server port of the first traffic entry, iperf's as in the simulator's traces; other entries follow.
FIRST_PORT = 5001
#: Client port of the first datagram entry: the first port that IANA leaves unassigned.
FIRST_CLIENT_PORT = 49152
#: Bytes of the timestamps option in each segment, if negotiated.
TIMESTAMPS_BYTES = 12


def address(node: int, index: int, version: int = 4) -> str:
    """An address of a node; `index` counts the pairs of TCP settings that the node uses."""
    if version == 6:
        return f"fd93::{node + 1:x}:{index + 1:x}"
    return f"10.{93 + node // 250}.{node % 250}.{index + 1}"


def _add_qdisc(words: str) -> None:
    """Sets the queueing discipline of the device in this namespace."""
    try:
        tc("qdisc", "add", "dev", DEVICE, "root", *words.split())
    except SetupError as error:
        raise SetupError(f"qdisc {words}: {error}") from None


class Hosts:
    """The end hosts of a scenario: namespaces, devices, addresses and routes."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.scenario: Mapping[str, Any] = job["scenario"]
        self.stack: Mapping[str, Any] = job["stack"]
        self.version = stacks.ip_version(self.scenario)
        self.headers = stacks.header_bytes(self.scenario)
        for name in self.stack.get("hosts", {}):
            if name not in self.scenario["nodes"]:
                known = nearest(name, self.scenario["nodes"])
                raise SetupError(f'the stack has settings of a host "{name}", which the study lacks; {known}')
        self.addresses: dict[tuple[int, int, int], str] = {}
        self.of_node: dict[int, list[str]] = {}
        self.configs: dict[int, dict[int, Any]] = {}
        #: The addresses of programs by (traffic entry, node); they identify the programs' packets.
        self.program_addresses: dict[tuple[int, int], str] = {}
        for index, entry in enumerate(self.scenario["traffic"]):
            pair = (entry["tcp_client"], entry["tcp_server"])
            for node, tcp in ((entry["client"], pair[0]), (entry["server"], pair[1])):
                mine = self.of_node.setdefault(node, [])
                self.configs.setdefault(node, {})[tcp] = self.scenario["tcp"][tcp]
                if is_program(entry["app"]):
                    self.program_addresses[index, node] = address(node, len(mine), self.version)
                    mine.append(self.program_addresses[index, node])
                elif (node, *pair) not in self.addresses:
                    self.addresses[(node, *pair)] = address(node, len(mine), self.version)
                    mine.append(self.addresses[(node, *pair)])
        self.more_laws: str = job["more_laws"]
        self.namespaces: dict[int, Namespace] = {}
        #: Hosts that use timestamps.
        self.stamping: set[int] = set()
        self.missing: list[str] = []
        self.packet = not can_open_tun() or job.get("device") == "packet"
        self.middle: Namespace | None = None
        self.queues = RouterQueues(self.scenario)

    def make(self) -> None:
        """Creates namespaces with active devices, addresses, sysctls and routes."""
        every = [tcp for configs in self.configs.values() for tcp in configs.values()]
        self.queues.make(max(map(stacks.mtu, every)), self.version)
        if self.packet:
            self.middle = Namespace.new()
        for node in self.of_node:
            self.namespaces[node] = space = Namespace.new()
            configs = list(self.configs[node].values())
            stack = self.stack_at(node)
            wanted = stacks.sysctls(stack, configs)
            wanted.pop(CONTROL, None)  # set for each socket instead
            self.missing = space.set_sysctls(wanted)
            if Path("/proc/sys/net/ipv4/tcp_timestamps").read_text().strip() != "0":
                self.stamping.add(node)
            self._check(space, stack, configs)
            space.set_sysctls(protocol_sysctls(self.version))
            mtu = max(stacks.mtu(tcp) for tcp in configs)
            if not self.packet:
                make_tun(DEVICE)
            with iproute() as ip:
                if self.packet:
                    assert self.middle is not None
                    peer = {"ifname": f"far{node}", "net_ns_fd": self.middle.fd}
                    ip.link("add", ifname=DEVICE, kind="veth", peer=peer)
                device = ip.link_lookup(ifname=DEVICE)[0]
                if self.packet:
                    flags = ip.get_links(device)[0]["flags"] | 0x80  # IFF_NOARP
                    ip.link("set", index=device, flags=flags, change=0x80)
                # The kernel splits trains for a TUN device, but not for a veth pair.
                single = {"gso_max_segs": 1} if self.packet or stack["segments"] == "single" else {}
                ip.link("set", index=device, mtu=mtu, state="up", **single)
                ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
                if qdisc := stack.get("qdisc"):
                    _add_qdisc(str(qdisc))
                for mine in self.of_node[node]:
                    ip.addr("add", index=device, address=mine, **self._prefix)
                for peer_address, route in self._routes(node).items():
                    ip.route("add", oif=device, **self._route_to(peer_address), **route)
            if self.packet:
                assert self.middle is not None
                self.middle.enter()
                with iproute() as ip:
                    far = ip.link_lookup(ifname=f"far{node}")[0]
                    ip.link("set", index=far, mtu=mtu, state="up")

    @property
    def _prefix(self) -> dict[str, Any]:
        """The attributes of a host's address: a full-length prefix; for IPv6 without duplicate detection."""
        if self.version == 4:
            return {"prefixlen": 32}
        return {
            "prefixlen": 128,
            "family": socket.AF_INET6,
            "flags": 0x02,
        }  # IFA_F_NODAD of <linux/if_addr.h>

    def _route_to(self, peer: str) -> dict[str, Any]:
        if self.version == 4:
            return {"dst": f"{peer}/32", "scope": "link"}
        return {"dst": f"{peer}/128", "family": socket.AF_INET6}

    def stack_at(self, node: int) -> Mapping[str, Any]:
        """The kernel's configuration at a node."""
        return stacks.settings_at(self.stack, self.scenario["nodes"][node])

    def _check(self, space: Namespace, stack: Mapping[str, Any], configs: list[Any]) -> None:
        """SetupError if the kernel lacks a sysctl or congestion control that the stack names."""
        for key in self.stack.get("own", ()):
            if key in self.missing:
                there = [name.partition(".")[2] for name in space.sysctls() if ".tcp_" in name]
                raise SetupError(f"this kernel has no sysctl net.ipv4.{key}; {nearest(key, there)}")
        for control in {stacks.congestion_control(stack, tcp) for tcp in configs} - {None}:
            with socket.socket() as sock:
                try:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, str(control).encode())
                except OSError:
                    there = (space.sysctl("tcp_available_congestion_control") or "").split()
                    kind = SetupError if control == stack["sysctls"].get(CONTROL) else ValueError
                    raise kind(
                        f'this kernel has no congestion control "{control}", only {", ".join(there)}; '
                        f"{self.more_laws.format(control)}"
                    ) from None

    def program_address(self, index: int, end: str) -> str:
        """The address of a program's client or server."""
        return self.program_addresses[index, self.scenario["traffic"][index][end]]

    def _routes(self, node: int) -> dict[str, dict[str, Any]]:
        """For every peer's address, the attributes of its route, which carry the connection's settings."""
        routes: dict[str, dict[str, Any]] = {}
        for index, entry in enumerate(self.scenario["traffic"]):
            a, b = entry["tcp_client"], entry["tcp_server"]
            ends = (entry["client"], entry["server"])
            if node not in ends:
                continue
            own, other = (a, b) if node == ends[0] else (b, a)
            peer = ends[1] if node == ends[0] else ends[0]
            tcp, theirs = self.scenario["tcp"][own], self.scenario["tcp"][other]
            mtu = min(stacks.mtu(tcp), stacks.mtu(theirs))
            metrics: dict[str, Any] = {
                "mtu": mtu,
                "advmss": mtu - self.headers,
                "initcwnd": stacks.initial_window(tcp),
                "quickack": int(stacks.quick_ack(self.stack, tcp)),
            }
            window = stacks.window_bytes(theirs, tcp, self.headers)
            if window is not None:
                metrics["window"] = window
            if stacks.asks_for_ecn(tcp):
                metrics["features"] = 1  # RTAX_FEATURE_ECN of <linux/rtnetlink.h>
            if not is_program(entry["app"]):
                routes[self.addresses[(peer, a, b)]] = {"metrics": metrics}
                continue
            # A program creates its own sockets, so the route sets their address and congestion control.
            if control := stacks.congestion_control(self.stack_at(node), tcp):
                metrics["cc_algo"] = control
            routes[self.program_addresses[index, peer]] = {
                "metrics": metrics,
                "prefsrc": self.program_addresses[index, node],
            }
        return routes

    def ports(self) -> list[dict[str, Any]]:
        """The router's ports: hosts in the order of the nodes' first appearance, then its queues."""
        own = [
            {"node": node, "addresses": mine, "ect1": self.ect1(node), **self._device(node)}
            for node, mine in self.of_node.items()
        ]
        return own + self.queues.ports()

    def ect1(self, node: int) -> list[str]:
        """The addresses of a node whose TCP sends ECT(1)."""
        found: dict[str, None] = {}
        for index, entry in enumerate(self.scenario["traffic"]):
            pair = (entry["tcp_client"], entry["tcp_server"])
            for end, own in zip(("client", "server"), pair, strict=True):
                if entry[end] == node and stacks.sends_ect1(self.scenario["tcp"][own]):
                    at = self.program_addresses.get((index, node)) or self.addresses[(node, *pair)]
                    found[at] = None
        return list(found)

    def _device(self, node: int) -> dict[str, Any]:
        space = self.namespaces[node]
        if not self.packet:
            return {"netns": space.path, "device": {"kind": "tun", "name": DEVICE}}
        assert self.middle is not None
        space.enter()
        with iproute() as ip:
            mac = ip.get_links(ip.link_lookup(ifname=DEVICE)[0])[0].get_attr("IFLA_ADDRESS")
        near = {"netns": space.path, "name": DEVICE}
        device = {"kind": "packet", "name": f"far{node}", "peer_mac": mac, "near": near}
        return {"netns": self.middle.path, "device": device}

    def socket_at(self, node: int, own: int, other: int) -> Callable[[], socket.socket]:
        """A function that makes TCP sockets of a node, for connections between these two TCP settings."""
        tcp, theirs = self.scenario["tcp"][own], self.scenario["tcp"][other]
        window = stacks.window_bytes(theirs, tcp, self.headers)
        space = self.namespaces[node]
        control = stacks.congestion_control(self.stack_at(node), tcp)

        def make() -> socket.socket:
            space.enter()
            sock = socket.socket(FAMILIES[self.version], socket.SOCK_STREAM)
            sock.setblocking(False)
            if window is not None:
                # The route's window is only the initial one. With a fixed buffer, the window grows by one
                # segment more than requested (seen on 6.18).
                buffer = max(window - stacks.mtu(theirs) + self.headers, 2048)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            if control:
                # The sysctl may not name a restricted algorithm; a socket of root may.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            if not tcp["nagle"]:  # accepted sockets inherit it from their listener
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tcp["pacing"]:
                # With a maximum rate, however large, TCP paces by itself, with or without fq.
                sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", 1 << 40))
            return sock

        return make

    def datagrams(self) -> list[dict[str, Any]]:
        """The traffic entries whose datagrams the router sends itself, since no kernel affects them."""
        found = []
        for index, entry in enumerate(self.scenario["traffic"]):
            if is_unresponsive(entry["app"]):
                pair = (entry["tcp_client"], entry["tcp_server"])
                ends = (self.addresses[(entry[end], *pair)] for end in ("client", "server"))
                client, server = (f"[{end}]" if self.version == 6 else end for end in ends)
                found.append(
                    {
                        "traffic": index,
                        "client": f"{client}:{FIRST_CLIENT_PORT + index}",
                        "server": f"{server}:{FIRST_PORT + index}",
                    }
                )
        return found

    def driver(self, index: int, bed: Bed, application: Application) -> Driver:
        """The driver by which a traffic entry's two hosts write and read as its application does."""
        entry = self.scenario["traffic"][index]
        pair = (entry["tcp_client"], entry["tcp_server"])
        client, server = entry["client"], entry["server"]
        app = entry["app"]
        # If the sender opened, its handshake's ACK would take a buffer of the path that its data then lacks.
        receiver_opens = app["kind"] == "bulk" and self.stack["opener"] == "receiver"
        return Driver(
            bed,
            application,
            client=SocketEnd(self.socket_at(client, *pair), self.addresses[(client, *pair)]),
            server=SocketEnd(self.socket_at(server, *reversed(pair)), self.addresses[(server, *pair)]),
            port=FIRST_PORT + index,
            client_opens=not (receiver_opens and app.get("from", "client") == "client"),
            answer_carries_ack=self.stack.get("answer_carries_ack", False),
        )

    def segment_bytes(self, index: int) -> int:
        """Payload bytes of a full segment between the hosts of a traffic entry."""
        entry = self.scenario["traffic"][index]
        ends = [self.scenario["tcp"][entry[key]] for key in ("tcp_client", "tcp_server")]
        stamped = self.stamping.issuperset((entry["client"], entry["server"]))
        return min(stacks.mtu(tcp) for tcp in ends) - self.headers - (TIMESTAMPS_BYTES if stamped else 0)
