"""`cwndlab explore`: a page on which a study's parameters are moved and its runs follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from cwndlab.errors import OutputError

from .arguments import MetricOption, MoreSets, SetOption, load, reject_options, studies
from .output import echo


def _studies_and_lessons(incomplete: str) -> list[str]:
    """The lessons and shipped studies whose names begin with this."""
    from cwndlab.explore.lessons import NAMES

    return [*(name for name in NAMES if name.startswith(incomplete)), *studies(incomplete)]


def explore(
    ctx: typer.Context,
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]",
            help="a shipped study's name, a study file, or a lesson's name; default: the lessons",
            autocompletion=_studies_and_lessons,
        ),
    ] = None,
    more: MoreSets = None,
    set_: SetOption = None,
    metric: MetricOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="write the page to a file instead of serving it (lessons: to a folder)",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="of this machine; default: a free one")] = 0,
    browser: Annotated[bool, typer.Option(help="open the page in a browser")] = True,
) -> None:
    """Open a page with a slider for each parameter of a study, and graphs that follow the sliders.

    The page starts from the first cell that --set leaves. It runs the engine itself and works offline.
    """
    from cwndlab.explore import lessons
    from cwndlab.explore.controls import derive_study
    from cwndlab.explore.page import page

    if study is None or study in lessons.NAMES:
        reject_options(ctx, "a lesson", ("--out", "--port", "--browser"))
        pages = lessons.pages() if study is None else {"index.html": lambda: lessons.page(study)}
    else:
        chosen = load(study, set_, more, metrics=metric)
        pages = {"index.html": lambda: page(derive_study(chosen))}
    if out is not None:
        _write(pages, out)
        return
    if study is not None:  # what is wrong with it is to end the command, not to come from the server
        echo("Compiling the settings of the sliders …", err=True)
        made = pages["index.html"]()
        pages = {"index.html": lambda: made}
    _serve(pages, port, browser)


def _write(pages: Mapping[str, Callable[[], str]], out: Path) -> None:
    from cwndlab.writing import write_atomic, writing

    if len(pages) == 1:
        if out.is_dir():
            raise OutputError(f"{out}: is a folder; name a file")
        files = {out: next(iter(pages.values()))}
    else:
        files = {out / name: make for name, make in pages.items()}
    for file, make in files.items():
        echo(f"writing {file} …", err=True)
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, make().encode())
    echo(f"page: {next(iter(files))}")


def _serve(pages: Mapping[str, Callable[[], str]], port: int, browser: bool) -> None:
    import webbrowser

    from cwndlab.explore.page import PageServer

    try:
        server = PageServer(pages, port)
    except OSError as error:
        raise OutputError(f"port {port}: {error.strerror}; leave out --port") from None
    with server:
        echo(f"page: {server.url}\nCtrl-C ends it.")
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            echo("")
