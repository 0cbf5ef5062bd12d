"""Replacement of a generated part of a page, between the comments that mark it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def replace_part(page: Path, begin: str, end: str, part: str) -> None:
    """Replaces the text between the lines `begin` and `end` of a page."""
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n{part}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def table_row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"
