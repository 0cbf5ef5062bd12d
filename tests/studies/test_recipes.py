"""The recipes for networks and traffic: each is a study that runs and measures what it says."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import cwndlab
from cwndlab import Study

PAGE = (Path(__file__).parents[2] / "docs/guide/recipes.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^### (.+?)\n.*?^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_page_has_its_recipes() -> None:
    assert len(RECIPES) == PAGE.count("\n### ") == 37


@pytest.mark.parametrize(("name", "text"), RECIPES, ids=[name for name, _ in RECIPES])
def test_a_recipe_runs_and_measures_what_it_says(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    (tmp_path / "up.trace").write_text("".join(f"{2 * k}\n" for k in range(1, 500)))
    run = cwndlab.run(Study.load(tmp_path), replicates=1)
    assert not run.failures
    values = [row["value"] for row in run.estimates.to_arrow().to_pylist()]
    assert values and any(math.isfinite(value) and value > 0 for value in values)
