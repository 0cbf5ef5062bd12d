"""The recipes for networks and traffic: each is a study that runs and measures what it says."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path

import pytest

import cwndlab

ROOT = Path(__file__).parents[2]
IMAGES = runpy.run_path(str(ROOT / "tools/images.py"))
PAGE = (ROOT / "docs/guide/recipes.md").read_text(encoding="utf-8")
RECIPES = list(IMAGES["recipes"]().items())


def test_the_page_has_its_recipes() -> None:
    assert len(RECIPES) == PAGE.count("\n### ") == 38


@pytest.mark.parametrize(("name", "text"), RECIPES, ids=[name for name, _ in RECIPES])
def test_a_recipe_runs_and_measures_what_it_says(name: str, text: str, tmp_path: Path) -> None:
    run = cwndlab.run(IMAGES["recipe_study"](text, tmp_path), replicates=1)
    assert not run.failures
    values = [row["value"] for row in run.estimates.to_arrow().to_pylist()]
    assert values and any(math.isfinite(value) and value > 0 for value in values)


def words(svg: str) -> set[str]:
    """The texts of a picture, without numbers."""
    return {text for text in re.findall(r">([^<>]*[a-z][^<>]*)</text>", svg)}


@pytest.mark.parametrize(("name", "text"), RECIPES, ids=[name for name, _ in RECIPES])
def test_the_page_shows_the_first_figure_of_a_recipe(name: str, text: str) -> None:
    file = f"images/recipes/{IMAGES['slug'](name)}.svg"
    assert re.search(rf"^!\[.+\]\(\.\./{re.escape(file)}\)$", PAGE, re.MULTILINE)
    shown = words((ROOT / "docs" / file).read_text(encoding="utf-8"))
    assert shown and shown == words(IMAGES["recipe_picture"](text, replicates=1))


def test_each_picture_is_of_a_recipe() -> None:
    files = {path.stem for path in (ROOT / "docs/images/recipes").iterdir()}
    assert files == {IMAGES["slug"](name) for name, _ in RECIPES}
