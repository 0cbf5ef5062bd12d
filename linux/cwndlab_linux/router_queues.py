"""Links whose queue is a discipline of the kernel: a namespace with a TUN device for each link.

The router writes a packet to the device. The kernel forwards it out of the same device, through the study's
queueing discipline, and the router reads it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from .netns import FAMILIES, Namespace, SetupError, can_open_tun, iproute, make_tun, protocol_sysctls

#: Name prefix of the queues' devices; the link's index follows.
QUEUE = "queue"
#: `txqueuelen` of the device, as for Ethernet: the size of the TUN ring, and the default limit of FIFOs.
TX_QUEUE = 1000
#: Largest delay of a guest's timer. A shaper keeps its rate if tokens can accumulate for this time.
TIMER_S = 2e-6
#: Bytes of the Ethernet header, which `tc` requires in a burst although no shaper counts them.
ETHERNET = 14


class QueueError(SetupError):
    """The kernel rejects the words of a link's queue."""

    def __init__(self, link: int, reason: str, right: str) -> None:
        super().__init__(reason)
        self.link, self.right = link, right


def tc(*words: str) -> str:
    """Runs `tc` in the current namespace; returns its output. SetupError with its message if it fails."""
    path = shutil.which("tc", path="/usr/sbin:/sbin:/usr/bin:/bin")  # a guest's init has no PATH
    if path is None:
        raise SetupError("tc is not installed; `apt-get install iproute2`")
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(" ".join(done.stderr.split()))
    return done.stdout


class RouterQueues:
    """The kernel's queues of a scenario."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.links = {
            i: link for i, link in enumerate(scenario["links"]) if link["queue"]["kind"] == "kernel"
        }
        self.namespaces: dict[int, Namespace] = {}

    def make(self, mtu: int, version: int) -> None:
        """Creates forwarding namespaces, each with a device for packets of up to `mtu` bytes."""
        if self.links and not can_open_tun():
            raise SetupError("a kernel's queue at a router needs /dev/net/tun, or --backend linux-virtual")
        for index, link in self.links.items():
            self.namespaces[index] = space = Namespace.new()
            space.set_sysctls(
                {
                    "ip_forward": "1",
                    "ipv4.conf.all.rp_filter": "0",
                    "ipv4.conf.all.send_redirects": "0",
                    "ipv4.conf.default.send_redirects": "0",
                    **protocol_sysctls(version),
                    **({"ipv6.conf.all.forwarding": "1"} if version == 6 else {}),
                }
            )
            device = f"{QUEUE}{index}"
            make_tun(device)
            with iproute() as ip:
                number = ip.link_lookup(ifname=device)[0]
                ip.link("set", index=number, mtu=mtu, txqlen=TX_QUEUE, state="up")
                if version == 6:
                    ip.route("add", dst="::/0", family=FAMILIES[6], oif=number)
                else:
                    ip.route("add", dst="0.0.0.0/0", oif=number, scope="link")
            self._add(index, device, link, mtu)

    @staticmethod
    def _add(index: int, device: str, link: Mapping[str, Any], mtu: int) -> None:
        """Adds the discipline below a shaper of the link's rate, since the kernel's device has no rate."""
        rate = link["rate_bps"]
        burst = mtu + ETHERNET + link["header_bytes"] + round(rate / 8 * TIMER_S)
        shaper = f"root handle 1: tbf rate {rate}bit burst {burst} limit {1 << 30}"
        overhead = f" overhead {link['header_bytes']}" if link["header_bytes"] else ""
        tc("qdisc", "add", "dev", device, *(shaper + overhead).split())
        words = link["queue"]["qdisc"].split()
        try:
            tc("qdisc", "add", "dev", device, "parent", "1:1", "handle", "2:", *words)
        except SetupError as error:
            right = "write the words of `tc qdisc add`, from the name of the discipline on"
            if "kind is unknown" in str(error):
                right = (
                    f"`cwndlab linux build --config NET_SCH_{words[0].upper()}=y` builds a kernel that has it"
                )
            raise QueueError(index, f"tc: {error}", right) from None

    def ports(self) -> list[dict[str, Any]]:
        """The router's ports for the queues."""
        return [
            {
                "node": self.links[index]["from"],
                "link": index,
                "addresses": [],
                "netns": space.path,
                "device": {"kind": "tun", "name": f"{QUEUE}{index}"},
            }
            for index, space in self.namespaces.items()
        ]

    def statistics(self) -> dict[str, str]:
        """The counters of each queue as printed by `tc -s`, by the link's name."""
        found = {}
        for index, space in self.namespaces.items():
            space.enter()
            found[self.links[index]["name"]] = tc("-s", "qdisc", "show", "dev", f"{QUEUE}{index}")
        return found
