"""`cwndlab linux build`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .output import echo, printable

linux = typer.Typer(no_args_is_help=True, help="Build the kernel that runs in virtual time.")


@linux.callback()
def _linux() -> None:
    """Keep `build` a word of its own, although it is the only one."""


@linux.command("build")
def linux_build(
    source: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="a Linux 6.12, as .tar.xz or unpacked; default: Debian's package"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="compilers at once; default: all processors")
    ] = None,
    again: Annotated[bool, typer.Option(help="build although it is there")] = False,
) -> None:
    """Build the User-Mode Linux of `--backend linux-virtual`, into the user's cache."""
    from cwndlab.backends.linux_virtual.build import build
    from cwndlab.backends.threads import available

    alive = sys.stderr.isatty()

    def say(line: str) -> None:
        """On a terminal one line that changes."""
        if alive:
            typer.echo(f"\r\x1b[K{printable(line)}", nl=False, err=True)
        else:
            echo(line, err=True)

    try:
        image = build(source, jobs or available(), say, again=again)
    finally:
        if alive:
            echo(err=True)
    echo(f"{image.path}: Linux {image.release}")
