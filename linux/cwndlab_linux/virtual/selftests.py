"""`cwndlab linux test`: run Linux's own packetdrill scripts in a kernel in virtual time.

The scripts are in the kernel's source (tools/testing/selftests/net/packetdrill). They run with the options of
`ksft_runner.sh`, over IPv4 and, if the kernel supports it, over IPv6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cwndlab.base.errors import RunError

from .images import Image
from .packetdrill import ScriptRun

#: The scripts' folder, within a kernel's folder and within Linux's source.
SCRIPTS = "selftests"
IN_SOURCE = Path("tools", "testing", "selftests", "net", "packetdrill")
#: The default tolerance for the times of a script's events.
TOLERANCE_US = 4000
_COOKIES = ("-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5")
#: Options of `ksft_runner.sh` for each version of IP.
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
#: Keeps zerocopy data, which may be sent after the call returns; packetdrill's own runner does so, too.
_KEPT_BUFFERS = "--send_omit_free"
_OWN_VERSION = re.compile(r"^--ip_version=(\S+)$", re.MULTILINE)


def ip_versions(image: Image) -> list[str]:
    """The IP versions that a kernel supports."""
    config = image.path.parent / "config"
    has_ipv6 = config.is_file() and "CONFIG_IPV6=y" in config.read_text().splitlines()
    return list(_OPTIONS)[: 2 if has_ipv6 else 1]


def runs_of(image: Image, version: str, tolerance_us: int, only: str = "") -> list[ScriptRun]:
    """The scripts of a kernel for an IP version whose names contain `only`; RunError if there are none."""
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
    """The IP versions that a script is for."""
    return _OWN_VERSION.findall(script.read_text(errors="replace")) or list(_OPTIONS)
