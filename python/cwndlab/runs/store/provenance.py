"""The content of provenance.json: versions, seed, platform and complete scenarios, to reproduce a result."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from cwndlab import _core

if TYPE_CHECKING:
    from cwndlab.plan.plan import Plan


def git_hash(here: Path = Path(__file__).resolve().parent) -> str | None:
    """The commit of the source tree from which cwndlab runs; None if cwndlab is installed.

    "+" is appended if a tracked file is modified, or if crates/ or python/ have an untracked file.
    """
    command = ["git", "status", "--porcelain=v2", "--branch"]
    try:
        top = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)
        if top is None or not (top / "crates" / "cwndlab-engine").exists():
            return None  # an installed package, possibly below another repository
        done = subprocess.run(command, cwd=top, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    changes = [line for line in lines if not line.startswith("#")]
    modified = any(
        not line.startswith("? ") or line.startswith(("? crates/", "? python/")) for line in changes
    )
    return None if commit == "(initial)" else commit + "+" * modified


class Commit:
    """Finds the commit of the source tree with git, in the background while a study runs."""

    def __init__(self) -> None:
        self._found: list[str | None] = []
        self._thread = Thread(target=lambda: self._found.append(git_hash()))
        self._thread.start()

    def wait(self) -> str | None:
        """Waits for git, and returns the result of `git_hash`."""
        self._thread.join()
        return self._found[0]


def provenance(
    plan: Plan,
    *,
    commit: str | None,
    replicates: Mapping[str, int],
    requested: Mapping[str, int],
    command: Sequence[str],
    began: datetime,
    packets: int,
    performed: int,
    ran_on: str,
) -> dict[str, Any]:
    """The content of provenance.json; `replicates` has the number of measured replicates of each cell."""
    study = plan.study
    first = json.loads(plan.cells[0].completed_scenario)
    ended = datetime.now(UTC)
    return {
        "study": study.name,
        "title": study.title,
        "cwndlab": _core.version(),
        "engine": _core.engine_digest(),
        "git": commit,
        "seed": plan.seed,
        "set": {axis: list(values) for axis, values in study.document.chosen.items()},
        "changed": dict(study.document.changes),
        "command": list(command),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": platform.machine(),
        "ran_on": ran_on,
        "began": began.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round((ended - began).total_seconds(), 3),
        "replicates_run": performed,
        "packet_hops_run": packets,
        "scenario": first,
        "cells": [
            {
                "id": cell.id,
                "axes": dict(cell.axes),
                "sensitivity": cell.sensitivity,
                "replicates": replicates[cell.id],
                "requested": requested[cell.id],
                "scenario_sha256": hashlib.sha256(cell.scenario.encode()).hexdigest(),
                "differs_from_first": differences(first, json.loads(cell.completed_scenario)),
            }
            for cell in plan.cells
        ],
    }


def differences(a: Any, b: Any, at: str = "") -> dict[str, Any]:
    """The values of `b` that differ from those of `a`, by their dotted paths."""
    if a == b:
        return {}
    if isinstance(a, dict) and isinstance(b, dict):
        changed: dict[str, Any] = {}
        for key in [*a, *(key for key in b if key not in a)]:
            changed |= differences(a.get(key), b.get(key), f"{at}.{key}" if at else key)
        return changed
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        changed = {}
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            changed |= differences(x, y, f"{at}[{index}]")
        return changed
    return {at: b}
