"""From the view model to HTML and Markdown. What a study says is text: it is escaped, never markup."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from cwndlab.files import user_cache

from .model import CountView, ReportView, TableView

if TYPE_CHECKING:
    from jinja2 import Environment, FileSystemBytecodeCache

    from cwndlab.stats.difference import DatasetComparison

    from .figures import Drawing


def _template_cache() -> FileSystemBytecodeCache | None:
    """Compiled templates, cached next to Python's compiled modules or in the user's cache."""
    from jinja2 import FileSystemBytecodeCache

    if sys.dont_write_bytecode:
        return None
    folder = Path(__file__).with_name("__pycache__")
    if not os.access(folder, os.W_OK):
        try:
            folder = user_cache() / "templates"
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # no home
            return None
    return FileSystemBytecodeCache(str(folder), "template-%s.cache")


@lru_cache(maxsize=2)
def _environment(markdown: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # results are printed before it is loaded

    return Environment(
        loader=PackageLoader("cwndlab.report"),
        autoescape=not markdown,
        finalize=markdown_text if markdown else None,
        bytecode_cache=_template_cache(),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


def _source(name: str) -> str:
    environment = _environment(False)
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def html(view: ReportView) -> bytes:
    """The report as one self-contained page, complete without its scripts: no request to anywhere."""
    svg = {}
    if view.drawings:
        from .svg import inline_svg  # parses SVG, for which a page without figures has no use

        svg = {f.id: Markup(inline_svg(f.svg, f"{f.id}-", f.title, f.alt)) for f in view.drawings}
    template = _environment(False).get_template("report.html.j2")
    css = Markup(_source("style.css") + "".join(_all_labels(view)))
    # The engine, most of a small page, is ASCII: on its own it is encoded faster than in a page that is not.
    parts = template.generate(view=_with_safe_url(view), css=css, svg=svg)
    return b"".join(part.encode() for part in parts)


def _all_labels(view: ReportView) -> Iterator[str]:
    """The headings of the columns of all tables: on a telephone each number has its own."""
    for table in view.tables:
        if isinstance(table, TableView) and table.rows:
            numbers = [number.heading for number in table.rows[0].numbers]
            yield from _labels(f"table-{table.id}", [*table.row_headings, *numbers])
    if view.sensitivity:
        yield from _labels("sensitivity", ["choice", "value", "claims that hold", *view.sensitivity.headings])


def _labels(section: str, headings: Sequence[str]) -> Iterator[str]:
    """A style rule for each column: a label in every cell would make a page a tenth longer."""
    for k, heading in enumerate(headings, start=1):
        column = f"#{_css_escaped(section)} .grid tr > :nth-child({k})"
        yield f'{column} {{ --label: "{_css_escaped(heading)}" }}\n'


def _css_escaped(text: str) -> str:
    """Text for a string or a name in a style sheet: nothing in it can end either."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda sign: f"\\{ord(sign[0]):x} ", text)


def explore(view: Any) -> str:
    """A page of controls and graphs."""
    css = Markup(_source("style.css") + _source("explore.css"))
    return _environment(False).get_template("explore.html.j2").render(view=view, css=css)


def lessons(entries: Sequence[tuple[str, str, str]]) -> str:
    """A page that leads to lessons: file, title and paragraph of each."""
    css = Markup(_source("style.css"))
    return _environment(False).get_template("lessons.html.j2").render(lessons=entries, css=css)


def comparison(
    title: str, names: tuple[str, str], found: DatasetComparison, drawings: Sequence[Drawing]
) -> str:
    """Two runs on one self-contained page."""
    from .svg import inline_svg

    svg = {drawing.id: Markup(inline_svg(drawing.svg, f"{drawing.id}-")) for drawing in drawings}
    template = _environment(False).get_template("comparison.html.j2")
    css = Markup(_source("style.css"))
    return template.render(title=title, names=names, found=found, drawings=drawings, css=css, svg=svg)


def markdown(view: ReportView) -> str:
    """The report as Markdown, with its figures in figures/."""
    text = (
        _environment(True)
        .get_template("report.md.j2")
        .render(view=_with_safe_url(view), raw=Raw, code=markdown_code)
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def scorecard_html(**content: Any) -> str:
    """A scorecard as one self-contained page."""
    return (
        _environment(False)
        .get_template("scorecard.html.j2")
        .render(css=Markup(_source("style.css")), **content)
    )


def scorecard_markdown(**content: Any) -> str:
    """A scorecard as Markdown."""
    text = _environment(True).get_template("scorecard.md.j2").render(raw=Raw, **content)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


class IndexEntry(NamedTuple):
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
    live: bool = False
    """Whether the report contains the simulator."""


def index(entries: Sequence[IndexEntry], lessons: Sequence[tuple[str, str, str]] = ()) -> str:
    """A page that leads to the reports of several studies, and to lessons (address, title, topic)."""
    template = _environment(False).get_template("index.html.j2")
    live = [entry.live for entry in entries]
    how_many = "all" if all(live) else "some" if any(live) else "none"
    return template.render(entries=entries, live=how_many, lessons=lessons, css=Markup(_source("style.css")))


def _with_safe_url(view: ReportView) -> ReportView:
    """A link of a study leads to the web or nowhere: `javascript:` and the like are dropped."""
    parts = urlsplit(view.url)
    if parts.scheme in ("http", "https") and parts.netloc and not re.search(r"[\s<>\"'\\]", view.url):
        return view
    return view._replace(url="")


class Raw(str):
    """Text that is Markdown already."""

    __slots__ = ()


def markdown_text(value: Any) -> Any:
    """Text escaped for Markdown: nothing in it is markup, not even HTML."""
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
