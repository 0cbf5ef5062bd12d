"""What is valid and probably not meant is printed as a warning, and ordinary studies have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab import CongestionControl
from cwndlab.api import Study
from cwndlab.base.laws import LawCode
from cwndlab.plan.study_warnings import study_warnings, wrong_attributes

TEXT = """
title = "x"
measure = ["goodput"]
[dumbbell]
rate = "1Mbps"
rtt = "10ms"
buffer = [%s]
flows = [{ cc = "%s"%s }]
[run]
duration = "1s"
"""


def warnings(buffer: str = "4", law: str = "cubic", more: str = "") -> list[str]:
    return study_warnings(Study.from_toml(TEXT % (buffer, law, more)).plan())


def test_a_queue_that_holds_less_than_a_packet() -> None:
    (text,) = warnings("1, 2")
    assert text.startswith("the queue of left>right holds 1250 bytes, less than a packet of 1500")
    assert text.endswith("(in 1 of 2 cells, the first: buffer=1)")
    assert warnings("2") == []


def test_a_law_without_its_own_ecn() -> None:
    (text,) = warnings(law="dctcp", more=', tcp = { ecn = "rfc3168" }')
    assert text.startswith('dctcp has ecn = "rfc3168" in place of its own "dctcp"')
    assert warnings(law="dctcp") == warnings(law="prague") == []


@pytest.mark.parametrize(
    ("body", "attribute"),
    [
        ("self.cwnd = 50 * ack.mss", "cwnd"),
        ("self.cwnd += 1", "cwnd"),
        ("self.cwnd_segments = 10", "cwnd_segments"),
        ("self.cwnd_byte = 10", "cwnd_byte"),
        ("self.cwnd_bytes = 1; self.pacing_rate = 10", "pacing_rate"),
        ("self.ssthresh = 10", "ssthresh"),
        ("self.cwnd = 2; self.cwnd_bytes = self.cwnd * ack.mss", None),
        ("self.count = 1; self.cwnd_bytes += 1", None),
    ],
)
def test_an_attribute_that_the_connection_does_not_have(body: str, attribute: str | None) -> None:
    source = f"class Mine(Base):\n    def on_ack(self, ack):\n        {body}\n"
    found = list(wrong_attributes(LawCode("mine", "Mine", "mine.py", source, False)))
    assert [f"sets self.{attribute}," in text for text in found] == ([] if attribute is None else [True])


class Wrong(CongestionControl):
    def on_ack(self, ack: object) -> None:
        self.cwnd = 1448

    def on_loss(self, event: object) -> None:
        self.cwnd = 1448


def test_a_study_with_such_a_law_warns(tmp_path: Path) -> None:
    study = Study.from_toml(TEXT % ("4", "wrong", "")).configure({}, {"wrong": code_of_wrong()})
    (text,) = study_warnings(study.plan())
    assert "never self.cwnd_bytes" in text


def code_of_wrong() -> LawCode:
    return LawCode("wrong", "Wrong", __file__, Path(__file__).read_text(), False)
