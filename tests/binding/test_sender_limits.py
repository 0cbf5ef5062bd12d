"""What limits a sender, its states and its timers: the tables `limits`, `states` and `timeouts`."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from cwndlab import Study, _core

Make = Callable[..., dict[str, Any]]
PROBES = {"connections": True, "limits": True, "states": True}


def run(scenario: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    records = _core.run(json.dumps(scenario | {"probes": PROBES}), 1, 0)
    return {
        name: pa.table(records[name]).to_pylist() for name in ("connections", "limits", "states", "timeouts")
    }


def seconds(tables: dict[str, list[dict[str, Any]]], *, client: bool = True) -> dict[str, float]:
    """How long the sender was limited by what."""
    spent: dict[str, float] = defaultdict(float)
    for row in tables["limits"]:
        if row["from_client"] is client:
            spent[row["limit"]] += (row["to_ns"] - row["from_ns"]) / 1e9
    return spent


def biggest(tables: dict[str, list[dict[str, Any]]]) -> str:
    """What limited the client longest, before everything was acknowledged."""
    spent = {limit: time for limit, time in seconds(tables).items() if limit not in ("idle", "closed")}
    return max(spent, key=lambda limit: spent[limit])


@pytest.mark.parametrize("study", ["rfc2415", "rfc2416", "rfc2884", "modern", "fall-floyd-1996"])
def test_the_intervals_of_both_ends_add_up_to_the_life_of_every_connection(study: str) -> None:
    plan = Study.load(study).plan()
    scenario = json.loads(plan.cells[len(plan.cells) // 2].scenario)
    tables = run(scenario | {"duration_ns": min(scenario["duration_ns"], 20_000_000_000), "windows": {}})
    lives = {row["connection"]: row for row in tables["connections"]}
    assert lives
    for name in ("limits", "states"):
        reached: dict[tuple[int, bool], int] = {}
        for row in tables[name]:
            end = (row["connection"], row["from_client"])
            assert row["from_ns"] == reached.get(end, lives[row["connection"]]["start_ns"])
            assert row["from_ns"] < row["to_ns"] or name == "states"
            reached[end] = row["to_ns"]
        ends = {
            (life["connection"], client): life["end_ns"] or min(scenario["duration_ns"], 20_000_000_000)
            for life in lives.values()
            for client in (True, False)
        }
        # a connection opened and over in the same instant has no time to divide
        assert reached == {end: until for end, until in ends.items() if end in reached}
        assert all(
            lives[number]["start_ns"] == until
            for (number, _), until in ends.items()
            if (number, _) not in reached
        )


def test_nothing_is_recorded_unless_it_is_asked_for(scenario: Make) -> None:
    records = _core.run(json.dumps(scenario()), 1, 0)
    assert not any(pa.table(records[name]).num_rows for name in ("limits", "states", "timeouts"))


def test_a_long_transfer_waits_for_its_window_and_then_for_the_last_acks(scenario: Make) -> None:
    tables = run(scenario())
    assert biggest(tables) == "cwnd"
    spent = seconds(tables)
    assert spent["handshake"] == pytest.approx(0.082, abs=0.002)
    assert 0.08 < spent["application"] < 0.5  # the last flight, behind its own queue
    assert seconds(tables, client=False)["idle"] > 1.5


def test_a_small_receive_buffer_is_named_even_where_cwnd_is_large(scenario: Make) -> None:
    assert biggest(run(scenario(receive_buffer_bytes=6000))) == "receive-window"


def test_a_configured_maximum_is_not_taken_for_congestion(scenario: Make) -> None:
    assert biggest(run(scenario(max_window={"segments": 4}))) == "max-window"


def test_pacing_and_not_the_window_limits_a_sender_below_the_rate_of_its_path(scenario: Make) -> None:
    spent = {}
    for pacing in (True, False):
        made = scenario("linux-6", pacing=pacing)
        made["links"][1]["rate_bps"] = 100_000_000
        spent[pacing] = seconds(run(made))
    # Slow start paces two windows per round trip of 82 ms, so it holds back for half of each of four rounds.
    assert spent[True]["pacing"] == pytest.approx(4 * 0.041, rel=0.1)
    assert spent[True]["cwnd"] < spent[False]["cwnd"] - 0.1
    assert "pacing" not in spent[False]


def test_an_application_that_writes_slowly_limits_its_sender(scenario: Make) -> None:
    made = scenario()
    made["traffic"][0]["app"]["bytes"] = 1000
    tables = run(made)
    assert set(seconds(tables)) <= {"handshake", "application", "idle", "closed"}


def test_a_lost_flight_is_silence_until_the_timer_and_the_record_says_which(scenario: Make) -> None:
    made = scenario(initial_window={"segments": 2})
    made["links"][0]["impairments"] = [{"kind": "drop-seq", "offsets": [0, 1460]}]
    tables = run(made)
    timeouts, limits, states = (
        [row for row in tables[name] if row["from_client"]] for name in ("timeouts", "limits", "states")
    )
    assert (timeouts[0]["timer"], timeouts[0]["backoffs"], timeouts[0]["seq"]) == ("rto", 1, 0)
    silence = next(row for row in limits if row["limit"] == "rto")
    assert silence["to_ns"] == timeouts[0]["time_ns"] and timeouts[0]["set_ns"] <= silence["from_ns"]
    lost = next(row for row in states if row["entered_by"] == "rto")
    assert (lost["state"], lost["from_ns"], lost["left_by"]) == ("loss", timeouts[0]["time_ns"], "ack")


def test_recovery_is_entered_by_a_loss_and_left_by_an_ack(scenario: Make) -> None:
    made = scenario()
    made["links"][0]["impairments"] = [{"kind": "drop-nth", "packets": [30]}]
    tables = run(made)
    [recovery] = [row for row in tables["states"] if row["state"] == "recovery"]
    assert (recovery["entered_by"], recovery["left_by"]) == ("loss", "ack")
    assert seconds(tables)["recovery"] > 0
    assert not tables["timeouts"]
