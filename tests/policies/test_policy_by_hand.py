"""A policy's steps, observations, rewards and files, with acknowledgments written by hand."""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from cwndlab.apps.policy import Interface, Policy, onnx
from cwndlab.apps.policy.features import FlowStep
from cwndlab.base.errors import OutputError, StudyError
from dataclass_kinds import changeable


class Recorder(Policy):
    """Keeps what it is asked, and doubles the window each time."""

    interface = Interface(observation=("throughput_mbps",), every="100ms")

    def decide(self, step: FlowStep) -> float:
        self.seen = [*getattr(self, "seen", []), (step.start_s, step.now_s, step)]
        return 1.0


def ack(
    now_s: float, delivered: int = 1000, rtt_s: float | None = None, rate: Any = None, **more: Any
) -> Any:
    fields = {"lost_bytes": 0, "ce_bytes": 0, "mss": 1000, "srtt_s": 0.04, "in_flight_bytes": 5000}
    given = {"now_s": now_s, "delivered_bytes": delivered, "rtt_s": rtt_s, "rate": rate}
    return SimpleNamespace(**{**fields, **given, **more})


def started(every: str = "100ms", now_s: float = 1.0) -> Recorder:
    class Made(Recorder):
        interface = Interface(observation=("throughput_mbps",), every=every)

    made = Made()
    made.on_start(now_s, 1000)
    made.cwnd_bytes = 10_000.0
    return made


def ends(policy: Recorder) -> list[tuple[float, float]]:
    return [(start, end) for start, end, _ in getattr(policy, "seen", [])]


def test_a_step_ends_with_the_first_ack_after_its_time() -> None:
    policy = started()
    for now_s in (1.05, 1.0999, 1.1, 1.15, 1.25, 1.3499, 1.35):
        policy.on_ack(ack(now_s))
    assert ends(policy) == [(1.0, 1.1), (1.1, 1.25), (1.25, 1.35)]
    assert policy.cwnd_bytes == 80_000.0


def test_a_step_may_be_an_ack_or_a_smoothed_round_trip() -> None:
    every_ack = started("ack")
    for now_s in (1.0, 1.0, 1.5):
        every_ack.on_ack(ack(now_s))
    assert ends(every_ack) == [(1.0, 1.0), (1.0, 1.0), (1.0, 1.5)]
    every_trip = started("rtt")
    for now_s, srtt_s in ((1.02, 0.04), (1.059, 0.04), (1.061, 0.5), (1.5, 0.04), (1.562, 0.04)):
        every_trip.on_ack(ack(now_s, srtt_s=srtt_s))
    assert ends(every_trip) == [(1.0, 1.02), (1.02, 1.061), (1.061, 1.562)]


def test_a_step_sums_what_its_acks_report() -> None:
    policy = started()
    policy.on_ack(ack(1.01, 1000, 0.05, lost_bytes=300, ce_bytes=100))
    policy.on_ack(ack(1.02, 2000, 0.03, SimpleNamespace(rate_bps=9e6), ce_bytes=200))
    policy.on_ack(ack(1.03, 500, None, lost_bytes=30))
    policy.on_timeout(cast(Any, SimpleNamespace(mss=1500)))
    assert policy.cwnd_bytes == 1500.0
    policy.on_loss(cast(Any, None))
    policy.on_ack(ack(1.1, 1, 0.04, SimpleNamespace(rate_bps=4e6), mss=1200, srtt_s=0.07, in_flight_bytes=77))
    ((_, _, step),) = policy.seen
    assert (step.delivered_bytes, step.lost_bytes, step.ce_bytes, step.timeouts) == (3501, 330, 300, 1)
    assert (step.rtts, step.rtt_sum_s, step.min_rtt_s) == (3, pytest.approx(0.12), 0.03)
    assert (step.mss, step.srtt_s, step.in_flight_bytes) == (1200, 0.07, 77)
    assert (step.rate_bps, step.max_rate_bps) == (4e6, 4e6), "the sample of the last ACK of the step"
    assert (step.cwnd_bytes, step.pacing_rate_bps) == (1500.0, None)
    policy.on_ack(ack(1.21, 1000, 0.035, SimpleNamespace(rate_bps=None)))
    policy.on_ack(ack(1.35, 1000, None, SimpleNamespace(rate_bps=2e6)))
    second, third = policy.seen[1][2], policy.seen[2][2]
    assert (second.delivered_bytes, second.rate_bps, second.max_rate_bps) == (1000, 4e6, 4e6)
    assert (second.min_rtt_s, second.former_rtt_s) == (0.03, pytest.approx(0.04))
    assert (third.rate_bps, third.max_rate_bps, third.rtts) == (2e6, 4e6, 0)


