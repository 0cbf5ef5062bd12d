"""Two datasets compared number by number: when a difference has an interval, and when it is significant."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import pytest

from cwndlab.stats.difference import NumberDifference, compare_datasets
from cwndlab.stats.results import Results
from cwndlab.study.cells import CellInfo
from synthetic import make_results


def dataset(values: Sequence[float], deterministic: Collection[str] = (), seed: str = "1") -> Results:
    """One cell with one quantity."""
    data = {("x", "delay"): list(values)}
    return make_results(
        (CellInfo("x", {}),), {"delay": "s"}, data, deterministic=deterministic, seeds={"x": seed}
    )


def difference(a: Results, b: Results) -> NumberDifference:
    [found] = compare_datasets(a, b).moved
    return found


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_single_run_of_a_random_cell_gives_a_difference_without_an_interval(seed: str) -> None:
    found = difference(dataset([1.0]), dataset([3.0], seed=seed))
    assert (found.a, found.b) == (1.0, 3.0)
    assert math.isnan(found.interval.low) and math.isnan(found.interval.high) and not found.significant
    assert found.method == "1 replicate: no interval"


def test_where_nothing_is_random_in_either_dataset_any_difference_is_exact_and_significant() -> None:
    found = difference(dataset([1.0], {"x"}), dataset([1.5], {"x"}))
    assert (found.interval.low, found.interval.high) == (0.5, 0.5) and found.significant


def test_the_one_value_of_a_cell_without_randomness_represents_all_replicates_of_the_other() -> None:
    runs = [1.9, 2.0, 2.1, 2.2, 1.8]
    for found in (
        difference(dataset([1.0], {"x"}), dataset(runs)),
        difference(dataset(runs), dataset([3.0], {"x"})),
    ):
        assert 0.5 < found.interval.low < 1.0 < found.interval.high and found.significant


def test_equal_numbers_are_counted() -> None:
    found = compare_datasets(dataset([1.0, 2.0]), dataset([1.0, 2.0]))
    assert (found.same, found.moved, found.only_a, found.only_b) == (1, [], [], [])


def test_significant_differences_come_first_by_size() -> None:
    def several(**values: float) -> Results:
        data = {("x", name): [value] for name, value in values.items()}
        return make_results((CellInfo("x", {}),), dict.fromkeys(values, "s"), data, deterministic={"x"})

    a, b = several(small=100.0, large=1.0, none=math.nan), several(small=101.0, large=3.0, none=2.0)
    assert [one.quantity for one in compare_datasets(a, b).moved] == ["large", "small", "none"]


def test_only_what_both_datasets_have_is_compared_and_cells_of_one_are_listed() -> None:
    def cells(names: str, **quantities: float) -> Results:
        data = {(cell, name): [value] for cell in names for name, value in quantities.items()}
        return make_results(
            tuple(CellInfo(cell, {}) for cell in names),
            dict.fromkeys(quantities, "s"),
            data,
            deterministic=names,
        )

    found = compare_datasets(cells("zax", delay=1.0, mine=2.0), cells("ycba", delay=1.0, yours=2.0))
    assert [(one.cell, one.quantity) for one in found.numbers] == [("a", "delay")]
    assert (found.only_a, found.only_b) == (["x", "z"], ["b", "c", "y"])


@pytest.mark.parametrize(
    ("kind", "none", "larger"), [("difference", 0.0, 2.0), ("ratio", 1.0, 2.0), ("increase", 0.0, 100.0)]
)
def test_a_change_is_significant_if_its_interval_leaves_out_no_change(
    kind: str, none: float, larger: float
) -> None:
    runs = [1.9, 2.1, 2.0, 1.8, 2.2]
    [same] = compare_datasets(dataset(runs), dataset(runs[::-1]), kind).moved
    assert same.interval.low < none < same.interval.high and not same.significant
    [twice] = compare_datasets(dataset(runs), dataset([4.0, 4.1, 3.9, 4.05, 3.95]), kind).moved
    assert twice.interval.low < larger < twice.interval.high and twice.significant
    [less] = compare_datasets(dataset(runs), dataset([0.01, 0.02, 0.03, 0.02, 0.01]), kind).moved
    assert less.interval.high < none and less.significant
