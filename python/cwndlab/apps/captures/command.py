"""`cwndlab explain`: what kept a sender from sending, and why numbers differ from published ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import NotFoundError, StudyError
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, one_cell, parse_changes, parse_option, reject_options
from cwndlab.cli.output import echo, echo_json

if TYPE_CHECKING:
    from cwndlab.apps.diagnosis.diagnosis import Diagnosis


#: Default of `--longest`.
LONGEST = 5

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="STUDY|CAPTURE|QLOG|DIR", help="a study, a pcap, pcapng or qlog file, or a folder of `run -o`"
    ),
]
FlowOption = Annotated[str | None, typer.Option(metavar="NAME", help="a traffic entry; default: the first")]
AtOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="the moment, as 14.4s; default: the longest waits")
]
LongestOption = Annotated[
    int | None, typer.Option(min=1, help=f"how many waits to explain, without --at; default: {LONGEST}")
]
BudgetsOption = Annotated[
    bool, typer.Option("--budgets", help="of DIR: where the time goes without and with the best choice")
]


def explain(
    ctx: typer.Context,
    study: WhatArgument,
    more: opt.MoreSets = None,
    set_: opt.SetOption = None,
    flow: FlowOption = None,
    at: AtOption = None,
    longest: LongestOption = None,
    cc: opt.CcOption = None,
    metric: opt.MetricOption = None,
    backend: opt.BackendOption = "simulator",
    stack: opt.StackOption = None,
    kernel: opt.KernelOption = None,
    seed: opt.SeedOption = None,
    replicate: opt.ReplicateOption = 0,
    budgets: BudgetsOption = False,
    json_: opt.JsonOption = False,
) -> None:
    """Explain what kept senders from sending, in a capture, a qlog, or a run of the first cell --set leaves.

    Of a finished run (DIR): why numbers are not the paper's, as far as choices of --sensitivity were run.
    """
    from cwndlab.apps.diagnosis.explanation import explain_run
    from cwndlab.apps.diagnosis.quic.explain_qlog import explain_qlog
    from cwndlab.apps.diagnosis.quic.qlog_file import is_qlog
    from cwndlab.runs.run_options import RunOptions
    from cwndlab.study.units import parse_seconds

    from .capture_formats import is_capture
    from .explain_capture import explain_capture

    moment = None if at is None else parse_option(at, parse_seconds, "--at")
    if at is not None and longest is not None:
        raise StudyError("--at explains one moment", key="--longest", right="leave one of them out")
    longest = longest or LONGEST
    if is_capture(Path(study)):
        reject_options(ctx, "a capture", ("--at", "--longest", "--json"))
        return _show(explain_capture(study, moment, longest), json_)
    if is_qlog(Path(study)):
        reject_options(ctx, "a qlog", ("--at", "--longest", "--json"))
        return _show(explain_qlog(Path(study), moment, longest), json_)
    if Path(study, "provenance.json").is_file():
        reject_options(ctx, "a finished run", ("--set", "--budgets", "--json"))
        return _differences(Path(study), parse_changes([*(set_ or []), *(more or [])]), budgets, json_)
    if budgets:
        raise StudyError("a study has no --budgets", key="--budgets", right="they are of a finished run")
    source = one_cell(
        load(study, set_, more, cc=cc, metrics=metric),
        RunOptions(backend=backend, stack=stack, kernel=kernel, seed=seed),
    )
    try:
        _show(explain_run(source, source.cell.id, replicate, flow, moment, longest), json_)
    except NotFoundError as error:
        raise StudyError(error.text, key="--flow") from None


def _differences(folder: Path, where: Mapping[str, str], budgets: bool, json_: bool) -> None:
    """Prints the discrepancies of a finished run from published numbers, for cells with these axis values."""
    from cwndlab.api import open_results
    from cwndlab.apps.reproduction.discrepancies import explained_text

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
    text = explained_text(found, len(result.study.outline.sensitivity), run=bool(result.variations))
    why = f"`cwndlab explain {folder / 'study.toml'}` says what kept senders from sending"
    echo(text or f"no number differs from a published one that choices could explain; {why}")


def _show(found: Diagnosis, json_: bool) -> None:
    if json_:
        echo_json(found.to_dict())
    else:
        echo(str(found))
