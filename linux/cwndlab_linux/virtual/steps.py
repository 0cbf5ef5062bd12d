"""Steps of a build: commands whose output is logged, and quoted in errors."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cwndlab.base.errors import RunError

#: The same source, patches, settings and compiler yield the same bytes, independent of user and time.
_REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "Tue Sep 1 00:00:00 UTC 1998",
    "KBUILD_BUILD_USER": "cwndlab",
    "KBUILD_BUILD_HOST": "cwndlab",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
}
#: Lets xz decompress on all processors.
_FASTER = {"XZ_DEFAULTS": "--threads=0"}


@dataclass(frozen=True)
class BuildSteps:
    """Runs the steps of one build."""

    log: Path
    #: Called with lines of progress.
    say: Callable[[str], None]

    def patch_if_it_applies(self, patch: Path, folder: Path) -> None:
        """Applies a patch unless the source already includes its changes."""
        apply = ["patch", "-p1", "--forward", "--fuzz=0", "-i", str(patch)]
        if not subprocess.run([*apply, "--dry-run"], cwd=folder, capture_output=True, check=False).returncode:
            self.run(apply, folder, f"applying {patch.name}")

    def run(
        self, command: Sequence[str], folder: Path, what: str, each: Callable[[str], None] | None = None
    ) -> None:
        """Runs a command, calling `each` with every line of output; RunError quotes its end on failure."""
        with self.log.open("a", buffering=1) as kept:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            assert process.stdout is not None
            tail: list[str] = []
            errors: list[str] = []
            try:
                for line in process.stdout:
                    kept.write(line)
                    tail = [*tail[-4:], line.strip()]
                    if ": error:" in line:
                        errors.append(line.strip())
                    if each is not None:
                        each(line)
            except BaseException:
                process.terminate()
                raise
            finally:
                process.stdout.close()
                code = process.wait()
        if code != 0:
            said = errors[:3] or tail or [f"{command[0]} ended with {code}"]
            raise RunError(f"{what} failed: {' | '.join(said)}; log: {self.log}")


def environment() -> Mapping[str, str]:
    """A minimal environment, without the user's settings for other builds."""
    kept = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy")
    return {name: os.environ[name] for name in kept if name in os.environ} | _REPRODUCIBLE | _FASTER


def missing_tools(tools: Mapping[str, str]) -> str | None:
    """A text on missing programs or headers of the C library; None if nothing is missing."""
    missing = {package: tool for tool, package in tools.items() if shutil.which(tool) is None}
    if missing:
        return f"{', '.join(missing.values())} missing; `apt-get install {' '.join(missing)}`"
    if not Path("/usr/include/stdio.h").exists():
        return "the C library's headers are missing; `apt-get install libc6-dev`"
    return None


def output_of(command: Sequence[str]) -> str:
    """The output of a command; empty if the command does not exist."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment()).stdout
    except OSError:
        return ""


def cpu_s() -> float:
    """CPU seconds of all commands so far."""
    import resource  # not available on Windows

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
