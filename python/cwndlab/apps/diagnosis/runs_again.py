"""Runs that are simulated again for what a diagnosis needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cwndlab.base.core import KeptRecords
from cwndlab.records.run_view import WholeRun
from cwndlab.runs.single_run import Repeatable, with_probes

EMPTY: Mapping[str, object] = MappingProxyType({})


def view_again(
    source: Repeatable,
    cell: str,
    replicate: int,
    probes: Mapping[str, object],
    changes: Mapping[str, object] = EMPTY,
) -> WholeRun:
    """A replicate simulated again with these probes on, and other keys of its scenario changed.

    OutputError if it cannot be.
    """
    scenario = source.scenario(cell)
    if not changes:
        return WholeRun(KeptRecords(with_probes(source, cell, replicate, probes)), scenario)
    every = {**changes, "probes": {**scenario["probes"], **probes}}
    return WholeRun(KeptRecords(source.simulate_again(cell, replicate, every)), {**scenario, **changes})
