"""One sentence says why a flow was slower than its bottleneck, for a run as for a capture."""

from __future__ import annotations

import re
from typing import Any

import faulty_captures as made
import pytest

from cwndlab import Study
from cwndlab.apps.diagnosis.bottleneck import Bottleneck
from cwndlab.apps.diagnosis.diagnosis import Diagnosis
from cwndlab.apps.diagnosis.explanation import explain_run
from cwndlab.apps.diagnosis.link_use import explain_share
from cwndlab.runs.single_run import OneCell

CAUSES = {"cwnd": "the congestion window was full", "recovery": "losses were being repaired"}
ALONE = Bottleneck(10e6, 0.04, "34 packets")
SHARED = Bottleneck(10e6, 0.04, "34 packets", "2 other flows use it")
WHAT = "the bottleneck (10 Mb/s, BDP 50 kB, buffer 34 packets)"


def of_run(changes: dict[str, Any]) -> Diagnosis:
    cell = Study.from_toml(made.RUN).set({"probes.segments_at": "sender", **changes}).plan().cells[0]
    return explain_run(OneCell(cell, 1), cell.id, 0, None, None, 1)


@pytest.mark.parametrize(
    ("bottleneck", "share", "waited", "sentence"),
    [
        (ALONE, 0.97, {"cwnd": 0.1}, f"It filled 97 % of {WHAT}."),
        (
            ALONE,
            0.7,
            {"cwnd": 1.0, "recovery": 0.2, "unknown": 9.0},
            f"It used 70 % of {WHAT}; largest cause: the congestion window was full (1 s of 4).",
        ),
        (ALONE, 0.7, {}, f"It used 70 % of {WHAT}."),
        (SHARED, 0.3, {"cwnd": 0.5}, f"It used 30 % of {WHAT}; largest cause: 2 other flows use it."),
        (
            SHARED,
            0.3,
            {"cwnd": 2.0},
            f"It used 30 % of {WHAT}; largest cause: the congestion window was full (2 s of 4); "
            "2 other flows use it.",
        ),
    ],
)
def test_the_largest_cause_is_a_wait_or_what_waits_leave_to_others(
    bottleneck: Bottleneck, share: float, waited: dict[str, float], sentence: str
) -> None:
    assert explain_share(bottleneck, share, waited, 4.0, CAUSES) == sentence


def test_a_run_and_its_capture_say_the_same_of_a_buffer_that_is_too_small() -> None:
    of_the_run = of_run({"topology.links.bottleneck.queue.limit": "8pkt"}).summaries[0].bottleneck
    captured = made.captured("sender", made.RUN.replace('"34pkt"', '"8pkt"'))
    of_the_capture = made.explained(captured).summaries[0].bottleneck
    assert re.fullmatch(
        r"It used 7\d % of the bottleneck \(10 Mb/s, BDP 50 kB, buffer 8 packets\); largest cause: "
        r"the congestion window was full \(0\.\d+ s of 4\)\.",
        of_the_run,
    )
    assert re.fullmatch(
        r"It used 7\d % of the bottleneck \(about 10 Mb/s, BDP 50.\d kB, buffer at least 1[23].\d kB\); "
        r"largest cause: the congestion window was full \(0\.\d+ s of 4\)\.",
        of_the_capture,
    )


def test_a_receive_window_below_the_bdp_is_the_cause() -> None:
    found = of_run({"tcp.receive_buffer": "20kB"}).summaries[0].bottleneck
    assert found.startswith("It used ") and "largest cause: the receive window was full" in found


@pytest.mark.parametrize("node", ["behind", "receiver"])
def test_elsewhere_than_at_the_sender_the_bottleneck_is_not_known(node: str) -> None:
    assert made.explained(made.captured(node)).summaries[0].bottleneck == ""
