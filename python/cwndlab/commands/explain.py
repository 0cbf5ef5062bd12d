"""`cwndlab explain`: what kept a sender from sending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.errors import StudyError

from .loading import load
from .options import CcOption, JsonOption, MoreSets, SeedOption, SetOption, parsed
from .output import echo, echo_json

if TYPE_CHECKING:
    from cwndlab.diagnosis.diagnosis import Diagnosis


def explain(
    study: Annotated[
        str, typer.Argument(metavar="STUDY|CAPTURE", help="a study's name or file, or a pcap or pcapng file")
    ],
    more: MoreSets = None,
    set_: SetOption = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="a traffic entry; default: the first")
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="the moment, as 14.4s; default: the longest waits")
    ] = None,
    longest: Annotated[int, typer.Option(min=1, help="how many waits to explain, without --at")] = 5,
    cc: CcOption = None,
    seed: SeedOption = None,
    replicate: Annotated[int, typer.Option(min=0)] = 0,
    json_: JsonOption = False,
) -> None:
    """Explain what kept senders from sending, in a capture or in a run of the first cell --set leaves."""
    from cwndlab.diagnosis.from_capture import is_capture
    from cwndlab.runs.again import OneCell
    from cwndlab.runs.explain import explain_capture, explain_run
    from cwndlab.spec.units import parse_seconds

    moment = None if at is None else parsed(at, parse_seconds, "--at")
    if is_capture(Path(study)):
        if more or set_ or flow or cc or seed is not None or replicate:
            raise StudyError("a capture takes only --at, --longest and --json")
        return _show(explain_capture(study, moment, longest), json_)
    plan = load(study, set_, more, cc=cc).plan(seed=seed)
    cell = plan.cells[0]
    cell.check()
    if len(plan.cells) > 1:
        echo(f"note: {len(plan.cells)} cells match; this is {cell.id}", err=True)
    try:
        found = explain_run(OneCell(cell, plan.seed), cell.id, replicate, flow, moment, longest)
    except KeyError as error:
        raise StudyError(str(error.args[0]), key="--flow") from None
    _show(found, json_)


def _show(found: Diagnosis, json_: bool) -> None:
    if json_:
        echo_json(found.to_dict())
    else:
        echo(str(found))
