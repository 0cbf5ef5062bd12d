"""For how many independent numbers each of a table's counts, of numbers that err together in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab.fit.posterior import Posterior
from cwndlab.fit.published_numbers import ScaledNumbers
from test_posterior import OVER, PREDICTED, _numbers

TRUTH = np.array(_numbers({"a": 1, "b": 0, "c": 0}))


@pytest.mark.parametrize(("together", "weight"), [(1, 1.0), (8, 0.25), (24, 0.125)])
def test_the_weight_falls_by_halves_with_the_numbers_that_err_together(together: int, weight: float) -> None:
    blocks = [k // together for k in range(len(TRUTH))]
    errors = np.random.default_rng(3).normal(size=len(TRUTH) // together)
    scaled = ScaledNumbers(blocks, TRUTH + np.repeat(errors, together), PREDICTED)
    assert Posterior.of_numbers(OVER, scaled, seed=1).weight == weight
