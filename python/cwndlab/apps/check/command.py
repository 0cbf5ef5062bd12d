"""`cwndlab check` and `cwndlab expand`: check a study, estimate its cost, and write out its short forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cwndlab.base.errors import RunError
from cwndlab.base.writing import count_text
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, takes_run_options
from cwndlab.cli.output import MOST_CELLS, echo, echo_json
from cwndlab.runs.progress import span
from cwndlab.runs.run_options import RunOptions

if TYPE_CHECKING:
    from cwndlab.plan.plan import Plan
    from cwndlab.study.study_spec import StudySpec


@takes_run_options("replicates", "seed", "sensitivity", "backend")
def check(
    study: opt.StudyArgument,
    more: opt.MoreSets = None,
    set_: opt.SetOption = None,
    cc: opt.CcOption = None,
    metric: opt.MetricOption = None,
    *,
    options: RunOptions,
    json_: opt.JsonOption = False,
) -> None:
    """Check a study and print its plan: cells, replicates, estimated time."""
    from cwndlab.results.execution import check_outputs
    from cwndlab.runs.backend_check import check_backend
    from cwndlab.runs.executors.threads import available

    from .estimate import estimate_seconds
    from .study_warnings import study_warnings

    loaded = load(study, set_, more, cc=cc, metrics=metric)
    plan = loaded.plan(replicates=options.replicates, seed=options.seed, sensitivity=options.sensitivity)
    some = plan.evenly_spaced(MOST_CELLS)
    if some is plan:
        plan.check()
    else:
        some.check_cells()
        echo(f"note: {MOST_CELLS:,} of {len(plan.cells):,} cells were checked; `run` checks all", err=True)
    for text in study_warnings(some):
        echo(f"warning: {text}", err=True)
    check_outputs(plan)
    check_backend(some, options)
    if json_:
        cells = [{"cell": cell.id, "replicates": plan.count_replicates(cell)} for cell in plan.cells]
        data = {"study": loaded.name, "title": loaded.title, "seed": plan.seed, "cells": cells}
        echo_json(data)
        return
    echo(f"{loaded.name}: {loaded.title}")
    width = 2 + max(map(len, [*loaded.outline.axes, *loaded.outline.sensitivity]), default=0)
    for name, axis in loaded.outline.axes.items():
        echo(f"  {name:<{width}}{', '.join(str(value) for value in axis.names)}")
    for name, extra in loaded.outline.sensitivity.items():
        echo(f"  {name:<{width}}{', '.join(str(value) for value in extra.names)}   (--sensitivity {name})")
    for start in _drawn_starts(loaded):
        echo(f"  flows without `start` begin at random, from {start}")
    _show_runs(plan, some)
    if options.backend != "simulator":
        return
    try:
        seconds = estimate_seconds(some) * len(plan.cells) / len(some.cells)
    except RunError as error:
        raise RunError(f"a trial run failed: {error.text}") from None
    threads = available()
    echo(f"estimated: {span(seconds / threads)} on {threads} threads")


def expand(
    study: opt.StudyArgument,
    more: opt.MoreSets = None,
    set_: opt.SetOption = None,
    metric: opt.MetricOption = None,
) -> None:
    """Print a study with its short forms (`dumbbell`, `parking_lot`, `measure`) written out."""
    from cwndlab.study.toml import dumps

    echo(dumps(load(study, set_, more, metrics=metric).raw).rstrip("\n"))


def _show_runs(plan: Plan, some: Plan) -> None:
    """Prints the number of runs of a plan, extrapolated from the cells of `some`."""
    from .study_warnings import same_replicates

    fixed = sum(cell.deterministic for cell in some.cells)
    each = _range({some.count_replicates(cell) for cell in some.cells if not cell.deterministic})
    each += f" replicate{'s' * (each != '1')} each" + (f" (1 of {fixed} without randomness)" if fixed else "")
    if fixed == len(some.cells):
        each = "1 replicate each (nothing is random)"
    echo(f"{count_text(len(plan.cells), 'cell')}, {each}")
    if note := same_replicates(some):
        echo(f"note: {note}", err=True)
    spans = _range({cell.compiled.scenario["duration_ns"] / 1e9 for cell in some.cells})
    scale = len(plan.cells) / len(some.cells)
    runs = count_text(round(some.runs * scale), "run")
    echo(f"{'' if some is plan else 'about '}{runs} of {spans} s, seed {plan.seed}")


def _drawn_starts(study: StudySpec) -> list[str]:
    """The ranges, as "0s to 1s", from which a `[dumbbell]` draws the start of flows that state none."""
    if "dumbbell" not in study.document.written_tables:
        return []
    starts = [traffic.get("start") for traffic in study.raw.get("traffic", [])]
    drawn = [start["uniform"] for start in starts if isinstance(start, Mapping) and "uniform" in start]
    return list(dict.fromkeys(" to ".join(map(str, ends)) for ends in drawn))


def _range(values: set[int] | set[float]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
