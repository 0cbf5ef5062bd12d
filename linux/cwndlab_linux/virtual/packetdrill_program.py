"""The packetdrill program: built from source into the user's cache, or found on this machine.

No distribution that cwndlab supports packages it. `packetdrill.patch` removes its check of the size of
`tcp_info`, so one build works with all kernels.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from cwndlab.base.errors import RunError
from cwndlab.base.writing import user_cache

from .steps import BuildSteps, missing_tools, output_of

#: The source's repository, and the default commit.
ADDRESS = "https://github.com/google/packetdrill"
COMMIT = "2c4001c4d6fc04a3bbd01d4b92be62717a37648a"
#: The requirements of a build, in a line.
NEEDS = "make, gcc, flex, bison and the C library's headers, git for an address, 5 s of CPU time and 5 MB"
PROGRAM = "packetdrill"
#: The Debian package of each required program.
TOOLS = {"make": "make", "gcc": "gcc", "flex": "flex", "bison": "bison", "patch": "patch"}
#: The folder of the program in the repository.
_FOLDER = Path("gtests", "net", "packetdrill")
_PATCH = Path(__file__).with_suffix(".patch").with_stem(PROGRAM)


def built_packetdrill() -> Path:
    """The path of the program after a build."""
    return user_cache() / PROGRAM / PROGRAM


def find_packetdrill(given: Path | None) -> Path:
    """The program: the given one, the one that was built, or the one in PATH; RunError if there is none."""
    wanted: Path | str = given or (built_packetdrill() if built_packetdrill().exists() else PROGRAM)
    path = shutil.which(wanted)
    if path is None:
        where = f"at {given}" if given is not None else "yet"
        raise RunError(f"there is no packetdrill {where}; `cwndlab linux packetdrill` builds it")
    return Path(path)


def build_packetdrill(source: str, commit: str | None, jobs: int, say: Callable[[str], None]) -> Path:
    """Builds the program from source, replacing an earlier build.

    Args:
        source: a folder or an archive with packetdrill's source, or the address of a git repository.
        commit: the commit of a repository; default: `COMMIT`.
        jobs: number of parallel compilers.
        say: called with a line for each step.

    Raises:
        RunError: a tool is missing, there is no such source, or a step fails.

    """
    is_address = not Path(source).exists() or _is_bare(Path(source))
    if Path(source).exists():
        source = str(Path(source).resolve())
    elif not re.match(r"[a-z+]+://|[^/]+@[^/]+:", source):
        raise RunError(f"{source}: no such folder or archive, and no address of a git repository")
    missing = missing_tools(TOOLS | ({"git": "git"} if is_address else {}))
    if missing is not None:
        raise RunError(f"packetdrill cannot be built here: {missing}")
    if commit is not None and not is_address:
        raise RunError(f"--commit: {source} is no address of a git repository; it is built as it is")
    say(f"building packetdrill, which needs {NEEDS}")
    home = built_packetdrill().parent
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=home) as work:
        steps = BuildSteps(home / "build.log", say)
        steps.log.unlink(missing_ok=True)
        tree = Path(work, "source")
        if is_address:
            _clone(source, commit or COMMIT, tree, steps)
        elif Path(source).is_dir():
            shutil.copytree(_folder_in(Path(source), source), tree, ignore=shutil.ignore_patterns("*.o"))
        else:
            tree.mkdir()
            steps.run(["tar", "-xf", source], tree, f"unpacking {source}")
        folder = _folder_in(tree, source)
        steps.patch_if_it_applies(_PATCH, folder)
        # The default flags turn warnings of later compilers into errors.
        make = ["make", "-f", "Makefile.Linux", f"-j{jobs}", "CFLAGS=-O2 -w", PROGRAM]
        steps.run(make, folder, "compiling")
        if "script_path" not in _usage(folder / PROGRAM):
            raise RunError(f"packetdrill was built but does not start; log: {steps.log}")
        (folder / PROGRAM).replace(built_packetdrill())
    return built_packetdrill()


def _is_bare(path: Path) -> bool:
    """Whether a folder is a git repository without a work tree."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


def _clone(address: str, commit: str, tree: Path, steps: BuildSteps) -> None:
    steps.say(f"fetching {address}")
    try:
        steps.run(["git", "clone", "--quiet", "--no-checkout", address, str(tree)], tree.parent, "fetching")
    except RunError as error:
        raise RunError(f"{error}; name a folder or an archive with packetdrill's source instead") from None
    steps.run(["git", "checkout", "--quiet", "--detach", commit, "--"], tree, f"choosing commit {commit}")
    steps.say(f"compiling commit {output_of(['git', '-C', str(tree), 'rev-parse', 'HEAD'])[:12]}")


def _folder_in(tree: Path, source: str) -> Path:
    """The folder of the program's source: within a repository or an archive of one, or the folder itself."""
    places = [tree, tree / _FOLDER, *sorted(path / _FOLDER for path in tree.iterdir() if path.is_dir())]
    for place in places:
        if (place / "packetdrill.c").is_file():
            return place
    raise RunError(f"{source}: no packetdrill source; {_FOLDER}/packetdrill.c is wanted in it")


def _usage(program: Path) -> str:
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
