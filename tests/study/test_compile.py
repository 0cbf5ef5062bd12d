"""From a model to the engine's scenario."""

from __future__ import annotations

import itertools
import json
import random
from bisect import bisect_right
from typing import Any

import pytest

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study import changes
from cwndlab.study.document import shipped_studies
from small_study import edited


def scenario(*changes: tuple[str, str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(Study.from_toml(edited(*changes)).plan().cells[0].scenario)
    return result


def test_quantities_become_integers_in_base_units() -> None:
    made = scenario()
    assert made["duration_ns"] == 50_000_000
    assert [link["name"] for link in made["links"]] == ["a>b", "b>a"]
    link = made["links"][0]
    assert (link["rate_bps"], link["delay_ns"]) == (1_000_000, 10_000_000)
    assert link["queue"] == {"kind": "drop-tail", "limit": 25, "unit": "packets"}
    assert made["tcp"][0]["rto"]["min_ns"] == 200_000_000


@pytest.mark.parametrize(
    ("limit", "queue"),
    [
        ("64KiB", {"limit": 65_536, "unit": "bytes"}),
        ("1BDP", {"limit": 2500, "unit": "bytes"}),  # 1 Mbit/s x 20 ms
        ("0.5BDP", {"limit": 1250, "unit": "bytes"}),
        ("3 packets", {"limit": 3, "unit": "packets"}),
    ],
)
def test_queue_limits_in_packets_bytes_and_bandwidth_delay_products(
    limit: str, queue: dict[str, Any]
) -> None:
    assert scenario(('"25pkt"', f'"{limit}"'))["links"][0]["queue"] == {"kind": "drop-tail", **queue}


def test_a_given_round_trip_time_makes_the_bandwidth_delay_product() -> None:
    made = scenario(('"25pkt"', '"1BDP"'), ('nodes = ["a", "b"]', 'nodes = ["a", "b"]\nrtt = "100ms"'))
    assert made["links"][0]["queue"]["limit"] == 12_500


def tcp(text: str) -> dict[str, Any]:
    made = scenario(("rto =", f"{text}\nrto ="))["tcp"][0]
    assert isinstance(made, dict)
    return made


def profile_of(text: str, profile: str) -> dict[str, Any]:
    made = scenario(('profile = "rfc5681"', f'profile = "{profile}"\n{text}'))["tcp"][0]
    assert isinstance(made, dict)
    return made


def test_a_word_stands_for_the_profiles_knobs_of_an_alternative() -> None:
    standard = {
        "rules": "standard",
        "impatient": True,
        "partial_window_deflation": True,
        "extra_segments": 0,
    }
    assert tcp('recovery = "new-reno"')["recovery"] == {"new-reno": standard}
    changed = {"rules": "ns2-1998", "impatient": False, "partial_window_deflation": False}
    of_1998 = {**standard, **changed}
    assert profile_of('recovery = "new-reno"', "ns2-1998")["recovery"] == {"new-reno": of_1998}
    assert tcp('recovery = "tahoe"')["recovery"] == "tahoe"


def test_a_table_changes_some_knobs_of_an_alternative_and_keeps_the_others() -> None:
    whole = tcp("sack = true\nrecovery = { rack = { f_rto = true } }")["recovery"]
    assert whole["rack"]["f_rto"] and whole["rack"]["timers"] == "rfc8985"
    assert tcp("sack = true\nrecovery.rack.f_rto = true")["recovery"] == whole
    without = tcp("sack = true\nrecovery.rack.without_sack.impatient = false")["recovery"]["rack"]
    assert without["without_sack"] == {
        "rules": "standard",
        "impatient": False,
        "partial_window_deflation": True,
        "extra_segments": 0,
    }


def test_what_can_be_off_takes_a_word_or_a_table() -> None:
    assert tcp("handshake = false")["handshake"] is None
    assert tcp("handshake = true")["handshake"]["timed"]
    assert not tcp("handshake.timed = false")["handshake"]["timed"]
    assert profile_of("handshake = true", "ns2-1998")["handshake"]["timed"]
    assert tcp('fin.time_wait = "1s"')["fin"] == {"alone": False, "time_wait_ns": 1_000_000_000}


def test_a_dotted_key_of_an_axis_selects_the_alternative_that_it_passes_through() -> None:
    text = edited(
        ("rto =", 'recovery = "new-reno"\nrto ='),
        ('sets = "tcp.initial_window"', 'sets = "tcp.recovery.reno.extra_segments"'),
    )
    study = Study.from_toml(text)
    made = json.loads(study.plan().cells[0].scenario)["tcp"][0]["recovery"]
    assert list(made) == ["reno"] and made["reno"]["extra_segments"] == 1
    set_too = study.set({"tcp.handshake.timed": False}).plan().cells[0].scenario
    assert not json.loads(set_too)["tcp"][0]["handshake"]["timed"]


def test_a_group_changes_what_the_default_group_has() -> None:
    groups = (
        "recovery.reno.extra_segments = 2",
        "groups.other = { recovery = { reno = { outlives_timeout = true } } }",
        'groups.same = { recovery = "reno", mss = 999 }',
        "rto =",
    )
    made = scenario(("rto =", "\n".join(groups)))["tcp"]
    assert [group["recovery"]["reno"]["extra_segments"] for group in made] == [2, 2, 2]
    assert [group["recovery"]["reno"]["outlives_timeout"] for group in made] == [False, True, False]


def test_directions_can_differ() -> None:
    made = scenario(
        ('delay = "10ms"', 'delay = "10ms"\nreverse = { rate = "64kbps", queue = { kind = "infinite" } }')
    )
    assert [link["rate_bps"] for link in made["links"]] == [1_000_000, 64_000]
    assert [link["queue"]["kind"] for link in made["links"]] == ["drop-tail", "infinite"]


@pytest.mark.parametrize(
    ("window", "compiled"),
    [("= 4", {"segments": 4}), ('= "rfc6928"', "rfc6928"), ('= "4pkt"', {"segments": 4})],
)
def test_initial_windows_as_people_write_them(window: str, compiled: Any) -> None:
    made = scenario(
        ("rto =", f"initial_window {window}\nrto ="), ('sets = "tcp.initial_window"', 'sets = "run.seed"')
    )
    assert made["tcp"][0]["initial_window"] == compiled


def test_tcp_groups_build_on_the_default_and_equal_ones_are_one() -> None:
    made = scenario(
        ("[run]", "[tcp.groups.big]\ninitial_window = 10\n[tcp.groups.same]\n[run]"),
        ('app = { kind = "bulk" }', 'app = { kind = "bulk" }\ntcp_client = "big"\ntcp_server = "same"'),
    )
    assert [tcp["initial_window"] for tcp in made["tcp"]] == [{"segments": 1}, {"segments": 10}]
    assert {tcp["rto"]["min_ns"] for tcp in made["tcp"]} == {200_000_000}
    assert [(t["tcp_client"], t["tcp_server"]) for t in made["traffic"]] == [(1, 0)] * 2


def test_instances_take_clients_and_servers_in_turn_and_start_staggered() -> None:
    made = scenario(
        ('nodes = ["a", "b"]', 'nodes = ["a", "b", "c", "d"]'),
        ('between = ["a", "b"]', 'between = [["a", "c", "d"], "b"]'),
        ('client = "a"', 'client = ["a", "c", "d"]'),
        ('count = "$webs"', 'count = 4\nstart = "1s"\nstagger = "100ms"'),
    )
    assert [t["client"] for t in made["traffic"]] == [0, 2, 3, 0]
    assert [t["start_ns"] for t in made["traffic"]] == [1_000_000_000 + i * 100_000_000 for i in range(4)]
    assert [t["name"] for t in made["traffic"]] == ["bulk.0", "bulk.1", "bulk.2", "bulk.3"]


def test_application_sizes_and_times_become_distributions() -> None:
    app = 'kind = "web", protocol = "http/1.0", object = "5kB", request = "300B", clock = "request"'
    app += ', inline_trigger = "first-packet", think = { kind = "uniform", low = "1s", high = "5s" }'
    made = scenario(('kind = "bulk"', app))["traffic"][0]["app"]
    assert made["object_bytes"] == {"kind": "fixed", "value": 5000.0}
    assert made["think_s"] == {"kind": "uniform", "low": 1.0, "high": 5.0}


def test_explicit_routes_and_paths_that_do_not_exist() -> None:
    ring = ('between = ["a", "b"]', 'between = [["a", "c"], "b"]')
    nodes = ('nodes = ["a", "b"]', 'nodes = ["a", "b", "c"]\nroutes = [{ path = ["a", "b", "c"] }]')
    made = scenario(ring, nodes)
    assert made["routes"] == [{"from": 0, "to": 2, "via": [0, 3]}]
    with pytest.raises(StudyError, match='no link joins "a" and "c"'):
        scenario(ring, (nodes[0], nodes[1].replace('"a", "b", "c"] }', '"a", "c"] }')))


@pytest.mark.parametrize("name", shipped_studies())
def test_every_shipped_study_is_accepted_by_the_core_in_every_cell(name: str) -> None:
    plan = Study.load(name).plan()
    for cell in plan.cells:
        _core.check_scenario(cell.scenario)


def test_pauses_of_a_rate_are_where_any_interval_is_however_many_there_are() -> None:
    """Against the definition; the last case has as many intervals as a study may list."""
    drawn = random.Random(7)
    for _ in range(300):
        times = sorted({0, *(drawn.randrange(1, 40) for _ in range(drawn.randrange(4)))})
        rates = [drawn.randrange(1, 5) for _ in times]
        down = [(start, start + drawn.randrange(1, 9)) for start in drawn.choices(range(40), k=5)]
        made, paused = changes._pause_rates(times, rates, down, ())
        assert made == sorted(set(made)) and all(a != b for a, b in itertools.pairwise(paused))
        for now in range(60):
            expected = 0 if any(a <= now < b for a, b in down) else rates[bisect_right(times, now) - 1]
            assert paused[bisect_right(made, now) - 1] == expected
    many = [(2 * k, 2 * k + 1) for k in range(9000)]
    assert changes._pause_rates([0], [5], many, ()) == (list(range(18000)), [0, 5] * 9000)
