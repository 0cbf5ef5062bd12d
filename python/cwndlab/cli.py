"""The command line. Bad input ends with one clear message and exit code 2; a run that failed with 1."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cwndlab.commands import reference
from cwndlab.commands.evaluate import evaluate
from cwndlab.commands.linux import linux
from cwndlab.commands.loading import load
from cwndlab.commands.new import new
from cwndlab.commands.output import columns, echo, same_replicates, span
from cwndlab.commands.packetdrill import packetdrill
from cwndlab.commands.search import search
from cwndlab.errors import CwndlabError, OutputError, RunError, StudyError

if TYPE_CHECKING:
    from cwndlab.runs.campaign import Failure

StudyArgument = Annotated[
    str, typer.Argument(metavar="STUDY", help="a shipped study's name, or a study file")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="restrict an axis (iw=4, iw=1,4) or change a key (run.duration=10s)",
    ),
]
#: `--set a=1 b=2` reads as one change and two further words; they are changes too.
MoreSets = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", hidden=True)]
SeedOption = Annotated[
    int | None, typer.Option(min=0, help="seed of all random streams; default: the study's")
]
BackendOption = Annotated[
    str,
    typer.Option(
        metavar="simulator|linux|linux-virtual",
        help="linux: this machine's kernel; linux-virtual: a kernel in virtual time",
    ),
]
StackOption = Annotated[
    str | None,
    typer.Option(
        metavar="linux-1998|linux-stock|linux-laws|FILE", help="the kernel's TCP; default: the study's"
    ),
]
CcOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cc",
        metavar="[NAME=]FILE.py:CLASS",
        help="a congestion control of your own, run by the engine; its name is then a window_law",
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="FILE.py", help="metrics of your own, which the file defines"),
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="of a kernel's run, beyond which it is invalid: max-lateness=20ms, steal=10%, …",
    ),
]


class _App(typer.Typer):
    """Prints cwndlab's own errors without a traceback."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except CwndlabError as error:
            sys.excepthook = sys.__excepthook__
            echo(f"error: {error}", err=True)
            sys.exit(error.exit_code)
        except BrokenPipeError:  # `cwndlab trace … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)


app = _App(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="A laboratory for TCP: a study file goes in, a report with figures and verdicts comes out.",
)


def _version(asked: bool) -> None:
    if asked:
        from cwndlab import __version__

        echo(f"cwndlab {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="print the version")
    ] = False,
) -> None:
    """A laboratory for TCP: a study file goes in, a report with figures and verdicts comes out."""


JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
SENSITIVITY = "a sensitivity axis of the study, combinations of all, or both"


@app.command("list")
def list_studies(json_: JsonOption = False) -> None:
    """List the shipped studies."""
    from cwndlab.spec.load import shipped
    from cwndlab.study import Study

    titles = {name: Study.load(name).title for name in shipped()}
    if json_:
        echo(json.dumps([{"name": n, "title": t} for n, t in titles.items()], indent=1, ensure_ascii=False))
    else:
        echo(columns(list(titles.items())))


