"""What pyproject.toml names as dependencies is what the package imports."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
KERNELS = tomllib.loads((ROOT / "linux/pyproject.toml").read_text())["project"]
#: Comes with pydantic and jinja2, which are dependencies.
COMES_WITH = {"pydantic-core", "markupsafe"}
#: `cwndlab.apps.gym` reports in its `__init__` if one is missing, and imports them elsewhere, too.
OF_GYM = {"gymnasium", "pettingzoo", "greenlet"}


def imported() -> Iterator[tuple[str, bool]]:
    """Each foreign distribution that a file imports, and whether that file can do without it."""
    owners = packages_distributions()
    for file in (ROOT / "python" / "cwndlab").rglob("*.py"):
        tree = ast.parse(file.read_text())
        guarded = {
            node
            for block in ast.walk(tree)
            if isinstance(block, ast.Try) and any("ImportError" in ast.dump(h) for h in block.handlers)
            for part in block.body
            for node in ast.walk(part)
        }
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"cwndlab"}:
                for owner in owners.get(top, ()):
                    yield owner.lower().replace("_", "-"), node in guarded or top in OF_GYM


def names(requirements: list[str]) -> set[str]:
    """The names of requirements, without versions; lines of hashes have none."""
    return {
        re.split(r"[<>=!~\[; ]", one)[0].lower() for one in requirements if not one.startswith((" ", "#"))
    }


def test_dependencies_are_what_is_imported_and_extras_what_a_file_can_do_without() -> None:
    """A package that one command needs is an extra, and that command names it if it is missing."""
    found = set(imported())
    optional = {name for name, guarded in found if guarded}
    assert names(PROJECT["dependencies"]) == {name for name, _ in found} - optional - COMES_WITH
    extras = PROJECT["optional-dependencies"]
    assert optional <= names(
        [one for key in ("cluster", "search", "store", "gym", "onnx", "notebook") for one in extras[key]]
    )


def test_every_package_has_an_exact_version_and_hashes() -> None:
    for file in (ROOT / "requirements").glob("*.txt"):
        entries = [one for one in re.split(r"\n(?=\S)", file.read_text()) if not one.startswith("#")]
        assert entries
        for entry in entries:
            assert re.fullmatch(r"[\w.-]+==[\w.]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n?", entry), entry


def test_actions_and_images_are_named_by_their_digests() -> None:
    used = [
        line
        for file in [*(ROOT / ".github/workflows").iterdir(), ROOT / "Containerfile"]
        for line in file.read_text().splitlines()
        if re.match(r" +- uses: |FROM ", line)
    ]
    assert len(used) > 5
    for line in used:
        assert re.search(r"@([0-9a-f]{40} # v[\d.]+|sha256:[0-9a-f]{64}( AS \w+)?)$", line), line


def test_the_lists_of_exact_versions_hold_every_dependency() -> None:
    """`make setup` installs with --no-deps, so a name that `make lock` has not seen is never installed."""
    extras = PROJECT["optional-dependencies"]
    pinned = {
        name: names((ROOT / "requirements" / f"{name}.txt").read_text().splitlines())
        for name in ("run", "dev", "docs", "ci")
    }
    assert (
        names(PROJECT["dependencies"] + KERNELS["dependencies"] + extras["search"]) - {"cwndlab"}
        <= pinned["run"]
    )
    assert (
        names(extras["cluster"] + extras["store"] + extras["dev"]) - {"cwndlab"}
        <= pinned["run"] | pinned["dev"]
    )
    assert names(extras["docs"]) <= pinned["run"] | pinned["dev"] | pinned["docs"]
    assert names(extras["ci"]) <= set().union(*pinned.values())


def test_the_two_distributions_name_each_other_in_the_version_of_the_crates() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert PROJECT["optional-dependencies"]["linux"] == [f"cwndlab-linux=={version}"]
    assert f"cwndlab=={version}" in KERNELS["dependencies"]
