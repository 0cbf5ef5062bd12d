"""Congestion controls that only kernels have, and studies on several kernels: what is accepted, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cwndlab
from cwndlab.base.errors import StudyError
from cwndlab.base.laws import kernel_knob, kernel_law
from cwndlab.runs.backend_check import check_backend
from cwndlab.runs.run_options import RunOptions
from cwndlab_linux import stack, stack_file
from cwndlab_linux.virtual import images

STUDY = """
title = "A law in C next to CUBIC"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
flows = [{ cc = ["mine", "cubic"] }]
[run]
duration = "5s"
"""
TWO = STUDY.replace('["mine", "cubic"]', '"cubic"').replace('"5s"', '"5s"\nkernel = ["6.12", "7.3"]')


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two kernels, of which one has a law in C."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(images.VARIABLE, raising=False)
    for name, laws in (
        ("6.12.1-stock", ["reno", "cubic", "vegas"]),
        ("6.12.1-own", ["reno", "cubic", "mine"]),
    ):
        folder = images.kernels_folder() / name
        folder.mkdir(parents=True)
        (folder / "linux").write_bytes(b"Linux version 6.12.1-x (y) time-travel=inf-cpu " + name.encode())
        (folder / "about.json").write_text(json.dumps({"congestion_controls": laws}))
    return images.kernels_folder()


def virtual(kernel: str) -> RunOptions:
    return RunOptions(backend="linux-virtual", kernel=kernel)


def test_a_name_of_a_kernels_congestion_control_survives_its_code() -> None:
    assert kernel_law(kernel_knob("mine")) == "mine"
    assert kernel_law(kernel_knob("fifteen_letters")) == "fifteen_letters"
    assert kernel_law({"external": {"code": "0123456789abcdef" * 2, "random": False}}) is None
    assert kernel_law("reno") is None and kernel_law({"bbr3": {}}) is None


def test_a_law_of_a_kernel_that_was_built_runs_there_under_any_stack(kernels: Path) -> None:
    plan = cwndlab.Study.from_toml(STUDY).plan()
    plan.check()
    check_backend(plan, virtual("6.12.1-own"))
    mine, cubic = (cell.compiled.scenario["tcp"][-1] for cell in plan.cells)
    for name in ("linux-1998", "linux-stock", "linux-laws"):
        assert stack.congestion_control(stack_file.load(name).as_dict(), mine) == "mine"
    assert stack.congestion_control(stack_file.load("linux-laws").as_dict(), cubic) == "cubic"
    assert not [
        note for note in stack.differences(stack_file.load("linux-laws"), [mine]) if "window law" in note
    ]


def test_where_a_law_is_missing_the_error_says_which_kernel_has_it(kernels: Path) -> None:
    plan = cwndlab.Study.from_toml(STUDY).plan()
    with pytest.raises(
        StudyError, match=r"simulator has no .*\"mine\".*kernel 6\.12\.1-own has it"
    ) as caught:
        check_backend(plan, RunOptions())
    assert "dumbbell.flows.1.cc" in str(caught.value)
    with pytest.raises(
        StudyError, match=r"6\.12\.1-stock has no .*\"mine\".*in this one: reno, cubic, vegas"
    ):
        check_backend(plan, virtual("6.12.1-stock"))


def test_a_law_of_no_kernel_is_an_error_that_says_how_to_get_it(kernels: Path) -> None:
    with pytest.raises(StudyError, match=r"no congestion control 'yours'.*linux build --law FILE\.c"):
        cwndlab.Study.from_toml(STUDY.replace("mine", "yours")).plan().check()


def test_a_list_of_kernels_is_an_axis_whose_changes_are_shown() -> None:
    study = cwndlab.Study.from_toml(TWO)
    assert [(cell.id, cell.kernel) for cell in study.plan().cells] == [
        ("kernel=6.12", "6.12"),
        ("kernel=7.3", "7.3"),
    ]
    changes, results = study.outline.tables
    assert results.rows == ["kernel"]
    assert changes.id == "results-changes" and changes.rows == []
    (column,) = changes.columns
    assert str(column.compare) == "difference(kernel='6.12')" and column.where == {"kernel": "7.3"}
    assert [cell.kernel for cell in study.set({"kernel": "7.3"}).plan().cells] == ["7.3"]


def test_a_shipped_study_with_grids_and_published_numbers_runs_on_several_kernels() -> None:
    study = cwndlab.Study.load("rfc2416").set({"run.kernel": "6.1,7.3"})
    cells = study.set({"grid": "minute", "variant": "sack", "iw": 4, "size": "as-traced"}).plan().cells
    assert [cell.kernel for cell in cells] == ["6.1", "7.3"]
    tables = {table.id: table for table in study.outline.tables}
    assert {"listing-6.1", "listing-7.3", "minute", "minute-changes"} <= tables.keys()
    assert tables["listing-7.3"].where == {"variant": "tahoe", "kernel": "7.3"}
    assert {mark.table for mark in study.outline.marks} == {"listing-6.1", "listing-7.3"}
    assert study.outline.key_figure == "time-sequence-6.1"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            RunOptions(),
            r"several kernels \(6\.12, 7\.3\), and the simulator has no kernel.*kernel=6\.12",
        ),
        (RunOptions(backend="linux"), "this machine has one kernel"),
        (virtual("7.3"), ", and kernel names one"),
    ],
)
def test_several_kernels_need_the_backend_that_has_them(options: RunOptions, problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        check_backend(cwndlab.Study.from_toml(TWO).plan(), options)


@pytest.mark.parametrize("value", ["[]", "[6.12, 7.3]", '["6.12", "6.12"]'])
def test_a_list_of_kernels_has_different_names(value: str) -> None:
    with pytest.raises(StudyError, match="different names in quotes"):
        cwndlab.Study.from_toml(TWO.replace('["6.12", "7.3"]', value))
