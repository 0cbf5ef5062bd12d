"""Configurations of the kernel's TCP: sysctls by namespace; initial window, ACKs and window by route.

Profiles: `linux-1998`, as simple as a modern kernel can be configured; `linux-stock`, the defaults with
CUBIC; `linux-laws`, the defaults with the congestion control of the study's TCP. A user's TOML file states a
profile, ``based_on = "linux-stock"``, and the differences from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cwndlab._core import tcp_profile
from cwndlab.base.laws import kernel_law
from cwndlab.study.knobs import alternative_name

Opener = Literal["receiver", "client"]
#: How a host's TCP passes data to its device: in trains of segments, which the kernel splits (GSO), or
#: singly.
Segments = Literal["trains", "single"]


@dataclass(frozen=True)
class Stack:
    """A configuration of the kernel's TCP."""

    name: str
    about: str
    #: Keys under net.ipv4.
    sysctls: Mapping[str, str] = field(default_factory=dict)
    #: Whether each data segment is acknowledged at once (route attribute `quickack`); None: as in the study.
    quick_ack: bool | None = None
    #: Which end of a bulk transfer opens the connection.
    opener: Opener = "receiver"
    #: Whether an end delays its acknowledgment of a request until its answer carries it (TCP_QUICKACK 0 on
    #: accepted sockets). Otherwise it acknowledges at once, as kernels do at the start of a connection.
    answer_carries_ack: bool = False
    #: Whether SACK and the acceptance of ECN follow the study's TCP; otherwise the sysctls decide.
    sack_of_study: bool = False
    #: The kernel's congestion control for each window law of the study's TCP; for others the sysctl decides.
    laws: Mapping[str, str] = field(default_factory=dict)
    #: The queueing discipline of the hosts' devices, in tc's syntax; "": the kernel's default.
    qdisc: str = ""
    #: `single`: the device has no segmentation offload (`gso_max_segs 1`).
    segments: Segments = "trains"
    #: By node name: the `sysctls` and `qdisc` of hosts that differ.
    hosts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The content of its TOML file, which is copied to the result folder; None for a profile.
    text: str | None = None
    #: The sysctls that the file names: a kernel that lacks one of them is rejected.
    own: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The configuration for the worker and for provenance."""
        content: dict[str, Any] = {
            "name": self.name,
            "sysctls": dict(self.sysctls),
            "quick_ack": self.quick_ack,
            "opener": self.opener,
            "sack_of_study": self.sack_of_study,
            "laws": dict(self.laws),
            "segments": self.segments,
        }
        content |= {"answer_carries_ack": True} if self.answer_carries_ack else {}
        content |= {"qdisc": self.qdisc} if self.qdisc else {}
        content |= {"hosts": dict(self.hosts)} if self.hosts else {}
        return content | ({"own": list(self.own)} if self.own else {})


#: Saved metrics would make a connection depend on earlier ones.
_COMMON = {"tcp_no_metrics_save": "1"}
_OFF = "sack dsack timestamps window_scaling recovery early_retrans frto ecn autocorking moderate_rcvbuf"

#: The kernel's name for each window law of the endpoint.
LAWS = {
    "reno": "reno",
    "reno-packets": "reno",
    "reno-linux2": "reno",
    "cubic": "cubic",
    "cubic-linux": "cubic",
    "dctcp": "dctcp",
    "bbr1": "bbr",
    "bbr3": "bbr3",  # in no mainline kernel; google/bbr's kernel calls it bbr: [laws] bbr3 = "bbr"
    "prague": "prague",  # in no mainline kernel; L4STeam's module
}

STACKS = {
    stack.name: stack
    for stack in (
        Stack(
            "linux-1998",
            "Reno without SACK (unless the study's TCP has it), timestamps, window scaling, RACK, TLP, F-RTO",
            {**_COMMON, "tcp_congestion_control": "reno", **{f"tcp_{key}": "0" for key in _OFF.split()}},
            sack_of_study=True,
            segments="single",
        ),
        Stack(
            "linux-stock",
            "the kernel's defaults: CUBIC, and its own delayed ACKs",
            {**_COMMON, "tcp_congestion_control": "cubic"},
            quick_ack=False,
        ),
        Stack(
            "linux-laws",
            "the kernel's defaults, and for each connection the congestion control of the study's TCP",
            {**_COMMON, "tcp_congestion_control": "cubic"},
            laws=LAWS,
        ),
    )
}


def default_for(profile: str) -> str:
    """The configuration closest to a study's TCP, by the profile of its [tcp]."""
    return "linux-laws" if profile == "linux-6" else "linux-1998"


# ── a study's TCP on a kernel ─────────────────────────────────────────────────────────────────────────

