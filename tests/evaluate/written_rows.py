"""Rows and scorecards that are written by hand, without a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cwndlab.apps.evaluate.pack import Criterion, Pack, PackFile
from cwndlab.apps.evaluate.scorecard import CriterionRow, Scorecard, Standing, ThresholdOutcome
from cwndlab.stats.family import Family
from cwndlab.stats.intervals import Interval


def criterion(name: str = "1-x", **more: Any) -> Criterion:
    about = {"section": "1", "asks": "Send.", "study": "small", "shows": "goodput", "value": "goodput"}
    return Criterion.model_validate({"id": name, "better": "higher", **about, **more})


def around(value: float, reach: float = 1.0) -> Interval:
    return Interval(value, value - reach, value + reach, 5, "t")


def row(
    outcomes: Mapping[str, ThresholdOutcome] | None = None,
    standings: Mapping[str, Mapping[str, Standing]] | None = None,
    values: Mapping[str, Interval] | None = None,
    of: Criterion | None = None,
    **more: Any,
) -> CriterionRow:
    return CriterionRow("p", of or criterion(), values or {}, outcomes or {}, standings or {}, **more)


def card(*rows: CriterionRow, subjects: tuple[str, ...] = ("a",), name: str = "p") -> Scorecard:
    file = PackFile(
        title="Small",
        kind="cc",
        document="RFC 0",
        url="https://example.org/",
        about="For a test.",
        references=["reno", "cubic"],
        criteria=[criterion()],
    )
    return Scorecard(Pack(name, Path(name), file), subjects, ("reno", "cubic"), rows, Family(0, 0, 0))


#: A study in which two of three flows have the law of the axis `subject`.
GROUPS = """
title = "laws"
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
flows = [{ name = "x", cc = "$subject" }, { name = "y", cc = "reno" }, { name = "z", cc = "$subject" }]
[axes.subject]
values = ["reno", "cubic"]
[run]
duration = "2s"
warmup = "1s"
"""
