"""A study's README as HTML for its report: text, tables and code, and links that lead to the web."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it.token import Token

#: Headings of a README come below those of the report's sections.
DEEPER = 2


def readme_html(text: str) -> str:
    """The README without its title: the report has one. HTML in it is shown as text.

    Links to other files of the study and pictures lead nowhere in a single file: their text is kept.
    """
    if not text:
        return ""
    from markdown_it import MarkdownIt  # results are printed before it is loaded

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + DEEPER - 1)}"
        elif token.children:
            token.children = list(_plain(token.children))
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _plain(children: list[Token]) -> Iterator[Token]:
    """The parts of a paragraph, with links to the web only and without pictures."""
    from markdown_it.token import Token

    leads_to_web: list[bool] = []
    for token in children:
        if token.type == "link_open":
            leads_to_web.append(urlsplit(str(token.attrGet("href") or "")).scheme in ("http", "https"))
            if not leads_to_web[-1]:
                continue
            token.attrs = {"href": str(token.attrGet("href")), "rel": "noreferrer"}
        elif token.type == "link_close" and not leads_to_web.pop():
            continue
        elif token.type == "image":
            token = Token("text", "", 0, content=token.content)
        yield token
