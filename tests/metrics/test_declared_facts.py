"""What metrics declare: results depend on it, though no metric's value does."""

from __future__ import annotations

import dataclasses
import inspect
import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.base.numbers import Range
from cwndlab.metrics import drawn
from cwndlab.records.window import RunView

#: Counts of rare events, whose intervals are never narrower than Poisson's.
COUNTS = {
    *("congestion_signals", "fast_retransmits", "retransmits", "timeouts", "triple_duplicate_acks"),
    *("unfinished_pages", "window_halvings", "windows_with_drops"),
}
#: Metrics that return a list of numbers per run.
LISTS = {
    *("completion_time", "connection_durations", "delay_quantiles", "delay_variation", "delivery_times"),
    *("dropped_packets", "goodput_series", "object_bytes", "one_way_delay", "queue_delay", "queue_length"),
    *("rate_variation_scales", "retransmission_times", "time_spent"),
}
#: Metrics with an expectation of 0 in every cell, for which others can be adjusted.
CENTRED = {"excess_bytes", "excess_losses", "excess_pauses"}
#: Metrics between 0 and 1. Of the others, all but those of `CENTRED` are 0 at least, and have no upper limit.
SHARES = {
    *("datagram_loss", "drop_rate", "jain_index", "largest_rate_cut", "link_utilization", "loss_rate"),
    *("red_region", "retransmission_rate", "share", "synchronization", "timeout_share"),
}
#: What an option is if a study leaves it out.
DEFAULTS: dict[str, dict[str, object]] = {
    "completion_time": {"kind": "file", "at_least": 0},
    "congestion_signals": {"signal": "both", "per_megabyte": False},
    "connection_durations": {"retransmits_at_least": 0, "drops_at_least": 0},
    "connections": {"failed": False},
    "convergence_time": {"delta": 0.1},
    "delay_quantiles": {"kind": "page"},
    "delay_variation": {"form": "pdv"},
    "delivery_times": {"connection": 0},
    "drop_rate": {"causes": "all"},
    "dropped_packets": {"until": "end", "connection": 0},
    "largest_window": {"segment_bytes": 1448},
    "mathis_constant": {"segment_bytes": 1448, "sampling": 0.01},
    "median_delay": {"kind": "page", "pool": "all"},
    "network_power": {"kind": "page", "count": "delivered", "pool": "all"},
    "object_bytes": {"kind": "object"},
    "objects_finished": {"kind": "page"},
    "queue_length": {"of": "actual"},
    "red_region": {"region": "between"},
    "retransmission_time": {"nth": 1, "connection": 0},
    "retransmission_times": {"connection": 0},
    "retransmits": {"indicator": False},
    "time_spent": {"kind": "page"},
    "timeout_share": {"kind": "transaction", "of": "all"},
    "timeout_time": {"nth": 1, "connection": 0},
    "timeout_wait": {"nth": 1, "connection": 0},
    "transferred": {"count": "delivered", "direction": "both"},
    "unfinished_pages": {"kind": "page", "share": False},
    "window_halvings": {"sampling": 0.01},
    "windows_with_drops": {"at_least": 1, "share": False},
}


def test_counts_lists_and_excesses_are_those_named() -> None:
    known = metrics.built_in()
    assert {name for name, one in known.items() if one.range.count} == COUNTS
    assert {name for name, one in known.items() if one.many} == LISTS
    assert {name for name, one in known.items() if one.centred} == CENTRED
    for name, one in known.items():
        expected = (-math.inf if name in CENTRED else 0, 1 if name in SHARES else math.inf)
        assert (one.range.low, one.range.high) == expected, name
    assert {name: dict(one.ranges) for name, one in known.items() if one.ranges} == {
        "congestion_signals": {"per_megabyte": Range(0.0)},
        "unfinished_pages": {"share": Range(0.0, 1.0)},
        "windows_with_drops": {"share": Range(0.0, 1.0)},
    }


