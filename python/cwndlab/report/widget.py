"""Pages in a notebook as widgets, where anywidget is installed (`pip install 'cwndlab[notebook]'`)."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module, resources
from typing import Protocol

from cwndlab.errors import ExtraError


class PageWidget(Protocol):
    """A page in a frame: an `anywidget.AnyWidget`."""

    title: str
    html: str
    height: str
    #: The part of the page's address behind `#`: the settings of the page, to be read and assigned to.
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


@lru_cache(maxsize=1)
def _widget_class() -> type:
    """The widget's class, made when it is first needed: anywidget is an optional package."""
    anywidget, traitlets = import_module("anywidget"), import_module("traitlets")
    script = resources.files("cwndlab.report").joinpath("live", "widget.js").read_text(encoding="utf-8")
    traits = {name: traitlets.Unicode().tag(sync=True) for name in ("title", "html", "height", "address")}
    return type("PageWidget", (anywidget.AnyWidget,), {"__module__": __name__, "_esm": script, **traits})
