"""Builds a crate with a window law, and writes a Python module that represents it.

The module contains the files that cargo compiled. The digest of its text is thus the digest of the law,
result folders keep it, and another machine can build it again (docs/decisions/own-cc.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cwndlab._core import NativeLaw, engine_digest
from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.writing import output_errors, user_cache, write_atomic
from cwndlab.cli.output import echo

#: The root of the engine's sources, against which laws are built.
ROOT = Path(__file__).resolve().parents[4]
OPTION = "--cc-crate"
#: Attributes that a crate may state under [package.metadata.cwndlab], the same as for Python classes.
STATED: Mapping[str, type] = {"uses_random": bool, "ecn": str}
#: Lines of the compiler's messages to show.
MOST_LINES = 40
_LOCK = "Cargo.lock"

_MANIFEST = """\
[package]
name = {library}
version = "0.0.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[dependencies]
law = {{ package = {name}, path = {folder} }}
cwndlab-law = {{ path = {support} }}

[workspace]
"""
_LIBRARY = "cwndlab_law::library!(law::new);\n"
_MODULE = '''\
"""The congestion control in Rust of the crate {name}: what cargo compiled."""

from cwndlab.apps.law_crate.crate import native_law

FILES = {{
{files}}}
Law = native_law({name!r}, FILES, uses_random={uses_random}, ecn={ecn!r})
'''


def default_name(folder: Path) -> str:
    """The default name of a crate's law: that of the package."""
    return str(_manifest(folder)["package"]["name"])


def write_module(folder: Path) -> str:
    """Builds the crate in a folder; returns the text of a module whose `Law` is its window law.

    StudyError with cargo's message if it cannot be built.
    """
    manifest = _manifest(folder)
    stated = _stated(folder, manifest)
    library, files = _build(folder, str(manifest["package"]["name"]))
    with output_errors(library):
        write_atomic(_kept(files), library.read_bytes())
    text = "".join(f"    {name!r}: (\n{_lines(content)}    ),\n" for name, content in files.items())
    return _MODULE.format(name=manifest["package"]["name"], files=text, **stated)


def native_law(name: str, files: Mapping[str, str], *, uses_random: bool, ecn: str) -> NativeLaw:
    """The law of a crate's files; builds the library unless this machine has it."""
    library = _kept(files)
    if not library.is_file():
        folder = _unpack(name, files, library.with_suffix(""))
        built, _ = _build(folder, name)
        with output_errors(library):
            write_atomic(library, built.read_bytes())
    try:
        return NativeLaw(name, library, uses_random, ecn)
    except ValueError as error:
        library.unlink(missing_ok=True)
        right = "`make setup` in the clone, and run the command again"
        raise StudyError(f"the law {name} cannot be loaded: {error}", key=OPTION, right=right) from None


def _unpack(name: str, files: Mapping[str, str], top: Path) -> Path:
    """Writes the files of a crate below `top`; returns the crate's folder."""
    above = max(Path(file).parts.count("..") for file in files)
    folder = top.joinpath(*["crates"] * above, name)
    for file, content in files.items():
        text = content
        if Path(file).name == "Cargo.toml":  # use this installation's engine
            text = re.sub(r'"[^"\n]*[/\\](cwndlab-[a-z]+)"', _here, content)
        with output_errors(folder):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / file, text.encode())
    return folder


def _here(found: re.Match[str]) -> str:
    return json.dumps(str(ROOT / "crates" / found[1]))


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a crate. StudyError if the folder has none."""
    file = folder / "Cargo.toml"
    try:
        manifest = tomllib.loads(file.read_text(encoding="utf-8"))
        if not isinstance(manifest["package"]["name"], str):
            raise KeyError
    except OSError:
        right = "name the folder of a crate; `cwndlab new law-rust NAME` writes one"
        raise StudyError(f"{file} cannot be read", key=OPTION, right=right) from None
    except (ValueError, KeyError, TypeError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it has no [package] with a name"
        raise StudyError(f"{file}: {reason}", key=OPTION, right="as `cargo new --lib` writes it") from None
    return manifest


def _stated(folder: Path, manifest: Mapping[str, Any]) -> dict[str, object]:
    """The law's attributes from the manifest, with defaults."""
    stated = manifest["package"].get("metadata", {}).get("cwndlab", {})
    for key, value in stated.items():
        if key not in STATED:
            problem = f"[package.metadata.cwndlab] has {key}, which no law has"
            right = nearest(key, STATED)
        elif not isinstance(value, STATED[key]):
            problem, right = f"{key} is {value!r}", 'uses_random = true, ecn = "l4s"'
        else:
            continue
        raise StudyError(f"{folder / 'Cargo.toml'}: {problem}", key=OPTION, right=right)
    return {key: stated.get(key, kind()) for key, kind in STATED.items()}


