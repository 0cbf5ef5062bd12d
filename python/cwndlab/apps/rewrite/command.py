"""`cwndlab report`: rewrite the report of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cwndlab.cli.output import echo


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a result folder of `run`")],
    pdf: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also print it, with bookmarks; needs Chromium")
    ] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="also write the figures as PDF and PNG, for papers and slides")
    ] = False,
) -> None:
    """Rewrite the report of a finished run."""
    from cwndlab.results.execution import report_again

    page = report_again(folder, pictures=pictures)
    echo(f"report: {page}")
    if pdf is not None:
        from .pdf import print_pdf

        echo(f"PDF: {print_pdf(page, pdf)}")
