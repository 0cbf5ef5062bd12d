"""Scenarios that are drawn: studies that run, independent of each other, and simpler ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import another_process
from cwndlab_linux.differ.random_scenario import Alignment, Scenario, Transfer, draw
from cwndlab_linux.differ.sides import stack_of, stack_text
from cwndlab_linux.stack_file import load

PLAIN = Scenario(10.0, 40.0, 1.0, "drop-tail", False, 0.0, ((Transfer(0, 40_000, "cubic"),),), 7)


def test_a_scenario_depends_on_its_number_alone() -> None:
    code = (
        "from cwndlab_linux.differ.random_scenario import draw; draw(3, 16);print([draw(3, 17), draw(4, 17)])"
    )
    assert another_process.printed(code) == f"{[draw(3, 17), draw(4, 17)]}\n"
    assert draw(3, 17) != draw(4, 17)
    assert len({str(draw(3, index)) for index in range(50)}) == 50


@pytest.mark.parametrize("simple_receiver", [False, True])
def test_every_scenario_is_a_study_that_runs(simple_receiver: bool) -> None:
    for index in range(12):
        scenario = draw(5, index, simple_receiver=simple_receiver)
        content = json.loads(scenario.compile())
        assert len(content["traffic"]) == len(scenario.transfers)


@pytest.mark.parametrize(("simple_receiver", "trains"), [(False, False), (True, False), (False, True)])
def test_the_stack_file_sets_what_differ_sets(simple_receiver: bool, trains: bool, tmp_path: Path) -> None:
    path = tmp_path / "stack.toml"
    path.write_text(stack_text(simple_receiver=simple_receiver, trains=trains))
    mine, theirs = load(str(path)), stack_of(simple_receiver=simple_receiver, trains=trains)
    assert (mine.sysctls, mine.laws, mine.segments) == (theirs.sysctls, theirs.laws, theirs.segments)


def test_trains_change_what_senders_hand_over_and_nothing_else() -> None:
    for index in range(12):
        single, trains = draw(5, index), draw(5, index, trains=True)
        assert replace(trains, trains=False) == single
        for one, kind, most in ((single, "paced", 1), (trains, "linux", 0)):
            knobs = [(tcp, tcp["window_law"]) for tcp in json.loads(one.compile())["tcp"]]
            assert {tcp["trains"] for tcp, _ in knobs} == {kind}
            assert all(tcp["max_train_segments"] == most for tcp, law in knobs if law == "bbr1")


def test_the_draws_cover_what_they_are_to_cover() -> None:
    drawn = [draw(9, index) for index in range(120)]
    assert {one.queue for one in drawn} == {"drop-tail", "codel", "fq-codel", "pie"}
    assert {one.loss for one in drawn} == {0.0, 0.001, 0.01}
    assert {t.cc for one in drawn for t in one.transfers} == {"cubic", "reno", "bbr1", "dctcp"}
    assert {len(one.flows) for one in drawn} == {1, 2}
    assert all(1 <= one.rate_mbps <= 200 and 5 <= one.rtt_ms <= 200 for one in drawn)
    # A kernel asks for ECN by route, so no flow of a scenario with DCTCP goes without.
    assert all(one.ecn for one in drawn if any(t.cc == "dctcp" for t in one.transfers))


def test_simpler_scenarios_end() -> None:
    """Taking the first step again and again leads to a scenario that nothing simplifies, and that runs."""
    scenario, steps = draw(1, 8), 0
    while (simpler := next(scenario.simplify(), None)) is not None:
        assert simpler != scenario
        scenario, steps = simpler, steps + 1
        assert steps < 60
    assert (len(scenario.flows), scenario.loss, scenario.queue) == (1, 0.0, "drop-tail")
    scenario.compile()


def test_an_alignment_sets_starts_clock_and_the_streams_of_flows() -> None:
    aligned = Alignment(starts_ns=(1_234_567,), tick_phase_ns=48_000_002, draws=(3,))
    content = json.loads(PLAIN.compile(aligned))
    (entry,) = content["traffic"]
    assert (entry["name"], entry["start_ns"]) == ("transfer-0-3", 1_234_567)
    rto = content["tcp"][entry["tcp_server"]]["rto"]
    assert (rto["timer_hz"], rto["tick_phase_ns"]) == (1000, 48_000_002)


def test_ecn_is_left_out_only_where_no_transfer_needs_it() -> None:
    def without_ecn(ccs: tuple[str, ...], ecn: bool) -> bool:
        transfers = tuple(Transfer(0, 40_000, cc) for cc in ccs)
        scenario = Scenario(10.0, 40.0, 1.0, "drop-tail", ecn, 0.0, (transfers,), 7)
        return any(simpler == replace(scenario, ecn=False) for simpler in scenario.simplify())

    assert without_ecn(("cubic", "reno"), True)
    assert not without_ecn(("cubic", "dctcp"), True)
    assert not without_ecn(("cubic",), False)


def test_only_a_simple_receiver_has_a_fixed_buffer() -> None:
    simple, tuned = (stack_of(simple_receiver=simple).sysctls for simple in (True, False))
    assert "tcp_rmem" in simple and "tcp_rmem" not in tuned
    assert simple["tcp_comp_sack_slack_ns"] == tuned["tcp_comp_sack_slack_ns"]
