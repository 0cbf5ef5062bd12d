"""What a plan checks before a backend runs it: which of them runs programs."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import TEXT, edited

APP = 'app = { kind = "bulk" }'
PROGRAM = 'app = { kind = "program", client = "ping {server}" }'
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
    assert plan.has_programs
    with pytest.raises(StudyError, match="runs no programs") as caught:
        plan.check_programs(backend)
    error = caught.value
    assert (error.key, error.right) == (f"traffic.{name}.app", "run the study with --backend linux-virtual")
    assert ("the simulator" in error.problem) == (backend == "simulator")


def test_a_plan_without_programs_passes_everywhere() -> None:
    plan = Study.from_toml(TEXT).plan()
    assert not plan.has_programs
    plan.check_programs("simulator")
    plan.check_kernel()
    plan.check()
