"""`cwndlab list`, `expand` and `doctor`: what there is, a study in full, and what works here."""

from __future__ import annotations

import json

import typer

from .arguments import JsonOption, MetricOption, MoreSets, SetOption, StudyArgument, load
from .output import columns, echo


def list_studies(json_: JsonOption = False) -> None:
    """List the shipped studies."""
    from cwndlab.study.document import titles

    found = titles()
    if json_:
        echo(json.dumps([{"name": n, "title": t} for n, t in found.items()], indent=1, ensure_ascii=False))
    else:
        echo(columns(list(found.items())))


def expand(
    study: StudyArgument, more: MoreSets = None, set_: SetOption = None, metric: MetricOption = None
) -> None:
    """Print a study with its short forms (`dumbbell`, `parking_lot`, `measure`) written out."""
    from cwndlab.study.toml import dumps

    echo(dumps(load(study, set_, more, metrics=metric).raw).rstrip("\n"))


def doctor() -> None:
    """Report what is installed and works, and what each extra would add."""
    from cwndlab.results.installation import examine

    good = True
    for item in examine():
        good = good and (item.works or not item.required)
        echo(f"{'ok ' if item.works else 'no ' if item.required else '–  '} {item.name}: {item.detail}")
    if not good:
        raise typer.Exit(1)
