"""`cwndlab linux build`: a User-Mode Linux with time travel from Debian's kernel source, in the user's cache.

Where it is kept says what it was built from: `<cache>/cwndlab/uml/<version>-<digest of patch and config>/`;
next to `linux` are `about.json`, the kernel's own `config` and the build's log. A build that fails leaves its
log only.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.errors import RunError
from cwndlab.files import user_cache

HERE = Path(__file__).resolve().parent
PATCH, CONFIG = HERE / "kernel.patch", HERE / "config"
#: Debian's source package of the kernel series that the patch applies to.
PACKAGE = "linux-source-6.12"
SOURCES = Path("/usr/src")
#: Names another kernel, as CWNDLAB_ROUTER names another router.
VARIABLE = "CWNDLAB_UML"
#: Bytes for the unpacked source and what is compiled: 1.7 GB were measured.
ROOM = 2_000_000_000
#: Program → Debian's package of it.
TOOLS = {
    "make": "make", "gcc": "gcc", "ld": "binutils", "flex": "flex", "bison": "bison", "bc": "bc",
    "patch": "patch", "tar": "tar", "xz": "xz-utils",
}  # fmt: skip
#: Same source, patch, config and compiler: same bytes, independent of user and time.
_REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "Tue Sep 1 00:00:00 UTC 1998",
    "KBUILD_BUILD_USER": "cwndlab",
    "KBUILD_BUILD_HOST": "cwndlab",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Image:
    """A kernel that is there."""

    path: Path
    #: As `uname -r` says in it.
    release: str
    #: Of the program's bytes: another kernel gives another result.
    digest: str

    @classmethod
    def at(cls, path: Path) -> Image:
        """The kernel in a file; RunError if it is none, or lacks time travel."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}; `cwndlab linux build` makes a kernel") from None
        found = re.search(rb"Linux version (\S+)", data)
        if found is None or b"time-travel=inf-cpu" not in data:
            raise RunError(f"{path} is no User-Mode Linux with time travel; `cwndlab linux build` makes one")
        return cls(path, found[1].decode(), hashlib.sha256(data).hexdigest()[:16])


def cache() -> Path:
    """Where kernels are kept."""
    return user_cache() / "uml"


def _log() -> Path:
    """Of the build under way, or of the last one that failed."""
    return cache() / "build.log"


def recipe() -> str:
    """Digest of what of ours goes into a kernel."""
    text = PATCH.read_bytes() + b"\0" + CONFIG.read_bytes()
    return hashlib.sha256(text).hexdigest()[:10]


def find() -> Image:
    """The kernel to run: the one in CWNDLAB_UML, or the newest that was built by the present recipe."""
    named = os.environ.get(VARIABLE)
    if named:
        return Image.at(Path(named))
    built = list(_known_builds())
    if not built:
        raise RunError(
            "there is no kernel for virtual time yet; `cwndlab linux build` makes one, in a few minutes"
        )
    return Image.at(max(built, key=lambda folder: folder.stat().st_mtime_ns) / "linux")


def _known_builds() -> Iterator[Path]:
    yield from (path.parent for path in cache().glob(f"*-{recipe()}/linux"))


