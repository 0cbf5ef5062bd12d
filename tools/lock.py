"""Write requirements/dev.txt and docs.txt: the exact version of every package in pyproject.toml's ranges.

Usage: lock.py PYTHON, the interpreter of an empty virtual environment (`make lock` makes one).
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Made by `make lock` from pyproject.toml; not edited by hand.\n"
SEED = {"pip", "setuptools"}  # what a virtual environment begins with


def frozen(python: str) -> set[str]:
    """What is installed, as pinned requirements."""
    done = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True)
    return {line for line in done.stdout.splitlines() if line.split("==")[0] not in SEED}


def main() -> None:
    """Install dev, freeze; install docs, freeze the difference."""
    python = sys.argv[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    dev = [
        *project["dependencies"],
        *extras["cluster"],
        *extras["query"],
        *extras["store"],
        *extras["linux"],
        *extras["xarray"],
        *(r for r in extras["dev"] if not r.startswith("cwndlab")),
    ]
    before: set[str] = set()
    for name, wanted in (("dev", dev), ("docs", extras["docs"])):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        pinned = frozen(python)
        lines = sorted(pinned - before, key=str.lower)
        (ROOT / "requirements" / f"{name}.txt").write_text(HEADER + "\n".join(lines) + "\n")
        before = pinned


if __name__ == "__main__":
    main()
