"""A study is data: a stranger's file runs nothing and reads nothing outside its own folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import edited

SIZES = '[distributions.size]\nfile = "{file}"\nvalues = "bytes"\ncounts = "count"\n\n[run]'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "study"
    inner.mkdir()
    (tmp_path / "secret.csv").write_text("bytes,count\n1,1\n")
    (inner / "mine.csv").write_text("bytes,count\n1,1\n2,3\n")
    (inner / "link.csv").symlink_to(tmp_path / "secret.csv")
    os.mkfifo(inner / "pipe.csv")
    return inner


def load(folder: Path, file: str) -> Study:
    (folder / "study.toml").write_text(edited(("[run]", SIZES.replace("{file}", file))))
    return Study.load(folder)


def test_files_beside_the_study_are_read(folder: Path) -> None:
    cell = load(folder, "mine.csv").plan().cells[0]
    assert cell.compiled.scenario["distributions"]["size"]["counts"] == [1, 3]


@pytest.mark.parametrize("file", ["../secret.csv", "/etc/passwd", "link.csv", "a/../../secret.csv", ".", ""])
def test_a_path_that_leaves_the_folder_is_refused(folder: Path, file: str) -> None:
    with pytest.raises(StudyError, match=r"outside the study's folder"):
        load(folder, file).plan().check()


def test_what_is_no_plain_file_is_not_opened(folder: Path) -> None:
    with pytest.raises(StudyError, match="no such file"):
        load(folder, "pipe.csv").plan().check()  # opening the pipe would wait for ever


def test_published_tables_are_confined_too(folder: Path) -> None:
    table = '[[tables]]\nid = "t"\ntitle = "t"\nrows = ["iw"]\npublished = "../secret.csv"\n'
    table += 'columns = [{ heading = "h", quantity = "goodput" }]\n'
    (folder / "study.toml").write_text(edited() + table)
    with pytest.raises(StudyError, match=r"outside the study's folder"):
        Study.load(folder)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('touch {mark}')",
        "open('{mark}', 'w')",
        "(lambda: open('{mark}', 'w'))()",
        "[open('{mark}', 'w') for x in [1]]",
        "webs.__class__.__base__.__subclasses__()",
        "f'{open(1)}'",
        "max.__self__",
        "10 ** 10 ** 10",
        "'x' * 10 ** 9",
    ],
)
def test_expressions_compute_and_do_nothing_else(tmp_path: Path, expression: str) -> None:
    mark = tmp_path / "mark"
    text = edited(("$webs", f"= {expression.replace('{mark}', str(mark))}"))
    with pytest.raises(StudyError):
        Study.from_toml(text)
    with pytest.raises(StudyError):
        Study.from_toml(
            edited(("[[quantities]]", f'[[grids]]\naxes = ["iw"]\nwhen = """{expression}"""\n[[quantities]]'))
        )
    assert not mark.exists()


def test_no_module_of_a_study_is_imported(folder: Path) -> None:
    for name in ("study.py", "conftest.py", "godput.py", "__init__.py"):
        (folder / name).write_text("raise SystemExit('executed')")
    (folder / "study.toml").write_text(edited(('metric = "goodput"', 'metric = "godput"')))
    with pytest.raises(StudyError, match="no metric"):
        Study.load(folder)
    assert str(folder) not in sys.path
