"""The program `cwndlab-router`, which emulates a study's links: where it is, how a git clone builds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cwndlab.base.errors import RunError

ROUTER = "cwndlab-router"
NOT_BUILT = f"{ROUTER} is not built; install cwndlab-linux as a wheel, or name it in CWNDLAB_ROUTER"
#: The script that builds the router in a clone, from the engine's crates (docs/decisions/set-up.md).
_BUILDER = Path(__file__).resolve().parents[2] / "tools" / "router.py"


def installed_router() -> Path | None:
    """The path of the router's executable; None if this machine has none."""
    here = Path(__file__).resolve()
    places = [
        Path(os.environ.get("CWNDLAB_ROUTER", "")),
        Path(sys.executable).with_name(ROUTER),
        here.with_name(ROUTER),
        *(parent / "target" / "release" / ROUTER for parent in here.parents[1:3]),
    ]
    for path in places:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    on_path = shutil.which(ROUTER)
    return None if on_path is None else Path(on_path)


def can_build() -> bool:
    """Whether this is a clone on a machine that can build the router."""
    return _BUILDER.is_file() and shutil.which("cargo") is not None and sys.platform == "linux"


def find_router() -> Path:
    """The path of the router's executable; a clone builds it on first use. RunError says how to get it."""
    found = installed_router()
    if found is None and can_build():
        sys.stderr.write("building the router of kernel runs, once: some ten seconds ...\n")
        subprocess.run([sys.executable, _BUILDER, "release", Path(sys.executable).parent], check=False)
        found = installed_router()
    if found is None:
        raise RunError(NOT_BUILT)
    return found