def test_options_have_the_defaults_that_studies_rely_on() -> None:
    found: dict[str, dict[str, object]] = {}
    for name, one in metrics.built_in().items():
        run, *parameters = inspect.signature(one.measure).parameters.values()
        assert run.kind is run.POSITIONAL_OR_KEYWORD, name
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters), name
        stated = {p.name: p.default for p in parameters if p.default not in (None, p.empty)}
        if stated:
            found[name] = stated
    assert found == DEFAULTS


@pytest.mark.parametrize(
    ("metric", "option", "values"),
    [
        ("retransmission_time", "nth", {0: False, 1: True}),
        ("windows_with_drops", "at_least", {0: False, 1: True}),
        ("completion_time", "at_least", {-1: False, 0: True}),
        ("connection_durations", "handshake_at_most", {-0.1: False, 0.0: True}),
        ("rate_variation", "interval", {0.0: False, 0.001: True}),
        ("convergence_time", "delta", {0.0: False, 0.01: True, 0.99: True, 1.0: False}),
        ("window_halvings", "sampling", {0.0: False, 0.001: True}),
        ("mathis_constant", "segment_bytes", {0: False, 1: True}),
        ("largest_window", "segment_bytes", {0: False, 1: True}),
    ],
)
def test_options_accept_what_makes_sense(metric: str, option: str, values: dict[float, bool]) -> None:
    from pydantic import TypeAdapter, ValidationError

    hints = inspect.signature(metrics.get(metric).measure, eval_str=True).parameters
    accepts = TypeAdapter(hints[option].annotation)
    for value, allowed in values.items():
        if allowed:
            assert accepts.validate_python(value) == value
        else:
            with pytest.raises(ValidationError):
                accepts.validate_python(value)


