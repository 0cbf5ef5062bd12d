"""Network namespaces that belong to a process: nothing is named, so nothing is left, however it ends.

A namespace lives as long as a file descriptor or a process holds it (namespaces(7)). A testbed's namespaces
are held by the worker process alone, its TUN devices by them, and the router ends with its parent.
What a killed run can leave is its folder of temporary files; the next start removes it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.base.errors import install

CLONE_NEWUSER = 0x1000_0000
CLONE_NEWNET = 0x4000_0000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP = 1, 24
# <linux/if_tun.h>
_TUNSETIFF, _TUNSETPERSIST, _TUNGETFEATURES = 0x4004_54CA, 0x4004_54CB, 0x8004_54CF
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
# <linux/sockios.h>, <linux/ethtool.h>
_SIOCETHTOOL = 0x8946
_OFFLOADS = {
    "tcp_segmentation": 0x1E,
    "generic_segmentation": 0x23,
    "generic_receive": 0x2B,
    "receive_checksum": 0x14,
    "transmit_checksum": 0x16,
}
#: <linux/capability.h>: CAP_NET_ADMIN, CAP_SYS_ADMIN.
_NEEDED = 1 << 12 | 1 << 21
#: Folders of runs: PREFIX + process id + "-" + its start time + "-" + something.
PREFIX = "cwndlab-live-"
#: In such a folder, those in which programs may write.
PROGRAM_FOLDERS = "programs"


class SetupError(RuntimeError):
    """What this machine does not have or permit; every other run would fail for the same reason."""


_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int) -> None:
    """A call of libc; OSError if it fails (Python has `os.setns` and `os.unshare` only since 3.12)."""
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def end_with_parent(parent: int) -> None:
    """Asks to be killed when the process that started this one is gone."""
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was gone already
        os._exit(1)


def end_session(process: subprocess.Popen[str]) -> None:
    """Kills a session's leader and what is left, such as a stopped process that a guest was to trace."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def drop_capabilities() -> None:
    """Takes from the programs that this process starts what could reach beyond their files and hosts.

    CAP_SYS_MODULE, RAWIO, PTRACE, ADMIN (they mount nothing), BOOT, TIME and MKNOD (<linux/capability.h>).
    """
    for capability in (16, 17, 19, 21, 22, 25, 27):
        _call("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)


def become_root_of_own() -> bool:
    """Without root's capabilities: enters a user namespace in which this process has them; true if needed.

    SetupError, with what to do, where the kernel does not let this user have one.
    """
    if is_privileged():
        return False
    uid, gid = os.getuid(), os.getgid()
    try:
        _call("unshare", CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        raise SetupError(f"no user namespace ({error}): {_why_not(error)}") from None
    return True


def is_privileged() -> bool:
    """Whether this process may make network namespaces and devices: root in a container often may not."""
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split(maxsplit=1)[0], 16)
    return effective & _NEEDED == _NEEDED


def _why_not(error: OSError) -> str:
    """What forbids namespaces, as far as the kernel reports it, and what to do."""
    if error.errno == errno.ENOSPC:
        return "sysctl user.max_user_namespaces is too low; raise it, or run as root"
    for name, good in (
        ("kernel/unprivileged_userns_clone", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "0"),
    ):
        path = Path("/proc/sys", name)
        if path.exists() and path.read_text().strip() != good:
            return f"`sysctl {name.replace('/', '.')}={good}` permits it to ordinary users; or run as root"
    if os.geteuid() == 0:
        return (
            "this root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN, as in most containers; start the container "
            "with them (docker run --privileged)"
        )
    return "it is forbidden here, as in most containers; run as root, or with docker run --privileged"


@dataclass
class Namespace:
    """A network namespace, held by a file descriptor of this process."""

    fd: int

    @classmethod
    def new(cls) -> Namespace:
        """Makes one and enters it: this thread never sees the host's network again unless it goes back."""
        try:
            _call("unshare", CLONE_NEWNET)
        except OSError as error:
            raise SetupError(f"no network namespace ({error}): {_why_not(error)}") from None
        return cls(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))

    @property
    def path(self) -> str:
        """Where another process finds it, as long as this one lives."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def enter(self) -> None:
        """Moves this thread there; sockets made from now on belong to it."""
        _call("setns", self.fd, CLONE_NEWNET)

    def sysctl(self, key: str) -> str | None:
        """The value of net.<key> there; None if this kernel has no such key."""
        self.enter()
        try:
            return _file(key).read_text().strip()
        except OSError:
            return None

    def set_sysctls(self, values: Mapping[str, str]) -> list[str]:
        """Sets net.<key>; the keys that this kernel does not have are left out and returned."""
        self.enter()
        missing = []
        for key, value in values.items():
            if not _file(key).exists():
                missing.append(key)
                continue
            try:
                _file(key).write_text(value)
            except OSError as error:
                why = "; a container with --privileged has it writable" if error.errno == errno.EROFS else ""
                name = f"net.{key}" if "." in key else f"net.ipv4.{key}"
                raise SetupError(f"sysctl {name} = {value}: {error.strerror}{why}") from None
        return missing

    def sysctls(self) -> dict[str, str]:
        """Every readable value of net.ipv4 and net.core there (not those of single devices)."""
        self.enter()
        found = {}
        for path in sorted(
            path for part in ("core", "ipv4") for path in Path("/proc/sys/net", part).glob("*")
        ):
            try:
                found[f"{path.parent.name}.{path.name}"] = " ".join(path.read_text().split())
            except OSError:  # a folder, or one to be written only
                continue
        return found

    def offloads(self, device: str) -> dict[str, bool | None]:
        """Which offloads of a device are on there; None where the kernel does not tell."""
        self.enter()
        found: dict[str, bool | None] = {}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for name, command in _OFFLOADS.items():
                value = ctypes.create_string_buffer(struct.pack("II", command, 0))
                request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
                try:
                    fcntl.ioctl(sock, _SIOCETHTOOL, request)
                    found[name] = struct.unpack("II", value.raw[:8])[1] != 0
                except OSError:
                    found[name] = None
        return found


def _file(key: str) -> Path:
    return Path("/proc/sys/net", *key.split(".")) if "." in key else Path("/proc/sys/net/ipv4", key)


#: Of sockets, by the version of the Internet protocol.
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


def protocol_sysctls(version: int) -> dict[str, str]:
    """What keeps a device silent that only carries a study's packets; SetupError if the kernel lacks IPv6.

    With IPv6 a device has no link-local address, so that it has nothing to announce or to ask.
    """
    if version == 4:
        return {f"ipv6.conf.{of}.disable_ipv6": "1" for of in ("all", "default")}
    if not Path("/proc/sys/net/ipv6").is_dir():
        raise SetupError(
            "this kernel has no IPv6; `cwndlab linux build --config IPV6=y` builds one, which --kernel names"
        )
    silent = {"disable_ipv6": "0", "addr_gen_mode": "1", "accept_ra": "0", "dad_transmits": "0"}
    silent["router_solicitations"] = "0"
    return {f"ipv6.conf.default.{key}": value for key, value in silent.items()}


def make_tun(name: str) -> None:
    """A TUN device in the current namespace that stays until the namespace ends."""
    with open("/dev/net/tun", "r+b", buffering=0) as device:  # noqa: PTH123 - a device, not a file
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
        fcntl.ioctl(device, _TUNSETPERSIST, 1)


def can_open_tun() -> bool:
    """Whether this process may use TUN devices; otherwise the router takes packet sockets."""
    try:
        with open("/dev/net/tun", "r+b", buffering=0) as device:  # noqa: PTH123 - a device, not a file
            fcntl.ioctl(device, _TUNGETFEATURES, bytes(4))
    except OSError:  # closed, not there, or a node without its driver
        return False
    return True


@contextmanager
def iproute() -> Iterator[Any]:
    """pyroute2's interface to the current namespace."""
    try:
        from pyroute2 import IPRoute
    except ImportError:
        raise SetupError(f"pyroute2 is not installed; `{install('linux')}`") from None
    with IPRoute() as ip:
        yield ip


# ── temporary folders ─────────────────────────────────────────────────────────────────────────────────


def start_ticks(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


def make_folder(base: Path | None = None) -> Path:
    """A folder for a run's files, named after its owner."""
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-{start_ticks(pid)}-", dir=base))


def sweep(base: Path | None = None) -> list[Path]:
    """Removes the folders of runs that were killed; those of living processes stay."""
    removed = []
    for path in sorted((base or Path(tempfile.gettempdir())).glob(f"{PREFIX}*")):
        pid, _, rest = path.name.removeprefix(PREFIX).partition("-")
        start = rest.partition("-")[0]
        if not (pid.isdigit() and start.isdigit() and path.is_dir()) or path.is_symlink():
            continue
        if start_ticks(int(pid)) != int(start):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed
