"""The output of `cwndlab run` after the last run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cwndlab.base.writing import count_text, plain_row
from cwndlab.report.verdict_files import count_verdicts, read_incompatible, read_summary
from cwndlab.runs.progress import span
from cwndlab.stats.verdict import Verdict

from .output import echo, echo_json, estimate_text

if TYPE_CHECKING:
    from cwndlab.results.result import RunResult


def failed_claims(result: RunResult) -> list[str]:
    """The ids of the claims with the verdict `fails`."""
    return (
        []
        if result.folder is None
        else count_verdicts(result.folder / "claims.csv")[1].get(Verdict.FAILS, [])
    )


def summary(result: RunResult, seconds: float) -> dict[str, Any]:
    """A summary of a run as data for JSON; `seconds` is the time of the whole command."""
    folder = result.folder
    verdicts, claims = (
        ({}, {})
        if folder is None
        else (count_verdicts(folder / f)[0] for f in ("verdicts.csv", "claims.csv"))
    )
    kept = read_summary(folder) if folder is not None else {}
    return {
        "study": result.study.name,
        "report": str(result.report) if result.report is not None else None,
        "cells": len(result.plan.cells),
        "replicates_run": result.campaign.performed,
        "seconds": round(seconds, 3),
        "failed_runs": len(result.failures),
        "failed_connections": dict(result.results.failed),
        "verdicts": verdicts,
        "incompatible": kept.get("incompatible"),
        "mean_changes": kept.get("mean_changes"),
        "claims": claims,
    }


def show(result: RunResult, seconds: float) -> None:
    """Prints the summary of a run in a few lines."""
    data = summary(result, seconds)
    cells = count_text(data["cells"], "cell")
    if result.campaign.performed:
        echo(f"{cells}, {count_text(result.campaign.performed, 'run')} in {span(seconds)}")
    else:
        echo(f"{cells}, nothing to run: all results were kept")
    for what in ("verdicts", "claims"):
        if data[what]:
            echo(f"{what}: {_counts(data[what])}")
    if data["mean_changes"]:
        for line in import_module("cwndlab.apps.reproduction.played").read_mean_lines(data["mean_changes"]):
            echo(line)
    if (incompatible := read_incompatible(data)) is not None:
        echo(incompatible.text)


def _counts(tally: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in tally.items())


def estimates(result: RunResult) -> None:
    """Prints all estimates with their intervals."""
    for number in result.estimates.numbers:
        words = estimate_text(number.value, number.ci_low, number.ci_high, number.unit)
        echo(f"{number.cell}  {number.quantity}: {words}")


def as_json(result: RunResult, seconds: float) -> None:
    """Prints the summary of a run and all its estimates as JSON."""
    rows = [plain_row(row) for row in result.estimates.to_pylist()]
    echo_json({**summary(result, seconds), "estimates": rows})
