"""`cwndlab linux build`: build a User-Mode Linux with time travel from a recipe.

The build writes to a temporary folder, which is renamed at the end. A failed build leaves only its log.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path

from cwndlab.base.errors import RunError
from cwndlab.base.writing import count_text

from . import boot, source
from .images import Image, built_kernels, kernel_facts, kernels_folder, sources_folder
from .recipe import Law, Recipe, added_files, backports, registered_names, series_of
from .selftests import IN_SOURCE, SCRIPTS
from .steps import BuildSteps, cpu_s, missing_tools, output_of
from .under_way import announce

#: Bytes for the unpacked source and compiled files: 1.7 GB were measured.
ROOM = 2_000_000_000
#: The requirements of a full build, measured on two processors.
NEEDS = "a download of 150 MB if it is not installed, up to 2 GB of disk, and 4 to 5 minutes of CPU time"
#: The Debian package of each required program.
TOOLS = {
    "make": "make", "gcc": "gcc", "ld": "binutils", "flex": "flex", "bison": "bison", "bc": "bc",
    "patch": "patch", "tar": "tar", "xz": "xz-utils",
}  # fmt: skip
_LAWS = Path("net", "ipv4")
#: Marks a compiled tree, and lists the laws that were added to it.
_READY = "cwndlab-ready.json"
#: Warnings are for laws only (`_place`). Without -Wno-all, gcc still checks for -Wall; the code is equal.
_NO_WARNINGS = "-w -Wno-all -Wno-extra"


def reason_not() -> str | None:
    """Why no kernel can be built on this machine; None if one can."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"the patches and their tests are for x86_64; this is {platform.machine()}"
    return missing_tools(TOOLS)


def build(
    recipe: Recipe,
    given: Path | None,
    jobs: int,
    say: Callable[[str], None],
    *,
    again: bool = False,
    home: Path | None = None,
    changed: Collection[Path] | None = None,
) -> Image:
    """Builds the kernel unless it exists; waits for other builds first.

    Args:
        recipe: what to build.
        given: Linux's source, as .tar.xz or unpacked; default: Debian's package, installed or downloaded.
        jobs: number of parallel compilers.
        say: called with lines of progress.
        again: build even if the kernel exists.
        home: the folder of kernels and compiled sources; default: the user's cache.
        changed: the files of a source folder that changed since its last build, if known; default: all files
            are compared.

    """
    reason = reason_not()
    if reason is not None:
        raise RunError(f"no kernel can be built here: {reason}")
    home = home or kernels_folder()
    home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    if free < ROOM:
        raise RunError(f"{home}: {free / 1e9:.1f} GB free; building needs {ROOM / 1e9:g} GB for a while")
    with announce(home, recipe.words, say) as tell:
        for left in home.glob(".building-*"):  # from a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        log = home / "build.log"
        log.unlink(missing_ok=True)
        return _build(home, recipe, given, jobs, BuildSteps(log, tell), again, changed)


