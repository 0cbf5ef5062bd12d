"""Starts a guest: `python -m cwndlab_linux.virtual.boot` reads a job and becomes the kernel.

Differences between machines or runs can only reach the guest through its files: the command line is constant
(the kernel mixes it into its random numbers), the environment contains only the seed, and addresses are not
randomized. The job's folder is the working directory, which the guest finds as /proc/self/cwd.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cwndlab.base.errors import RunError
from cwndlab_linux.netns import end_session, end_with_parent

from .images import Image

#: The kernel's name in a job's folder.
KERNEL = "kernel"
#: The library that the kernel loads to run the router.
LIBRARY = "router.so"
#: The library's name next to the router's executable, from the same build.
LIBRARY_BUILT = "libcwndlab_live.so"
_ADDR_NO_RANDOMIZE = 0x0040000
#: The guest's memory, allocated on use: with 1 GB, TCP's buffers have the sizes of larger machines.
MEMORY = "1G"
#: The longest first line of a script that Linux reads (BINPRM_BUF_SIZE).
_FIRST_LINE = 255
#: The guest's clock starts at 10^9 s, in September 2001.
COMMAND_LINE = (
    f"mem={MEMORY}",
    "root=/dev/root",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "init=/proc/self/cwd/init",
    "time-travel=inf-cpu",
    "time-travel-start=1000000000000000000",
    "con=null",
    "con0=null,fd:1",
    "quiet",
    "PYTHONHASHSEED=0",
)
#: Memory that the guest may use; /dev/shm may be smaller (64 MB in many containers).
_ROOM = 1 << 30


def write_init(folder: Path) -> None:
    """Writes the guest's first program: this Python, with this process's module path."""
    first = f"#!{sys.executable} -sB"
    if len(first) > _FIRST_LINE:
        raise ValueError(f"the path of Python is too long for a script's first line: {sys.executable}")
    paths = [path for path in sys.path if path]
    path = folder / "init"
    path.write_text(
        f"{first}\nimport sys\nsys.path[:] = {paths!r}\n"
        "from cwndlab_linux.virtual import guest\nguest.main()\n"
    )
    path.chmod(0o755)


def environment(seed: int, folder: Path) -> dict[str, str]:
    """The environment of the kernel's process, invisible in the guest."""
    made = {"UML_SEED": str(seed), "HOME": str(folder)}  # the kernel keeps files in $HOME/.uml
    if not Path("/dev/shm").is_dir() or shutil.disk_usage("/dev/shm").free < _ROOM:
        made["TMPDIR"] = os.environ.get("TMPDIR", "/tmp")
    return made


def congestion_controls(image: Image) -> list[str]:
    """The congestion controls of a kernel, from a guest; RunError with its output if it does not start."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {"folder": name, "parent": os.getpid(), "virtual": guest_of(image, 1)}
        process = start(job, folder)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            end_session(process)
        result = folder / "result.json"
        if not result.exists():
            raise RunError(last_words(folder) or f"it ended with {process.returncode} and no word")
        offered: list[str] = json.loads(result.read_text())
        return offered


def guest_of(
    image: Image, seed: int, processor: int | None = None, limit_s: int | None = None
) -> dict[str, Any]:
    """The guest's part of a job: the kernel, the seed of its random numbers, and its processor.

    The guest is killed after `limit_s` seconds of CPU time; None: no limit.
    """
    own = ["seccomp=auto"] if image.seccomp else []
    guest = {"kernel": str(image.path), "arguments": own, "seed": seed, "processor": processor}
    return guest | {"limit_s": limit_s}


def start(job: Mapping[str, Any], folder: Path) -> subprocess.Popen[str]:
    """Starts a process that becomes the guest's kernel, with its console in a file."""
    (folder / KERNEL).symlink_to(job["virtual"]["kernel"])
    if "router" in job:
        (folder / LIBRARY).symlink_to(library_of(Path(job["router"])))
    with (folder / "console").open("w") as console:
        process = subprocess.Popen(
            [sys.executable, "-m", "cwndlab_linux.virtual.boot"],
            stdin=subprocess.PIPE,
            stdout=console,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C reaches only the parent, which ends the others
        )
    assert process.stdin is not None
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    return process


def library_of(router: Path) -> Path:
    """The path of the router as a library; RunError if it is missing."""
    library = router.resolve().with_name(LIBRARY_BUILT)
    if not library.is_file():
        raise RunError(f"{library} is not built; `make setup` builds it")
    return library


def last_words(folder: Path) -> str:
    """The end of the console's output: a panic with its function, or why the guest did not start."""
    text = (folder / "console").read_text(errors="replace").strip()
    said = " | ".join(text.splitlines()[-3:])
    where = re.search(r"\bip (0x[0-9a-f]+)", said)
    function = function_at(folder / KERNEL, int(where[1], 16)) if where else ""
    return said + (f" ({function})" if function else "")


def function_at(kernel: Path, address: int) -> str:
    """The function at an address of a kernel, according to `nm`; empty if unknown."""
    try:
        command = ["nm", "--defined-only", str(kernel.resolve())]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    symbols = (line.split() for line in listed.splitlines())
    before = [(int(at, 16), name) for at, kind, name in symbols if kind in "tTwW" and int(at, 16) <= address]
    return max(before)[1] if before else ""


def main() -> None:
    """Becomes the guest's kernel."""
    job: Mapping[str, Any] = json.load(sys.stdin)
    end_with_parent(job["parent"])
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
    processor = job["virtual"].get("processor")
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    limit_s = job["virtual"].get("limit_s")
    if limit_s is not None:
        import resource  # not available on Windows

        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
    folder = Path(job["folder"])
    os.chdir(folder)
    write_init(folder)
    kernel = job["virtual"]["kernel"]
    own = ("folder", "parent", "virtual")
    Path("job.json").write_text(json.dumps({name: job[name] for name in job if name not in own}))
    arguments = [kernel, *COMMAND_LINE, *job["virtual"]["arguments"]]
    os.execve(kernel, arguments, environment(job["virtual"]["seed"], folder))


if __name__ == "__main__":
    main()
