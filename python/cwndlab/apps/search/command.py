"""`cwndlab search`: find the point of a parameter space at which a quantity is worst."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import count_text
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, takes_run_options
from cwndlab.cli.output import echo, estimate_text
from cwndlab.runs.run_options import RunOptions

if TYPE_CHECKING:
    from cwndlab.api import Study
    from cwndlab.stats.results import Estimate

    from .worst_case import Found, Tried

OverOption = Annotated[
    str, typer.Option("--over", metavar="KEY=LOW..HIGH,…", help="buffer=0.1..16,rtt=5ms..300ms")
]
BudgetOption = Annotated[int, typer.Option(min=1, help="runs that the search may take")]
EachOption = Annotated[
    str | None, typer.Option(metavar="AXIS", help="search each value of this axis alone, and rank them")
]
OutOption = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./STUDY-search")]


def _quantity(words: str) -> Any:
    return typer.Option(metavar="QUANTITY", help=f"the quantity {words}")


@takes_run_options("seed", "replicates", "threads", "backend", "stack", "kernel")
def search(
    study: opt.StudyArgument,
    over: OverOption,
    worst: Annotated[str | None, _quantity("whose worst value is searched")] = None,
    lowest: Annotated[str | None, _quantity("to minimize")] = None,
    highest: Annotated[str | None, _quantity("to maximize")] = None,
    budget: BudgetOption = 300,
    each: EachOption = None,
    out: OutOption = None,
    set_: opt.SetOption = None,
    cc: opt.CcOption = None,
    metric: opt.MetricOption = None,
    *,
    options: RunOptions,
) -> None:
    """Search a parameter space for the point at which a quantity is worst."""
    from . import worst_case

    asked: dict[worst_case.Extreme | None, str | None] = {None: worst, "lowest": lowest, "highest": highest}
    given = [(direction, quantity) for direction, quantity in asked.items() if quantity is not None]
    if len(given) != 1:
        raise StudyError(
            "one of --worst, --lowest and --highest says what is searched", right="write --worst share_tested"
        )
    loaded = load(study, set_, cc=cc, metrics=metric)
    ranges = worst_case.parse_ranges(over)
    out = out or Path(f"{loaded.name}-search")

    def search_one(study: Study, folder: Path) -> Found:
        space = worst_case.space_of(study, ranges)
        goal = worst_case.goal_of(space, given[0][1], given[0][0])

        def progress(runs: int, found: Tried) -> None:
            echo(
                f"{count_text(runs, 'run')}: {_words(found.estimate)} at {space.words(found.point)}", err=True
            )

        return worst_case.search(space, goal, folder, budget=budget, options=options, progress=progress)

    if each is not None:

        def search_value(study: Study, value: str) -> Found:
            echo(f"{each}={value}", err=True)
            return search_one(study, out / value)

        worst_case.search_each(loaded, each, search_value, out)
        echo((out / "ranking.md").read_text(encoding="utf-8").strip())
        return
    _show(search_one(loaded, out), out)


def _show(found: Found, out: Path) -> None:
    """Prints the worst point, its numbers and files."""
    space, goal = found.space, found.goal
    worst_cell = found.worst.estimate.cell
    echo(f"{goal.direction} {goal.quantity}: {space.words(found.worst.point)} (cell {worst_cell})")
    echo(
        f"in the search: {_words(found.worst.estimate)}, {count_text(len(found.tried), 'point')}, "
        f"{count_text(found.runs, 'run')}"
    )
    echo(f"run again with other random numbers: {_words(found.confirmed_estimate)}")
    echo(f"the worst point: {out / 'worst.toml'}, {out / 'worst.pcapng'}, {found.confirmed.report}")


def _words(estimate: Estimate) -> str:
    return estimate_text(estimate.value, estimate.ci_low, estimate.ci_high, estimate.unit)
