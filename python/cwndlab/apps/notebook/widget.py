"""HTML pages in a notebook: in a frame, or as widgets if anywidget is installed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib import import_module, resources
from pathlib import Path
from typing import Protocol

from cwndlab.base.errors import ExtraError, OutputError, check_arguments
from cwndlab.base.plain_files import read_inside
from cwndlab.base.writing import output_errors, write_atomic


class PageWidget(Protocol):
    """A page in a frame; the class implements `anywidget.AnyWidget`."""

    title: str
    html: str
    height: str
    #: The fragment of the page's address, without `#`, which holds its settings; it can be assigned to.
    address: str


def page_widget(title: str, html: str) -> PageWidget:
    """The widget of a page.

    Raises:
        ExtraError: anywidget is not installed.

    """
    try:
        made: PageWidget = _widget_class()(title=title, html=html, height="60rem")
    except ModuleNotFoundError as error:
        raise ExtraError("a widget", str(error.name), "notebook") from None
    return made


def widget_of_file(title: str, report: Path | None) -> PageWidget:
    """The widget of the report that a run wrote.

    Raises:
        OutputError: the run wrote no report (`report` is None), or it cannot be read.
        ExtraError: anywidget is not installed.

    """
    if report is None:
        raise OutputError("the run left no report; give it a folder: study.run('results')")
    try:
        return page_widget(title, read_inside(report.parent, report.name).decode("utf-8"))
    except OSError as error:
        raise OutputError(f"{report}: cannot be read: {error.strerror}") from error


@lru_cache(maxsize=1)
def _widget_class() -> type:
    """The widget's class, created on first use because anywidget is an optional package."""
    anywidget, traitlets = import_module("anywidget"), import_module("traitlets")
    script = resources.files("cwndlab.report").joinpath("live", "widget.js").read_text(encoding="utf-8")
    traits = {name: traitlets.Unicode().tag(sync=True) for name in ("title", "html", "height", "address")}
    return type("PageWidget", (anywidget.AnyWidget,), {"__module__": __name__, "_esm": script, **traits})


@dataclass(frozen=True)
class ExplorePage:
    """The page of a study's controls; a notebook shows it in a frame."""

    title: str
    html: str = field(repr=False)

    @check_arguments
    def save(self, path: str | Path) -> Path:
        """Writes the page as one file, which works offline.

        >>> study.explore().save("page.html").name
        'page.html'

        Args:
            path: the file.

        Returns:
            The file.

        Raises:
            OutputError: the file cannot be written.

        """
        file = Path(path)
        with output_errors(file):
            write_atomic(file, self.html.encode())
        return file

    def widget(self) -> PageWidget:
        """The page as a widget, whose `address` holds the settings; ExtraError without anywidget."""
        return page_widget(self.title, self.html)

    def _repr_html_(self) -> str:
        """The page in a sandboxed frame, which isolates its scripts and styles."""
        style = "width: 100%; height: 60rem; border: 0"
        return (
            f'<iframe title="{escape(self.title)}" style="{style}" sandbox="allow-scripts allow-downloads" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )
