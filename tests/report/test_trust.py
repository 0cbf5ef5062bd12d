"""`make trust`: which numbers count as near, and the page and figure of two made-up testbeds."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "trust.py"))
Row = TOOL["Row"]


def row(measured: float, here: float, scatter: float = math.nan, **other: Any) -> Any:
    known = {"testbed": "one", "study": "s", "table": "t", "what": "rate", "printed": "", "unit": "ms"}
    return Row(**{**known, **other}, measured=measured, here=here, low=here, high=here, scatter=scatter)


def test_a_number_is_near_within_ten_per_cent_or_within_the_scatter_of_the_trials() -> None:
    outcomes = [row(10, 10.9).outcome, row(10, 11.1).outcome, row(10, 11.1, 1.2).outcome]
    assert outcomes == ["within 10 %", "outside", "within its scatter"]
    assert row(10, 11.3, 1.2).outcome == "outside"


def test_the_page_counts_each_testbed_and_leaves_the_second_one_out_of_the_sum() -> None:
    again = row(20, 30, testbed=TOOL["SECOND"], table="fabric-edge")
    rows = [row(10, 10, table="cloudlab-edge"), row(10, 20), row(5, 5, testbed="two"), again]
    text = TOOL["page"](rows)
    assert "Of 3 numbers that others measured on real hosts, the simulator gives 2 within 10 %" in text
    assert "| one | 2 | 1 (50 %) | 0 | 1 |" in text and "| two | 1 | 1 (100 %) | 0 | 0 |" in text
    assert "testbeds have 0 within 10 % of each other, and the simulator has 0 within 10 %" in text
    assert "| No cause found | 1 |" in text and "are outside, most with a cause" in text
    everything = TOOL["numbers"](rows)
    assert "- **No cause found** (1)." in everything
    assert everything.count("| rate | 10 ms | 20 | +100 % | outside |") == 2, "among those outside and all"
    assert "## two: s, `t`" in everything and "fabric-edge" in everything


def test_the_figure_has_a_mark_for_each_number() -> None:
    svg = TOOL["picture"]([row(10, 10), row(1, 2), row(3, 3, testbed="two")])
    assert "measured by others" in svg and svg.count("<title") <= 1 and ">two</text>" in svg
