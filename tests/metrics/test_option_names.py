"""Names in the options of quantities."""

from __future__ import annotations

import pytest

from cwndlab.errors import StudyError
from cwndlab.study import Study
from small_study import TEXT, edited


@pytest.mark.parametrize(
    ("metric", "options", "problem"),
    [
        ("goodput", 'traffic = "bluk"', 'there is no traffic "bluk"; did you mean "bulk"'),
        ("jain_index", 'traffic = ["bulk", "web"]', 'there is no traffic "web"'),
        ("drop_rate", 'link = "a>c"', 'there is no direction of a link "a>c"; did you mean "a>b"'),
    ],
)
def test_a_misspelt_name_is_refused_with_its_line(metric: str, options: str, problem: str) -> None:
    text = TEXT + f'\n[[quantities]]\nname = "other"\nmetric = "{metric}"\noptions = {{ {options} }}\n'
    with pytest.raises(StudyError, match=problem) as caught:
        Study.from_toml(text)
    assert caught.value.line == text.count("\n")


def test_a_name_that_only_another_cell_has_is_known() -> None:
    axis = '[axes.who]\nvalues = ["bulk", "other"]\n\n[[quantities]]'
    options = 'unit = "kbit/s"\noptions = { traffic = "other" }'
    Study.from_toml(
        edited(('name = "bulk"', 'name = "$who"'), ("[[quantities]]", axis), ('unit = "kbit/s"', options))
    )
