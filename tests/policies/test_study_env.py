"""The environment of one flow: Gymnasium's contract, seeds, and the same runs as `cwndlab.run`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("greenlet")
pytest.importorskip("pettingzoo")

import gymnasium
from gymnasium.utils.env_checker import check_env
from proportional import Proportional
from shared import TEXT, study

from cwndlab import StudyError, _core
from cwndlab.api import Study
from cwndlab.apps.gym import StudyEnv
from cwndlab.apps.policy import ACTIONS, FEATURES
from cwndlab.base.laws import make_law_codes


def played(env: StudyEnv, actions: Any, seed: int | None = None) -> list[tuple[Any, ...]]:
    """All that an episode gives, with the actions that a function of the observation chooses."""
    observation, info = env.reset(seed=seed)
    seen: list[tuple[Any, ...]] = [(observation.tobytes(), info)]
    while True:
        observation, reward, terminated, truncated, info = env.step(actions(observation))
        assert not terminated
        seen.append((observation.tobytes(), reward, truncated, info))
        if truncated:
            return seen


@pytest.mark.filterwarnings("ignore:.*render modes:UserWarning")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("every", ["ack", "rtt", "50ms"])
def test_gymnasium_accepts_the_environment(action: str, every: str) -> None:
    check_env(StudyEnv(study(), action=action, every=every, observation=tuple(FEATURES), history=2))


def test_the_same_seed_and_actions_give_the_same_bytes() -> None:
    first, second, other = (
        played(StudyEnv(study()), lambda seen: np.sin(seen[:1] * 9), seed) for seed in (5, 5, 6)
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("replicate", [0, 1])
def test_a_test_episode_is_the_run_of_the_same_policy(replicate: int) -> None:
    run = study().run(cc={"agent": Proportional})
    assert not run.failures
    policy = Proportional()
    env = StudyEnv(
        study(), observation=policy.interface.observation, every=policy.interface.every, split="test"
    )
    for buffer in (0.5, 2):
        options = {"cell": f"buffer={buffer:g}", "replicate": replicate}
        observation, info = env.reset(options=options)
        assert (info["seed"], info["replicate"]) == (1, replicate)
        done = False
        while not done:
            observation, _, _, done, info = env.step(policy.act(observation))
        rows = run.sel(buffer=buffer).values.to_pylist()
        found = {row["quantity"]: row["value"] for row in rows if row["replicate"] == replicate}
        assert found == info["measures"]


def test_test_episodes_are_the_replicates_of_the_study_in_turn() -> None:
    env = StudyEnv(study(), split="test")
    runs = [env.reset()[1] for _ in range(4)]
    assert [(run["cell"], run["replicate"]) for run in runs] == [
        ("buffer=0.5", 0),
        ("buffer=2", 0),
        ("buffer=0.5", 1),
        ("buffer=2", 1),
    ]
    assert env.reset(seed=2)[1] == runs[2]
    assert {run["seed"] for run in runs} == {1}


def test_no_training_episode_has_the_random_numbers_of_the_study() -> None:
    env = StudyEnv(study())
    seeds = [env.reset(seed=seed)[1]["seed"] for seed in range(3)]
    assert set(seeds) == {1 + 2**32}


def test_the_agent_joins_the_axis_that_varies_the_law() -> None:
    text = TEXT.replace('"agent"', '["reno", "cubic"]')
    env = StudyEnv(Study.from_toml(text), changes={"buffer": 2})
    assert [one.cell.id for one in env.episodes.study.cells] == ["buffer=2,cc=agent"]


def test_gymnasium_makes_it_by_name_and_in_vectors(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(TEXT)
    envs = gymnasium.make_vec(
        "cwndlab/Study-v0", num_envs=3, vectorization_mode="sync", study=file, every="100ms"
    )
    observations, info = envs.reset(seed=1)
    assert observations.shape == (3, 4)
    assert len(set(info["replicate"])) == 3
    done = np.zeros(3, bool)
    for _ in range(60):
        observations, rewards, _, truncated, _ = envs.step(envs.action_space.sample())
        assert np.isfinite(rewards).all()
        done |= truncated
    assert done.all()
    envs.close()


def test_processes_run_the_same_episodes(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(TEXT)
    seen = []
    for mode in ("sync", "async"):
        options = {"vector_kwargs": {"context": "spawn"}} if mode == "async" else {}
        envs = gymnasium.make_vec(
            "cwndlab/Study-v0", num_envs=2, vectorization_mode=mode, study=file, every="100ms", **options
        )
        envs.reset(seed=3)
        steps = [envs.step(np.full((2, 1), 0.1, np.float32)) for _ in range(20)]
        seen.append([(step[0].tobytes(), step[1].tobytes()) for step in steps])
        envs.close()
    assert seen[0] == seen[1]


def test_rewards_are_named_weighed_or_functions() -> None:
    rewards: dict[str, Any] = {
        "power": "power",
        "aurora": "aurora",
        "weights": {"throughput_mbps": 1, "loss_share": -10},
        "function": lambda step: step.delivered_bytes / step.interval_s / 125_000 - 10 * step.loss_share,
    }
    seen = {}
    for name, reward in rewards.items():
        seen[name] = [step[1] for step in played(StudyEnv(study(), reward=reward), lambda _: 0.2, 1)[1:-1]]
        assert all(map(math.isfinite, seen[name]))
    assert seen["weights"] == pytest.approx(seen["function"])
    assert seen["power"] != seen["aurora"]


def test_a_larger_window_delivers_more_until_the_queue_is_full() -> None:
    def goodput(action: float) -> tuple[float, float]:
        text = TEXT.replace(', { name = "other", cc = "cubic" }', "")
        measures = played(StudyEnv(Study.from_toml(text), split="test"), lambda _: action, 0)[-1][-1][
            "measures"
        ]
        return measures["goodput"], measures["loss_rate"]

    assert goodput(-1.0)[0] < 0.5 < goodput(0.0)[0] < goodput(0.1)[0]
    assert goodput(-1.0)[1] == 0 < goodput(0.5)[1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"observation": ["rtt"]}, "observation: there is no feature 'rtt'; did you mean \"rtt_ms\""),
        ({"action": "cwnd"}, "action: there is no action 'cwnd'"),
        ({"reward": "powers"}, "reward: there is no reward 'powers'; did you mean \"power\""),
        ({"every": "soon"}, 'every: .*write "ack", "rtt" or a time such as "30ms"'),
        ({"history": 0}, "history: 0 steps are no observation; at least 1"),
        ({"split": "both"}, "split: there is no split 'both'"),
    ],
)
def test_wrong_arguments_are_errors(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        StudyEnv(study(), **changed)


def test_several_agents_need_the_other_environment() -> None:
    with pytest.raises(StudyError, match=r"2 flows of cell .* use cwndlab\.apps\.gym\.FlowsEnv"):
        StudyEnv(study(others="agent"))


def test_a_step_needs_a_reset_and_close_ends_the_run() -> None:
    env = StudyEnv(study())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0.0)
    env.reset()
    env.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0.0)


def test_a_study_without_a_place_for_the_agent_is_an_error() -> None:
    with pytest.raises(StudyError, match='does not use the window law "agent"'):
        StudyEnv(study().set({"dumbbell.flows": [{"name": "tested", "cc": "cubic"}]}))


def test_environments_take_turns_in_one_process_and_runs_go_on_between_their_steps() -> None:
    alone = [played(StudyEnv(study()), lambda _: 0.1, seed) for seed in (1, 2)]
    envs = [StudyEnv(study()) for _ in alone]
    seen: list[list[tuple[Any, ...]]] = []
    for seed, env in enumerate(envs, start=1):
        observation, info = env.reset(seed=seed)
        seen.append([(observation.tobytes(), info)])
    other = (
        study("reno")
        .set({"buffer": 2})
        .configure({}, make_law_codes({"agent": Proportional}))
        .plan()
        .cells[0]
    )
    laws = {digest: Proportional for digest in other.compiled.laws}
    digests = set()
    for step in range(1, max(map(len, alone))):
        for k, env in enumerate(envs):
            if step < len(alone[k]):
                observation, reward, _, truncated, info = env.step(0.1)
                seen[k].append((observation.tobytes(), reward, truncated, info))
        if step % 20 == 0:
            digests.add(_core.run(other.scenario, 1, 0, laws=laws).digest)
    assert seen == alone
    assert len(digests) == 1
