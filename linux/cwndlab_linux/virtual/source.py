"""Linux's source: Debian's package of a series, or an archive or a folder that the user names."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from cwndlab.base.errors import RunError

from .recipe import KERNELS, Series
from .steps import BuildSteps, output_of

#: Where Debian's packages put it.
_INSTALLED = Path("/usr/src")
_MAKEFILE = Path("arch", "um", "Makefile")
#: Patterns of files that only other architectures, devices and file systems are compiled from: most of the
#: source. Kconfig and make need their own files in these folders, so these are unpacked.
_NOT_COMPILED = KERNELS / "not-compiled"


def archive_of(series: Series, work: Path, steps: BuildSteps) -> Path:
    """Debian's archive of the source: as installed, or downloaded by apt, which does not need root."""
    name = f"{series.package}.tar.xz"
    if (_INSTALLED / name).is_file():
        return _INSTALLED / name
    advice = f"`apt-get install {series.package}`, or name a folder or a .tar.xz with --kernel"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise RunError(f"{_INSTALLED / name} is not there and this is not Debian; {advice}")
    steps.say(f"downloading {series.package}")
    try:
        steps.run(
            ["apt-get", "-q", *_lists(series, work, steps), "download", series.package], work, "the download"
        )
        package = next(work.glob(f"{series.package}_*.deb"))
        steps.run(["dpkg-deb", "-x", package.name, "package"], work, "unpacking the package")
    except (RunError, StopIteration) as error:
        raise RunError(f"{series.package} could not be downloaded ({error}); {advice}") from None
    return work / "package" / _INSTALLED.relative_to("/") / name


def _lists(series: Series, work: Path, steps: BuildSteps) -> list[str]:
    """Options of apt: none if the machine's own lists have the package; otherwise lists of our own.

    They name Debian's releases that have it, at the machine's mirrors. The machine's lists stay as they are.
    """
    if "Filename:" in output_of(["apt-cache", "show", series.package]):
        return []
    found = output_of(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    )
    mirrors: dict[bool, str] = {}
    for origin, release, uri in (line.split() for line in found.splitlines() if len(line.split()) == 3):
        if origin == "Debian":
            mirrors.setdefault(release.endswith("-security"), uri)
    lines = [
        f"deb {mirrors[security]} {suite} main"
        for suite in series.suites
        if (security := suite.endswith("-security")) in mirrors
    ]
    if not lines:
        raise RunError("apt knows no mirror of Debian")
    own = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (own / folder).mkdir(parents=True)
    (own / "sources.list").write_text("\n".join(lines) + "\n")
    options = {
        "Dir::Etc::sourcelist": own / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": own / "lists",
        "Dir::Cache": own / "cache",
    }
    words = [f"-o{name}={value}" for name, value in options.items()]
    steps.run(["apt-get", "-q", *words, "update"], work, f"reading the lists of {', '.join(series.suites)}")
    return words


def digest_of(source: Path) -> str | None:
    """Of an archive; None for a folder, which may change unseen."""
    if not source.is_file():
        return None
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(source: Path, tree: Path, steps: BuildSteps, *, whole: bool) -> None:
    """Makes `tree` a copy of the source that may be changed.

    Of an archive, it is the `whole` or what a kernel of ours is compiled from.
    """
    if source.is_dir():
        _check_folder(source)
        steps.say(f"copying {source}")
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        steps.run(["make", "ARCH=um", "mrproper"], tree, "cleaning the copy")
        return
    if not source.is_file():
        raise RunError(f"{source}: there is no such file; a kernel's source as .tar.xz or folder is wanted")
    steps.say(f"unpacking {source.name}")
    tree.mkdir()
    some = [] if whole else ["--anchored", "--wildcards-match-slash", f"--exclude-from={_NOT_COMPILED}"]
    command = ["tar", *some, "-xf", str(source.resolve()), "--strip-components=1"]
    steps.run(command, tree, f"unpacking {source}")
    if not (tree / _MAKEFILE).is_file():
        raise RunError(f"{source}: no kernel source; one folder with arch/um is wanted in it")


def _check_folder(source: Path) -> None:
    if not (source / _MAKEFILE).is_file():
        raise RunError(f"{source}: no kernel source; a folder with arch/um or a .tar.xz is wanted")


def version_of(tree: Path) -> str:
    """As 6.12.48, from the head of the Makefile."""
    head = (tree / "Makefile").read_text(errors="replace")[:1000]
    words = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)", head, re.MULTILINE))
    if len(words) != 3:
        raise RunError(f"{tree / 'Makefile'}: no VERSION, PATCHLEVEL and SUBLEVEL; not a kernel's source")
    return ".".join(words[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def version_in(source: Path) -> str:
    """The version of a source that is not unpacked yet."""
    if source.is_dir():
        _check_folder(source)
        return version_of(source)
    found = re.search(r"(\d+\.\d+)(\.\d+)?", source.name)
    if found is None:
        raise RunError(f"{source}: the name must say which version it is, such as linux-6.12.48.tar.xz")
    return found[0]