def _build(
    home: Path,
    recipe: Recipe,
    given: Path | None,
    jobs: int,
    steps: BuildSteps,
    again: bool,
    changed: Collection[Path] | None,
) -> Image:
    content = None if given is None else source.digest_of(given)
    for folder in [] if again else built_kernels(recipe, home):
        if given is None or (content is not None and kernel_facts(folder).get("source_sha256") == content):
            steps.say(f"{folder / 'linux'} is there already")
            return Image.from_folder(folder / "linux")
    began = time.monotonic(), cpu_s()
    with tempfile.TemporaryDirectory(prefix=".building-", dir=home) as work:
        tree, facts = _tree(recipe, given, content, Path(work), jobs, steps, again, changed)
        done = Path(work, "done")
        done.mkdir()
        shutil.copy2(tree / "linux", done / "linux")
        shutil.copy2(tree / ".config", done / "config")
        if (tree / IN_SOURCE).is_dir():
            shutil.copytree(tree / IN_SOURCE, done / SCRIPTS)
        image = Image.from_folder(done / "linux")
        steps.say("starting it")
        try:
            offered = boot.congestion_controls(image)
        except RunError as error:
            raise RunError(f"the kernel was built but does not start: {error}; log: {steps.log}") from None
        missing = [name for law in recipe.laws for name in law.names if name not in offered]
        if missing:
            raise RunError(f"the kernel was built but does not offer {', '.join(missing)}: is it registered?")
        shutil.move(steps.log, done / "build.log")
        facts |= {
            **recipe.facts(),
            "release": image.release,
            "digest": image.digest,
            "congestion_controls": offered,
            "compiler": output_of(["gcc", "--version"]).partition("\n")[0],
            "seconds": round(time.monotonic() - began[0], 1),
            "cpu_seconds": round(cpu_s() - began[1], 1),
        }
        (done / "about.json").write_text(json.dumps(facts, indent=1) + "\n")
        folder = home / recipe.name_of(str(facts["version"]))
        if folder.exists():
            shutil.rmtree(folder)
        done.rename(folder)
    return Image.from_folder(folder / "linux")


def _tree(
    recipe: Recipe,
    given: Path | None,
    content: str | None,
    work: Path,
    jobs: int,
    steps: BuildSteps,
    again: bool,
    changed: Collection[Path] | None,
) -> tuple[Path, dict[str, object]]:
    """A compiled source tree, which is kept, and facts about its origin."""
    kept = sources_folder(work.parent) / f"{recipe.base.digest}-{_origin(given, content)}"
    ready = kept / _READY
    before = json.loads(ready.read_text()) if ready.is_file() and not again else None
    if before is not None and (given is None or content is not None):
        facts = before
    elif before is not None and given is not None and changed is not None and not _touches(recipe, changed):
        _take(given, kept, changed)
        facts = before | {"version": source.version_of(kept)}
    else:
        steps.say(f"building Linux {recipe.words}, which needs {NEEDS}")
        archive = given or source.archive_of(recipe.series, work, steps)
        tree = work / "tree"
        source.unpack(archive, tree, steps, whole=recipe.is_of_whole_source)
        version = source.version_of(tree)
        if series_of(version, str(archive)) != recipe.series:
            raise RunError(f"{archive} is Linux {version}, not {recipe.series.name}")
        _prepare(tree, recipe, steps)
        facts = {
            "version": version,
            "source": str(archive) if archive.is_dir() else archive.name,
            "source_sha256": content or source.digest_of(archive),
        }
        facts |= {"tree": kept.name, "laws_in_tree": before["laws_in_tree"] if before else []}
        if before is None:
            shutil.rmtree(kept, ignore_errors=True)
            kept.parent.mkdir(exist_ok=True)
            shutil.move(tree, kept)
        else:
            _update(kept, tree, steps)
        ready.write_text(json.dumps(facts))
    facts["laws_in_tree"] = _place(kept, recipe.laws, facts["laws_in_tree"], steps)
    ready.write_text(json.dumps(facts))
    _compile(kept, jobs, steps)
    return kept, {name: fact for name, fact in facts.items() if name != "laws_in_tree"}


def _origin(given: Path | None, content: str | None) -> str:
    """An identifier of the source: "debian", or a digest of an archive's content or a folder's path."""
    if given is None:
        return "debian"
    return (content or hashlib.sha256(str(given.resolve()).encode()).hexdigest())[:10]


def _touches(recipe: Recipe, changed: Collection[Path]) -> bool:
    """Whether a patch, or a file that cwndlab adds, affects one of these files."""
    patches = [recipe.series.patch, *recipe.patches]
    ours = {Path(name) for path in patches for name in re.findall(r"^\+\+\+ b/(\S+)", path.read_text(), re.M)}
    return not ours.isdisjoint(changed) or any(place in changed for _, place in added_files())


def _take(folder: Path, kept: Path, changed: Collection[Path]) -> None:
    """Copies these files of the folder to a kept tree, or removes them there."""
    for path in sorted(changed):
        if (folder / path).is_file():
            (kept / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / path, kept / path)  # the new time makes make compile it
        else:
            (kept / path).unlink(missing_ok=True)


