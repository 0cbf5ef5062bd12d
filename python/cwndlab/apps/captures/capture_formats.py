"""Recognition of capture files, and their conversion to pcapng by Wireshark's `editcap` where needed."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cwndlab.base.errors import StudyError

#: First bytes of the formats that the core reads: pcapng, and pcap in both byte orders and time resolutions.
_READ = (
    b"\x0a\x0d\x0d\x0a",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
)
#: First bytes of formats that `editcap` converts: snoop, pcap of patched versions of libpcap, Microsoft's
#: Network Monitor, Sniffer, iptrace, and files compressed with zstd or lz4.
_CONVERTED = (
    b"snoop\0\0\0",
    b"\x34\xcd\xb2\xa1",
    b"\xa1\xb2\xcd\x34",
    b"RTSS",
    b"GMBU",
    b"TRSNIFF",
    b"iptrace",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
)
_GZIP = b"\x1f\x8b"
#: Suffixes of capture files.
_SUFFIXES = (".pcap", ".pcapng", ".cap", ".ntar", ".dump", ".snoop", ".erf", ".pcap.zst", ".pcapng.zst")
#: The versions of pcap in which a packet's original length comes before the captured one.
_OLD_VERSIONS = ((2, 0), (2, 1), (2, 2), (2, 3))
#: Seconds that a conversion may take.
_CONVERSION_S = 300
_FORMATS = "a pcap or pcapng file, also compressed with gzip"


def is_capture(path: Path) -> bool:
    """Whether a file is a capture, by its suffix or its first bytes."""
    if path.name.removesuffix(".gz").endswith(_SUFFIXES):
        return True
    return path.is_file() and _begins(path).startswith(_READ + _CONVERTED)


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """The path of the capture, or of a temporary pcapng copy if the core cannot read its format.

    Raises:
        StudyError: the file is no capture, or needs `editcap`, which is missing or does not know its format.

    """
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file")
    begins = _begins(path)
    if begins.startswith(_READ) and not _is_old_pcap(begins):
        yield path
        return
    if not begins:
        raise StudyError(f"{path}: this file is empty", right=_FORMATS)
    editcap = shutil.which("editcap")
    if editcap is None:
        raise StudyError(
            f"{path}: this file is no capture that cwndlab reads itself",
            right=f"{_FORMATS}; with Wireshark's editcap installed, any format that Wireshark reads",
        )
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "converted.pcapng"
        command = [editcap, "-F", "pcapng", str(path.resolve()), str(converted)]
        try:
            subprocess.run(command, capture_output=True, timeout=_CONVERSION_S, check=True)
        except (subprocess.SubprocessError, OSError):
            if not converted.is_file() or not converted.stat().st_size:
                raise StudyError(
                    f"{path}: this file is no capture",
                    right=f"{_FORMATS}, or any format that Wireshark reads",
                ) from None
        yield converted


def _is_old_pcap(begins: bytes) -> bool:
    """Whether this is a pcap version that stores a packet's original length before the captured length."""
    if begins[:4] not in _READ[1:]:
        return False
    order = "<" if begins[:4] in (_READ[1], _READ[3]) else ">"
    return len(begins) >= 8 and struct.unpack(order + "HH", begins[4:8]) in _OLD_VERSIONS


def _begins(path: Path) -> bytes:
    """The first 8 bytes of a file, decompressed if it is gzip; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            begins = file.read(8)
        if not begins.startswith(_GZIP):
            return begins
        with gzip.open(path) as unpacked:
            return unpacked.read(8)
    except (OSError, EOFError, zlib.error):
        return b""
