"""Plans at their limits, and what plans and compiled scenarios say of themselves."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import cwndlab.plan
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.plan import compile as compiling
from cwndlab.plan import plan as plans
from cwndlab.plan import red
from cwndlab.plan.plan import cell_id
from cwndlab.plan.probes import switch_on
from cwndlab.plan.scenario import Compiled, most_bits
from small_study import TEXT, edited

AXES = """\
[axes.flows]
sets = "run.seed"
values = [7, 9, 8, 5, 6, 4]

[[quantities]]"""
TWELVE = edited(("[[quantities]]", AXES))
"""Two initial windows and six seeds."""


def test_the_largest_sweep_is_allowed_and_one_more_cell_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MAX_CELLS", 12)
    assert len(Study.from_toml(TWELVE).plan()) == 12
    monkeypatch.setattr(plans, "MAX_CELLS", 11)
    with pytest.raises(StudyError, match=r"the sweep has 12 cells \(2 × 6\)"):
        Study.from_toml(TWELVE).plan()


def test_the_most_runs_are_allowed_and_more_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.from_toml(TWELVE)
    monkeypatch.setattr(plans, "MAX_RUNS", 36)
    assert study.plan().runs == 36
    with pytest.raises(StudyError, match="12 cells of 4 replicates are too many runs") as caught:
        study.plan(replicates=4)
    assert caught.value.right == "at most 36"
    monkeypatch.setattr(plans, "MAX_RUNS", 35)
    with pytest.raises(StudyError, match="12 cells of 3 replicates"):
        study.plan()


@pytest.mark.parametrize(
    ("grids", "counted"),
    [
        ("", "2"),
        ('[[grids]]\ncells = [{ iw = 4 }, { iw = 1 }]\n[[grids]]\naxes = ["iw"]\n', "2 listed + 2"),
        ('[[grids]]\nwhere = { iw = 1 }\n[[grids]]\naxes = ["iw"]\nwhere = { iw = [4] }\n', "1 + 1"),
    ],
)
def test_an_error_of_the_number_of_cells_shows_its_factors(
    grids: str, counted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MAX_CELLS", 1)
    with pytest.raises(StudyError) as caught:
        Study.from_toml(edited(("[[quantities]]", grids + "[[quantities]]"))).plan()
    assert f"({counted})" in str(caught.value)


def test_each_sensitivity_choice_counts_for_every_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = '[sensitivity.delay]\nsets = "topology.links.wire.delay"\nvalues = ["1ms", "50ms", "2ms"]\n'
    study = Study.from_toml(edited(("[[quantities]]", extra + "[[quantities]]")))
    monkeypatch.setattr(plans, "MAX_CELLS", 8)
    assert len(study.plan(sensitivity="delay")) == 8
    monkeypatch.setattr(plans, "MAX_CELLS", 7)
    with pytest.raises(StudyError, match="the sweep has 8 cells"):
        study.plan(sensitivity="delay")
    assert len(study.plan()) == 2


def test_a_network_has_at_most_so_many_links_and_applications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "MAX_LINKS", 2)
    monkeypatch.setattr(compiling, "MAX_INSTANCES", 2)
    Study.from_toml(TEXT).plan().check()
    with pytest.raises(StudyError, match=r"3 applications are too many.*at most 2"):
        Study.from_toml(edited(("webs = 2", "webs = 3"))).plan().check()
    monkeypatch.setattr(compiling, "MAX_LINKS", 1)
    with pytest.raises(StudyError, match="these are too many links"):
        Study.from_toml(TEXT).plan().check()


def test_replicates_and_seeds_have_a_least_and_a_largest() -> None:
    study = Study.from_toml(TEXT)
    assert study.plan(replicates=1).runs == 2
    assert [study.plan(seed=seed).seed for seed in (0, 2**64 - 1)] == [0, 2**64 - 1]
    for seed in (-1, 2**64):
        with pytest.raises(StudyError, match=f"{seed} is not a seed"):
            study.plan(seed=seed)
    with pytest.raises(StudyError, match="0 does not fit"):
        study.plan(replicates=0)


def test_seeds_of_cells_keep_their_distance_and_wrap() -> None:
    study = Study.from_toml(TWELVE)
    first = [cell for cell in study.plan().cells if cell.axes["iw"] == 1]
    assert [cell.seed_offset for cell in first] == [0, 2, 1, -2, -1, -3]
    plan = study.plan(seed=2**64 - 1)
    assert [plan.derive_seed(cell) for cell in first] == [
        *(2**64 - 1, 1, 0, 2**64 - 3, 2**64 - 2, 2**64 - 4),
    ]


@pytest.mark.parametrize(
    ("most", "kept"), [(2, [0, 11]), (3, [0, 5, 11]), (5, [0, 2, 5, 8, 11]), (11, None), (12, range(12))]
)
def test_cells_are_left_out_evenly(most: int, kept: Any) -> None:
    plan = Study.from_toml(TWELVE).plan()
    fewer = plan.evenly_spaced(most)
    assert len(fewer) == most and fewer[0] is plan[0] and fewer[most - 1] is plan[11]
    if kept is not None:
        assert [cell.id for cell in fewer] == [plan[k].id for k in kept]


def test_a_plan_lists_its_first_ten_cells() -> None:
    plan = Study.from_toml(TWELVE).plan()
    lines = repr(plan).splitlines()
    assert lines[0].endswith(": 12 cells, seed 7") and lines[0].startswith("<Plan of ")
    assert lines[1] == "    iw=1,flows=7: 3 replicates" and len(lines) == 12
    assert lines[-1] == "    … 2 more>"
    ten = repr(plan.evenly_spaced(10)).splitlines()
    assert len(ten) == 11 and ten[-1].endswith("replicates>")
    assert plan._repr_html_().startswith("<pre>&lt;Plan of ")
    assert "    iw=1: 1 replicate\n" in repr(Study.from_toml(TEXT).plan(replicates=1))


def test_a_former_name_of_a_plan_says_what_to_write() -> None:
    plan: Any = Study.from_toml(TEXT).plan()
    with pytest.raises(AttributeError, match=r"write plan\.derive_seed\(CELL\)") as known:
        _ = plan.seed_of
    with pytest.raises(AttributeError, match=r"Plan has no `sede`$") as unknown:
        _ = plan.sede
    assert (known.value.name, unknown.value.name) == ("", "sede")


def test_cells_that_run_once_though_more_is_asked_for_are_counted() -> None:
    calm = Study.from_toml(edited(('\nimpairments = [{ kind = "bernoulli", p = 0.01 }]', "")))
    assert calm.plan().counted_once == 2 and calm.plan(replicates=1).counted_once == 0
    assert Study.from_toml(TEXT).plan().counted_once == 0
    assert [calm.plan().count_requested(cell) for cell in calm.plan()] == [3, 3]


def test_a_cell_without_axes_has_a_name() -> None:
    assert cell_id({}) == "base" and cell_id({"iw": 4, "cc": "cubic"}) == "iw=4,cc=cubic"


def dataclasses_of(package: Any) -> list[type]:
    modules = [
        importlib.import_module(f"{package.__name__}.{m.name}")
        for m in pkgutil.iter_modules(package.__path__)
    ]
    found = {
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and dataclasses.is_dataclass(thing) and thing.__module__ == module.__name__
    }
    return sorted(found, key=lambda one: one.__name__)


def test_plans_cells_and_scenarios_are_themselves_and_do_not_change() -> None:
    """They are keys of caches, so that equality is identity; they print no scenario."""
    plan, other = (Study.from_toml(TEXT).plan() for _ in range(2))
    pairs: list[tuple[Any, Any]] = [(plan, other), (plan[0], other[0]), (plan[0].compiled, other[0].compiled)]
    for one, same in pairs:
        assert one == one and one != same and len({one, same}) == 2
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.cells = ()
    assert "duration_ns" not in repr(plan[0].compiled) and "study=" not in repr(plan[0])
    for kind in dataclasses_of(cwndlab.plan):
        assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]


# ── RED's thresholds ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("queue", "added"),
    [
        # iproute2, tc/q_red.c: max = limit / 4, min = max / 3, burst = (2 min + max) / (3 packets)
        ({"limit": 60}, {"max_th": 15.0, "min_th": 5.0, "burst": 9}),
        ({"limit": 60_000, "unit": "bytes"}, {"max_th": 15_000.0, "min_th": 5_000.0, "burst": 9}),
        (
            {"limit": 60_000, "unit": "bytes", "mean_packet": 500},
            {"max_th": 15_000.0, "min_th": 5_000.0, "burst": 17},
        ),
        ({"limit": 60, "min_th": 6}, {"max_th": 18, "burst": 10}),
        ({"limit": 60, "max_th": 12}, {"min_th": 4.0, "burst": 7}),
        ({"limit": 60, "w_q": 0.002}, {"max_th": 15.0, "min_th": 5.0}),
        ({"limit": 60, "burst": 3}, {"max_th": 15.0, "min_th": 5.0}),
        ({"limit": 1}, {"max_th": 0.25, "min_th": 0.25 / 3, "burst": 1}),
        ({"limit": 60, "min_th": 6, "max_th": 8}, {}),
    ],
)
def test_thresholds_that_are_left_out_are_those_of_tc(queue: dict[str, Any], added: dict[str, Any]) -> None:
    whole = {"kind": "red", **queue}
    red.complete(whole)
    assert whole == {"kind": "red", **queue, **added}
    other = {"kind": "linux-red", **queue}
    red.complete(other)
    assert other == {"kind": "linux-red", **queue}


@pytest.mark.parametrize(
    ("kind", "limit", "unit", "levels", "added"),
    [
        ("red", 25, None, {"min_th": 5, "max_th": 15}, {"min_th": 5, "max_th": 15}),
        ("red", 25, None, {"min_th": "5pkt"}, {"min_th": 5}),
        ("red", 0, None, {"min_th": "5pkt"}, {"unit": "packets", "min_th": 5}),
        ("red", 0, None, {"min_th": "6kB"}, None),
        ("red", 25_000, "bytes", {"min_th": 5000, "max_th": "15kB"}, {"min_th": 5000, "max_th": 15_000}),
        ("red", 25_000, "bytes", {"min_th": "5pkt"}, None),
        ("red", 25, None, {"min_th": "5kB"}, None),
        ("linux-red", 25_000, None, {"min_th": 5000, "max_th": "15kB"}, {"min_th": 5000, "max_th": 15_000}),
        ("linux-red", 25_000, None, {"max_th": "15pkt"}, None),
        ("red", 25, None, {"min_th": 15, "max_th": 15}, {"min_th": math.nextafter(15, 0), "max_th": 15}),
        ("linux-red", 25_000, None, {"min_th": 5, "max_th": 5}, {"min_th": 5, "max_th": 5}),
    ],
)
def test_thresholds_are_in_the_unit_of_the_limit(
    kind: str, limit: int, unit: str | None, levels: dict[str, Any], added: dict[str, Any] | None
) -> None:
    queue = {"kind": kind, "limit": limit} | ({"unit": unit} if unit else {})
    at = ("topology", "links", 0, "queue")
    if added is not None:
        assert red.thresholds(queue, levels, unit, at) == added
        return
    if limit:
        with pytest.raises(StudyError, match="the limit of this queue counts"):
            red.thresholds(queue, levels, unit, at)
    else:
        with pytest.raises(StudyError, match="the limit of this queue counts packets, '6kB' does not"):
            red.thresholds({**queue, "unit": "packets"}, levels, unit, at)


# ── parts of a scenario ───────────────────────────────────────────────────────────────────────────────────

STAR = """
title = "star"
[topology]
nodes = ["a", "hub", "b", "c"]
[[topology.links]]
between = ["a", "hub"]
rate = "8Mbps"
delay = "1ms"
queue = { kind = "drop-tail", limit = "1BDP" }
[[topology.links]]
between = ["hub", "b"]
rate = "80Mbps"
delay = "10ms"
[[topology.links]]
between = ["hub", "c"]
rate = "80Mbps"
delay = "30ms"
[[traffic]]
name = "near"
client = "a"
server = "b"
app = { kind = "bulk" }
[[traffic]]
name = "far"
client = "a"
server = "c"
count = 3
stagger = "2ms"
start = "1ms"
app = { kind = "bulk" }
[tcp]
profile = "rfc5681"
[run]
duration = "1s"
"""


def star(*changes: tuple[str, str]) -> dict[str, Any]:
    text = STAR
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    [cell] = Study.from_toml(text).plan().cells
    return dict(cell.compiled.scenario)


def test_a_bandwidth_delay_product_is_that_of_the_longest_round_trip_through_the_link() -> None:
    """8 Mb/s × 62 ms / 8 = 62,000 B."""
    queue = star()["links"][0]["queue"]
    assert queue == {"kind": "drop-tail", "limit": 62_000, "unit": "bytes"}
    near = star(('server = "c"', 'server = "b"'))
    assert near["links"][1]["queue"]["limit"] == 22_000
    shaped = star(('kind = "drop-tail", limit = "1BDP"', 'kind = "fq-codel", limit = "0.5BDP"'))
    assert shaped["links"][0]["queue"]["limit"] == 21  # 31,000 / 1500 = 20.7
    slow = star(
        ('kind = "drop-tail", limit = "1BDP"', 'kind = "tbf", rate = "4Mbps", burst = "3kB", limit = "2BDP"')
    )
    assert slow["links"][0]["queue"]["limit"] == 62_000
    with pytest.raises(StudyError, match="bandwidth-delay product of this link is 0"):
        star(("1ms", "0ms"), ("10ms", "0ms"), ("30ms", "0ms"))


def test_instances_have_their_names_and_start_one_after_the_other() -> None:
    traffic = star()["traffic"]
    assert [entry["name"] for entry in traffic] == ["near", "far.0", "far.1", "far.2"]
    assert [entry["start_ns"] for entry in traffic] == [0, 1_000_000, 3_000_000, 5_000_000]
    assert [(entry["client"], entry["server"]) for entry in traffic] == [(0, 2), (0, 3), (0, 3), (0, 3)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('nodes = ["a", "hub", "b", "c"]', 'nodes = ["a", "hub", "b", "c", "b"]', 'node "b" stands twice'),
        ('between = ["hub", "c"]', 'between = ["hub", "d"]', 'there is no node "d"'),
        ('between = ["hub", "c"]', 'between = ["hub", "b"]', "there is a second link hub>b"),
        ('between = ["hub", "c"]', 'between = ["c", "c"]', 'the link joins "c" with itself'),
        ('name = "far"', 'name = "near"', 'traffic "near" stands twice'),
        ('server = "c"', 'server = "a"', 'client and server are both "a"'),
        ("[run]", '[[topology.routes]]\npath = ["a", "b"]\n[run]', 'no link joins "a" and "b"'),
        ('nodes = ["a", "hub", "b", "c"]', 'nodes = ["a", "hub", "b", "c", "d", "e"]', None),
    ],
)
def test_what_a_network_lacks_or_has_twice_is_named(old: str, new: str, says: str | None) -> None:
    if says is None:  # an unused node is no error, but none reaches it
        assert len(star((old, new))["nodes"]) == 6
        with pytest.raises(StudyError, match=r'"e" cannot be reached from "a" \(a reaches only hub, b, c\)'):
            star((old, new), ('server = "c"', 'server = "e"'))
        with pytest.raises(StudyError, match=r'"c" cannot be reached from "d" \(no link leaves d\)'):
            star((old, new), ('client = "a"\nserver = "c"', 'client = "d"\nserver = "c"'))
        return
    with pytest.raises(StudyError, match=says):
        star((old, new))


def test_a_run_sends_what_its_slowest_link_can() -> None:
    assert most_bits(star()) == 8_000_000


def test_a_queue_that_a_metric_reads_is_recorded_once() -> None:
    study = Study.from_toml(
        STAR
        + "".join(
            f'[[quantities]]\nname = "q{k}"\nmetric = "queue_delay"\nwithin = "mean"\n'
            f'options = {{ link = "{link}" }}\n'
            for k, link in enumerate(("hub>a", "b>hub", "hub>a"))
        )
    )
    [cell] = study.plan().cells
    scenario = cell.compiled.scenario
    assert [scenario["links"][index]["name"] for index in scenario["probes"]["queues"]] == ["hub>a", "b>hub"]
    switch_on(scenario, study.base, study.outline.quantities)
    assert len(scenario["probes"]["queues"]) == 2


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ('values = "size"', 'which column has the counts?.*write counts = "size"'),
        ('counts = "n"', "which column has the values?"),
        ('values = "siz"\ncounts = "n"', 'sizes.csv has no column "siz".*"size"'),
        ('values = "size"\ncounts = "word"', 'sizes.csv, column "word":.*it must hold numbers'),
    ],
)
def test_what_is_wrong_with_a_file_of_a_distribution_is_named(
    tmp_path: Path, columns: str, says: str
) -> None:
    (tmp_path / "sizes.csv").write_text("size,n,word\n1000,3,x\n2500.5,1,y\n")
    file = tmp_path / "study.toml"
    app = 'app = { kind = "ftp", file_bytes = { kind = "named", name = "sizes" } }'
    shared = '[distributions.sizes]\nfile = "sizes.csv"\n'
    text = STAR.replace('app = { kind = "bulk" }', app) + shared
    file.write_text(text + columns + "\n")
    with pytest.raises(StudyError, match=says):
        Study.load(str(file)).plan().check()
    file.write_text(text + 'values = "size"\ncounts = "n"\n')
    [cell] = Study.load(str(file)).plan().cells
    assert cell.compiled.scenario["distributions"]["sizes"] == {
        "kind": "empirical",
        "values": [1000.0, 2500.5],
        "counts": [3, 1],
    }


def test_laws_and_stacks_of_a_scenario_are_listed_with_their_first_place() -> None:
    laws: list[Any] = [{"cubic": {}}, {"external": {"code": "x", "random": False}}, "reno"]
    stack = {"stack": {"stack": "quiche"}}
    scenario = {
        "links": [],
        "tcp": [{"window_law": law} for law in laws],
        "traffic": [
            {"app": {"kind": "bulk"}},
            {"app": {"kind": "bulk"}, **stack},
            {"app": {"kind": "bulk"}, **stack},
        ],
    }
    compiled = Compiled(scenario)
    assert (compiled.laws, compiled.stacks, compiled.deterministic) == (["x"], {"quiche": 1}, False)
    calm = Compiled({**scenario, "traffic": scenario["traffic"][:1]})
    assert calm.deterministic
    laws[1]["external"]["random"] = True
    random = Compiled({**scenario, "tcp": [{"window_law": laws[1]}], "traffic": scenario["traffic"][:1]})
    assert not random.deterministic


def test_a_link_between_several_nodes_counts_each_pair_in_both_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = edited(
        ('nodes = ["a", "b"]', 'nodes = ["a", "b", "c", "d", "e"]'),
        ('between = ["a", "b"]', 'between = [["a", "b"], ["c", "d", "e"]]'),
        ('name = "wire"\n', ""),
    )
    monkeypatch.setattr(compiling, "MAX_LINKS", 12)
    assert len(Study.from_toml(text).plan().cells[0].compiled.scenario["links"]) == 12
    monkeypatch.setattr(compiling, "MAX_LINKS", 11)
    with pytest.raises(StudyError, match="these are too many links; at most 5"):
        Study.from_toml(text).plan().check()


def test_every_cell_of_a_plan_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(plans.Cell, "check", lambda cell: checked.append(cell.id))
    plan = Study.from_toml(TWELVE).plan()
    checked.clear()
    plan.check_cells()
    assert checked == [cell.id for cell in plan.cells]


@pytest.mark.parametrize(
    ("metric", "option", "is_on"), [("link_utilization", "link", False), ("retransmits", "traffic", True)]
)
def test_connections_are_recorded_where_a_metric_reads_them_and_names_are_checked(
    metric: str, option: str, is_on: bool
) -> None:
    off = ('segments_at = "a"', "connections = false")
    text = edited(('metric = "goodput"\nunit = "kbit/s"', f'metric = "{metric}"'), off)
    [cell, _] = Study.from_toml(text).plan().cells
    assert cell.compiled.scenario["probes"]["connections"] is is_on
    what = {"link": 'there is no direction of a link "zz"', "traffic": 'there is no traffic "zz"'}
    with pytest.raises(StudyError, match=what[option]):
        Study.from_toml(f'{text}options = {{ {option} = "zz" }}\n')
