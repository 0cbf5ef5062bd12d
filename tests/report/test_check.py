"""What is wrong with a study's tables, figures and claims is found before anything is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import cwndlab
from cwndlab.errors import StudyError
from cwndlab.report.study import check_outputs
from cwndlab.spec.load import shipped
from cwndlab.study import Study


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_study_can_be_shown(name: str) -> None:
    check_outputs(Study.load(name))


def test_restricting_the_axes_of_a_run_is_no_error() -> None:
    check_outputs(Study.load("rfc2416").set({"variant": "sack"}))


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("claims.toml", "drops[one] ==", "dorps[one] ==", 'did you mean "drops"'),
        ("claims.toml", "variant=tahoe", "variant=taho", 'did you mean "tahoe"'),
        ("study.toml", 'quantity = "delivery"', 'quantity = "timeouts"', "figures.head-start"),
    ],
)
def test_a_mistake_stops_a_study_before_it_is_run(
    tmp_path: Path, file: str, old: str, new: str, says: str
) -> None:
    shutil.copytree(shipped()["rfc2416"].parent, tmp_path / "s")
    text = (tmp_path / "s" / file).read_text()
    assert old in text
    (tmp_path / "s" / file).write_text(text.replace(old, new))
    with pytest.raises(StudyError) as raised:
        cwndlab.run(tmp_path / "s", out=tmp_path / "o")
    assert says in str(raised.value)
    assert not (tmp_path / "o").exists()
