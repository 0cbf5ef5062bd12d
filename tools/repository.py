"""The files of this repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(*paths: str, new: bool = True) -> list[Path]:
    """The files that git tracks, below these paths if given; with `new`, also those that git would add."""
    others = ["--others", "--exclude-standard"] if new else []
    command = ["git", "ls-files", "--cached", *others, "--", *paths]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [path for path in map(ROOT.joinpath, names) if path.exists()]
