"""Estimates of runs, subjects and their settings, packs, and what the command prints, one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from written_rows import GROUPS, card, criterion

import synthetic
from cwndlab.api import Study
from cwndlab.apps.evaluate import command, evaluation, pack, subjects
from cwndlab.apps.evaluate.runs_wanted import _runs, runs_text, runs_to_decide, runs_to_differ
from cwndlab.base.errors import StudyError
from cwndlab.stats.expression import Evaluator
from cwndlab.stats.field import Field
from cwndlab.study.cells import CellInfo
from dataclass_kinds import changeable

LAW = Path(__file__).parents[1] / "laws/stubborn.py"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (2, "about 2 runs"), (19, "about 19 runs"), (20, "about 20 runs"), (21, "about 30 runs"),
        (199, "about 200 runs"), (200, "about 200 runs"), (201, "about 300 runs"),
        (1000, "about 1000 runs"), (1001, "more than 1,000 runs"),
    ],
)  # fmt: skip
def test_an_estimated_number_of_runs_is_rounded_up(count: int, text: str) -> None:
    assert runs_text(count) == text


def with_mean(mean: float, spread: float = 1.0, n: int = 5) -> list[float]:
    """Runs with this mean and standard deviation."""
    runs = np.arange(n) - (n - 1) / 2
    return list(mean + spread * runs / runs.std(ddof=1))


def needed(mean: float, n: int = 5) -> int:
    """The runs after which Student's interval of a standard deviation of 1 would just reach the mean."""
    half = stats.t.ppf(0.975, n - 1) / math.sqrt(n)
    return math.ceil(n * (half / mean) ** 2)


def test_the_runs_that_show_a_difference_grow_with_the_square_of_interval_over_difference() -> None:
    assert needed(0.5) == 31
    for mean in (0.5, -0.5, 0.1, -1.0):
        assert _runs(synthetic.sample(with_mean(mean))) == needed(mean)
    assert _runs(synthetic.sample(with_mean(5.0))) == 6  # not fewer than one more than there are
    assert _runs(synthetic.sample([3.0])) is None
    assert _runs(synthetic.sample([-1.0, 1.0, -1.0, 1.0])) is None


def test_of_several_others_the_one_that_needs_the_fewest_runs_is_named() -> None:
    data = {("a",): with_mean(0.0, 1e-9), ("near",): with_mean(0.2), ("far",): with_mean(-0.5)}
    numbers = Field(("subject",), {key: synthetic.sample(runs) for key, runs in data.items()})
    found = runs_to_differ(numbers, {"a": ["near", "far"], "near": ["a"], "far": []})
    assert found == {"a": (needed(0.5), "far"), "near": (needed(0.2), "a")}
    assert runs_to_differ(numbers, {"a": ["a"]}) == {}


CELLS = tuple(CellInfo(f"c{k}", {"subject": name}) for k, name in enumerate(["a", "b"]))


def decided(requires: str) -> dict[str, int]:
    """For "a", whose mean delay is 0.5 and whose mean loss is 0.2, and "b" with both at 9."""
    data = {("c0", "delay"): with_mean(0.5), ("c0", "loss"): with_mean(0.2)}
    data |= {("c1", "delay"): with_mean(9.0), ("c1", "loss"): with_mean(9.0)}
    results = synthetic.make_results(CELLS, {"delay": "s", "loss": "s"}, data)
    one = criterion(requires=requires, limit="l", note="n")
    return runs_to_decide(one, ["a", "b"], Evaluator(results))


def test_a_limit_is_decided_when_its_last_open_comparison_is() -> None:
    delay, loss = 'delay[subject="$subject"] > 0', 'loss[subject="$subject"] > 0'
    assert decided(delay) == {"a": needed(0.5)}
    assert decided(f"{loss} and {delay}") == {"a": needed(0.2)}
    assert decided(f"{delay} and {loss}") == {"a": needed(0.2)}
    assert decided(f"not ({delay})") == {}
    assert decided(f'{delay} and loss[subject="$subject"] > 0.2') == {}, "one will never be decided"


