"""Numbers, differences and rules as Python shows them, and arguments that they reject."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cwndlab.stats import intervals
from cwndlab.stats.difference import NumberDifference
from cwndlab.stats.distributions import order_ranks
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import CellRecords, Estimate
from cwndlab.stats.stopping import StoppingRule
from cwndlab.stats.verdict import SYMBOLS, Verdict

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (1234.5678, 1000.0, 2000.0, "kbit/s", "1235 kbit/s [1000, 2000]"),
        (0.5, 0.25, 0.75, "1", "0.5 [0.25, 0.75]"),
        (3.0, 3.0, 3.0, "s", "3 s"),  # exact
        (3.0, NAN, NAN, "s", "3 s"),
        (NAN, NAN, NAN, "s", "not measurable"),
    ],
)
def test_an_estimate_prints_its_value_unit_and_interval(
    value: float, low: float, high: float, unit: str, text: str
) -> None:
    interval = Interval(value, low, high, 5, "not measurable")
    estimate = Estimate.from_interval("c", "q", unit, interval)
    assert str(estimate) == text
    np.testing.assert_equal(tuple(estimate.interval), tuple(interval))


def difference(a: float, b: float, interval: Interval, *, significant: bool = False) -> NumberDifference:
    return NumberDifference("c", "q", "s", a, b, interval, False, significant)


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [(4.0, 3.0, 0.25), (3.0, 4.0, 0.25), (-4.0, 4.0, 2.0), (0.0, 2.0, 1.0), (0.0, 0.0, 0.0), (NAN, 2.0, 1.0)],
)
def test_a_change_is_relative_to_the_larger_number(a: float, b: float, change: float) -> None:
    assert difference(a, b, Interval(b - a, NAN, NAN, 1, "m")).change == change


def test_a_difference_says_by_how_many_replicates_it_was_tested() -> None:
    tested = difference(1.0, 2.0, Interval(1.0, 0.5, 1.5, 7, "paired t"), significant=True)
    assert tested.method == "paired t, 7 replicates" and tested.tested
    single = difference(1.0, 2.0, Interval(1.0, NAN, NAN, 1, "1 replicate: no interval"))
    assert single.method == "1 replicate: no interval" and not single.tested
    within = difference(1.0, 1.1, Interval(0.1, -0.5, 0.7, 7, "paired t"))
    assert within.tested and not within.significant
    exact = intervals.exact(0.5, 3)
    assert difference(1.0, 1.5, exact).method == exact.method
    assert tested.to_dict() == {
        **{"cell": "c", "quantity": "q", "unit": "s", "a": 1.0, "b": 2.0, "low": 0.5, "high": 1.5},
        **{"method": "paired t, 7 replicates", "significant": True},
    }


@pytest.mark.parametrize(("relative", "cap"), [(0.0, 10), (1.0, 10), (-0.1, 10), (0.1, 9)])
def test_a_stopping_rule_has_a_precision_and_a_cap_that_make_sense(relative: float, cap: int) -> None:
    with pytest.raises(ValueError, match=r"precision must lie between 0 and 1|cap must be at least 10"):
        StoppingRule(relative, cap)
    assert StoppingRule(0.99, 10).first_look == 10


def test_arguments_without_a_meaning_are_rejected() -> None:
    for share in (0.0, 1.0, -0.5):
        with pytest.raises(ValueError, match="a quantile lies between 0 and 1"):
            intervals.quantile(np.arange(9.0), share)
    with pytest.raises(ValueError, match="unknown comparison 'quotient'"):
        intervals.relate("quotient", 1.0, 2.0)
    assert order_ranks(0, 0.5) is None


@pytest.mark.parametrize(
    ("kind", "of"), [("ratio", 1.5), ("increase", 50.0), ("decrease", -50.0), ("sum", 5.0), ("product", 6.0)]
)
def test_a_comparison_has_its_formula_and_none_with_0(kind: str, of: float) -> None:
    assert intervals.relate(kind, 3.0, 2.0) == pytest.approx(of)
    with_zero = intervals.relate(kind, np.array([3.0, 0.0]), np.array([0.0, 4.0]))
    assert math.isnan(with_zero[0]) is (kind in ("ratio", "increase", "decrease"))
    assert not math.isnan(with_zero[1])


def test_every_verdict_has_a_symbol_and_a_class_of_its_own_word() -> None:
    assert set(SYMBOLS) == set(Verdict)
    assert all(verdict.symbol == SYMBOLS[verdict] for verdict in Verdict)
    assert Verdict.NOT_JUDGED.style == "not-judged" and Verdict.FITTED.style == "fitted"


def test_results_without_records_have_no_tables_and_no_links() -> None:
    records = CellRecords()
    with pytest.raises(LookupError, match="no table 'cwnd' was recorded for cell 'a'"):
        records.table("a", "cwnd")
    assert records.links("a") == () and records.average_unit("a", 0) == "packets"
