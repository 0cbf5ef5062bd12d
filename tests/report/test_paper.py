"""The paper: in JOSS's format, with numbers that its sources state, and a reference for each citation."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPER = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "paper/paper.bib").read_text(encoding="utf-8")
TOOL = runpy.run_path(str(ROOT / "tools/paper.py"))
#: What JOSS asks for (docs/paper.md of openjournals/joss).
SECTIONS = [
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]


def test_it_has_the_sections_and_the_length_that_joss_asks_for() -> None:
    body = PAPER.split("---\n", 2)[2]
    assert re.findall(r"^# (.*)$", body, flags=re.M) == SECTIONS
    assert 750 <= len(re.sub(r"<!--.*?-->", "", body).split()) <= 1750


def test_sentences_with_numbers_are_those_of_the_pages_that_state_them() -> None:
    stated = TOOL["from_pages"]()
    made, shown = (dict(TOOL["MADE"].findall(text)) for text in (PAPER, README))
    assert stated.items() <= made.items() and made.keys() - stated.keys() == {"finding", "kernel"}
    assert shown and shown.items() <= made.items(), "the README says the same"


def test_every_reference_is_cited_and_has_an_identifier() -> None:
    known = TOOL["entries"](BIBLIOGRAPHY)
    cited = {key.strip("@ ") for keys in TOOL["CITED"].findall(PAPER) for key in keys.split(";")}
    assert cited == known.keys()
    assert all(entry.get("doi") or entry.get("url") for entry in known.values())


def test_the_page_numbers_its_figures_and_lists_its_references() -> None:
    page = TOOL["to_html"](PAPER, BIBLIOGRAPHY)
    assert "Ha et al., 2008" in page and "Riley &amp; Henderson, 2010" in page
    assert [f"<b>Figure {number}.</b>" in page for number in (1, 2, 3)] == [True, True, False]
    assert "10.1145/3012426.3022184" in page
    assert not re.search(r"\\(?:label|autoref)|@\w+[];]|<!--", page)


def test_a_place_without_its_sentence_is_an_error() -> None:
    with pytest.raises(SystemExit, match="there is no sentence kernel"):
        TOOL["renew"]("<!-- made: kernel -->old<!-- end -->", {"finding": ""})
