"""The probability of choices: what the tables show is found, what they do not show stays open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cwndlab.apps.fit.posterior import Posterior
from cwndlab.apps.fit.published_numbers import Number, ScaledNumbers

#: `a` moves numbers by several scales, `b` by half of one, and `c` by nothing.
OVER = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1]}
EVERY = [dict(zip(OVER, values, strict=True)) for values in itertools.product(*OVER.values())]
BLOCK = [0] * 12 + [1] * 12


def _numbers(one: dict[str, int]) -> list[float]:
    return [10.0 + 4.0 * one["a"] * (-1) ** k + 0.5 * one["b"] for k in range(len(BLOCK))]


PREDICTED = np.array([_numbers(one) for one in EVERY])


def _posterior(published: np.ndarray) -> Posterior:
    return Posterior.of_numbers(OVER, ScaledNumbers(BLOCK, published, PREDICTED), seed=1)


def test_a_choice_that_the_tables_show_is_determined_and_one_without_effect_is_not() -> None:
    noise = np.random.default_rng(7).normal(size=len(BLOCK))
    found = _posterior(np.array(_numbers({"a": 1, "b": 0, "c": 0})) + noise)
    assert found.marginals["a"][1] > 0.99
    assert found.marginals["c"].tolist() == pytest.approx([0.5, 0.5])
    first, second = found.sentences()
    assert "more than 95 %: a=1; less than 5 %: none; not determined: b, c" in first
    assert f"{found.unlikely} values" in second


def test_probabilities_are_less_certain_the_farther_the_study_is_from_the_paper() -> None:
    truth = np.array(_numbers({"a": 1, "b": 1, "c": 0}))
    noise = np.random.default_rng(7).normal(size=len(BLOCK))
    certain = [_posterior(truth + size * noise).marginals["a"][1] for size in (1.0, 8.0, 40.0)]
    assert certain[0] > 0.99 > certain[1] > certain[2] > 1 / 3


def test_numbers_that_err_together_count_for_fewer() -> None:
    truth = np.array(_numbers({"a": 1, "b": 0, "c": 0}))
    alone = _posterior(truth + 3 * np.random.default_rng(3).normal(size=len(BLOCK)))
    together = _posterior(truth + np.where(np.equal(BLOCK, 0), 3.0, -3.0))
    assert together.weight < alone.weight


def test_values_with_little_probability_are_seldom_true() -> None:
    found = _posterior(np.array(_numbers({"a": 1, "b": 0, "c": 0})) + 1.0)
    assert found.unlikely > 100
    assert found.wrong < 0.05 * found.unlikely


def test_an_estimate_that_is_not_known_lies_four_scales_away() -> None:
    number = Number("table goodput", 10.0, 0.5, 1, 11.0, np.array([11.0]))
    scaled = ScaledNumbers.of_numbers([number], [0.0], np.array([[10.0], [np.nan]]))
    assert scaled.distances().tolist() == pytest.approx([0.0, 16.0])
    doubtful = ScaledNumbers.of_numbers([number], [0.0], np.array([[11.0]]), error=1.0)
    assert doubtful.distances()[0] == pytest.approx(1 / (0.5**2 + 0.5**2 + 1.0))


@pytest.mark.parametrize(("together", "weight"), [(1, 1.0), (8, 0.25), (24, 0.125)])
def test_the_weight_falls_by_halves_with_the_numbers_that_err_together(together: int, weight: float) -> None:
    truth = np.array(_numbers({"a": 1, "b": 0, "c": 0}))
    errors = np.random.default_rng(3).normal(size=len(truth) // together)
    blocks = [k // together for k in range(len(truth))]
    scaled = ScaledNumbers(blocks, truth + np.repeat(errors, together), PREDICTED)
    assert Posterior.of_numbers(OVER, scaled, seed=1).weight == weight
