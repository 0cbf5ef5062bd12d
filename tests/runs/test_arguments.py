"""What options of several commands mean: as texts in, changes, options and errors out."""

from __future__ import annotations

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.cli.arguments import parse_changes, parse_limits, several_kernels
from cwndlab.runs.run_options import RunOptions


@pytest.mark.parametrize(
    ("kernel", "one", "changes"),
    [("6.12,7.3", None, ["run.kernel=6.12,7.3"]), ("6.12", "6.12", []), (None, None, [])],
)
def test_several_kernels_change_the_study(kernel: str | None, one: str | None, changes: list[str]) -> None:
    options, made = several_kernels(RunOptions(backend="linux-virtual", kernel=kernel, seed=7))
    assert (options.kernel, made) == (one, changes)
    assert (options.backend, options.seed) == ("linux-virtual", 7)


def test_limits_are_keys_of_the_study_on_a_kernel_only() -> None:
    given = ["max-lateness=20ms", " steal =10%"]
    assert parse_limits(given, "linux") == ["limits.max_lateness=20ms", "limits.steal=10%"]
    assert [parse_limits(none, "simulator") for none in (None, [])] == [[], []]
    with pytest.raises(StudyError, match="the simulator has no limits of validity"):
        parse_limits(given, "simulator")
    with pytest.raises(StudyError, match=r"'steal' limits nothing.*max-lateness=20ms"):
        parse_limits(["steal"], "linux-virtual")


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ("iw=4", {"iw": "4"}),
        (" iw = 4 ", {"iw": "4"}),
        ("variant=sack,iw=1,4", {"variant": "sack", "iw": "1,4"}),
        ("a.b-c+d=1,e_2=x=y", {"a.b-c+d": "1", "e_2": "x=y"}),
        ("links=[{rate=1,delay=2}],iw=4", {"links": "[{rate=1,delay=2}]", "iw": "4"}),
        ("title='a,b=1',iw=4", {"title": "'a,b=1'", "iw": "4"}),
        ('title="a,b=1",iw=4', {"title": '"a,b=1"', "iw": "4"}),
        ("title='[',iw=4", {"title": "'['", "iw": "4"}),
        ("iw=", {"iw": ""}),
    ],
)
def test_changes_are_split_at_commas_before_a_key(given: str, changes: dict[str, str]) -> None:
    assert parse_changes([given]) == changes


@pytest.mark.parametrize("given", ["iw", "=4", " =4", ""])
def test_a_change_without_a_key_or_a_value_says_how_to_write_one(given: str) -> None:
    with pytest.raises(StudyError, match=r"sets nothing.*iw=4 or run\.duration=10s"):
        parse_changes([given])
