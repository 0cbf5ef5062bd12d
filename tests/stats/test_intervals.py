"""Intervals cover what they say, and pairing makes them narrower."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from cwndlab.stats import intervals
from cwndlab.stats.stopping import StoppingRule
from cwndlab.stats.within import batch_means, censored_quantile, warm_up

TRIALS = 1000


def mm1_waits(rng: np.random.Generator, customers: int, rho: float) -> np.ndarray:
    """Waiting times of an M/M/1 queue with service rate 1, by Lindley's recursion, started in equilibrium."""
    step = rng.exponential(1.0, customers) - rng.exponential(1.0 / rho, customers)
    start = 0.0 if rng.random() > rho else rng.exponential(1.0 / (1.0 - rho))
    walk = start + np.concatenate([[0.0], np.cumsum(step)[:-1]])
    return walk - np.minimum(np.minimum.accumulate(walk), 0.0)


def test_mean_over_replicates_of_mm1_is_covered_about_95_percent() -> None:
    rng = np.random.default_rng(1)
    rho, hits = 0.5, 0
    truth = rho / (1.0 - rho)  # mean wait in queue at service rate 1
    for _ in range(TRIALS):
        runs = np.array([mm1_waits(rng, 400, rho).mean() for _ in range(10)])
        estimate = intervals.mean(runs)
        hits += estimate.low <= truth <= estimate.high
    assert 0.91 <= hits / TRIALS <= 0.97


def test_batch_means_of_one_mm1_run_cover_about_95_percent() -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        estimate = batch_means(mm1_waits(rng, 20_000, 0.5), batches=20)
        hits += estimate.low <= 1.0 <= estimate.high
    assert 0.90 <= hits / 300 <= 0.98


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("method", ["bootstrap", "delta"])
def test_a_known_ratio_is_covered_about_95_percent(n: int, method: str) -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(TRIALS):
        common = rng.gamma(20.0, 0.05, n)
        a = 3.0 * common * rng.gamma(50.0, 0.02, n)
        b = 2.0 * common * rng.gamma(50.0, 0.02, n)
        i = intervals.compare("ratio", a, b) if method == "bootstrap" else intervals.ratio_delta(a, b)
        hits += i.low <= 1.5 <= i.high
    # Five replicates have only 126 different resamples: there the bootstrap is known to fall a little short.
    assert (0.90 if n < 10 else 0.93) <= hits / TRIALS <= 0.98


def test_the_median_is_covered_at_least_95_percent_whatever_the_distribution() -> None:
    rng = np.random.default_rng(4)
    hits = sum(
        i.low <= math.log(2.0) <= i.high
        for i in (intervals.median(rng.exponential(1.0, 15)) for _ in range(TRIALS))
    )
    assert 0.95 <= hits / TRIALS <= 0.99


def test_pairing_by_common_random_numbers_is_narrower_than_independent_runs() -> None:
    rng = np.random.default_rng(5)
    load = rng.gamma(4.0, 0.25, 10)
    a, b = load * 0.9 + rng.normal(0, 0.02, 10), load + rng.normal(0, 0.02, 10)
    paired = intervals.compare("decrease", a, b)
    unpaired = intervals.compare("decrease", a, rng.permutation(b))
    assert paired.half_width < unpaired.half_width / 3
    assert paired.low <= 10.0 <= paired.high


def test_delta_method_and_bootstrap_agree_on_many_replicates() -> None:
    rng = np.random.default_rng(6)
    b = rng.normal(10.0, 1.0, 200)
    a = 0.8 * b + rng.normal(0.0, 0.5, 200)
    boot, delta = intervals.compare("ratio", a, b), intervals.ratio_delta(a, b)
    assert boot.half_width == pytest.approx(delta.half_width, rel=0.1)
    assert boot.value == delta.value


def test_order_statistics_ranks_are_those_of_the_textbook() -> None:
    # Conover 1999, table for the median: n = 10 -> 2nd and 9th, n = 20 -> 6th and 15th (95 %).
    for n, low, high in ((10, 2, 9), (20, 6, 15)):
        i = intervals.median(np.arange(1.0, n + 1))
        assert (i.low, i.high) == (low, high)
    assert math.isnan(intervals.median(np.arange(5.0)).low)


def test_results_without_randomness_have_intervals_of_no_width() -> None:
    same = np.array([1.2223, 1.2223, 1.2223])
    for i in (intervals.mean(same), intervals.median(same), intervals.prediction(same)):
        assert (i.value, i.low, i.high) == (1.2223, 1.2223, 1.2223)
    single = intervals.mean(np.array([6.611]), deterministic=True)
    assert single.half_width == 0.0
    both = intervals.compare("difference", same, same - 1.0)
    assert both.half_width == 0.0


def test_one_random_replicate_has_no_interval() -> None:
    i = intervals.mean(np.array([3.0]))
    assert i.value == 3.0
    assert math.isnan(i.low)


def test_replicates_that_could_not_be_measured_are_left_out_in_pairs() -> None:
    a, b = np.array([2.0, np.nan, 4.0, 6.0]), np.array([1.0, 5.0, np.nan, 3.0])
    i = intervals.compare("ratio", a, b)
    assert i.n == 2
    assert i.value == 2.0
    assert intervals.mean(np.array([np.nan])).method == "not measurable"


def test_the_same_values_give_the_same_interval_to_the_bit() -> None:
    a, b = np.arange(1.0, 11.0), np.arange(2.0, 12.0)
    first = intervals.compare("ratio", a, b)
    intervals.resample_picks.cache_clear()
    intervals.resample_weights.cache_clear()
    assert intervals.compare("ratio", a, b) == first


def test_unfinished_objects_count_as_larger_than_all_finished() -> None:
    durations = np.array([1.0, 2.0, 3.0, 0.5, 0.1])
    finished = np.array([True, True, True, False, False])
    result = censored_quantile(durations, finished, 0.5)
    assert (result.value, result.finished, result.unfinished) == (3.0, 3, 2)
    assert math.isnan(censored_quantile(durations, np.array([True, True, False, False, False]), 0.5).value)


def test_warm_up_cuts_a_start_that_is_unlike_the_rest() -> None:
    rng = np.random.default_rng(7)
    steady = rng.normal(10.0, 1.0, 1000)
    steady[:100] += np.linspace(40.0, 0.0, 100)
    assert 60 <= warm_up(steady) <= 150
    assert warm_up(rng.normal(10.0, 1.0, 1000)) <= 500


def test_sequential_stopping_reaches_its_precision_and_keeps_its_coverage() -> None:
    rng = np.random.default_rng(8)
    rule = StoppingRule(relative=0.05, cap=2000)
    hits = 0
    for _ in range(300):
        values = rng.gamma(10.0, 0.1, rule.cap)
        n = rule.first_look
        while not rule.enough(values[:n]):
            n = min(rule.cap, n + max(1, n // 10))
        i = intervals.mean(values[:n])
        assert i.half_width <= 0.05 * i.value
        hits += abs(i.value - 1.0) <= 0.05
    assert hits / 300 >= 0.92


def test_sequential_stopping_stops_at_the_cap() -> None:
    rule = StoppingRule(relative=0.001, cap=12)
    noisy = np.random.default_rng(9).normal(1.0, 1.0, 12)
    assert not rule.enough(noisy[:11])
    assert rule.enough(noisy)
    assert rule.replicates_needed(noisy) == 12


def test_a_report_imports_no_scipy() -> None:
    code = "import sys, cwndlab.stats.claims, cwndlab.stats.tables; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
