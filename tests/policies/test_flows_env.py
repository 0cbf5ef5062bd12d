"""The environment of several flows: PettingZoo's contract, and each flow as it would be by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("greenlet")
pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test
from proportional import Proportional
from shared import TEXT, study

from cwndlab import StudyError
from cwndlab.api import Study
from cwndlab.apps.gym import FlowsEnv, StudyEnv


def agents(**options: Any) -> FlowsEnv:
    return FlowsEnv(study(others="agent"), observation=["rtt_ratio"], **options)


def played(env: FlowsEnv, act: Any) -> list[tuple[str, float, float]]:
    """Agent, time and reward of each turn, with the actions that a function of the observation chooses."""
    seen = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        seen.append((agent, info.get("time_s", 0.0), reward))
        env.step(None if terminated or truncated else act(observation))
    return seen


@pytest.mark.filterwarnings("ignore:Environment has not defined a render:UserWarning")
def test_pettingzoo_accepts_the_environment() -> None:
    def env() -> FlowsEnv:
        return FlowsEnv(study(others="agent"), every="100ms")

    api_test(env(), num_cycles=300)
    seed_test(env, num_cycles=100)


def test_flows_act_in_the_order_of_time() -> None:
    env = agents()
    env.reset(seed=1)
    seen = played(env, lambda _: np.zeros(1))
    times = [time for _, time, _ in seen]
    assert times == sorted(times)
    assert {agent for agent, _, _ in seen} == {"flow_0", "flow_1"}
    assert env.agents == []


def test_a_test_episode_is_the_run_in_which_both_flows_have_the_policy() -> None:
    run = study(others="agent").run(cc={"agent": Proportional})
    env, policy = agents(split="test"), Proportional()
    env.reset(options={"cell": "buffer=2", "replicate": 1})
    measures: dict[str, Any] = {}
    for _ in env.agent_iter():
        observation, _, _, truncated, info = env.last()
        measures = info.get("measures", {})
        env.step(None if truncated else policy.act(observation))
    rows = run.sel(buffer=2).values.to_pylist()
    assert {row["quantity"]: row["value"] for row in rows if row["replicate"] == 1} == measures


def test_one_flow_has_the_turns_and_rewards_of_study_env() -> None:
    one = StudyEnv(study(), split="test")
    observation, _ = one.reset()
    rewards, done = [0.0], False
    while not done:
        _, reward, _, done, _ = one.step(0.3)
        rewards.append(reward)
    several = FlowsEnv(study(), split="test")
    several.reset()
    assert several.possible_agents == ["flow_0"]
    assert (several.last()[0] == observation).all()
    assert [reward for _, _, reward in played(several, lambda _: 0.3)] == rewards


def test_an_agent_whose_application_opens_several_connections_is_an_error() -> None:
    pages = (
        '{ name = "tested", cc = "agent", app = { kind = "rr", request_bytes = 100, response_bytes = 100 } }'
    )
    text = TEXT.replace('{ name = "tested", cc = "agent" }', pages)
    env = FlowsEnv(Study.from_toml(text))
    with pytest.raises(StudyError, match="the agents have 2 connections"):
        env.reset()
        played(env, lambda _: 0.0)
