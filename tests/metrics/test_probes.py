"""The probes that a study's quantities need."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import TEXT, edited

QUANTITY = '\n[[quantities]]\nname = "{metric}"\nmetric = "{metric}"\nwithin = "count"\n{more}\n'


def _scenario(text: str) -> dict[str, object]:
    return dict(Study.from_toml(text).plan().cells[0].compiled.scenario)


def test_a_metric_switches_on_the_queue_that_it_reads() -> None:
    text = TEXT + QUANTITY.format(metric="queue_delay", more='options = { link = "b>a" }')
    scenario = _scenario(text)
    assert scenario["probes"]["queues"] == [1]  # type: ignore[index]
    slowest = _scenario(TEXT + QUANTITY.format(metric="queue_delay", more=""))
    assert slowest["probes"]["queues"] == [0]  # type: ignore[index]


def test_what_is_switched_on_gives_a_number() -> None:
    plain = '\n[[quantities]]\nname = "trip"\nmetric = "round_trip"\noptions = { traffic = "bulk" }\n'
    result = Study.from_toml(TEXT + plain).set({"iw": 4, "run.duration": "1s"}).run(replicates=2)
    values = np.array(result.results.values(result.results.cells[0].id, "trip"))
    assert np.isfinite(values).all() and (values >= 0.02).all()


def test_traffic_that_a_cell_lacks_needs_no_probe() -> None:
    more = '\n[[quantities]]\nname = "trip"\nmetric = "round_trip"\noptions = { traffic = "bulk" }\n'
    assert _scenario(TEXT + more)["probes"]["cwnd"] is True  # type: ignore[index]
    assert _scenario(edited(("webs = 2", "webs = 0")) + more)["probes"]["cwnd"] is False  # type: ignore[index]


def test_segments_without_a_node_are_refused_with_the_line() -> None:
    text = edited(('segments_at = "a"', "cwnd = false"))
    text += QUANTITY.format(metric="dropped_packets", more="")
    with pytest.raises(StudyError, match=r'set \[probes\] segments_at = "NODE"') as caught:
        Study.from_toml(text).plan().check()
    assert caught.value.line == text[: text.index('metric = "dropped')].count("\n") + 1
