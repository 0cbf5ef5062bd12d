"""Queues of the kernel at a router of a study, in virtual time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cwndlab import Study
from cwndlab.base.errors import StudyError

STUDY = """
title = "queues of Linux"
measure = ["goodput"]

[dumbbell]
rate = "20Mbps"
rtt = "40ms"
queue = [OURS, { kind = "kernel", qdisc = "THEIRS" }]
flows = [
    { name = "near", cc = "cubic", rtt = "20ms", tcp = { ecn = "rfc3168" } },
    { name = "far", cc = "cubic", rtt = "80ms" },
]

[[quantities]]
name = "drops"
metric = "congestion_signals"
options = { traffic = ["near", "far"], signal = "drops" }

[[quantities]]
name = "marks"
metric = "congestion_signals"
options = { traffic = ["near", "far"], signal = "marks" }

[run]
duration = "8s"
"""


def study(ours: str, theirs: str) -> Study:
    return Study.from_toml(STUDY.replace("OURS", ours).replace("THEIRS", theirs))


def counted(text: str, word: str) -> int:
    """The largest number after a word of what `tc -s` prints; CAKE prints one for each tin."""
    return max(sum(map(int, numbers.split())) for numbers in re.findall(rf"{word}((?: +\d+)+)", text))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(
    ("ours", "theirs", "marks"),
    [
        ('{ kind = "fq-codel", ecn = true }', "fq_codel", "ecn_mark"),
        ('{ kind = "cake", rate = "15Mbps", rtt = "50ms" }', "cake bandwidth 15mbit rtt 50ms", "marks"),
        ('{ kind = "drop-tail", limit = "50pkt" }', "pfifo limit 50", None),
    ],
)
def test_a_kernels_queue_acts_as_ours_and_its_drops_and_marks_are_counted(
    ours: str, theirs: str, marks: str | None, tmp_path: Path
) -> None:
    result = study(ours, theirs).run(tmp_path / "out", backend="linux-virtual", replicates=1)
    assert result.failures == []
    content = json.loads((tmp_path / "out" / "provenance.json").read_text())
    (said,) = [run["queues"]["left>right"] for run in content["kernel_runs"] if "queues" in run]
    (kind,) = re.findall(r'kind = "([\w-]+)"', ours)
    kernel, own = result.sel(queue="kernel"), result.sel(queue=kind)
    dropped, marked = (kernel.estimate(name).value for name in ("drops", "marks"))
    # A drop is known once a later packet of its flow leaves, so the last ones may be missing.
    assert counted(said, "dropped") - 3 <= dropped <= counted(said, "dropped")
    assert marked == (0 if marks is None else counted(said, marks))
    assert dropped + marked > 10
    both = [sum(one.estimate(f"goodput_{name}").value for name in ("near", "far")) for one in (kernel, own)]
    assert both[0] == pytest.approx(both[1], rel=0.05)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fq_codel limmit 10", r'tc: What is "limmit"\?.*topology\.links\.bottleneck\.forward\.queue\.qdisc'),
        ("choke limit 100 bandwidth 20mbit avpkt 1000", "--config NET_SCH_CHOKE=y"),
    ],
)
def test_words_that_the_kernel_does_not_take_are_an_error_in_its_words_at_the_key(
    words: str, said: str
) -> None:
    with pytest.raises(StudyError, match=said):
        study('"codel"', words).run(backend="linux-virtual", replicates=1)
