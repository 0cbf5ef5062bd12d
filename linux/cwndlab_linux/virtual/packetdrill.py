"""packetdrill scripts in a kernel in virtual time, run by the packetdrill program.

Each script runs in its own network namespace. The program uses the guest's clock, so two runs of a script
print the same times.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.base.errors import RunError
from cwndlab_linux.netns import Namespace, end_session
from cwndlab_linux.testbed import charge_from

from . import boot, images
from .images import Image
from .packetdrill_program import PROGRAM, find_packetdrill
from .program_files import ENVIRONMENT

#: Wall seconds after which a guest is killed; all scripts of 7.3 took 41 s of CPU time.
_PATIENCE_S = 1800
#: The host's root in the guest, since the guest's /tmp is its own.
HOST = Path("/dev/host")
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_PR_SET_TIMERSLACK = 29
#: Lines of packetdrill's output that give no reason.
_EVENT = re.compile(r"^(\w+ syscall|(in|out)bound \w+ packet|script packet|running): ")
_UNREADABLE = re.compile(r":\d+: (parse|semantic) error")
_CODE_FAILED = "error executing code"
_TCP_INFO_TOO_SHORT = "sizeof(struct _tcp_info)"


@dataclass(frozen=True)
class ScriptRun:
    """A script and its command-line options."""

    path: Path
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScriptResult:
    """The outcome of a script."""

    run: ScriptRun
    holds: bool
    #: The full output of packetdrill; each event has its time.
    output: str

    @property
    def line(self) -> int | None:
        """The first line that fails; None if none does or packetdrill names none."""
        found = re.search(rf"^{re.escape(self.run.path.name)}:(\d+): ", self.output, re.MULTILINE)
        return int(found[1]) if found and not self.holds else None

    @property
    def was_run(self) -> bool:
        """Whether the kernel determined the outcome, not an error in the script or a command."""
        return self.holds or (self.line is not None and not _UNREADABLE.search(self.output))

    @property
    def reason(self) -> str:
        """Why the script fails: packetdrill's message, and the packet that was sent instead."""
        if _TCP_INFO_TOO_SHORT in self.output:
            return "it is newer than the kernel; `cwndlab linux packetdrill` builds one for all kernels"
        lines = [line.strip() for line in self.output.splitlines() if not _EVENT.search(line)]
        said = [line for line in lines if line]
        failed = [number for number, line in enumerate(said) if _CODE_FAILED in line]
        if self.line is not None and failed:  # the executed code precedes its traceback
            said = said[: failed[-1]][-1:]
        return "; ".join(said[:3]) or "packetdrill printed nothing"


def digest_of(results: Iterable[ScriptResult]) -> str:
    """The digest of all output of packetdrill, times included."""
    text = "\0".join(
        f"{one.run.path.name} {' '.join(one.run.options)} {one.holds}\n{one.output}" for one in results
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(image: Image, packetdrill: Path, scripts: Sequence[ScriptRun]) -> list[ScriptResult]:
    """Starts the kernel once and runs the scripts in it; RunError if it ends early."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy2(packetdrill, folder / PROGRAM)
        runs = [{"path": str(script.path.resolve()), "options": script.options} for script in scripts]
        job = {"folder": name, "parent": os.getpid(), "virtual": boot.guest_of(image, 1), "scripts": runs}
        process = boot.start(job, folder)
        try:
            process.wait(_PATIENCE_S)
        except BaseException:
            end_session(process)
            raise
        result = folder / "result.json"
        if not result.exists():
            raise RunError(f"the kernel ended without a result: {boot.last_words(folder)}")
        found = json.loads(result.read_text())
        return [ScriptResult(one, *values) for one, values in zip(scripts, found, strict=True)]


def run_scripts(
    scripts: Sequence[Path], kernel: str, packetdrill: Path | None, tolerance_us: int | None
) -> tuple[str, list[ScriptResult], str]:
    """The kernel's name, the outcomes of a user's scripts in it, and the digest of all output.

    Args:
        scripts: the scripts; commands in them are searched from their folders.
        kernel: see `images.find`.
        packetdrill: the program; default: see `find_packetdrill`.
        tolerance_us: tolerance for the times of events, in microseconds; default: the script's, or 4000.

    """
    image = images.find(kernel)
    options = () if tolerance_us is None else (f"--tolerance_usecs={tolerance_us}",)
    found = run(image, find_packetdrill(packetdrill), [ScriptRun(path, options) for path in scripts])
    return image.name, found, digest_of(found)


def _enter_script() -> None:
    """Enters a network namespace, and leaves the real-time class.

    packetdrill avoids that class on one processor: a spinning real-time process starves the kernel's workers,
    so that an IPv6 address stays tentative, and `bind` to it fails.
    """
    Namespace.new()
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)  # timers expire on time, as for real-time processes


def run_in_guest(runs: Iterable[Mapping[str, Any]], folder: Path) -> list[tuple[bool, str]]:
    """Runs in the guest: for each script, whether it holds, and packetdrill's output."""
    charge_from(os.getpid() + 1)  # packetdrill spins in times(2) until the next tick
    # A namespace accepts only an allowed congestion control as its default.
    _ALLOWED.write_text(_ALLOWED.with_name("tcp_available_congestion_control").read_text())
    environment = {**ENVIRONMENT, "PATH": f"{folder}:{ENVIRONMENT['PATH']}"}
    results = []
    for one in runs:
        script = Path(one["path"])
        done = subprocess.run(
            [PROGRAM, *one["options"], "-v", script.name],
            cwd=HOST / script.parent.relative_to("/"),
            env=environment,
            preexec_fn=_enter_script,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        results.append((done.returncode == 0, done.stdout))
    return results
