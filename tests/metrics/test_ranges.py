"""Every metric says which values are possible, and units, reductions and comparisons keep that right."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import cast

import pytest

from cwndlab import metrics
from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Range, derived_range
from cwndlab.metrics import _measure
from cwndlab.study.schema import Quantity


def quantity(**keys: object) -> Quantity:
    return Quantity.model_validate({"name": "q", **keys})


@pytest.mark.parametrize("name", metrics.names())
def test_every_metric_declares_its_range(name: str) -> None:
    one = metrics.get(name)
    assert one.range in ((ANY,) if one.centred else (NON_NEGATIVE, SHARE, COUNT))


def test_a_range_follows_the_unit_and_the_reduction() -> None:
    assert metrics.find_range(quantity(metric="drop_rate"), {}) == SHARE
    assert metrics.find_range(quantity(metric="drop_rate", unit="%"), {}) == Range(0.0, 100.0)
    assert metrics.find_range(quantity(metric="timeouts"), {}) == COUNT
    assert metrics.find_range(quantity(metric="completion_time", within="count"), {}) == COUNT
    assert metrics.find_range(quantity(metric="unfinished_pages", options={"share": True}), {}) == SHARE
    rate = {"traffic": ["a"], "per_megabyte": True}
    assert metrics.find_range(quantity(metric="congestion_signals", options=rate), {}) == NON_NEGATIVE
    assert metrics.find_range(quantity(metric="completion_time", within="p95"), {}) == NON_NEGATIVE


def test_an_impossible_value_is_an_error_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = quantity(metric="link_utilization", options={"link": "a>b"}, unit="%")
    metric = dataclasses.replace(metrics.get("link_utilization"), measure=lambda run, **options: 1.00002)
    monkeypatch.setattr(_measure, "get", lambda name: metric)
    run = cast("_measure.WholeRun", SimpleNamespace(scenario={"windows": {"measured": [0, 1]}}))
    monkeypatch.setattr(_measure, "RunView", lambda *of: None)
    with pytest.raises(ValueError, match=r"quantity q is 100.002, outside its range, 0 to 100"):
        metrics.Measurer([busy]).measure(run)


def test_a_derived_quantity_has_the_range_of_its_formula() -> None:
    known = {
        "a": Quantity.model_validate({"name": "a", "metric": "drop_rate"}),
        "b": Quantity.model_validate({"name": "b", "metric": "goodput"}),
    }
    ratio = Quantity.model_validate({"name": "c", "derived": "a / b"})
    assert metrics.find_range(ratio, known) == NON_NEGATIVE
    share = Quantity.model_validate({"name": "d", "derived": "a - a"})
    assert metrics.find_range(share, known) == Range(-1.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("ratio", 0.0, math.inf),
        ("increase", -100.0, math.inf),
        ("decrease", -math.inf, 100.0),
        ("difference", -math.inf, math.inf),
        ("sum", 0.0, math.inf),
    ],
)
def test_a_comparison_of_what_is_never_negative_has_a_range_of_its_own(
    kind: str, low: float, high: float
) -> None:
    found = derived_range(kind, NON_NEGATIVE, NON_NEGATIVE)
    assert (found.low, found.high) == (low, high)
    assert derived_range("ratio", ANY, NON_NEGATIVE) == ANY
