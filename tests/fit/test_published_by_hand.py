"""Distances of tables from published numbers, predictions of combinations, and their words, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cwndlab.apps.fit import choice_model, published
from cwndlab.apps.fit.choice_model import ChoiceModel, Search, latin_hypercube, nearest_predicted
from cwndlab.apps.fit.posterior import Posterior
from cwndlab.apps.fit.published import Combination, PublishedFit, fit_published
from cwndlab.apps.fit.published_numbers import (
    Number,
    ScaledNumbers,
    block_distances,
    floor_of,
    mean_distance,
    numbers_of,
    squared_scale,
    variances_of,
)
from cwndlab.base.errors import StudyError
from cwndlab.runs.run_options import RunOptions

RUNS = np.array([9.0, 10.0, 11.0])
NUMBER = Number("t q", 10.0, 0.5, 1, 10.0, RUNS)


def test_the_scale_of_a_number_has_the_scatter_of_both_the_rounding_and_five_percent() -> None:
    assert squared_scale(NUMBER, 3.0) == pytest.approx(3 * (1 + 1 / 3) + 0.25 + 0.25)
    assert squared_scale(NUMBER._replace(published_runs=2, rounding=0.1), 3.0) == pytest.approx(
        3 * (1 / 2 + 1 / 3) + 0.01 + 0.25
    )
    assert squared_scale(NUMBER._replace(runs=np.array([])), 3.0) == pytest.approx(3 * 2 + 0.5)


def test_the_variance_of_a_number_is_that_of_its_runs_over_combinations() -> None:
    wide = NUMBER._replace(runs=np.array([8.0, math.nan, 12.0]))
    alone = NUMBER._replace(runs=np.array([8.0, math.nan]))
    every = {"a": {"t": [NUMBER], "u": [NUMBER]}, "b": {"t": [wide], "u": [alone]}}
    assert variances_of(every, ["t", "u"]) == pytest.approx([(1 + 8) / 2, 1 / 2])
    assert numbers_of({"t": [wide], "u": [alone]}, ["u"]) == [alone]


def test_a_distance_is_in_squared_scales_by_block_and_cut_at_sixteen() -> None:
    numbers = [
        NUMBER._replace(block="a", estimate=11.0),  # 1 / 0.5
        NUMBER._replace(block="a", estimate=10.0),
        NUMBER._replace(block="b", estimate=12.0),  # 4 / 0.5
        NUMBER._replace(block="c", published=0.0, rounding=0.0, estimate=0.0),  # of no scale
        NUMBER._replace(block="d", estimate=math.nan),
        NUMBER._replace(block="e", estimate=99.0),
    ]
    found = block_distances(numbers, [0.0] * 6)
    assert found == pytest.approx({"a": 1.0, "b": 8.0, "c": 16.0, "d": 16.0, "e": 16.0})
    assert mean_distance(found) == pytest.approx(57 / 5)
    assert block_distances([], []) == {} and math.isnan(mean_distance({}))


SCALED = ScaledNumbers([0, 0, 1], np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 3.0]]))


def test_differences_are_averaged_within_blocks() -> None:
    assert SCALED.block_distances().tolist() == [[0.0, 1.0], [2.5, 0.0]]
    assert SCALED.distances().tolist() == [0.5, 1.25]
    assert SCALED.squares(np.array([1.0, 2.0, 13.0])).tolist() == [[0.0, 81.0], [2.5, 100.0]]
    assert SCALED.counts.tolist() == [2.0, 1.0]


def test_the_likelihood_takes_the_most_likely_variance_of_a_block_and_at_least_one() -> None:
    found = SCALED.likelihood(np.array([[0.5, 4.0], [2.0, 1.0]]), 0.25)
    first = 2 * 0.5 + 1 * (math.log(4) + 1)
    second = 2 * (math.log(2) + 1) + 1
    assert found.tolist() == pytest.approx([-first / 8, -second / 8])


def test_simulated_tables_have_the_residuals_of_the_nearest_combination_with_a_sign_per_block() -> None:
    """The nearest one is off by 0, 0 and -1; and if the other were, by -1, -2 and 0."""
    rng = np.random.default_rng(1)
    drawn = {tuple(SCALED.tables_of(1, rng).tolist()) for _ in range(40)}
    assert drawn == {(2.0, 4.0, 2.0), (2.0, 4.0, 4.0)}
    far = replace(SCALED, published=np.array([1.0, 1.0, 3.0]))
    signs = {tuple((far.tables_of(0, rng) - far.predicted[0]).tolist()) for _ in range(80)}
    assert {(a, b) for _, a, b in signs} == {(-1, -1), (-1, 1), (1, -1), (1, 1)}


def test_a_floor_is_the_distance_of_each_replicate_from_the_others() -> None:
    """The replicate 9 is 1.5 from the mean of 10 and 11, and so is 11 from the others, with other scales."""
    found = []
    for own, rest in ((9.0, 10.5), (10.0, 10.0), (11.0, 9.5)):
        found.append((own - rest) ** 2 / (2.0 * (1 + 1 / 2) + 0.25 + (0.05 * own) ** 2))
    assert floor_of([NUMBER], [2.0]) == pytest.approx((sorted(found)[1], max(found)))
    assert math.isnan(floor_of([NUMBER._replace(runs=RUNS[:2])], [2.0])[0])
    few = [NUMBER, NUMBER._replace(runs=RUNS[:2])]
    assert all(map(math.isnan, floor_of(few, [2.0, 2.0])))


def test_replicates_are_rounded_like_published_numbers() -> None:
    runs = np.array([10.3, 10.3, 10.3])
    rounded = NUMBER._replace(rounding=0.5, runs=runs)  # to 10, which is 0.3 less
    assert floor_of([rounded], [0.0])[0] == pytest.approx(0.3**2 / (0.25 + 0.25))
    assert floor_of([rounded._replace(rounding=0.0)], [0.0]) == (0.0, 0.0)


@pytest.mark.parametrize("rounding", [0.5, 0.0])
def test_a_replicate_without_a_number_is_as_far_as_can_be_from_the_others(rounding: float) -> None:
    number = NUMBER._replace(rounding=rounding, runs=np.array([10.0, 10.0, math.nan, 10.0]))
    assert floor_of([number], [0.0]) == pytest.approx((0.0, 16.0))
    alone = number._replace(runs=np.array([10.0, math.nan, math.nan]))
    assert floor_of([alone], [0.0]) == pytest.approx((16.0, 16.0))


OVER = {"a": [1, 2], "b": ["x", "y", "z"]}
EVERY = [{"a": a, "b": b} for a in OVER["a"] for b in OVER["b"]]


def test_the_design_is_of_centred_indicators_of_values_and_pairs() -> None:
    found = choice_model._design(OVER, [{"a": 1, "b": "y"}])
    single, other = [0.5, -0.5], [-1 / 3, 2 / 3, -1 / 3]
    pairs = [one * two / math.sqrt(10) for one in single for two in other]
    assert found.tolist() == [pytest.approx([*(one / math.sqrt(0.1) for one in [*single, *other]), *pairs])]


def test_a_model_is_a_ridge_regression_and_its_error_that_of_leaving_one_out() -> None:
    estimates = [[1.0, 5.0], [2.0, math.nan], [4.0, 6.0], [3.0, 9.0]]
    run = [EVERY[k] for k in (0, 2, 3, 4)]
    model = ChoiceModel.of_runs(OVER, run, estimates)
    assert model.mean.tolist() == pytest.approx([2.5, 20 / 3])

    def predicted(others: list[int], k: int, column: int) -> float:
        """By the dual form, from these rows around the mean of all."""
        rows = choice_model._design(OVER, [run[at] for at in others])
        around = np.nan_to_num(np.array(estimates)[others, column] - model.mean[column])
        kernel = rows @ rows.T + np.eye(len(others))
        weights = np.linalg.solve(kernel, around)
        return float(choice_model._design(OVER, [run[k]])[0] @ rows.T @ weights)

    for column in (0, 1):
        fitted = [predicted([0, 1, 2, 3], k, column) + model.mean[column] for k in range(4)]
        assert model.estimates(run)[:, column].tolist() == pytest.approx(fitted)
        left = [predicted([one for one in range(4) if one != k], k, column) for k in range(4)]
        around = np.nan_to_num(np.array(estimates)[:, column] - model.mean[column])
        assert model.error[column] == pytest.approx(np.sqrt(np.mean((around - left) ** 2)))
    assert model.estimates(EVERY * 800).shape == (4800, 2)


def test_a_latin_hypercube_has_all_values_as_often_and_no_combination_twice() -> None:
    drawn = latin_hypercube(OVER, 6, seed=3)
    assert all([one["a"] for one in drawn].count(value) <= 3 for value in (1, 2))
    assert len({tuple(one.values()) for one in drawn}) == len(drawn) and 4 <= len(drawn) <= 6
    assert latin_hypercube({"a": [1, 2, 3, 4]}, 4, seed=1) != latin_hypercube({"a": [1, 2, 3, 4]}, 4, seed=4)
    assert sorted(one["a"] for one in latin_hypercube({"a": [1, 2, 3, 4]}, 4, seed=1)) == [1, 2, 3, 4]
    assert len(latin_hypercube({"a": [1]}, 3, seed=1)) == 1


def test_what_was_run_is_not_run_again() -> None:
    predicted = [5.0, 4.0, 9.0, 8.0, 1.0, 2.0]
    # The nearest of each value are 1, 4 (of a), then 3, 4 and 5 (of b) in order; then the nearest of all.
    assert nearest_predicted(OVER, EVERY, predicted, 9, []) == [1, 4, 0, 5, 3, 2]
    assert nearest_predicted(OVER, EVERY, predicted, 3, [EVERY[4], EVERY[0]]) == [1, 5, 3]
    assert nearest_predicted(OVER, EVERY, predicted, 2, []) == [1, 4]


def test_a_search_says_how_well_it_predicted() -> None:
    search = Search(12_345, 20, ((1.0, 1.5), (2.0, 2.125), (4.0, 1.0)))
    assert search.share(23) == "23 of 12,345"
    assert search.sentence().startswith("20 of 12,345 combinations were drawn, and 3 more were run")
    assert "with an error of 0.50 (median)" in search.sentence()


def combination(a: int, b: str, distance: float, held_out: float = math.nan) -> Combination:
    return Combination({"a": a, "b": b}, f"a={a}, b={b}", distance, held_out, {"t q": distance, "t r": 2.0})


NEAR = [combination(2, "y", 0.5, 1.25), combination(1, "x", 0.75, 9.0), combination(1, "z", 3.0)]
CHANCES = {"a": np.array([0.25, 0.75]), "b": np.array([0.04, 0.96, 0.0])}


def fit(**changes: Any) -> PublishedFit:
    posterior = Posterior(OVER, CHANCES, 0.5, 40, 2)
    made = PublishedFit("name", OVER, ["t"], [], 6, NEAR, (0.4, 0.5), NEAR[1], posterior)
    return replace(made, **changes)


def test_a_conclusion_names_the_nearest_and_whether_it_is_as_near_as_a_truth() -> None:
    first, second, *rest = fit().conclusion().split("\n")
    assert first.startswith("a=2, b=y is nearest: distance 0.50, the study's own choices 0.75; ")
    assert first.endswith("; a known truth gets 0.40 (at most 0.50).")
    assert second == "It is as near as a known truth would be."
    assert "more than 95 %: b=y; less than 5 %: none; not determined: a." in rest[0]
    assert rest[1].startswith(
        "In tables of 100 known combinations, as far from these, 40 values had less than 5 %"
    )
    assert rest[1].endswith("of which 2 were true.")
    assert rest[2] == "A fitted value is not a reproduction: its verdict stays `fitted`."
    farther = (
        fit(floor=(0.4, 0.49), held_out=["u"], search=Search(99, 1, ((1.0, 1.0),))).conclusion().split("\n")
    )
    assert farther[1] == "On the tables held out: 1.25, the study's own 9.00."
    assert farther[2].startswith("No combination explains the tables")
    assert farther[-2].startswith("1 of 99 combinations were drawn")


def test_excluded_values_are_those_of_choices_that_are_open() -> None:
    chances = {"a": np.array([0.04, 0.96]), "b": np.array([0.04, 0.5, 0.46])}
    (first, _) = Posterior(OVER, chances, 0.5, 1, 0).sentences()
    assert "more than 95 %: a=2; less than 5 %: b=x; not determined: b." in first
    edge = {"a": np.array([0.05, 0.95]), "b": np.array([0.05, 0.5, 0.45])}
    (first, _) = Posterior(OVER, edge, 0.5, 1, 0).sentences()
    assert "95 %: none; less than 5 %: none; not determined: a, b." in first
    assert list(Posterior({"a": [1]}, {"a": np.array([1.0])}, 0.5, 1, 0).sentences()) == []


def test_each_value_costs_what_its_nearest_combination_is_farther() -> None:
    own = [*NEAR, combination(1, "y", 4.0)]
    assert list(fit(combinations=own).costs()) == [
        ("a", "1", 0.25, 0.25),
        ("a", "2", 0.75, 0.0),
        ("b", "x", 0.04, 0.25),
        ("b", "y", 0.96, 0.0),
        ("b", "z", 0.0, 2.5),
    ]


def test_the_page_and_the_table_have_the_nearest_combinations(tmp_path: Path) -> None:
    many = [combination(1 + k % 2, "xyz"[k % 3], 0.5 + k) for k in range(12)]
    made = fit(combinations=many, held_out=["u"])
    page = made.page()
    assert "# Choices fitted to the tables of name\n\n12 combinations of a, b, 6 replicates.\n" in page
    assert "Fitted: t, held out: u." in page
    assert page.count("| 0.50 | – |") == 1 and "| 9.50 | – |" in page and "| 10.50 | – |" not in page
    assert "| a | 1 | 25 % | 0.00 |" in page and "| b | z | 0 % | 2.00 |" in page
    searched = fit(search=Search(99, 1, ((1.0, 1.0),))).page()
    assert "3 of 99 combinations of a, b, 6 replicates." in searched and "Fitted: t.\n" in searched
    assert len(made.table().splitlines()) == 11 and len(made.table(2).splitlines()) == 3
    assert made.table().splitlines()[1].split() == ["a=1,", "b=x", "0.50", "–"]
    fit().write(tmp_path)
    lines = (tmp_path / "choices.csv").read_text().splitlines()
    assert lines[0] == "a,b,distance,held_out,t q,t r" and lines[1] == "2,y,0.5,1.25,0.5,2.0"
    assert (tmp_path / "fit.md").read_text() == fit().page()


@pytest.mark.parametrize(
    ("size", "most", "words"),
    [
        (5001, None, "5,001 combinations are too many"),
        (200_001, 20, "200,001 combinations are too many to predict"),
    ],
)
def test_too_many_combinations_are_an_error(size: int, most: int | None, words: str) -> None:
    choices = SimpleNamespace(names=[0])
    study = SimpleNamespace(outline=SimpleNamespace(sensitivity={"a": choices}))
    with pytest.raises(StudyError, match=words):
        fit_published(study, {"a": list(range(size))}, [], RunOptions(), most=most)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "most"), [(5000, None), (30, 30), (200_000, 20)])
def test_as_many_as_the_limit_are_run(monkeypatch: pytest.MonkeyPatch, size: int, most: int | None) -> None:
    class RunError(Exception):
        pass

    def run(self: object, combinations: list[object]) -> None:
        raise RunError(len(combinations))

    monkeypatch.setattr(published._Tables, "run", run)
    run_settings = SimpleNamespace(run=SimpleNamespace(seed=1))
    study = SimpleNamespace(
        outline=SimpleNamespace(sensitivity={"a": SimpleNamespace(names=[0])}), base=run_settings
    )
    with pytest.raises(RunError) as caught:
        fit_published(study, {"a": list(range(size))}, [], RunOptions(), most=most)  # type: ignore[arg-type]
    assert caught.value.args == (size + 1 if size <= 5000 else 11,)
