"""Network namespaces held by a process: nothing is named, so nothing remains, however the process ends.

A namespace exists as long as a file descriptor or a process holds it (namespaces(7)). Only the worker process
holds a testbed's namespaces, which hold the TUN devices, and the router ends with its parent. A killed run
can only leave its folder of temporary files, which the next start removes.
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
# From <linux/if_tun.h>.
_TUNSETIFF, _TUNSETPERSIST, _TUNGETFEATURES = 0x4004_54CA, 0x4004_54CB, 0x8004_54CF
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
# From <linux/sockios.h> and <linux/ethtool.h>.
_SIOCETHTOOL = 0x8946
_OFFLOADS = {
    "tcp_segmentation": 0x1E,
    "generic_segmentation": 0x23,
    "generic_receive": 0x2B,
    "receive_checksum": 0x14,
    "transmit_checksum": 0x16,
}
#: CAP_NET_ADMIN and CAP_SYS_ADMIN of <linux/capability.h>.
_NEEDED = 1 << 12 | 1 << 21
#: Prefix of the folders of runs; process id, "-", start time, "-" and a random part follow.
PREFIX = "cwndlab-live-"
#: The subfolder of a run's folder in which programs may write.
PROGRAM_FOLDERS = "programs"


class SetupError(RuntimeError):
    """Something that this machine lacks or forbids, so that every other run would fail, too."""


_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int) -> None:
    """Calls a libc function; OSError if it fails (`os.setns` and `os.unshare` exist since Python 3.12)."""
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def end_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when the process that started it ends."""
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent has ended already
        os._exit(1)


def end_session(process: subprocess.Popen[str]) -> None:
    """Kills a session's leader and its other processes, such as a stopped process that a guest traces."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def drop_capabilities() -> None:
    """Prevents programs started by this process from affecting more than their files and hosts.

    Drops CAP_SYS_MODULE, RAWIO, PTRACE, ADMIN (for mounts), BOOT, TIME and MKNOD (<linux/capability.h>).
    """
    for capability in (16, 17, 19, 21, 22, 25, 27):
        _call("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)


def become_root_of_own() -> bool:
    """Enters a user namespace in which this process is root, unless it is privileged; returns whether it did.

    SetupError with advice if the kernel forbids user namespaces.
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
    """Whether this process may create network namespaces and devices; root in a container often may not."""
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split(maxsplit=1)[0], 16)
    return effective & _NEEDED == _NEEDED


def _why_not(error: OSError) -> str:
    """What forbids namespaces, as far as the kernel reports it, with advice."""
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
        """Creates a namespace and enters it with this thread, which then cannot access the host's network."""
        try:
            _call("unshare", CLONE_NEWNET)
        except OSError as error:
            raise SetupError(f"no network namespace ({error}): {_why_not(error)}") from None
        return cls(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))

    @property
    def path(self) -> str:
        """The namespace's path for other processes, valid while this process lives."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def enter(self) -> None:
        """Moves this thread into the namespace; sockets created afterwards belong to it."""
        _call("setns", self.fd, CLONE_NEWNET)

    def sysctl(self, key: str) -> str | None:
        """The value of net.<key> in the namespace; None if this kernel has no such key."""
        self.enter()
        try:
            return _file(key).read_text().strip()
        except OSError:
            return None

    def set_sysctls(self, values: Mapping[str, str]) -> list[str]:
        """Sets net.<key> in the namespace; returns the keys that this kernel lacks."""
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
        """Every readable value of net.ipv4 and net.core in the namespace, except those of single devices."""
        self.enter()
        found = {}
        for path in sorted(
            path for part in ("core", "ipv4") for path in Path("/proc/sys/net", part).glob("*")
        ):
            try:
                found[f"{path.parent.name}.{path.name}"] = " ".join(path.read_text().split())
            except OSError:  # a folder, or a write-only key
                continue
        return found

    def offloads(self, device: str) -> dict[str, bool | None]:
        """Which offloads of a device in the namespace are on; None if the kernel does not report it."""
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


#: The socket family for each version of IP.
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


def protocol_sysctls(version: int) -> dict[str, str]:
    """Sysctls by which devices send only a study's packets; SetupError if the kernel lacks IPv6.

    An IPv6 device gets no link-local address, so that it sends no announcements or requests.
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
    """Creates a TUN device in the current namespace that exists until the namespace ends."""
    with open("/dev/net/tun", "r+b", buffering=0) as device:  # noqa: PTH123 - a device, not a file
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
        fcntl.ioctl(device, _TUNSETPERSIST, 1)


def can_open_tun() -> bool:
    """Whether this process may use TUN devices; otherwise the router uses packet sockets."""
    try:
        with open("/dev/net/tun", "r+b", buffering=0) as device:  # noqa: PTH123 - a device, not a file
            fcntl.ioctl(device, _TUNGETFEATURES, bytes(4))
    except OSError:  # no permission, no such file, or no driver
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
    """A new folder for a run's files, with this process in its name."""
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-{start_ticks(pid)}-", dir=base))


def sweep(base: Path | None = None) -> list[Path]:
    """Removes the folders of killed runs; returns them. Folders of living processes stay."""
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
