"""How many claims of a family stay decided together."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab.base.numbers import ANY
from cwndlab.stats.claims import judge_claim
from cwndlab.stats.expression import Evaluator
from cwndlab.stats.family import Family, claims_alone, joint_level
from cwndlab.stats.results import Results
from cwndlab.study.cells import CellInfo
from cwndlab.study.outputs import Claim
from synthetic import make_results

CELLS = 40


def results(shift: float, seed: int = 1) -> Results:
    """Cells of which each is compared with the first; the last is `shift` away."""
    rng = np.random.default_rng(seed)
    cells = tuple(CellInfo(f"x={k}", {"x": k}) for k in range(CELLS + 1))
    data = {(cell.id, "q"): rng.normal(0.0, 1.0, 10).tolist() for cell in cells}
    data[cells[-1].id, "q"] = [value + shift for value in data[cells[-1].id, "q"]]
    return make_results(cells, {"q": "s"}, data, ranges={"q": ANY})


def family(known: Results, expressions: list[str]) -> tuple[Family, frozenset[str]]:
    evaluator = Evaluator(known)
    claims = [
        Claim.model_validate({"id": f"c{k}", "section": "1", "text": "So.", "assert": one})
        for k, one in enumerate(expressions)
    ]
    return claims_alone([judge_claim(claim, evaluator) for claim in claims], known)


def test_a_claim_that_is_sure_alone_may_be_open_among_many() -> None:
    many = [f"q[x={k}] < 0.5" for k in range(CELLS)]
    found, alone = family(results(2.3), [*many, f"q[x={CELLS}] > 0.9", f"q[x={CELLS}] > -9"])
    assert found.comparisons == CELLS + 2
    assert f"c{CELLS}" in alone
    assert f"c{CELLS + 1}" not in alone
    assert found.firm == found.decided - len(alone)
    assert f"{found.firm} of the {found.decided} stay decided" in found.text("claims")


def test_a_single_claim_of_one_comparison_is_as_sure_as_its_family() -> None:
    found, alone = family(results(2.3), [f"q[x={CELLS}] > 0.9"])
    assert found.text("claims").startswith(
        "1 claim is decided; all claims rest on 1 comparison of random numbers."
    )
    assert found.text("claims").endswith(
        "By chance, up to 2.5 % of these (0.0) are decided wrongly. "
        "It stays decided if all comparisons together are to err in at most 5 % of all reports."
    )
    assert not alone
    assert found.firm == found.decided == found.comparisons == 1


def test_claims_that_hold_by_chance_are_seldom_firm() -> None:
    """Each claim is on its border, so that one of two is true, and each 40th is decided wrongly."""
    decided = firm = 0
    for seed in range(60):
        found, _ = family(results(0.0, seed), [f"q[x={k}] > 0" for k in range(CELLS)])
        decided += found.decided
        firm += found.firm > 0
    assert 0.035 < decided / (60 * CELLS) < 0.065
    assert firm / 60 <= 0.15


@pytest.mark.parametrize(("comparisons", "level"), [(0, 0.95), (1, 0.95), (10, 0.995)])
def test_the_5_percent_are_shared(comparisons: int, level: float) -> None:
    assert joint_level(comparisons) == pytest.approx(level)


def test_no_claims_say_nothing() -> None:
    found, alone = family(results(0.0), [])
    assert found.text("claims") == ""
    assert not alone
