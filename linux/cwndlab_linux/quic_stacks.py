"""Recipes that build QUIC stacks as programs: a server that sends, and a client that receives.

Each recipe is a folder of `stacks/` with a program and `recipe.toml`. Built programs are in the user's cache,
where studies find `NAME-server ADDRESS PORT LAW` and `NAME-client ADDRESS PORT BYTES`; 0 bytes means endless.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cwndlab.base.errors import RunError, StudyError, nearest
from cwndlab.base.writing import save, user_cache

RECIPES = Path(__file__).with_name("stacks")
#: The name of the program that a recipe builds.
PROGRAM = "program"
_WRAPPER = '#!/bin/sh\nexec {program} {role} "$@" {files}\n'


@dataclass(frozen=True)
class StackRecipe:
    """The recipe that builds a stack."""

    name: str
    title: str
    version: str
    builder: str
    laws: tuple[str, ...]
    #: Debian packages that provide the stack, instead of a build.
    packages: tuple[str, ...] = ()
    #: Another stack whose files are used where this one has none.
    shares: str | None = None

    @property
    def files(self) -> dict[str, Path]:
        """The files that the stack is built from, by path in its folder."""
        folders = [RECIPES / name for name in (self.shares, self.name) if name is not None]
        every = ((folder, path) for folder in folders for path in folder.rglob("*") if path.is_file())
        found = {str(path.relative_to(folder)): path for folder, path in every}  # own files come last
        return dict(sorted(found.items()))

    @property
    def folder(self) -> Path:
        """The folder of the build; a changed recipe has another folder."""
        digest = hashlib.sha256()
        for name, path in self.files.items():
            digest.update(f"{name}\0".encode() + path.read_bytes())
        return user_cache() / "stacks" / f"{self.name}-{self.version}-{digest.hexdigest()[:12]}"

    @property
    def is_built(self) -> bool:
        """Whether studies find the stack, built from the current recipe."""
        wrapper = commands_folder() / f"{self.name}-server"
        text = wrapper.read_text(encoding="utf-8") if wrapper.is_file() else ""
        return all(str(path) in text and path.exists() for path in (self.folder, *_certificate()))


def _certificate() -> tuple[Path, Path]:
    """The certificate and the key of all servers, in the cache because programs outlive an installation."""
    folder = user_cache() / "stacks"
    return folder / "certificate.pem", folder / "key.pem"


def commands_folder() -> Path:
    """The folder in which studies find the built servers and clients."""
    return user_cache() / "stacks" / "bin"


def recipes() -> Iterator[StackRecipe]:
    """All recipes, sorted by name."""
    for file in sorted(RECIPES.glob("*/recipe.toml")):
        said = tomllib.loads(file.read_text(encoding="utf-8"))
        yield StackRecipe(
            file.parent.name,
            said["title"],
            said["version"],
            said["builder"],
            tuple(said["laws"]),
            tuple(said.get("packages", ())),
            said.get("shares"),
        )


def recipe(name: str) -> StackRecipe:
    """The recipe of this name; StudyError if there is none."""
    known = {one.name: one for one in recipes()}
    if name not in known:
        raise StudyError(f'there is no recipe for a stack "{name}"', right=nearest(name, list(known)))
    return known[name]


def build(stack: StackRecipe, say: Callable[[str], None]) -> None:
    """Builds a stack and installs it for studies; RunError says what is missing or failed."""
    folder = stack.folder
    if not (folder / PROGRAM).exists():
        say(f"building {stack.title} {stack.version} ...")
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            for name, path in stack.files.items():
                (partial / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, partial / name)
            _BUILDERS[stack.builder](stack, partial)
            (partial / PROGRAM).chmod(0o755)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    certificate, key = _certificate()
    for path in (certificate, key):
        save(path, (RECIPES / path.name).read_text(encoding="utf-8"))
    for role, files in (("server", f"{certificate} {key}"), ("client", f"{certificate}")):
        wrapper = commands_folder() / f"{stack.name}-{role}"
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        save(wrapper, _WRAPPER.format(program=folder / PROGRAM, role=role, files=files))
        wrapper.chmod(0o755)


def _go(stack: StackRecipe, folder: Path) -> None:
    _call(stack, folder, ["go", "build", "-trimpath", "-buildvcs=false", "-o", PROGRAM, "."])


def _cargo(stack: StackRecipe, folder: Path) -> None:
    _call(stack, folder, ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", "target"])
    (folder / "target/release" / PROGRAM).rename(folder / PROGRAM)
    shutil.rmtree(folder / "target")


def _python(stack: StackRecipe, folder: Path) -> None:
    # The folder is renamed after the build; what pip installs does not depend on the folder's name.
    place = ["--target", "packages", "-r", "requirements.txt"]
    _call(
        stack,
        folder,
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *place],
    )
    python = Path(sys.executable).resolve()
    lines = [f"#!{python} -IB", "import sys", f"sys.path.insert(0, {str(stack.folder / 'packages')!r})"]
    save(folder / PROGRAM, "\n".join(lines) + "\n" + (folder / PROGRAM).read_text(encoding="utf-8"))


def _debian(stack: StackRecipe, folder: Path) -> None:
    for package in stack.packages:
        found = subprocess.run(["dpkg", "-s", package], capture_output=True, check=False)
        if found.returncode != 0:
            raise RunError(f"{stack.name} needs Debian's packages: apt install {' '.join(stack.packages)}")
    _call(stack, folder, ["cc", "-shared", "-fPIC", "-O2", "-o", "random.so", "random.c"])
    with (folder / "endless").open("wb") as file:
        file.truncate(1 << 30)


_BUILDERS: dict[str, Callable[[StackRecipe, Path], None]] = {
    "go": _go,
    "cargo": _cargo,
    "python": _python,
    "debian": _debian,
}


def _call(stack: StackRecipe, folder: Path, words: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError:
        raise RunError(f"{stack.name} needs {words[0]}, which is not here; install it") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise RunError(f"{stack.name}: {' '.join(words[:2])} failed: {' | '.join(said)}")
