"""LEDBAT++ and SEARCH in whole runs: what their sources promise."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun


def measured(flows: list[dict[str, Any]], duration: str, warmup: str, **dumbbell: Any) -> dict[str, Any]:
    raw = {
        "title": "background",
        "measure": ["goodput", "queue_delay", "utilization", "drop_rate"],
        "dumbbell": {"rate": "10Mbps", "rtt": "40ms", "buffer": 4, "flows": flows, **dumbbell},
        "run": {"duration": duration, "warmup": warmup, "seed": 1},
    }
    study = Study.from_dict(raw, name="background")
    [cell] = study.plan().cells
    view = WholeRun(_core.run(cell.scenario, 1, 0), cell.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


def two_segments(values: dict[str, Any]) -> float:
    """The goodput in Mb/s of the smallest window, two segments in each round trip of 40 ms and the queue."""
    return float(2 * 1448 * 8 / (40 + values["queue_delay_mean"]) / 1000)


def test_ledbat_alone_keeps_its_target_and_uses_the_link() -> None:
    values = measured([{"name": "low", "cc": "ledbat++"}], "30s", "10s")
    assert 45 < values["queue_delay_mean"] < 62, "60 ms, less the slowdowns"
    assert values["drop_rate"] == 0
    assert values["utilization"] > 88, "slowdowns take a tenth at most"


def test_ledbat_leaves_the_link_to_cubic() -> None:
    values = measured([{"name": "low", "cc": "ledbat++"}, {"name": "other", "cc": "cubic"}], "30s", "15s")
    assert values["goodput_low"] == pytest.approx(two_segments(values), rel=0.1)
    assert 9.5 < values["goodput_other"] < 9.7


def test_a_late_ledbat_gets_its_half() -> None:
    flows = [{"name": name, "cc": "ledbat++", "start": at} for name, at in (("early", "0s"), ("late", "10s"))]
    values = measured(flows, "60s", "20s")
    assert values["goodput_late"] == pytest.approx(values["goodput_early"], rel=0.2)


def test_search_leaves_slow_start_before_a_deep_queue_overflows() -> None:
    def drops(slow_start: str) -> float:
        tcp = {"slow_start": slow_start}
        flows = [{"name": "flow", "cc": "reno", "tcp": tcp}]
        values = measured(flows, "3s", "0s", buffer=6)
        assert values["utilization"] > 70
        return float(values["drop_rate"])

    assert drops("search") == 0 < drops("standard")


def test_rfc_6817s_ledbat_keeps_its_target_and_leaves_the_link_to_cubic() -> None:
    alone = measured([{"name": "low", "cc": "ledbat"}], "40s", "25s")
    assert 90 < alone["queue_delay_mean"] < 105
    assert alone["utilization"] > 99 and alone["drop_rate"] == 0
    flows = [{"name": "low", "cc": "ledbat"}, {"name": "other", "cc": "cubic"}]
    values = measured(flows, "30s", "15s")
    assert 0.6 * two_segments(values) < values["goodput_low"] < 1.1 * two_segments(values)
    assert 9.4 < values["goodput_other"] < 9.7
    short = {"window_law": {"ledbat": {"target": "5ms", "gain_percent": 1000}}, "initial_window": 2}
    values = measured([{"name": "low", "tcp": short}], "20s", "10s")
    assert 2 < values["queue_delay_mean"] < 8, "RFC 7928, section 5.4"


def test_a_late_ledbat_takes_the_queue_of_others_for_its_base_delay() -> None:
    flows = [{"name": name, "cc": "ledbat", "start": at} for name, at in (("early", "0s"), ("late", "20s"))]
    values = measured(flows, "80s", "50s")
    assert 4 < values["goodput_late"] / values["goodput_early"] < 8
    assert values["goodput_late"] + values["goodput_early"] == pytest.approx(9.65, abs=0.05)
