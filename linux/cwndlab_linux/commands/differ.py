"""`cwndlab differ`: whether the simulator sends a kernel's packets, in scenarios drawn at random."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.cli.arguments import ThreadsOption
from cwndlab.cli.output import echo


def differ(
    study: Annotated[str | None, typer.Argument(hidden=True)] = None,
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
    minimize: Annotated[
        int, typer.Option(min=0, help="how many of each class of differences are made simpler")
    ] = 1,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./differ-SEED")
    ] = None,
    threads: ThreadsOption = None,
) -> None:
    """Compare simulator and kernel, or two kernels, packet by packet in scenarios drawn at random."""
    if study is not None:
        raise StudyError(
            "differ draws its own scenarios",
            key=study,
            right=f"`cwndlab run {study} --backend linux-virtual` compares a study's packets with a kernel's",
        )
    from cwndlab_linux.differ.differing import Differ, page
    from cwndlab_linux.virtual.images import find

    names: list[str | None] = [*kernel] if kernel else [None]
    if len(names) > 2:
        raise StudyError(f"{len(names)} kernels are given", key="--kernel", right="one or two")
    folder = out or Path(f"differ-{seed}")
    images = tuple(find(name) for name in names)
    differing = Differ(seed, images, folder, simple_receiver, threads, lambda line: echo(line, err=True))
    rows = differing.run(scenarios, minimize)
    echo(page(rows, differing.sides))
    echo(f"report: {folder / 'differ.md'}")
