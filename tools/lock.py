"""Write requirements/*.txt: the exact version of every package in pyproject.toml's ranges.

run.txt holds what `make setup` installs, dev.txt what tests and checks need in addition, docs.txt and ci.txt
what the manual and single tests need in addition to both.

Usage: lock.py PYTHON, the interpreter of an empty virtual environment (`make lock` makes one).
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Made by `make lock` from pyproject.toml; not edited by hand.\n"
SEED = {"pip", "setuptools"}  # what a virtual environment begins with
#: The build tool, which `make setup` needs and a wheel's user does not.
BUILD = "maturin"


def frozen(python: str) -> set[str]:
    """What is installed, as pinned requirements."""
    done = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True)
    return {line for line in done.stdout.splitlines() if line.split("==")[0] not in SEED}


def main() -> None:
    """Install list after list; freeze what each one adds."""
    python = sys.argv[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    dev = [wanted for wanted in extras["dev"] if not wanted.startswith("cwndlab")]
    build = [wanted for wanted in dev if wanted.startswith(BUILD)]
    lists = {
        "run": [*project["dependencies"], *extras["linux"], *extras["search"], *build],
        "dev": [*extras["cluster"], *extras["store"], *dev],
        "docs": extras["docs"],
        "ci": extras["ci"],
    }
    before: set[str] = set()
    for name, wanted in lists.items():
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        pinned = frozen(python)
        lines = sorted(pinned - before, key=str.lower)
        (ROOT / "requirements" / f"{name}.txt").write_text(HEADER + "\n".join(lines) + "\n")
        before = pinned


if __name__ == "__main__":
    main()
