"""The way from a study.toml to its report reads straight: few modules, few packages entered again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "walk.py"
MOST_MODULES, MOST_RETURNS = 16, 5


def test_the_walk_from_a_study_to_its_report_has_few_modules_and_returns() -> None:
    done = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=True)
    counts = re.search(r"^(\d+) modules, (\d+) returns: ", done.stdout, flags=re.M)
    assert counts is not None, done.stdout
    modules, returns = map(int, counts.groups())
    assert modules <= MOST_MODULES and returns <= MOST_RETURNS, done.stdout
    assert "plan/plan" in done.stdout and "report/write" in done.stdout, "the run was followed"
