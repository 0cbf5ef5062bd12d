"""Names of studies, braces in texts, and kernels: what one value means, and what several do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study.resolve import resolve_text


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "a study is a shipped name or a file"),
        ("rfc2416\0", "a study is a shipped name or a file"),
        ('title = "T"\n', "this is the text of a study, not its name or file"),
    ],
)
def test_what_is_neither_a_name_nor_a_file_is_an_error(
    name: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('title = "of this folder"\n')
    with pytest.raises(StudyError, match=problem):
        Study.load(name)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a {{ b", "a { b"),
        ("a }} b", "a } b"),
        ("{{x}}", "{x}"),
        ("{x}pkt", "3pkt"),
        ("$x", 3),
        ("= 2 * x", 6),
        ("plain", "plain"),
    ],
)
def test_braces_are_references_unless_they_are_doubled(text: str, value: object) -> None:
    assert resolve_text(text, {"x": 3}) == value


@pytest.mark.parametrize(
    ("written", "names"),
    [("6.12", None), (["6.12"], ["6.12"]), ("6.12,7.3", ["6.12", "7.3"]), (["6.12", "7.3"], ["6.12", "7.3"])],
)
def test_a_list_of_kernels_is_an_axis_and_one_name_is_none(written: object, names: list[str] | None) -> None:
    study = Study.load("rfc2416").set({"grid": "minute", "run.kernel": written})
    assert study.base.run.kernel == "6.12"
    axis = study.outline.axes.get("kernel")
    assert (None if axis is None else list(axis.names)) == names
