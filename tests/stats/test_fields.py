"""Fields of numbers over cells, and what they are computed from, by hand."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Range
from cwndlab.stats import intervals, jackknife
from cwndlab.stats.field import Field, combine, count, reduce, relative_scatter, surely_less
from cwndlab.stats.sample import Derived, Number, derive
from cwndlab.stats.skewness import stretch
from cwndlab.study.cells import CellInfo
from synthetic import make_results


def of(axes: str, **numbers: float) -> Field:
    """A field without randomness: `of("ab", xy=1)` has the number 1 at a = x and b = y."""
    return Field(tuple(axes), {tuple(key): Derived.constant(value) for key, value in numbers.items()})


def values(field: Field) -> dict[str, float]:
    return {"".join(map(str, key)): float(number.derived.values[0]) for key, number in field.data.items()}


def add(a: Number, b: Number) -> Number:
    return derive(np.add, [a, b], ANY)


def test_one_axis_is_reduced_and_the_others_stay_in_their_order() -> None:
    field = of("cba", xyz=1.0, xuz=4.0, xyw=2.0, wyz=8.0)
    rows = {
        over: reduce(field, lambda matrix: np.sum(matrix, axis=0), over) for over in ("a", "b", "c", None)
    }
    assert {over: "".join(found.axes) for over, found in rows.items()} == {
        "a": "cb",
        "b": "ca",
        "c": "ba",
        None: "",
    }
    assert values(rows["a"]) == {"xy": 3.0, "xu": 4.0, "wy": 8.0}
    assert values(rows["b"]) == {"xz": 5.0, "xw": 2.0, "wz": 8.0}
    assert values(rows["c"]) == {"yz": 9.0, "uz": 4.0, "yw": 2.0}
    assert values(rows[None]) == {"": 15.0}
    with pytest.raises(ValueError, match=r"cannot reduce over 'd': open axes are c, b, a$"):
        reduce(field, lambda matrix: matrix[0], "d")


def test_numbers_are_paired_on_shared_axes_and_crossed_on_others() -> None:
    found = combine(of("ab", xy=1.0, xz=2.0, uz=4.0), of("bc", yv=10.0, yw=20.0, zv=30.0), add)
    assert found.axes == ("a", "b", "c")
    assert values(found) == {"xyv": 11.0, "xyw": 21.0, "xzv": 32.0, "uzv": 34.0}
    with pytest.raises(ValueError, match="the two sides have no a and b in common"):
        combine(of("ab", xy=1.0), of("ab", xz=1.0), add)


def test_a_pair_is_a_condition_if_both_are_and_has_bounds_if_either_has() -> None:
    number = Field.number(1.0)
    condition, bounded = (Field((), number.data, **{name: True}) for name in ("condition", "bounds"))
    for a, b, is_condition, has_bounds in (
        (condition, condition, True, False),
        (condition, number, False, False),
        (number, condition, False, False),
        (bounded, number, False, True),
        (number, bounded, False, True),
    ):
        found = combine(a, b, add)
        assert (found.condition, found.bounds) == (is_condition, has_bounds)
    with pytest.raises(ValueError, match="a count stands next to plain numbers only"):
        combine(bounded, bounded, add)


def test_a_count_has_the_conditions_that_are_sure_and_those_that_are_open() -> None:
    bounds = count(np.array([1.0, math.nan, 0.0, 1.0, math.nan]))
    assert bounds.tolist() == [2, 2, 4]
    found = Field((), {(): Derived(np.array([7.0, 8.0, 5.0]))}, bounds=True).interval()
    assert (found.value, found.low, found.high, found.method) == (7, 5, 8, "sure to not excluded")
    three = Derived.constant(3.0)
    assert surely_less(Derived(bounds), three, bounds=True).tolist() == pytest.approx([math.nan], nan_ok=True)
    assert surely_less(Derived(bounds), Derived.constant(5.0), bounds=True).tolist() == [1.0]
    assert surely_less(Derived(bounds), Derived.constant(2.0), bounds=True).tolist() == [0.0]


def test_the_scatter_of_runs_is_theirs_and_that_without_each() -> None:
    runs = [4.0, 6.0, 8.0, 14.0]
    means = [statistics.mean(runs), *(statistics.mean(runs[:k] + runs[k + 1 :]) for k in range(4))]
    found = relative_scatter(np.array(means))
    of_runs = [runs, *(runs[:k] + runs[k + 1 :] for k in range(4))]
    assert found.tolist() == pytest.approx([statistics.stdev(x) / statistics.mean(x) for x in of_runs])
    assert relative_scatter(np.array([5.0])).tolist() == [0.0]
    assert np.isnan(relative_scatter(np.array([5.0, 4.0, 6.0]))).tolist() == [True] * 3


@pytest.mark.parametrize("within", [NON_NEGATIVE, Range(0.5)])
def test_the_quantiles_of_a_mean_are_stretched_by_how_far_the_runs_scatter_above_the_least(
    within: Range,
) -> None:
    runs = [1.0, 2.0, 4.0, 9.0, 3.0]
    relative = statistics.stdev(runs) / (statistics.mean(runs) - within.low)
    assert intervals._stretch(np.array(runs), within) == pytest.approx(stretch(5, relative))
    assert stretch(5, relative) != (1.0, 1.0)
    for other in (SHARE, COUNT, ANY):
        assert intervals._stretch(np.array(runs), other) == (1.0, 1.0)


@pytest.mark.parametrize(("scatter", "warns"), [(0.74, False), (0.76, True)])
def test_a_warning_appears_where_runs_scatter_by_three_quarters_of_their_mean(
    scatter: float, warns: bool
) -> None:
    runs = 1.0 + scatter * np.array([-1.0, 0.0, 1.0])
    assert statistics.stdev(runs) == pytest.approx(scatter)
    found = intervals.warn_of_scatter(runs, NON_NEGATIVE)
    assert found.startswith("the runs scatter by more than 75 % of their mean") == warns
    assert bool(found) == warns
    assert intervals.warn_of_scatter(runs, COUNT) == intervals.warn_of_scatter(runs, ANY) == ""


@pytest.mark.parametrize(
    "runs", [[1.0] * 6 + [2.0], [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], [1.0, 1.0, 1.0, 4.0, 4.0, 5.0, 9.0]]
)
def test_leaving_out_one_value_of_a_median_has_the_error_of_its_order_statistics(runs: list[float]) -> None:
    x, n = np.array(runs), len(runs)
    point, *others = jackknife.jackknife_values(x, "median")
    assert point == statistics.median(runs)
    error = math.sqrt((n - 1) / n * sum((other - point) ** 2 for other in others))
    assert error == pytest.approx(jackknife._median_error(x))
    assert error > 0


@pytest.mark.parametrize(
    ("samples", "within", "dominated"),
    [
        ([10.0, 9.0, 11.0], NON_NEGATIVE, False),
        ([10.0, 1e-9, 15.0], NON_NEGATIVE, True),  # only the first run had any
        ([10.0, 1e-9, 15.0], ANY, False),
        ([0.9, 0.85, 0.95], SHARE, False),
        ([0.9, 1.0, 0.8], SHARE, True),
        ([0.1, 0.2, 0.0], SHARE, True),
    ],
)
def test_a_run_dominates_if_without_it_the_estimate_is_at_a_bound(
    samples: list[float], within: Range, dominated: bool
) -> None:
    assert jackknife._is_dominated(np.array(samples), within) is dominated


def test_equal_values_have_a_median_without_error() -> None:
    assert jackknife.jackknife_values(np.full(7, 3.0), "median").tolist() == [3.0] * 8


def test_a_list_that_was_not_measured_is_a_matrix_without_places() -> None:
    cells = (CellInfo("x", {}), CellInfo("y", {}))
    found = make_results(cells, {"delays": "s"}, {("x", "delays"): [[1.0], [2.0, 3.0]]})
    assert found.matrix("x", "delays").tolist() == pytest.approx(
        np.array([[1.0, math.nan], [2.0, 3.0]]), nan_ok=True
    )
    assert found.matrix("y", "delays").shape == (0, 0)
