"""Repetition of runs with the probes that a diagnosis needs."""

from __future__ import annotations

from collections.abc import Mapping

from cwndlab.base.core import KeptRecords
from cwndlab.records.run_view import WholeRun
from cwndlab.runs.single_run import Repeatable, with_probes


def view_again(
    source: Repeatable,
    cell: str,
    replicate: int,
    probes: Mapping[str, object],
    changes: Mapping[str, object] | None = None,
) -> WholeRun:
    """A replicate simulated again with these probes on and these keys of its scenario replaced.

    OutputError if it cannot be repeated.
    """
    tables = with_probes(source, cell, replicate, probes, changes)
    return WholeRun(KeptRecords(tables), {**source.scenario(cell), **(changes or {})})