def test_an_end_that_has_sent_nothing_does_not_act() -> None:
    policy = started("ack")
    policy.on_ack(ack(1.5, 0, 0.05))
    assert ends(policy) == [] and policy.step.rtts == 0 and policy.step.now_s == 1.0
    policy.on_ack(ack(1.6, 1))
    assert ends(policy) == [(1.0, 1.6)]


def test_a_policy_without_act_says_so() -> None:
    policy = type("Mine", (Policy,), {})()
    policy.on_start(0.0, 1000)
    with pytest.raises(NotImplementedError, match="Mine has no act"):
        policy.decide(policy.step)
    assert (Policy.uses_slow_start, Policy.owns_recovery) == (False, True)


def test_an_observation_has_the_last_steps_with_the_latest_last() -> None:
    made = Interface(observation=["timeouts", "loss_share"], history=3)  # type: ignore[arg-type]
    assert made.observation == ("timeouts", "loss_share")
    past: deque[list[float]] = deque()

    def seen(timeouts: int) -> list[float]:
        return list(map(float, made.observe(FlowStep(timeouts=timeouts), past)))

    assert seen(1) == [1.0, 0.0] * 3
    assert seen(2) == [1.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    assert seen(300) == [1.0, 0.0, 2.0, 0.0, 100.0, 0.0], "a feature is limited to its range"
    low, high = made.bounds()
    assert low.tolist() == [0.0, 0.0] * 3 and high.tolist() == [100.0, 1.0] * 3
    one = Interface(observation=("rtt_gradient",))
    past = deque()
    step = FlowStep(now_s=1.0, former_rtt_s=99.0, rtt_sum_s=1.0, rtts=1)
    assert one.observe(step, past).tolist() == [-10.0] and one.bounds()[0].tolist() == [-10.0]
    assert one.observe(FlowStep(), past).dtype == np.float32 and len(past) == 1


@pytest.mark.parametrize(("every", "interval"), [("rtt", None), ("ack", 0.0), ("30ms", 0.03), ("2s", 2.0)])
def test_a_step_has_a_least_length(every: str, interval: float | None) -> None:
    assert Interface(every=every).interval_s == interval


@pytest.mark.parametrize(
    ("more", "key", "right"),
    [
        ({"observation": ()}, "observation", "choose among throughput_mbps, rate_mbps"),
        ({"observation": ("rtt_mss",)}, "observation", 'did you mean "rtt_ms"?'),
        ({"action": "cwnd_factr"}, "action", 'did you mean "cwnd_factor"?'),
        ({"history": 0}, "history", "at least 1"),
        ({"every": "soon"}, "every", 'write "ack", "rtt" or a time such as "30ms"'),
    ],
)
def test_an_interface_that_is_none_is_an_error_at_its_key(more: dict[str, Any], key: str, right: str) -> None:
    with pytest.raises(StudyError) as caught:
        Interface(**more)
    assert caught.value.key == key and str(caught.value.right).startswith(right)


def test_an_interface_is_written_as_text_and_read_again() -> None:
    made = Interface(("rtt_ms",), "cwnd_choice", "30ms", 4)
    assert json.loads(made.to_json()) == {
        "observation": ["rtt_ms"], "action": "cwnd_choice", "every": "30ms", "history": 4,
    }  # fmt: skip
    assert Interface.from_json(made.to_json()) == made
    assert made.acts.choices == 5 and [one.meaning for one in made.features] == [
        "mean round-trip time of the step, in ms"
    ]
    assert (Interface().history, Interface().every, Interface().action) == (1, "rtt", "cwnd_factor")


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, b"\x00"), (1, b"\x01"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"),
        (1 << 14, b"\x80\x80\x01"),
    ],
)  # fmt: skip
def test_a_number_of_protobuf_has_seven_bits_in_each_byte(value: int, encoded: bytes) -> None:
    """The example of 300 is that of protobuf's documentation."""
    assert onnx._varint(value) == encoded


