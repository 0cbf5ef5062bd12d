"""`cwndlab explain`: what kept a sender from sending, and why numbers are not the paper's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.errors import StudyError

from .loading import changes_of, load
from .options import (
    BackendOption,
    CcOption,
    JsonOption,
    KernelOption,
    MetricOption,
    MoreSets,
    SeedOption,
    SetOption,
    StackOption,
    parse_option,
)
from .output import echo, echo_json

if TYPE_CHECKING:
    from cwndlab.diagnosis.diagnosis import Diagnosis
    from cwndlab.runs.options import RunOptions
    from cwndlab.study import Study


#: Waits that are explained unless told otherwise.
LONGEST = 5


def explain(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|CAPTURE|DIR", help="a study, a pcap or pcapng file, or what `run -o` was given"
        ),
    ],
    more: MoreSets = None,
    set_: SetOption = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="a traffic entry; default: the first")
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="the moment, as 14.4s; default: the longest waits")
    ] = None,
    longest: Annotated[
        int | None, typer.Option(min=1, help=f"how many waits to explain, without --at; default: {LONGEST}")
    ] = None,
    cc: CcOption = None,
    metric: MetricOption = None,
    backend: BackendOption = "simulator",
    stack: StackOption = None,
    kernel: KernelOption = None,
    seed: SeedOption = None,
    replicate: Annotated[int, typer.Option(min=0)] = 0,
    budgets: Annotated[
        bool, typer.Option("--budgets", help="of DIR: where the time goes without and with the best choice")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Explain what kept senders from sending, in a capture or in a run of the first cell --set leaves.

    Of a finished run (DIR): why numbers are not the paper's, as far as choices of --sensitivity were run.
    """
    from cwndlab.diagnosis.from_capture import is_capture
    from cwndlab.spec.units import parse_seconds

    moment = None if at is None else parse_option(at, parse_seconds, "--at")
    given: dict[str, object] = {
        "--set": set_ or more,
        "--flow": flow,
        "--at": at,
        "--longest": longest,
        "--cc": cc,
        "--metric": metric,
        "--backend": None if backend == "simulator" else backend,
        "--stack": stack,
        "--kernel": kernel,
        "--seed": seed,
        "--replicate": replicate or None,
        "--budgets": budgets,
    }
    if at is not None and longest is not None:
        raise StudyError("--at explains one moment", key="--longest", right="leave one of them out")
    longest = longest or LONGEST
    if is_capture(Path(study)):
        _refuse("a capture", given, ("--at", "--longest"))
        from cwndlab.runs.explain import explain_capture

        return _show(explain_capture(study, moment, longest), json_)
    if Path(study, "provenance.json").is_file():
        _refuse("a finished run", given, ("--set", "--budgets"))
        return _differences(Path(study), changes_of([*(set_ or []), *(more or [])]), budgets, json_)
    if budgets:
        raise StudyError("only a finished run has --budgets", key="--budgets", right="name its folder")
    from cwndlab.runs.options import RunOptions

    options = RunOptions(backend=backend, stack=stack, kernel=kernel)
    loaded = load(study, set_, more, cc=cc, metrics=metric)
    _show(_explain_cell(loaded, options, seed, replicate, flow, moment, longest), json_)


def _explain_cell(
    loaded: Study,
    options: RunOptions,
    seed: int | None,
    replicate: int,
    flow: str | None,
    moment: float | None,
    longest: int,
) -> Diagnosis:
    """The diagnosis of one run of the first cell of a study."""
    from cwndlab.runs.again import OneCell, OneKernelCell
    from cwndlab.runs.explain import explain_run
    from cwndlab.runs.run import kernel_of

    kernel = kernel_of(options, loaded)
    plan = loaded.plan(seed=seed)
    cell = plan.cells[0]
    cell.check()
    if len(plan.cells) > 1:
        echo(f"note: {len(plan.cells)} cells match; this is {cell.id}", err=True)
    source = OneCell(cell, plan.seed) if kernel is None else OneKernelCell(cell, plan.seed, kernel)
    try:
        return explain_run(source, cell.id, replicate, flow, moment, longest)
    except KeyError as error:
        raise StudyError(str(error.args[0]), key="--flow") from None


def _refuse(what: str, given: Mapping[str, object], applicable: Collection[str]) -> None:
    """StudyError for the first option that was given and does not apply."""
    for option, value in given.items():
        if option not in applicable and value is not None and value != [] and value is not False:
            known = ", ".join((*applicable, "--json"))
            raise StudyError(f"{what} has no {option}", key=option, right=f"it takes {known}")


def _differences(folder: Path, where: Mapping[str, str], budgets: bool, json_: bool) -> None:
    """The numbers of a finished run that are not the paper's, of the cells with these axis values."""
    from cwndlab.report.discrepancies import explained_text
    from cwndlab.study import open_results

    result = open_results(folder)
    results = result.results
    wanted = {axis: [results.axis_value(axis, v) for v in text.split(",")] for axis, text in where.items()}
    cells = {cell.id for cell in results.select(wanted)}
    found = [one for one in result.discrepancies(budgets=budgets) if one.cell in cells]
    if json_:
        echo_json([one.to_dict() | ({"budgets": one.budgets or ""} if budgets else {}) for one in found])
        return
    for one in found:
        echo(str(one))
        if one.budgets:
            echo(f"  {one.budgets}")
    text = explained_text(found, len(result.study.outline.sensitivity), run=bool(result.variations))
    echo(text or "no number differs from a published one that choices could explain")


def _show(found: Diagnosis, json_: bool) -> None:
    if json_:
        echo_json(found.to_dict())
    else:
        echo(str(found))
