"""Runs that are simulated again for what a diagnosis needs of them."""

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
    """A replicate simulated again with these probes on, and other keys of its scenario changed.

    OutputError if it cannot be.
    """
    tables = with_probes(source, cell, replicate, probes, changes)
    return WholeRun(KeptRecords(tables), {**source.scenario(cell), **(changes or {})})
