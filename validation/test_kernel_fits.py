"""The table of fits to kernels' captures counts intervals that contain the true value."""

from __future__ import annotations

from .fit_table import Row
from .kernel_fits import CROSS, outside, paths, table


def test_a_third_of_the_paths_has_each_kind_of_cross_traffic_and_all_run_on_linux() -> None:
    """The same seed also draws the same paths."""
    drawn = paths(5, 9)
    assert [path.cross for path in drawn] == [*CROSS] * 3
    assert {(path.limit, path.backend) for path in drawn} == {("network", "linux-virtual")}
    assert drawn == paths(5, 9) != paths(6, 9)


def test_an_interval_without_the_truth_is_counted_and_named() -> None:
    """A path without a fit is counted and named, too."""
    inside, missed, none = paths(5, 3)
    rows = [
        Row(inside, errors={"rate": 0.0}, covered={"rate": False}, covered_on_hosts={"rate": True}),
        Row(missed, errors={"rate": 0.1}, covered={"rate": False}, covered_on_hosts={"rate": False}),
        Row(none, reasons=("rate",)),
    ]
    last = table(rows)[-1]
    assert "| 2 of 3 | 1 of 2 |" in last and "1 of 2 (50 %)" in last and "0 of 2 (0 %)" in last
    named = outside(rows)
    assert "rate +0.1" in named[0] and named[1].endswith("no fit: rate")
