"""Every metric says which values are possible, and units, reductions and comparisons keep that right."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import cast

import numpy as np
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


@pytest.mark.parametrize(
    ("within", "values"),
    [
        (ANY, [-1e300, -2.0, 0.0, 3.0]),
        (NON_NEGATIVE, [1e-300, 0.2, 1.0, 1e300]),
        (Range(-100.0), [-99.5, 0.0, 1e9]),
        (Range(high=100.0), [-1e9, 0.0, 99.5]),
        (SHARE, [1e-300, 0.25, 0.5, 0.75]),
        (Range(-1.0, 3.0), [-0.5, 1.0, 2.5]),
    ],
)
def test_a_value_goes_to_the_scale_without_bounds_and_back(within: Range, values: list[float]) -> None:
    places = within.to_scale(np.array(values))
    assert np.isfinite(places).all() and (np.diff(places) > 0).all()
    assert [within.from_scale(place) for place in places] == pytest.approx(values, rel=1e-12)
    for value in (0.2, 0.8):
        rise = within.to_scale(value + 1e-6) - within.to_scale(value - 1e-6)
        assert within.slope(value) == pytest.approx(float(rise) / 2e-6, rel=1e-6)


def test_far_out_on_the_scale_is_a_bound_and_no_overflow() -> None:
    for y in (-800.0, -1e308, 800.0, 1e308):
        assert SHARE.from_scale(y) == (y > 0)
        assert NON_NEGATIVE.from_scale(y) == (math.inf if y > 0 else 0.0)
        assert Range(high=100.0).from_scale(y) == (100.0 if y > 0 else -math.inf)
    assert [within.slope(0.0) for within in (SHARE, NON_NEGATIVE, Range(high=0.0))] == [math.inf] * 3


def test_a_value_beyond_a_bound_by_rounding_is_the_bound_and_further_out_an_error() -> None:
    percent = Range(0.0, 100.0)
    assert percent.clip(np.array([-9e-8, 50.0, 100.0 + 9e-8])).tolist() == [0.0, 50.0, 100.0]
    for value in (-2e-7, 100.0 + 2e-7):
        with pytest.raises(ValueError, match="outside the range"):
            percent.clip(np.array([value]))
    assert COUNT.clip(np.array([-9e-10, 1e12])).tolist() == [0.0, 1e12]


@pytest.mark.parametrize(
    ("kind", "of", "by", "wanted"),
    [
        ("product", SHARE, Range(0.0, 4.0), Range(0.0, 4.0)),
        ("product", SHARE, NON_NEGATIVE, NON_NEGATIVE),
        ("product", ANY, SHARE, ANY),
        ("ratio", SHARE, ANY, ANY),
        ("increase", ANY, NON_NEGATIVE, ANY),
        ("decrease", NON_NEGATIVE, ANY, ANY),
        ("sum", Range(1.0, 2.0), Range(10.0, 20.0), Range(11.0, 22.0)),
        ("difference", Range(1.0, 2.0), Range(10.0, 20.0), Range(-19.0, -8.0)),
        ("sum", COUNT, COUNT, COUNT),
        ("sum", COUNT, NON_NEGATIVE, NON_NEGATIVE),
    ],
)
def test_the_range_of_a_formula_comes_from_those_of_its_parts(
    kind: str, of: Range, by: Range, wanted: Range
) -> None:
    assert derived_range(kind, of, by) == wanted
