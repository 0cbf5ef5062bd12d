"""Mistakes of a study, each with all that is reported: line, column, key, problem, and what would be right.

`mistakes/mistakes.txt` has a block for each: the lines of `study.toml` that it replaces (-), those that it
puts there (+), and the errors.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError

FOLDER = Path(__file__).with_name("mistakes")
TEXT = (FOLDER / "study.toml").read_text(encoding="utf-8")
BLOCKS = (FOLDER / "mistakes.txt").read_text(encoding="utf-8").strip().split("\n\n")


def lines_of(block: str, mark: str) -> str:
    """The text of the lines of a block that begin with a mark."""
    return "\n".join(line[2:] for line in block.split("\n") if line.startswith(mark))


def test_the_study_itself_has_no_mistake() -> None:
    Study.from_toml(TEXT).plan().check()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: lines_of(block, "+ ")[:50])
def test_a_mistake_is_reported_in_full(block: str) -> None:
    old, new = lines_of(block, "- "), lines_of(block, "+ ")
    assert old in TEXT
    with pytest.raises(StudyError) as caught:
        Study.from_toml(TEXT.replace(old, new, 1)).plan().check()
    found = [
        f"{error.line}:{error.column} {error.without_others()}"
        for error in (caught.value, *caught.value.others)
    ]
    assert found == [line for line in block.split("\n") if not line.startswith(("- ", "+ "))]