def _update(kept: Path, tree: Path, steps: BuildSteps) -> None:
    """Replaces the files of a kept tree that have changed, so that make compiles only these."""
    changed = [path.relative_to(tree) for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    changed = [path for path in changed if not _is_same_file(tree / path, kept / path)]
    for path in changed:
        (kept / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / path, kept / path)  # the new time makes make compile it
    steps.say(f"{count_text(len(changed), 'file')} changed since the last build of this folder")


def _is_same_file(new: Path, old: Path) -> bool:
    return old.is_file() and filecmp.cmp(new, old, shallow=False)


def _prepare(tree: Path, recipe: Recipe, steps: BuildSteps) -> None:
    """Patches and configures a source tree."""
    for path in backports():
        steps.patch_if_it_applies(path, tree)
    own = recipe.series.patch
    for path, what in [(own, f"applying cwndlab's patch for {recipe.series.name}")] + [
        (path, f"applying {path}") for path in recipe.patches
    ]:
        steps.run(["patch", "-p1", "--forward", "-i", str(path.resolve())], tree, what)
    for path, place in added_files():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tree / place)
    settings = tree / "cwndlab.config"
    settings.write_text("\n".join(recipe.settings) + "\n")
    steps.run(["make", "ARCH=um", "allnoconfig", f"KCONFIG_ALLCONFIG={settings.name}"], tree, "configuring")
    made = set((tree / ".config").read_text().splitlines())
    lost = [
        line
        for line in recipe.settings
        if line.startswith("CONFIG_") and not line.endswith("=n") and line not in made
    ]
    if lost:
        raise RunError(f"this source does not take {', '.join(lost)}; Linux {recipe.series.name} does")


def _place(tree: Path, laws: tuple[Law, ...], before: list[str], steps: BuildSteps) -> list[str]:
    """Replaces the laws in a tree; returns the new ones' file names."""
    makefile = tree / _LAWS / "Makefile"
    ours = "# cwndlab's laws\n"
    text = makefile.read_text().partition(ours)[0]
    names = [law.path.name for law in laws]
    for name in before:
        if name not in names:
            (tree / _LAWS / name).unlink(missing_ok=True)
    for law in laws:
        placed = tree / _LAWS / law.path.name
        for path in (tree / _LAWS).glob("tcp_*.c"):
            twice = set(law.names) & set(registered_names(path.read_text(errors="replace")))
            if twice and path.name not in (*names, *before):
                raise RunError(
                    f"--law {law.path}: Linux has a law {twice.pop()} already; choose another name"
                )
        if law.path.name not in before and placed.exists():
            raise RunError(
                f"--law {law.path}: Linux has net/ipv4/{law.path.name} already; choose another name"
            )
        new = law.path.read_bytes()
        if not placed.exists() or placed.read_bytes() != new:
            placed.write_bytes(new)
    lines = [
        f"obj-y += {stem}.o\nCFLAGS_REMOVE_{stem}.o := {_NO_WARNINGS}\n"
        for stem in (law.path.stem for law in laws)
    ]
    new_text = text + (ours + "".join(lines) if lines else "")
    if makefile.read_text() != new_text:
        makefile.write_text(new_text)
    if names:
        steps.say(f"added {', '.join(names)}")
    return names


def _compile(tree: Path, jobs: int, steps: BuildSteps) -> None:
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        compiled += line.startswith("  CC ")
        if line.startswith("  CC ") and compiled % 25 == 0:
            steps.say(f"compiling: {compiled} files of about 600")
        if ": warning:" in line:
            steps.say(line.strip())

    flags = f"KCFLAGS={_NO_WARNINGS} -ftrack-macro-expansion=0"  # without locations of warnings in macros
    steps.run(["make", "ARCH=um", f"-j{jobs}", flags, "linux"], tree, "compiling", count)
