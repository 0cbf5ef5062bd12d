"""The README of a study inside its report."""

from __future__ import annotations

from cwndlab.report.render import readme_html

TABLE = "# Title\n\n## Part\n\n| | rate |\n|---|---|\n| a | 1 |\n\nText with [a page](other.md) and [a link](https://example.org/).\n"


def test_an_empty_heading_of_a_table_is_an_ordinary_cell() -> None:
    html = readme_html(TABLE)
    head, body = html.split("</thead>")
    assert head.count("<td") == head.count("</td>") == 1
    assert head.count("<th>") + head.count("<th ") == head.count("</th>") == 1 and "rate</th>" in head
    assert "<td>a</td>" in body


def test_headings_are_deeper_without_the_title_and_only_links_to_the_web_stay() -> None:
    html = readme_html(TABLE)
    assert "Title" not in html and ">Part</h" in html and "<h2" not in html
    assert 'href="https://example.org/"' in html
    assert "a page" in html and "other.md" not in html
    assert readme_html("") == ""
