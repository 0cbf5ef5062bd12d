"""Profiles and knobs arrive as JSON; a scenario that can't be run is rejected with its place."""

import json

import pytest

from cwndlab import _core


def test_every_profile_has_a_value_for_every_knob() -> None:
    knobs = {knob["name"].split(".")[0] for knob in json.loads(_core.tcp_knobs())}
    for name in _core.tcp_profiles():
        assert set(json.loads(_core.tcp_profile(name))) == knobs


def test_a_misspelt_profile_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(
        ValueError,
        match=r'no profile "reno-1990"; there are ns2-1998, rfc5681, linux-2\.0, linux-2\.2, linux-6',
    ):
        _core.tcp_profile("reno-1990")


def test_a_scenario_that_does_not_fit_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match="unknown field `colour`"):
        _core.check_scenario('{"colour": 1}')
    older = json.dumps({"tcp": [json.loads(_core.tcp_profile("ns2-1998")) | {"one_way_agents": True}]})
    with pytest.raises(ValueError, match=r'"one_way_agents" has another place: write recovery\.reno\.rules'):
        _core.check_scenario(older)
    tcp = json.loads(_core.tcp_profile("ns2-1998"))
    nested = json.dumps({"tcp": [tcp | {"rto": tcp["rto"] | {"one_way": True}}]})
    with pytest.raises(
        ValueError, match=r'"one_way" has another place: write rto\.samples = "one-way-delay"'
    ):
        _core.check_scenario(nested)
    empty = '{"duration_ns": 0, "nodes": [], "links": [], "tcp": [], "traffic": []}'
    with pytest.raises(ValueError, match="duration_ns: must be positive"):
        _core.check_scenario(empty)
