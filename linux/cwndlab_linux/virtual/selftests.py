"""`cwndlab linux test`: Linux's own packetdrill scripts in a kernel in virtual time.

The scripts are those of the kernel's own source (tools/testing/selftests/net/packetdrill). Each runs in a
network namespace of its own, as `ksft_runner.sh` there runs it, over IPv4.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.base.errors import RunError
from cwndlab_linux.netns import Namespace, end_session
from cwndlab_linux.testbed import charge_from

from . import boot
from .images import Image
from .program_files import ENVIRONMENT

#: Below the folder of a kernel, and in Linux's source.
SCRIPTS = "selftests"
IN_SOURCE = Path("tools", "testing", "selftests", "net", "packetdrill")
#: What a script's event may be off by, unless it says otherwise itself.
TOLERANCE_US = 4000
#: Of `ksft_runner.sh`.
_ARGUMENTS = (
    *("--ip_version=ipv4", "--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
    *("--remote_ip=192.0.2.1", "-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5"),
    *("-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR"),
)
_OTHER_VERSION = re.compile(r"^--ip_version=(?!ipv4$)", re.MULTILINE)
#: Wall time after which a guest is ended; all scripts of 7.3 took 41 s of CPU time.
_PATIENCE_S = 1800


@dataclass(frozen=True)
class ScriptResult:
    """What became of a script."""

    script: str
    tolerance_us: int
    holds: bool
    #: All that packetdrill printed, each event with its time.
    output: str

    @property
    def reason(self) -> str:
        """The first line that says why it does not hold."""
        lines = [
            line
            for line in self.output.splitlines()
            if re.search(r"error|not found|warning|assert", line, re.I)
        ]
        last = self.output.strip().splitlines()[-1:]
        return (lines or last or ["packetdrill printed nothing"])[0]


def scripts_of(image: Image, only: str = "") -> list[Path]:
    """The scripts of a kernel whose names contain a text; RunError if there are none."""
    folder = image.path.parent / SCRIPTS
    found = sorted(path for path in folder.glob("*.pkt") if only in path.stem)
    if not found:
        if only and folder.is_dir():
            raise RunError(f"{image.name} has no script with {only!r} in its name")
        raise RunError(
            f"{image.name} has no packetdrill scripts: Linux has them from 6.12 on, and a kernel built by an "
            "earlier cwndlab needs `cwndlab linux build --again`"
        )
    return [path for path in found if not _OTHER_VERSION.search(path.read_text(errors="replace"))]


def find_packetdrill(given: Path | None) -> Path:
    """The program packetdrill; RunError if there is none."""
    path = shutil.which(given if given is not None else "packetdrill")
    if path is None:
        where = given if given is not None else "in PATH"
        right = "build github.com/google/packetdrill and name it with --packetdrill"
        raise RunError(f"there is no packetdrill {where}; {right}")
    return Path(path)


def run(
    image: Image, packetdrill: Path, scripts: Sequence[Path], tolerances_us: Sequence[int]
) -> list[ScriptResult]:
    """Starts the kernel once and runs the scripts in it, each at each tolerance."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(image.path.parent / SCRIPTS, folder / SCRIPTS)
        shutil.copy2(packetdrill, folder / SCRIPTS / "packetdrill")
        runs = [(path.name, tolerance) for path in scripts for tolerance in tolerances_us]
        job = {"folder": name, "parent": os.getpid(), "virtual": boot.guest_of(image, 1), "selftests": runs}
        process = boot.start(job, folder)
        try:
            process.wait(_PATIENCE_S)
        except BaseException:
            end_session(process)
            raise
        result = folder / "result.json"
        if not result.exists():
            raise RunError(f"the kernel ended without a result: {boot.last_words(folder)}")
        return [ScriptResult(**one) for one in json.loads(result.read_text())]


def digest_of(results: Sequence[ScriptResult]) -> str:
    """Of all that packetdrill printed."""
    text = "\0".join(f"{one.script} {one.tolerance_us} {one.holds}\n{one.output}" for one in results)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_in_guest(runs: Sequence[tuple[str, int]], folder: Path) -> list[dict[str, Any]]:
    """In the guest: the result of each script, at its tolerance."""
    charge_from(os.getpid() + 1)  # packetdrill spins in times(2) until the next tick
    environment = {"PATH": f"{folder / SCRIPTS}:{ENVIRONMENT['PATH']}"}
    results = []
    for script, tolerance_us in runs:
        command = ["packetdrill", *_ARGUMENTS, f"--tolerance_usecs={tolerance_us}", "-v", script]
        done = subprocess.run(
            command,
            cwd=folder / SCRIPTS,
            env=environment,
            preexec_fn=Namespace.new,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        result = {"script": script, "tolerance_us": tolerance_us, "holds": done.returncode == 0}
        results.append({**result, "output": done.stdout})
    return results
