"""From axes to cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import another_process
from cwndlab.api import Study
from cwndlab.apps.twin.kernel_twin import for_comparison
from cwndlab.base.errors import StudyError
from cwndlab.plan import plan as plans
from cwndlab.study.choices import draw
from small_study import TEXT, edited

AXES = """\
[axes.variant]
sets = "tcp.recovery"
values = ["reno", { name = "SACK", set = { "tcp.recovery" = "sack", "tcp.sack" = true } }]

[axes.flows]
values = [1, 2, 3]

[[quantities]]"""


def study(grids: str = "", *more: tuple[str, str]) -> Study:
    return Study.from_toml(edited(("[[quantities]]", grids + AXES), ("$webs", "$flows"), *more))


def ids(plan_of: Study, **options: str) -> list[str]:
    return [cell.id for cell in plan_of.plan(**options).cells]  # type: ignore[arg-type]


def test_a_change_of_a_key_that_an_axis_sets_in_every_cell_is_an_error() -> None:
    assert len(study().set({"tcp.sack": False}).plan().cells) == 12, "it has an effect where variant is reno"
    for changes in ({"tcp.recovery": "newreno"}, {"variant": "SACK", "tcp.sack": False}):
        with pytest.raises(StudyError, match="no effect, as the axis variant sets the key"):
            study().set(changes).plan()


def test_without_grids_every_axis_is_crossed_with_every_other() -> None:
    names = ids(study())
    assert (
        len(names) == 12
        and names[0] == "iw=1,variant=reno,flows=1"
        and names[-1] == "iw=4,variant=SACK,flows=3"
    )


def test_a_grid_leaves_out_what_its_condition_refuses() -> None:
    names = ids(
        study('[[grids]]\naxes = ["iw", "flows"]\nwhen = "flows > iw or iw == 4 and flows == webs"\n')
    )
    assert names == ["iw=1,flows=2", "iw=1,flows=3", "iw=4,flows=2"]


def test_zipped_axes_go_in_step() -> None:
    grid = '[[grids]]\naxes = ["flows"]\nzip = [["iw", "variant"]]\nwhere = { flows = [1] }\n'
    assert ids(study(grid)) == ["iw=1,variant=reno,flows=1", "iw=4,variant=SACK,flows=1"]


def test_zipped_axes_of_unequal_length_are_refused() -> None:
    with pytest.raises(StudyError, match="iw 2, flows 3"):
        study('[[grids]]\nzip = [["iw", "flows"]]\n').plan()


def test_an_axis_value_is_the_same_however_it_is_written() -> None:
    half = ("values = [1, 2, 3]", "values = [0.5, 1.0, 2.0]"), ('"$flows"', '"= round(2 * flows)"')
    whole = ["iw=1,flows=1.0", "iw=4,flows=1.0"]
    for given in ("[1]", "[1.0]", '["1"]'):
        assert (
            ids(study(f'[[grids]]\naxes = ["iw", "flows"]\nwhere = {{ flows = {given} }}\n', *half)) == whole
        )
    zipped = '[[grids]]\naxes = ["variant"]\nzip = [["flows"]]\nwhere = { flows = [1], iw = 1.0 }\n'
    assert len(ids(study(zipped, *half))) == 2
    listed = '[[grids]]\ncells = [{ iw = 1, flows = 1 }, { iw = "4", flows = "1" }]\n'
    assert ids(study(listed, *half)) == whole
    free = study('[[grids]]\naxes = ["iw", "flows"]\n', *half)
    for chosen in (1, "1", "1.0", [1.0, "1"]):
        assert ids(free.set({"flows": chosen})) == whole
    assert free.set({"flows": "7,7.0"}).document.chosen["flows"] == (7,)
    with pytest.raises(StudyError, match="value '1' stands twice"):
        study("", ("values = [1, 2, 3]", "values = [1, 1.0]"))


def test_cells_can_be_listed_and_fixed_and_grids_united() -> None:
    grids = (
        "[[grids]]\ncells = [{ iw = 4, flows = 3 }, { iw = 1, flows = 1 }]\n"
        '[[grids]]\naxes = ["flows"]\nwhere = { iw = 1 }\n'
    )
    assert ids(study(grids)) == ["iw=4,flows=3", "iw=1,flows=1", "iw=1,flows=2", "iw=1,flows=3"]


def test_a_value_sets_many_keys_and_a_reference_takes_its_name() -> None:
    cells = {cell.id: json.loads(cell.scenario) for cell in study().plan().cells}
    sack = cells["iw=4,variant=SACK,flows=3"]
    assert (list(sack["tcp"][0]["recovery"]), sack["tcp"][0]["sack"]) == (["sack"], True)
    assert len(sack["traffic"]) == 3 and sack["tcp"][0]["initial_window"] == {"segments": 4}
    assert cells["iw=1,variant=reno,flows=1"]["tcp"][0]["sack"] is False


def test_dependent_parameters_follow_the_axes() -> None:
    text = edited(
        ("webs = 2", 'webs = "= iw * 2"\nqueue = "{webs}pkt"'),
        ('"25pkt"', '"$queue"'),
        ("$webs", "= webs + 1"),
    )
    scenarios = [json.loads(cell.scenario) for cell in Study.from_toml(text).plan().cells]
    assert [len(s["traffic"]) for s in scenarios] == [3, 9]
    assert [s["links"][0]["queue"]["limit"] for s in scenarios] == [2, 8]


def test_set_restricts_axes_and_changes_keys() -> None:
    changed = study().set(
        {"iw": "4", "variant": ["SACK"], "run.duration": "80ms", "topology.links.wire.rate": "2Mbps"}
    )
    cells = changed.plan().cells
    assert [cell.id for cell in cells] == [f"iw=4,variant=SACK,flows={n}" for n in (1, 2, 3)]
    scenario = json.loads(cells[0].scenario)
    assert scenario["duration_ns"] == 80_000_000 and scenario["links"][1]["rate_bps"] == 2_000_000


@pytest.mark.parametrize("grid", ["", '[[grids]]\naxes = ["iw"]\n'])
def test_a_parameter_with_several_values_is_an_axis(grid: str) -> None:
    text = edited(("[[quantities]]", grid + "[[quantities]]"))
    one, listed = Study.from_toml(text), Study.from_toml(text.replace("webs = 2", "webs = [2, 3]"))
    assert ids(listed) == ["iw=1,webs=2", "iw=1,webs=3", "iw=4,webs=2", "iw=4,webs=3"]
    assert ids(one.set({"webs": "2,3"})) == ids(one.set({"webs": [2, 3]})) == ids(listed)
    assert ids(one.set({"webs": "2,3", "iw": 4})) == ids(listed)[2:]
    assert ids(listed.set({"webs": 3})) == ["iw=1,webs=3", "iw=4,webs=3"]
    again = Study.from_toml(one.set({"webs": "2,3"}).to_toml())
    assert [cell.scenario for cell in again.plan().cells] == [cell.scenario for cell in listed.plan().cells]


def test_set_keeps_the_grids_that_it_names() -> None:
    study = Study.load("rfc2415")
    changes = {"grid": "tables_1_to_3", "webs": [8, 16], "ftps": 1, "iw": [1, 3]}
    plan = study.set(changes).plan()
    assert {cell.axes["http"] for cell in plan.cells} == {"1.0"} and len(plan.cells) == 4
    with pytest.raises(StudyError, match=r"no grid .tables_4."):
        study.set({"grid": "tables_4"})


def test_set_takes_numbers_that_a_numeric_axis_does_not_list() -> None:
    assert ids(study().set({"iw": "2,10", "flows": 1, "variant": "reno"})) == [
        "iw=2,variant=reno,flows=1",
        "iw=10,variant=reno,flows=1",
    ]


def test_sensitivity_axes_run_only_on_demand_and_one_at_a_time() -> None:
    extra = '[sensitivity.delay]\nsets = "topology.links.wire.delay"\nvalues = ["1ms", "50ms"]\n'
    extra += "where = { iw = 4 }\n"
    base = Study.from_toml(edited(("[[quantities]]", extra + "[[quantities]]")))
    assert ids(base) == ["iw=1", "iw=4"]
    plan = base.plan(sensitivity="delay")
    assert [cell.id for cell in plan.cells] == ["iw=1", "iw=4", "iw=4,delay=1ms", "iw=4,delay=50ms"]
    assert json.loads(plan.cells[3].scenario)["links"][0]["delay_ns"] == 50_000_000
    with pytest.raises(StudyError, match="delay"):
        base.plan(sensitivity="dealy")


def test_combinations_take_each_choice_equally_often_and_are_always_the_same_ones() -> None:
    extra = '[sensitivity.delay]\nsets = "topology.links.wire.delay"\nvalues = ["1ms", "50ms"]\n'
    extra += '[sensitivity.recovery]\nsets = "tcp.recovery"\nvalues = ["reno", "tahoe", "new-reno"]\n'
    extra += '[sensitivity.alone]\nsets = "run.warmup"\nvalues = ["0s", "1s"]\ncombined = false\n'
    text = edited(("[[quantities]]", extra + "[[quantities]]"))
    base = Study.from_toml("combinations = 6\n" + text)
    drawn = draw(base)
    for axis, values in {"delay": ["1ms", "50ms"], "recovery": ["reno", "tahoe", "new-reno"]}.items():
        found = [combination[axis] for combination in drawn]
        assert {v: found.count(v) for v in values} == dict.fromkeys(values, 6 // len(values))
    assert all("alone" not in combination for combination in drawn) and drawn == draw(base)
    cells = [c for c in base.plan(sensitivity="combinations").cells if c.sensitivity == "combinations"]
    distinct = {tuple(combination.items()) for combination in drawn}
    for iw in (1, 4):
        assert {tuple(c.choices.items()) for c in cells if c.axes["iw"] == iw} == distinct
    with pytest.raises(StudyError, match="delay, recovery, alone, all"):
        Study.from_toml(text).plan(sensitivity="combinations")


def test_a_grid_may_have_replicates_of_its_own() -> None:
    plan = study(
        '[[grids]]\naxes = ["iw", "flows"]\nreplicates = 7\n[[grids]]\naxes = ["variant", "flows"]\n'
    ).plan()
    assert {plan.count_replicates(c) for c in plan.cells if "iw" in c.axes} == {7}
    assert {plan.count_replicates(c) for c in plan.cells if "iw" not in c.axes} == {3} != {7}


@pytest.mark.parametrize("few", [2, 7])
def test_a_cell_of_several_grids_runs_as_often_as_any_of_them_asks_for(few: int) -> None:
    plan = study(
        f'[[grids]]\naxes = ["iw", "flows"]\nreplicates = {few}\n[[grids]]\naxes = ["iw", "flows"]\n'
    ).plan()
    assert {plan.count_replicates(c) for c in plan.cells} == {max(few, 3)}


def test_beside_a_kernel_the_simulator_runs_as_often_as_the_study_asks_for_or_more() -> None:
    cells = study("").plan(replicates=2)
    assert {for_comparison(cells, single_segments=False).count_requested(c) for c in cells.cells} == {3}
    more = study("").plan(replicates=4)
    assert {for_comparison(more, single_segments=False).count_requested(c) for c in more.cells} == {4}


def test_a_sweep_of_a_thousand_million_cells_is_refused_before_it_is_expanded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plans, "expand_grids", None)
    axes = "".join(f'[axes.x{i}]\nsets = "run.seed"\nvalues = {list(range(1000))}\n' for i in range(3))
    text = edited(("[[quantities]]", axes + "[[quantities]]"))
    with pytest.raises(StudyError, match=r"sweep has 2,000,000,000 cells"):
        Study.from_toml(text).plan()


def test_a_cell_without_randomness_runs_once() -> None:
    calm = edited(('\nimpairments = [{ kind = "bernoulli", p = 0.01 }]', ""))
    assert Study.from_toml(calm).plan().runs == 2
    assert Study.from_toml(TEXT).plan().runs == 6


def test_the_same_study_gives_the_same_scenarios_to_the_byte() -> None:
    code = "import test_plan; print(*(c.scenario for c in test_plan.study().plan().cells), sep=chr(10))"
    folder = str(Path(__file__).parent)
    there = another_process.printed(f"import sys; sys.path.append({folder!r}); {code}")
    scenarios = [c.scenario for c in study().plan().cells]
    assert there.splitlines() == scenarios
    assert len(set(scenarios)) == len(scenarios) == 12


def test_a_kernel_is_compared_with_the_simulator_as_run_unless_its_stack_sends_single_segments() -> None:
    plan = Study.load("bbr").plan()
    own = plan.cells[0].compiled
    twin, compared = (
        for_comparison(plan, single_segments=single).cells[0].compiled for single in (False, True)
    )
    assert twin.scenario == own.scenario
    assert {knobs["max_train_segments"] for knobs in compared.scenario["tcp"]} == {1}
    assert own.scenario["tcp"][0]["max_train_segments"] != 1
    assert compared.scenario["links"] == own.scenario["links"] and compared.origins == own.origins


def test_names_that_the_first_cell_has_are_found_without_expanding_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = '\n[[quantities]]\nname = "other"\nmetric = "goodput"\noptions = {{ traffic = "{}" }}\n'
    expanded: list[object] = []
    make_plan = plans.make_plan

    def count(study: Any) -> Any:
        expanded.append(study)
        return make_plan(study)

    monkeypatch.setattr(plans, "make_plan", count)
    Study.from_toml(edited() + asked.format("bulk"))
    assert expanded == []
    with pytest.raises(StudyError, match='there is no traffic "web"'):
        Study.from_toml(edited() + asked.format("web"))
    assert len(expanded) == 1
