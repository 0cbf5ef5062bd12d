"""What is read off a compiled scenario, and what plans say of their cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.apps.twin.kernel_twin import SingleSegments, for_comparison
from cwndlab.base.engine_kinds import completed_objects, is_program, sends_from_client
from cwndlab.base.errors import NotFoundError, StudyError
from cwndlab.plan import scenario as facts
from cwndlab.plan.probes import needed_probes
from cwndlab.study.congestion import congestion_control, default_ecn, name_laws, spell_out
from small_study import edited


def compiled(*changes: tuple[str, str]) -> facts.Compiled:
    return Study.from_toml(edited(*changes)).plan().cells[0].compiled


NO_LOSS = ("p = 0.01", "p = 0")


def test_a_cell_is_deterministic_if_nothing_in_it_draws() -> None:
    assert not compiled().deterministic
    assert compiled(NO_LOSS).deterministic
    fixed = '{ kind = "rr", request = "100B", response = "500B" }'
    drawn = '{ kind = "rr", request = "100B", response = { kind = "exponential", mean = "500B" } }'
    assert compiled(NO_LOSS, ('{ kind = "bulk" }', fixed)).deterministic
    assert not compiled(NO_LOSS, ('{ kind = "bulk" }', drawn)).deterministic
    assert not compiled(
        NO_LOSS, ('{ kind = "drop-tail", limit = "25pkt" }', '{ kind = "red", limit = "25pkt" }')
    ).deterministic
    script = (
        'impairments = [{ kind = "bernoulli", p = 0.01 }]',
        'impairments = [{ kind = "drop-nth", packets = [3] }]',
    )
    assert compiled(script).deterministic
    assert not compiled(NO_LOSS, ('{ kind = "bulk" }', '{ kind = "poisson", rate = "1Mbps" }')).deterministic
    assert compiled(NO_LOSS, ('{ kind = "bulk" }', '{ kind = "cbr", rate = "1Mbps" }')).deterministic


def test_a_place_in_the_scenario_is_a_key_of_the_study() -> None:
    found = facts.Compiled({}, {"links.4": ("topology", "links", 2), "links.4.queue": ("queues", "q")})
    assert facts.origin(found, ["links", "4", "queue", "limit"]) == ("queues", "q", "limit")
    assert facts.origin(found, ["links", "4", "rate", "7"]) == ("topology", "links", 2, "rate", 7)
    assert facts.origin(found, ["links", "5"]) == ()


def test_the_first_number_that_json_cannot_hold_is_found() -> None:
    inf = float("inf")
    assert facts.not_finite({"a": [1.0, {"b": 2, "c": inf}], "d": inf}) == ["a", "1", "c"]
    assert facts.not_finite([1, "inf", None, float("nan")]) == ["3"]
    assert facts.not_finite({"a": [1.0, "x"]}) == [] and facts.not_finite(inf) == []
    assert facts.Compiled({"a": 1.0}).is_finite and not facts.Compiled({"a": inf}).is_finite
    assert facts.Compiled({"b": 1, "a": [2]}).json == '{"a":[2],"b":1}'


LINKS = [{"rate_bps": 4_000_000}, {"rate_bps": 1_000_000}, {"rate_bps": 1_000_000}]


def test_a_run_sends_no_more_than_its_slowest_link_lets_it() -> None:
    assert facts.most_bits({"duration_ns": 2_500_000_000, "links": LINKS}) == 2_500_000


@pytest.mark.parametrize(
    ("queue", "unit"),
    [
        ({"kind": "drop-tail", "unit": "bytes"}, "packets"),
        ({"kind": "red", "unit": "bytes"}, "bytes"),
        ({"kind": "red"}, "packets"),
        (
            {
                "kind": "cbq",
                "classes": [{"queue": {"kind": "infinite"}}, {"queue": {"kind": "red", "unit": "bytes"}}],
            },
            "bytes",
        ),
        ({"kind": "cbq", "classes": [{}]}, "packets"),
    ],
)
def test_the_unit_of_red_is_that_of_the_queue_or_of_a_class(queue: dict[str, Any], unit: str) -> None:
    assert facts.red_unit(queue) == unit


def test_a_kernel_takes_snapshots_each_second_and_at_the_edges_of_windows_within_the_run() -> None:
    windows = {"all": [0, 3_000_000_000], "late": [1_500_000_000, 2_000_000_000]}
    scenario = {"duration_ns": 3_000_000_000, "windows": windows}
    assert facts.kernel_snapshot_times(scenario) == [1_000_000_000, 1_500_000_000, 2_000_000_000]


def test_what_no_kernel_notices_makes_no_other_run() -> None:
    def run(windows: dict[str, list[int]], **probes: object) -> str:
        scenario = {"duration_ns": 3_000_000_000, "windows": windows, "probes": probes}
        return facts.kernel_run(facts.Compiled(scenario).json)

    plain = run({})
    assert run({"a": [1_000_000_000, 2_000_000_000]}, connections=True) == plain
    assert run({"a": [1_000_000_001, 2_000_000_000]}) != plain != run({}, delays=True)


def test_flows_are_found_by_their_name_or_that_of_an_instance() -> None:
    names = ["web.1", "web.2", "ftp"]
    assert facts.indices_of_flow(names, None) == [0, 1, 2]
    assert [facts.indices_of_flow(names, flow) for flow in ("web", "web.2", "ftp")] == [[0, 1], [1], [2]]
    with pytest.raises(NotFoundError, match='no flow "wib" of TCP; did you mean "web"'):
        facts.indices_of_flow(names, "wib", " of TCP")
    with pytest.raises(NotFoundError, match=r"^there is no flow of TCP$"):
        facts.indices_of_flow([], None, " of TCP")


@pytest.mark.parametrize(
    ("app", "completed", "from_client"),
    [
        ({"kind": "bulk"}, None, True),
        ({"kind": "bulk", "bytes": 1}, "file", True),
        ({"kind": "bulk", "segments": 1, "from": "server"}, "file", False),
        ({"kind": "web"}, "page", False),
        ({"kind": "rr"}, "transaction", False),
        ({"kind": "crr"}, "transaction", False),
        ({"kind": "pipeline"}, "transaction", False),
        ({"kind": "cbr"}, None, True),
        ({"kind": "cbr", "from": "server"}, None, False),
        ({"kind": "short-flows"}, "file", True),
        ({"kind": "program"}, "file", True),
    ],
)
def test_who_sends_and_until_when_depends_on_the_application(
    app: dict[str, Any], completed: str | None, from_client: bool
) -> None:
    assert (completed_objects(app), sends_from_client(app)) == (completed, from_client)
    assert facts.sender({"client": 3, "server": 8, "app": app}) == (3 if from_client else 8)
    assert facts.watched_host({"traffic": [{"client": 3, "server": 8, "app": app}]}) == (
        3 if from_client else 8
    )
    assert facts.has_connections({"app": app}) is (app["kind"] != "cbr")
    assert facts.has_connections({"app": app, "stack": {}})
    assert is_program(app) is (app["kind"] == "program")


def test_probes_whose_tables_nothing_reads_are_switched_off() -> None:
    on = {
        "segments_at": 1,
        "queues": [0],
        "queue_interval_ns": 5,
        "connections": True,
        **dict.fromkeys(("cwnd", "limits", "states", "delays", "accecn"), True),
    }
    none = needed_probes(on, ())
    assert none == {
        "segments_at": None, "queues": [], "queue_interval_ns": None, "connections": True,
        **dict.fromkeys(("cwnd", "limits", "states", "delays", "accecn"), False),
    }  # fmt: skip
    some = needed_probes(on, ("segments", "queues", "cwnd", "timeouts"))
    assert (some["segments_at"], some["queues"], some["queue_interval_ns"]) == (1, [0], 5)
    assert (some["cwnd"], some["states"], some["limits"]) == (True, True, False)
    assert not needed_probes({**on, "cwnd": False}, ("cwnd",))["cwnd"]


def many(count: int, **changes: str) -> Study:
    values = f"values = {list(range(1, count + 1))}"
    return Study.from_toml(edited(("values = [1, 4]", values), *changes.items()))


def test_a_plan_prints_ten_cells_and_counts_the_others() -> None:
    lines = repr(many(12).plan()).splitlines()
    assert lines[:2] == ["<Plan of study: 12 cells, seed 7", "    iw=1: 3 replicates"]
    assert (len(lines), lines[-1]) == (12, "    … 2 more>")
    assert repr(many(10).plan()).endswith("    iw=10: 3 replicates>")
    page = many(1).plan()._repr_html_()
    assert page.startswith("<pre>&lt;Plan of") and page.endswith("iw=1: 3 replicates&gt;</pre>")


def test_a_plan_counts_the_runs_of_cells_without_randomness_once() -> None:
    drawn, fixed = many(2).plan(), many(2, **dict([NO_LOSS])).plan()
    assert [(plan.runs, plan.counted_once) for plan in (drawn, fixed)] == [(6, 0), (2, 2)]
    single = many(2, **dict([NO_LOSS])).plan(replicates=1)
    assert (single.runs, single.counted_once, len(single), single[1].id) == (2, 0, 2, "iw=2")
    assert [drawn.count_replicates(cell) for cell in drawn] == [3, 3]
    assert [fixed.count_requested(cell) for cell in fixed] == [3, 3]


@pytest.mark.parametrize(
    ("most", "ids"), [(9, [1, 2, 3, 4, 5, 6, 7]), (7, [1, 2, 3, 4, 5, 6, 7]), (3, [1, 4, 7]), (2, [1, 7])]
)
def test_a_plan_is_thinned_evenly(most: int, ids: list[int]) -> None:
    assert [cell.axes["iw"] for cell in many(7).plan().evenly_spaced(most)] == ids


def test_the_simulator_next_to_a_kernel_runs_the_replicates_of_the_study_if_those_are_more() -> None:
    plan = for_comparison(many(2).plan(replicates=2), single_segments=True)
    assert plan.replicates is None and all(isinstance(cell, SingleSegments) for cell in plan)
    assert for_comparison(many(2).plan(replicates=4), single_segments=False).replicates == 4
    assert for_comparison(many(2).plan(replicates=3), single_segments=False).replicates is None


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"replicates": 0}, "replicates: 0 does not fit; it must be at least 1"),
        ({"seed": -1}, "seed: -1 is not a seed; 0 to 2^64 - 1"),
        ({"seed": 2**64}, f"seed: {2**64} is not a seed; 0 to 2^64 - 1"),
    ],
)
def test_a_plan_that_cannot_be_is_rejected(asked: dict[str, int], says: str) -> None:
    with pytest.raises(StudyError) as found:
        many(1).plan(**asked)  # type: ignore[arg-type]
    assert str(found.value) == says
    assert many(1).plan(seed=2**64 - 1, replicates=1).seed == 2**64 - 1


def test_a_plan_without_stacks_and_programs_runs_everywhere() -> None:
    plan = many(1).plan()
    plan.check_kernel()
    assert not plan.needs_kernel
    plan.check_parts("simulator")


def test_names_of_congestion_controls_are_those_that_people_use() -> None:
    assert [congestion_control(given) for given in ("cubic", "newreno", "ledbat++")] == [
        ("cubic", None), ("reno", None), ("ledbat-plus-plus", None),
    ]  # fmt: skip
    with pytest.raises(StudyError) as found:
        congestion_control("cubik")
    right = 'did you mean "cubic"?; one of your own is FILE.py:CLASS, FILE.onnx or a crate\'s folder'
    assert str(found.value) == f"cc: there is no congestion control 'cubik'; {right}"
    assert [default_ecn(law) for law in ("dctcp", "prague", "ledbat", "cubic")] == [
        "dctcp",
        "accecn-ect1",
        None,
        None,
    ]


def test_a_law_joins_the_axis_that_varies_the_law() -> None:
    axis = (
        'sets = "tcp.initial_window"\nvalues = [1, 4]',
        'sets = "tcp.window_law"\nvalues = ["reno", "cubic"]',
    )
    study = Study.from_toml(edited(axis))
    assert name_laws(study, ["cubic"]) == study.document, "it is used already"
    assert name_laws(study, ["mine"]).changes == {"axes.iw.values": ["reno", "cubic", "mine"]}
    settings = 'values = [{ name = "a", set = { "tcp.window_law" = "reno", "tcp.initial_window" = 2 } }]'
    study = Study.from_toml(edited(('sets = "tcp.initial_window"\nvalues = [1, 4]', settings)))
    (_, added) = name_laws(study, ["mine"]).changes["axes.iw.values"]
    assert added == {"name": "mine", "set": {"tcp.window_law": "mine", "tcp.initial_window": 2}}


def test_a_law_joins_the_only_flow_of_a_short_form_that_has_one() -> None:
    head = 'title = "t"\n[run]\nduration = "1s"\n[dumbbell]\nrate = "1Mbps"\nrtt = "20ms"\nbuffer = "9pkt"\n'
    call = '{ name = "call", app = { kind = "cbr", rate = "9kbps", packet = "99B" } }'
    study = Study.from_toml(f'{head}flows = [{{ cc = "reno" }}, {call}]\n')
    [flow, other] = name_laws(study, ["mine", "yours"]).changes["dumbbell.flows"]
    assert flow == {"name": "reno", "cc": ["reno", "mine", "yours"]} and other["name"] == "call"
    named = Study.from_toml(f'{head}flows = [{{ name = "own", cc = "reno" }}]\n')
    [flow] = name_laws(named, ["mine"]).changes["dumbbell.flows"]
    assert flow == {"name": "own", "cc": ["reno", "mine"]}
    two = Study.from_toml(f'{head}flows = [{{ cc = "reno" }}, {{ cc = "cubic" }}]\n')
    with pytest.raises(StudyError, match="no axis varies it"):
        name_laws(two, ["mine"])


def test_a_law_that_no_axis_varies_is_rejected_with_what_to_write() -> None:
    with pytest.raises(StudyError) as found:
        name_laws(Study.from_toml(edited()), ["mine"])
    assert str(found.value) == (
        'cc mine: the study does not use the window law "mine", and no axis varies it; '
        'write window_law = "mine" in the study, or tcp.window_law=mine'
    )


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ('file = "sizes.csv"', 'which column has the values?; write values = "bytes" (say)'),
        ('file = "sizes.csv"\nvalues = "byte"', 'sizes.csv has no column "byte"; did you mean "bytes"?'),
        ('file = "sizes.csv"\nvalues = "bytes"\ncounts = "note"', 'sizes.csv, column "note": '),
    ],
)
def test_the_columns_of_a_distribution_are_named(tmp_path: Path, keys: str, says: str) -> None:
    (tmp_path / "sizes.csv").write_text("bytes,n,note\n100,1,x\n200,3,y\n")
    table = f'[distributions.sizes]\nkind = "empirical"\n{keys}\n\n[run]'
    (tmp_path / "study.toml").write_text(edited(("[run]", table)))
    with pytest.raises(StudyError) as found:
        Study.load(tmp_path / "study.toml").plan().check()
    assert says in str(found.value)


@pytest.mark.parametrize(
    ("given", "knobs"),
    [
        ({"cc": "reno"}, {"window_law": "reno", "slow_start": "standard"}),
        ({"cc": "newreno", "sack": True}, {"window_law": "reno", "slow_start": "standard", "sack": True}),
        ({"cc": "dctcp"}, {"window_law": "dctcp", "slow_start": "standard", "ecn": "dctcp"}),
        ({"cc": "prague"}, {"window_law": "prague", "slow_start": "standard", "ecn": "accecn-ect1"}),
        ({"cc": "ledbat"}, {"window_law": "ledbat", "slow_start": "standard", "initial_window": 2}),
        (
            {"cc": "ledbat++"},
            {"window_law": "ledbat-plus-plus", "slow_start": "standard", "initial_window": 2},
        ),
        (
            {"cc": "ledbat", "initial_window": 4},
            {"window_law": "ledbat", "slow_start": "standard", "initial_window": 4},
        ),
        ({"initial_window": 4}, {"initial_window": 4}),
    ],
)
def test_a_congestion_control_brings_what_belongs_to_it(given: dict[str, Any], knobs: dict[str, Any]) -> None:
    assert spell_out(given, {"window_law": "reno"}, ("tcp",)) == knobs


def test_the_cubic_of_a_profile_keeps_the_profiles_slow_start() -> None:
    assert spell_out({"cc": "cubic"}, {"window_law": "cubic-linux"}, ("tcp",)) == {}
    own = {"window_law": "cubic", "slow_start": "standard"}
    assert spell_out({"cc": "cubic"}, {"window_law": "reno"}, ("tcp",)) == own
    mine = {"mine": {"ecn": "accecn-ect1"}, "other": {}}
    found = [spell_out({"cc": name}, {"window_law": "reno"}, (), mine) for name in mine]
    assert found == [{**own, "window_law": name, **mine[name]} for name in mine]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"congestion_control": "bbr"},
            "tcp.congestion_control: there is no key 'congestion_control' any more; write cc = 'bbr'",
        ),
        (
            {"cc": "reno", "window_law": "reno"},
            "tcp.cc: `window_law` says this already; leave out one of them",
        ),
        ({"cc": "renoo"}, "there is no congestion control 'renoo'"),
    ],
)
def test_a_congestion_control_that_does_not_fit_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError) as found:
        spell_out(given, {"window_law": "reno"}, ("tcp",))
    assert says in f"{'.'.join(map(str, found.value.path or ()))}: {found.value}"


def test_the_bandwidth_delay_product_of_a_link_is_of_the_longest_flow_that_passes_it() -> None:
    more = """
[[topology.links]]
name = "far"
between = ["c", "b"]
rate = "1Mbps"
delay = "100ms"
queue = { kind = "infinite" }

[[topology.links]]
name = "onward"
between = ["b", "d"]
rate = "1Mbps"
delay = "30ms"
queue = { kind = "infinite" }

[[traffic]]
name = "other"
client = "c"
server = "b"
app = { kind = "bulk" }

[[traffic]]
name = "longer"
client = "a"
server = "d"
app = { kind = "bulk" }

[[traffic]]
name = "bulk\""""
    made = compiled(
        ('nodes = ["a", "b"]', 'nodes = ["a", "b", "c", "d"]'),
        ('limit = "25pkt"', 'limit = "1BDP"'),
        ('\n[[traffic]]\nname = "bulk"', more),
    )
    # 1 Mbit/s for twice 10 + 30 ms; the flow over 100 ms does not pass this link
    assert {link["queue"]["limit"] for link in made.scenario["links"][:2]} == {10_000}
    given = compiled(("[topology]", '[topology]\nrtt = "40ms"'), ('limit = "25pkt"', 'limit = "2BDP"'))
    assert given.scenario["links"][0]["queue"]["limit"] == 10_000
