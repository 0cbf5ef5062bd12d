"""Linux's source: Debian's package of a series, or an archive or folder from the user."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from cwndlab.base.errors import RunError

from .recipe import KERNELS, SERIES, Series
from .steps import BuildSteps, output_of

#: Stands for Debian's newest release that is not a candidate.
NEWEST = "newest"
#: Distributions with further releases.
_MORE_SUITES = ("bookworm-backports", "sid")
#: Where Debian's packages install the source.
_INSTALLED = Path("/usr/src")
_MAKEFILE = Path("arch", "um", "Makefile")
#: Patterns of files for other architectures, devices and file systems, which are most of the source. Kconfig
#: and make need their own files in these folders, so those are unpacked.
_NOT_COMPILED = KERNELS / "not-compiled"
#: Each of these shows that a folder was configured or compiled (see `outputmakefile` in Linux's Makefile).
_COMPILED = (".config", "include/config", "arch/x86/include/generated", "arch/um/include/generated")


def archive_of(series: Series, work: Path, steps: BuildSteps) -> Path:
    """Debian's archive of a series' source: installed, or downloaded by apt, which does not need root."""
    name = f"{series.package}.tar.xz"
    if (_INSTALLED / name).is_file():
        return _INSTALLED / name
    has_it = "Filename:" in output_of(["apt-cache", "show", series.package])
    return _download(series.package, None if has_it else series.suites, work, steps)


def is_release(name: str) -> bool:
    """Whether this is the name of a release, such as "6.12.107", or `NEWEST`."""
    return name == NEWEST or re.fullmatch(r"\d+\.\d+\.\d+", name) is not None


def archive_of_release(name: str, work: Path, steps: BuildSteps) -> Path:
    """Debian's archive of one release, from any distribution; RunError lists the available releases."""
    found: dict[str, str] = {}
    suites = [suite for series in SERIES.values() for suite in series.suites]
    options = _lists(tuple(dict.fromkeys([*suites, *_MORE_SUITES])), work, steps)
    searched = output_of(["apt-cache", *options, "search", "--names-only", r"^linux-source-[0-9.]+$"])
    packages = [line.split()[0] for line in searched.splitlines()]
    for line in output_of(["apt-cache", *options, "madison", *packages]).splitlines():
        package, version, _ = (word.strip() for word in line.split("|"))
        if number := re.match(r"\d+\.\d+\.\d+(?!\S*~rc)", version):
            found.setdefault(number[0], f"{package}={version}")
    releases = sorted(found, key=lambda release: tuple(map(int, release.split("."))))
    release = releases[-1] if name == NEWEST and releases else name
    if release not in found:
        problem = f"Debian has no source of Linux {name} now; it has {', '.join(releases) or 'none'}"
        raise RunError(f"{problem}, or give your own: --kernel PATH, a folder or .tar.xz")
    return _fetch(found[release], options, work, steps)


def _download(package: str, suites: tuple[str, ...] | None, work: Path, steps: BuildSteps) -> Path:
    """A package's archive, by the machine's own package lists or those of `suites`."""
    advice = f"`apt-get install {package}`, or name a folder or a .tar.xz with --kernel"
    try:
        return _fetch(package, [] if suites is None else _lists(suites, work, steps), work, steps)
    except RunError as error:
        raise RunError(f"{package} could not be downloaded ({error}); {advice}") from None


def _fetch(package: str, options: list[str], work: Path, steps: BuildSteps) -> Path:
    """The archive in a package, which is given by name or by name and version."""
    shown = output_of(["apt-cache", *options, "show", package])
    size = re.search(r"^Size: (\d+)$", shown, re.MULTILINE)
    steps.say(f"downloading {package}" + (f", {int(size[1]) / 1e6:.0f} MB" if size else ""))
    steps.run(["apt-get", "-q", *options, "download", package], work, "the download")
    (found,) = work.glob("linux-source-*.deb")
    steps.run(["dpkg-deb", "-x", found.name, "package"], work, "unpacking the package")
    found.unlink()
    (archive,) = (work / "package" / _INSTALLED.relative_to("/")).glob("linux-source-*.tar.xz")
    return archive


def _lists(suites: tuple[str, ...], work: Path, steps: BuildSteps) -> list[str]:
    """Options that make apt use separate package lists for `suites`, from the machine's mirrors.

    The machine's own lists are not changed.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise RunError("this is not Debian, as apt-get or dpkg-deb is missing")
    found = output_of(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    )
    mirrors: dict[bool, str] = {}
    for origin, release, uri in (line.split() for line in found.splitlines() if len(line.split()) == 3):
        if origin == "Debian":
            mirrors.setdefault(release.endswith("-security"), uri)
    lines = [
        f"deb {mirrors[security]} {suite} main"
        for suite in suites
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
    steps.run(["apt-get", "-q", *words, "update"], work, f"reading the lists of {', '.join(suites)}")
    return words


def digest_of(source: Path) -> str | None:
    """The digest of an archive; None for a folder, whose content may change."""
    if not source.is_file():
        return None
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(source: Path, tree: Path, steps: BuildSteps, *, whole: bool) -> None:
    """Creates a writable copy of the source in `tree`.

    From an archive, only the files that cwndlab's kernels need are unpacked, unless `whole`.
    """
    if source.is_dir():
        _check_folder(source)
        steps.say(f"copying {source}")
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        if any(
            (tree / name).exists() for name in _COMPILED
        ):  # a clean tree may lack files that `clean` reads
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
    """The version, such as 6.12.48, from the head of the Makefile."""
    head = (tree / "Makefile").read_text(errors="replace")[:1000]
    words = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)", head, re.MULTILINE))
    if len(words) != 3:
        raise RunError(f"{tree / 'Makefile'}: no VERSION, PATCHLEVEL and SUBLEVEL; not a kernel's source")
    return ".".join(words[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def version_in(source: Path) -> str:
    """The version of a source that is not unpacked."""
    if source.is_dir():
        _check_folder(source)
        return version_of(source)
    found = re.search(r"(\d+\.\d+)(\.\d+)?", source.name)
    if found is None:
        raise RunError(f"{source}: the name must say which version it is, such as linux-6.12.48.tar.xz")
    return found[0]
