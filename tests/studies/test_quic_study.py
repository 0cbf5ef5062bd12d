"""The shipped study quic: its cells, and what one run of its questions shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.load("quic")


def measured(study: Study, **axes: Any) -> dict[str, Any]:
    (one,) = study.set(axes).plan().cells
    view = WholeRun(_core.run(one.scenario, 38, 0), one.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


def test_every_question_has_its_cells(study: Study) -> None:
    count = Counter(cell.axes["question"] for cell in study.plan().cells)
    assert count == {"alone": 28, "with-cubic": 28, "jitter": 3, "acks": 4}


def test_bbr_of_the_stacks_differs_from_the_models_in_utilization_and_queue(study: Study) -> None:
    alone = {
        law: measured(study, question="alone", law=law, buffer=1)
        for law in ("bbr1", "quinn-bbr", "bbr3", "noq-bbr3")
    }
    assert alone["noq-bbr3"]["utilization"] < 93 < 97 < alone["bbr3"]["utilization"]
    assert alone["quinn-bbr"]["wait"] > 30 > 15 > alone["bbr1"]["wait"]
    assert alone["quinn-bbr"]["loss"] > 2 > 0.1 > alone["bbr1"]["loss"]


def test_cubic_of_the_stacks_is_linuxs_except_in_slow_start(study: Study) -> None:
    laws = ("cubic", "quinn-cubic", "noq-cubic")
    alone = {law: measured(study, question="alone", law=law, buffer=1) for law in laws}
    assert all(found["utilization"] > 99 for found in alone.values())
    assert alone["cubic"]["slow_start_drops"] < 20
    assert min(alone[law]["slow_start_drops"] for law in laws[1:]) > 80


def test_fewer_acks_change_no_goodput(study: Study) -> None:
    many, few = (
        measured(study, question="acks", law=law, buffer=1) for law in ("quinn-cubic", "quinn-few-acks")
    )
    assert few["acks"] < many["acks"] / 4
    assert few["rate"] == pytest.approx(many["rate"], rel=0.01)
