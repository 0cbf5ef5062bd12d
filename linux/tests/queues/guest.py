"""In a guest: replays packets through queues of Linux on a TUN device, and notes when each leaves.

The first process of the guest. Its folder has `scenarios.json`; the answer goes to `left.json`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from cwndlab_linux.virtual import guest

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_POLLIN, _SO_SNDBUFFORCE = 0x001, 32
_SILENCE_NS = 6_000_000_000
libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


class _Poll(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def _wait(fd: int, ns: int) -> bool:
    """Whether something can be read within this time."""
    poll, timeout = _Poll(fd, _POLLIN, 0), _Timespec(ns // 1_000_000_000, ns % 1_000_000_000)
    return bool(libc.ppoll(ctypes.byref(poll), 1, ctypes.byref(timeout), None) > 0)


def ip_packet(number: int, packet: dict[str, Any]) -> bytes:
    """An IPv4 packet, with the number of the packet in its identification."""
    hosts = [
        socket.inet_aton(f"10.{side}.0.{packet[end] + 1}")
        for side, end in enumerate(("source", "destination"))
    ]
    proto = 6 if packet["ack"] else 17
    head = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        packet["dscp"] << 2 | packet["ecn"],
        packet["bytes"],
        number,
        0,
        64,
        proto,
        0,
        *hosts,
    )
    ports = struct.pack("!HH", 1000 + packet["flow"], 5000)
    if (ack := packet["ack"]) is None:
        body = ports + struct.pack("!HH", packet["bytes"] - 20, 0)
    else:
        options = b""
        if ack["timestamps"] is not None:
            options += b"\1\1\x08\x0a" + struct.pack("!II", *ack["timestamps"])
        if ack["sack"]:
            start = ack["number"] + 3000
            options += b"\1\1\x05\x0a" + struct.pack("!II", start, start + 1448)
        words = 5 + len(options) // 4
        body = (
            ports
            + struct.pack("!IIBBHHH", 1, ack["number"], words << 4, 0x10 | ack["flags"], 1000, 0, 0)
            + options
        )
    return (head + body).ljust(packet["bytes"], b"\0")


def replay(scenario: dict[str, Any], name: str) -> dict[str, Any]:
    """The packets that left: number, time in ns and whether they carry CE."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI).ljust(40, b"\0"))
    subprocess.run(["ip", "link", "set", name, "txqueuelen", "10000", "up"], check=True)
    began = time.monotonic_ns()
    for words in scenario["tc"]:
        done = subprocess.run(
            ["tc", "qdisc", "add", "dev", name, *words], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return {"error": done.stderr}
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    sock.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 1 << 29)  # waiting packets count
    sock.bind((name, 0x0800))
    packets = [(packet["at"], ip_packet(number, packet)) for number, packet in enumerate(scenario["packets"])]
    start = (time.monotonic_ns() // 1_000_000_000 + 2) * 1_000_000_000
    left: list[tuple[int, int, bool]] = []
    sent: list[int] = []
    at, silent = 0, time.monotonic_ns()
    while True:
        now = time.monotonic_ns()
        due = (
            start + packets[at][0] if at < len(packets) else max(silent, start + packets[-1][0]) + _SILENCE_NS
        )
        if now >= due:
            if at == len(packets):
                break
            with contextlib.suppress(OSError):  # ENOBUFS: the queue dropped it
                sock.send(packets[at][1])
            sent.append(now - start)
            at += 1
            continue
        if not _wait(tun, due - now):
            continue
        silent = time.monotonic_ns()
        try:
            while True:
                data = os.read(tun, 2000)
                left.append((struct.unpack_from("!H", data, 4)[0], silent - start, data[1] & 3 == 3))
        except BlockingIOError:
            pass
    stats = subprocess.run(
        ["tc", "-s", "qdisc", "show", "dev", name], capture_output=True, text=True, check=True
    )
    os.close(tun)
    return {"left": left, "sent": sent, "stats": stats.stdout, "began": began - start}


def main() -> None:
    """Never returns."""
    try:
        guest._lock_memory()
        guest._mount("devtmpfs", "/dev", "devtmpfs")
        folder = Path("/dev/cwndlab")
        folder.mkdir()
        guest._mount("folder", str(folder), "hostfs", "/proc/self/cwd")
        guest._mount("proc", "/proc", "proc")
        guest._mount("sysfs", "/sys", "sysfs")
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        scenarios = json.loads((folder / "scenarios.json").read_text())
        results = []
        for number, scenario in enumerate(scenarios):
            results.append(replay(scenario, f"q{number}"))
            (folder / "left.json").write_text(json.dumps(results))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os.sync()
        libc.reboot(0x4321_FEDC)
