"""How much of a wrong value an error shows."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import edited


@pytest.mark.parametrize(("length", "shown"), [(58, "'" + "x" * 58 + "'"), (59, "'" + "x" * 56 + "…")])
def test_a_wrong_value_is_shown_up_to_60_characters(length: int, shown: str) -> None:
    """With its quotes; of a longer one 57, and an ellipsis."""
    with pytest.raises(StudyError) as caught:
        Study.from_toml(edited(("replicates = 3", f"replicates = '{'x' * length}'")))
    assert f"{shown} " in caught.value.problem