def test_the_interface_is_appended_as_metadata(tmp_path: Path) -> None:
    """Field 14 of the wire type 2, with the fields 1 (key) and 2 (value) of the same type."""
    assert onnx._field(1, b"ab") == b"\x0a\x02ab" and onnx._field(14, b"") == b"\x72\x00"
    file = tmp_path / "m.onnx"
    file.write_bytes(b"model")
    made = Interface(("rtt_ms", "timeouts", "loss_share"))
    onnx.write_interface(file, made)
    key, value = b"cwndlab.interface", made.to_json().encode()
    entry = b"\x0a\x11" + key + b"\x12" + bytes([len(value)]) + value
    assert len(value) < 128 <= len(entry)
    assert file.read_bytes() == b"model\x72" + bytes([len(entry) & 0x7F | 0x80, len(entry) >> 7]) + entry
    with pytest.raises(OutputError, match="No such file"):
        onnx.write_interface(tmp_path / "none.onnx", made)


def model(output: list[float], **more: Any) -> onnx.OnnxPolicy:
    asked: list[Any] = []

    def run(names: None, inputs: dict[str, Any], options: Any) -> list[Any]:
        asked.append({name: one.tolist() for name, one in inputs.items()})
        if not output:
            raise RuntimeError("no output")
        return [np.array([output]), np.array([[99.0]])]

    session = SimpleNamespace(get_inputs=lambda: [SimpleNamespace(name="seen")], run=run)
    options = SimpleNamespace(terminate=False)
    content = {"session": session, "file": "m.onnx", "run_options": options, "asked": asked, **more}
    return cast(onnx.OnnxPolicy, type("Made", (onnx.OnnxPolicy,), content)())


def test_a_model_gives_its_first_number_or_the_first_of_its_largest() -> None:
    seen = np.array([1.0, 2.0], np.float32)
    number = model([0.25, 0.5])
    assert number.act(seen) == 0.25 and cast(Any, number).asked == [{"seen": [[1.0, 2.0]]}]
    choice = model([0.0, 7.0, 7.0, 1.0, -2.0], interface=Interface(action="cwnd_choice"))
    assert choice.act(seen) == 1.0
    broken = model([])
    with pytest.raises(ValueError, match=r"m\.onnx: no output"):
        broken.act(seen)
    broken.stop()
    with pytest.raises(onnx.CallTimeout):
        broken.act(seen)


def end(*shape: object) -> Any:
    return SimpleNamespace(shape=list(shape))


@pytest.mark.parametrize(
    ("inputs", "outputs", "choices", "wrong"),
    [
        ([end(1, 4)], [end(1, 1)], False, ""),
        ([end(None, 4)], [end("n", 1), end(7)], False, ""),
        ([end("a", "b")], [end("a", "b")], False, ""),
        ([end()], [end(1, 1)], False, ""),
        ([end(1, 4)], [end(1, 5)], True, ""),
        ([end(1, 3)], [end(1, 1)], False, "input"),
        ([], [end(1, 1)], False, "input"),
        ([end(1, 4), end(1, 4)], [end(1, 1)], False, "input"),
        ([end(1, 4)], [end(1, 5)], False, "output"),
        ([end(1, 4)], [end(1, 1)], True, "output"),
        ([end(1, 4)], [], False, "output"),
    ],
)
def test_a_model_needs_the_sizes_of_its_interface(
    inputs: list[Any], outputs: list[Any], choices: bool, wrong: str
) -> None:
    session = SimpleNamespace(get_inputs=lambda: inputs, get_outputs=lambda: outputs)
    made = Interface(("rtt_ms", "timeouts"), "cwnd_choice" if choices else "cwnd_factor", history=2)
    if not wrong:
        onnx._check_sizes(session, made, "m.onnx")
        return
    with pytest.raises(StudyError, match=f"m.onnx: the model's {wrong} has the shape") as caught:
        onnx._check_sizes(session, made, "m.onnx")
    wanted = 4 if wrong == "input" else 5 if choices else 1
    assert (caught.value.key, caught.value.right) == ("--cc", f"its interface needs [1, {wanted}]")


