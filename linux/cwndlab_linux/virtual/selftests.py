"""`cwndlab linux test`: Linux's own packetdrill scripts in a kernel in virtual time.

The scripts are those of the kernel's own source (tools/testing/selftests/net/packetdrill). They run as
`ksft_runner.sh` there runs them, over IPv4 and, in a kernel that has it, over IPv6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cwndlab.base.errors import RunError

from .images import Image
from .packetdrill import ScriptRun

#: Below the folder of a kernel, and in Linux's source.
SCRIPTS = "selftests"
IN_SOURCE = Path("tools", "testing", "selftests", "net", "packetdrill")
#: What a script's event may be off by, unless it says otherwise itself.
TOLERANCE_US = 4000
_COOKIES = ("-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5")
#: Of `ksft_runner.sh`, for each version of IP.
_OPTIONS = {
    "ipv4": (
        *("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
        *("--remote_ip=192.0.2.1", "-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR"),
    ),
    "ipv6": (
        *("--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1"),
        *("--remote_ip=fd3d:fa7b:d17d::1", "-D", "CMSG_LEVEL_IP=SOL_IPV6"),
        *("-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR"),
    ),
}
#: The kernel may send the data of a zerocopy call after it returns. packetdrill's own runner sets this, too.
_KEPT_BUFFERS = "--send_omit_free"
_OWN_VERSION = re.compile(r"^--ip_version=(\S+)$", re.MULTILINE)


def ip_versions(image: Image) -> list[str]:
    """Those that a kernel built here has."""
    config = image.path.parent / "config"
    has_ipv6 = config.is_file() and "CONFIG_IPV6=y" in config.read_text().splitlines()
    return list(_OPTIONS)[: 2 if has_ipv6 else 1]


def runs_of(image: Image, version: str, tolerance_us: int, only: str = "") -> list[ScriptRun]:
    """The scripts of a kernel for a version of IP whose names contain a text; RunError if it has none."""
    folder = image.path.parent / SCRIPTS
    found = sorted(path for path in folder.glob("*.pkt") if only in path.stem)
    if not found:
        if only and folder.is_dir():
            raise RunError(f"{image.name} has no script with {only!r} in its name")
        raise RunError(
            f"{image.name} has no packetdrill scripts: Linux has them from 6.12 on, and a kernel built by an "
            "earlier cwndlab needs `cwndlab linux build --again`"
        )
    place = (f"--ip_version={version}", *_OPTIONS[version])
    options = (*place, f"--tolerance_usecs={tolerance_us}", _KEPT_BUFFERS, *_COOKIES)
    return [ScriptRun(path, options) for path in found if version in _versions_of(path)]


def _versions_of(script: Path) -> Sequence[str]:
    """The versions of IP that a script is for; some name one."""
    return _OWN_VERSION.findall(script.read_text(errors="replace")) or list(_OPTIONS)
