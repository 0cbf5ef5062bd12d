"""The shipped study bbr: its cells, and what one run of its slow line shows."""

from __future__ import annotations

from collections import Counter

import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun
from cwndlab_linux import stack, stack_file


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.load("bbr")


def test_the_questions_of_googles_suite_have_their_cells(study: Study) -> None:
    count = Counter(cell.axes["question"] for cell in study.plan().cells)
    suite = {"coexist": 18, "random-loss": 40, "shallow": 20, "bufferbloat": 16, "ecn": 15}
    assert count == {"slow-line": 21, **suite}


def test_a_kernel_is_asked_for_its_bbr_or_for_one_that_it_lacks(study: Study) -> None:
    own = stack_file.load(stack.default_for(study.base.tcp.profile)).as_dict()
    tcp = study.plan().cells[0].compiled.scenario["tcp"]
    laws = [{**tcp[0], "window_law": law} for law in ("bbr1", {"bbr3": {"rules": "draft", "ecn": False}})]
    assert [stack.congestion_control(own, law) for law in laws] == ["bbr", "bbr3"]
    assert stack.differences(
        stack_file.load("linux-stock"), laws
    )  # names the difference, and fails on neither


def test_with_a_small_buffer_version_1_takes_the_line_from_cubic_and_version_3_does_not(study: Study) -> None:
    shares = {}
    for law in ("bbr1", "bbr3"):
        (one,) = study.set({"question": "slow-line", "law": law, "buffer": 0.5}).plan().cells
        view = WholeRun(_core.run(one.scenario, 3, 0), one.compiled.scenario)
        values = metrics.Measurer(study.outline.quantities).measure(view)
        shares[law] = values["rate"] / values["cubic_rate"]
    assert shares["bbr1"] > 5 > 2 > shares["bbr3"] > 0.5
