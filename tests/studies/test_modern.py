"""The shipped study modern: its cells, and what a short run of each question shows."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.records.run_view import WholeRun
from cwndlab_linux import stack, stack_file


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.load("modern")


def measured(study: Study, **axes: Any) -> dict[str, Any]:
    [one] = [c for c in study.plan().cells if c.axes == axes]
    view = WholeRun(_core.run(one.scenario, 6928, 0), one.compiled.scenario)
    return metrics.Measurer(study.outline.quantities).measure(view)


def test_a_kernel_has_a_congestion_control_for_every_endpoint(study: Study) -> None:
    own = stack_file.load(stack.default_for(study.base.tcp.profile)).as_dict()
    names = set()
    for one in study.plan().cells:
        tcp = one.compiled.scenario["tcp"]
        used = {i for t in one.compiled.scenario["traffic"] for i in (t["tcp_client"], t["tcp_server"])}
        names |= {stack.congestion_control(own, tcp[index]) for index in used}
    assert names == {"cubic", "reno", "dctcp", "bbr", "bbr3", "prague"}


def test_the_larger_window_saves_round_trips_where_the_buffer_holds_it(study: Study) -> None:
    small, large = (measured(study, question="window", speed=10, depth="200pkt", iw=iw) for iw in (3, 10))
    assert 0.3 < large["page_delay"] < small["page_delay"] < 1.0
    assert small["drop_rate"] == large["drop_rate"] == 0


def test_a_scalable_sender_in_dualpi2_hardly_waits_while_cubic_does(study: Study) -> None:
    values = measured(study, question="scalable", speed=50, marking="dualpi2", sender="scalable", trip=10)
    assert 10 < values["first_trip"] < 13 and 20 < values["second_trip"] < 30
    assert values["utilization"] > 95 and values["drop_rate"] == 0 and values["marks"] > 100


def test_codel_waits_less_than_a_full_buffer(study: Study) -> None:
    full, codel = (
        measured(study, question="queue", queue=queue, speed=50, flows=8) for queue in ("drop-tail", "codel")
    )
    assert codel["wait_p95"] < full["wait_p95"] / 3 and codel["utilization"] > 95
