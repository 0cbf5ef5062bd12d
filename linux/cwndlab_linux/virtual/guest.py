"""The first process in a guest: mounts what the testbed needs, runs the job, and turns the machine off.

The root is the host's, read-only. Results go to the job's folder, which is mounted where it has the same name
in every guest. One Python does all: it is the init, the testbed and the applications.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import traceback
from pathlib import Path

#: Below /dev, which is the guest's own, so that no folder of the host is hidden.
FOLDER = Path("/dev/cwndlab")
_POWER_OFF = 0x4321_FEDC
#: Runs begin at a multiple of this on the guest's clock; the set-up takes some milliseconds of it.
ROUND_S = 10
_CLOCK_MONOTONIC, _TIMER_ABSTIME = 1, 1
_MCL_CURRENT, _MCL_FUTURE = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str, data: str | None = None) -> None:
    words = [word if word is None else word.encode() for word in (source, target, kind, data)]
    if _libc.mount(*words[:3], 0, words[3]) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind} on {target}: {os.strerror(number)}")


class _Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


def _lock_memory() -> None:
    """Gets all pages now, and later ones with their mapping.

    A page that is first touched in the run costs a look at the clock; the set-up decides
    which ones those are. Touched one by one, the pages of Python's modules would take almost half of the
    set-up's process switches.
    """
    if _libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        raise OSError(ctypes.get_errno(), "mlockall")


def wait_for_a_round_time() -> None:
    """How long the set-up took must not show in a run: every look at the clock takes a nanosecond.

    So it does not matter where Python is, nor whether it had to compile its modules first.
    """
    until = _Timespec((int(time.monotonic()) // ROUND_S + 1) * ROUND_S, 0)
    _libc.clock_nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(until), None)


def _furnish() -> None:
    """What programs expect to find below /dev."""
    Path("/dev/shm").mkdir()
    _mount("shm", "/dev/shm", "tmpfs")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path("/dev", name).symlink_to(f"/proc/self/fd{target}")


def main() -> None:
    """Never returns."""
    try:
        _lock_memory()
        _mount("devtmpfs", "/dev", "devtmpfs")
        FOLDER.mkdir()
        # The host's /proc, seen before the guest's own covers it.
        _mount("folder", str(FOLDER), "hostfs", "/proc/self/cwd")
        _mount("proc", "/proc", "proc")
        _mount("sysfs", "/sys", "sysfs")
        # The timers of a real-time process go off on time, not up to 50 µs late.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        job = json.loads((FOLDER / "job.json").read_text())
        if job.get("programs") or job.get("shell"):
            _furnish()
        if "scripts" in job:
            from .packetdrill import HOST, run_in_guest

            HOST.mkdir()
            _mount("host", str(HOST), "hostfs", "/")
            _mount("tmp", "/tmp", "tmpfs")  # where scripts write
            wait_for_a_round_time()
            (FOLDER / "result.json").write_text(json.dumps(run_in_guest(job["scripts"], FOLDER)))
        elif job:
            from cwndlab_linux.testbed import write_result

            write_result(job | {"folder": str(FOLDER)}, wait_for_a_round_time)
        else:  # what the kernel offers
            offered = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
            (FOLDER / "result.json").write_text(json.dumps(offered))
    except BaseException:  # only the console can report it
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    finally:
        os.sync()
        _libc.reboot(_POWER_OFF)
