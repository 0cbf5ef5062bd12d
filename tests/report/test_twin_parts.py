"""What a kernel's report has of both sides: figures, facts, and the plan of the simulator."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import synthetic
from cwndlab.api import Study
from cwndlab.apps.diagnosis.budget_figure import BudgetKey
from cwndlab.apps.overlay.overlay import overlay
from cwndlab.apps.twin import both_figures, kernel_twin
from cwndlab.apps.twin.kernel_facts import backend_facts
from cwndlab.apps.twin.kernel_twin import KernelTwin, SingleSegments, for_comparison, make_twin
from cwndlab.apps.twin.twin import Twin, TwinNumber
from cwndlab.report.contents import Outputs
from cwndlab.report.figures import Drawing
from cwndlab.report.judge import Judged
from cwndlab.stats.intervals import Interval
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import Figure
from dataclass_kinds import changeable


def figure(name: str, **more: object) -> Figure:
    about = {"id": name, "title": name, "kind": "line", "x": "iw", "quantity": "q"}
    return Figure.model_validate(about | more)


def drawn(name: str, title: str = "T") -> Drawing:
    return Drawing(name, title, None, "alt", "", "")


@pytest.mark.parametrize(
    ("more", "about"),
    [
        ({}, None),
        ({"about": "Why."}, "Why."),
        ({"series": ["a"]}, "Dashed: simulator."),
        ({"series": ["a"], "about": "Why."}, "Why. Dashed: simulator."),
        ({"series": ["a"], "kind": "bar"}, "Outlined: simulator."),
        ({"quantity": None, "quantities": ["q", "r"]}, "Dashed: simulator."),
        ({"quantity": None, "quantities": ["q"]}, None),
    ],
)
def test_a_figure_says_how_the_simulator_is_drawn_unless_its_legend_does(
    more: dict[str, object], about: str | None
) -> None:
    assert both_figures._describe(figure("f", **more)) == about


def test_figures_that_show_one_run_come_in_pairs() -> None:
    outputs = Outputs("t", Path(), figures=[figure("a"), figure("b")])
    made = both_figures._pairs(outputs, [drawn("a"), drawn("b")], [drawn("b", "B"), drawn("x")])
    assert [(one.id, one.title) for one in made] == [
        ("a", "T (kernel)"), ("b", "T (kernel)"), ("b-simulator", "B (simulator)"),
    ]  # fmt: skip


def test_of_several_kernels_the_simulator_follows_the_first() -> None:
    figures = [figure(f"f-{k}", where={"kernel": k}) for k in ("6.12", "7.3")]
    made = both_figures._pairs(
        Outputs("t", Path(), figures=figures),
        [drawn("f-6.12", "T (kernel 6.12)"), drawn("f-7.3", "T (kernel 7.3)")],
        [drawn("f-6.12", "T (kernel 6.12)"), drawn("f-7.3", "T (kernel 7.3)")],
    )
    assert [(one.id, one.title) for one in made] == [
        ("f-6.12", "T (kernel 6.12)"),
        ("f-6.12-simulator", "T (simulator)"),
        ("f-7.3", "T (kernel 7.3)"),
    ]


def test_both_sides_are_drawn_in_one_figure_with_an_axis_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = synthetic.grid(run=[1, 2])
    results = synthetic.make_results(
        cells,
        {"q": "s"},
        {(cell.id, "q"): [1.0] for cell in cells},
        axes={"run": AxisInfo(), "x": AxisInfo()},
    )
    asked: list[Any] = []

    def draw(outputs: Outputs, figures: list[Figure], of: Any, omitted: list[str]) -> list[Drawing]:
        asked.append((figures, of, omitted))
        return [drawn(one.id) for one in figures]

    monkeypatch.setattr(both_figures, "draw_figures", draw)
    wanted = [
        figure("cwnd", kind="cwnd", x=None, quantity=None), figure("line", about="A."),
        figure("one", where={"kernel": "6.12"}), figure("bar", kind="bar", series=["run"]),
    ]  # fmt: skip
    judged = Judged(Outputs("t", Path(), figures=wanted), results, omitted=["x"])
    other = synthetic.make_results(cells, {"q": "s"}, {})
    made = both_figures.draw_both(judged, other)
    assert [one.id for one in made] == [
        "cwnd", "cwnd-simulator", "line", "one", "one-simulator", "bar",
    ]  # fmt: skip
    (kernel, of_kernel, noted), (simulator, of_simulator, unnoted), (joint, _, both_noted) = asked
    assert [one.id for one in kernel] == [one.id for one in simulator] == ["cwnd", "one"]
    assert of_kernel is results and of_simulator is other
    assert (noted, unnoted, both_noted) == (["x"], [], ["x"])
    assert [(one.id, one.series, one.about) for one in joint] == [
        ("line", ["run_"], "A."), ("bar", ["run", "run_"], "Outlined: simulator."),
    ]  # fmt: skip


def test_two_results_are_merged_with_the_names_of_the_runs() -> None:
    cells = synthetic.grid(iw=[1, 2])
    one = synthetic.make_results(
        cells,
        {"q": "s", "own": "s"},
        {(cells[0].id, "q"): [1.0]},
        deterministic=["iw=1"],
        seeds={"iw=2": "a"},
    )
    two = synthetic.make_results(cells[:1], {"q": "ms"}, {("iw=1", "q"): [2.0], ("iw=9", "q"): [3.0]})
    made = overlay(one, two, ("a", "b"))
    assert [(cell.id, dict(cell.axes)) for cell in made.cells] == [
        ("run=a,iw=1", {"iw": 1, "run": "a"}), ("run=a,iw=2", {"iw": 2, "run": "a"}),
        ("run=b,iw=1", {"iw": 1, "run": "b"}),
    ]  # fmt: skip
    assert dict(made.data) == {("run=a,iw=1", "q"): (1.0,), ("run=b,iw=1", "q"): (2.0,)}
    assert made.deterministic == {"run=a,iw=1"}
    assert made.seeds == {"run=a,iw=1": "", "run=a,iw=2": "a", "run=b,iw=1": ""}
    assert made.labels.unit("q") == "s" and list(made.labels.axes)[-1] == "run"


def test_the_facts_of_a_kernel_name_its_set_up_and_its_latest_packets() -> None:
    def run(late: int, invalid: str = "") -> dict[str, Any]:
        return {
            "invalid_because": invalid,
            "lateness_ns": {"p50": late, "p99": 2 * late, "p999": 3 * late, "max": 4 * late},
        }

    content = {
        "backend": "linux-virtual",
        "kernel": "6.12.1 (abc)",
        "stack": {"name": "laws", "about": "all of them", "settings": ["a = 1", "b = 2"]},
        "kernel_runs": [run(1_000), run(2_500), run(9_000_000, "too slow")],
        "differs_from_study": ["no ECN"],
    }
    assert [tuple(fact) for fact in backend_facts(content)] == [
        ("backend", "linux-virtual: Linux 6.12.1 (build abc), laws (all of them); the tables of results "
         "are the kernel's"),
        ("packets late (worst run)", "p50 2, p99 5, p99.9 8, at most 10 µs"),
        ("the kernel's settings", "a = 1"),
        ("the kernel's settings", "b = 2"),
        ("differs from the study", "no ECN"),
    ]  # fmt: skip
    content |= {"stack": {"name": "laws"}, "kernel_runs": [run(249)], "backend": "linux"}
    first, second, _ = backend_facts(content)
    assert first.value.startswith("linux: Linux 6.12.1 (abc), laws;")
    assert second.value == "by less than 1 µs"
    content["kernel_runs"] = [run(250)]
    assert backend_facts(content)[1].value == "p50 0, p99 0, p99.9 1, at most 1 µs"
    content["kernel_runs"] = []
    assert backend_facts(content)[1].value == "by less than 1 µs"


STUDY = """
title = "t"
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
flows = [{ cc = "reno" }]
[run]
duration = "1s"
replicates = 3
"""


@pytest.mark.parametrize(
    ("backend", "single"),
    [("", False), ('[0, 1, {"segments": "single"}]', True), ('[0, 1, {"segments": "trains"}, 2]', False),
     ("[0, 1, {}]", False)],
)  # fmt: skip
def test_a_stack_may_send_single_segments(backend: str, single: bool) -> None:
    assert kernel_twin._sends_single_segments(backend) is single


def test_the_simulator_runs_at_least_the_studys_replicates_and_sends_what_the_stack_does() -> None:
    study = Study.from_toml(STUDY)

    def trains(plan: Any) -> set[int]:
        return {tcp["max_train_segments"] for cell in plan.cells for tcp in cell.compiled.scenario["tcp"]}

    plain = for_comparison(study.plan(), single_segments=False)
    assert trains(plain) != {1} and plain.replicates is None
    single = for_comparison(study.plan(), single_segments=True)
    assert trains(single) == {1} and all(isinstance(cell, SingleSegments) for cell in single.cells)
    assert [cell.id for cell in single.cells] == [cell.id for cell in study.plan().cells]
    plans = {given: study.plan(replicates=given) for given in (2, 3, 4)}
    wanted = {given: for_comparison(plan, single_segments=False) for given, plan in plans.items()}
    assert {given: plan.replicates for given, plan in wanted.items()} == {2: None, 3: None, 4: 4}


def test_traces_of_another_version_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_twin, "_first_differences", lambda *_: [("c", "difference")])
    measured = SimpleNamespace(campaign=SimpleNamespace(backend='[0, 1, {"segments": "single"}]'))
    campaign = SimpleNamespace(is_of_this_version=True)
    simulated = SimpleNamespace(results="numbers", campaign=campaign)
    made = make_twin(cast(Any, simulated), cast(Any, measured))
    assert cast(Any, made.first_differences) == {"c": "difference"} and cast(Any, made.results) == "numbers"
    assert "more than 2 ms apart" in made.about and made.about.endswith(
        "Senders hand their devices single segments on both, as the stack says."
    )
    measured.campaign.backend = ""
    assert "single segments" not in make_twin(cast(Any, simulated), cast(Any, measured)).about
    campaign.is_of_this_version = False
    other = make_twin(cast(Any, simulated), cast(Any, measured))
    assert other.about.startswith("Traces are not compared") and not other.first_differences


def test_cells_that_only_the_kernel_has_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    def cell(name: str, laws: set[str]) -> Any:
        return SimpleNamespace(id=name, compiled=SimpleNamespace(kernel_laws=laws), replicates=1)

    plan = Study.from_toml(STUDY).plan()
    asked: list[Any] = []

    class Campaign:
        def __init__(self, plan: Any, store: str, executor: Any, rule: str, *, engine: str, ids: Any) -> None:
            asked.append(([cell.id for cell in plan.cells], store, rule, engine, ids))

        def run(self) -> None:
            asked.append("run")

    def simulate(*cells: Any) -> Any:
        kernel = SimpleNamespace(
            plan=replace(plan, cells=cells), backend="", store="s", rule="r", engine="e", ids={"a": "b"}
        )
        return kernel_twin.simulate(cast(Any, kernel))

    monkeypatch.setattr(kernel_twin, "Campaign", Campaign)
    assert simulate(cell("a", {"vegas"})) is None and asked == []
    assert simulate(cell("a", {"vegas"}), cell("b", set())) is not None
    assert asked == [(["b"], "s", "r", "e", {"a": "b"}), "run"]


def test_times_are_taken_of_both_sides_for_numbers_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []

    def means(campaign: str, key: BudgetKey) -> dict[str, float]:
        taken.append((campaign, key.cell))
        return {} if (campaign, key.cell) == ("kernel", "b") else {campaign: 1.0}

    monkeypatch.setattr(kernel_twin, "mean_times", means)

    def row(cell: str, low: float) -> TwinNumber:
        one = Interval(1.0, low, 2.0, 5, "t")
        return TwinNumber("", cell, "q", "s", one, one, one)

    outputs = Outputs("t", Path())
    results = synthetic.make_results((), {}, {})
    judged, rows = Judged(outputs, results), [row("a", 0.5), row("a", 0.5), row("b", 0.5), row("c", -0.5)]
    twin = KernelTwin(judged, Twin(results), rows, cast(Any, ("simulator", "kernel")))
    assert twin._budgets() == {BudgetKey("a", "connection", ""): ({"simulator": 1.0}, {"kernel": 1.0})}
    assert taken == [(side, cell) for cell in "ab" for side in ("simulator", "kernel")]
    assert KernelTwin(judged, Twin(results), rows)._budgets() == {}


def test_a_trace_at_the_observation_point_is_read_and_another_is_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_twin, "events_of_table", lambda table: [table])
    monkeypatch.setattr(kernel_twin, "FIRST_SEGMENTS_ROWS", 7)
    monkeypatch.setattr(
        kernel_twin, "read_table", lambda _: SimpleNamespace(slice=lambda a, b: ("again", a, b))
    )
    monkeypatch.setattr(kernel_twin, "watched_host", lambda _: "h")
    asked: list[Any] = []

    def run(scenario: str, seed: int, replicate: int) -> Any:
        asked.append((json.loads(scenario)["probes"], seed, replicate))
        return SimpleNamespace(table=lambda name: name)

    monkeypatch.setattr(kernel_twin, "_core", SimpleNamespace(run=run))

    def side(name: str) -> Any:
        tables = {"segments": f"{name} segments", "first_segments": f"{name} first"}
        campaign = SimpleNamespace(tables=lambda cell: tables)
        return SimpleNamespace(campaign=campaign, plan=SimpleNamespace(derive_seed=lambda cell: 5))

    def traces(probes: dict[str, Any]) -> Any:
        cell = SimpleNamespace(id="c", compiled=SimpleNamespace(scenario={"probes": probes}))
        return kernel_twin._traces(cast(Any, cell), side("simulator"), side("kernel"))

    assert traces({"segments_at": "x"}) == (["simulator segments"], ["kernel segments"]) and asked == []
    assert traces({"cwnd": True}) == ([("again", 0, 7)], ["kernel first"])
    assert asked == [({"cwnd": True, "segments_at": "h"}, 5, 0)]


def test_objects_that_are_shared_cannot_be_changed() -> None:
    assert not changeable("apps.twin", "apps.overlay")
