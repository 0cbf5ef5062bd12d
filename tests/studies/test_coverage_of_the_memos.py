"""The pages of where each sentence of a memo is compared name only what exists, and leave nothing out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cwndlab.api import Study

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "evidence" / "coverage").glob("*.md"))
KINDS = ("claim", "table", "figure", "grid", "axis", "sensitivity", "quantity", "test", "file")
REFERENCE = re.compile(rf"\b({'|'.join(KINDS)})s? ((?:`[^`]+`(?:, | and )?)+)")
REASON = re.compile(r"(?:not compared|model): .*\w")


def rows(page: Path) -> Iterator[tuple[str, str]]:
    """The first and the last cell of each line of the page's tables."""
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and not set(line) <= set("|-: ") and cells[-1] != "compared":
            yield cells[0], cells[-1]


def references(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of what a cell names."""
    for kind, names in REFERENCE.findall(text):
        for name in re.findall(r"`([^`]+)`", names):
            yield kind, name


def parts(study: Study) -> dict[str, set[str]]:
    """What there is of each kind."""
    outline = study.outline
    return {
        "claim": {claim.id for claim in study.claims.claims},
        "table": {table.id for table in outline.tables},
        "figure": {figure.id for figure in outline.figures},
        "grid": {grid.name for grid in outline.grids},
        "axis": set(outline.axes),
        "sensitivity": set(outline.sensitivity),
        "quantity": {quantity.name for quantity in outline.quantities},
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_line_is_compared_somewhere_or_says_why_not(page: Path) -> None:
    known = parts(Study.load(page.stem))
    found = list(rows(page))
    assert len(found) > 10
    for sentence, compared in found:
        named = list(references(compared))
        assert named or REASON.search(compared), f"{sentence}: {compared}"
        for kind, name in named:
            there = (ROOT / name.split("::")[0]).exists() if kind in ("test", "file") else name in known[kind]
            assert there, f"{sentence}: no {kind} `{name}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_claim_and_every_published_table_appears(page: Path) -> None:
    study = Study.load(page.stem)
    named = {found for _, compared in rows(page) for found in references(compared)}
    published = {("table", table.id) for table in study.outline.tables if table.published}
    assert published | {("claim", claim.id) for claim in study.claims.claims} <= named
