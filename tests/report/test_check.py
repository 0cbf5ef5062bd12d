"""What is wrong with a study's tables, figures and claims is found before anything is run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import cwndlab
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.results.execution import check_outputs
from cwndlab.study.document import shipped_studies
from small_study import TEXT, edited


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_every_shipped_study_can_be_shown(name: str) -> None:
    check_outputs(Study.load(name).plan())


def test_restricting_the_axes_of_a_run_is_no_error() -> None:
    check_outputs(Study.load("rfc2416").set({"variant": "sack"}).plan())


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
    shutil.copytree(shipped_studies()["rfc2416"].parent, tmp_path / "s")
    text = (tmp_path / "s" / file).read_text()
    assert old in text
    (tmp_path / "s" / file).write_text(text.replace(old, new))
    with pytest.raises(StudyError) as raised:
        cwndlab.run(tmp_path / "s", out=tmp_path / "o")
    assert says in str(raised.value)
    assert Path(str(raised.value.file)).name == file
    assert raised.value.line is not None
    assert not (tmp_path / "o").exists()


RECORDS = '\n[[figures]]\nid = "f"\ntitle = "F"\nkind = "{kind}"\nwhere = {{ iw = 4 }}\n{key}\n'


@pytest.mark.parametrize(
    ("kind", "key", "says"),
    [
        ("queue", 'link = "a>b"', 'the queue of a>b is not recorded; set [probes] queues = ["a>b"]'),
        ("queue", 'link = "a>c"', 'there is no direction "a>c"; did you mean "a>b"'),
        ("time-sequence", 'start = "1s"', "the run ends at 0.05 s"),
        ("time-sequence", 'start = "fast"', "fast"),
        ("time-sequence", "start = -1", "-1 is not a time of the run"),
        ("time-sequence", 'start = "9ms"\nuntil = "8ms"', "this ends before it begins"),
        ("time-sequence", "connection = -1", "must be at least 0"),
        ("time-sequence", "log_x = true", "`log_x` has no effect in a time-sequence figure"),
        ("cdf", 'quantity = "goodput"\nx = "iw"', "`x` has no effect in a cdf figure"),
    ],
)
def test_a_key_of_a_figure_that_cannot_be_drawn_is_named_with_its_line(
    kind: str, key: str, says: str
) -> None:
    text = TEXT + RECORDS.format(kind=kind, key=key)
    with pytest.raises(StudyError, match=re.escape(says)) as raised:
        check_outputs(Study.from_toml(text).plan())
    assert raised.value.line == text.count("\n")


def test_a_figure_of_records_needs_their_probe() -> None:
    text = TEXT + RECORDS.format(kind="cwnd", key="")
    with pytest.raises(
        StudyError, match=re.escape("iw=4: no cwnd are recorded; set [probes] cwnd")
    ) as raised:
        check_outputs(Study.from_toml(text).plan())
    assert raised.value.line == text[: text.index('kind = "cwnd"')].count("\n") + 1
    check_outputs(Study.from_toml(text.replace("[probes]", "[probes]\ncwnd = true")).plan())


def test_a_logarithmic_axis_needs_values_above_zero() -> None:
    figure = (
        '\n[[figures]]\nid = "f"\ntitle = "F"\nkind = "line"\nx = "iw"\nquantity = "goodput"\nlog_x = true\n'
    )
    Study.from_toml(TEXT + figure)
    with pytest.raises(StudyError, match="axis iw has the value 0"):
        Study.from_toml(edited(("values = [1, 4]", "values = [0, 4]")) + figure)