def _build(folder: Path, name: str) -> tuple[Path, dict[str, str]]:
    """The library of a crate, and the files compiled into it, by path relative to its folder."""
    check_sources()
    if shutil.which("cargo") is None:
        right = "install Rust from https://rustup.rs"
        raise StudyError("a law in Rust is built by cargo, and there is none here", key=OPTION, right=right)
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    wrapper = user_cache() / "laws" / place
    own_lock = folder / _LOCK
    seed = (own_lock if own_lock.is_file() else ROOT / _LOCK).read_text(encoding="utf-8")
    with output_errors(wrapper):
        (wrapper / "src").mkdir(parents=True, exist_ok=True)
        quoted = {"name": name, "folder": str(folder.resolve()), "library": f"cwndlab-law-{place}"}
        quoted["support"] = str(ROOT / "crates" / "cwndlab-law")
        manifest = _MANIFEST.format(**{key: json.dumps(value) for key, value in quoted.items()})
        _write_if_new(wrapper / "Cargo.toml", manifest)
        _write_if_new(wrapper / "src" / "lib.rs", _LIBRARY)
        if _write_if_new(wrapper / "seed.lock", seed):
            write_atomic(wrapper / _LOCK, seed.encode())
    target = user_cache() / "laws" / "target"
    library = _cargo(wrapper, target, folder)
    inputs = library.with_suffix(".d").read_text(encoding="utf-8")
    files = {_LOCK: (wrapper / _LOCK).read_text(encoding="utf-8")}
    for file in sorted(_inputs(inputs, wrapper)):
        try:
            files[os.path.relpath(file, folder.resolve()).replace(os.sep, "/")] = file.read_text("utf-8")
        except UnicodeDecodeError:
            problem = f"{file}: is compiled into the law and is no text in UTF-8"
            raise StudyError(problem, key=OPTION, right="write it as text") from None
    return library, files


def check_sources() -> None:
    """StudyError if this installation lacks the engine's sources, which a law is built against."""
    if not (ROOT / "crates" / "cwndlab-law" / "Cargo.toml").is_file():
        problem = (
            f"a law in Rust is built of cwndlab's sources, and {ROOT} has none: this is an installed wheel"
        )
        right = "clone the repository, run `make setup` there, and use its .venv/bin/cwndlab"
        raise StudyError(problem, key=OPTION, right=right)


def _cargo(wrapper: Path, target: Path, folder: Path) -> Path:
    """Builds the library of a wrapper crate; returns its path. StudyError with cargo's message."""
    command = ["cargo", "build", "--release", "--color=never", "--message-format=json-render-diagnostics"]
    command += ["--manifest-path", str(wrapper / "Cargo.toml"), "--target-dir", str(target)]
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as reported:
        with subprocess.Popen(command, cwd=ROOT, stdout=reported, stderr=subprocess.PIPE, text=True) as cargo:
            assert cargo.stderr is not None
            for line in cargo.stderr:
                if "Compiling" in line and not any("Compiling" in one for one in said):
                    echo(f"building the law in {folder} …", err=True)
                said.append(line)
        reported.seek(0)
        artifacts = [json.loads(line) for line in reported]
    if cargo.returncode:
        raise _failure(folder, said)
    made = [one for one in artifacts if one.get("manifest_path") == str(wrapper / "Cargo.toml")]
    return Path(made[0]["filenames"][0])


def _failure(folder: Path, said: list[str]) -> StudyError:
    """The error for a law that cargo cannot build."""
    text = "".join(said)
    copies = re.search(r"packages (cwndlab-\S+) v\S+ \((.*?)\) and \1 v\S+ \((.*?)\) are different", text)
    if copies is not None:
        ours = ROOT / "crates" / copies[1]
        other = copies[3] if Path(copies[2]) == ours else copies[2]
        problem = f"the crate depends on {other}, which is another copy of cwndlab than this one"
        return StudyError(problem, key=OPTION, right=f'path = "{ours}"')
    errors = re.findall(r"^error.*?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL) or [text.strip()]
    right = "what the compiler says; the interface is CongestionControl of crates/cwndlab-tcp"
    if re.search(r"(function|value|item|name) `new`", text):
        right = (
            "pub fn new(seed: u64) -> LAW in src/lib.rs, where LAW implements cwndlab_tcp::CongestionControl"
        )
    shown = "\n".join("\n".join(errors).splitlines()[:MOST_LINES])
    return StudyError(f"cargo cannot build the law in {folder}:\n{shown}", key=OPTION, right=right)


def _inputs(rules: str, wrapper: Path) -> Iterator[Path]:
    """The files that cargo lists as inputs, and their crates' manifests, without those of the engine."""
    crates = ROOT / "crates"
    found: set[Path] = set()
    for word in re.findall(r"(?:\\ |\S)+", rules.partition(": ")[2]):
        file = Path(word.replace("\\ ", " "))
        if file.is_relative_to(crates) or file.is_relative_to(wrapper) or not file.is_file():
            continue
        found.add(file)
        manifest = next((one / "Cargo.toml" for one in file.parents if (one / "Cargo.toml").is_file()), None)
        found |= {manifest} if manifest is not None else set()
    yield from found


def _kept(files: Mapping[str, str]) -> Path:
    """The path in the cache for the library of these files and this engine."""
    text = json.dumps([engine_digest(), dict(files)], sort_keys=True)
    return user_cache() / "laws" / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.so"


def _lines(content: str) -> str:
    """A text as Python string literals, one for each line."""
    return "".join(f"        {line!r}\n" for line in content.splitlines(keepends=True) or [""])


def _write_if_new(file: Path, text: str) -> bool:
    """Writes a file unless it has this text already, since cargo checks times; returns whether it did."""
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    write_atomic(file, text.encode())
    return True
