"""What docs/guide/add-a-law.md prints, for what the test of laws in crates does not run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guide/add-a-law.md").read_text()
EXAMPLE = ROOT / "crates/cwndlab-engine/examples/aimd.rs"


def test_the_commands_copy_what_exists_and_add_what_it_uses() -> None:
    (commands,) = re.findall(r"```sh\n(cargo new.*?)```", PAGE, flags=re.DOTALL)
    paths = re.findall(r"\.\./cwndlab/(\S+)", commands)
    assert paths and all((ROOT / path).exists() for path in paths)
    used = set(re.findall(r"^use (\w+)", EXAMPLE.read_text(), flags=re.MULTILINE))
    added = {Path(path).name.replace("-", "_") for path in paths if path.startswith("crates/cwndlab")} - {
        "aimd.rs"
    }
    added |= set(re.findall(r"^cargo add (\w+)$", commands, flags=re.MULTILINE))
    assert used <= added
    names = {
        tomllib.loads((ROOT / path / "Cargo.toml").read_text())["package"]["name"]
        for path in paths
        if path[-3:] != ".rs"
    }
    assert {name.replace("-", "_") for name in names} <= added
