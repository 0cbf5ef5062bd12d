"""Errors of a condition and of a zip are those of the grid that has it."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import edited

GRIDS = """
[[grids]]
axes = ["iw"]
[[grids]]
axes = ["iw"]
when = "{when}"
"""


@pytest.mark.parametrize("when", ["iw > nothing", "iw >", "iw > 'a'", "1 / (iw - 1) > 0"])
def test_an_error_in_a_condition_is_found_with_the_line_of_the_condition(when: str) -> None:
    text = edited() + GRIDS.format(when=when)
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text).plan()
    assert caught.value.line == text[: text.index("when = ")].count("\n") + 1


def test_a_condition_that_no_combination_fulfils_leaves_no_cell() -> None:
    nothing = '\n[[grids]]\naxes = ["iw"]\nwhen = "iw > 4"\n'
    with pytest.raises(StudyError, match=r"no cell is left.*no combination fulfils `when`"):
        Study.from_toml(edited() + nothing).plan()
    one = '\n[[grids]]\naxes = ["iw"]\nwhen = "iw >= 4"\n'
    assert [cell.id for cell in Study.from_toml(edited() + one).plan()] == ["iw=4"]
