"""The limits of expressions and of the files that a study names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study import files
from cwndlab.study.document import Document
from cwndlab.study.grammar import ExpressionError, parse


def test_an_expression_has_at_most_2000_characters() -> None:
    assert parse("1" + " " * 1998 + "2" * 0 + "\n") is not None
    assert parse("1" + " " * 1999) is not None
    with pytest.raises(ExpressionError, match="longer than 2000 characters") as caught:
        parse("1" + " " * 2000)
    assert caught.value.column == 2000


@pytest.mark.parametrize(("signs", "allowed"), [(39, True), (40, False), (41, False)])
def test_an_expression_is_nested_at_most_40_deep(signs: int, allowed: bool) -> None:
    """A number is one level, each sign before it another."""
    text = "-" * signs + "1"
    if allowed:
        assert parse(text) is not None
    else:
        with pytest.raises(ExpressionError, match="nested deeper than 40"):
            parse(text)


def test_a_line_of_a_table_with_too_many_fields_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x, y\n1,2\n3,4,5\n")
    with pytest.raises(StudyError, match="3 fields where the heading has 2") as caught:
        files.read_csv(tmp_path, "a.csv")
    assert caught.value.line == 3
    (tmp_path / "a.csv").write_text("x, y\n 1 ,2\n3\n")
    table = files.read_csv(tmp_path, "a.csv")
    assert (table.columns, table.lines) == (["x", "y"], [{"x": "1", "y": "2"}, {"x": "3", "y": ""}])
    assert table.numbers("x", float) == [1.0, 3.0]
    (tmp_path / "a.csv").write_text("\n")
    with pytest.raises(StudyError, match="the file is empty"):
        files.read_csv(tmp_path, "a.csv")


def test_a_file_that_is_too_large_or_cannot_be_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x" * 10)
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    assert files.read_text(file, what="a text") == "x" * 10
    monkeypatch.setattr(files, "MAX_BYTES", 9)
    with pytest.raises(StudyError, match=r"the file (is|has) .*9") as caught:
        files.read_text(file, what="a text")
    assert "cannot be read" not in str(caught.value)

    def refuse(path: Path, most: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "read_plain", refuse)
    with pytest.raises(StudyError, match="the file cannot be read: Permission denied"):
        files.read_text(file, what="a text")
    with pytest.raises(StudyError, match="this is a folder, not a text"):
        files.read_text(tmp_path, what="a text")


def test_a_document_is_a_key_whatever_was_changed() -> None:
    """Studies are kept by their documents; what is not hashed still tells them apart."""
    plain = Document("a", {"x": 1}, "x = 1")
    changed = Document("a", {"x": 1}, "x = 1", changes={"x": 2}, chosen={"iw": (1,)}, claims=[{"id": "c"}])
    assert hash(plain) == hash(changed) and plain != changed and len({plain, changed}) == 2
    assert hash(plain) != hash(Document("b", {"x": 1}, "x = 1"))
    assert "x = 1" not in repr(plain) and "claims" not in repr(changed)
