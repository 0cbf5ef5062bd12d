"""With which numbers of its table a paper compares a number, and at which confidence level."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab.stats import tables
from cwndlab.stats.sample import relate
from cwndlab.stats.stopping import StoppingRule
from cwndlab.study.cells import CellInfo
from cwndlab.study.outputs import Column
from synthetic import make_results, sample

RUNS = {"a": [1.0, 1.2, 0.9, 1.1], "b": [2.0, 2.1, 1.8, 2.3], "c": [3.0, 3.3, 2.8, 3.1]}
CELLS = {name: CellInfo(name, {}) for name in RUNS}
RESULTS = make_results(
    tuple(CELLS.values()), {"delay": "s"}, {(name, "delay"): runs for name, runs in RUNS.items()}
)
DELAY = Column.model_validate({"heading": "delay", "quantity": "delay"})
OTHER = Column.model_validate({"heading": "loss", "quantity": "loss"})


def draft(
    cell: str | None, value: float | None, group: tuple[str, ...] | None = (), column: Column = DELAY
) -> Any:
    published = None if value is None else SimpleNamespace(value=value, rounding=0.05)
    return tables._Draft(SimpleNamespace(published=published), column, cell and CELLS[cell], group)  # type: ignore[arg-type]


def test_all_printed_numbers_of_the_group_that_differ_share_the_five_per_cent() -> None:
    own, b, c = draft("a", 1.0), draft("b", 2.0), draft("c", 3.0)
    others = [
        *(draft("b", None), draft(None, 2.0), draft("b", 2.0, ("x",)), draft("b", 2.0, (), OTHER)),
        draft("b", 1.09),  # may be the same number, rounded
    ]
    found = list(tables._comparisons(RESULTS, own, [*others, own, b, *others, c]))
    assert [one.published for one in found] == [1.0, 2.0]
    for name, one in zip("bc", found, strict=True):
        expected = relate("difference", RESULTS.sample(name, "delay"), RESULTS.sample("a", "delay")).estimate(
            0.975
        )
        assert (one.measured.low, one.measured.high) == pytest.approx((expected.low, expected.high))
    (alone,) = tables._comparisons(RESULTS, own, [own, b])
    expected = relate("difference", RESULTS.sample("b", "delay"), RESULTS.sample("a", "delay")).estimate(0.95)
    assert (alone.measured.low, alone.measured.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("own", [draft("a", None), draft(None, 1.0), draft("a", 1.0, None)])
def test_what_is_not_printed_not_run_or_in_no_group_is_compared_with_nothing(own: Any) -> None:
    assert list(tables._comparisons(RESULTS, own, [own, draft("b", 2.0), draft("b", 2.0, None)])) == []


def test_no_more_runs_are_asked_for_beyond_the_cap() -> None:
    rule = StoppingRule(relative=0.001, cap=12)
    noisy = [1.0, 2.0, 4.0, 3.0, 9.0, 5.0, 7.0] * 2
    assert [rule.replicates_needed(sample(noisy[:n]), n) for n in (11, 12, 14)] == [12, 12, 14]


def test_samples_are_themselves_whatever_their_runs_are() -> None:
    one, other = sample([1.0, 2.0, 3.0]), sample([1.0, 2.0, 3.0])
    assert one == one and one != other and len({one, other}) == 2


@pytest.mark.parametrize(
    ("kind", "size"),
    [("ratio", 0.0), ("increase", 0.0), ("decrease", 0.0), ("difference", 6.0), ("sum", 6.0)],
)
def test_rounding_errors_of_a_quotient_are_not_relative_to_its_sides(kind: str, size: float) -> None:
    assert relate(kind, sample([5.0, 6.0, 7.0]), sample([2.0, 3.0, 4.0])).size == size
