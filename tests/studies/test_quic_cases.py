"""What docs/evidence/stack-quinn.md and stack-noq.md say of the stacks' versions, by one run of each cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun

CASES = Path(__file__).parents[2] / "docs/guide/quic-cases.toml"


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.load(CASES)


def measured(study: Study, name: str, **axes: Any) -> dict[str, Any]:
    """One quantity for each congestion control."""
    laws: dict[str, Any] = {}
    for cell in study.set({"case": axes["case"], "law": axes["law"]}).plan().cells:
        view = WholeRun(_core.run(cell.scenario, 72, 0), cell.compiled.scenario)
        laws[str(cell.axes["law"])] = metrics.Measurer(study.outline.quantities).measure(view)[name]
    return laws


def test_reordering_slows_laws_that_take_no_reduction_back(study: Study) -> None:
    rate = measured(study, "rate", case="late-5", law=["cubic", "quinn-cubic", "noq-cubic", "noq-reno"])
    assert max(rate["quinn-cubic"], rate["noq-reno"]) < 6 < 18 < min(rate["cubic"], rate["noq-cubic"])


def test_cubic_of_the_stacks_overshoots_after_silence(study: Study) -> None:
    drops = measured(study, "answer_drops", case="idle", law=["cubic", "quinn-cubic", "noq-cubic"])
    assert drops["cubic"] < 20 < 150 < drops["quinn-cubic"] < 2000 < drops["noq-cubic"]


def test_irregular_acks_make_quinns_bbr_overshoot(study: Study) -> None:
    laws = ["quinn-bbr", "quinn-cubic"]
    regular, irregular = (measured(study, "dropped", case=case, law=laws) for case in ("in-order", "acks-1"))
    assert regular["quinn-bbr"] < 4 < 40 < irregular["quinn-bbr"]
    assert irregular["quinn-cubic"] < 0.1


def test_windows_of_bbr_grow_while_the_application_limits(study: Study) -> None:
    window = measured(study, "window", case="limited", law=["bbr1", "bbr3", "quinn-bbr", "noq-bbr3"])
    assert max(window["bbr1"], window["bbr3"]) < 100 < 5000 < min(window["quinn-bbr"], window["noq-bbr3"])
