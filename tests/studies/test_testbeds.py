"""The shipped studies of testbeds, bbr-shared and many-flows: their numbers, and what short runs show."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun

FOLDER = Path(cwndlab.__file__).parent / "studies"
TRIALS = sorted((FOLDER / "bbr-shared/published").glob("v*.csv"))


def measured(study: Study) -> dict[str, Any]:
    """The quantities of the only cell of a study in one run."""
    (one,) = study.plan().cells
    view = WholeRun(_core.run(one.scenario, 1, 0), one.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


@pytest.mark.parametrize("file", TRIALS, ids=lambda file: file.stem)
def test_a_published_number_is_the_mean_of_its_three_trials(file: Path) -> None:
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 7
    for row in rows:
        for flows in (1, 2, 4, 8, 16, 32):
            trials = [float(row[f"flows_{flows}_trial_{n}"]) for n in (1, 2, 3)]
            assert float(row[f"flows_{flows}"]) == pytest.approx(statistics.mean(trials), abs=0.0011)


def test_every_published_cell_is_run() -> None:
    cells = {
        (c.axes["law"], c.axes["against"], c.axes["buffer"], c.axes["flows"])
        for c in Study.load("bbr-shared").plan().cells
    }
    assert len(TRIALS) == 6 and len(cells) == 42 * 6 + 42


def test_more_flows_of_version_1_take_more_and_a_deep_buffer_leaves_more_to_cubic() -> None:
    study = Study.load("bbr-shared").set({"law": "bbr1", "against": "cubic-10", "run.duration": "60s"})
    share = {
        (buffer, flows): measured(study.set({"buffer": buffer, "flows": flows}))["bbr_share"]
        for buffer, flows in ((1, 1), (8, 1), (8, 16))
    }
    assert share[8, 1] < 60 < share[1, 1] and share[8, 16] > share[8, 1] + 15


def test_halvings_give_nearly_the_same_constant_with_10_and_50_flows_and_losses_do_not() -> None:
    study = Study.load("many-flows").set({"law": "reno", "scale": "edge", "rtt": 200, "duration": 600})
    few, many = (measured(study.set({"flows": flows})) for flows in (10, 50))
    for values in (few, many):
        assert 1.15 < values["by_halvings"] < 1.4 and values["rate"] == pytest.approx(95.5, abs=0.3)
    assert few["by_losses"] > 1.2 * many["by_losses"], "start-up's losses count over fewer flows"
    assert few["losses_per_halving"] > 3 * many["losses_per_halving"]