def reason_not() -> str | None:
    """Why none can be built here; None if one can."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"the patch and its tests are for x86_64; this is {platform.machine()}"
    missing = {package: tool for tool, package in TOOLS.items() if shutil.which(tool) is None}
    if missing:
        return f"{', '.join(missing.values())} missing; `apt-get install {' '.join(missing)}`"
    if not Path("/usr/include/stdio.h").exists():
        return "the C library's headers are missing; `apt-get install libc6-dev`"
    return None


def build(source: Path | None, jobs: int, say: Say, *, again: bool = False) -> Image:
    """Builds the kernel if it is not there yet; waits for another build first.

    Args:
        source: a kernel's source, as .tar.xz or unpacked; default: Debian's package, installed or downloaded.
        jobs: number of parallel compilers.
        say: gets a line whenever there is something to tell.
        again: build although it is there.

    """
    reason = reason_not()
    if reason is not None:
        raise RunError(f"no kernel can be built here: {reason}")
    home = cache()
    home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    if free < ROOM:
        raise RunError(f"{home}: {free / 1e9:.1f} GB free; building needs {ROOM / 1e9:g} GB for a while")
    with _build_lock(home, say):
        _log().unlink(missing_ok=True)
        return _make(home, source, jobs, say, again)


@contextmanager
def _build_lock(home: Path, say: Say) -> Iterator[None]:
    """Only one build at a time keeps a log and writes kernels."""
    import fcntl  # Windows has none, and builds no kernel

    with home.with_suffix(".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is under way; waiting for its end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(home: Path, source: Path | None, jobs: int, say: Say, again: bool) -> Image:
    with tempfile.TemporaryDirectory(prefix=".building-", dir=home) as work:
        source = source or _of_debian(Path(work), say)
        content = _digest(source)
        for folder in [] if again else _known_builds():
            if content is not None and about(folder).get("source_sha256") == content:
                say(f"{folder / 'linux'} is there already")
                return Image.at(folder / "linux")
        tree = _unpack(source, Path(work), say)
        folder = home / f"{_version(tree)}-{recipe()}"
        began = time.monotonic()
        _compile(tree, jobs, say)
        done = Path(work, "done")
        done.mkdir()
        shutil.copy2(tree / "linux", done / "linux")
        shutil.copy2(tree / ".config", done / "config")
        shutil.move(_log(), done / "build.log")
        image = Image.at(done / "linux")
        facts = {
            "release": image.release,
            "source": str(source) if content is None else source.name,
            "source_sha256": content,
            "digest": image.digest,
            "compiler": _output(["gcc", "--version"]).partition("\n")[0],
            "seconds": round(time.monotonic() - began, 1),
        }
        (done / "about.json").write_text(json.dumps(facts, indent=1) + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        done.rename(folder)
    return Image.at(folder / "linux")


def _digest(source: Path) -> str | None:
    """Of an archive; None for a folder, which may change unseen."""
    if not source.is_file():
        return None
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(source: Path, work: Path, say: Say) -> Path:
    """A tree that may be changed."""
    if source.is_dir():
        if not (source / "arch" / "um" / "Makefile").is_file():
            raise RunError(f"{source}: no kernel source; a folder with arch/um or a .tar.xz is wanted")
        say(f"copying {source}")
        tree = work / "tree"
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        _run(["make", "ARCH=um", "mrproper"], tree, _log(), "cleaning the copy")
        return tree
    if not source.is_file():
        raise RunError(f"{source}: there is no such file; a kernel's source as .tar.xz or folder is wanted")
    say(f"unpacking {source}")
    unpacked = work / "unpacked"
    unpacked.mkdir()
    _run(["tar", "-xf", str(source.resolve())], unpacked, _log(), f"unpacking {source}")
    trees = [path for path in unpacked.iterdir() if (path / "arch" / "um" / "Makefile").is_file()]
    if len(trees) != 1:
        raise RunError(f"{source}: no kernel source; one folder with arch/um is wanted in it")
    return trees[0]


def _of_debian(work: Path, say: Say) -> Path:
    """Debian's source: as installed, or downloaded by apt, which needs no root."""
    archive = SOURCES / f"{PACKAGE}.tar.xz"
    if archive.is_file():
        return archive
    advice = (
        f"`apt-get install {PACKAGE}` (Debian 13, and Debian 12 from its security updates), "
        "or name the source of a Linux 6.12 with --source"
    )
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise RunError(f"{archive} is not there and this is no Debian; {advice}")
    say(f"downloading {PACKAGE} (150 MB)")
    try:
        _run(["apt-get", "-q", "download", PACKAGE], work, _log(), f"downloading {PACKAGE}")
        package = next(work.glob(f"{PACKAGE}_*.deb"))
        _run(["dpkg-deb", "-x", package.name, "package"], work, _log(), "unpacking the package")
    except (RunError, StopIteration) as error:
        raise RunError(f"{PACKAGE} could not be downloaded ({error}); {advice}") from None
    return work / "package" / archive.relative_to("/")


def _version(tree: Path) -> str:
    """As 6.12.48, from the head of the Makefile."""
    head = (tree / "Makefile").read_text(errors="replace")[:1000]
    words = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)", head, re.MULTILINE))
    if len(words) != 3:
        raise RunError(f"{tree / 'Makefile'}: no VERSION, PATCHLEVEL and SUBLEVEL; not a kernel's source")
    return ".".join(words[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def _compile(tree: Path, jobs: int, say: Say) -> None:
    log = _log()
    _run(["patch", "-p1", "--batch", "-i", str(PATCH)], tree, log, "applying the patch (it is for 6.12)")
    make = ["make", "ARCH=um"]
    _run([*make, "allnoconfig", f"KCONFIG_ALLCONFIG={CONFIG}"], tree, log, "configuring")
    made = set((tree / ".config").read_text().splitlines())
    lost = [
        line
        for line in CONFIG.read_text().splitlines()
        if line.startswith("CONFIG_") and not line.endswith("=n") and line not in made
    ]
    if lost:
        raise RunError(f"this source does not take {', '.join(lost)}; Linux 6.12 does")
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        compiled += line.startswith("  CC ")
        if line.startswith("  CC ") and compiled % 25 == 0:
            say(f"compiling: {compiled} files of about 600")

    _run([*make, f"-j{jobs}", "linux"], tree, log, "compiling", count)


def _run(command: list[str], folder: Path, log: Path, what: str, each: Say | None = None) -> None:
    """Runs a step, its output to the log; RunError with the log's end if it fails."""
    with log.open("a") as kept:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        tail: list[str] = []
        try:
            for line in process.stdout:
                kept.write(line)
                tail = [*tail[-4:], line.strip()]
                if each is not None:
                    each(line)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.stdout.close()
            code = process.wait()
    if code != 0:
        raise RunError(f"{what} failed: {' | '.join(tail) or f'{command[0]} ended with {code}'}; log: {log}")


def _environment() -> Mapping[str, str]:
    """Without what a user may have set for other builds."""
    kept = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy")
    return {name: os.environ[name] for name in kept if name in os.environ} | _REPRODUCIBLE


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, env=_environment()).stdout


def about(folder: Path) -> dict[str, Any]:
    """What is known of how a kernel was built."""
    content: dict[str, Any] = json.loads((folder / "about.json").read_text())
    return content
