"""`cwndlab packetdrill`: run packetdrill scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.cli.output import echo

if TYPE_CHECKING:
    from .packetdrill_scripts import ScriptOutcome


def packetdrill(
    scripts: Annotated[
        list[Path],
        typer.Argument(metavar="SCRIPT…", help="scripts in packetdrill's syntax, or directories with *.pkt"),
    ],
    profile: Annotated[str, typer.Option(help="the TCP profile to run them against")] = "linux-6",
    hz: Annotated[
        int | None, typer.Option(min=0, help="clock of timers; default: 1000 with linux-6; 0: exact")
    ] = None,
    tolerance_usecs: Annotated[
        int | None, typer.Option(min=0, help="how far events may be off; default: the script's, or 4000")
    ] = None,
    ignore_windows: Annotated[
        bool, typer.Option("--ignore-windows", help="do not compare the windows that are offered")
    ] = False,
    kernel: Annotated[
        str | None, typer.Option(metavar="SERIES|NAME|FILE", help="run them on this kernel, too, and compare")
    ] = None,
    program: Annotated[
        Path | None,
        typer.Option(
            "--packetdrill", metavar="PATH", help="its program; default: of `linux packetdrill`, or in PATH"
        ),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="print counts by folder and all reasons as Markdown tables")
    ] = False,
) -> None:
    """Run packetdrill scripts against the endpoint in virtual time; name the first line that fails.

    With --kernel, the same scripts run on Linux in virtual time, and outcomes that differ are printed.
    """
    from .packetdrill_scripts import find_scripts, markdown, run_script, summary

    if kernel is None and program is not None:
        raise StudyError("the simulator needs no program", key="--packetdrill", right="name a --kernel, too")
    if kernel is not None and table:
        raise StudyError(
            "tables have the simulator's outcomes", key="--table", right="leave it out with --kernel"
        )
    outcomes = [
        run_script(path, profile, hz=hz, tolerance_us=tolerance_usecs, ignore_windows=ignore_windows)
        for path in find_scripts(scripts)
    ]
    if kernel is not None:
        _compare(outcomes, kernel, program, tolerance_usecs)
        return
    if table:
        root = scripts[0] if scripts[0].is_dir() else scripts[0].parent
        echo(markdown(outcomes, root))
    else:
        for outcome in outcomes:
            if not outcome.passed:
                echo(str(outcome))
        echo(summary(outcomes))
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def _compare(
    outcomes: Sequence[ScriptOutcome], kernel: str, program: Path | None, tolerance_us: int | None
) -> None:
    """Prints the scripts with different outcomes on the kernel; exits with 1 unless all hold on both."""
    from .next_to_kernel import count, on_kernel

    name, both, digest = on_kernel(outcomes, kernel, program, tolerance_us)
    differing = [comparison for comparison in both if comparison.verdict != "held by both"]
    for one in differing:
        echo("\n".join(one.lines(name)))
    echo(f"{count(both)}; digest of the kernel's output: {digest}")
    if differing:
        raise typer.Exit(1)
