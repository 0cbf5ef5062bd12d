"""`cwndlab linux`: kernels that run in virtual time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .output import echo, printable

linux = typer.Typer(
    no_args_is_help=True, help="Build kernels that run in virtual time, list and remove them."
)


@linux.command("build")
def linux_build(
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="SERIES|PATH",
            help="6.12 or 7.3 from Debian, or a source as .tar.xz or folder; default: 6.12",
        ),
    ] = None,
    patch: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="a patch to apply (-p1); repeatable")
    ] = None,
    law: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.c", help="a congestion control to add, `tcp_congestion_ops` in C; repeatable"
        ),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(metavar="KEY=…", help="a setting of the kernel, such as TCP_MD5SIG=y")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="compilers at once; default: all processors")
    ] = None,
    again: Annotated[bool, typer.Option(help="build although it is there")] = False,
) -> None:
    """Build a User-Mode Linux for `--backend linux-virtual`, into the user's cache."""
    from cwndlab.backends.linux_virtual import recipe, source
    from cwndlab.backends.linux_virtual.build import build
    from cwndlab.backends.threads import available

    path = Path(kernel) if kernel and kernel not in recipe.SERIES and Path(kernel).exists() else None
    if path is None:
        series = recipe.series_named(kernel or recipe.DEFAULT)
    else:
        series = recipe.series_of(source.version_in(path), str(path))
    laws = tuple(recipe.Law.at(file) for file in law or ())
    wanted = recipe.Recipe(series, tuple(patch or ()), laws, tuple(config or ()))
    with _progress() as say:
        image = build(wanted, path, jobs or available(), say, again=again)
    echo(f"{image.path}: Linux {image.release}")
    if not wanted.is_stock:
        echo(f"run a study on it with --backend linux-virtual --kernel {image.name}")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Prints lines of progress: on a terminal one that changes."""
    alive = sys.stderr.isatty()

    def say(line: str) -> None:
        if alive:
            typer.echo(f"\r\x1b[K{printable(line)}", nl=False, err=True)
        else:
            echo(line, err=True)

    try:
        yield say
    finally:
        if alive:
            echo(err=True)


@linux.command("list")
def linux_list() -> None:
    """List the kernels that were built, the newest first."""
    from cwndlab.backends.linux_virtual import images

    folders = images.built()
    if not folders:
        echo("no kernel has been built yet; `cwndlab linux build` builds one", err=True)
    for folder in folders:
        about = images.about(folder)
        parts = [*about.get("patches", ()), *about.get("laws", ()), *about.get("config", ())]
        tree = about.get("tree")
        total = images.size(folder) + (images.size(images.trees() / tree) if tree else 0)
        echo(f"{folder.name}  {total / 1e6:.0f} MB  {'with ' + ', '.join(parts) if parts else 'stock'}")
        echo(f"    congestion controls: {' '.join(about.get('congestion_controls', ())) or 'not known'}")


@linux.command("remove")
def linux_remove(name: Annotated[str, typer.Argument(help="as `linux list` shows it")]) -> None:
    """Remove a kernel, and its compiled source if no other one needs it."""
    from cwndlab.backends.linux_virtual import images

    echo(f"removed {name}: {images.remove(name) / 1e6:.0f} MB")