@app.command()
def check(
    study: StudyArgument,
    more: MoreSets = None,
    set_: SetOption = None,
    cc: CcOption = None,
    metric: MetricOption = None,
    replicates: Annotated[int | None, typer.Option(help="of each cell")] = None,
    sensitivity: Annotated[
        str | None, typer.Option(metavar="NAME|combinations|all", help=SENSITIVITY)
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Check a study and print its plan: cells, replicates, estimated time."""
    from cwndlab.backends.threads import available
    from cwndlab.report.study import check_outputs
    from cwndlab.runs.estimate import estimate_seconds

    loaded = load(study, set_, more, cc=cc, metrics=metric)
    plan = loaded.plan(replicates=replicates, sensitivity=sensitivity)
    plan.check()
    check_outputs(loaded)
    if json_:
        cells = [{"cell": cell.id, "replicates": plan.replicates_of(cell)} for cell in plan.cells]
        data = {"study": loaded.name, "title": loaded.title, "seed": plan.seed, "cells": cells}
        echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    echo(f"{loaded.name}: {loaded.title}")
    width = 2 + max(map(len, [*loaded.outline.axes, *loaded.outline.sensitivity]), default=0)
    for name, axis in loaded.outline.axes.items():
        echo(f"  {name:<{width}}{', '.join(str(value) for value in axis.names)}")
    for name, extra in loaded.outline.sensitivity.items():
        echo(f"  {name:<{width}}{', '.join(str(value) for value in extra.names)}   (--sensitivity {name})")
    fixed = sum(cell.deterministic for cell in plan.cells)
    each = _range({plan.replicates_of(cell) for cell in plan.cells if not cell.deterministic})
    each += " replicates each" + (f" (1 of {fixed} without randomness)" if fixed else "")
    if fixed == len(plan.cells):
        each = "1 replicate each (nothing is random)"
    echo(f"{len(plan.cells)} cells, {each}")
    if note := same_replicates(plan):
        echo(f"note: {note}", err=True)
    spans = _range({cell.compiled.scenario["duration_ns"] / 1e9 for cell in plan.cells})
    echo(f"{plan.runs} runs of {spans} s, seed {plan.seed}")
    try:
        seconds = estimate_seconds(plan)
    except RunError as error:
        echo(f"note: no estimate, a trial run failed: {error}", err=True)
    else:
        threads = available()
        echo(f"estimated: {span(seconds / threads)} on {threads} threads")


@app.command()
def expand(study: StudyArgument, more: MoreSets = None, set_: SetOption = None) -> None:
    """Print a study in full: what [dumbbell], [parking_lot] and `measure` stand for."""
    from cwndlab.spec.toml import dumps

    echo(dumps(load(study, set_, more).raw).rstrip("\n"))


@app.command("run")
def run_command(
    study: StudyArgument,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="where everything is written; default: ./STUDY-out"),
    ] = None,
    more: MoreSets = None,
    set_: SetOption = None,
    cc: CcOption = None,
    metric: MetricOption = None,
    seed: SeedOption = None,
    replicates: Annotated[int | None, typer.Option(help="of each cell; default: the study's")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="2%", help="run until each number's 95 % interval is within this")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="default: all processors")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="URL", help="a dask scheduler, as tcp://host:8786")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="a folder or s3://… that others share: what is there is not run again"
        ),
    ] = None,
    sensitivity: Annotated[
        str | None, typer.Option(metavar="NAME|combinations|all", help=SENSITIVITY)
    ] = None,
    backend: BackendOption = "simulator",
    stack: StackOption = None,
    limit: LimitOption = None,
    max_events: Annotated[
        int | None, typer.Option(help="that one run of the simulator may take; default: 10^9")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="of one run of the simulator; default: 384MiB")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit with code 3 if a claim of the study fails")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="print errors only")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="print every estimate")] = False,
    json_: JsonOption = False,
) -> None:
    """Run a study. A second run in the same folder does only what is missing."""
    from cwndlab.commands import summary
    from cwndlab.runs.options import RunOptions
    from cwndlab.runs.progress import Bar, Lines, Progress, Quiet
    from cwndlab.runs.run import run_study

    began = time.monotonic()
    loaded = load(study, set_, more, _limits(limit, backend), cc, metric)
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
    bar = Bar() if sys.stderr.isatty() and not quiet else None
    progress: Progress = bar or (Quiet() if quiet else Lines(lambda line: echo(line, err=True)))
    try:
        if bar is not None:
            bar.__enter__()
        result = run_study(loaded, options, progress=progress)
    except KeyboardInterrupt:
        echo(f"stopped; finished runs are kept in {out}: run the same command again to continue", err=True)
        raise typer.Exit(130) from None
    finally:
        if bar is not None:
            bar.__exit__(None, None, None)
    for line in result.damaged:
        echo(f"note: {line}", err=True)
    if not quiet and backend == "simulator" and (note := same_replicates(result.plan)):
        echo(f"note: {note}", err=True)
    seconds = time.monotonic() - began
    if json_:
        summary.as_json(result, seconds)
    elif not quiet:
        if verbose:
            summary.estimates(result)
        summary.show(result, seconds)
        if result.report is not None or not result.failures:
            echo(f"report: {result.report or out}")
    if result.failures:
        _tell(result.failures)
        echo(f"error: {len(result.failures)} runs failed; the others are kept in {out}", err=True)
        raise typer.Exit(1)
    if strict and (failed := summary.failed_claims(result)):
        echo(f"error: {len(failed)} claims fail: {', '.join(failed)}", err=True)
        raise typer.Exit(3)


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="what `run -o` was given")]) -> None:
    """Write the report of a finished run again."""
    from cwndlab.runs.run import report_again

    echo(f"report: {report_again(folder)}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="what `run -o` was given")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FOLDER", help="default: DIR/records")
    ] = None,
) -> None:
    """Write the records of each cell's first replicate as Parquet, one file per table."""
    from cwndlab.runs.export import export as write

    for path in write(folder, out or folder / "records"):
        typer.echo(path)


@app.command()
def trace(
    study: StudyArgument,
    more: MoreSets = None,
    set_: SetOption = None,
    cc: CcOption = None,
    format_: Annotated[str, typer.Option("--format", metavar="csv|text|pcapng|ns|xplot")] = "csv",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="default: standard output")
    ] = None,
    seed: SeedOption = None,
    replicate: Annotated[int, typer.Option(min=0)] = 0,
    backend: BackendOption = "simulator",
    stack: StackOption = None,
    limit: LimitOption = None,
) -> None:
    """Print what the study's observation point sees in one run (of the first cell that --set leaves)."""
    from cwndlab.files import write_atomic, writing
    from cwndlab.runs.options import RunOptions
    from cwndlab.runs.run import kernel_of
    from cwndlab.runs.trace import trace as make

    loaded = load(study, set_, more, _limits(limit, backend), cc)
    kernel = kernel_of(RunOptions(backend=backend, stack=stack), loaded)
    plan = loaded.plan(seed=seed)
    cell = plan.cells[0]
    cell.check()
    if len(plan.cells) > 1:
        echo(f"note: {len(plan.cells)} cells match; this is {cell.id}", err=True)
    data = make(cell, format_, seed=plan.seed, replicate=replicate, kernel=kernel)
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if out.is_dir():
        raise OutputError(f"{out}: is a folder; name a file")
    with writing(out):
        if out.exists() and not out.is_file():  # /dev/stdout and the like
            out.write_bytes(data)
        else:
            write_atomic(out, data)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="DIR_A")],
    b: Annotated[Path, typer.Argument(metavar="DIR_B")],
    traces: Annotated[
        bool,
        typer.Option("--trace", help="the first event in which the traces (folders or CSV files) differ"),
    ] = False,
    tolerance: Annotated[str, typer.Option(help="of the times of a trace")] = "2ms",
) -> None:
    """Show which estimates moved between two runs, and whether significantly."""
    if traces:
        from cwndlab.runs.compare import compare_traces
        from cwndlab.spec.units import parse_time

        for cell, difference in compare_traces(a, b, parse_time(tolerance) / 1e9).items():
            echo(f"{cell}: {difference}" if cell else str(difference))
        return
    from cwndlab.runs.compare import compare as make

    found = make(a, b)
    for move in found.moved:
        sign = "moved" if move.significant else "within noise"
        echo(
            f"{sign:<13}{move.cell}  {move.quantity}: {move.a:.6g} → {move.b:.6g} {move.unit}"
            f"  (difference {move.low:.3g} to {move.high:.3g}, {move.method})"
        )
    for folder, cells in ((a, found.only_a), (b, found.only_b)):
        if cells:
            echo(f"only in {folder}: {len(cells)} cells, as {cells[0]}")
    significant = sum(move.significant for move in found.moved)
    differ = len(found.moved)
    chance = f" (by chance alone about {0.05 * differ:.2g} would)" if differ > 1 else ""
    echo(f"{found.same} numbers are equal, {differ} differ, {significant} of them significantly{chance}")


