"""`cwndlab list` and `expand`: what there is, and a study in full."""

from __future__ import annotations

import json

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
