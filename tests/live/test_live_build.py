"""`make setup` adds the compiler's target for the module of reports, or says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASK = "import sys; sys.path.insert(0, 'tools'); import live; print(live.missing())"


def tool(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def missing(tmp_path: Path) -> str:
    """What is missing where these are the only tools, with a compiler whose libraries are in `lib`."""
    (tmp_path / "lib").mkdir()
    tool(tmp_path, "rustc", f"echo {tmp_path}/lib")
    command = [sys.executable, "-c", ASK]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_rustup_adds_the_target(tmp_path: Path) -> None:
    tool(tmp_path, "rustup", f'echo "$*" >{tmp_path}/asked; : >{tmp_path}/lib/libstd-1.rlib')
    assert missing(tmp_path) == ""
    assert (tmp_path / "asked").read_text() == "--quiet target add wasm32-unknown-unknown\n"


@pytest.mark.parametrize(
    ("rustup", "said"), [(None, "there is no rustup to add it"), ("exit 1", "once there is a network")]
)
def test_without_the_target_it_says_what_to_do(tmp_path: Path, rustup: str | None, said: str) -> None:
    if rustup is not None:
        tool(tmp_path, "rustup", rustup)
    assert said in missing(tmp_path)