def test_metrics_are_themselves_and_do_not_change() -> None:
    one = metrics.get("goodput")
    assert one == one and one != dataclasses.replace(one) and len({one, metrics.get("share")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.unit = "B"  # type: ignore[misc]
    assert "formula" not in repr(one)


# ── what runs draw, by hand ───────────────────────────────────────────────────────────────────────────────

S = 1_000_000_000


def excess(name: str, app: dict[str, Any], rows: list[tuple[str, int, float, float | None, int]]) -> float:
    """The excess in a run of 100 s of rows: kind, index, start s, end s or None, bytes."""
    table = {
        "traffic": np.zeros(len(rows), dtype=np.int64),
        "kind": np.array([row[0] for row in rows], dtype=object),
        "index": np.array([row[1] for row in rows]),
        "start_ns": np.array([row[2] * S for row in rows]),
        "end_ns": np.array([math.nan if row[3] is None else row[3] * S for row in rows]),
        "finished": np.array([row[3] is not None for row in rows]),
        "bytes": np.array([row[4] for row in rows]),
    }
    scenario = {
        "duration_ns": 100 * S,
        "traffic": [{"app": app}],
        "distributions": {"shared": {"kind": "uniform", "low": 10.0, "high": 30.0}},
    }
    run = SimpleNamespace(
        scenario=scenario,
        columns=lambda name: table,
        traffic=lambda name=None: [0] if name in (None, "one") else [],
    )
    view = RunView(cast("Any", run), 0, 100 * S)
    return float(metrics.get(name).measure(view, traffic="one"))


UNIFORM = {"kind": "uniform", "low": 100.0, "high": 300.0}


@pytest.mark.parametrize(
    ("app", "kind", "mean"),
    [
        ({"kind": "ftp", "file_bytes": UNIFORM}, "file", 200.0),
        ({"kind": "short-flows", "flow_bytes": UNIFORM}, "file", 200.0),
        ({"kind": "rr", "response_bytes": UNIFORM}, "transaction", 200.0),
        ({"kind": "rr", "response_bytes": {"kind": "named", "name": "shared"}}, "transaction", 20.0),
        ({"kind": "web", "object_bytes": UNIFORM}, "page", 800.0),  # and three in-line objects
        ({"kind": "web", "object_bytes": UNIFORM, "inline_objects": 1}, "page", 400.0),
        (
            {"kind": "web", "object_bytes": UNIFORM, "inline_bytes": {"kind": "fixed", "value": 50.0}},
            "page",
            350.0,
        ),
    ],
)
def test_the_excess_of_bytes_is_their_sum_less_the_means(app: dict[str, Any], kind: str, mean: float) -> None:
    rows: list[tuple[str, int, float, float | None, int]] = [
        (kind, 0, 1.0, 2.0, 150),
        (kind, 1, 3.0, None, 900),
        ("object", 0, 1.0, 2.0, 7000),
    ]
    assert excess("excess_bytes", app, rows) == pytest.approx(1050 - 2 * mean)


def test_other_applications_draw_no_sizes() -> None:
    assert excess("excess_bytes", {"kind": "bulk"}, [("file", 0, 1.0, 2.0, 150)]) == 0.0


@pytest.mark.parametrize(
    ("app", "kind", "limit"),
    [
        ({"kind": "ftp", "pause_s": {"kind": "uniform", "low": 1.0, "high": 3.0}}, "file", "files"),
        ({"kind": "web", "think_s": {"kind": "uniform", "low": 1.0, "high": 3.0}}, "page", "pages"),
    ],
)
def test_the_excess_of_pauses_is_their_sum_less_the_means(app: dict[str, Any], kind: str, limit: str) -> None:
    """Pauses of 2.5 s and 1.2 s, of which the mean is 2 s, and one from 98 s on, of at least 2 s: 2.5 s."""
    rows: list[tuple[str, int, float, float | None, int]] = [
        (kind, 1, 12.5, 20.0, 1),
        (kind, 0, 1.0, 10.0, 1),
        (kind, 2, 21.2, 98.0, 1),
    ]
    drawn_s = (2.5 - 2.0) + (1.2 - 2.0)
    assert excess("excess_pauses", app, rows) == pytest.approx(drawn_s + 0.5)
    assert excess("excess_pauses", {**app, limit: 4}, rows) == pytest.approx(drawn_s + 0.5)
    assert excess("excess_pauses", {**app, limit: 3}, rows) == pytest.approx(drawn_s)
    other = "pages" if limit == "files" else "files"
    assert excess("excess_pauses", {**app, other: 3}, rows) == pytest.approx(drawn_s + 0.5)
    assert excess("excess_pauses", {**app, "clock": "request"}, rows) == 0.0
    unfinished = [*rows[:2], (kind, 2, 21.2, None, 1)]
    assert excess("excess_pauses", app, unfinished) == pytest.approx(drawn_s)
    assert excess("excess_pauses", app, []) == 0.0


@pytest.mark.parametrize(
    ("written", "at", "share", "mean_beyond"),
    [
        ({"kind": "fixed", "value": 5.0}, 4.0, 1.0, 5.0),
        ({"kind": "fixed", "value": 5.0}, 5.0, 0.0, 5.0),
        ({"kind": "uniform", "low": 2.0, "high": 6.0}, 1.0, 1.0, 4.0),
        ({"kind": "uniform", "low": 2.0, "high": 6.0}, 5.0, 0.25, 5.5),
        ({"kind": "uniform", "low": 2.0, "high": 6.0}, 6.0, 0.0, 6.0),
        ({"kind": "uniform", "low": 2.0, "high": 2.0}, 1.0, 1.0, 2.0),
        ({"kind": "uniform", "low": 2.0, "high": 2.0}, 2.0, 0.0, 2.0),
        ({"kind": "exponential", "mean": 2.0}, 2.0, math.exp(-1.0), 4.0),
        ({"kind": "exponential", "mean": 0.0}, 0.0, 0.0, 0.0),
        # P(X > x) = (2 / x)^3, and the mean beyond x is 3 x / 2
        ({"kind": "pareto", "shape": 3.0, "min": 2.0}, 1.0, 1.0, 3.0),
        ({"kind": "pareto", "shape": 3.0, "min": 2.0}, 4.0, 0.125, 6.0),
        ({"kind": "pareto", "shape": 3.0, "mean": 3.0}, 4.0, 0.125, 6.0),
        ({"kind": "pareto", "shape": 3.0, "min": 2.0, "max": 4.0}, 4.0, 0.0, 4.0),
        # 4 (2/4)^3 + the integral of 8 x^-3 from 2 to 4 and 2, the least
        ({"kind": "pareto", "shape": 3.0, "min": 2.0, "max": 4.0}, 0.0, 1.0, 2.0 + 4.0 * (1 / 4 - 1 / 16)),
        ({"kind": "pareto", "shape": 1.0, "min": 2.0, "max": 4.0}, 0.0, 1.0, 2.0 + 2.0 * math.log(2.0)),
        # a limit below the least value replaces all
        ({"kind": "pareto", "shape": 3.0, "min": 9.0, "max": 4.0}, 0.0, 1.0, 4.0),
        ({"kind": "pareto", "shape": 3.0, "min": 9.0, "max": 4.0}, 4.0, 0.0, 4.0),
        ({"kind": "lognormal", "median": 3.0, "sigma": 0.0}, 2.0, 1.0, 3.0),
        ({"kind": "lognormal", "median": 3.0, "sigma": 0.0}, 3.0, 0.0, 3.0),
        ({"kind": "lognormal", "median": 3.0, "sigma": 0.0, "max": 2.5}, 2.0, 1.0, 2.5),
        ({"kind": "empirical", "values": [1, 2, 4], "counts": [1, 2, 1]}, 1.0, 0.75, 8.0 / 3.0),
        ({"kind": "empirical", "values": [1, 2, 4], "counts": [1, 2, 1]}, 0.0, 1.0, 2.25),
        ({"kind": "cdf", "points": [[0.0, 0.0], [2.0, 0.5], [6.0, 1.0]]}, 2.0, 0.5, 4.0),
        ({"kind": "cdf", "points": [[0.0, 0.0], [2.0, 0.5], [6.0, 1.0]]}, 4.0, 0.25, 5.0),
        ({"kind": "cdf", "points": [[3.0, 0.2], [5.0, 1.0]]}, 0.0, 1.0, 0.2 * 3.0 + 0.8 * 4.0),
        ({"kind": "cdf", "points": [[3.0, 0.2], [5.0, 1.0]]}, 3.0, 0.8, 4.0),
    ],
)
def test_the_part_beyond_a_value_is_that_of_the_formula(
    written: dict[str, Any], at: float, share: float, mean_beyond: float
) -> None:
    found, part = drawn._beyond(written, at)
    assert (found, part) == pytest.approx((share, share * mean_beyond))
    assert drawn.expectation_beyond(written, at) == pytest.approx(mean_beyond)
    if at == 0.0:
        assert drawn.expectation(written) == pytest.approx(mean_beyond)


def test_a_limit_in_the_body_of_a_distribution_leaves_no_tail() -> None:
    body = {"kind": "lognormal", "median": 3.0, "sigma": 0.8, "max": 5.0}
    both = {**body, "kind": "lognormal-pareto", "tail_from": 7.0, "tail_alpha": 1.5}
    for at in (0.0, 1.0, 4.9, 5.0, 6.0):
        assert drawn._beyond(both, at) == pytest.approx(drawn._beyond(body, at))
    assert drawn._beyond({**both, "tail_from": 5.0}, 1.0) == pytest.approx(drawn._beyond(body, 1.0))
    assert drawn.expectation({**both, "max": 7.1}) == pytest.approx(
        drawn.expectation({**both, "max": 7.0}), rel=0.01
    )
