"""`cwndlab explore`: a page with sliders for a study's parameters, and runs that follow them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import OutputError
from cwndlab.cli.arguments import CcOption, MetricOption, MoreSets, SetOption, load, reject_options, studies
from cwndlab.cli.output import echo

if TYPE_CHECKING:
    from cwndlab.base.laws import LawCode


def _studies_and_lessons(incomplete: str) -> list[str]:
    """The names of lessons and shipped studies that start with `incomplete`."""
    from .lessons import NAMES

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
    cc: CcOption = None,
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

    The page starts from the first cell that --set leaves. It runs the engine itself and works offline; with
    --cc FILE.py:CLASS this command runs it, next to CUBIC if no study is named.
    """
    from . import lessons
    from .controls import derive_study
    from .page import address, page

    laws: list[LawCode] = []
    start = ""
    if study is not None or cc:
        echo("Compiling the settings of the sliders …", err=True)
    if cc is None and (study is None or study in lessons.NAMES):
        reject_options(ctx, "a lesson", ("--out", "--port", "--browser"))
        pages = lessons.pages() if study is None else {"index.html": lambda: lessons.page(study)}
    else:
        name = study or lessons.OWN_LAW
        known = str(lessons.FOLDER / name) if name in (*lessons.NAMES, lessons.OWN_LAW) else name
        chosen = load(known, set_, more, cc=cc, metrics=metric)
        derived, laws = derive_study(chosen), list(chosen.laws.values())
        start = next(
            (address({c.name: law}) for c in derived.controls for law in chosen.laws if c.has_stop(law)), ""
        )
        made = page(derived, served=bool(laws) and out is None)
        pages = {"index.html": lambda: made}
    if out is not None:
        _write(pages, out)
        return
    _serve(pages, port, browser, laws, start)


def _write(pages: Mapping[str, Callable[[], str]], out: Path) -> None:
    from cwndlab.base.writing import output_errors, write_atomic

    if len(pages) == 1:
        if out.is_dir():
            raise OutputError(f"{out}: is a folder; name a file")
        files = {out: next(iter(pages.values()))}
    else:
        files = {out / name: make for name, make in pages.items()}
    for file, make in files.items():
        echo(f"writing {file} …", err=True)
        with output_errors(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, make().encode())
    echo(f"page: {next(iter(files))}")


def _serve(
    pages: Mapping[str, Callable[[], str]], port: int, browser: bool, laws: Sequence[LawCode], start: str
) -> None:
    import webbrowser

    from .server import PageServer

    try:
        server = PageServer(pages, port, laws)
    except OSError as error:
        raise OutputError(f"port {port}: {error.strerror}; leave out --port") from None
    with server:
        echo(f"page: {server.url}{start}\nCtrl-C ends it.")
        if browser:
            webbrowser.open(server.url + start)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            echo("")
