"""Starts a guest: `python -m cwndlab_linux.virtual.boot` reads a job and becomes the kernel.

Nothing that differs between two machines or two runs reaches the guest but through its files: the command
line is always the same (the kernel stirs it into its random numbers), the environment has only the seed, and
addresses are not randomized. The job's folder is the working directory, which the guest finds as
/proc/self/cwd.
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

#: In a job's folder, the kernel that runs it.
KERNEL = "kernel"
#: The library that the kernel loads to run the router.
LIBRARY = "router.so"
#: Its name next to the router's program, with which it is built.
LIBRARY_BUILT = "libcwndlab_live.so"
_ADDR_NO_RANDOMIZE = 0x0040000
#: Of the guest, taken as it is touched: 1 GB gives TCP's buffers the sizes that they have on larger machines.
MEMORY = "1G"
#: The longest first line of a script that Linux reads (BINPRM_BUF_SIZE).
_FIRST_LINE = 255
#: The guest's clock starts in September 2001, at 10^9 s.
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
#: Room that the guest's memory may come to take; below it /dev/shm is too small (64 MB in many containers).
_ROOM = 1 << 30


def write_init(folder: Path) -> None:
    """The guest's first program: this Python, with the modules that are used here."""
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
    """Of the kernel's process; the guest does not see it."""
    made = {"UML_SEED": str(seed), "HOME": str(folder)}  # it keeps files of its own in .uml there
    if not Path("/dev/shm").is_dir() or shutil.disk_usage("/dev/shm").free < _ROOM:
        made["TMPDIR"] = os.environ.get("TMPDIR", "/tmp")
    return made


def congestion_controls(image: Image) -> list[str]:
    """Starts a guest that says what the kernel offers; RunError with its output if it does not start."""
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
    """What a job says of its guest: the kernel, the seed of its random numbers, and where it runs.

    It is ended once it has used `limit_s` of CPU time.
    """
    own = ["seccomp=auto"] if image.seccomp else []
    guest = {"kernel": str(image.path), "arguments": own, "seed": seed, "processor": processor}
    return guest | {"limit_s": limit_s}


def start(job: Mapping[str, Any], folder: Path) -> subprocess.Popen[str]:
    """A process that becomes the guest's kernel; its console is a file."""
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
            start_new_session=True,  # Ctrl-C reaches the parent alone, which ends the others
        )
    assert process.stdin is not None
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    return process


def library_of(router: Path) -> Path:
    """The router as a library; RunError if it is not there."""
    library = router.resolve().with_name(LIBRARY_BUILT)
    if not library.is_file():
        raise RunError(f"{library} is not built; `make setup` builds it")
    return library


def last_words(folder: Path) -> str:
    """The end of the console: a panic, with the function that caused it, or why the guest did not start."""
    text = (folder / "console").read_text(errors="replace").strip()
    said = " | ".join(text.splitlines()[-3:])
    where = re.search(r"\bip (0x[0-9a-f]+)", said)
    function = function_at(folder / KERNEL, int(where[1], 16)) if where else ""
    return said + (f" ({function})" if function else "")


def function_at(kernel: Path, address: int) -> str:
    """The function of a kernel at an address, as `nm` knows it; empty if it does not."""
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
        import resource  # Windows has none

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
