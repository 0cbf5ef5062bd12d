"""A study as a value: what it shows, how it compares, and models made again from what they hold."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import cwndlab
from cwndlab import ArgumentError, Dumbbell, Flow, Link, Run, Study, StudyError
from fake_core import FakeCore
from small_study import TEXT, edited


def test_a_study_shows_its_title_axes_and_cells() -> None:
    study = Study.from_toml(TEXT, name="mine")
    assert repr(study).startswith("<Study mine: two nodes; 2 cells\nAxes:\n    iw ")
    assert study.axes == {"iw": [1, 4]} and study.set(iw=4).axes == {"iw": [4]}
    assert study.quantities == {"goodput": "kbit/s"}


def test_a_copied_study_equals_the_original_and_a_changed_one_does_not() -> None:
    study = Study.from_toml(TEXT)
    for made in (copy.deepcopy(study), pickle.loads(pickle.dumps(study)), Study.from_toml(TEXT)):
        assert made == study and hash(made) == hash(study)
        assert made.plan().cells[0].scenario == study.plan().cells[0].scenario
    assert study.set(iw=4) != study and study.set({"run.duration": "1s"}) != study
    assert len({study, study.set(iw=4), study.set({"iw": 4}), copy.copy(study)}) == 2


def test_set_takes_axes_and_parameters_as_keywords() -> None:
    study = Study.from_toml(TEXT)
    assert study.set(iw=4, webs=3) == study.set({"iw": 4, "webs": 3})
    with pytest.raises(StudyError, match=r'"sender\.iw" names no parameter.*; the axes are .*\biw\b'):
        study.set({"sender.iw": 4})
    with pytest.raises(StudyError, match='"iv" is neither an axis nor a parameter'):
        study.set(iv=4)


def test_a_study_is_run_with_changes_as_the_function_run_does(fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    assert study.run(changes={"iw": 4}).axes == {"iw": [4]}
    assert study.run(options=cwndlab.RunOptions(seed=3)).plan.seed == 3
    assert [done.cell for done in study.stream(changes={"iw": 4}, replicates=1)] == ["iw=4"]


def test_the_constructor_says_how_studies_are_made() -> None:
    for wrong in ((), ("rfc2416",)):
        with pytest.raises(ArgumentError, match=r"make a study by Study\.load\(.*Study\.build\("):
            Study(*wrong)


def test_a_plan_is_a_collection_of_its_cells() -> None:
    plan = Study.from_toml(TEXT).plan()
    assert len(plan) == 2 and [cell.id for cell in plan] == ["iw=1", "iw=4"]


def test_an_opened_result_has_the_name_of_its_study(fake_core: FakeCore, tmp_path: Path) -> None:
    study = Study.from_toml(TEXT, name="mine")
    study.run(tmp_path / "results")
    opened = cwndlab.open_results(tmp_path / "results")
    assert opened.study.name == "mine" and "<RunResult of mine:" in repr(opened)
    assert pickle.loads(pickle.dumps(opened.study)) == opened.study


@pytest.mark.parametrize(
    "model",
    [
        Run(duration="10s", warmup="50ms"),
        Link(between=["a", "b"], rate="1.5Mbps", delay="3ms"),
        Dumbbell(rate="50Mbps", rtt="40ms", flows=[Flow(cc="cubic"), Flow(cc="bbr1")]),
    ],
)
def test_a_model_can_be_made_again_from_what_it_holds(model: Run | Link | Dumbbell) -> None:
    assert type(model)(**model.model_dump()) == model


@pytest.mark.parametrize(
    ("knob", "message"),
    [
        ("initial_windw = 3", 'did you mean "initial_window"'),
        ('window_law = "cubik"', 'did you mean "cubic'),
    ],
)
def test_what_the_engine_would_reject_is_found_when_the_study_is_planned(knob: str, message: str) -> None:
    study = Study.from_toml(edited(("[tcp]", f"[tcp]\n{knob}")))
    assert study.axes == {"iw": [1, 4]} and "2 cells" in repr(study)
    with pytest.raises(StudyError, match=message):
        study.plan()


def test_a_misspelt_network_is_one_error() -> None:
    with pytest.raises(StudyError) as caught:
        Study.build("x", dumbbel={})  # type: ignore[call-arg]
    assert str(caught.value) == "dumbbel: unknown key 'dumbbel'; did you mean \"dumbbell\"?"


def test_dir_lists_what_users_need_and_nothing_else() -> None:
    listed = dir(cwndlab)
    assert {"open_results", "studies", "run", "NotFoundError", "Estimate"} <= {*listed}
    assert not {"Mapping", "Path", "open"} & {*listed}
    assert all(hasattr(cwndlab, name) for name in listed)


def test_a_figure_shows_what_it_is(fake_core: FakeCore) -> None:
    figure = '[[figures]]\nid = "f"\ntitle = "Goodput"\nkind = "line"\nquantity = "goodput"\nx = "iw"\n'
    text = edited(("[[quantities]]", f"{figure}\n[[quantities]]"))
    drawing = Study.from_toml(text).run().figure("f")
    assert repr(drawing).startswith("<Drawing f: Goodput; ") and "Future" not in repr(drawing)
