"""Ellipses of two quantities: a contour where runs scatter, and none where they do not or are too few."""

from __future__ import annotations

import numpy as np
import pytest

import synthetic
from cwndlab.stats import series
from cwndlab.study.outputs import Figure

SPEC = Figure(id="f", title="F", kind="ellipse", x="a", quantity="b")


def ellipse(a: list[float], b: list[float]) -> series.Ellipse:
    (cell,) = synthetic.grid(iw=[1])
    (found,) = series.ellipses(
        SPEC, synthetic.make_results((cell,), {"a": "s", "b": "s"}, {(cell.id, "a"): a, (cell.id, "b"): b})
    )
    return found


def test_runs_that_scatter_have_a_contour_however_little_and_in_however_few_directions() -> None:
    for scale in (1.0, 1e-3):
        found = ellipse([scale * x for x in (1.0, 2.0, 3.0)], [0.0, 0.0, 0.0])
        assert found.centre == pytest.approx((2.0 * scale, 0.0))
        assert float(np.max(found.x)) == pytest.approx(scale * (2.0 + np.sqrt(2 / 3)), rel=1e-3)
        assert found.y == pytest.approx(np.zeros(len(found.y)))


def test_equal_runs_have_a_centre_and_no_contour() -> None:
    found = ellipse([2.0, 2.0, 2.0], [5.0, 5.0, 5.0])
    assert (found.centre, len(found.x), len(found.y)) == ((2.0, 5.0), 0, 0)


def test_runs_of_which_one_number_is_missing_are_left_out() -> None:
    found = ellipse([1.0, 2.0, float("nan")], [1.0, 2.0, 3.0])
    assert (found.centre, len(found.x)) == ((1.5, 1.5), 0)