#: One second in which 1 of 10 Mbit is lost, at a round trip of 50 ms, twice the smallest.
SECOND = FlowStep(
    now_s=1.0, delivered_bytes=1_125_000, lost_bytes=125_000, rtt_sum_s=0.05, rtts=1, min_rtt_s=0.025
)


def test_rewards_are_those_of_their_formulas() -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("greenlet")
    from cwndlab.apps.gym.rewards import aurora, power, reward_of

    assert power(SECOND) == pytest.approx(math.log(9 / 2) - 10 * 0.1)
    assert power(FlowStep(now_s=1.0, rtt_sum_s=0.05, rtts=1, min_rtt_s=0.05)) == pytest.approx(math.log(1e-3))
    assert aurora(SECOND) == pytest.approx(10 * 0.75 - 0.05 - 0.2)
    assert reward_of("power") is power and reward_of("aurora") is aurora
    weighed = reward_of({"throughput_mbps": 2, "loss_share": -30, "rtt_ms": 0.1})
    assert weighed(SECOND) == pytest.approx(18 - 3 + 5)
    assert reward_of({})(SECOND) == 0
    own = lambda step: 7.0  # noqa: E731
    assert reward_of(own) is own
    for wrong, right in (("powr", 'did you mean "power"?'), ({"rtt_mss": 1}, 'did you mean "rtt_ms"?')):
        with pytest.raises(StudyError) as caught:
            reward_of(cast(Any, wrong))
        assert (caught.value.key, caught.value.right) == ("reward", right)


def test_training_draws_cells_and_tests_follow_in_order() -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("greenlet")
    from cwndlab.apps.gym import study_env

    cells = [SimpleNamespace(cell=SimpleNamespace(id=name)) for name in "abc"]

    def episodes(split: str, seed: int = 7) -> Any:
        made = object.__new__(study_env.Episodes)
        made.study, made.split, made._position = cast(Any, SimpleNamespace(cells=cells, seed=seed)), split, 0
        return made

    began: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        note = lambda cell, seed, k, interface: began.append((cell.cell.id, seed, k))  # noqa: E731
        patch.setattr(study_env, "Episode", note)
        test = episodes("test")
        for seed in (None, None, None, None, 8, None, 0):
            test.begin(np.random.default_rng(1), seed, {}, Interface())
        assert [(name, k) for name, _, k in began] == [
            ("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 2), ("a", 3), ("a", 0),
        ]  # fmt: skip
        assert {seed for _, seed, _ in began} == {7}
        test.begin(np.random.default_rng(1), None, {"cell": "c", "replicate": 9}, Interface())
        assert began[-1] == ("c", 7, 9)
        with pytest.raises(study_env.NotFoundError, match="no cell 'd' has an agent"):
            test.begin(np.random.default_rng(1), None, {"cell": "d"}, Interface())
        began.clear()
        train = episodes("train", (1 << 64) - 5)
        for _ in range(60):
            train.begin(np.random.default_rng(len(began)), 3, {}, Interface())
    assert {name for name, *_ in began} == set("abc") and len({k for *_, k in began}) == 60
    assert {seed for _, seed, _ in began} == {(1 << 32) - 5}, "modulo 2^64"
    assert 1 << 26 < max(k for *_, k in began) < 1 << 31


def test_a_first_step_has_seen_nothing() -> None:
    assert {name: value for name, value in asdict(FlowStep()).items() if value} == {"mss": 1}
    assert FlowStep().pacing_rate_bps is None


def test_objects_that_are_shared_cannot_be_changed() -> None:
    assert changeable("apps.policy") == ["FlowStep"]
    pytest.importorskip("gymnasium")
    pytest.importorskip("greenlet")
    pytest.importorskip("pettingzoo")
    assert changeable("apps.gym") == []
