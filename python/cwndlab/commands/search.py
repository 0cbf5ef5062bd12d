"""`cwndlab search`: the corner of a space of parameters in which a quantity is worst."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.errors import StudyError

from .arguments import (
    BackendOption,
    CcOption,
    KernelOption,
    MetricOption,
    ReplicatesOption,
    SeedOption,
    SetOption,
    StackOption,
    StudyArgument,
    ThreadsOption,
    load,
)
from .output import echo, estimate_text

if TYPE_CHECKING:
    from cwndlab.stats.results import Estimate
    from cwndlab.study import Study
    from cwndlab.worst_case import Found, Tried


def search(
    study: StudyArgument,
    over: Annotated[
        str, typer.Option("--over", metavar="KEY=LOW..HIGH,…", help="buffer=0.1..16,rtt=5ms..300ms")
    ],
    worst: Annotated[
        str | None,
        typer.Option("--worst", metavar="QUANTITY", help="the quantity whose worst value is searched"),
    ] = None,
    lowest: Annotated[
        str | None, typer.Option("--lowest", metavar="QUANTITY", help="the quantity to minimize")
    ] = None,
    highest: Annotated[
        str | None, typer.Option("--highest", metavar="QUANTITY", help="the quantity to maximize")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="runs that the search may take")] = 300,
    each: Annotated[
        str | None,
        typer.Option("--each", metavar="AXIS", help="search each value of this axis alone, and rank them"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./STUDY-search")
    ] = None,
    set_: SetOption = None,
    cc: CcOption = None,
    metric: MetricOption = None,
    seed: SeedOption = None,
    replicates: ReplicatesOption = None,
    threads: ThreadsOption = None,
    backend: BackendOption = "simulator",
    stack: StackOption = None,
    kernel: KernelOption = None,
) -> None:
    """Search a parameter space for the point at which a quantity is worst."""
    from cwndlab import worst_case
    from cwndlab.runs.run_options import RunOptions

    asked: dict[worst_case.Extreme | None, str | None] = {None: worst, "lowest": lowest, "highest": highest}
    given = [(direction, quantity) for direction, quantity in asked.items() if quantity is not None]
    if len(given) != 1:
        raise StudyError(
            "one of --worst, --lowest and --highest says what is searched", right="write --worst share_tested"
        )
    loaded = load(study, set_, cc=cc, metrics=metric)
    ranges = worst_case.parse_ranges(over)
    out = out or Path(f"{loaded.name}-search")
    options = RunOptions(
        seed=seed, replicates=replicates, threads=threads, backend=backend, stack=stack, kernel=kernel
    )

    def search_one(study: Study, folder: Path) -> Found:
        space = worst_case.space_of(study, ranges)
        goal = worst_case.goal_of(space, given[0][1], given[0][0])

        def progress(runs: int, found: Tried) -> None:
            echo(f"{runs} runs: {_words(found.estimate)} at {space.words(found.point)}", err=True)

        return worst_case.search(space, goal, folder, budget=budget, options=options, progress=progress)

    if each is not None:

        def search_value(study: Study, value: str) -> Found:
            echo(f"{each}={value}", err=True)
            return search_one(study, out / value)

        worst_case.search_each(loaded, each, search_value, out)
        echo((out / "ranking.md").read_text(encoding="utf-8").strip())
        return
    found = search_one(loaded, out)
    space, goal = found.space, found.goal
    worst_cell = found.worst.estimate.cell
    echo(f"{goal.direction} {goal.quantity}: {space.words(found.worst.point)} (cell {worst_cell})")
    echo(f"in the search: {_words(found.worst.estimate)}, {len(found.tried)} points, {found.runs} runs")
    echo(f"run again with other random numbers: {_words(found.confirmed_estimate)}")
    echo(f"the worst point: {out / 'worst.toml'}, {out / 'worst.pcapng'}, {found.confirmed.report}")


def _words(estimate: Estimate) -> str:
    return estimate_text(estimate.value, estimate.ci_low, estimate.ci_high, estimate.unit)
