"""`cwndlab differ`: compare the simulator's packets with a kernel's, in drawn scenarios or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.cli import arguments as opt
from cwndlab.cli.output import echo


def differ(
    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="compares its cells instead of drawn scenarios")
    ] = None,
    set_: opt.SetOption = None,
    stack: opt.StackOption = None,
    scenarios: Annotated[int, typer.Option(min=1, help="how many are drawn")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="of the draws")] = 1,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERIES|NAME|FILE",
            help="6.12, 7.3, or a name from `linux list`; given twice, these two are compared; default: 6.12",
        ),
    ] = None,
    simple_receiver: Annotated[
        bool,
        typer.Option(
            "--simple-receiver", help="acknowledges every segment; large buffers, no Nagle: senders alone"
        ),
    ] = False,
    wide: Annotated[
        bool, typer.Option("--wide", help="draws classes of paths and programs, with a table by class")
    ] = False,
    trains: Annotated[
        bool, typer.Option("--trains", help="devices take trains of segments; default: single segments")
    ] = False,
    minimize: Annotated[
        int, typer.Option(min=0, help="how many of each class of differences are made simpler")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="default: ./differ-SEED, or ./differ-STUDY"),
    ] = None,
    threads: opt.ThreadsOption = None,
) -> None:
    """Compare simulator and kernel, or two kernels, packet by packet: in drawn scenarios, or in a study."""
    from cwndlab_linux.differ.differing import Differ, page
    from cwndlab_linux.virtual.images import find

    names: list[str | None] = [*kernel] if kernel else [None]
    if len(names) > (1 if study else 2):
        right = "one" if study else "one or two"
        raise StudyError(f"{len(names)} kernels are given", key="--kernel", right=right)
    images = tuple(find(name) for name in names)

    def say(line: str) -> None:
        echo(line, err=True)

    if study is not None:
        from cwndlab_linux.differ.study_case import compare_study

        folder = out or Path(f"differ-{Path(study).stem}")
        loaded = opt.load(study, set_)
        echo(compare_study(loaded, stack, images[0], folder, trains=trains, threads=threads, say=say))
    else:
        folder = out or Path(f"differ-{seed}")
        differing = Differ(seed, images, folder, simple_receiver, wide, trains, threads, say)
        echo(page(differing.run(scenarios, minimize), differing.sides))
    echo(f"report: {folder / 'differ.md'}")
