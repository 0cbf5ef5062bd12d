"""Connections that failed: refused, reset, abandoned, or ended by an error of their stack.

A flow whose connection failed ended too soon, so numbers from such runs are marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cwndlab.base.core import Value
from cwndlab.base.writing import count_text

from .run_view import WholeRun, flow_name

TABLE = "failures"
"""The record table of failed connections, which every run has."""

#: Prefix of the names of values that count failed connections; the flow, a tab and the reason follow.
_PREFIX = "failed "

#: The largest number of reasons, or of cells, that a message lists.
SHOWN = 3


class FailedConnections(NamedTuple):
    """Connections of a flow that failed for one reason."""

    flow: str
    reason: str
    connections: int
    runs: int
    """The number of runs in which connections of this flow failed for this reason."""


def count_failures(run: WholeRun) -> dict[str, Value]:
    """The numbers of failed connections by flow and reason, as values of the run; empty if none failed."""
    failures, traffic = run.columns(TABLE), run.scenario["traffic"]
    counts = Counter(
        f"{_PREFIX}{flow_name(str(traffic[int(k)]['name']))}\t{reason}"
        for k, reason in zip(failures["traffic"], failures["reason"], strict=True)
    )
    return {name: float(counts[name]) for name in sorted(counts)}


def is_failure(name: str) -> bool:
    """Whether a value of this name counts failed connections."""
    return name.startswith(_PREFIX)


def failed_connections(runs: Iterable[Mapping[str, Value]]) -> list[FailedConnections]:
    """The failed connections of a cell's runs, by flow and reason, the largest number first."""
    counts_by_name: dict[str, list[float]] = {}
    for values in runs:
        for name, value in values.items():
            if is_failure(name) and isinstance(value, float):
                counts_by_name.setdefault(name.removeprefix(_PREFIX), []).append(value)
    failed = []
    for name, counts in counts_by_name.items():
        flow, reason = name.split("\t", 1)
        failed.append(FailedConnections(flow, reason, int(sum(counts)), len(counts)))
    return sorted(failed, key=lambda group: (-group.connections, group.flow, group.reason))


def failures_text(failed: Sequence[FailedConnections], runs: int) -> str:
    """Failed connections of a cell in words; "" if there are none.

    >>> failures_text([FailedConnections("quic", "too many gaps in stream buffer", 3, 3)], 10)
    '3 connections of quic failed (3 of 10 runs): too many gaps in stream buffer'
    """
    parts = []
    for group in failed[:SHOWN]:
        among = f" ({group.runs} of {count_text(runs, 'run')})" if runs > 1 else ""
        parts.append(
            f"{count_text(group.connections, 'connection')} of {group.flow} failed{among}: {group.reason}"
        )
    rest = sum(group.connections for group in failed[SHOWN:])
    return "; ".join(parts + ([f"{count_text(rest, 'connection')} more failed"] if rest else []))