Tcp = Mapping[str, Any]


def mtu(tcp: Tcp) -> int:
    """The device's MTU in bytes: the size of a full data packet in the study."""
    return int(tcp["mss"]) + int(tcp["header_bytes"])


def initial_window(tcp: Tcp) -> int:
    """The initial window in segments (formulas: RFC 3390, section 1; RFC 6928, section 2)."""
    window, mss = tcp["initial_window"], int(tcp["mss"])
    if window == "rfc3390":
        return max(1, min(4 * mss, max(2 * mss, 4380)) // mss)
    if window == "rfc6928":
        return max(1, min(10 * mss, max(2 * mss, 14600)) // mss)
    return int(window["segments"]) if "segments" in window else max(1, int(window["bytes"]) // mss)


def ip_version(scenario: Mapping[str, Any]) -> int:
    """The IP version of a scenario."""
    return 6 if scenario.get("network") == "ipv6" else 4


def header_bytes(scenario: Mapping[str, Any]) -> int:
    """Bytes of the IP and TCP headers of a kernel's segments, without options."""
    return 60 if ip_version(scenario) == 6 else 40


def window_bytes(sender: Tcp, receiver: Tcp, headers: int = 40) -> int | None:
    """The receiver's limit in bytes: the sender's `max_window` or the receive buffer; None: no limit."""
    largest = sender["max_window"]
    payload = mtu(sender) - headers
    limits = [int(receiver["receive_buffer_bytes"])]
    if isinstance(largest, Mapping):
        limits.append(int(largest["segments"]) * payload if "segments" in largest else int(largest["bytes"]))
    limit = min(limits)
    # Limits beyond the kernel's own buffers have no effect.
    return limit if limit < 1 << 20 else None


def quick_ack(stack: Stack | Mapping[str, Any], tcp: Tcp) -> bool:
    """Whether the receiver acknowledges every segment at once."""
    own = stack["quick_ack"] if isinstance(stack, Mapping) else stack.quick_ack
    return tcp["ack_policy"] == "every" if own is None else bool(own)


def settings_at(stack: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    """The configuration at one host."""
    own = stack.get("hosts", {}).get(host)
    if own is None:
        return stack
    sysctls = {**stack["sysctls"], **own.get("sysctls", {})}
    laws = {} if "tcp_congestion_control" in own.get("sysctls", {}) else stack["laws"]
    return {**stack, "sysctls": sysctls, "laws": laws, "qdisc": own.get("qdisc", stack.get("qdisc"))}


def congestion_control(stack: Mapping[str, Any], tcp: Tcp) -> str | None:
    """The kernel's congestion control for connections of this TCP; None: the kernel's default."""
    named = kernel_law(tcp["window_law"])
    if named is not None:
        return named
    control = stack["laws"].get(
        alternative_name(tcp["window_law"]), stack["sysctls"].get("tcp_congestion_control")
    )
    return None if control is None else str(control)


def describe_settings(stack: Mapping[str, Any]) -> list[str]:
    """The settings as text: sysctls, queueing discipline, and those of single hosts."""

    def words(table: Mapping[str, Any]) -> str:
        parts = [f"{key} = {value}" for key, value in table.get("sysctls", {}).items()]
        parts += [f"qdisc {table['qdisc']}"] if table.get("qdisc") else []
        return ", ".join(parts)

    return [words(stack), *(f"at {name}: {words(own)}" for name, own in stack.get("hosts", {}).items())]


def sends_ect1(tcp: Tcp) -> bool:
    """Whether packets are for L4S. Kernels' DCTCP sends ECT(0), which the router changes to ECT(1)."""
    return str(tcp["ecn"]) in ("l4s", "rfc3168-ect1")


def asks_for_ecn(tcp: Tcp) -> bool:
    """Whether connections of this TCP negotiate ECN (route attribute `features ecn`)."""
    return str(tcp["ecn"]) not in ("off", "accept")


def sysctls(stack: Mapping[str, Any], configs: list[Tcp]) -> dict[str, str]:
    """A node's sysctls; ValueError if its endpoints require different ones."""
    values = dict(stack["sysctls"])
    if stack["sack_of_study"]:
        wanted = {bool(tcp["sack"]) for tcp in configs}
        if len(wanted) > 1:
            raise ValueError("endpoints with and without SACK on one node: a kernel has one setting for all")
        if wanted == {True}:
            values |= {"tcp_sack": "1"}
        if any(tcp["ecn"] == "accept" for tcp in configs):
            values |= {"tcp_ecn": "2"}  # accepts ECN that peers request
    return values


def stack_of_key(backend: str) -> Stack:
    """The configuration in a result's key, which names kernel and configuration."""
    return Stack(about="", **json.loads(backend)[2])


def other_recovery(stack: Stack, configs: Iterable[Tcp]) -> str:
    """A text on recoveries of the study that this configuration replaces by its own; empty if none."""
    found = {alternative_name(tcp["recovery"]): _recovery(stack, tcp) for tcp in configs}
    replaced = [
        f"{studys} in the study, {own} on the kernel" for studys, own in found.items() if own != studys
    ]
    return "; ".join(replaced)


def _recovery(stack: Stack, tcp: Tcp) -> str:
    """The kernel's loss recovery, by the study's own word if both are equal."""
    sack = bool(tcp["sack"]) if stack.sack_of_study else stack.sysctls.get("tcp_sack", "1") != "0"
    own = (
        "RACK-TLP"
        if sack and stack.sysctls.get("tcp_recovery", "1") != "0"
        else "SACK"
        if sack
        else "NewReno"
    )
    studys = alternative_name(tcp["recovery"])
    same = studys in {"RACK-TLP": ("rack",), "SACK": ("sack", "prr")}.get(own, ("new-reno",))
    return studys if same else f"{own} with PRR"


#: Knobs that kernels follow, that are the kernel's own, or that another difference covers.
_FOLLOWED = frozenset(
    "ack_policy ecn handshake header_bytes initial_ssthresh_segments initial_window limited_transmit "
    "linux_details max_window mss nagle pacing receive_buffer_bytes recovery rto sack timestamps trains "
    "window_law window_scale".split()
)


def _unfollowed(tcp: Tcp) -> list[str]:
    """The knobs of a study's TCP that differ from today's Linux but that a kernel does not follow."""
    usual = json.loads(tcp_profile("linux-6"))
    law = alternative_name(tcp["window_law"])
    if law == "reno":
        usual["slow_start"] = "standard"
    elif law != "cubic-linux":  # DCTCP has Reno's slow start; other laws replace it
        del usual["slow_start"]
    return sorted(key for key in usual.keys() - _FOLLOWED if tcp[key] != usual[key])


def differences(stack: Stack, configs: list[Tcp]) -> list[str]:
    """Texts on how this configuration differs from the study's TCP, for the record."""
    return sorted({note for tcp in configs for note in _differences(stack, tcp)})


def _differences(stack: Stack, tcp: Tcp) -> Iterator[str]:
    def on(key: str) -> bool:
        return stack.sysctls.get(f"tcp_{key}", "1") != "0"

    sack = bool(tcp["sack"]) if stack.sack_of_study else on("sack")
    control, law = congestion_control(stack.as_dict(), tcp), alternative_name(tcp["window_law"])
    if kernel_law(tcp["window_law"]) is None and LAWS.get(law) != control:
        yield f"the study's window law is {law}; the kernel's congestion control is {control}"
    for name, studys, kernels in (
        ("SACK", tcp["sack"], sack),
        ("timestamps", tcp["timestamps"], on("timestamps")),
        ("window scaling", tcp["window_scale"], on("window_scaling")),
    ):
        if bool(studys) != kernels:
            yield f"the kernel has {name}, the study's TCP not" if kernels else f"the kernel has no {name}"
    studys, own = alternative_name(tcp["recovery"]), _recovery(stack, tcp)
    if own != studys:
        yield f"the study's recovery is {studys}; the kernel's is {own}"
    if not tcp["limited_transmit"]:
        yield "the kernel always has Limited Transmit (RFC 3042)"
    quick = quick_ack(stack, tcp)
    if quick and tcp["ack_policy"] != "every":
        yield "the study delays ACKs; the kernel acknowledges every segment (quick_ack)"
    elif not quick:
        yield "delayed ACKs are the kernel's own"
    if not tcp["handshake"]:
        yield "the kernel opens with a handshake; the clock starts with the first data packet"
    elif stack.opener == "receiver":
        yield 'the receiver of a bulk transfer opens its connection (opener = "client": the study\'s client)'
    if tcp["initial_ssthresh_segments"]:
        yield "the first slow-start threshold is the kernel's (infinite)"
    if sends_ect1(tcp):
        yield "the kernel sends ECT(0); the router turns it into ECT(1) as it enters"
    unfollowed = [] if stack.sack_of_study else _unfollowed(tcp)  # linux-1998 differs from any modern TCP
    if unfollowed:
        them = "it" if len(unfollowed) == 1 else "them"
        yield f"the kernel has its own {', '.join(unfollowed)}; the study sets {them} otherwise"
    rto = tcp["rto"]
    if rto["initial_ns"] != 1_000_000_000 or rto["tick_ns"] or rto["min_ns"] != 200_000_000:
        yield "the retransmission timer is the kernel's: 1 s at first, at least 0.2 s, no coarse clock"
