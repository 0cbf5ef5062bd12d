"""Runs of programs on a kernel in virtual time, for tests."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab_linux.virtual import program_files

NETWORK = """
title = "Programs"
[run]
duration = "6s"
replicates = 1
[topology]
nodes = ["a", "r", "b"]
[[topology.links]]
between = ["a", "r"]
rate = "1Gbps"
delay = "1ms"
[[topology.links]]
name = "neck"
between = ["r", "b"]
rate = "10Mbps"
delay = "19ms"
queue = { kind = "drop-tail", limit = "1BDP" }
[tcp]
profile = "linux-6"
"""
MEASURES = """
[[quantities]]
name = "goodput"
metric = "goodput"
options = { traffic = "x" }
window = ["1s", "5s"]
"""


def entry(app: str, name: str = "x", more: str = "") -> str:
    return f'\n[[traffic]]\nname = "{name}"\nclient = "a"\nserver = "b"\n{more}\napp = {{ {app} }}\n'


def study(*entries: str) -> cwndlab.Study:
    return cwndlab.Study.from_toml(NETWORK + "".join(entries) + MEASURES)


def run(out: Path, *entries: str, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A run's results, and what became of its programs."""
    result = cwndlab.run(study(*entries), out=out, backend="linux-virtual", stack="linux-laws", **options)
    assert result.failures == []
    return result, result.records["programs"].to_pylist()


def needs(*names: str) -> None:
    for name in names:
        if shutil.which(name, path=program_files.ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{name} is not installed")


def goodput(result: Any) -> float:
    ((value,),) = result.results.data.values()
    return float(value)
