"""What a plan checks before a backend runs it: which of them runs programs, and queues of a kernel."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import TEXT, edited

APP = 'app = { kind = "bulk" }'
PROGRAM = 'app = { kind = "program", client = "ping {server}" }'
QUEUE, LOSSES = (line for line in TEXT.splitlines() if line.startswith(("queue =", "impairments =")))
SECOND = f"""
[[traffic]]
name = "asks"
client = "a"
server = "b"
{PROGRAM}
"""


@pytest.mark.parametrize("backend", ["simulator", "linux"])
@pytest.mark.parametrize(
    ("text", "name"), [(edited((APP, PROGRAM)), "bulk"), (TEXT.replace("[tcp]", SECOND + "[tcp]"), "asks")]
)
def test_a_program_is_an_error_at_its_place_where_none_runs(text: str, name: str, backend: str) -> None:
    plan = Study.from_toml(text).plan()
    assert plan.needs_kernel
    with pytest.raises(StudyError, match="runs no programs") as caught:
        plan.check_parts(backend)
    error = caught.value
    assert (error.key, error.right) == (f"traffic.{name}.app", "run the study with --backend linux-virtual")
    assert ("the simulator" in error.problem) == (backend == "simulator")


@pytest.mark.parametrize(
    ("qdisc", "nearest"),
    [("cake bandwidth 5mbit", "cake"), ("fq_codel", "fq-codel"), ("pfifo", "drop-tail"), ("fq", "fq-codel")],
)
def test_a_queue_of_a_kernel_is_an_error_in_the_simulator_that_names_the_nearest(
    qdisc: str, nearest: str
) -> None:
    text = edited((LOSSES, ""), (QUEUE, f'queue = {{ kind = "kernel", qdisc = "{qdisc}" }}'))
    plan = Study.from_toml(text).plan()
    assert plan.needs_kernel
    plan.check_parts("linux")
    with pytest.raises(StudyError, match="runs no queues of a kernel") as caught:
        plan.check_parts("simulator")
    assert caught.value.key == "topology.links.wire.queue"
    assert f'queue = "{nearest}" is the nearest' in str(caught.value.right)


def test_a_link_with_a_kernels_queue_has_no_impairments_and_a_constant_rate() -> None:
    queue = (QUEUE, 'queue = { kind = "kernel", qdisc = "fq_codel" }')
    changes = ((LOSSES, ""), ('rate = "1Mbps"', 'rate = { at = { "0s" = "1Mbps", "20ms" = "2Mbps" } }'))
    for changed, said in (((queue,), "has none"), ((queue, *changes), "constant rate")):
        with pytest.raises(StudyError, match=said):
            Study.from_toml(edited(*changed)).plan().check()


def test_a_plan_without_programs_passes_everywhere() -> None:
    plan = Study.from_toml(TEXT).plan()
    assert not plan.needs_kernel
    plan.check_parts("simulator")
    plan.check_kernel()
    plan.check()
