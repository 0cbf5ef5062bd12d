"""`cwndlab run`: runs a study and writes its report."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cwndlab.base.writing import count_text
from cwndlab.runs.progress import Progress, span
from cwndlab.runs.run_options import RunOptions

from . import arguments as opt
from .arguments import load, parse_limits, several_kernels, takes_run_options
from .output import MOST_CELLS, echo, progress
from .start import import_uncollected, without_collection

if TYPE_CHECKING:
    from cwndlab.api import Study
    from cwndlab.plan.plan import Plan
    from cwndlab.results.result import RunResult
    from cwndlab.runs.campaign import Failure


OutOption = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="DIR", help="output folder; default: ./STUDY-out")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="exit with code 3 if a claim of the study fails")
]
TraceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trace",
        metavar="CELL",
        help="add a figure of how shares, windows and the queue of this cell (buffer=2) go over time",
    ),
]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="print every estimate")]


@takes_run_options()
def run(
    study: opt.StudyArgument,
    out: OutOption = None,
    more: opt.MoreSets = None,
    set_: opt.SetOption = None,
    cc: opt.CcOption = None,
    metric: opt.MetricOption = None,
    trace: TraceOption = None,
    *,
    options: RunOptions,
    limit: opt.LimitOption = None,
    strict: StrictOption = False,
    quiet: opt.QuietOption = False,
    verbose: VerboseOption = False,
    json_: opt.JsonOption = False,
) -> None:
    """Run a study and write its report. A second run in the same folder runs only what is missing."""
    began = time.monotonic()
    with import_uncollected():
        import_module("cwndlab.cli.summary")
        import_module("cwndlab.results.execution")
    options, kernels = several_kernels(options)
    with without_collection():
        loaded = load(study, set_, more, [*parse_limits(limit, options.backend), *kernels], cc, metric)
    if trace:
        loaded = import_module("cwndlab.apps.packets.over_time").with_figures(loaded, trace)
    options = replace(options, out=out or Path(f"{loaded.name}-out"))
    if options.backend == "linux":
        _warn_of_real_time(loaded, options)
    _perform(loaded, options, _Printer(began, options.backend, quiet, verbose, json_), strict)


class _Printer(NamedTuple):
    """Prints the messages and results of `cwndlab run`."""

    began: float
    backend: str
    quiet: bool
    verbose: bool
    json: bool

    def results(self, result: "RunResult") -> None:
        """Prints warnings and numbers, as far as the options require."""
        from . import summary

        for line in result.campaign.damaged:
            echo(f"note: {line}", err=True)
        if self.quiet:
            return
        from cwndlab.records.failures import SHOWN

        checks = import_module("cwndlab.apps.check.study_warnings")
        for text in checks.study_warnings(result.plan.evenly_spaced(MOST_CELLS)):
            echo(f"warning: {text}", err=True)
        failed = list(result.results.failed.items())
        for cell, text in failed[:SHOWN]:
            echo(f"warning: {cell}: {text}", err=True)
        if len(failed) > SHOWN:
            more = count_text(len(failed) - SHOWN, "more cell")
            echo(f"warning: connections failed in {more}", err=True)
        if self.backend == "simulator" and (note := checks.same_replicates(result.plan)):
            echo(f"note: {note}", err=True)
        if not self.json:
            if self.verbose:
                summary.estimates(result)
            summary.show(result, time.monotonic() - self.began)

    def end(self, result: "RunResult", out: str | Path | None) -> None:
        """Prints the report's path, or the results as JSON, when the report is written."""
        from . import summary

        if self.json:
            summary.as_json(result, time.monotonic() - self.began)
        elif not self.quiet and (result.report is not None or not result.failures):
            echo(f"report: {result.report or out}")


def _perform(loaded: "Study", options: RunOptions, printer: _Printer, strict: bool) -> None:
    """Runs the study; prints results when they are known, before figures are drawn."""
    from cwndlab.results.execution import run_study

    from .summary import failed_claims

    display, drawing = ExitStack(), ExitStack()
    printed = False

    def planned(plan: "Plan") -> None:
        planning.close()
        _note_excess(plan, options, shown)

    def results(result: "RunResult") -> None:
        nonlocal printed
        printed = True
        display.close()
        printer.results(result)
        drawing.enter_context(without_collection())  # modules and pages leave no garbage to collect

    try:
        with drawing, display:
            shown = display.enter_context(progress(printer.quiet))
            planning = display.enter_context(ExitStack())
            planning.enter_context(without_collection())
            result = run_study(loaded, options, progress=shown, planned=planned, judged=results)
    except KeyboardInterrupt:
        kept = f"finished runs are kept in {options.out}"
        echo(f"stopped; {kept}: run the same command again to continue", err=True)
        raise typer.Exit(130) from None
    if not printed:  # no run gave a number, so there is no report
        results(result)
    printer.end(result, options.out)
    if result.failures:
        _print_failures(result.failures)
        failed_runs = count_text(len(result.failures), "run")
        echo(f"error: {failed_runs} failed; the others are kept in {options.out}", err=True)
        raise typer.Exit(1)
    if strict and (failed := failed_claims(result)):
        echo(f"error: {count_text(len(failed), 'claim')} failed: {', '.join(failed)}", err=True)
        raise typer.Exit(3)


def _warn_of_real_time(loaded: "Study", options: RunOptions) -> None:
    """Prints a note before runs in real time that will take more than ten minutes."""
    from cwndlab.runs.kernel_side import kernels

    plan = loaded.plan(replicates=options.replicates, seed=options.seed, sensitivity=options.sensitivity)
    at_once = options.threads or kernels().AT_ONCE
    seconds = import_module("cwndlab.apps.check.estimate").real_seconds(plan, at_once)
    if seconds > 600:
        sentence = f"{at_once} runs at once, in real time, take {span(seconds)} for all (less what is kept)"
        echo(f"note: {sentence}; --set grid=NAME and --replicates choose fewer", err=True)


def _note_excess(plan: "Plan", options: RunOptions, shown: Progress) -> None:
    """Prints a note before runs that are likely to exceed their budget of events or memory."""
    if options.backend != "simulator":
        return
    excess = import_module("cwndlab.apps.check.estimate").excess_of_budget
    if warning := excess(plan, options.max_events, options.max_memory_bytes):
        shown.note(f"note: {warning}")


def _print_failures(failures: Sequence["Failure"]) -> None:
    """Prints one failure for each of the first ten reasons, with the remedies."""
    reasons = Counter(failure.reason for failure in failures)
    first = {failure.reason: failure for failure in reversed(failures)}
    for reason in list(reasons)[:10]:
        more = f" (and {reasons[reason] - 1} more)" if reasons[reason] > 1 else ""
        failure = first[reason]
        echo(f"failed: {failure.cell}, replicate {failure.replicate}{more}: {reason}", err=True)
    if len(reasons) > 10:
        echo(f"… and for {len(reasons) - 10} more reasons", err=True)
    for advice in dict.fromkeys(failure.advice for failure in failures if failure.advice):
        echo(f"what to do: {advice}", err=True)
