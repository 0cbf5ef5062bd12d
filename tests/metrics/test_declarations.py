"""What metrics state of themselves: which numbers they can have, what they count, and what is usual."""

from __future__ import annotations

import inspect
import math

from cwndlab.metrics._declared import built_in

SHARES = """
    datagram_loss drop_rate jain_index largest_rate_cut link_utilization loss_rate red_region
    retransmission_rate share synchronization timeout_share
""".split()
#: Of an excess over what is expected, the mean is 0.
EXCESSES = "excess_bytes excess_losses excess_pauses".split()
COUNTS = """
    congestion_signals fast_retransmits retransmits timeouts triple_duplicate_acks unfinished_pages
    window_halvings windows_with_drops
""".split()
LISTS = """
    completion_time connection_durations delay_quantiles delay_variation delivery_times
    dropped_packets goodput_series object_bytes one_way_delay queue_delay queue_length
    rate_variation_scales retransmission_times time_spent
""".split()


def test_shares_are_between_0_and_1_and_only_an_excess_may_be_negative() -> None:
    for name, metric in built_in().items():
        expected = (-math.inf if name in EXCESSES else 0, 1 if name in SHARES else math.inf)
        assert (metric.range.low, metric.range.high) == expected, name
        assert metric.centred == (name in EXCESSES), name


def test_numbers_of_events_are_counts_and_lists_have_a_distribution() -> None:
    assert [name for name, metric in built_in().items() if metric.range.count] == COUNTS
    assert [name for name, metric in built_in().items() if metric.many] == LISTS


def test_what_is_counted_per_something_else_is_no_count() -> None:
    others = {name: dict(metric.ranges) for name, metric in built_in().items() if metric.ranges}
    assert {
        (name, option, of.low, of.high, of.count) for name, by in others.items() for option, of in by.items()
    } == {
        ("congestion_signals", "per_megabyte", 0, math.inf, False),
        ("unfinished_pages", "share", 0, 1, False),
        ("windows_with_drops", "share", 0, 1, False),
    }


def test_options_that_are_numbers_have_the_usual_ones() -> None:
    found: dict[str, set[object]] = {}
    for metric in built_in().values():
        for option in inspect.signature(metric.measure).parameters.values():
            if isinstance(option.default, int | float):
                found.setdefault(option.name, set()).add(option.default)
    assert found == {
        "at_least": {0, 1},  # bytes of an object; drops of a window
        "connection": {0},
        "delta": {0.1},
        "drops_at_least": {0},
        "failed": {False},
        "indicator": {False},
        "nth": {1},
        "per_megabyte": {False},
        "retransmits_at_least": {0},
        "sampling": {0.01},
        "segment_bytes": {1448},
        "share": {False},
    }
