"""What this machine can run of `--backend linux`, and what to do about the rest."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cwndlab.errors import CwndlabError

from .netns import can_open_tun, sweep

#: Tried in a process of its own: nobody comes back from a namespace.
_TRY = """
from cwndlab.live import netns
netns.become_root_of_own()
space = netns.Namespace.new()
tun = netns.can_open_tun()
if tun:
    netns.make_tun("cw0")
with netns.iproute() as ip:
    if not tun:
        ip.link("add", ifname="cw0", kind="veth", peer={"ifname": "far0"})
    ip.link("set", index=ip.link_lookup(ifname="cw0")[0], state="up")
missing = space.set_sysctls({"tcp_congestion_control": "reno"})
print("TUN devices" if tun else "veth pairs and packet sockets")
"""
_FIFO = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    name: str
    works: bool
    detail: str


def examine() -> Iterator[Finding]:
    """What the kernel backend needs, in the order in which it would fail."""
    if sys.platform != "linux":
        yield Finding("linux backend", False, f"needs Linux; this is {platform.system()}")
        return
    yield Finding("kernel", True, f"Linux {platform.release()}")
    try:
        import pyroute2

        yield Finding("pyroute2", True, f"version {pyroute2.__version__}")
    except ImportError:
        yield Finding("pyroute2", False, "not installed; `pip install 'cwndlab[linux]'`")
        return
    try:
        from .backend import find_router

        yield Finding("router", True, str(find_router()))
    except CwndlabError as error:
        yield Finding("router", False, str(error))
    yield _namespaces()
    yield _real_time()
    yield _congestion_controls()
    yield _virtual()
    removed = sweep()
    if removed:
        yield Finding("left over", True, f"removed {len(removed)} folders of runs that were killed")


def reason_not() -> str | None:
    """Why this machine cannot run on its kernel; None if it can."""
    for finding in examine():
        if not finding.works and finding.name not in ("real time", "virtual time"):
            return f"{finding.name}: {finding.detail}"
    return None


def _python(code: str) -> tuple[bool, str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else ""


def _namespaces() -> Finding:
    works, said = _python(_TRY)
    who = "as root" if os.geteuid() == 0 else "in a user namespace, without root"
    if works:
        return Finding("namespaces", True, f"{who}, with {said}")
    advice = ""
    for name, good in (
        ("kernel/unprivileged_userns_clone", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "0"),
    ):
        path = Path("/proc/sys", name)
        if path.exists() and path.read_text().strip() != good:
            advice = f"; sysctl {name.replace('/', '.')} forbids it to ordinary users"
    if not can_open_tun():
        advice += "; /dev/net/tun is closed, so veth pairs were tried"
    return Finding("namespaces", False, f"{said}{advice}; run as root, or in a container with CAP_NET_ADMIN")


def _real_time() -> Finding:
    works, _ = _python(_FIFO)
    if works:
        return Finding("real time", True, "SCHED_FIFO is granted")
    return Finding(
        "real time",
        False,
        "no SCHED_FIFO (needs CAP_SYS_NICE or RLIMIT_RTPRIO): on a busy machine runs will be invalid",
    )


def _congestion_controls() -> Finding:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    there = path.read_text().split() if path.exists() else []
    missing = [name for name in ("reno", "cubic") if name not in there]
    if missing:
        return Finding(
            "congestion control", False, f"{', '.join(missing)} missing; modprobe tcp_{missing[0]}"
        )
    return Finding("congestion control", True, ", ".join(there))


def _virtual() -> Finding:
    reason = reason_not_virtual()
    if reason is None:
        from .uml import build

        return Finding("virtual time", True, f"User-Mode Linux {build.find().release}")
    return Finding("virtual time", False, reason)


def reason_not_virtual() -> str | None:
    """Why this machine cannot run `--backend linux-virtual`; None if a guest that does nothing came up."""
    from .uml import boot, build

    try:
        image = build.find()
    except CwndlabError as error:
        reason = build.reason_not()
        return f"{error}" + (f" (but first: {reason})" if reason else "")
    said = boot.try_out(image.path)
    return None if said is None else f"{image.path} does not start here: {said}"