def test_each_kind_of_subject_is_described() -> None:
    described = {
        "cubic": "congestion control cubic of the engine",
        'mine={ cc = "reno", mss = 536 }': "TCP with cc = reno, mss = 536 of the engine",
    }
    for given, text in described.items():
        assert subjects.congestion_control(given).description == text
    on_kernel = subjects.congestion_control("vegas", on_kernel=True)
    assert (on_kernel.name, on_kernel.kernel) == ("vegas", "vegas")
    assert (
        on_kernel.description == "congestion control vegas of the kernel; the simulator has none of this name"
    )
    assert subjects.congestion_control("cubic", on_kernel=True).kernel is None
    assert subjects.queue("codel").description == "queue codel, with its defaults"
    queue = subjects.queue('slow={ kind = "pie", target = "30ms", ecn = true }')
    assert queue.description == "queue pie, target = 30ms, ecn = True"
    quic = subjects.from_stack("cubic", "quinn")
    assert quic.name == "quinn-cubic"
    assert quic.description.endswith(", mtu = 1500B, stream_window = 16MiB")
    assert quic.stack == {"profile": "quinn", "cc": "cubic", "mtu": "1500B", "stream_window": "16MiB"}


def test_a_queue_is_named_by_its_kind_unless_it_has_a_name() -> None:
    assert subjects.queue("fq_codel").name == "fq-codel"
    assert subjects.queue('{ kind = "fq_pie" }').name == "fq-pie"
    assert subjects.queue(' own = { kind = "pie" }').name == "own"
    with pytest.raises(StudyError, match="'A' is not a name"):
        subjects.queue('A={ kind = "pie" }')
    with pytest.raises(StudyError, match="is no TOML table") as caught:
        subjects.queue("{ kind = }")
    assert caught.value.right == '{ kind = "pie", target = "5ms" }'


QUEUES = """
title = "queues"
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
flows = [{ cc = "reno" }]
[[axes.subject.values]]
name = "red"
set = { "topology.links.bottleneck.forward.queue" = { kind = "red", min_th = "5pkt", limit = "50pkt" } }
[[axes.subject.values]]
name = "drop-tail"
set = { "topology.links.bottleneck.forward.queue" = { kind = "drop-tail", limit = "60pkt" } }
[run]
duration = "1s"
"""


def test_a_queue_has_the_limit_of_the_first_declared_one_unless_it_is_declared_itself() -> None:
    study = Study.from_toml(QUEUES)
    own = subjects.queue('slow={ kind = "pie", target = "30ms" }')
    limited = subjects.queue('{ kind = "codel", limit = "9pkt" }')
    made = subjects.with_subjects(study, [own, limited, subjects.queue("drop-tail")], ["red"])
    values = made.raw["axes"]["subject"]["values"]
    assert [value["name"] for value in values] == ["slow", "codel", "drop-tail", "red"]
    assert [value["set"]["topology.links.bottleneck.forward.queue"] for value in values] == [
        {"limit": "50pkt", "kind": "pie", "target": "30ms"},
        {"kind": "codel", "limit": "9pkt"},
        {"kind": "drop-tail", "limit": "60pkt"},
        {"kind": "red", "min_th": "5pkt", "limit": "50pkt"},
    ]
    left = subjects.with_subjects(study, [own], ["red"], without=["drop-tail"])
    assert [cell.axes["subject"] for cell in left.plan().cells] == ["slow", "red"]
    with pytest.raises(StudyError, match='the reference "rad" is missing') as caught:
        subjects.with_subjects(study, [own], ["red", "rad"])
    assert caught.value.right == 'did you mean "red"?'


def test_knobs_and_stacks_are_set_in_the_groups_of_the_subject_alone() -> None:
    study = Study.from_toml(GROUPS)
    knobs = subjects.congestion_control('mine={ cc = "reno", mss = 536 }')
    quic = subjects.from_stack("cubic", "quinn")
    made = subjects.with_subjects(study, [knobs, quic, subjects.congestion_control("cubic")], ["reno"])
    first, second, *others = made.raw["axes"]["subject"]["values"]
    assert first == {
        "name": "mine",
        "set": {
            "tcp.groups.x.cc": "reno",
            "tcp.groups.x.mss": 536,
            "tcp.groups.z.cc": "reno",
            "tcp.groups.z.mss": 536,
        },
    }
    assert second == {"name": "quinn-cubic", "set": {f"tcp.groups.{name}": quic.stack for name in "xz"}}
    assert others == ["cubic", "reno"]


@pytest.mark.parametrize(
    ("changes", "duration", "warmup"),
    [
        ({}, 2.0, 1.0),
        ({"run.duration": "1s"}, 1.0, 0.5),
        ({"run.duration": "2s"}, 2.0, 1.0),
        ({"run.duration": "8s"}, 8.0, 1.0),
        ({"run.duration": "1s", "run.warmup": "0.9s"}, 1.0, 0.9),
        ({"run.duration": "1000000001ns"}, 1.000000001, 0.5),
    ],
)
def test_a_shorter_duration_shortens_the_warm_up_by_as_much(
    changes: dict[str, str], duration: float, warmup: float
) -> None:
    run = evaluation._with_changes(Study.from_toml(GROUPS), changes).base.run
    assert (run.duration, run.warmup) == (round(duration * 1e9), warmup * 1e9)


