"""The steps of docs/guide/add-a-law.md that need no compiler, as the page has them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from cwndlab import _core

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guide/add-a-law.md").read_text()
QUESTION = """
title = "Reno alone"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
flows = [{ cc = "reno" }]
[run]
duration = "1s"
"""


def test_a_scenario_of_a_study_can_name_a_law_of_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("question.toml").write_text(QUESTION)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(program, {})
    text = Path("scenario.json").read_text()
    (example,) = re.findall(r"const AIMD: LawId = LawId\((0x\w+)\)", (EXAMPLE).read_text())
    laws = {json.dumps(tcp["window_law"]) for tcp in json.loads(text)["tcp"]}
    assert any(f"{int(example, 16):032x}" in law for law in laws)
    with pytest.raises(_core.LawFailed, match="is not in this process"):
        _core.run(text, 1, 0)  # this process has no such law; the scenario itself is right


EXAMPLE = ROOT / "crates/cwndlab-engine/examples/aimd.rs"


def test_the_commands_copy_what_exists_and_add_what_it_uses() -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
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
