"""Reductions and formulas of what a metric returns, against values computed by hand."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.metrics import _measure
from cwndlab.study.schema import Quantity


def measured(
    monkeypatch: pytest.MonkeyPatch, returned: dict[str, Any], *quantities: dict[str, Any]
) -> dict[str, Any]:
    """What quantities are in a run in which the metrics return this."""
    base = metrics.get("goodput")

    def fake(name: str) -> metrics.Metric:
        many = isinstance(returned[name], list | np.ndarray)
        return dataclasses.replace(base, measure=lambda run, **options: returned[name], many=many, unit="1")

    monkeypatch.setattr(_measure, "get", fake)
    monkeypatch.setattr(_measure, "RunView", lambda *of: None)
    run = cast("_measure.WholeRun", SimpleNamespace(scenario={"windows": {"measured": [0, 1]}}))
    return metrics.Measurer([Quantity.model_validate(one) for one in quantities]).measure(run)


def by_metric(**quantities: str) -> list[dict[str, Any]]:
    return [{"name": name, "metric": metric} for name, metric in quantities.items()]


@pytest.mark.parametrize(
    ("formula", "value"),
    [("a / b", 3.0), ("a - b", 4.0), ("a + b", 8.0), ("a * b", 12.0), ("increase(b, a)", 200.0)],
)
def test_a_formula_has_its_value(monkeypatch: pytest.MonkeyPatch, formula: str, value: float) -> None:
    returned = {"goodput": 6, "throughput": np.float64(2.0)}
    found = measured(
        monkeypatch, returned, *by_metric(a="goodput", b="throughput"), {"name": "c", "derived": formula}
    )
    assert found == {"a": 6.0, "b": 2.0, "c": value}


@pytest.mark.parametrize("formula", ["a / b", "increase(b, a)"])
def test_a_quotient_by_nothing_is_not_measured(monkeypatch: pytest.MonkeyPatch, formula: str) -> None:
    returned = {"goodput": 6.0, "throughput": 0.0}
    found = measured(
        monkeypatch, returned, *by_metric(a="goodput", b="throughput"), {"name": "c", "derived": formula}
    )
    assert math.isnan(found["c"])


def test_a_quotient_of_numbers_or_lists_may_be_a_percentage(monkeypatch: pytest.MonkeyPatch) -> None:
    for returned, share in ((6.0, 300.0), ([6.0, 9.0], [300.0, 450.0])):
        other = 2.0 if isinstance(returned, float) else [2.0, 2.0]
        found = measured(
            monkeypatch,
            {"goodput": returned, "throughput": other},
            *by_metric(a="goodput", b="throughput"),
            {"name": "c", "derived": "a / b", "unit": "%"},
        )
        assert found["c"] == share


def test_lists_are_combined_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    returned = {"goodput": np.array([6.0, 9.0]), "throughput": [2.0, 3.0]}
    found = measured(
        monkeypatch, returned, *by_metric(a="goodput", b="throughput"), {"name": "c", "derived": "a - b"}
    )
    assert found == {"a": [6.0, 9.0], "b": [2.0, 3.0], "c": [4.0, 6.0]}


@pytest.mark.parametrize("pair", [([1.0], 2.0), (2.0, [1.0])])
def test_a_list_and_a_number_are_not_combined(monkeypatch: pytest.MonkeyPatch, pair: tuple[Any, Any]) -> None:
    returned = dict(zip(("goodput", "throughput"), pair, strict=True))
    with pytest.raises(
        ValueError, match=r"quantity c mixes a list and a number; reduce the list by `within`"
    ):
        measured(
            monkeypatch, returned, *by_metric(a="goodput", b="throughput"), {"name": "c", "derived": "a / b"}
        )


@pytest.mark.parametrize(
    ("within", "value", "of_none"),
    [
        ("count", 4.0, 0.0),
        ("sum", 20.0, 0.0),
        ("mean", 5.0, math.nan),
        ("median", 4.0, math.nan),
        ("min", 1.0, math.nan),
        ("max", 11.0, math.nan),
        ("p90", 9.2, math.nan),
    ],
)
def test_a_list_is_reduced(
    monkeypatch: pytest.MonkeyPatch, within: str, value: float, of_none: float
) -> None:
    for returned, expected in (([11.0, 1.0, 5.0, 3.0], value), ([], of_none)):
        quantity = {"name": "q", "metric": "goodput", "within": within}
        found = measured(monkeypatch, {"goodput": returned}, quantity)["q"]
        assert found == pytest.approx(expected, nan_ok=True)