def test_criteria_are_chosen_by_the_beginning_of_their_names() -> None:
    made = replace(
        card().pack,
        file=card().pack.file.model_copy(
            update={"criteria": [criterion(name) for name in ("5.1-a", "5.1-b", "5.2-a", "15.1")]}
        ),
    )
    assert [one.id for one in made.with_criteria(["5.1"]).file.criteria] == ["5.1-a", "5.1-b"]
    assert [one.id for one in made.with_criteria(["5.2", "15", "x"]).file.criteria] == ["5.2-a", "15.1"]
    with pytest.raises(StudyError, match=r"the pack p has no criterion 5\.3-a, x") as caught:
        made.with_criteria(["5.3-a", "x"])
    assert (caught.value.key, caught.value.right) == ("--only", 'did you mean "5.2-a"?')
    with pytest.raises(StudyError) as caught:
        made.with_criteria([])
    assert caught.value.right == "known: 5.1-a, 5.1-b, 5.2-a, 15.1"
    changed = made.with_changes({"run.duration": "9s", "x": 2})
    assert changed.file.criteria[0].shows == "goodput (changed: run.duration, x)"
    assert made.with_changes({}) is made
    assert pack.changes_text({"run.duration": "9s", "x": 2}) == "run.duration = 9s, x = 2"


def test_packs_are_known_by_name_and_by_kind() -> None:
    assert [one.name for one in pack.load_all("queue")] == ["l4s-queue", "rfc7928"]
    assert "l4s" in [one.name for one in pack.load_all("cc")]
    with pytest.raises(StudyError, match='there is no pack "rfc974"') as caught:
        pack.load("rfc974")
    assert caught.value.right == 'did you mean "rfc9743"?'
    assert command._pack_names("rfc8") == ["rfc8867"] and command._pack_names("x") == []


def test_two_criteria_or_two_subjects_with_one_name_are_an_error() -> None:
    fields = card().pack.file.model_dump()
    first = criterion("x").model_dump()
    with pytest.raises(ValueError, match="two criteria have the id 'x'"):
        pack.PackFile.model_validate(fields | {"criteria": [first, criterion("y").model_dump(), first]})
    cubic, reno = map(subjects.congestion_control, ("cubic", "reno"))
    with pytest.raises(StudyError, match="two subjects have the name cubic"):
        evaluation.studies(pack.load("l4s"), [cubic, reno, reno, cubic], {})
    for name, subject, right in (("l4s", subjects.queue("pie"), "--cc"), ("l4s-queue", reno, "--queue")):
        with pytest.raises(StudyError, match=f'the pack "{name}" evaluates no {subject.kind}') as caught:
            evaluation.studies(pack.load(name), [subject], {})
        assert caught.value.right == right
    with pytest.raises(ValueError, match="`applies` without `requires` has no effect"):
        criterion(applies='x[subject="$subject"] > 1')


@pytest.mark.parametrize(
    ("more", "accepted"),
    [
        ({"name": "a" * 64}, True), ({"name": "a" * 65}, False), ({"name": ""}, False),
        ({"name": "A"}, False),
        ({"name": "-a"}, False), ({"name": "5.1-a.b"}, True), ({"asks": "?"}, True), ({"asks": ""}, False),
        ({"shows": "n"}, True), ({"shows": ""}, False), ({"level": "must"}, False), ({"level": "MAY"}, True),
        ({"better": "larger"}, False), ({"worst_over": ["a"]}, True),
        ({"better": None, "worst_over": ["a"]}, False),
    ],
)  # fmt: skip
def test_a_criterion_has_a_short_name_and_texts(more: dict[str, Any], accepted: bool) -> None:
    if accepted:
        assert criterion(**more).level in ("", "MAY")
        return
    with pytest.raises(ValueError, match="validation error"):
        criterion(**more)


def test_a_pack_has_references_and_criteria_and_reasons_for_what_it_leaves_out() -> None:
    fields = card().pack.file.model_dump()
    demand = {"section": "1", "asks": "a", "reason": "r"}
    for wrong in (
        {"references": []}, {"criteria": []}, {"unmeasured": [demand | {"asks": ""}]},
        {"unmeasured": [demand | {"reason": ""}]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="validation error"):
            pack.PackFile.model_validate(fields | wrong)
    left = pack.PackFile.model_validate(fields | {"unmeasured": [demand]})
    assert left.unmeasured[0].reason == "r"


def test_objects_that_are_shared_cannot_be_changed() -> None:
    assert not changeable("apps.evaluate", "apps.search")
