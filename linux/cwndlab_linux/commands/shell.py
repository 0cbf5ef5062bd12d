"""`cwndlab shell`: a shell at a host of a study's network, on a kernel in virtual time."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, one_cell
from cwndlab.cli.output import echo, printable


def shell(
    study: opt.StudyArgument,
    at: Annotated[str, typer.Option(metavar="NODE", help="the host at which the shell runs")],
    more: opt.MoreSets = None,
    set_: opt.SetOption = None,
    time: Annotated[str, typer.Option(metavar="TIME", help="when it opens, on the study's clock")] = "0s",
    seed: opt.SeedOption = None,
    stack: opt.StackOption = None,
    kernel: opt.KernelOption = None,
) -> None:
    """Open a shell at a host while the first cell that --set leaves runs, in virtual time.

    The network stands still while the shell waits for a line. Time passes only while a command waits:
    `sleep 1` is a second of the run.
    """
    from cwndlab._core import parse_quantity
    from cwndlab.base.errors import StudyError
    from cwndlab.runs.run_options import RunOptions
    from cwndlab_linux.virtual.backend import VirtualKernel
    from cwndlab_linux.virtual.terminal import talk

    try:
        kind, at_ns = parse_quantity(time)
    except ValueError:
        kind, at_ns = "", 0
    if kind != "time":
        raise StudyError(f"{time!r} is no time", key="--time", right='a time with its unit, such as "2s"')
    options = RunOptions(backend="linux-virtual", stack=stack, kernel=kernel, seed=seed)
    one = one_cell(load(study, set_, more), options)
    assert isinstance(one.kernel, VirtualKernel)
    talk(one.kernel, one.cell, one.seed, at, int(at_ns), _ask, _show)


def _show(text: str) -> None:
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def _ask(prompt: str) -> str | None:
    if sys.stdin.isatty():
        try:
            return input(prompt)
        except EOFError:
            echo("")
            return None
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
