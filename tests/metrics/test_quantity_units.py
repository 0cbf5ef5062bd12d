"""Units of quantities: one table, the core's, for links and for quantities."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab import metrics
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.base.numbers import quantile
from cwndlab.study.schema import Quantity
from small_study import edited

GOODPUT = Quantity(name="goodput", metric="goodput", unit="Mbit/s")
SENT = Quantity(name="sent", metric="transferred", unit="MB")
DROPS = Quantity(name="drops", metric="drop_rate", unit="%")


def ratio(unit: str | None, of: str = "sent", by: str = "sent") -> Quantity:
    return Quantity(name="ratio", derived=f"{of} / {by}", unit=unit)


def known(*quantities: Quantity) -> dict[str, Quantity]:
    return {quantity.name: quantity for quantity in (GOODPUT, SENT, DROPS, *quantities)}


def test_a_ratio_in_per_cent_is_multiplied_by_a_hundred() -> None:
    share = ratio("%")
    assert metrics.find_scale(share, known(share)) == 100
    assert metrics.find_scale(ratio(None), known()) == 1
    with pytest.raises(ValueError, match='"s" is not a unit of a share'):
        metrics.find_scale(ratio("s"), known())


def test_mbps_and_mbit_per_second_are_one_unit_for_links_and_for_quantities() -> None:
    text = edited(('rate = "1Mbps"', 'rate = "1 Mbit/s"'), ('unit = "kbit/s"', 'unit = "kbps"'))
    study = Study.from_toml(text)
    assert study.plan().cells[0].compiled.scenario["links"][0]["rate_bps"] == 1_000_000
    [goodput] = study.outline.quantities
    assert metrics.find_scale(goodput, {"goodput": goodput}) == 1e-3


def test_a_unit_that_does_not_fit_is_found_with_its_line() -> None:
    text = edited(('unit = "kbit/s"', 'unit = "ms"'))
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text)
    assert caught.value.line == text.splitlines().index('unit = "ms"') + 1
    assert "is not a unit of a rate; write one of bps kbps" in str(caught.value)


def test_a_sum_of_different_units_is_an_error() -> None:
    def of(kind: str, a: str, b: str) -> Quantity:
        forms = {"sum": f"{a} + {b}", "difference": f"{a} - {b}", "increase": f"increase({b}, {a})"}
        return Quantity(name="d", derived=forms[kind])

    kilobytes = Quantity(name="kilobytes", metric="transferred", unit="kB")
    for kind in ("sum", "difference", "increase"):
        for by in ("goodput", "kilobytes"):
            with pytest.raises(ValueError, match="unit"):
                metrics.find_scale(of(kind, "sent", by), known(kilobytes))
    counts = [Quantity(name=name, metric=name) for name in ("timeouts", "fast_retransmits")]
    assert metrics.find_scale(of("sum", "timeouts", "fast_retransmits"), known(*counts)) == 1


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 0.99, 0.999])
def test_quantiles_are_numpys_to_the_last_bit(share: float) -> None:
    draw = np.random.default_rng(5)
    for size in (1, 2, 3, 20, 21, 100, 1001):
        for data in (draw.lognormal(0, 5, size), draw.integers(0, 4, size).astype(float), -draw.random(size)):
            assert quantile(data, share) == np.quantile(data, share)
    assert np.isnan(quantile(np.array([1.0, np.nan]), share))


@pytest.mark.parametrize(
    ("formula", "unit"),
    [
        ("goodput / sent", "Mbit/s/MB"),
        ("goodput / goodput", "1"),
        ("goodput / share", "Mbit/s"),
        ("share / goodput", "1/(Mbit/s)"),
        ("share / sent", "1/MB"),
        ("goodput * sent", "Mbit/s MB"),
        ("goodput * share", "Mbit/s"),
        ("share * goodput", "Mbit/s"),
        ("share * share", "1"),
        ("goodput + goodput", "Mbit/s"),
        ("increase(goodput, sent)", "%"),
    ],
)
def test_a_formula_has_the_unit_of_its_operands(formula: str, unit: str) -> None:
    share = Quantity(name="share", metric="jain_index")
    derived = Quantity(name="d", derived=formula)
    assert metrics.find_unit(derived, known(share, derived)) == unit
