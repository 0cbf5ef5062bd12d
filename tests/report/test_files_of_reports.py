"""Which files a report has, and when pictures are written again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cwndlab.report import write


@pytest.mark.parametrize(
    ("pictures", "kept", "written"),
    [
        (False, (), []),
        (True, (), ["a.pdf", "a.png", "b.pdf", "b.png"]),
        (False, ("b.pdf",), ["b.pdf"]),
        (False, ("a.png", "b.png"), ["a.png", "b.png"]),
    ],
)
def test_pictures_are_written_if_asked_for_or_if_there_are_some_already(
    pictures: bool, kept: tuple[str, ...], written: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "figures").mkdir()
    for name in kept:
        (tmp_path / "figures" / name).write_bytes(b"old")

    def drawing(name: str) -> Any:
        files = {kind: lambda kind=kind: f"{name} {kind}".encode() for kind in ("pdf", "png")}
        return SimpleNamespace(id=name, svg_file=f"{name} svg", **files)

    monkeypatch.setattr(write.render, "report_markdown", lambda view: "markdown")
    monkeypatch.setattr(write.render, "report_html", lambda view: "html")
    monkeypatch.setattr(write, "save_summary", lambda judged, folder, *words: None)
    view = SimpleNamespace(drawings=[drawing("a"), drawing("b")], finding="f", undecided="u")
    write.write(cast(Any, view), cast(Any, None), tmp_path, pictures=pictures)
    pages = [(tmp_path / f"report.{kind}").read_text() for kind in ("md", "html")]
    assert pages == ["markdown", "html"]
    found = {path.name: path.read_text() for path in (tmp_path / "figures").iterdir()}
    assert found == {
        "a.svg": "a svg", "b.svg": "b svg", **{name: name.replace(".", " ") for name in written},
    }  # fmt: skip