app.command()(packetdrill)
app.command()(new)
app.command()(evaluate)
app.command()(search)
app.add_typer(linux, name="linux")
app.command()(reference.metrics)
app.command()(reference.knobs)
app.command()(reference.queues)


@app.command()
def doctor() -> None:
    """Tell what is installed and works, and what an extra would add."""
    from cwndlab.runs.doctor import examine

    good = True
    for item in examine():
        good = good and (item.works or not item.required)
        echo(f"{'ok ' if item.works else 'no ' if item.required else '–  '} {item.name}: {item.detail}")
    if not good:
        raise typer.Exit(1)


def _tell(failures: Sequence[Failure]) -> None:
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


def _limits(given: list[str] | None, backend: str) -> list[str]:
    """`--limit max-lateness=20ms` changes the study's limits.max_lateness."""
    if given and backend == "simulator":
        raise StudyError(
            "the simulator has no limits of validity", key="--limit", right="--backend linux too"
        )
    found = []
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals:
            raise StudyError(f"{item!r} limits nothing", key="--limit", right="as max-lateness=20ms")
        found.append(f"limits.{name.strip().replace('-', '_')}{equals}{value}")
    return found


def _size(text: str | None) -> int | None:
    from cwndlab._core import parse_bytes

    try:
        return None if text is None else parse_bytes(text)
    except ValueError as error:
        raise StudyError(str(error), key="--max-memory") from None


def _share(until: str | None) -> float | None:
    if until is None:
        return None
    from cwndlab.spec.units import parse_share

    try:
        value = parse_share(until)
    except ValueError as error:
        raise StudyError(str(error), key="--until") from None
    if not 0 < value < 1:
        raise StudyError(f"{until} is no precision", key="--until", right="between 0% and 100%")
    return value


def _range(values: set[int] | set[float]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
