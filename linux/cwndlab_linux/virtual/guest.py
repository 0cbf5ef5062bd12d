"""The first process of a guest: mounts what the testbed needs, runs the job, and turns the machine off.

The root is the host's, read-only. Results go to the job's folder, which has the same path in every guest. A
single Python process is init, testbed and applications.
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
#: Runs begin at a multiple of this on the guest's clock; the set-up takes some milliseconds before.
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
    """Loads all pages now, and later pages when they are mapped.

    The first access to a page during a run would read the clock, and the set-up determines which pages are
    loaded. Loading the pages of Python's modules one by one would take almost half of the set-up's process
    switches.
    """
    if _libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        raise OSError(ctypes.get_errno(), "mlockall")


def wait_for_a_round_time() -> None:
    """Hides the duration of the set-up from a run by waiting: every reading of the clock takes a nanosecond.

    Thus neither Python's location matters, nor whether it had to compile its modules first.
    """
    until = _Timespec((int(time.monotonic()) // ROUND_S + 1) * ROUND_S, 0)
    _libc.clock_nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(until), None)


def _furnish() -> None:
    """Creates the entries of /dev that programs expect."""
    Path("/dev/shm").mkdir()
    _mount("shm", "/dev/shm", "tmpfs")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path("/dev", name).symlink_to(f"/proc/self/fd{target}")


def main() -> None:
    """Runs the job and powers the guest off; never returns."""
    try:
        _lock_memory()
        _mount("devtmpfs", "/dev", "devtmpfs")
        FOLDER.mkdir()
        # The host's /proc, reached before the guest's own covers it.
        _mount("folder", str(FOLDER), "hostfs", "/proc/self/cwd")
        _mount("proc", "/proc", "proc")
        _mount("sysfs", "/sys", "sysfs")
        # Timers of a real-time process expire on time, not up to 50 µs late.
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
        else:  # without a job, report the kernel's congestion controls
            offered = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
            (FOLDER / "result.json").write_text(json.dumps(offered))
    except BaseException:  # only the console can report it
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    finally:
        os.sync()
        _libc.reboot(_POWER_OFF)
