"""Write requirements/*.txt: the exact version and hashes of every package within pyproject.toml's ranges.

run.txt contains what `make setup` installs; dev.txt, what tests and checks need in addition; docs.txt and
ci.txt, what the manual and single tests need in addition to both. Listed versions are kept as long as the
ranges allow them; delete a list to renew it completely.

Usage: lock.py PYTHON, an interpreter with pip-tools (`make lock` installs it).
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Made by `make lock` from pyproject.toml; not edited by hand.\n"
#: The build tools, which `make setup` needs but a wheel's user does not.
BUILD = ("maturin", "hatchling")
#: A package with its hashes, on several lines.
ENTRY = re.compile(r"^(?P<name>[\w.-]+)==.*(?:\n +--hash.*)*", re.MULTILINE)


def compiled(python: str, wanted: list[str], known: Path, fixed: Path) -> str:
    """All packages that `wanted` requires, in the versions of the lists `known` and `fixed` if possible."""
    command = [python, "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--allow-unsafe"]
    command += [
        "--no-annotate",
        "--no-header",
        "--no-emit-index-url",
        "--no-emit-trusted-host",
        "--strip-extras",
    ]
    with tempfile.TemporaryDirectory() as folder:
        asked, out = Path(folder, "asked.in"), Path(folder, "out.txt")
        asked.write_text("\n".join([*wanted, f"-c {fixed}"]))
        out.write_text(known.read_text() if known.exists() else "")
        subprocess.run([*command, "--output-file", str(out), str(asked)], check=True)
        return out.read_text()


def main() -> None:
    """Compile the lists in order; each contains what it adds to the previous ones."""
    python = sys.argv[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    kernels = tomllib.loads((ROOT / "linux" / "pyproject.toml").read_text())["project"]["dependencies"]
    kernels = [kernel for kernel in kernels if not kernel.startswith("cwndlab")]
    dev = [wanted for wanted in extras["dev"] if not wanted.startswith("cwndlab")]
    build = [wanted for wanted in dev if wanted.startswith(BUILD)]
    lists = {
        "run": [*project["dependencies"], *kernels, *extras["search"], *build],
        "dev": [*(extra for key in ("cluster", "store", "gym", "onnx") for extra in extras[key]), *dev],
        "docs": extras["docs"],
        "ci": extras["ci"],
    }
    before: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        fixed = Path(folder, "fixed.txt")
        for name, wanted in lists.items():
            fixed.write_text("\n".join(entry.split(" ")[0] for entry in before.values()))
            place = ROOT / "requirements" / f"{name}.txt"
            found = {
                entry["name"]: entry[0] for entry in ENTRY.finditer(compiled(python, wanted, place, fixed))
            }
            new = {
                package: found[package] for package in sorted(found, key=str.lower) if package not in before
            }
            place.write_text(HEADER + "\n".join(new.values()) + "\n")
            before |= found


if __name__ == "__main__":
    main()
