"""Renders the view model to HTML and Markdown. Texts from a study are escaped, never treated as markup."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from markupsafe import Markup

from cwndlab.base.writing import user_cache

from .model import ReportView
from .palette import DARK, PALETTE

if TYPE_CHECKING:
    from jinja2 import Environment, FileSystemBytecodeCache
    from markdown_it.token import Token

    from .figures import Drawing


def _template_cache() -> FileSystemBytecodeCache | None:
    """The cache of compiled templates, in __pycache__ or the user's cache; None if neither is writable."""
    from jinja2 import FileSystemBytecodeCache

    if sys.dont_write_bytecode:
        return None
    folder = Path(__file__).with_name("__pycache__")
    if not os.access(folder, os.W_OK):
        try:
            folder = user_cache() / "templates"
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # no home directory, or the folder cannot be created
            return None
    return FileSystemBytecodeCache(str(folder), "template-%s.cache")


@lru_cache(maxsize=2)
def _environment(markdown: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # loads late: results are printed first

    return Environment(
        loader=PackageLoader("cwndlab.report"),
        autoescape=not markdown,
        finalize=markdown_text if markdown else None,
        bytecode_cache=_template_cache(),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


def style(name: str) -> str:
    """The CSS of this name among the templates."""
    environment = _environment(False)
    assert environment.loader is not None
    return environment.loader.get_source(environment, f"{name}.css")[0]


def _colours() -> str:
    """The CSS of flows' colours: variables for tables and graphs, and rules for figures on a dark page."""
    light = "".join(f"--s{k}: {colour}; " for k, colour in enumerate(PALETTE))
    dark = "".join(f"--s{k}: {colour}; " for k, colour in DARK.items())
    figures = "".join(
        f'[{a}="{PALETTE[k]}"] {{ {a}: {c}; }} ' for k, c in DARK.items() for a in ("fill", "stroke")
    )
    return (
        f":root {{ {light}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} {figures}}}"
    )


def page(template: str, *, css: str = "", drawings: Sequence[Drawing] = (), **content: Any) -> bytes:
    """A self-contained page, which loads nothing. `css` is added to the CSS that all pages share."""
    svg = {}
    if drawings:
        from .svg import inline_svg  # imports an XML parser, which only figures need

        svg = {
            f.id: Markup(
                inline_svg(f.svg, f"{f.id}-", f.title, f.alt, "wide")
                + inline_svg(f.narrow_svg, f"{f.id}-narrow-", f.title, f.alt, "narrow")
            )
            for f in drawings
        }
    css = f"{_colours()}\n{style('style')}{css}"
    compiled = _environment(False).get_template(f"{template}.j2")
    # Encode in parts: the engine, most of a small page, is ASCII, which is encoded faster.
    parts = compiled.generate(css=Markup(css), svg=svg, drawings=drawings, **content)
    return b"".join(part.encode() for part in parts)


def markdown(template: str, **content: Any) -> str:
    """The Markdown of a page."""
    text = _environment(True).get_template(f"{template}.j2").render(raw=Raw, code=markdown_code, **content)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def report_html(view: ReportView) -> bytes:
    """The report as an HTML page, which is complete even without its scripts."""
    return page("report.html", drawings=view.drawings, view=_with_safe_url(view))


def report_markdown(view: ReportView) -> str:
    """The report as Markdown, with links to figures/."""
    return markdown("report.md", view=_with_safe_url(view))


def _with_safe_url(view: ReportView) -> ReportView:
    """The view without its link unless that is a web address: `javascript:` and the like are dropped."""
    parts = urlsplit(view.url)
    if parts.scheme in ("http", "https") and parts.netloc and not re.search(r"[\s<>\"'\\]", view.url):
        return view
    return view._replace(url="")


class Raw(str):
    """Text that is already Markdown."""

    __slots__ = ()


def markdown_text(value: Any) -> Any:
    """Text escaped for Markdown, so that none of it is markup or HTML; other values are unchanged."""
    if isinstance(value, Raw) or not isinstance(value, str):
        return value
    text = " ".join(value.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", text)
    text = re.sub(r"^([#+=-]+)(?=\s|$)", r"\\\1", text)  # characters that would start a heading or a list
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)


def markdown_code(text: str) -> Raw:
    """Text as a code span, or as plain text if it has a backtick, which would end the span."""
    flat = " ".join(text.split())
    if "`" in flat:
        return Raw(markdown_text(flat))
    return Raw(f"`{flat}`".replace("|", "\\|"))


#: The level in the report of a README's headings of level 1.
DEEPER = 2


def readme_html(text: str) -> str:
    """The README as HTML, without its title, since the report has one. HTML in it is shown as text.

    Pictures and links to other files of the study cannot work in a single file: only their text is kept.
    """
    if not text:
        return ""
    from markdown_it import MarkdownIt  # loads late: results are printed first

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for place, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + DEEPER - 1)}"
        elif token.type == "th_open" and not tokens[place + 1].content:
            token.tag = tokens[place + 2].tag = "td"  # screen readers require text in a heading
        elif token.children:
            token.children = list(_plain(token.children))
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _plain(children: list[Token]) -> Iterator[Token]:
    """The tokens of a paragraph without pictures and without links except those to the web."""
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
