"""From the view model to HTML and Markdown. What a study says is text: it is escaped, never markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cwndlab.report.view import CountView, ReportView

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset(
    "svg g path rect circle line text tspan defs clipPath title desc linearGradient stop".split()
)
_ATTRIBUTES = frozenset(
    """class width height viewBox version color opacity d x y x1 x2 y1 y2 cx cy r rx ry transform id
    fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap
    stroke-linejoin stroke-miterlimit clip-path offset stop-color font-family font-size font-weight font-style
    text-anchor dominant-baseline""".split()
)
"""Without the label of every single mark: thousands of them help no reader; the figure has one of its own."""


@lru_cache(maxsize=2)
def _environment(markdown: bool) -> Environment:
    return Environment(
        loader=PackageLoader("cwndlab.report"),
        autoescape=not markdown,
        finalize=markdown_text if markdown else None,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


def _source(name: str) -> str:
    environment = _environment(False)
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def html(view: ReportView) -> str:
    """The report as one self-contained page: no script, no request to anywhere."""
    svg = {f.id: Markup(inline_svg(f.svg, f"{f.id}-")) for f in view.figures}
    template = _environment(False).get_template("report.html.j2")
    return template.render(view=_with_safe_url(view), css=Markup(_source("style.css")), svg=svg)


def markdown(view: ReportView) -> str:
    """The report as Markdown, its figures beside it in figures/."""
    text = (
        _environment(True)
        .get_template("report.md.j2")
        .render(view=_with_safe_url(view), raw=Raw, code=markdown_code)
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@dataclass(frozen=True)
class IndexEntry:
    """One study on the index page."""

    title: str
    source: str
    href: str
    """Path of the report, relative to the index."""
    counts: tuple[CountView, ...]
    claim_counts: tuple[CountView, ...]
    ran: str = ""
    """How much was run, and how long it took."""
    picture: str = ""
    """Path of one figure, relative to the index; empty if there is none."""


def index(entries: Sequence[IndexEntry]) -> str:
    """A page that leads to the reports of several studies."""
    template = _environment(False).get_template("index.html.j2")
    return template.render(entries=entries, css=Markup(_source("style.css")))


def _with_safe_url(view: ReportView) -> ReportView:
    """A link of a study leads to the web or nowhere: `javascript:` and the like are dropped."""
    from dataclasses import replace

    parts = urlsplit(view.url)
    if parts.scheme in ("http", "https") and parts.netloc and not re.search(r"[\s<>\"'\\]", view.url):
        return view
    return replace(view, url="")


def inline_svg(svg: str, prefix: str = "") -> str:
    """A figure's SVG for use inside a page: only drawing elements and attributes, no links, no scripts.

    A figure with anything else is a ValueError, not a page with a hole. `prefix` goes before its ids, so
    that figures of one page do not take each other's clips.
    """
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        if not isinstance(element.tag, str) or element.tag.removeprefix(_SVG) not in _ELEMENTS:
            raise ValueError(f"element {element.tag!r} has no place in a figure")
        element.tag = element.tag.removeprefix(_SVG)
        for name in list(element.attrib):
            if name not in _ATTRIBUTES:
                del element.attrib[name]
            elif "url(" in element.attrib[name]:
                inside = re.fullmatch(r"url\(#([\w-]+)\)", element.attrib[name])
                if not inside:
                    raise ValueError(f"attribute {name} refers to {element.attrib[name]!r}")
                element.attrib[name] = f"url(#{prefix}{inside[1]})"
            elif name == "id":
                element.attrib[name] = prefix + element.attrib[name]
            elif name in ("transform", "d"):
                # A hundredth of a pixel is finer than any screen.
                element.attrib[name] = re.sub(r"(\.\d\d)\d+", r"\1", element.attrib[name])
    root.attrib.pop("id", None)
    root.set("viewBox", root.get("viewBox") or f"0 0 {root.get('width')} {root.get('height')}")
    for attribute in ("width", "height"):
        root.attrib.pop(attribute, None)
    return ElementTree.tostring(root, encoding="unicode")


class Raw(str):
    """Text that is Markdown already."""

    __slots__ = ()


def markdown_text(value: Any) -> Any:
    """Text as it stands in Markdown: nothing in it is markup, not even HTML."""
    if isinstance(value, Raw) or not isinstance(value, str):
        return value
    text = " ".join(value.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", text)
    text = re.sub(r"^([#+=-]+)(?=\s|$)", r"\\\1", text)  # what would begin a heading or a list
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)


def markdown_code(text: str) -> Raw:
    """Text as a code span; with a backtick in it, as plain text: a span must not be left early."""
    flat = " ".join(text.split())
    if "`" in flat:
        return Raw(markdown_text(flat))
    return Raw(f"`{flat}`".replace("|", "\\|"))
