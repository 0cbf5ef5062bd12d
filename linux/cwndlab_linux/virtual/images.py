"""Built kernels: one folder each in the user's cache, named by version and recipe.

Next to the executable `linux` are `about.json`, the kernel's `config`, and the log of its build. `trees/`
contains compiled sources, to which laws are added.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from cwndlab.base.errors import RunError, nearest
from cwndlab.base.writing import user_cache

from .recipe import DEFAULT, SERIES, Recipe, advice_without, series_of

#: The environment variable that names the default kernel.
VARIABLE = "CWNDLAB_UML"


@dataclass(frozen=True)
class Image:
    """A kernel that can be started."""

    path: Path
    #: The output of `uname -r` in the kernel.
    release: str
    #: Digest of the executable: another kernel gives other results.
    digest: str
    #: Whether it can run processes by seccomp (6.16 and later) instead of ptrace, which is slower.
    seccomp: bool = False
    #: The content of `about.json`; empty for a kernel that was not built here.
    about: dict[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def from_folder(cls, path: Path) -> Image:
        """The kernel in a file; RunError if the file is no kernel, or lacks time travel."""
        try:
            return cls(path, *_read(path, path.stat().st_mtime_ns), kernel_facts(path.parent))
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}; `cwndlab linux build` makes a kernel") from None

    @property
    def name(self) -> str:
        """The name in `cwndlab linux list` and for `--kernel`."""
        return self.path.parent.name

    @property
    def congestion_controls(self) -> Sequence[str]:
        """The congestion controls that the kernel offers; empty if unknown before it runs."""
        return congestion_controls(self.about)


@lru_cache(maxsize=16)
def _read(path: Path, _changed: int) -> tuple[str, str, bool]:
    """The release and digest of a kernel, and whether it has seccomp; RunError if the file is no kernel."""
    data = path.read_bytes()
    found = re.search(rb"Linux version (\S+)", data)
    if found is None or b"time-travel=inf-cpu" not in data:
        raise RunError(f"{path} is no User-Mode Linux with time travel; `cwndlab linux build` makes one")
    return found[1].decode(), hashlib.sha256(data).hexdigest()[:16], b"seccomp option" in data


def kernel_facts(folder: Path) -> dict[str, Any]:
    """The content of `about.json` in a kernel's folder; empty if there is none."""
    path = folder / "about.json"
    facts: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return facts


def congestion_controls(facts: Mapping[str, Any]) -> Sequence[str]:
    """The congestion controls in a kernel's `about.json`; empty if unknown before it runs."""
    offered: Sequence[str] = facts.get("congestion_controls", ())
    return offered


def kernels_folder() -> Path:
    """The folder of kernels in the user's cache."""
    return user_cache() / "uml"


def sources_folder(home: Path | None = None) -> Path:
    """The folder of compiled sources, next to the kernels of `home`."""
    return (home or kernels_folder()) / "trees"


def built_kernels(recipe: Recipe | None = None, home: Path | None = None) -> list[Path]:
    """The folders of kernels in `home` or the user's cache, newest first; of one recipe, or of all."""
    pattern = "*" if recipe is None else f"*-{recipe.digest}"
    found = [path.parent for path in (home or kernels_folder()).glob(f"{pattern}/linux")]
    return sorted(found, key=lambda folder: folder.stat().st_mtime_ns, reverse=True)


def kernels_by_law() -> dict[str, list[str]]:
    """For each congestion control, the names of the built kernels that offer it."""
    kernels: dict[str, list[str]] = {}
    for folder in built_kernels():
        for law in congestion_controls(kernel_facts(folder)):
            kernels.setdefault(law, []).append(folder.name)
    return kernels


def find(kernel: str | None = None) -> Image:
    """The kernel to run.

    Args:
        kernel: a series ("7.3") for its newest release, a release ("6.12.107"), a name from `linux list`,
            or a file; default: the one in CWNDLAB_UML, or the default series.

    """
    kernel = kernel or os.environ.get(VARIABLE) or DEFAULT
    is_release = re.fullmatch(r"\d+\.\d+\.\d+", kernel) is not None
    if kernel in SERIES or is_release:
        folders = built_kernels(Recipe(series_of(kernel, "--kernel")))
        if is_release:
            folders = [folder for folder in folders if folder.name.startswith(f"{kernel}-")]
        if not folders:
            option = "" if kernel == DEFAULT else f" --kernel {kernel}"
            raise RunError(
                f"there is no kernel {kernel} for virtual time yet; `cwndlab linux build{option}` makes one, "
                "in a few minutes"
            )
        return Image.from_folder(max(folders, key=_release_in) / "linux")
    if (kernels_folder() / kernel / "linux").is_file():
        return Image.from_folder(kernels_folder() / kernel / "linux")
    if Path(kernel).exists() or os.sep in kernel:
        return Image.from_folder(Path(kernel))
    known = [*SERIES, *(folder.name for folder in built_kernels())]
    right = advice_without(kernel) or f"{nearest(kernel, known)}; see `cwndlab linux list`"
    raise RunError(f"--kernel: there is no kernel {kernel}; {right}")


def _release_in(folder: Path) -> tuple[list[int], int]:
    """The release in the name of a kernel's folder, and the time of the build."""
    return [int(word) for word in folder.name.partition("-")[0].split(".")], folder.stat().st_mtime_ns


def remove(name: str) -> int:
    """Removes a kernel, and its compiled source if no other kernel needs it; returns the freed bytes."""
    folder = kernels_folder() / name
    if Path(name).name != name or not (folder / "linux").is_file():
        raise RunError(
            f"there is no kernel {name}; {nearest(name, [folder.name for folder in built_kernels()])}"
        )
    tree = kernel_facts(folder).get("tree")
    gone = [folder]
    if tree and all(kernel_facts(other).get("tree") != tree for other in built_kernels() if other != folder):
        gone.append(sources_folder() / tree)
    freed = sum(size(path) for path in gone)
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return freed


def size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
