"""`cwndlab run`: runs a study and writes its report."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab import converter
from cwndlab.errors import StudyError
from cwndlab.runs.progress import span
from cwndlab.spec.files import SHIPPED, STUDY

from .garbage import importing, uncollected
from .loading import load
from .options import (
    SENSITIVITY,
    BackendOption,
    CcOption,
    ClusterOption,
    JsonOption,
    KernelOption,
    LimitOption,
    MetricOption,
    MoreSets,
    SeedOption,
    SetOption,
    StackOption,
    StoreOption,
    StudyArgument,
    ThreadsOption,
    limits_of,
    parse_option,
)
from .output import echo, number_of, progress, same_replicates

if TYPE_CHECKING:
    from cwndlab.runs.campaign import Failure
    from cwndlab.runs.result import RunResult


def run(
    study: StudyArgument,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="output folder; default: ./STUDY-out"),
    ] = None,
    more: MoreSets = None,
    set_: SetOption = None,
    cc: CcOption = None,
    metric: MetricOption = None,
    seed: SeedOption = None,
    replicates: Annotated[
        int | None, typer.Option(help="replicates of each cell; default: the study's")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="2%", help="add replicates until each 95 % interval is this narrow")
    ] = None,
    threads: ThreadsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    sensitivity: Annotated[
        str | None, typer.Option(metavar="NAME|combinations|all", help=SENSITIVITY)
    ] = None,
    backend: BackendOption = "simulator",
    stack: StackOption = None,
    kernel: KernelOption = None,
    limit: LimitOption = None,
    max_events: Annotated[
        int | None, typer.Option(help="most events of one run of the simulator; default: 10^9")
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="most memory of one run of the simulator; default: 384MiB"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit with code 3 if a claim of the study fails")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="print errors only")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="print every estimate")] = False,
    json_: JsonOption = False,
) -> None:
    """Run a study and write its report. A second run in the same folder runs only what is missing."""
    began = time.monotonic()
    if backend == "simulator" and not cc and not cluster and _has_figures(study):
        converter.start()
    with importing():
        from cwndlab.commands import summary
        from cwndlab.runs.options import RunOptions
        from cwndlab.runs.run import checked_plan, run_plan
    with uncollected():
        loaded = load(study, set_, more, limits_of(limit, backend), cc, metric)
    out = out or Path(f"{loaded.name}-out")
    options = RunOptions(
        out=out,
        seed=seed,
        replicates=replicates,
        until=_share(until),
        threads=threads,
        cluster=cluster,
        store=store,
        sensitivity=sensitivity,
        backend=backend,
        stack=stack,
        kernel=kernel,
        max_events=max_events,
        max_memory_bytes=_size(max_memory),
    )
    if backend == "linux":
        from cwndlab.backends.linux.backend import AT_ONCE
        from cwndlab.runs.estimate import real_seconds

        plan = loaded.plan(replicates=replicates, seed=seed, sensitivity=sensitivity)
        at_once = threads or AT_ONCE
        seconds = real_seconds(plan, at_once)
        if seconds > 600:
            said = f"{at_once} runs at once, in real time, take {span(seconds)} for all (less what is kept)"
            echo(f"note: {said}; --set grid=NAME and --replicates choose fewer", err=True)
    display = ExitStack()
    told = False

    def tell(result: "RunResult") -> None:
        """Prints the results. The report's figures are still to be drawn, which takes longer."""
        nonlocal told
        told = True
        display.close()
        for line in result.damaged:
            echo(f"note: {line}", err=True)
        if not quiet and backend == "simulator" and (note := same_replicates(result.plan)):
            echo(f"note: {note}", err=True)
        if not quiet and not json_:
            if verbose:
                summary.estimates(result)
            summary.show(result, time.monotonic() - began)

    try:
        with display:
            shown = display.enter_context(progress(quiet))
            with uncollected():
                plan = checked_plan(loaded, options)
            result = run_plan(plan, options, progress=shown, judged=tell)
    except KeyboardInterrupt:
        echo(f"stopped; finished runs are kept in {out}: run the same command again to continue", err=True)
        raise typer.Exit(130) from None
    if not told:  # no run has a number, so there is no report
        tell(result)
    if json_:
        summary.as_json(result, time.monotonic() - began)
    elif not quiet and (result.report is not None or not result.failures):
        echo(f"report: {result.report or out}")
    if result.failures:
        _print_failures(result.failures)
        failed_runs = number_of(len(result.failures), "run")
        echo(f"error: {failed_runs} failed; the others are kept in {out}", err=True)
        raise typer.Exit(1)
    if strict and (failed := summary.failed_claims(result)):
        echo(f"error: {len(failed)} claims fail: {', '.join(failed)}", err=True)
        raise typer.Exit(3)


def _has_figures(study: str) -> bool:
    """Whether a study file describes figures: by its text, for reading it as a study takes longer."""
    for path in (SHIPPED / study / STUDY, Path(study), Path(study) / STUDY):
        with suppress(OSError, ValueError):
            return "\n[[figures]]" in path.read_text(encoding="utf-8")
    return False


def _print_failures(failures: Sequence["Failure"]) -> None:
    """Ten failures, those of one reason as one, and what to do."""
    reasons = Counter(failure.reason for failure in failures)
    first = {failure.reason: failure for failure in reversed(failures)}
    for reason in list(reasons)[:10]:
        more = f" (and {reasons[reason] - 1} more)" if reasons[reason] > 1 else ""
        one = first[reason]
        echo(f"failed: {one.cell}, replicate {one.replicate}{more}: {reason}", err=True)
    if len(reasons) > 10:
        echo(f"… and for {len(reasons) - 10} more reasons", err=True)
    for advice in dict.fromkeys(failure.advice for failure in failures if failure.advice):
        echo(f"what to do: {advice}", err=True)


def _size(text: str | None) -> int | None:
    from cwndlab._core import parse_bytes

    return None if text is None else parse_option(text, parse_bytes, "--max-memory")


def _share(until: str | None) -> float | None:
    if until is None:
        return None
    from cwndlab.spec.units import parse_share

    value = parse_option(until, parse_share, "--until")
    if not 0 < value < 1:
        raise StudyError(f"{until} is no precision", key="--until", right="between 0% and 100%")
    return value
