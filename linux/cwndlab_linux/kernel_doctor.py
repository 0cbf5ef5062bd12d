"""Checks whether this machine can use `--backend linux`, with advice."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cwndlab.base.core import Check
from cwndlab.base.errors import install

from .netns import can_open_tun, is_privileged, sweep
from .router_program import NOT_BUILT, can_build, installed_router
from .testbed import ROUTER_PRIORITY

#: Runs in a separate process, because a process cannot leave a namespace.
_TRY = """
from cwndlab_linux import netns
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
_FIFO = f"import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param({ROUTER_PRIORITY}))"


def examine() -> Iterator[Check]:
    """Checks of the kernel backend's requirements, in the order in which they would fail."""
    if sys.platform != "linux":
        yield Check("linux backend", False, f"needs Linux; this is {platform.system()}")
        return
    yield Check("kernel", True, f"Linux {platform.release()}")
    try:
        import pyroute2

        yield Check("pyroute2", True, f"version {pyroute2.__version__}")
    except ImportError:
        yield Check("pyroute2", False, f"not installed; `{install('linux')}`")
        return
    router = installed_router()
    detail = str(router) if router else "the first run on a kernel builds it" if can_build() else NOT_BUILT
    yield Check("router", router is not None or can_build(), detail)
    yield _namespaces()
    yield _real_time()
    yield _congestion_controls()
    removed = sweep()
    if removed:
        yield Check("left over", True, f"removed {len(removed)} folders of runs that were killed")


def reason_not() -> str | None:
    """Why this machine cannot run studies on its kernel; None if it can."""
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


def _namespaces() -> Check:
    works, said = _python(_TRY)
    said = said.removeprefix("cwndlab_linux.netns.SetupError: ")
    who = "as root" if is_privileged() else "in a user namespace, without root"
    if works:
        return Check("namespaces", True, f"{who}, with {said}")
    if not can_open_tun():
        said += "; /dev/net/tun is closed or without its driver, so veth pairs were tried"
    return Check("namespaces", False, f"{said}; or take --backend linux-virtual, which needs none")


def _real_time() -> Check:
    works, _ = _python(_FIFO)
    if works:
        return Check("real time", True, "SCHED_FIFO is granted")
    return Check(
        "real time",
        False,
        "no SCHED_FIFO, so a busy machine makes runs invalid; run as root, or permit it (`* - rtprio "
        f"{ROUTER_PRIORITY}` in /etc/security/limits.conf; docker run --cap-add SYS_NICE), or take "
        "--backend linux-virtual",
    )


def _congestion_controls() -> Check:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    there = path.read_text().split() if path.exists() else []
    missing = [name for name in ("reno", "cubic") if name not in there]
    if missing:
        return Check("congestion control", False, f"{', '.join(missing)} missing; modprobe tcp_{missing[0]}")
    return Check("congestion control", True, ", ".join(there))
